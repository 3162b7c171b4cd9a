// See lanes.h. Written for clearness; the matrix datapaths, which dominate, are in datapath_*.cc.
#include "emu/core/lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/bytes.h"

namespace tegula::emu::lanes {

namespace {

// Whether a value with discarded fraction `part` of `unit` (both > 0 scaled) goes to the next larger
// magnitude.
bool magnitude_up(u32 rounding, bool negative, u64 part, u64 half, bool odd) {
  switch (rounding) {
    case kCeil:
      return !negative && part != 0;
    case kSymFloor:
      return false;
    case kSymCeil:
      return part != 0;
    case kNegInf:
      return negative ? part >= half : part > half;
    case kPosInf:
      return negative ? part > half : part >= half;
    case kSymZero:
      return part > half;
    case kSymInf:
      return part >= half;
    case kConvEven:
      return part > half || (part == half && odd);
    case kConvOdd:
      return part > half || (part == half && !odd);
    default:
      return negative && part != 0;  // floor
  }
}

template <typename Lane>
Lane clamp_to(i64 value, i64 low, i64 high, bool& clipped) {
  if (value < low || value > high) {
    clipped = true;
    value = value < low ? low : high;
  }
  return static_cast<Lane>(value);
}

// The shift of SRS is a field of 6 bits; its last four values are shifts to the left by 4 to 1. (Read off
// compiled exponentials: index * 4 comes from a shift of 62.)
constexpr u32 kFirstLeftShift = 60;

// value * 2^by where that fits, else the end of the range.
i64 shift_left(i64 value, u32 by) {
  const i64 limit = std::numeric_limits<i64>::max() >> by;
  if (value > limit) return std::numeric_limits<i64>::max();
  if (value < -limit - 1) return std::numeric_limits<i64>::min();
  return value * (i64{1} << by);
}

template <typename Lane, typename Element>
bool srs_lanes(const u8* src, u32 count, const SrsMode& mode, u8* out) {
  constexpr int kBits = static_cast<int>(sizeof(Element)) * 8;
  i64 high = mode.is_signed ? (i64{1} << (kBits - 1)) - 1 : (i64{1} << kBits) - 1;
  i64 low = mode.is_signed ? -high - 1 : 0;
  bool overflow = false;
  const u32 shift = mode.shift & 63;
  const u32 left = shift >= kFirstLeftShift ? 64 - shift : 0;
  const bool even = sizeof(Lane) == 4 && mode.rounding == kConvEven && shift != 0 && shift < 32;
  for (u32 i = 0; i < count; ++i) {
    const i64 lane = load_le<Lane>(src + i * sizeof(Lane));
    const i64 rounded = even        ? (lane + ((i64{1} << (shift - 1)) - 1) + ((lane >> shift) & 1)) >> shift
                        : left != 0 ? shift_left(lane, left)
                                    : shift_round(lane, shift, mode.rounding);
    bool clipped = rounded < low || rounded > high;
    overflow |= clipped;
    i64 value = left != 0 ? static_cast<i64>(static_cast<u64>(lane) << left) : rounded;
    if (mode.saturation & 1) {
      value = std::clamp(rounded, mode.is_signed && mode.saturation == 3 ? -high : low, high);
    }
    store_le<Element>(out + i * sizeof(Element), static_cast<Element>(value));
  }
  return overflow;
}

template <typename Element, typename Lane>
bool ups_lanes(const u8* src, u32 count, u32 shift, u32 saturation, u8* out) {
  using Wide = __int128;
  const Wide high = (Wide{1} << (sizeof(Lane) * 8 - 1)) - 1;
  bool overflow = false;
  for (u32 i = 0; i < count; ++i) {
    Wide value = static_cast<Wide>(load_le<Element>(src + i * sizeof(Element))) << shift;
    if (saturation != 0 && (value > high || value < -high - 1)) {
      overflow = true;
      value = value > 0 ? high : -high - 1;
    }
    store_le<Lane>(out + i * sizeof(Lane), static_cast<Lane>(value));
  }
  return overflow;
}

i32 saturate_element(i32 value, int bits, u32 saturation, bool is_signed) {
  if (saturation == 0 || saturation == 2) return value;
  const i32 high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  const i32 low = is_signed ? (saturation == 3 ? -high : -high - 1) : 0;
  return std::clamp(value, low, high);
}

// Signed significand of an fp32 with its hidden bit, and its exponent (1 for denormals).
i32 significand(u32 bits, i32& exponent) {
  const u32 field = (bits >> 23) & 0xFF;
  const i32 magnitude = static_cast<i32>((bits & 0x7FFFFF) | (field != 0 ? 0x800000u : 0u));
  exponent = field != 0 ? static_cast<i32>(field) : 1;
  return bits >> 31 ? -magnitude : magnitude;
}

// Mantissas of `count` lanes for block exponent `top`; false when one would be 128 (it is stored as 127).
bool encode_block(const u8* src, u32 count, u32 top, u32 rounding, u8* out) {
  bool fits = true;
  for (u32 i = 0; i < count; ++i) {
    i32 exponent = 0;
    const i32 value = significand(load_le<u32>(src + 4 * i), exponent);
    const i32 shift = std::min(17 + static_cast<i32>(top) - exponent, 40);
    const i64 mantissa = shift_round(value, static_cast<u32>(shift), rounding);
    fits &= mantissa <= 127;
    out[i] = static_cast<u8>(std::min<i64>(mantissa, 127));
  }
  return fits;
}

// Nearest-even bf16 of a finite double whose magnitude is a normal bf16 or smaller (then zero).
u16 bf16_of_double(double value) {
  if (std::isnan(value)) return 0x7F81;
  const u64 bits = std::bit_cast<u64>(value);
  const u16 sign = static_cast<u16>((bits >> 63) << 15);
  if (std::isinf(value)) return static_cast<u16>(sign | 0x7F80);
  if (value == 0) return sign;
  i32 exponent = static_cast<i32>((bits >> 52) & 0x7FF) - 1023;
  const u64 mantissa = (bits & ((u64{1} << 52) - 1)) | (u64{1} << 52);
  u64 top = mantissa >> 45;  // 8 bits
  const u64 rest = mantissa & ((u64{1} << 45) - 1), half = u64{1} << 44;
  if (rest > half || (rest == half && (top & 1))) ++top;
  if (top == 256) {
    top = 128;
    ++exponent;
  }
  if (exponent > 127) return static_cast<u16>(sign | 0x7F80);
  if (exponent < -126) return sign;
  return static_cast<u16>(sign | static_cast<u16>((exponent + 127) << 7) | static_cast<u16>(top & 0x7F));
}

}  // namespace

i64 shift_round(i64 value, u32 shift, u32 rounding) {
  shift &= 63;
  if (shift == 0) return value;
  const bool negative = value < 0;
  const u64 magnitude = negative ? u64{0} - static_cast<u64>(value) : static_cast<u64>(value);
  const u64 whole = magnitude >> shift;
  const u64 part = magnitude & ((u64{1} << shift) - 1);
  const u64 rounded = whole + magnitude_up(rounding, negative, part, u64{1} << (shift - 1), whole & 1);
  return negative ? static_cast<i64>(u64{0} - rounded) : static_cast<i64>(rounded);
}

bool srs(const u8* src, u32 count, u32 lane_bits, u32 out_bits, const SrsMode& mode, u8* out) {
  if (lane_bits == 32) {
    return out_bits == 8 ? srs_lanes<i32, i8>(src, count, mode, out)
                         : srs_lanes<i32, i16>(src, count, mode, out);
  }
  return out_bits == 16 ? srs_lanes<i64, i16>(src, count, mode, out)
                        : srs_lanes<i64, i32>(src, count, mode, out);
}

bool ups(const u8* src, u32 count, u32 in_bits, u32 lane_bits, u32 shift, u32 saturation, bool is_signed,
         u8* out) {
  shift &= 63;
  if (lane_bits == 32) {
    if (in_bits == 8) {
      return is_signed ? ups_lanes<i8, i32>(src, count, shift, saturation, out)
                       : ups_lanes<u8, i32>(src, count, shift, saturation, out);
    }
    return is_signed ? ups_lanes<i16, i32>(src, count, shift, saturation, out)
                     : ups_lanes<u16, i32>(src, count, shift, saturation, out);
  }
  if (in_bits == 16) {
    return is_signed ? ups_lanes<i16, i64>(src, count, shift, saturation, out)
                     : ups_lanes<u16, i64>(src, count, shift, saturation, out);
  }
  return is_signed ? ups_lanes<i32, i64>(src, count, shift, saturation, out)
                   : ups_lanes<u32, i64>(src, count, shift, saturation, out);
}

void pack(const u8* src, u32 count, bool wide, u32 saturation, bool is_signed, u8* out) {
  if (wide) {
    for (u32 i = 0; i < count; ++i) {
      out[i] = static_cast<u8>(saturate_element(load_le<i16>(src + 2 * i), 8, saturation, is_signed));
    }
    return;
  }
  for (u32 i = 0; i < count; i += 2) {
    const i32 low = saturate_element(static_cast<i8>(src[i]), 4, saturation, is_signed);
    const i32 high = saturate_element(static_cast<i8>(src[i + 1]), 4, saturation, is_signed);
    out[i / 2] = static_cast<u8>((low & 15) | (high << 4));
  }
}

void unpack(const u8* src, u32 bytes, bool wide, bool is_signed, u8* out) {
  for (u32 i = 0; i < bytes; ++i) {
    const u8 b = src[i];
    if (wide) {
      store_le<u16>(out + 2 * i, is_signed ? static_cast<u16>(static_cast<i8>(b)) : b);
    } else {
      const u8 low = b & 15, high = b >> 4;
      out[2 * i] = is_signed ? static_cast<u8>((low ^ 8) - 8) : low;
      out[2 * i + 1] = is_signed ? static_cast<u8>((high ^ 8) - 8) : high;
    }
  }
}

u16 bf16_of_fp32(u32 bits, u32 rounding) {
  const u16 top = static_cast<u16>(bits >> 16);
  if ((bits & 0x7F800000) == 0x7F800000) {
    if ((bits & 0x7FFFFF) == 0) return top;
    return (top & 0x7F) != 0 ? top : static_cast<u16>(top | 1);
  }
  return static_cast<u16>(top + magnitude_up(rounding, bits >> 31, bits & 0xFFFF, 0x8000, top & 1));
}

void bf16_of_fp32(const u8* src, u32 count, u32 rounding, u8* out) {
  if (rounding == kConvEven ||
      rounding == kFloor) {  // without branches, so that the compiler can use vectors
    const u32 even = rounding == kConvEven ? 1 : 0;
    for (u32 i = 0; i < count; ++i) {
      const u32 bits = load_le<u32>(src + 4 * i);
      const u32 up = even ? 0x7FFF + ((bits >> 16) & 1) : (bits >> 31) * 0xFFFF;
      const u32 top = bits >> 16;
      const u32 special = top | ((bits & 0x7FFFFF) != 0 && (top & 0x7F) == 0);
      store_le<u16>(out + 2 * i,
                    static_cast<u16>((bits & 0x7F800000) == 0x7F800000 ? special : (bits + up) >> 16));
    }
    return;
  }
  for (u32 i = 0; i < count; ++i)
    store_le<u16>(out + 2 * i, bf16_of_fp32(load_le<u32>(src + 4 * i), rounding));
}

void fp32_of_bf16(const u8* src, u32 count, u8* out) {
  for (u32 i = 0; i < count; ++i) store_le<u32>(out + 4 * i, u32{load_le<u16>(src + 2 * i)} << 16);
}

void bfp16_of_fp32(const u8* src, bool wide, u32 rounding, u8* out, u8* exponents) {
  const u32 block = wide ? 16 : 8;
  for (u32 first = 0; first < 64; first += block) {
    u32 top = 0;
    for (u32 i = 0; i < block; ++i) top = std::max(top, (load_le<u32>(src + 4 * (first + i)) >> 23) & 0xFF);
    // A rounding carry out of seven bits raises the exponent. Assumption: the hardware's behaviour is not
    // published.
    if (!encode_block(src + 4 * first, block, top, rounding, out + first) && top < 255) {
      encode_block(src + 4 * first, block, ++top, rounding, out + first);
    }
    for (u32 e = first / 8; e < (first + block) / 8; ++e) exponents[e] = static_cast<u8>(top);
  }
}

void bfp16_widen(const u8* mantissas, const u8* exponents, u32 rounding, u8* out, u8* out_exponents) {
  for (u32 pair = 0; pair < 8; pair += 2) {
    const u8 top = std::max(exponents[pair], exponents[pair + 1]);
    for (u32 b = pair; b < pair + 2; ++b) {
      const u32 shift = std::min<u32>(top - exponents[b], 40);
      for (u32 i = 8 * b; i < 8 * b + 8; ++i) {
        out[i] = static_cast<u8>(shift_round(static_cast<i8>(mantissas[i]), shift, rounding));
      }
    }
    out_exponents[pair] = out_exponents[pair + 1] = top;
  }
}

i32 floor_of_bf16(u16 bits, i32 shift) {
  const double value =
      std::floor(std::ldexp(static_cast<double>(std::bit_cast<float>(u32{bits} << 16)), shift));
  if (std::isnan(value)) return 0;
  if (value >= 2147483647.0) return 2147483647;
  if (value <= -2147483648.0) return -2147483647 - 1;
  return static_cast<i32>(value);
}

u16 exp2_bf16(u32 fp32_bits) {
  return bf16_of_double(std::exp2(static_cast<double>(std::bit_cast<float>(fp32_bits))));
}

u16 tanh_bf16(u32 fp32_bits) {
  return bf16_of_double(std::tanh(static_cast<double>(std::bit_cast<float>(fp32_bits))));
}

}  // namespace tegula::emu::lanes
