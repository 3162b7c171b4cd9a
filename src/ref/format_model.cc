#include "ref/format_model.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "num/bfp16.h"
#include "num/rounding.h"
#include "ref/dot.h"

namespace tegula::ref {
namespace {

constexpr float kQuietNan = std::bit_cast<float>(0x7F800001u);

// round-to-nearest-even(value * 2^shift) for any shift; the callers keep the result far below 2^63.
i64 shift_rne(i64 value, int shift) {
  return shift >= 0 ? value * (i64{1} << shift) : num::round_shift(value, -shift, num::Rounding::kConvEven);
}

// The fp32 value of sum * 2^(emax - 150): rounded to 24 bits, zero below the normal range, infinity above it.
float normalise(i64 sum, int emax) {
  if (sum == 0) return 0.0f;
  const u64 magnitude = static_cast<u64>(sum < 0 ? -sum : sum);
  const int top = 63 - std::countl_zero(magnitude);
  i64 mantissa = shift_rne(static_cast<i64>(magnitude), 23 - top);
  int exponent = emax + top - 23;
  if (mantissa == (i64{1} << 24)) {
    mantissa >>= 1;
    ++exponent;
  }
  if (exponent <= 0) return 0.0f;
  const u32 sign = sum < 0 ? 0x80000000u : 0;
  if (exponent >= 255) return std::bit_cast<float>(sign | 0x7F800000u);
  return std::bit_cast<float>(sign | static_cast<u32>(exponent) << 23 |
                              (static_cast<u32>(mantissa) & 0x7FFFFF));
}

struct Accumulator {
  i64 mantissa;  // signed, 24 bits with the hidden one
  int exponent;  // biased; value = mantissa * 2^(exponent - 150)
};

Accumulator split(float acc) {
  const u32 bits = std::bit_cast<u32>(acc);
  const int exponent = static_cast<int>((bits >> 23) & 0xFF);
  i64 mantissa = bits & 0x7FFFFF;
  if (exponent != 0) mantissa |= 0x800000;
  return {(bits >> 31) != 0 ? -mantissa : mantissa, std::max(exponent, 1)};
}

// Eight columns of one row at a time. All scaling is by powers of two and exact; the two conversions to
// integer and the one back round to nearest even, which is what section 10.3 asks for.
struct FastMac {
  // Exponents for which every intermediate stays a normal fp32 number; outside, the scalar form takes over.
  static constexpr int kLow = 30;
  static constexpr int kHigh = 240;

  __attribute__((target("avx2"))) static __m256i products(__m128i a, const u8* w, i64 stride) {
    const __m256i a2 = _mm256_broadcastsi128_si256(a);
    __m256i v[4];
    for (int i = 0; i < 4; ++i) {
      const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(w + i * stride + 1));
      const __m128i high = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(w + (i + 4) * stride + 1));
      const __m256i wide = _mm256_cvtepi8_epi16(_mm_unpacklo_epi64(low, high));
      v[i] = _mm256_madd_epi16(a2, wide);
    }
    return _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
  }

  __attribute__((target("avx2"))) static __m256i exponents(const u8* w, i64 stride) {
    return _mm256_setr_epi32(w[0], w[stride], w[2 * stride], w[3 * stride], w[4 * stride], w[5 * stride],
                             w[6 * stride], w[7 * stride]);
  }

