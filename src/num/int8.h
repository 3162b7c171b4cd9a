// int8 with one scale per row: value = q * scale. Symmetric, -127..127.
#pragma once

#include <span>

#include "base/types.h"
#include "num/rounding.h"

namespace tegula::num {

// Writes row.size() bytes and returns the scale, max|x| / 127 (0 for a row of zeros). Round to nearest even.
float quantize_int8(std::span<const float> row, i8* out);
void dequantize_int8(std::span<const i8> row, float scale, float* out);

// The core's shift-round-saturate from a 32-bit accumulator to int8.
i8 srs_int8(i32 value, int shift, Rounding mode = Rounding::kConvEven);

// Sign-extended nibble 0 (low) or 1 (high) of a byte.
constexpr i8 int4_low(u8 byte) {
  return static_cast<i8>(static_cast<i8>(byte << 4) >> 4);
}
constexpr i8 int4_high(u8 byte) {
  return static_cast<i8>(static_cast<i8>(byte) >> 4);
}

}  // namespace tegula::num
