#include "num/bfp16.h"

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace tegula::num {
namespace {

int biased_exponent(float value) {
  return static_cast<int>((std::bit_cast<u32>(value) >> 23) & 0xFF);
}

// round(value / 2^(E - 133)) from the 24-bit significand: value = significand * 2^(max(e, 1) - 150).
i64 mantissa_of(float value, int block_exponent, Rounding mode) {
  const u32 bits = std::bit_cast<u32>(value);
  const int exponent = biased_exponent(value);
  i64 significand = bits & 0x7FFFFF;
  if (exponent != 0) significand |= 0x800000;
  if ((bits >> 31) != 0) significand = -significand;
  return round_shift(significand, 17 + block_exponent - std::max(exponent, 1), mode);
}

bool host_has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

void store_block(const Bfp16Block& block, u8* out) {
  std::memcpy(out, &block, sizeof(block));
}

// Exponents for which 2^(133 - E) is a normal fp32 number.
constexpr int kFastLow = 7;
constexpr int kFastHigh = 254;

__attribute__((target("avx2"))) int max_exponent(__m256i bits) {
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7FFFFFFF));
  __m128i m = _mm_max_epi32(_mm256_castsi256_si128(magnitude), _mm256_extracti128_si256(magnitude, 1));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4E));
  m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xB1));
  return _mm_cvtsi128_si32(m) >> 23;
}

// Scaling by a power of two is exact here, and the conversion rounds to nearest even, so this equals the
// scalar form.
__attribute__((target("avx2"))) __m256i scaled_mantissas(__m256 values, int exponent) {
  const __m256 scale = _mm256_castsi256_ps(_mm256_set1_epi32((260 - exponent) << 23));  // 2^(133 - E)
  return _mm256_cvtps_epi32(_mm256_mul_ps(values, scale));
}

__attribute__((target("avx2"))) void store_mantissas(__m256i m, int exponent, u8* out) {
  const __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
  const u64 bytes = static_cast<u64>(_mm_cvtsi128_si64(_mm_packs_epi16(half, half)));
  out[0] = static_cast<u8>(exponent);
  std::memcpy(out + 1, &bytes, sizeof(bytes));
}

// Encodes one block; false when it needs the scalar form (extreme exponents, or the top of the range).
__attribute__((target("avx2"))) bool encode_avx2(__m256 values, u8* out, __m256i* mantissas, int* exponent) {
  int e = max_exponent(_mm256_castps_si256(values));
  if (e < kFastLow || e >= kFastHigh) return false;
  __m256i m = scaled_mantissas(values, e);
  if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(m, _mm256_set1_epi32(127))) != 0)
    m = scaled_mantissas(values, ++e);
  store_mantissas(m, e, out);
  *mantissas = m;
  *exponent = e;
  return true;
}

__attribute__((target("avx2"))) void encode_rows_avx2(const float* values, i64 blocks, u8* out) {
  __m256i m;
  int e;
  for (i64 b = 0; b < blocks; ++b, values += 8, out += kBfp16BlockBytes) {
    if (!encode_avx2(_mm256_loadu_ps(values), out, &m, &e)) store_block(encode_bfp16_block(values), out);
  }
}

void split_block_scalar(const float values[8], u8* hi, u8* lo) {
  const Bfp16Block high = encode_bfp16_block(values);
  float rest[8];
  decode_bfp16_block(high, rest);
  for (int i = 0; i < 8; ++i) rest[i] = values[i] - rest[i];
  store_block(high, hi);
  store_block(encode_bfp16_block(rest), lo);
}

