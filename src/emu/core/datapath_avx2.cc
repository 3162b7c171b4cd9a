// AVX2 versions of the datapaths that carry nearly all work. Bit-exact to the plain versions, which also
// compute the lanes that the fast path cannot (extreme exponents, infinities, denormal bf16).
//
// Float accumulate in single precision: with emax the larger of the two exponents and q = 2^(emax - 150),
// adding and subtracting copysign(2^(emax - 127), x) rounds the x of the smaller exponent to a multiple of q,
// because the ulp of the sum is q; the larger one is a multiple of q already. The final IEEE addition then is
// the exact sum rounded once. No FMA here: a contraction would skip a rounding.
#include <immintrin.h>

#include <bit>

#include "base/bytes.h"
#include "emu/core/datapath.h"

#define TEGULA_AVX2 __attribute__((target("avx2")))

namespace tegula::emu::avx2 {

namespace {

TEGULA_AVX2 inline __m256i load256(const u8* p) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}
TEGULA_AVX2 inline void store256(u8* p, __m256i v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v);
}

// 64 bytes to int16, row by row.
template <bool is_signed>
TEGULA_AVX2 inline void widen(const u8* from, i16* to) {
  for (int i = 0; i < 4; ++i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 16 * i));
    _mm256_store_si256(reinterpret_cast<__m256i*>(to + 16 * i),
                       is_signed ? _mm256_cvtepi8_epi16(v) : _mm256_cvtepu8_epi16(v));
  }
}

// B as [k][n] bytes to pairs (k, k + 1) of int16 for the eight columns.
template <bool is_signed>
TEGULA_AVX2 inline void pair_rows(const u8* b, __m256i pairs[4]) {
  for (int i = 0; i < 4; ++i) {
    const __m128i rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b + 16 * i));
    const __m128i mixed = _mm_unpacklo_epi8(rows, _mm_srli_si128(rows, 8));
    pairs[i] = is_signed ? _mm256_cvtepi8_epi16(mixed) : _mm256_cvtepu8_epi16(mixed);
  }
}

// B as [n][k] int8 to the same pairs: a transpose of 32-bit pairs.
TEGULA_AVX2 inline void pair_columns(const u8* b, __m256i pairs[4]) {
  __m256i row[4];  // n = i in the low lane, i + 4 in the high lane
  for (int i = 0; i < 4; ++i) {
    const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + 8 * i));
    const __m128i high = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b + 8 * i + 32));
    row[i] = _mm256_cvtepi8_epi16(_mm_unpacklo_epi64(low, high));
  }
  const __m256i t0 = _mm256_unpacklo_epi32(row[0], row[1]), t1 = _mm256_unpacklo_epi32(row[2], row[3]);
  const __m256i t2 = _mm256_unpackhi_epi32(row[0], row[1]), t3 = _mm256_unpackhi_epi32(row[2], row[3]);
  pairs[0] = _mm256_unpacklo_epi64(t0, t1);
  pairs[1] = _mm256_unpackhi_epi64(t0, t1);
  pairs[2] = _mm256_unpacklo_epi64(t2, t3);
  pairs[3] = _mm256_unpackhi_epi64(t2, t3);
}

// One row of eight int32 products.
TEGULA_AVX2 inline __m256i row_product(const i16* a, const __m256i pairs[4]) {
  const auto pair = [&](int i) TEGULA_AVX2 {
    return _mm256_set1_epi32(load_le<i32>(reinterpret_cast<const u8*>(a + 2 * i)));
  };
  const __m256i p01 =
      _mm256_add_epi32(_mm256_madd_epi16(pair(0), pairs[0]), _mm256_madd_epi16(pair(1), pairs[1]));
  const __m256i p23 =
      _mm256_add_epi32(_mm256_madd_epi16(pair(2), pairs[2]), _mm256_madd_epi16(pair(3), pairs[3]));
  return _mm256_add_epi32(p01, p23);
}

// +-acc1 (shifted) +- acc2 of eight int32 lanes.
TEGULA_AVX2 inline __m256i integer_acc(const MacArgs& args, int row) {
  __m256i sum = _mm256_setzero_si256();
  if (args.acc1 != nullptr) {
    __m256i v = load256(args.acc1 + 32 * row);
    if (conf_shift16(args.conf)) v = _mm256_slli_epi32(v, 16);
    sum = args.negate_acc1 ? _mm256_sub_epi32(sum, v) : v;
  }
  if (args.acc2 != nullptr) {
    const __m256i v = load256(args.acc2 + 32 * row);
    sum = args.negate_acc2 ? _mm256_sub_epi32(sum, v) : _mm256_add_epi32(sum, v);
  }
  return sum;
}

