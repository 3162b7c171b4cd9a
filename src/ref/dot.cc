#include "ref/dot.h"

#include <immintrin.h>

namespace tegula::ref {
namespace {

__attribute__((target("avx2,fma"))) float sum_of(__m256 v) {
  __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  s = _mm_add_ps(s, _mm_movehl_ps(s, s));
  return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

__attribute__((target("avx2,fma"))) float dot_avx2(const float* a, const float* b, i64 count) {
  __m256 sum[4] = {};
  i64 i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int j = 0; j < 4; ++j) {
      sum[j] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i + 8 * j), _mm256_loadu_ps(b + i + 8 * j), sum[j]);
    }
  }
  for (; i + 8 <= count; i += 8)
    sum[0] = _mm256_fmadd_ps(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), sum[0]);
  float total = sum_of(_mm256_add_ps(_mm256_add_ps(sum[0], sum[1]), _mm256_add_ps(sum[2], sum[3])));
  for (; i < count; ++i) total += a[i] * b[i];
  return total;
}

float dot_plain(const float* a, const float* b, i64 count) {
  float total = 0;
  for (i64 i = 0; i < count; ++i) total += a[i] * b[i];
  return total;
}

__attribute__((target("avx2,fma"))) void accumulate_avx2(float factor, const float* x, i64 count,
                                                         float* out) {
  const __m256 f = _mm256_set1_ps(factor);
  i64 i = 0;
  for (; i + 8 <= count; i += 8) {
    _mm256_storeu_ps(out + i, _mm256_fmadd_ps(f, _mm256_loadu_ps(x + i), _mm256_loadu_ps(out + i)));
  }
  for (; i < count; ++i) out[i] += factor * x[i];
}

// XR * WR accumulators stay in registers: 3 x 4 needs 12 of the 16 beside 4 operands.
template <int XR, int WR>
__attribute__((target("avx2,fma"))) void tile_avx2(const float* x, const float* w, i64 k, float* out,
                                                   i64 stride) {
  __m256 sum[XR][WR] = {};
  i64 i = 0;
  for (; i + 8 <= k; i += 8) {
    __m256 a[XR];
    for (int r = 0; r < XR; ++r) a[r] = _mm256_loadu_ps(x + r * k + i);
    for (int n = 0; n < WR; ++n) {
      const __m256 b = _mm256_loadu_ps(w + n * k + i);
      for (int r = 0; r < XR; ++r) sum[r][n] = _mm256_fmadd_ps(a[r], b, sum[r][n]);
    }
  }
  for (int r = 0; r < XR; ++r) {
    for (int n = 0; n < WR; ++n) {
      float total = sum_of(sum[r][n]);
      for (i64 t = i; t < k; ++t) total += x[r * k + t] * w[n * k + t];
      out[r * stride + n] = total;
    }
  }
}

}  // namespace

bool host_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
}

float dot(const float* a, const float* b, i64 count) {
  return host_has_avx2() ? dot_avx2(a, b, count) : dot_plain(a, b, count);
}

void accumulate(float factor, const float* x, i64 count, float* out) {
  if (host_has_avx2()) return accumulate_avx2(factor, x, count, out);
  for (i64 i = 0; i < count; ++i) out[i] += factor * x[i];
}

void dot_tile(const float* x, i64 x_rows, const float* w, i64 w_rows, i64 k, float* out, i64 stride) {
  if (host_has_avx2() && w_rows == 4) {
    if (x_rows == 3) return tile_avx2<3, 4>(x, w, k, out, stride);
    if (x_rows == 2) return tile_avx2<2, 4>(x, w, k, out, stride);
    return tile_avx2<1, 4>(x, w, k, out, stride);
  }
  for (i64 r = 0; r < x_rows; ++r) {
    for (i64 n = 0; n < w_rows; ++n) out[r * stride + n] = dot(x + r * k, w + n * k, k);
  }
}

}  // namespace tegula::ref
