#include "num/bf16.h"

#include <bit>

namespace tegula::num {

float f32_from_bf16(u16 bits) {
  return std::bit_cast<float>(static_cast<u32>(bits) << 16);
}

u16 bf16_from_f32(float value, Rounding mode) {
  const u32 bits = std::bit_cast<u32>(value);
  const u32 sign = bits & 0x80000000u;
  const u32 magnitude = bits & 0x7FFFFFFFu;
  if (magnitude > 0x7F800000u) {  // NaN
    const u32 upper = bits >> 16;
    return static_cast<u16>((upper & 0x7F) != 0 ? upper : (upper | 1));
  }
  // Patterns of one sign are ordered like the reals, so rounding the signed pattern rounds the real value.
  const i64 ordered = sign != 0 ? -static_cast<i64>(magnitude) : static_cast<i64>(magnitude);
  const i64 rounded = round_shift(ordered, 16, mode);
  return static_cast<u16>((sign >> 16) | static_cast<u32>(rounded < 0 ? -rounded : rounded));
}

float f32_from_f16(u16 bits) {
  const u32 sign = static_cast<u32>(bits & 0x8000) << 16;
  const u32 exponent = (bits >> 10) & 0x1F;
  const u32 mantissa = bits & 0x3FF;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000u | (mantissa << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  const float small = static_cast<float>(mantissa) * 0x1p-24f;  // exact: 10 bits
  return sign != 0 ? -small : small;
}

void f32_from_bf16(std::span<const u16> in, float* out) {
  for (size_t i = 0; i < in.size(); ++i) out[i] = f32_from_bf16(in[i]);
}

void bf16_from_f32(std::span<const float> in, u16* out, Rounding mode) {
  if (mode != Rounding::kConvEven) {
    for (size_t i = 0; i < in.size(); ++i) out[i] = bf16_from_f32(in[i], mode);
    return;
  }
  // Without branches, so that the compiler uses vectors.
  for (size_t i = 0; i < in.size(); ++i) {
    const u32 bits = std::bit_cast<u32>(in[i]);
    const u32 upper = bits >> 16;
    const u32 rounded = (bits + 0x7FFF + (upper & 1)) >> 16;
    const u32 nan = upper | static_cast<u32>((upper & 0x7F) == 0);
    out[i] = static_cast<u16>((bits & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
  }
}

void f32_from_f16(std::span<const u16> in, float* out) {
  for (size_t i = 0; i < in.size(); ++i) out[i] = f32_from_f16(in[i]);
}

}  // namespace tegula::num
