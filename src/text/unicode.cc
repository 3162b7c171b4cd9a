#include "text/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <vector>

#include "text/utf8.h"

namespace tegula::text {
namespace {

struct Range {
  u32 first;
  u32 last;
  u8 mask;
};

struct LowerPair {
  u32 upper;
  u32 lower;
};

#include "text/unicode_ranges.inc"

constexpr u32 kCodePoints = 0x110000;

constexpr Range kSpaces[] = {{0x09, 0x0D, kSpace},     {0x20, 0x20, kSpace},     {0x85, 0x85, kSpace},
                             {0xA0, 0xA0, kSpace},     {0x1680, 0x1680, kSpace}, {0x2000, 0x200A, kSpace},
                             {0x2028, 0x2029, kSpace}, {0x202F, 0x202F, kSpace}, {0x205F, 0x205F, kSpace},
                             {0x3000, 0x3000, kSpace}};

std::vector<u8> expand_classes() {
  std::vector<u8> masks(kCodePoints, 0);
  auto add = [&](const Range& r) {
    for (u32 c = r.first; c <= r.last; ++c) masks[c] |= r.mask;
  };
  for (const Range& r : kRanges) add(r);
  for (const Range& r : kSpaces) add(r);
  return masks;
}

std::string normalize(std::string_view text, utf8proc_option_t options) {
  utf8proc_uint8_t* raw = nullptr;
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &raw, options);
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(raw, &std::free);
  if (size < 0) return std::string(text);
  return std::string(reinterpret_cast<const char*>(raw), static_cast<size_t>(size));
}

}  // namespace

u8 unicode_class(u32 code_point) {
  static const std::vector<u8> masks = expand_classes();
  return code_point < kCodePoints ? masks[code_point] : 0;
}

// The gap from U+2B820 to U+2B91F is the reference's.
bool is_bert_ideograph(u32 c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0x2F800 && c <= 0x2FA1F);
}

void append_lower(std::string& out, u32 c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c));
    return;
  }
  if (c == 0x130) {  // the one letter whose lower-case form has two code points
    out += "i\u0307";
    return;
  }
  const auto* newer =
      std::lower_bound(std::begin(kLower), std::end(kLower), c,
                       [](const LowerPair& p, u32 code_point) { return p.upper < code_point; });
  const bool listed = newer != std::end(kLower) && newer->upper == c;
  append_utf8(out,
              listed ? newer->lower : static_cast<u32>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

void append_upper(std::string& out, u32 c) {
  append_utf8(out, static_cast<u32>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

std::string to_nfc(std::string_view text) {
  return normalize(text, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
}

std::string to_nfd(std::string_view text) {
  return normalize(text, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE));
}

}  // namespace tegula::text