template <bool signed_a, bool signed_b>
TEGULA_AVX2 void int8_matrix(const MacArgs& args) {
  alignas(32) i16 a[64];
  __m256i pairs[4];
  widen<signed_a>(args.s1, a);
  pair_rows<signed_b>(args.s2, pairs);
  const bool plain = !args.negate_product && !args.negate_acc1 && args.acc2 == nullptr &&
                     args.acc1 != nullptr && !conf_shift16(args.conf);
  for (int r = 0; r < 8; ++r) {
    const __m256i product = row_product(a + 8 * r, pairs);
    __m256i sum;
    if (plain) {
      sum = _mm256_add_epi32(load256(args.acc1 + 32 * r), product);
    } else {
      const __m256i acc = integer_acc(args, r);
      sum = args.negate_product ? _mm256_sub_epi32(acc, product) : _mm256_add_epi32(acc, product);
    }
    store256(args.out + 32 * r, sum);
  }
}

struct Accumulated {
  __m256 sum;
  __m256i bad;  // lanes that need the plain version
};

// One accumulator and one other term. `present`: all ones where the term is not zero; exponents as in the
// rule.
TEGULA_AVX2 inline Accumulated accumulate(__m256 term, __m256i exponent, __m256i present, __m256 acc) {
  const __m256i acc_bits = _mm256_castps_si256(acc), term_bits = _mm256_castps_si256(term);
  const __m256i sign = _mm256_set1_epi32(static_cast<i32>(0x80000000)), field = _mm256_set1_epi32(0x7F800000);
  const __m256i acc_exponent = _mm256_srli_epi32(_mm256_and_si256(acc_bits, field), 23);
  const __m256i term_larger = _mm256_and_si256(_mm256_cmpgt_epi32(exponent, acc_exponent), present);
  const __m256i acc_larger = _mm256_cmpgt_epi32(acc_exponent, exponent);
  const __m256 for_acc = _mm256_castsi256_ps(_mm256_or_si256(
      _mm256_and_si256(_mm256_slli_epi32(exponent, 23), term_larger), _mm256_and_si256(acc_bits, sign)));
  const __m256 for_term = _mm256_castsi256_ps(_mm256_or_si256(
      _mm256_and_si256(_mm256_and_si256(acc_bits, field), acc_larger), _mm256_and_si256(term_bits, sign)));
  const __m256 rounded_acc = _mm256_sub_ps(_mm256_add_ps(acc, for_acc), for_acc);
  const __m256 rounded_term = _mm256_sub_ps(_mm256_add_ps(term, for_term), for_term);
  return {_mm256_add_ps(rounded_acc, rounded_term), _mm256_cmpeq_epi32(acc_exponent, _mm256_set1_epi32(255))};
}

// Denormal results become +0, or keep their sign.
template <bool keep_sign>
TEGULA_AVX2 inline __m256i flush(__m256 sum) {
  const __m256i bits = _mm256_castps_si256(sum);
  const __m256i small =
      _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x7F800000)), _mm256_setzero_si256());
  if (keep_sign) {
    return _mm256_andnot_si256(_mm256_and_si256(small, _mm256_set1_epi32(0x7FFFFFFF)), bits);
  }
  return _mm256_andnot_si256(small, bits);
}

TEGULA_AVX2 inline __m256 float_acc(const u8* acc, bool negate, int row) {
  if (acc == nullptr) return _mm256_setzero_ps();
  const __m256 v = _mm256_castsi256_ps(load256(acc + 32 * row));
  return negate ? _mm256_xor_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<i32>(0x80000000)))) : v;
}

