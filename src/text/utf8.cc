#include "text/utf8.h"

#include <algorithm>

namespace tegula::text {
namespace {

// What a lead byte promises; the second byte has its own range so that overlong forms, surrogates and values
// past U+10FFFF are refused as early as the Unicode standard (table 3-7) asks.
struct Lead {
  u32 length;  // 0: not a lead byte
  u8 second_low;
  u8 second_high;
};

Lead lead_of(u8 byte) {
  if (byte >= 0xC2 && byte <= 0xDF) return {2, 0x80, 0xBF};
  if (byte == 0xE0) return {3, 0xA0, 0xBF};
  if (byte == 0xED) return {3, 0x80, 0x9F};
  if (byte >= 0xE1 && byte <= 0xEF) return {3, 0x80, 0xBF};
  if (byte == 0xF0) return {4, 0x90, 0xBF};
  if (byte >= 0xF1 && byte <= 0xF3) return {4, 0x80, 0xBF};
  if (byte == 0xF4) return {4, 0x80, 0x8F};
  return {0, 0, 0};
}

}  // namespace

Decoded decode_utf8(std::string_view text) {
  const u8 first = static_cast<u8>(text[0]);
  if (first < 0x80) return {first, 1, true, false};
  const Lead lead = lead_of(first);
  if (lead.length == 0) return {};
  u32 code_point = first & (0x7Fu >> lead.length);
  for (u32 i = 1; i < lead.length; ++i) {
    if (i == text.size()) return {kReplacement, i, false, true};
    const u8 byte = static_cast<u8>(text[i]);
    const u8 low = i == 1 ? lead.second_low : 0x80;
    const u8 high = i == 1 ? lead.second_high : 0xBF;
    if (byte < low || byte > high) return {kReplacement, i, false, false};
    code_point = code_point << 6 | (byte & 0x3Fu);
  }
  return {code_point, lead.length, true, false};
}

void append_utf8(std::string& out, u32 c) {
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xC0 | c >> 6));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xE0 | c >> 12));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  } else {
    out.push_back(static_cast<char>(0xF0 | c >> 18));
    out.push_back(static_cast<char>(0x80 | (c >> 12 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c >> 6 & 0x3F)));
    out.push_back(static_cast<char>(0x80 | (c & 0x3F)));
  }
}

std::string sanitize_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded d = decode_utf8(text);
    if (d.valid) {
      out.append(text.substr(0, d.length));
    } else {
      append_utf8(out, kReplacement);
    }
    text.remove_prefix(d.length);
  }
  return out;
}

u64 complete_utf8_prefix(std::string_view text) {
  const u64 size = text.size();
  for (u64 back = 1; back <= std::min<u64>(3, size); ++back) {
    const u8 byte = static_cast<u8>(text[size - back]);
    if ((byte & 0xC0) == 0x80) continue;
    return decode_utf8(text.substr(size - back)).cut_off ? size - back : size;
  }
  return size;
}

}  // namespace tegula::text
