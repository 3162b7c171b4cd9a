#include "text/pretokenize.h"

#include <algorithm>
#include <string>

#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

// A text as code points with their classes and byte offsets; stages work on index ranges.
struct Characters {
  std::vector<u32> code;
  std::vector<u8> mask;
  std::vector<u64> offset;  // one more than characters

  bool is(u64 i, u8 bits) const { return (mask[i] & bits) != 0; }
  bool is_letter(u64 i) const { return is(i, kLetter); }
  bool is_number(u64 i) const { return is(i, kNumber); }
  bool is_space(u64 i) const { return is(i, kSpace); }
  bool is_other(u64 i) const { return !is(i, kLetter | kNumber | kSpace); }
  bool is_newline(u64 i) const { return code[i] == '\r' || code[i] == '\n'; }
};

Characters read_characters(std::string_view text) {
  Characters out;
  out.code.reserve(text.size());
  out.mask.reserve(text.size());
  out.offset.reserve(text.size() + 1);
  for (u64 at = 0; at < text.size();) {
    const Decoded d = decode_utf8(text.substr(at));
    out.code.push_back(d.code_point);
    out.mask.push_back(unicode_class(d.code_point));
    out.offset.push_back(at);
    at += d.length;
  }
  out.offset.push_back(text.size());
  return out;
}

template <typename Predicate>
u64 run(u64 at, u64 end, Predicate holds) {
  while (at < end && holds(at)) ++at;
  return at;
}

// Length of 's 't 're 've 'm 'll 'd at `at`, or 0. Without case, U+017F (long s) folds to s.
u64 contraction(const Characters& c, u64 at, u64 end, bool any_case) {
  if (c.code[at] != '\'' || at + 1 >= end) return 0;
  auto letter = [&](u64 i) -> u32 {
    const u32 code = c.code[i];
    if (!any_case) return code;
    if (code == 0x17F) return 's';
    return code >= 'A' && code <= 'Z' ? code + 32 : code;
  };
  const u32 first = letter(at + 1);
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return 2;
  if (at + 2 >= end) return 0;
  const u32 second = letter(at + 2);
  const bool two =
      (first == 'r' && second == 'e') || (first == 'v' && second == 'e') || (first == 'l' && second == 'l');
  return two ? 3 : 0;
}

// \s+(?!\S)|\s+ : white space leaves its last character to what follows, unless it has only one.
u64 white_space(const Characters& c, u64 at, u64 end) {
  const u64 stop = run(at, end, [&](u64 i) { return c.is_space(i); });
  return stop < end && stop - at > 1 ? stop - 1 : stop;
}

// The end of the GPT-2 match that starts at `at`.
u64 gpt2_match(const Characters& c, u64 at, u64 end) {
  if (const u64 length = contraction(c, at, end, false)) return at + length;
  const u64 body = c.code[at] == ' ' && at + 1 < end ? at + 1 : at;
  if (c.is_letter(body)) return run(body, end, [&](u64 i) { return c.is_letter(i); });
  if (c.is_number(body)) return run(body, end, [&](u64 i) { return c.is_number(i); });
  if (c.is_other(body)) return run(body, end, [&](u64 i) { return c.is_other(i); });
  return white_space(c, at, end);
}

// (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,digits}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
// \s+(?!\S)|\s+
u64 llama_match(const Characters& c, u64 at, u64 end, u64 digits) {
  if (const u64 length = contraction(c, at, end, true)) return at + length;
  auto letter = [&](u64 i) { return c.is_letter(i); };
  if (c.is_letter(at)) return run(at, end, letter);
  if (c.is_number(at)) {
    return run(at, std::min(end, at + digits), [&](u64 i) { return c.is_number(i); });
  }
  if (!c.is_newline(at) && at + 1 < end && c.is_letter(at + 1)) return run(at + 1, end, letter);
  const u64 body = c.code[at] == ' ' && at + 1 < end ? at + 1 : at;
  if (c.is_other(body)) {
    const u64 stop = run(body, end, [&](u64 i) { return c.is_other(i); });
    return run(stop, end, [&](u64 i) { return c.is_newline(i); });
  }
  const u64 stop = run(at, end, [&](u64 i) { return c.is_space(i); });
  for (u64 i = stop; i > at; --i) {
    if (c.is_newline(i - 1)) return i;
  }
  return white_space(c, at, end);
}

