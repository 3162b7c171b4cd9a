// Any bytes through a byte-level BPE of all bytes and a few merges: what is decoded is the text, also piece
// by piece.
#include <memory>
#include <string>

#include "text/bpe.h"
#include "text/utf8.h"

namespace {

using namespace tegula;

text::BpeSpec spec_of(const char* pre) {
  text::BpeSpec spec;
  spec.pre = pre;
  u32 next = 256;
  for (u32 b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    text::append_utf8(spec.tokens.emplace_back(), printable ? b : next++);
  }
  for (const char* merge : {"a b", "b c", "ab c", "a bc", "a a", "aa aa", "\u0120 a", "\u0120 \u0120", "1 2",
                            "\u00c3 \u00a9", "' s"}) {
    const std::string pair = merge;
    const size_t space = pair.find(' ');
    const std::string joined = pair.substr(0, space) + pair.substr(space + 1);
    if (joined != "abc" || spec.tokens.back() != "abc") spec.tokens.push_back(joined);
    spec.merges.push_back(pair);
  }
  spec.types.assign(spec.tokens.size(), 1);
  spec.tokens.push_back("<|x|>");
  spec.types.push_back(3);
  spec.nfc = false;  // it would change the text
  return spec;
}

const text::Tokenizer& tokenizer(size_t which) {
  static const auto all = [] {
    std::vector<std::unique_ptr<text::Tokenizer>> out;
    for (const char* pre : {"gpt-2", "smollm", "llama-bpe", "qwen2", "default"}) {
      auto made = text::make_bpe(spec_of(pre));
      if (!made.ok()) __builtin_trap();
      out.push_back(std::move(made).value());
    }
    return out;
  }();
  return *all[which % all.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  if (size == 0) return 0;
  const std::string text(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::string valid = text::sanitize_utf8(text);
  const text::Tokenizer& t = tokenizer(data[0]);
  const auto ids = t.encode(text, false);
  if (t.decode(ids, false) != valid) __builtin_trap();
  text::StreamDecoder stream(t, false);
  std::string streamed;
  for (const i32 id : ids) streamed += stream.push(id);
  if (streamed + stream.finish() != valid) __builtin_trap();
  // Ids that no text gives, too.
  std::vector<i32> any;
  for (size_t i = 0; i < size; ++i) any.push_back(data[i]);
  for (const i32 id : any) streamed += stream.push(id);
  (void)t.decode(any, true);
  return 0;
}
