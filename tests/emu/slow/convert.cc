// Between accumulators, integers and the floating point formats: ups, srs, pack, unpack, conv, floor, and the
// nonlinear units.
#include <cmath>

#include "emu/slow/core.h"

namespace tegula::emu::slow {

Value memory_of_ex(const Value& ex, bool wide);

namespace {

using F = Flight&;
using R = isa::Reg;
__extension__ using i128 = __int128;

// Whether v / 2^s, rounded down, is raised by one.
bool raise(i128 v, u32 s, u32 mode) {
  if (s == 0) return false;
  const i128 q = v >> s;
  const i128 f = v - (q << s), h = i128{1} << (s - 1);
  switch (mode) {
    case 0:
      return false;
    case 1:
      return f > 0;
    case 2:
      return v < 0 && f > 0;
    case 3:
      return v >= 0 && f > 0;
    case 8:
      return f > h;
    case 9:
      return f >= h;
    case 10:
      return v >= 0 ? f > h : f >= h;
    case 11:
      return v >= 0 ? f >= h : f > h;
    case 12:
      return f > h || (f == h && (q & 1) != 0);
    case 13:
      return f > h || (f == h && (q & 1) == 0);
    default:
      throw Illegal{"reserved rounding"};
  }
}

i128 rounded(i128 v, u32 s, u32 mode) {
  return (v >> s) + (raise(v, s, mode) ? 1 : 0);
}

// ---------------------------------------------------------------- srs, ups

void srs_lanes(F f, u32 lanes, bool four, Value& out) {
  const bool wide = (f.control(R::crSRSMode) & 1) != 0;
  const u32 from = wide ? 64 : 32, to = from / (four ? 4 : 2);
  const u32 s = f.word("su");
  const u32 left = s >= 60 && s < 64 ? 64 - s : 0;  // the last values of the 6 bits are negative
  if (left == 0 && s >= from) f.illegal("srs shift");
  const u32 saturation = f.control(R::crSat), rounding = f.control(R::crRnd);
  const bool is_signed = f.sign();
  const i128 top = i128{1} << (is_signed ? to - 1 : to);
  const i128 high = top - 1, low = !is_signed ? 0 : saturation == 3 ? -high : -top;
  out = Value::zeros(lanes * to / 8);
  for (u32 i = 0; i < lanes; ++i) {
    const i128 lane = f.in("src").lane(from, i, true);
    i128 v = left != 0 ? lane * (i128{1} << left) : rounded(lane, s, rounding);
    if (v < low || v > high) {
      f.raise_flag(R::srSRS_of);
      if (saturation != 0) v = v < low ? low : high;
    }
    out.set_lane(to, i, static_cast<i64>(v));
  }
}

u32 source_lanes(F f) {
  const u32 from = (f.control(R::crSRSMode) & 1) != 0 ? 64 : 32;
  return f.in("src").size * 8 / from;
}

template <bool kFour>
void srs(F f) {
  Value out;
  srs_lanes(f, source_lanes(f), kFour, out);
  f.out("dst", out);
}

template <bool kFour>
void store_srs(F f) {
  srs_lanes(f, source_lanes(f), kFour, f.memory);
}

void ups_lanes(F f, const Value& from, bool four) {
  const bool wide = (f.control(R::crUPSMode) & 1) != 0;
  const u32 to = wide ? 64 : 32, bits = to / (four ? 4 : 2);
  const u32 s = f.word("su");
  if (s >= to) f.illegal("ups shift");
  const u32 saturation = f.control(R::crSat);
  const bool is_signed = f.sign();
  const u32 lanes = from.size * 8 / bits;
  const i128 high = (i128{1} << (to - 1)) - 1, low = -high - 1;
  Value out = Value::zeros(lanes * to / 8);
  for (u32 i = 0; i < lanes; ++i) {
    i128 v = i128{from.lane(bits, i, is_signed)} * (i128{1} << s);
    if (saturation != 0 && (v < low || v > high)) {
      f.raise_flag(R::srUPS_of);
      v = v < low ? low : high;
    }
    out.set_lane(to, i, static_cast<i64>(v));
  }
  f.out("dst", out);
}

template <bool kFour>
void ups(F f) {
  ups_lanes(f, f.in("src"), kFour);
}
template <bool kFour>
void load_ups(F f) {
  ups_lanes(f, f.memory, kFour);
}

// ---------------------------------------------------------------- pack, unpack

Value packed(F f) {
  const u32 from = (f.control(R::crPackSize) & 1) != 0 ? 16 : 8, to = from / 2;
  const u32 saturation = f.control(R::crSat);
  const bool is_signed = f.sign();
  const i64 top = i64{1} << (is_signed ? to - 1 : to);
  const i64 high = top - 1, low = !is_signed ? 0 : saturation == 3 ? -high : -top;
  const Value& src = f.in("src");
  Value out = Value::zeros(src.size / 2);
  for (u32 i = 0; i < src.size * 8 / from; ++i) {
    i64 v = src.lane(from, i, true);
    if (saturation != 0) v = v < low ? low : v > high ? high : v;
    if (to == 8) {
      out.bytes[i] = static_cast<u8>(v);
    } else {
      out.bytes[i / 2] |= static_cast<u8>((v & 15) << (i % 2 * 4));
    }
  }
  return out;
}

void unpack(F f, const Value& from) {
  const bool bytes = (f.control(R::crUnpackSize) & 1) != 0;
  const bool is_signed = f.sign();
  Value out = Value::zeros(from.size * 2);
  for (u32 i = 0; i < from.size; ++i) {
    if (bytes) {
      out.set_lane(16, i, from.lane(8, i, is_signed));
      continue;
    }
    for (u32 half = 0; half < 2; ++half) {
      const u32 nibble = from.bytes[i] >> (4 * half) & 15;
      out.bytes[2 * i + half] = static_cast<u8>(is_signed && nibble >= 8 ? nibble - 16 : nibble);
    }
  }
  f.out("dst", out);
}

// ---------------------------------------------------------------- bf16, fp32

// The dropped half rounded as part of the real number, so that the sign counts.
u16 bf16_of(u32 x, u32 mode) {
  const bool negative = x >> 31 != 0;
  const u32 magnitude = x & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) {
    const u32 kept = x >> 16;
    return static_cast<u16>((kept & 0x7F) == 0 ? kept | 1 : kept);
  }
  if (magnitude == 0x7F800000) return static_cast<u16>(x >> 16);
  const i64 value = negative ? -i64{magnitude} : i64{magnitude};
  const i64 r = static_cast<i64>(rounded(value, 16, mode));
  return static_cast<u16>((negative ? 0x8000 : 0) | (r < 0 ? -r : r));
}

Value to_bf16(F f) {
  const Value& src = f.in("src");
  Value out = Value::zeros(src.size / 2);
  for (u32 i = 0; i < src.size / 4; ++i) out.set<u16>(i, bf16_of(src.get<u32>(i), f.control(R::crRnd)));
  return out;
}

Value from_bf16(const Value& from) {
  Value out = Value::zeros(from.size * 2);
  for (u32 i = 0; i < from.size / 2; ++i) out.set<u32>(i, u32{from.get<u16>(i)} << 16);
  return out;
}

// floor(v * 2^s), s a signed field of six bits.
i64 floor_of(u32 bf16, i32 s) {
  const i32 exponent = bf16 >> 7 & 0xFF;
  i64 m = bf16 & 0x7F;
  if (exponent == 255 && m != 0) throw Illegal{"floor of NaN"};
  if (exponent != 0) m |= 0x80;
  if ((bf16 & 0x8000) != 0) m = -m;
  const i32 shift = (exponent == 0 ? 1 : exponent) - 127 - 7 + s;
  if (m == 0) return 0;
  if (exponent == 255) return m < 0 ? -(i64{1} << 40) : i64{1} << 40;
  if (shift >= 32) return m < 0 ? -(i64{1} << 40) : i64{1} << 40;
  if (shift >= 0) return m * (i64{1} << shift);
  return shift < -60 ? (m < 0 ? -1 : 0) : m >> -shift;
}

void vfloor(F f) {
  const u32 half = f.has("imm") ? static_cast<u32>(f.imm("imm")) * 16 : 0;
  const i32 s = static_cast<i32>(f.word("shft") << 26) >> 26;
  Value out = Value::zeros(64);
  for (u32 i = 0; i < 16; ++i) {
    const i64 v = floor_of(f.in("src").get<u16>(half + i), s);
    out.set<i32>(i, static_cast<i32>(v > 0x7FFFFFFF ? 0x7FFFFFFF : v < -0x80000000LL ? -0x80000000LL : v));
  }
  f.out("dst", out);
}

// ---------------------------------------------------------------- blocks

i64 significand(u32 x) {
  const i64 m = (x & 0x7FFFFF) | ((x >> 23 & 0xFF) != 0 ? 0x800000 : 0);
  return x >> 31 != 0 ? -m : m;
}

i32 exponent_of(u32 x) {
  const i32 e = x >> 23 & 0xFF;
  return e == 0 ? 1 : e;
}

// Blocks of `length` fp32 values; a mantissa that rounds out of eight bits raises the common exponent.
Value blocks_of(F f, u32 length) {
  const Value& src = f.in("src");
  const u32 mode = f.control(R::crRnd);
  Value out = Value::zeros(72);
  for (u32 first = 0; first < 64; first += length) {
    i32 e = 0;
    for (u32 i = first; i < first + length; ++i) {
      const i32 mine = src.get<u32>(i) >> 23 & 0xFF;
      if (mine == 255) f.illegal("infinity or NaN in a block");
      e = std::max(e, mine);
    }
    for (bool again = true; again;) {
      again = false;
      for (u32 i = first; i < first + length; ++i) {
        const u32 x = src.get<u32>(i);
        const u32 shift = static_cast<u32>(17 + e - exponent_of(x));
        const i64 m =
            shift > 100
                ? (significand(x) == 0 ? 0 : static_cast<i64>(rounded(significand(x) < 0 ? -1 : 1, 2, mode)))
                : static_cast<i64>(rounded(significand(x), shift, mode));
        again |= m > 127 || m < -128;
        out.bytes[i] = static_cast<u8>(m);
      }
      if (again) ++e;
    }
    for (u32 b = first / 8; b < (first + length) / 8; ++b) out.bytes[64 + b] = static_cast<u8>(e);
  }
  return out;
}

// Two blocks of eight become one of sixteen.
Value widened(F f) {
  const Value& src = f.in("src");
  const u32 mode = f.control(R::crRnd);
  Value out = Value::zeros(72);
  for (u32 b = 0; b < 4; ++b) {
    const u32 e = std::max(src.bytes[64 + 2 * b], src.bytes[65 + 2 * b]);
    for (u32 i = 0; i < 16; ++i) {
      const u32 at = 16 * b + i;
      const i64 m = static_cast<i8>(src.bytes[at]);
      const u32 shift = std::min<u32>(e - src.bytes[64 + at / 8], 40);
      out.bytes[at] = static_cast<u8>(static_cast<i64>(rounded(m, shift, mode)));
    }
    out.bytes[64 + 2 * b] = out.bytes[65 + 2 * b] = static_cast<u8>(e);
  }
  return out;
}

// ---------------------------------------------------------------- nonlinear

float real(u32 x) {
  float f;
  std::memcpy(&f, &x, 4);
  return f;
}
u32 bits_of(float x) {
  u32 u;
  std::memcpy(&u, &x, 4);
  return u;
}

// Correctly rounded to nearest even, from a value of much higher precision.
u16 nearest_bf16(double x) {
  if (x == 0) return std::signbit(x) ? 0x8000 : 0;
  const u16 sign = x < 0 ? 0x8000 : 0;
  const double a = std::fabs(x);
  if (std::isinf(a)) return sign | 0x7F80;
  int e = std::max(std::ilogb(a), -126);
  const double units = std::nearbyint(std::ldexp(a, 7 - e));  // multiples of 2^(e-7)
  const double value = std::ldexp(units, e - 7);
  if (value >= std::ldexp(1.0, 128)) return sign | 0x7F80;
  return static_cast<u16>(sign | (bits_of(static_cast<float>(value)) >> 16));
}

template <bool kExp>
void nonlinear(F f) {
  Value out = Value::zeros(32);
  for (u32 i = 0; i < 16; ++i) {
    const float x = real(f.in("src").get<u32>(i));
    if (std::isnan(x)) f.illegal("nonlinear function of NaN");
    if (kExp) {
      out.set<u16>(i, x < -126 ? 0 : nearest_bf16(std::exp2(double{x})));
    } else {
      if (x != 0 && std::fabs(x) < 1.2e-38F) f.illegal("tanh of a denormal");
      out.set<u16>(i, nearest_bf16(std::tanh(double{x})));
    }
  }
  f.out("dst", out);
}

// Fixed to float and back around the scalar functions.
i32 scale(u32 s) {
  return static_cast<i32>(s << 26) >> 26;
}

u32 float_of_fixed(u32 x, u32 s) {
  return bits_of(static_cast<float>(std::ldexp(static_cast<double>(static_cast<i32>(x)), -scale(s))));
}

u32 fixed_of_float(F f, u32 x, u32 s) {
  const double v = std::ldexp(static_cast<double>(real(x)), scale(s));
  if (std::isnan(v) || v >= 2147483648.0 || v < -2147483648.0) f.illegal("flt2fx out of range");
  if (v != std::nearbyint(v)) f.illegal("flt2fx of a fraction");
  return static_cast<u32>(static_cast<i32>(v));
}

enum Function { kInverse, kRoot, kInverseRoot };

template <Function kFunction>
void scalar_function(F f) {
  const std::string_view syntax = f.info->syntax;
  u32 x = f.word("s0");
  if (syntax.find("fx2flt") != std::string_view::npos)
    x = float_of_fixed(x, f.word(f.has("m_1") ? "m_1" : "m"));
  const double v = real(x);
  if (std::isnan(v) || (kFunction != kInverse && v < 0)) f.illegal("scalar function without a value");
  const double y = kFunction == kInverse ? 1 / v : kFunction == kRoot ? std::sqrt(v) : 1 / std::sqrt(v);
  u32 out = bits_of(static_cast<float>(y));
  if (syntax.find("flt2fx") != std::string_view::npos) out = fixed_of_float(f, out, f.word("m"));
  f.out_word("d0", out);
}

}  // namespace

