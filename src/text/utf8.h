// UTF-8: decoding with replacement of bad bytes as in Python's errors="replace", encoding, and what can be
// cut off a stream.
#pragma once

#include <string>
#include <string_view>

#include "base/types.h"

namespace tegula::text {

constexpr u32 kReplacement = 0xFFFD;

struct Decoded {
  u32 code_point = kReplacement;
  u32 length = 1;        // bytes consumed, at least 1
  bool valid = false;    // false: code_point is U+FFFD for a maximal subpart of a bad sequence
  bool cut_off = false;  // the bad sequence could still become valid with more bytes
};

// Decodes the code point at the start of `text`, which must not be empty.
Decoded decode_utf8(std::string_view text);

void append_utf8(std::string& out, u32 code_point);

// Each maximal subpart of an ill-formed sequence becomes one U+FFFD.
std::string sanitize_utf8(std::string_view text);

// Bytes at the start of `text` that no later byte can change: all but an incomplete sequence at the end.
u64 complete_utf8_prefix(std::string_view text);

}  // namespace tegula::text