TEGULA_AVX2 inline int lanes_of(__m256i mask) {
  return _mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

// Values of one accumulator lane for the plain lane functions.
struct LanePointers {
  u32 value1 = 0, value2 = 0;
  const u32* acc1 = nullptr;
  const u32* acc2 = nullptr;
  LanePointers(const MacArgs& args, int lane) {
    if (args.acc1 != nullptr) value1 = load_le<u32>(args.acc1 + 4 * lane), acc1 = &value1;
    if (args.acc2 != nullptr) value2 = load_le<u32>(args.acc2 + 4 * lane), acc2 = &value2;
  }
};

i32 plain_product(const MacArgs& args, int row, int column) {
  i32 product = 0;
  for (int k = 0; k < 8; ++k) {
    product += static_cast<i8>(args.s1[row * 8 + k]) * static_cast<i8>(args.s2[column * 8 + k]);
  }
  return product;
}

void fix_block_lanes(const MacArgs& args, int row, int bad) {
  for (int column = 0; column < 8; ++column) {
    if (!((bad >> column) & 1)) continue;
    const LanePointers acc(args, row * 8 + column);
    const i32 exponent = static_cast<i32>(args.e1[row]) + args.e2[column] - 127;
    store_le<u32>(args.out + 4 * (row * 8 + column),
                  block_lane(plain_product(args, row, column), exponent, acc.acc1, acc.acc2, args));
  }
}

void fix_bf16_lanes(const MacArgs& args, const u8* a, const u8* b, int row, int bad) {
  for (int i = 0; i < 8; ++i) {
    if (!((bad >> i) & 1)) continue;
    const int lane = row * 8 + i;
    const LanePointers acc(args, lane);
    store_le<u32>(args.out + 4 * lane, bf16_lane(load_le<u16>(a + 2 * lane), load_le<u16>(b + 2 * lane),
                                                 acc.acc1, acc.acc2, args));
  }
}

// Exponents of the products for which 2^(e - 139) and all products up to 2^17 of it are normal floats, with
// room for another 2^127 on top.
constexpr i32 kBlockLow = 13, kBlockHigh = 248;

TEGULA_AVX2 void careful_block(const MacArgs& args) {
  alignas(32) i16 a[64];
  __m256i pairs[4];
  widen<true>(args.s1, a);
  pair_columns(args.s2, pairs);
  const __m256i column_exponents =
      _mm256_sub_epi32(_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(args.e2))),
                       _mm256_set1_epi32(127));
  const __m256i low = _mm256_set1_epi32(kBlockLow), high = _mm256_set1_epi32(kBlockHigh);
  const __m256i zero = _mm256_setzero_si256();
  const bool three_terms = args.acc2 != nullptr;
  for (int r = 0; r < 8; ++r) {
    __m256i product = row_product(a + 8 * r, pairs);
    if (args.negate_product) product = _mm256_sub_epi32(zero, product);
    const __m256i exponent = _mm256_add_epi32(column_exponents, _mm256_set1_epi32(args.e1[r]));
    const __m256i safe = _mm256_max_epi32(_mm256_min_epi32(exponent, high), low);
    const __m256i absent = _mm256_cmpeq_epi32(product, zero);
    const __m256i present = _mm256_xor_si256(absent, _mm256_set1_epi32(-1));
    const __m256 scale =
        _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(safe, _mm256_set1_epi32(12)), 23));
    const __m256 term = _mm256_mul_ps(_mm256_cvtepi32_ps(product), scale);
    const Accumulated sum = accumulate(term, safe, present, float_acc(args.acc1, args.negate_acc1, r));
    store256(args.out + 32 * r, flush<false>(sum.sum));
    const __m256i outside = _mm256_andnot_si256(_mm256_cmpeq_epi32(safe, exponent), present);
    const int bad = three_terms ? 0xFF : lanes_of(_mm256_or_si256(sum.bad, outside));
    if (bad != 0) [[unlikely]]
      fix_block_lanes(args, r, bad);
  }
}