void add_convert(Rules& r) {
  const auto by_class = [&](const std::string& mnemonic, std::string_view operand, void (*rule)(F),
                            u32 part) {
    for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
      const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
      if (plain_mnemonic(info) != mnemonic) continue;
      for (const isa::OperandInfo& o : info.operands) {
        if (o.name != operand) continue;
        r["=" + std::string(info.name)] = {rule,
                                           isa::reg_info(isa::reg_class(o.cls).members[0]).bits / 8 / part};
      }
    }
  };
  r["vsrs.2x"] = {srs<false>};
  r["vsrs.4x"] = {srs<true>};
  by_class("vst.srs.2x", "src", store_srs<false>, 2);
  by_class("vst.srs.4x", "src", store_srs<true>, 4);
  r["vups.2x"] = {ups<false>};
  r["vups.4x"] = {ups<true>};
  by_class("vlda.ups.2x", "dst", load_ups<false>, 2);
  by_class("vlda.ups.4x", "dst", load_ups<true>, 4);
  r["vpack"] = {[](F f) { f.out("dst", packed(f)); }};
  by_class(
      "vst.pack", "src", [](F f) { f.memory = packed(f); }, 2);
  r["vunpack"] = {[](F f) { unpack(f, f.in("src")); }};
  by_class(
      "vldb.unpack", "dst", [](F f) { unpack(f, f.memory); }, 2);
  r["vconv.fp32.bf16"] = {[](F f) { f.out("dst", from_bf16(f.in("src"))); }};
  by_class(
      "vlda.conv.fp32.bf16", "op", [](F f) { f.out("op", from_bf16(f.memory)); }, 2);
  r["vconv.bf16.fp32"] = {[](F f) { f.out("dst", to_bf16(f)); }};
  by_class(
      "vst.conv.bf16.fp32", "src", [](F f) { f.memory = to_bf16(f); }, 2);
  r["vfloor.s32.bf16"] = {vfloor};
  r["vconv.bfp16ebs8.fp32"] = {[](F f) { f.out("dst", blocks_of(f, 8)); }};
  r["vconv.bfp16ebs16.fp32"] = {[](F f) { f.out("dst", blocks_of(f, 16)); }};
  r["vconv.bfp16ebs16.ebs8"] = {[](F f) { f.out("dst", widened(f)); }};
  r["vst.push.576.conv.bfp16ebs8.fp32"] = {[](F f) { f.memory = memory_of_ex(blocks_of(f, 8), false); }, 72};
  r["vst.push.544.conv.bfp16ebs16.fp32"] = {[](F f) { f.memory = memory_of_ex(blocks_of(f, 16), true); }, 68};
  r["vst.push.544.conv.bfp16ebs16.ebs8"] = {[](F f) { f.memory = memory_of_ex(widened(f), true); }, 68};
  r["vexp2"] = {nonlinear<true>};
  r["vtanh"] = {nonlinear<false>};
  r["inv"] = {scalar_function<kInverse>};
  r["sqrt"] = {scalar_function<kRoot>};
  r["invsqrt"] = {scalar_function<kInverseRoot>};
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    if (info.mnemonic != "mov" || info.slot != isa::Slot::kAlu) continue;
    const bool to_fixed = info.syntax.find("flt2fx") != std::string_view::npos;
    r["=" + std::string(info.name)] = {
        to_fixed ? [](F f) { f.out_word("d0", fixed_of_float(f, f.word("s0"), f.word("m"))); }
                 : [](F f) { f.out_word("d0", float_of_fixed(f.word("s0"), f.word("m"))); }};
  }
}

}  // namespace tegula::emu::slow
