// Float modes: bf16 element-wise, bfp16 matrices, fp32 accumulator addition. Every term of a lane is rounded
// to nearest even to a multiple of the last place of the largest exponent, the sum is exact, one rounding to
// 24 bits ends it (semantics: float accumulate).
#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "emu/core/datapath.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

constexpr u32 kInfinity = 0x7F800000;
constexpr i32 kBlockFraction =
    12;  // product of two blocks: lsb weight 2^(EA + EB - 266), exponent EA + EB - 127
constexpr i32 kBf16Fraction = 14;  // product of two 8-bit significands

// |value| / 2^shift, nearest even.
u64 round_even(u64 magnitude, u32 shift) {
  if (shift == 0) return magnitude;
  if (shift > 62) return 0;
  const u64 half = u64{1} << (shift - 1);
  const u64 whole = magnitude >> shift, rest = magnitude & ((u64{1} << shift) - 1);
  return whole + (rest > half || (rest == half && (whole & 1)));
}

// Term of an fp32 accumulator lane; special is set for infinities and NaN.
FloatTerm accumulator_term(u32 bits, bool negate) {
  const i32 field = static_cast<i32>((bits >> 23) & 0xFF);
  const i64 mantissa = static_cast<i64>((bits & 0x7FFFFF) | (field != 0 ? 0x800000u : 0u));
  return {((bits >> 31) != 0) != negate ? -mantissa : mantissa, field != 0 ? field : 1, 23};
}

// Infinities of a lane, by sign; NaN wins.
struct Special {
  bool nan = false, positive = false, negative = false;
  void see(u32 bits, bool negate) {
    if ((bits & kInfinity) != kInfinity) return;
    if ((bits & 0x7FFFFF) != 0)
      nan = true;
    else
      (((bits >> 31) != 0) != negate ? negative : positive) = true;
  }
  bool any() const { return nan || positive || negative; }
  u32 result() const {
    if (nan || (positive && negative)) return kNan;
    return positive ? kInfinity : kInfinity | 0x80000000u;
  }
};

int accumulator_terms(const u32* acc1, const u32* acc2, const MacArgs& args, FloatTerm* terms,
                      Special& special) {
  int count = 0;
  if (acc1 != nullptr) {
    special.see(*acc1, args.negate_acc1);
    terms[count++] = accumulator_term(*acc1, args.negate_acc1);
  }
  if (acc2 != nullptr) {
    special.see(*acc2, args.negate_acc2);
    terms[count++] = accumulator_term(*acc2, args.negate_acc2);
  }
  return count;
}

struct Lane {
  u32 value = 0;
  const u32* pointer = nullptr;
  Lane(const u8* acc, u32 lane) {
    if (acc == nullptr) return;
    value = load_le<u32>(acc + 4 * lane);
    pointer = &value;
  }
};

void bf16_elements(const MacArgs& args) {
  for (u32 i = 0; i < 64; ++i) {
    const u16 a = 2 * i < args.s1_bytes ? load_le<u16>(args.s1 + 2 * i) : u16{0};
    const u16 b = 2 * i < args.s2_bytes ? load_le<u16>(args.s2 + 2 * i) : u16{0};
    const Lane acc1(args.acc1, i), acc2(args.acc2, i);
    store_le<u32>(args.out + 4 * i, bf16_lane(a, b, acc1.pointer, acc2.pointer, args));
  }
}

// A is rows x 8, B is stored [column][8]; lane = row * columns + column. Columns behind the end of the
// operand are zero.
template <u32 columns>
void block_matrix(const MacArgs& args) {
  for (u32 i = 0; i < 64; ++i) {
    const u32 row = i / columns, column = i % columns;
    i32 product = 0;
    for (u32 k = 0; k < 8 && column * 8 < args.s2_bytes; ++k) {
      product += static_cast<i8>(args.s1[row * 8 + k]) * static_cast<i8>(args.s2[column * 8 + k]);
    }
    const i32 exponent = static_cast<i32>(args.e1[row]) + args.e2[column] - 127;
    const Lane acc1(args.acc1, i), acc2(args.acc2, i);
    store_le<u32>(args.out + 4 * i, block_lane(product, exponent, acc1.pointer, acc2.pointer, args));
  }
}

void float_add(const MacArgs& args) {
  for (u32 i = 0; i < 64; ++i) {
    const Lane acc1(args.acc1, i), acc2(args.acc2, i);
    store_le<u32>(args.out + 4 * i, add_lane(acc1.pointer, acc2.pointer, args));
  }
}

}  // namespace