__attribute__((target("avx2"))) void split_rows_avx2(const float* values, i64 blocks, u8* hi, u8* lo) {
  __m256i m;
  int e;
  for (i64 b = 0; b < blocks; ++b, values += 8, hi += kBfp16BlockBytes, lo += kBfp16BlockBytes) {
    const __m256 x = _mm256_loadu_ps(values);
    if (!encode_avx2(x, hi, &m, &e)) {
      split_block_scalar(values, hi, lo);
      continue;
    }
    const __m256 unit = _mm256_castsi256_ps(_mm256_set1_epi32((e - 6) << 23));  // 2^(E - 133)
    const __m256 rest = _mm256_sub_ps(x, _mm256_mul_ps(_mm256_cvtepi32_ps(m), unit));
    if (!encode_avx2(rest, lo, &m, &e)) {
      alignas(32) float spill[8];
      _mm256_store_ps(spill, rest);
      store_block(encode_bfp16_block(spill), lo);
    }
  }
}

// The last, partial block padded with zeros.
void pad_block(std::span<const float> row, i64 full_blocks, float padded[8]) {
  std::fill(padded, padded + 8, 0.0f);
  std::copy(row.begin() + full_blocks * 8, row.end(), padded);
}

}  // namespace

Bfp16Block encode_bfp16_block(const float values[8], Rounding mode) {
  int exponent = 0;
  for (int i = 0; i < 8; ++i) exponent = std::max(exponent, biased_exponent(values[i]));
  i64 m[8];
  const auto encode_all = [&] {
    for (int i = 0; i < 8; ++i) m[i] = mantissa_of(values[i], exponent, mode);
  };
  encode_all();
  if (*std::max_element(m, m + 8) > 127 && exponent < 255) {
    ++exponent;
    encode_all();
  }
  Bfp16Block block;
  block.exponent = static_cast<u8>(exponent);
  for (int i = 0; i < 8; ++i) block.m[i] = static_cast<i8>(std::clamp<i64>(m[i], -128, 127));
  return block;
}

void decode_bfp16_block(const Bfp16Block& block, float values[8]) {
  for (int i = 0; i < 8; ++i) values[i] = std::ldexp(static_cast<float>(block.m[i]), block.exponent - 133);
}

void encode_bfp16_scalar(std::span<const float> row, u8* out) {
  const i64 full = static_cast<i64>(row.size()) / 8;
  for (i64 b = 0; b < full; ++b) store_block(encode_bfp16_block(&row[b * 8]), out + b * kBfp16BlockBytes);
  if (row.size() % 8 != 0) {
    float padded[8];
    pad_block(row, full, padded);
    store_block(encode_bfp16_block(padded), out + full * kBfp16BlockBytes);
  }
}

void encode_bfp16(std::span<const float> row, u8* out) {
  if (!host_has_avx2()) return encode_bfp16_scalar(row, out);
  const i64 full = static_cast<i64>(row.size()) / 8;
  encode_rows_avx2(row.data(), full, out);
  if (row.size() % 8 != 0) encode_bfp16_scalar(row.subspan(full * 8), out + full * kBfp16BlockBytes);
}

void encode_bfp16_split(std::span<const float> row, u8* hi, u8* lo) {
  const i64 full = static_cast<i64>(row.size()) / 8;
  i64 done = 0;
  if (host_has_avx2()) {
    split_rows_avx2(row.data(), full, hi, lo);
    done = full;
  }
  for (; done < full; ++done) {
    split_block_scalar(&row[done * 8], hi + done * kBfp16BlockBytes, lo + done * kBfp16BlockBytes);
  }
  if (row.size() % 8 != 0) {
    float padded[8];
    pad_block(row, full, padded);
    split_block_scalar(padded, hi + full * kBfp16BlockBytes, lo + full * kBfp16BlockBytes);
  }
}

void decode_bfp16(const u8* in, std::span<float> row) {
  for (size_t at = 0; at < row.size(); at += 8, in += kBfp16BlockBytes) {
    Bfp16Block block;
    std::memcpy(&block, in, sizeof(block));
    float values[8];
    decode_bfp16_block(block, values);
    std::copy(values, values + std::min<size_t>(8, row.size() - at), row.begin() + static_cast<i64>(at));
  }
}

}  // namespace tegula::num
