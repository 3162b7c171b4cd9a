#include "ref/gelu_model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "num/bf16.h"

namespace tegula::ref {
namespace {

// Exponent field of a float as the multiplier sees it: denormals count as 1.
int exponent_of(float v) {
  unsigned bits;
  std::memcpy(&bits, &v, sizeof(bits));
  return std::max(1, static_cast<int>((bits >> 23) & 0xFF));
}

float round16(float v) {
  return num::f32_from_bf16(num::bf16_from_f32(v));
}

constexpr float kC0High = 0.796875f;
constexpr float kC0Low = 0x1.08p-10f;  // sqrt(2/pi) - 0.796875 in bf16
constexpr float kC1 = 0x1.24p-5f;      // 0.044715 * sqrt(2/pi) in bf16

}  // namespace

float mac_bf16(float acc, float a, float b) {
  const double product = double{a} * double{b};
  int top = 0;
  if (product != 0) top = std::max(top, exponent_of(a) + exponent_of(b) - 127);
  if (acc != 0) top = std::max(top, exponent_of(acc));
  if (product == 0 && acc == 0) return 0.0f;
  const double quantum = std::ldexp(1.0, top - 150);
  const double sum = (std::nearbyint(product / quantum) + std::nearbyint(double{acc} / quantum)) * quantum;
  if (std::fabs(sum) < 0x1p-126) return 0.0f;
  return static_cast<float>(sum);
}

float gelu_model(float x) {
  const float high = round16(x);
  const float low = round16(mac_bf16(x, -high, 1.0f));
  const float square = round16(mac_bf16(0, high, high));
  float slope = mac_bf16(0, square, kC1);
  slope = mac_bf16(slope, 1.0f, kC0Low);
  slope = mac_bf16(slope, 1.0f, kC0High);
  const float slope16 = round16(slope);
  const float argument = mac_bf16(mac_bf16(0, low, slope16), high, slope16);
  const float tanh16 = round16(static_cast<float>(std::tanh(double{argument})));
  const float half_tanh = round16(mac_bf16(0, tanh16, 0.5f));
  float out = mac_bf16(0, low, half_tanh);
  out = mac_bf16(out, high, half_tanh);
  out = mac_bf16(out, low, 0.5f);
  return mac_bf16(out, high, 0.5f);
}

}  // namespace tegula::ref
