#include "text/bpe.h"

#include <gtest/gtest.h>

#include "text/golden_table.h"
#include "text/pretokenize.h"
#include "text/tiny_models.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

std::vector<std::string> pieces(PreTokenizer kind, std::string_view text) {
  std::vector<std::string> out;
  u64 at = 0;
  for (const u64 end : pre_tokenize(kind, text)) {
    out.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return out;
}

using Pieces = std::vector<std::string>;

TEST(PreTokenize, Gpt2KeepsOneSpaceForTheNextWord) {
  EXPECT_EQ(pieces(PreTokenizer::kGpt2, "it's  a\n\nb 12"),
            (Pieces{"it", "'s", " ", " a", "\n", "\n", "b", " 12"}));
}

TEST(PreTokenize, SmollmIsolatesEveryDigit) {
  EXPECT_EQ(pieces(PreTokenizer::kSmollm, "x  123"), (Pieces{"x", "  ", "1", "2", "3"}));
}

TEST(PreTokenize, LlamaTakesNumbersInThrees) {
  EXPECT_EQ(pieces(PreTokenizer::kLlamaBpe, "I'LL 12345!\n\nx"),
            (Pieces{"I", "'LL", " ", "123", "45", "!\n\n", "x"}));
}

TEST(PreTokenize, DefaultSplitsSymbolsAndThreeDigits) {
  EXPECT_EQ(pieces(PreTokenizer::kDefault, "a+b 12345"), (Pieces{"a", "+", "b", " ", "123", "45"}));
}

TEST(PreTokenize, RefusesUnknownNames) {
  const auto result = pre_tokenizer_by_name("deepseek-llm");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_EQ(result.error().message,
            "tokenizer: pre-tokenizer 'deepseek-llm' is not supported; known: gpt-2, smollm, "
            "llama-bpe, qwen2, default");
}

class TinyBpe : public testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(TinyBpe, AgreesWithTheReference) {
  const auto [pre, column] = GetParam();
  auto made = make_bpe(tiny_bpe_spec(pre));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto rows = read_table("tiny_bpe.tsv");
  ASSERT_GE(rows.size(), 150u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 6u);
    const std::string& expected = row[column] == "=" ? row[1] : row[column];
    EXPECT_EQ(made.value()->encode(from_hex(row[0]), false), to_ids(expected)) << "text " << row[0];
  }
}

INSTANTIATE_TEST_SUITE_P(PreTokenizers, TinyBpe,
                         testing::Values(std::pair("gpt-2", 1), std::pair("smollm", 2),
                                         std::pair("llama-bpe", 3), std::pair("qwen2", 4),
                                         std::pair("default", 5)));

TEST(Bpe, DecodesWhatItEncoded) {
  auto made = make_bpe(tiny_bpe_spec("smollm"));
  ASSERT_TRUE(made.ok());
  for (const auto& row : read_table("tiny_bpe.tsv")) {
    const std::string text = sanitize_utf8(from_hex(row[0]));
    const auto ids = made.value()->encode(text, false);
    EXPECT_EQ(made.value()->decode(ids, false), text) << "text " << row[0];
    StreamDecoder stream(*made.value(), false);
    std::string streamed;
    for (const i32 id : ids) {
      const std::string part = stream.push(id);
      EXPECT_EQ(sanitize_utf8(part), part);
      streamed += part;
    }
    EXPECT_EQ(streamed + stream.finish(), text) << "text " << row[0];
  }
}

TEST(Bpe, StreamHoldsBackIncompleteCharacters) {
  BpeSpec spec = tiny_bpe_spec("gpt-2");
  spec.merges.clear();
  auto made = make_bpe(std::move(spec));
  ASSERT_TRUE(made.ok());
  const auto ids = made.value()->encode("\u00e9", false);
  ASSERT_EQ(ids.size(), 2u);
  StreamDecoder stream(*made.value(), false);
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.push(ids[1]), "\u00e9");
  EXPECT_EQ(stream.push(ids[0]), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Bpe, SpecialTokensAndTheirDecoding) {
  BpeSpec spec = tiny_bpe_spec("gpt-2");
  spec.bos = 1;
  spec.eos = 2;
  spec.add_bos = true;
  auto made = make_bpe(std::move(spec));
  ASSERT_TRUE(made.ok());
  const Tokenizer& t = *made.value();
  const auto ids = t.encode("<|im_end|>!", true);
  ASSERT_EQ(ids.size(), 3u);
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(ids[1], 2);
  EXPECT_EQ(t.decode(ids, false), "<|im_start|><|im_end|>!");
  EXPECT_EQ(t.decode(ids, true), "!");
  EXPECT_TRUE(t.is_special(1));
  EXPECT_FALSE(t.is_special(ids[2]));
  EXPECT_FALSE(t.is_special(-1));
  EXPECT_EQ(t.token_id("<|im_end|>"), 2);
  EXPECT_EQ(t.token_id("no such token"), std::nullopt);
  EXPECT_EQ(t.token_text(1), "<|im_start|>");
  EXPECT_EQ(t.token_text(1 << 20), "");
  EXPECT_EQ(t.decode(std::vector<i32>{-5, 1 << 20}, false), "");
}

TEST(Bpe, DropsBytesThatTheVocabularyLacks) {
  BpeSpec spec = tiny_bpe_spec("gpt-2");
  for (std::string& token : spec.tokens) {
    if (token == "q") token = "(none)";
  }
  BpeSpec with_substitute = spec;
  with_substitute.missing_byte = 0;
  auto drops = make_bpe(std::move(spec));
  auto substitutes = make_bpe(std::move(with_substitute));
  ASSERT_TRUE(drops.ok() && substitutes.ok());
  EXPECT_EQ(drops.value()->decode(drops.value()->encode("aqb", false), false), "ab");
  EXPECT_EQ(substitutes.value()->decode(substitutes.value()->encode("aqb", false), false), "a<|endoftext|>b");
}

TEST(Bpe, RefusesBrokenSpecifications) {
  BpeSpec unknown_merge = tiny_bpe_spec("gpt-2");
  unknown_merge.merges.push_back("a nowhere");
  EXPECT_NE(make_bpe(std::move(unknown_merge))
                .error()
                .message.find("'a nowhere' names a token that the vocabulary lacks"),
            std::string::npos);
  BpeSpec no_space = tiny_bpe_spec("gpt-2");
  no_space.merges.push_back("ab");
  EXPECT_NE(make_bpe(std::move(no_space)).error().message.find("has no space"), std::string::npos);
  BpeSpec bad_id = tiny_bpe_spec("gpt-2");
  bad_id.eos = 520000;
  EXPECT_NE(make_bpe(std::move(bad_id)).error().message.find("eos token id 520000 is outside"),
            std::string::npos);
  BpeSpec types = tiny_bpe_spec("gpt-2");
  types.types.pop_back();
  EXPECT_EQ(make_bpe(std::move(types)).error().code, Code::kCorrupt);
  EXPECT_EQ(make_bpe(BpeSpec{.pre = "gpt-2"}).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace tegula::text