TEGULA_AVX2 void careful_bf16(const MacArgs& args) {
  alignas(32) u8 a[128], b[128];  // zero beyond the operands
  std::memset(a, 0, sizeof a);
  std::memset(b, 0, sizeof b);
  std::memcpy(a, args.s1, args.s1_bytes);
  std::memcpy(b, args.s2, args.s2_bytes);
  const __m256i field = _mm256_set1_epi32(0xFF), magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  const __m256i zero = _mm256_setzero_si256();
  const __m256 flip =
      _mm256_castsi256_ps(_mm256_set1_epi32(args.negate_product ? static_cast<i32>(0x80000000) : 0));
  const bool three_terms = args.acc2 != nullptr;
  for (int r = 0; r < 8; ++r) {
    const __m256i x = _mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(a + 16 * r))), 16);
    const __m256i y = _mm256_slli_epi32(
        _mm256_cvtepu16_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(b + 16 * r))), 16);
    const __m256i ex = _mm256_and_si256(_mm256_srli_epi32(x, 23), field);
    const __m256i ey = _mm256_and_si256(_mm256_srli_epi32(y, 23), field);
    const __m256i absent = _mm256_or_si256(_mm256_cmpeq_epi32(_mm256_and_si256(x, magnitude), zero),
                                           _mm256_cmpeq_epi32(_mm256_and_si256(y, magnitude), zero));
    const __m256i exponent = _mm256_sub_epi32(_mm256_add_epi32(ex, ey), _mm256_set1_epi32(127));
    const __m256i safe =
        _mm256_max_epi32(_mm256_min_epi32(exponent, _mm256_set1_epi32(252)), _mm256_set1_epi32(1));
    const __m256i present = _mm256_xor_si256(absent, _mm256_set1_epi32(-1));
    const __m256 raw = _mm256_mul_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y));
    const __m256 term = _mm256_and_ps(_mm256_xor_ps(raw, flip), _mm256_castsi256_ps(present));
    const Accumulated sum = accumulate(term, safe, present, float_acc(args.acc1, args.negate_acc1, r));
    store256(args.out + 32 * r, flush<false>(sum.sum));
    const __m256i denormal = _mm256_or_si256(_mm256_cmpeq_epi32(ex, zero), _mm256_cmpeq_epi32(ey, zero));
    const __m256i special = _mm256_or_si256(_mm256_cmpeq_epi32(ex, field), _mm256_cmpeq_epi32(ey, field));
    const __m256i outside =
        _mm256_andnot_si256(_mm256_andnot_si256(denormal, _mm256_cmpeq_epi32(safe, exponent)), present);
    const __m256i bad_lanes = _mm256_or_si256(_mm256_or_si256(sum.bad, special), outside);
    const int bad = three_terms ? 0xFF : lanes_of(bad_lanes);
    if (bad != 0) [[unlikely]]
      fix_bf16_lanes(args, a, b, r, bad);
  }
}

// The common case: no third term, exponents in range everywhere, no infinity among the accumulators. Terms of
// any exponent can be added to max(field of acc, field of term) with their sign and it taken off again: where
// the term's field is the larger, that changes nothing, because the term has at most 18 bits.
TEGULA_AVX2 inline __m256i fast_accumulate(__m256 term, __m256i field_of_term, __m256i absent, __m256 acc) {
  const __m256i sign = _mm256_set1_epi32(static_cast<i32>(0x80000000)), field = _mm256_set1_epi32(0x7F800000);
  const __m256i acc_bits = _mm256_castps_si256(acc), term_bits = _mm256_castps_si256(term);
  const __m256i acc_field = _mm256_and_si256(acc_bits, field);
  const __m256i term_field = _mm256_andnot_si256(absent, field_of_term);
  const __m256i term_larger = _mm256_cmpgt_epi32(term_field, acc_field);
  const __m256 for_acc = _mm256_castsi256_ps(
      _mm256_or_si256(_mm256_and_si256(term_field, term_larger), _mm256_and_si256(acc_bits, sign)));
  const __m256 for_term = _mm256_castsi256_ps(
      _mm256_or_si256(_mm256_max_epi32(acc_field, term_field), _mm256_and_si256(term_bits, sign)));
  const __m256 rounded_acc = _mm256_sub_ps(_mm256_add_ps(acc, for_acc), for_acc);
  const __m256 rounded_term = _mm256_sub_ps(_mm256_add_ps(term, for_term), for_term);
  return flush<false>(_mm256_add_ps(rounded_acc, rounded_term));
}

// None of these rows of eight lanes holds an infinity or NaN.
TEGULA_AVX2 inline bool finite_rows(const u8* acc, u32 rows) {
  if (acc == nullptr) return true;
  const __m256i field = _mm256_set1_epi32(0x7F800000);
  __m256i top = _mm256_setzero_si256();
  for (u32 left = rows; left != 0; left &= left - 1) {
    top = _mm256_max_epi32(top, _mm256_and_si256(load256(acc + 32 * std::countr_zero(left)), field));
  }
  return lanes_of(_mm256_cmpeq_epi32(top, field)) == 0;
}