  // 2^e per lane, e in -126..127.
  __attribute__((target("avx2"))) static __m256 power(__m256i e) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(e, _mm256_set1_epi32(127)), 23));
  }

  __attribute__((target("avx2"))) static __m256 mac(__m256 acc, const u8* a, __m128i a16, const u8* w,
                                                    i64 stride) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i p = products(a16, w, stride);
    __m256i e_p = _mm256_add_epi32(exponents(w, stride), _mm256_set1_epi32(a[0] - 127));
    e_p = _mm256_andnot_si256(_mm256_cmpeq_epi32(p, zero), e_p);  // a zero term is absent
    const __m256i acc_bits = _mm256_and_si256(_mm256_castps_si256(acc), _mm256_set1_epi32(0x7FFFFFFF));
    const __m256i e_acc = _mm256_srli_epi32(acc_bits, 23);
    __m256i emax = _mm256_max_epi32(e_p, e_acc);
    const __m256i none = _mm256_and_si256(_mm256_cmpeq_epi32(p, zero), _mm256_cmpeq_epi32(acc_bits, zero));
    emax = _mm256_blendv_epi8(emax, _mm256_set1_epi32(127), none);
    const __m256i outside = _mm256_or_si256(_mm256_cmpgt_epi32(_mm256_set1_epi32(kLow), emax),
                                            _mm256_cmpgt_epi32(emax, _mm256_set1_epi32(kHigh)));
    if (_mm256_movemask_epi8(outside) != 0) return mac_by_lane(acc, a, w, stride);
    // Product in units of 2^(emax - 150): p * 2^(11 - d), d = emax - e_p; from d = 60 on it rounds to zero
    // anyway.
    const __m256i d = _mm256_min_epi32(_mm256_sub_epi32(emax, e_p), _mm256_set1_epi32(60));
    const __m256 p_scale = power(_mm256_sub_epi32(_mm256_set1_epi32(11), d));
    const __m256i p_units = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(p), p_scale));
    // 2^(150 - emax) may exceed 2^127, so in two exact steps.
    const __m256 acc_near = _mm256_mul_ps(acc, power(_mm256_sub_epi32(_mm256_set1_epi32(127), emax)));
    const __m256i acc_units = _mm256_cvtps_epi32(_mm256_mul_ps(acc_near, _mm256_set1_ps(0x1p23f)));
    const __m256 sum = _mm256_cvtepi32_ps(_mm256_add_epi32(p_units, acc_units));
    const __m256 back = _mm256_mul_ps(sum, _mm256_set1_ps(0x1p-23f));
    return _mm256_mul_ps(back, power(_mm256_sub_epi32(emax, _mm256_set1_epi32(127))));
  }

  __attribute__((target("avx2"), noinline)) static __m256 mac_by_lane(__m256 acc, const u8* a, const u8* w,
                                                                      i64 stride) {
    alignas(32) float lanes[8];
    _mm256_store_ps(lanes, acc);
    for (int i = 0; i < 8; ++i) lanes[i] = mac_bfp16(lanes[i], a, w + i * stride);
    return _mm256_load_ps(lanes);
  }

  __attribute__((target("avx2"))) static __m128i widen(const u8* block) {
    return _mm_cvtepi8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block + 1)));
  }

  // Columns n .. n+7 of row r.
  __attribute__((target("avx2"))) static void columns(const Bfp16Matrix& a, i64 r, const Bfp16Matrix& w,
                                                      i64 n, float* acc) {
    const i64 stride = w.blocks * num::kBfp16BlockBytes;
    __m256 sum = _mm256_loadu_ps(acc);
    for (i64 b = 0; b < a.blocks; ++b) {
      const i64 a_at = (r * a.blocks + b) * num::kBfp16BlockBytes;
      const i64 w_at = n * stride + b * num::kBfp16BlockBytes;
      const __m128i a_hi = widen(&a.hi[a_at]);
      if (a.parts == 2) {
        sum = mac(sum, &a.lo[a_at], widen(&a.lo[a_at]), &w.hi[w_at], stride);
        sum = mac(sum, &a.hi[a_at], a_hi, &w.lo[w_at], stride);
      }
      sum = mac(sum, &a.hi[a_at], a_hi, &w.hi[w_at], stride);
    }
    _mm256_storeu_ps(acc, sum);
  }
};

float element_scalar(const Bfp16Matrix& a, i64 r, const Bfp16Matrix& w, i64 n, float acc) {
  for (i64 b = 0; b < a.blocks; ++b) {
    const i64 a_at = (r * a.blocks + b) * num::kBfp16BlockBytes;
    const i64 w_at = (n * w.blocks + b) * num::kBfp16BlockBytes;
    if (a.parts == 2) {
      acc = mac_bfp16(acc, &a.lo[a_at], &w.hi[w_at]);
      acc = mac_bfp16(acc, &a.hi[a_at], &w.lo[w_at]);
    }
    acc = mac_bfp16(acc, &a.hi[a_at], &w.hi[w_at]);
  }
  return acc;
}

