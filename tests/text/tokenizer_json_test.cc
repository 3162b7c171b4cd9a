#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include "text/golden_table.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

std::string golden_text(const std::string& name) {
  const Bytes bytes = golden_bytes(name);
  return std::string(bytes.begin(), bytes.end());
}

ByteSpan span_of(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

// The text with its only occurrence of `from` replaced.
std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  EXPECT_EQ(text.find(from, at + 1), text.npos) << from;
  if (at != text.npos) text.replace(at, from.size(), to);
  return text;
}

const std::string kByteLevelPre =
    R"("pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";

std::string error_of(const std::string& json) {
  auto made = from_tokenizer_json(span_of(json));
  return made.ok() ? "no error" : made.error().message;
}

std::string split_pre(const std::string& pattern) {
  return R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":")" +
         pattern +
         R"("},"behavior":"Isolated","invert":false},)"
         R"({"type":"ByteLevel","add_prefix_space":false,"use_regex":false}]})";
}

std::string llama_pattern(const std::string& digits) {
  return R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|)" + digits +
         R"(| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+)";
}

void expect_bpe(const std::string& json, size_t column) {
  auto made = from_tokenizer_json(span_of(json));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto rows = read_table("tiny_bpe.tsv");
  ASSERT_GE(rows.size(), 150u);
  for (const auto& row : rows) {
    const std::string& expected = row[column] == "=" ? row[1] : row[column];
    EXPECT_EQ(made.value()->encode(from_hex(row[0]), true), to_ids(expected)) << "text " << row[0];
  }
}

TEST(TokenizerJson, BpeByEveryPreTokenizer) {
  const std::string json = golden_text("tiny_bpe.json");
  expect_bpe(json, 1);
  expect_bpe(
      with(
          json, kByteLevelPre,
          R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits","individual_digits":true},)"
          R"({"type":"ByteLevel","add_prefix_space":false}]})"),
      2);
  expect_bpe(with(with(json, kByteLevelPre, split_pre(llama_pattern("\\\\p{N}{1,3}"))),
                  R"("ignore_merges":false)", R"("ignore_merges":true)"),
             3);
  expect_bpe(with(with(json, kByteLevelPre, split_pre(llama_pattern("\\\\p{N}"))), R"("normalizer":null)",
                  R"("normalizer":{"type":"NFC"})"),
             4);
}

TEST(TokenizerJson, WordPieceAgreesWithTheReference) {
  const std::string json = golden_text("tiny_wordpiece.json");
  auto made = from_tokenizer_json(span_of(json));
  auto cased = from_tokenizer_json(span_of(with(json, R"("lowercase":true)", R"("lowercase":false)")));
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_TRUE(cased.ok()) << cased.error().message;
  const auto rows = read_table("tiny_wordpiece.tsv");
  ASSERT_GE(rows.size(), 150u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 4u);
    const std::string text = from_hex(row[0]);
    const auto ids = to_ids(row[1]);
    EXPECT_EQ(made.value()->encode(text, true), ids) << "text " << row[0];
    EXPECT_EQ(made.value()->decode(ids, true), from_hex(row[2])) << "text " << row[0];
    EXPECT_EQ(cased.value()->encode(text, true), to_ids(row[3])) << "text " << row[0];
  }
}

TEST(TokenizerJson, AddsSpecialTokensOnlyWhenAsked) {
  auto made = from_tokenizer_json(span_of(golden_text("tiny_wordpiece.json")));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value()->encode("", true), (std::vector<i32>{2, 3}));
  EXPECT_EQ(made.value()->encode("", false), std::vector<i32>{});
}

TEST(TokenizerJson, ConfigNamesTheRoles) {
  const std::string json = golden_text("tiny_bpe.json");
  const std::string config =
      R"({"bos_token":null,"eos_token":"<|im_end|>","pad_token":{"content":"<|endoftext|>"}})";
  auto made = from_tokenizer_json(span_of(json), span_of(config));
  ASSERT_TRUE(made.ok());
  EXPECT_EQ(made.value()->bos(), std::nullopt);
  EXPECT_EQ(made.value()->eos(), 2);
  EXPECT_EQ(made.value()->pad(), 0);
}

TEST(TokenizerJson, NamesWhatItLacks) {
  const std::string json = golden_text("tiny_bpe.json");
  EXPECT_EQ(error_of(with(json, R"("type":"BPE")", R"("type":"Unigram")")),
            "tokenizer.json: model 'Unigram' is not supported; known: BPE (byte-level), WordPiece");
  EXPECT_EQ(error_of(with(json, kByteLevelPre, R"("pre_tokenizer":{"type":"Metaspace"})")),
            "tokenizer.json: pre_tokenizer 'Metaspace' for BPE is not supported");
  EXPECT_EQ(error_of(with(json, kByteLevelPre, split_pre("\\\\w+"))),
            "tokenizer.json: pre_tokenizer pattern '\\w+' is not supported");
  EXPECT_EQ(error_of(with(json, R"("normalizer":null)", R"("normalizer":{"type":"NFKC"})")),
            "tokenizer.json: normalizer 'NFKC' for BPE is not supported");
  EXPECT_EQ(error_of(with(json, R"("byte_fallback":false)", R"("byte_fallback":true)")),
            "tokenizer.json: model.byte_fallback is not supported");
}

TEST(TokenizerJson, RefusesBrokenFiles) {
  const std::string json = golden_text("tiny_wordpiece.json");
  EXPECT_EQ(error_of(""), "tokenizer.json: is not a JSON object; the file is damaged or of another kind");
  EXPECT_EQ(error_of("[1,2]"),
            "tokenizer.json: is not a JSON object; the file is damaged or of another kind");
  EXPECT_EQ(error_of(json.substr(0, json.size() / 2)),
            "tokenizer.json: is not a JSON object; the file is damaged or of another kind");
  EXPECT_EQ(error_of(with(json, R"("[MASK]":4)", R"("[MASK]":-4)")),
            "tokenizer.json: model.vocab: '[MASK]': token id is not a whole number from 0 to 4194303");
  EXPECT_EQ(error_of(with(json, R"("[MASK]":4)", R"("[MASK]":4000000)")),
            "tokenizer.json: token '[MASK]' has id 4000000 in a vocabulary of 153");
  EXPECT_EQ(error_of(with(json, R"("unk_token":"[UNK]")", R"("unk_token":"<unk>")")),
            "tokenizer: unknown token '<unk>' is not in the vocabulary");
}

TEST(TokenizerJson, SurvivesEveryTruncation) {
  const std::string json = golden_text("tiny_wordpiece.json");
  for (size_t size = 0; size < json.size() - 2; size += 7) {
    EXPECT_FALSE(from_tokenizer_json(span_of(json.substr(0, size))).ok()) << size;
  }
}

}  // namespace
}  // namespace tegula::text
