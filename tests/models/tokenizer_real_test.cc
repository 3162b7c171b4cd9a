// The tokenizers of two published models against tables of the reference library
// (tools/golden/tokenizer_tables.py).
#include <gtest/gtest.h>

#include "base/file.h"
#include "models/model_files.h"
#include "text/gguf_tokenizer.h"
#include "text/golden_table.h"
#include "text/tokenizer_json.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

TEST(TokenizerReal, SmolLm2) {
  const std::string path = model_dir() + "/smollm2-135m-instruct-q4_1.gguf";
  NEED_MODEL(path);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  auto gguf = format::read_gguf(file.value().bytes());
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  auto made = from_gguf(gguf.value());
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Tokenizer& tokenizer = *made.value();
  EXPECT_EQ(tokenizer.vocab_size(), 49152);
  EXPECT_EQ(tokenizer.bos(), 1);
  EXPECT_EQ(tokenizer.eos(), 2);
  const auto rows = read_table("tokenizer_real.tsv");
  ASSERT_GE(rows.size(), 150u);
  u64 round_trips = 0;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 4u);
    const std::string text = from_hex(row[0]);
    const auto ids = to_ids(row[1]);
    EXPECT_EQ(tokenizer.encode(text, true), ids) << "text " << row[0];
    round_trips += tokenizer.decode(ids, false) == sanitize_utf8(text);
  }
  // The vocabulary lacks six control characters and some lead bytes; the few texts with these lose them.
  EXPECT_GE(round_trips + 12, rows.size());
}

TEST(TokenizerReal, MiniLm) {
  const std::string path = model_dir() + "/all-minilm-l6-v2/tokenizer.json";
  NEED_MODEL(path);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  auto made = from_tokenizer_json(file.value().bytes());
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_EQ(made.value()->vocab_size(), 30522);
  const auto rows = read_table("tokenizer_real.tsv");
  ASSERT_GE(rows.size(), 150u);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 4u);
    const auto ids = to_ids(row[2]);
    EXPECT_EQ(made.value()->encode(from_hex(row[0]), true), ids) << "text " << row[0];
    EXPECT_EQ(made.value()->decode(ids, true), from_hex(row[3])) << "text " << row[0];
  }
}

}  // namespace
}  // namespace tegula::text
