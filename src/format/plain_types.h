// Whole runs of half, bf16 and fp32 values out of bytes of any alignment.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>

#include "base/bytes.h"
#include "num/bf16.h"

namespace tegula::format {

// raw holds out.size() values of two bytes; convert is one of the row functions of num/bf16.h.
template <typename Convert>
void expand_words(ByteSpan raw, std::span<float> out, Convert convert) {
  u16 aligned[512];
  for (u64 at = 0; at < out.size(); at += std::size(aligned)) {
    u64 count = std::min<u64>(std::size(aligned), out.size() - at);
    std::memcpy(aligned, raw.data() + at * 2, count * 2);
    convert(std::span<const u16>(aligned, count), out.data() + at);
  }
}

inline void expand_f16(ByteSpan raw, std::span<float> out) {
  expand_words(raw, out, [](std::span<const u16> in, float* to) { num::f32_from_f16(in, to); });
}

inline void expand_bf16(ByteSpan raw, std::span<float> out) {
  expand_words(raw, out, [](std::span<const u16> in, float* to) { num::f32_from_bf16(in, to); });
}

inline void expand_f32(ByteSpan raw, std::span<float> out) {
  if (!out.empty()) std::memcpy(out.data(), raw.data(), out.size_bytes());
}

}  // namespace tegula::format