TEGULA_AVX2 inline bool zero_rows(const u8* acc, u32 rows) {
  __m256i all = _mm256_setzero_si256();
  for (u32 left = rows; left != 0; left &= left - 1) {
    all = _mm256_or_si256(all, load256(acc + 32 * std::countr_zero(left)));
  }
  return _mm256_testz_si256(all, all) != 0;
}

// Fields of terms to which the power of two of any accumulator can be added.
TEGULA_AVX2 inline bool all_moderate(__m256i top) {
  return lanes_of(_mm256_cmpgt_epi32(top, _mm256_set1_epi32(252 << 23))) == 0;
}

// All sums of one exponent of each operand lie within the fast range.
TEGULA_AVX2 bool sums_fit(__m128i e1, __m128i e2) {
  const auto least = [](__m128i v) TEGULA_AVX2 { return _mm_cvtsi128_si32(_mm_minpos_epu16(v)) & 0xFFFF; };
  const __m128i a = _mm_cvtepu8_epi16(e1), b = _mm_cvtepu8_epi16(e2), all = _mm_set1_epi16(255);
  const i32 low = least(a) + least(b) - 127;
  const i32 high = 510 - least(_mm_sub_epi16(all, a)) - least(_mm_sub_epi16(all, b)) - 127;
  return low >= kBlockLow && high <= kBlockHigh;
}

TEGULA_AVX2 inline __m128i eight(const u8* p) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
}

// Mostly every exponent alone lies where no sum can leave the range.
TEGULA_AVX2 inline bool exponents_fit(__m128i a, __m128i b) {
  constexpr int kLow = (kBlockLow + 127) / 2, kHigh = (kBlockHigh + 127) / 2;
  const __m128i moved = _mm_sub_epi8(_mm_unpacklo_epi64(a, b), _mm_set1_epi8(kLow));
  const __m128i outside = _mm_subs_epu8(moved, _mm_set1_epi8(kHigh - kLow));
  return _mm_test_all_zeros(outside, outside) || sums_fit(a, b);
}

// A bit for each of eight blocks that holds only zeros; its exponent means nothing.
TEGULA_AVX2 inline u32 empty_blocks(const u8* mantissas) {
  const __m256i zero = _mm256_setzero_si256();
  const auto bits = [&](const u8* p) TEGULA_AVX2 {
    return _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(load256(p), zero)));
  };
  return static_cast<u32>(bits(mantissas) | bits(mantissas + 32) << 4);
}

// The exponents with 127 in place of those of empty blocks.
TEGULA_AVX2 inline __m128i without_empty(__m128i exponents, u32 empty) {
  const __m128i bit = _mm_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, -128, 64, 32, 16, 8, 4, 2, 1);
  const __m128i mask = _mm_cmpeq_epi8(_mm_and_si128(_mm_set1_epi8(static_cast<char>(empty)), bit), bit);
  return _mm_blendv_epi8(exponents, _mm_set1_epi8(127), mask);
}

// Operands of a block product, ready for one row after the other.
struct BlockOperands {
  alignas(32) i16 a[64];
  alignas(32) i32 row_exponents[8];  // in the place of an exponent field
  __m256i pairs[4], columns;
};

template <bool plain>
TEGULA_AVX2 inline void block_row(const MacArgs& args, const BlockOperands& b, int r) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256 acc =
      plain ? _mm256_castsi256_ps(load256(args.acc1 + 32 * r)) : float_acc(args.acc1, args.negate_acc1, r);
  __m256i product = row_product(b.a + 8 * r, b.pairs);
  if (!plain && args.negate_product) product = _mm256_sub_epi32(zero, product);
  const __m256i exponent = _mm256_add_epi32(b.columns, _mm256_set1_epi32(b.row_exponents[r]));
  const __m256 scale = _mm256_castsi256_ps(_mm256_sub_epi32(exponent, _mm256_set1_epi32(12 << 23)));
  const __m256 term = _mm256_mul_ps(_mm256_cvtepi32_ps(product), scale);
  store256(args.out + 32 * r, fast_accumulate(term, exponent, _mm256_cmpeq_epi32(product, zero), acc));
}