// Runs of characters that agree on a predicate; as a split by "predicate+" does.
template <typename Predicate>
u64 alternate(u64 at, u64 end, Predicate holds) {
  const bool inside = holds(at);
  return run(at, end, [&](u64 i) { return holds(i) == inside; });
}

bool default_symbol(const Characters& c, u64 i) {
  constexpr std::string_view kSymbols = "$+<=>^~|";
  return c.is(i, kPunctuation) ||
         (c.code[i] < 0x80 && kSymbols.find(static_cast<char>(c.code[i])) != kSymbols.npos);
}

bool three_digits(const Characters& c, u64 at, u64 end) {
  auto digit = [&](u64 i) { return c.code[i] >= '0' && c.code[i] <= '9'; };
  return at + 3 <= end && digit(at) && digit(at + 1) && digit(at + 2);
}

u64 three_digits_match(const Characters& c, u64 at, u64 end) {
  if (three_digits(c, at, end)) return at + 3;
  return run(at + 1, end, [&](u64 i) { return !three_digits(c, i, end); });
}

// Applies `next(at, end)` inside each range that ends at one of `ends`.
template <typename Next>
std::vector<u64> stage(const std::vector<u64>& ends, Next next) {
  std::vector<u64> out;
  u64 at = 0;
  for (const u64 end : ends) {
    while (at < end) {
      at = next(at, end);
      out.push_back(at);
    }
  }
  return out;
}

std::vector<u64> split_default(const Characters& c, std::vector<u64> ends) {
  ends = stage(
      ends, [&](u64 at, u64 end) { return alternate(at, end, [&](u64 i) { return default_symbol(c, i); }); });
  ends = stage(ends, [&](u64 at, u64 end) { return gpt2_match(c, at, end); });
  ends =
      stage(ends, [&](u64 at, u64 end) { return alternate(at, end, [&](u64 i) { return c.is_number(i); }); });
  return stage(ends, [&](u64 at, u64 end) { return three_digits_match(c, at, end); });
}

std::vector<u64> split_smollm(const Characters& c, std::vector<u64> ends) {
  ends = stage(ends, [&](u64 at, u64 end) {
    if (c.is(at, kNumeric)) return at + 1;
    return run(at, end, [&](u64 i) { return !c.is(i, kNumeric); });
  });
  return stage(ends, [&](u64 at, u64 end) { return gpt2_match(c, at, end); });
}

std::vector<u64> split(PreTokenizer kind, const Characters& c) {
  std::vector<u64> ends{c.code.size()};
  switch (kind) {
    case PreTokenizer::kGpt2:
      return stage(ends, [&](u64 at, u64 end) { return gpt2_match(c, at, end); });
    case PreTokenizer::kSmollm:
      return split_smollm(c, std::move(ends));
    case PreTokenizer::kLlamaBpe:
      return stage(ends, [&](u64 at, u64 end) { return llama_match(c, at, end, 3); });
    case PreTokenizer::kQwen2:
      return stage(ends, [&](u64 at, u64 end) { return llama_match(c, at, end, 1); });
    case PreTokenizer::kDefault:
      return split_default(c, std::move(ends));
  }
  return ends;
}

}  // namespace

Result<PreTokenizer> pre_tokenizer_by_name(std::string_view name) {
  if (name == "gpt-2") return PreTokenizer::kGpt2;
  if (name == "smollm") return PreTokenizer::kSmollm;
  if (name == "llama-bpe") return PreTokenizer::kLlamaBpe;
  if (name == "qwen2") return PreTokenizer::kQwen2;
  if (name == "default") return PreTokenizer::kDefault;
  return fail(Code::kUnsupported, "tokenizer: pre-tokenizer '" + std::string(name) +
                                      "' is not supported; known: gpt-2, smollm, llama-bpe, qwen2, default");
}

std::vector<u64> pre_tokenize(PreTokenizer kind, std::string_view text) {
  const Characters characters = read_characters(text);
  std::vector<u64> ends = split(kind, characters);
  for (u64& end : ends) end = characters.offset[end];
  return ends;
}

}  // namespace tegula::text
