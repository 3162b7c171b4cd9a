// bfloat16 and IEEE half: conversions from and to fp32.
#pragma once

#include <span>

#include "base/types.h"
#include "num/rounding.h"

namespace tegula::num {

// Exact: the 16 bits become the upper half of the fp32 pattern.
float f32_from_bf16(u16 bits);

// Rounds the real value in the given mode. Overflow by rounding becomes infinity, denormals are kept, a NaN
// stays one: its mantissa is truncated and, if that leaves zero, becomes 1.
u16 bf16_from_f32(float value, Rounding mode = Rounding::kConvEven);

// Exact, with denormals, infinities and NaN.
float f32_from_f16(u16 bits);

// Whole rows; out holds as many elements as in.
void f32_from_bf16(std::span<const u16> in, float* out);
void bf16_from_f32(std::span<const float> in, u16* out, Rounding mode = Rounding::kConvEven);
void f32_from_f16(std::span<const u16> in, float* out);

}  // namespace tegula::num