// out may be acc1. plain: acc1 is there and no sign is turned. Rows of A without a product (padding, or a
// batch smaller than eight) keep their accumulators.
template <bool plain>
TEGULA_AVX2 void fast_block(const MacArgs& args, __m128i e1, __m128i e2, u32 empty) {
  BlockOperands b;
  widen<true>(args.s1, b.a);
  pair_columns(args.s2, b.pairs);
  b.columns = _mm256_slli_epi32(_mm256_sub_epi32(_mm256_cvtepu8_epi32(e2), _mm256_set1_epi32(127)), 23);
  _mm256_store_si256(reinterpret_cast<__m256i*>(b.row_exponents),
                     _mm256_slli_epi32(_mm256_cvtepu8_epi32(e1), 23));
  if (empty == 0) {
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) block_row<plain>(args, b, r);
    return;
  }
  for (u32 left = ~empty & 0xFF; left != 0; left &= left - 1)
    block_row<plain>(args, b, std::countr_zero(left));
  if (plain && args.out == args.acc1 && zero_rows(args.acc1, empty)) return;
  for (u32 left = empty; left != 0; left &= left - 1) {
    const int r = std::countr_zero(left);
    const __m256 acc = float_acc(args.acc1, args.negate_acc1, r);
    const __m256 nan = _mm256_cmp_ps(acc, acc, _CMP_UNORD_Q),
                 one_nan = _mm256_castsi256_ps(_mm256_set1_epi32(kNan));
    store256(args.out + 32 * r, flush<false>(_mm256_blendv_ps(acc, one_nan, nan)));
  }
}

// bf16 products are exact in single precision unless they are denormal there; those lanes, denormal operands
// and infinities go to the careful version.
TEGULA_AVX2 bool fast_bf16(const MacArgs& args) {
  const __m256i field = _mm256_set1_epi32(0x7F800000), magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  const __m256i zero = _mm256_setzero_si256(), bias = _mm256_set1_epi32(127 << 23);
  const __m256 flip =
      _mm256_castsi256_ps(_mm256_set1_epi32(args.negate_product ? static_cast<i32>(0x80000000) : 0));
  __m256i top = zero, bad = zero;
  for (int r = 0; r < 8; ++r) {
    const auto operand = [&](const u8* s, u32 bytes) TEGULA_AVX2 {
      if (16u * static_cast<u32>(r) >= bytes) return _mm256_setzero_si256();
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(s + 16 * r));
      return _mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16);
    };
    const __m256i x = operand(args.s1, args.s1_bytes), y = operand(args.s2, args.s2_bytes);
    const __m256i fx = _mm256_and_si256(x, field), fy = _mm256_and_si256(y, field);
    const __m256 raw = _mm256_xor_ps(_mm256_mul_ps(_mm256_castsi256_ps(x), _mm256_castsi256_ps(y)), flip);
    const __m256i raw_bits = _mm256_castps_si256(raw), raw_field = _mm256_and_si256(raw_bits, field);
    const __m256i absent = _mm256_cmpeq_epi32(_mm256_and_si256(raw_bits, magnitude), zero);
    const __m256i least = _mm256_min_epi32(_mm256_min_epi32(fx, fy), raw_field);
    bad = _mm256_or_si256(bad, _mm256_andnot_si256(absent, _mm256_cmpeq_epi32(least, zero)));
    top = _mm256_max_epi32(top, raw_field);
    const __m256i exponent = _mm256_sub_epi32(_mm256_add_epi32(fx, fy), bias);
    const __m256 term = _mm256_castsi256_ps(_mm256_andnot_si256(absent, raw_bits));
    store256(args.out + 32 * r,
             fast_accumulate(term, exponent, absent, float_acc(args.acc1, args.negate_acc1, r)));
  }
  return lanes_of(bad) == 0 && all_moderate(top) && finite_rows(args.acc1, 0xFF);
}

}  // namespace