void row_columns(const Bfp16Matrix& a, i64 r, const Bfp16Matrix& w, i64 begin, i64 end, bool fast,
                 float* out) {
  i64 n = begin;
  for (; fast && n + 8 <= end; n += 8) FastMac::columns(a, r, w, n, out + n);
  for (; n < end; ++n) out[n] = element_scalar(a, r, w, n, out[n]);
}

void model_columns(const Bfp16Matrix& a, const Bfp16Matrix& w, std::span<const float> bias,
                   ActivationModel activation, i64 begin, i64 end, bool fast, float* out) {
  for (i64 r = 0; r < a.rows; ++r) {
    float* row = out + r * w.rows;
    for (i64 n = begin; n < end; ++n) row[n] = bias.empty() ? 0.0f : bias[n];
    row_columns(a, r, w, begin, end, fast, row);
    if (activation == nullptr) continue;
    for (i64 n = begin; n < end; ++n) row[n] = activation(row[n]);
  }
}

}  // namespace

Bfp16Matrix encode_bfp16_matrix(const float* data, i64 rows, i64 cols, int parts) {
  Bfp16Matrix out;
  out.rows = rows;
  out.blocks = (cols + 7) / 8;
  out.parts = parts;
  const i64 row_bytes = num::bfp16_row_bytes(cols);
  out.hi.resize(rows * row_bytes);
  if (parts == 2) out.lo.resize(rows * row_bytes);
  for (i64 r = 0; r < rows; ++r) {
    const std::span<const float> row(data + r * cols, static_cast<size_t>(cols));
    if (parts == 2) {
      num::encode_bfp16_split(row, &out.hi[r * row_bytes], &out.lo[r * row_bytes]);
    } else {
      num::encode_bfp16(row, &out.hi[r * row_bytes]);
    }
  }
  return out;
}

float mac_bfp16(float acc, const u8* a_block, const u8* w_block) {
  if (std::isnan(acc)) return kQuietNan;
  if (std::isinf(acc)) return acc;
  i64 product = 0;
  for (int i = 1; i <= 8; ++i) product += static_cast<i8>(a_block[i]) * static_cast<i8>(w_block[i]);
  const int e_product = a_block[0] + w_block[0] - 127;
  const Accumulator term = split(acc);
  if (product == 0 && term.mantissa == 0) return 0.0f;
  int emax = product != 0 ? e_product : term.exponent;
  if (term.mantissa != 0) emax = std::max(emax, term.exponent);
  i64 sum = 0;
  // product * 2^(EA + EB - 266) in units of 2^(emax - 150) is product * 2^(11 + e_product - emax).
  if (product != 0) sum += shift_rne(product, 11 + e_product - emax);
  if (term.mantissa != 0) sum += shift_rne(term.mantissa, term.exponent - emax);
  return normalise(sum, emax);
}

void matmul_bfp16_model(ThreadPool& pool, const Bfp16Matrix& a, const Bfp16Matrix& w,
                        std::span<const float> bias, ActivationModel activation, float* out) {
  const bool fast = host_has_avx2();
  pool.parallel_for(
      w.rows, 64, [&](i64 begin, i64 end) { model_columns(a, w, bias, activation, begin, end, fast, out); });
}

void matmul_bfp16_model_scalar(const Bfp16Matrix& a, const Bfp16Matrix& w, std::span<const float> bias,
                               ActivationModel activation, float* out) {
  model_columns(a, w, bias, activation, 0, w.rows, false, out);
}

void matmul_bfp16_model(ThreadPool& pool, const float* a, const float* w, i64 m, i64 n, i64 k, int parts,
                        std::span<const float> bias, ActivationModel activation, float* out) {
  matmul_bfp16_model(pool, encode_bfp16_matrix(a, m, k, parts), encode_bfp16_matrix(w, n, k, parts), bias,
                     activation, out);
}

void matmul_int8_model(const i8* a, const i8* w, i64 m, i64 n, i64 k, std::span<const i32> bias, i32* out) {
  for (i64 r = 0; r < m; ++r) {
    for (i64 c = 0; c < n; ++c) {
      u32 sum = bias.empty() ? 0 : static_cast<u32>(bias[c]);
      for (i64 i = 0; i < k; ++i) sum += static_cast<u32>(a[r * k + i] * w[c * k + i]);
      out[r * n + c] = static_cast<i32>(sum);
    }
  }
}

}  // namespace tegula::ref