u32 float_sum(const FloatTerm* terms, int count, bool signed_underflow) {
  i32 top = -100000;
  for (int i = 0; i < count; ++i) {
    if (terms[i].mantissa != 0) top = std::max(top, terms[i].exponent);
  }
  i64 sum = 0;
  for (int i = 0; i < count; ++i) {
    const FloatTerm& t = terms[i];
    if (t.mantissa == 0) continue;
    const bool negative = t.mantissa < 0;
    const u64 magnitude = static_cast<u64>(negative ? -t.mantissa : t.mantissa);
    const i32 shift = (top - t.exponent) - (23 - t.fraction);
    const u64 aligned = shift <= 0 ? magnitude << -shift : round_even(magnitude, static_cast<u32>(shift));
    sum += negative ? -static_cast<i64>(aligned) : static_cast<i64>(aligned);
  }
  if (sum == 0) return 0;
  const u32 sign = sum < 0 ? 0x80000000u : 0;
  u64 magnitude = static_cast<u64>(sum < 0 ? -sum : sum);
  i32 bit = 63 - std::countl_zero(magnitude);
  if (bit > 23) {
    magnitude = round_even(magnitude, static_cast<u32>(bit - 23));
    if (magnitude >> 24) {
      magnitude >>= 1;
      ++bit;
    }
  } else {
    magnitude <<= 23 - bit;
  }
  const i32 field = top + bit - 23;
  if (field <= 0) return signed_underflow ? sign : 0;
  if (field >= 255) return sign | kInfinity;
  return sign | static_cast<u32>(field) << 23 | (static_cast<u32>(magnitude) & 0x7FFFFF);
}

u32 bf16_lane(u16 a, u16 b, const u32* acc1, const u32* acc2, const MacArgs& args) {
  FloatTerm terms[3];
  Special special;
  int count = accumulator_terms(acc1, acc2, args, terms, special);
  const u32 wide_a = u32{a} << 16, wide_b = u32{b} << 16;
  const bool infinite = (wide_a & kInfinity) == kInfinity || (wide_b & kInfinity) == kInfinity;
  const bool negative = (((a ^ b) & 0x8000) != 0) != args.negate_product;
  if (infinite) {
    Special operands;
    operands.see(wide_a, false);
    operands.see(wide_b, false);
    if (operands.nan || (a & 0x7FFF) == 0 || (b & 0x7FFF) == 0)
      special.nan = true;
    else
      special.see(kInfinity, negative);
  }
  if (special.any()) return special.result();
  const auto significand = [](u16 v) {
    return static_cast<i64>((v & 0x7F) | ((v & 0x7F80) != 0 ? 0x80 : 0));
  };
  const auto exponent = [](u16 v) { return std::max(1, (v >> 7) & 0xFF); };
  const i64 product = significand(a) * significand(b);
  terms[count++] = {negative ? -product : product, exponent(a) + exponent(b) - 127, kBf16Fraction};
  return float_sum(terms, count, false);
}

u32 block_lane(i32 product, i32 exponent, const u32* acc1, const u32* acc2, const MacArgs& args) {
  FloatTerm terms[3];
  Special special;
  int count = accumulator_terms(acc1, acc2, args, terms, special);
  if (special.any()) return special.result();
  terms[count++] = {args.negate_product ? -product : product, exponent, kBlockFraction};
  return float_sum(terms, count, false);
}

u32 add_lane(const u32* acc1, const u32* acc2, const MacArgs& args) {
  FloatTerm terms[2];
  Special special;
  const int count = accumulator_terms(acc1, acc2, args, terms, special);
  if (special.any()) return special.result();
  return float_sum(terms, count, true);
}

MacFn select_float(u32 conf, MacUnit unit, bool has_product, bool fast, std::string& why) {
  const auto unknown = [&](const char* what) -> MacFn {
    why = "control word " + hex_text(conf) + " is no " + what + " mode that is known";
    return nullptr;
  };
  if (conf_amode(conf) != 2) return unknown("float");
  if (!has_product) return fast ? avx2::float_add : float_add;
  if (unit == MacUnit::kBf16) {
    if (conf_bmode(conf) != 3 || conf_variant(conf) != 1) return unknown("bf16");
    return fast ? avx2::bf16_elements : bf16_elements;
  }
  if (conf_bmode(conf) != 1) return unknown("bfp16");
  if (conf_variant(conf) == 0) return fast ? avx2::block_8x8x8t : block_matrix<8>;
  if (conf_variant(conf) == 6) return block_matrix<16>;
  return unknown("bfp16");
}

MacFn select_integer(u32 conf, bool has_product, bool fast, std::string& why);

bool works_in_place(MacFn fn) {
  return fn == avx2::int8_8x8x8 || fn == avx2::block_8x8x8t;
}

MacFn select_mac(u32 conf, MacUnit unit, bool has_product, std::string& why) {
  static const bool fast = avx2::available();
  if (unit == MacUnit::kInteger) return select_integer(conf, has_product, fast, why);
  return select_float(conf, unit, has_product, fast, why);
}

MacFn select_mac_plain(u32 conf, MacUnit unit, bool has_product, std::string& why) {
  if (unit == MacUnit::kInteger) return select_integer(conf, has_product, false, why);
  return select_float(conf, unit, has_product, false, why);
}

}  // namespace tegula::emu
