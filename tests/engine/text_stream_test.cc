#include "engine/text_stream.h"

#include <gtest/gtest.h>

namespace tegula::engine {
namespace {

// Token i is the byte i.
class ByteTokenizer : public text::Tokenizer {
 public:
  std::vector<i32> encode(std::string_view utf8, bool) const override { return {utf8.begin(), utf8.end()}; }
  std::string token_bytes(i32 id, bool) const override { return std::string(1, static_cast<char>(id)); }
  std::string_view token_text(i32) const override { return "b"; }
  std::optional<i32> token_id(std::string_view) const override { return std::nullopt; }
  bool is_special(i32) const override { return false; }
  i64 vocab_size() const override { return 256; }
  std::optional<i32> bos() const override { return std::nullopt; }
  std::optional<i32> eos() const override { return std::nullopt; }
  std::optional<i32> pad() const override { return std::nullopt; }
};

struct Outcome {
  std::string streamed;
  TextStream::State state;
};

Outcome run(const std::string& text, std::vector<std::string> stop) {
  const ByteTokenizer tokenizer;
  Outcome out{{}, TextStream::State::kOpen};
  TextStream stream(tokenizer, std::move(stop), [&](std::string_view piece) {
    out.streamed += piece;
    return true;
  });
  for (char c : text) {
    out.state = stream.push(c);
    if (out.state != TextStream::State::kOpen) break;
  }
  if (out.state == TextStream::State::kOpen) out.state = stream.finish();
  EXPECT_EQ(stream.text(), out.streamed);
  return out;
}

TEST(TextStream, StopsBeforeTheStopText) {
  const Outcome got = run("one END two", {"END"});
  EXPECT_EQ(got.streamed, "one ");
  EXPECT_EQ(got.state, TextStream::State::kStopped);
}

TEST(TextStream, HeldBackTextComesOutWhenItIsNoStopText) {
  EXPECT_EQ(run("EN route, EEEND", {"END"}).streamed, "EN route, EE");
  EXPECT_EQ(run("at the EN", {"END"}).streamed, "at the EN");
  EXPECT_EQ(run("plain", {""}).streamed, "plain");  // an empty stop text is none
}

TEST(TextStream, TheEarliestOfSeveralStopTextsWins) {
  EXPECT_EQ(run("abcXYdef", {"Yd", "X"}).streamed, "abc");
}

TEST(TextStream, TheCallbackCancels) {
  const ByteTokenizer tokenizer;
  TextStream stream(tokenizer, {}, [](std::string_view) { return false; });
  EXPECT_EQ(stream.push('a'), TextStream::State::kCancelled);
  EXPECT_EQ(stream.finish(), TextStream::State::kCancelled);
}

}  // namespace
}  // namespace tegula::engine