namespace {

TEGULA_AVX2 inline __attribute__((always_inline)) void block_product(const MacArgs& args) {
  const u32 empty = empty_blocks(args.s1);
  if (args.acc2 == nullptr && finite_rows(args.acc1, 0xFF & ~empty)) [[likely]] {
    const __m128i e1 = without_empty(eight(args.e1), empty);
    __m128i e2 = eight(args.e2);
    bool fits = exponents_fit(e1, e2);
    if (!fits) {
      e2 = without_empty(e2, empty_blocks(args.s2));
      fits = exponents_fit(e1, e2);
    }
    if (fits) {
      const bool plain = args.acc1 != nullptr && !args.negate_product && !args.negate_acc1;
      return plain ? fast_block<true>(args, e1, e2, empty) : fast_block<false>(args, e1, e2, empty);
    }
  }
  if (args.out != args.acc1) return careful_block(args);
  alignas(32) u8 out[256];
  MacArgs apart = args;
  apart.out = out;
  careful_block(apart);
  std::memcpy(args.out, out, sizeof out);
}

}  // namespace

TEGULA_AVX2 void block_8x8x8t(const MacArgs& args) {
  block_product(args);
}

TEGULA_AVX2 void block_8x8x8t_plain(u8* out, const u8* acc, const u8* s1, const u8* s2, const u8* e1,
                                    const u8* e2) {
  MacArgs args;
  args.out = out;
  args.acc1 = acc;
  args.s1 = s1;
  args.s2 = s2;
  args.e1 = e1;
  args.e2 = e2;
  block_product(args);
}

void bf16_elements(const MacArgs& args) {
  if (args.acc2 == nullptr && fast_bf16(args)) [[likely]]
    return;
  careful_bf16(args);
}

// Pairs of blocks: 18 bytes [E0][m0..m7][E1][m0..m7].
TEGULA_AVX2 void split_blocks(const u8* from, u8* mantissas, u8* exponents) {
  __m128i all = _mm_setzero_si128();
  for (int i = 0; i < 4; ++i) {
    const __m128i pair = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + 18 * i));
    const __m128i second = eight(from + 18 * i + 10);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(mantissas + 16 * i),
                     _mm_unpacklo_epi64(_mm_srli_si128(pair, 1), second));
    // Bytes 0 and 9 to the two bytes at 2 * i.
    const __m128i take = _mm_cvtsi64_si128(
        static_cast<i64>((0x8080808080808080ull & ~(0xFFFFull << (16 * i))) | (0x0900ull << (16 * i))));
    all = _mm_or_si128(all, _mm_shuffle_epi8(pair, take));
  }
  _mm_storel_epi64(reinterpret_cast<__m128i*>(exponents), all);
}

bool available() {
  return __builtin_cpu_supports("avx2");
}

TEGULA_AVX2 void int8_8x8x8(const MacArgs& args) {
  if (conf_sign_x(args.conf)) {
    conf_sign_y(args.conf) ? int8_matrix<true, true>(args) : int8_matrix<true, false>(args);
  } else {
    conf_sign_y(args.conf) ? int8_matrix<false, true>(args) : int8_matrix<false, false>(args);
  }
}

TEGULA_AVX2 void float_add(const MacArgs& args) {
  const __m256i field = _mm256_set1_epi32(0xFF), magnitude = _mm256_set1_epi32(0x7FFFFFFF);
  for (int r = 0; r < 8; ++r) {
    const __m256 x = float_acc(args.acc1, args.negate_acc1, r), y = float_acc(args.acc2, args.negate_acc2, r);
    const __m256i y_bits = _mm256_castps_si256(y);
    const __m256i exponent = _mm256_and_si256(_mm256_srli_epi32(y_bits, 23), field);
    const __m256i present = _mm256_cmpgt_epi32(_mm256_and_si256(y_bits, magnitude), _mm256_setzero_si256());
    const __m256 term = _mm256_and_ps(y, _mm256_castsi256_ps(present));
    const Accumulated sum = accumulate(term, exponent, present, x);
    // An exact zero is +0; only an underflow keeps its sign, and those are denormal here, not zero.
    const __m256 total = _mm256_add_ps(sum.sum, _mm256_setzero_ps());
    store256(args.out + 32 * r, flush<true>(total));
    const int bad = lanes_of(_mm256_or_si256(sum.bad, _mm256_cmpeq_epi32(exponent, field)));
    if (bad == 0) continue;
    for (int i = 0; i < 8; ++i) {
      if (!((bad >> i) & 1)) continue;
      const LanePointers acc(args, r * 8 + i);
      store_le<u32>(args.out + 4 * (r * 8 + i), add_lane(acc.acc1, acc.acc2, args));
    }
  }
}

}  // namespace tegula::emu::avx2
