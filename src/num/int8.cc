#include "num/int8.h"

#include <algorithm>
#include <cmath>

namespace tegula::num {

float quantize_int8(std::span<const float> row, i8* out) {
  float largest = 0;
  for (float x : row) largest = std::max(largest, std::fabs(x));
  if (largest == 0) {
    std::fill(out, out + row.size(), i8{0});
    return 0;
  }
  const float scale = largest / 127.0f;
  for (size_t i = 0; i < row.size(); ++i) {
    out[i] = static_cast<i8>(std::clamp(std::nearbyint(row[i] / scale), -127.0f, 127.0f));
  }
  return scale;
}

void dequantize_int8(std::span<const i8> row, float scale, float* out) {
  for (size_t i = 0; i < row.size(); ++i) out[i] = static_cast<float>(row[i]) * scale;
}

i8 srs_int8(i32 value, int shift, Rounding mode) {
  return static_cast<i8>(std::clamp<i64>(round_shift(value, shift, mode), -128, 127));
}

}  // namespace tegula::num
