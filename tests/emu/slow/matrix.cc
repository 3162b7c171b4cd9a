// Multiply and accumulate: the control word, its modes, integers and the float accumulator.
#include <cmath>

#include "emu/slow/core.h"

namespace tegula::emu::slow {

namespace {

using F = Flight&;
__extension__ using i128 = __int128;

enum class Shape : u8 { kMatrix, kMatrixT, kChannels, kElements, kConv, kConvChannels };

// The modes that have been described, by the low byte of the control word without zero_acc.
struct Mode {
  u32 code;
  Shape shape;
  u32 rows, depth, columns;  // kElements: lanes, terms; kConv*: outputs, taps, channels
  u32 a_bits, b_bits;
};

constexpr Mode kModes[] = {
    {0x08, Shape::kMatrix, 8, 8, 8, 8, 8},         {0x28, Shape::kElements, 64, 2, 1, 8, 8},
    {0x48, Shape::kConvChannels, 8, 8, 8, 8, 8},   {0x88, Shape::kConv, 64, 8, 1, 8, 8},
    {0xC8, Shape::kMatrix, 4, 8, 16, 8, 8},        {0x10, Shape::kMatrix, 8, 4, 8, 16, 8},
    {0x30, Shape::kChannels, 4, 4, 4, 16, 8},      {0x18, Shape::kMatrix, 8, 2, 8, 16, 16},
    {0x38, Shape::kElements, 64, 1, 1, 16, 16},    {0x02, Shape::kMatrix, 4, 2, 8, 32, 16},
    {0x12, Shape::kMatrix, 4, 8, 8, 16, 8},        {0x1A, Shape::kMatrix, 4, 4, 8, 16, 16},
    {0x3A, Shape::kConvChannels, 4, 4, 8, 16, 16}, {0x5A, Shape::kElements, 32, 2, 1, 16, 16},
    {0x7A, Shape::kConv, 32, 4, 1, 16, 16},        {0x3C, Shape::kElements, 64, 1, 1, 16, 16},
    {0x0C, Shape::kMatrixT, 8, 8, 8, 8, 8},        {0xCC, Shape::kMatrixT, 4, 8, 16, 8, 8},
};

struct Word {
  u32 bits;
  bool bit(u32 i) const { return (bits >> i & 1) != 0; }
  bool zero_acc() const { return bit(0); }
  u32 amode() const { return bits >> 1 & 3; }
  bool signed_b() const { return bit(8); }
  bool signed_a() const { return bit(9); }
  bool shift16() const { return bit(10); }
  bool sub_mul() const { return bit(11); }
  bool sub_acc1() const { return bit(12); }
  bool sub_acc2() const { return bit(13); }
};

Word control_word(F f) {
  const Word w{f.word("acc")};
  if (w.bits >> 14 != 0) f.illegal("bits of the control word that are not described");
  if (w.amode() == 3) f.illegal("accumulator mode");
  return w;
}

const Mode& mode_of(F f, Word w) {
  for (const Mode& m : kModes) {
    if (m.code == (w.bits & 0xFE)) return m;
  }
  f.illegal("mode that is not described");
  return kModes[0];
}

// Element numbers of term k of a lane.
struct Term {
  u32 a, b;
};

Term term(const Mode& m, u32 lane, u32 k) {
  const u32 row = lane / m.columns, column = lane % m.columns;
  switch (m.shape) {
    case Shape::kMatrix:
      return {row * m.depth + k, k * m.columns + column};
    case Shape::kMatrixT:
      return {row * m.depth + k, column * m.depth + k};
    case Shape::kChannels: {  // (r*4+n)*4+ch
      const u32 r = lane / 16, n = lane / 4 % 4, ch = lane % 4;
      return {(r * 4 + k) * 4 + ch, (k * 4 + n) * 4 + ch};
    }
    case Shape::kElements:
      return {k * m.rows + lane, k * m.rows + lane};
    case Shape::kConv:
      return {lane + k, k};
    case Shape::kConvChannels:
      return {(row + k) * m.columns + column, k * m.columns + column};
  }
  return {};
}

u32 lane_count(const Mode& m) {
  return m.shape == Shape::kChannels ? 64 : m.rows * m.columns;
}

// ---------------------------------------------------------------- integers

i128 integer_product(const Mode& m, Word w, const Value& a, const Value& b, u32 lane) {
  i128 sum = 0;
  for (u32 k = 0; k < m.depth; ++k) {
    const Term t = term(m, lane, k);
    // Operands of X forms end after 64 bytes: zeros follow.
    if ((t.a + 1) * m.a_bits > a.size * 8 || (t.b + 1) * m.b_bits > b.size * 8) continue;
    sum += i128{a.lane(m.a_bits, t.a, w.signed_a())} * b.lane(m.b_bits, t.b, w.signed_b());
  }
  return w.sub_mul() ? -sum : sum;
}

// What an operation does with product and accumulators.
struct Shape2 {
  int product = 0;  // +1, -1, 0: none
  int acc1 = 0, acc2 = 0;
};

// The second accumulator; a word of the cascade stands in one quarter of zeros.
Value second_accumulator(F f) {
  if (f.has("acc2")) return f.in("acc2");
  Value dm = Value::zeros(256);
  const u32 quarter = f.word(f.has("r") ? "r" : "c") % 4;
  std::copy_n(f.received.bytes.begin(), 64, dm.bytes.begin() + 64 * quarter);
  return dm;
}

i128 integer_acc1(Word w, i64 x) {
  if (w.zero_acc()) return 0;
  i128 v = x;
  if (w.shift16()) v *= 65536;
  return w.sub_acc1() ? -v : v;
}

void integer_operation(F f, Shape2 s) {
  const Word w = control_word(f);
  if (w.amode() == 2) f.illegal("float mode of an integer instruction");
  const u32 bits = w.amode() == 0 ? 32 : 64;
  const Mode* m = s.product != 0 ? &mode_of(f, w) : nullptr;
  if (m != nullptr && lane_count(*m) != 2048 / bits) f.illegal("lanes");
  const Value acc2 = s.acc2 != 0 ? second_accumulator(f) : Value::zeros(0);
  Value out = Value::zeros(256);
  for (u32 i = 0; i < 2048 / bits; ++i) {
    i128 sum = 0;
    if (m != nullptr) sum += s.product * integer_product(*m, w, f.in("s1"), f.in("s2"), i);
    if (s.acc1 != 0) sum += s.acc1 * integer_acc1(w, f.in("acc1").lane(bits, i, true));
    if (s.acc2 != 0) sum += (w.sub_acc2() ? -s.acc2 : s.acc2) * i128{acc2.lane(bits, i, true)};
    out.set_lane(bits, i, static_cast<i64>(sum));
  }
  f.out("dst", out);
}

// ---------------------------------------------------------------- the float accumulator

constexpr u32 kNan = 0x7F800001;

// A term of a lane: m * 2^(e - 127 - fraction), with `fraction` bits behind its point.
struct FloatTerm {
  i64 m;
  i32 e;
  u32 fraction;
};

struct FloatLane {
  std::vector<FloatTerm> terms;
  bool nan = false, plus = false, minus = false;  // infinities

  void infinity(bool negative) { (negative ? minus : plus) = true; }

  void add_fp32(u32 x, bool negate) {
    if (negate) x ^= 0x80000000;
    const i32 e = x >> 23 & 0xFF;
    const u32 fraction = x & 0x7FFFFF;
    if (e == 255) {
      if (fraction != 0) {
        nan = true;
      } else {
        infinity(x >> 31 != 0);
      }
      return;
    }
    const i64 m = fraction | (e != 0 ? 0x800000 : 0);
    if (m != 0) terms.push_back({x >> 31 != 0 ? -m : m, e == 0 ? 1 : e, 23});
  }

  void add_bf16(u32 a, u32 b, bool negate) {
    const auto exponent = [](u32 x) { return static_cast<i32>(x >> 7 & 0xFF); };
    const auto mantissa = [&](u32 x) { return i64{x & 0x7F} | (exponent(x) != 0 ? 0x80 : 0); };
    const auto is_nan = [&](u32 x) { return exponent(x) == 255 && (x & 0x7F) != 0; };
    const auto is_infinite = [&](u32 x) { return exponent(x) == 255 && (x & 0x7F) == 0; };
    const bool negative = ((a ^ b) >> 15 & 1) != (negate ? 1u : 0u);
    if (is_nan(a) || is_nan(b)) {
      nan = true;
    } else if (is_infinite(a) || is_infinite(b)) {
      if (mantissa(a) == 0 || mantissa(b) == 0) {
        nan = true;
      } else {
        infinity(negative);
      }
    } else if (const i64 m = mantissa(a) * mantissa(b); m != 0) {
      terms.push_back({negative ? -m : m, std::max(exponent(a), 1) + std::max(exponent(b), 1) - 127, 14});
    }
  }

  static i64 nearest_even(i64 m, u32 shift) {
    if (shift == 0) return m;
    if (shift > 62) return 0;
    const i64 q = m >> shift, rest = m - (q << shift), half = i64{1} << (shift - 1);
    return q + (rest > half || (rest == half && (q & 1) != 0) ? 1 : 0);
  }

  // keep_sign: a result too small becomes a zero of its sign.
  u32 sum(bool keep_sign) const {
    if (nan || (plus && minus)) return kNan;
    if (plus || minus) return minus ? 0xFF800000 : 0x7F800000;
    if (terms.empty()) return 0;
    i32 top = terms[0].e;
    for (const FloatTerm& t : terms) top = std::max(top, t.e);
    i64 total = 0;
    for (const FloatTerm& t : terms) {
      // In units of 2^(top - 127 - 23).
      const i32 left = t.e - top + 23 - static_cast<i32>(t.fraction);
      total += left >= 0 ? t.m * (i64{1} << left) : nearest_even(t.m, static_cast<u32>(-left));
    }
    return normalised(total, top, keep_sign);
  }

  static u32 normalised(i64 total, i32 e, bool keep_sign) {
    if (total == 0) return 0;
    const u32 sign = total < 0 ? 0x80000000 : 0;
    u64 m = static_cast<u64>(total < 0 ? -total : total);
    while (m < 0x800000) m *= 2, --e;
    u32 drop = 0;
    while (m >> drop >= 0x1000000) ++drop;
    m = static_cast<u64>(nearest_even(static_cast<i64>(m), drop));
    e += static_cast<i32>(drop);
    if (m == 0x1000000) m /= 2, ++e;
    if (e <= 0) return keep_sign ? sign : 0;
    if (e >= 255) return sign | 0x7F800000;
    return sign | static_cast<u32>(e) << 23 | (static_cast<u32>(m) & 0x7FFFFF);
  }
};

// The bytes of mantissas and of exponents of ex and ey registers.
struct Blocks {
  std::vector<i8> m;
  std::vector<u8> e;
  explicit Blocks(const Value& v) {
    for (u32 at = 0; at + 72 <= v.size; at += 72) {
      for (u32 i = 0; i < 64; ++i) m.push_back(static_cast<i8>(v.bytes[at + i]));
      for (u32 i = 0; i < 8; ++i) e.push_back(v.bytes[at + 64 + i]);
    }
  }
};

void add_block_product(FloatLane& lane, const Mode& m, const Blocks& a, const Blocks& b, u32 i, bool negate) {
  i64 sum = 0;
  u32 a_block = 0, b_block = 0;
  for (u32 k = 0; k < m.depth; ++k) {
    const Term t = term(m, i, k);
    if (t.a >= a.m.size() || t.b >= b.m.size()) continue;
    sum += i64{a.m[t.a]} * b.m[t.b];
    a_block = t.a / 8, b_block = t.b / 8;
  }
  if (sum != 0) lane.terms.push_back({negate ? -sum : sum, a.e[a_block] + b.e[b_block] - 127, 12});
}

void float_operation(F f, Shape2 s) {
  const Word w = control_word(f);
  if (w.amode() != 2) f.illegal("integer mode of a float instruction");
  if (w.shift16()) f.illegal("shift of a float accumulator");
  const Mode* m = s.product != 0 ? &mode_of(f, w) : nullptr;
  const bool blocks = m != nullptr && m->shape == Shape::kMatrixT;
  if (m != nullptr && blocks != (f.in("s1").size % 72 == 0)) f.illegal("mode of the other number format");
  const Blocks a(blocks ? f.in("s1") : Value::zeros(0)), b(blocks ? f.in("s2") : Value::zeros(0));
  const Value acc2 = s.acc2 != 0 ? second_accumulator(f) : Value::zeros(0);
  Value out = Value::zeros(256);
  for (u32 i = 0; i < 64; ++i) {
    FloatLane lane;
    const bool minus = (s.product < 0) != w.sub_mul();
    if (blocks) {
      add_block_product(lane, *m, a, b, i, minus);
    } else if (m != nullptr && (i + 1) * 2 <= f.in("s1").size) {
      lane.add_bf16(f.in("s1").get<u16>(i), f.in("s2").get<u16>(i), minus);
    }
    if (s.acc1 != 0 && !w.zero_acc()) lane.add_fp32(f.in("acc1").get<u32>(i), (s.acc1 < 0) != w.sub_acc1());
    if (s.acc2 != 0) lane.add_fp32(acc2.get<u32>(i), (s.acc2 < 0) != w.sub_acc2());
    out.set<u32>(i, lane.sum(s.product == 0));
  }
  f.out("dst", out);
}

template <int kProduct, int kAcc1, int kAcc2>
void integer(F f) {
  integer_operation(f, {kProduct, kAcc1, kAcc2});
}
template <int kProduct, int kAcc1, int kAcc2>
void floating(F f) {
  float_operation(f, {kProduct, kAcc1, kAcc2});
}

}  // namespace

void add_matrix(Rules& r) {
  const auto both = [&](const std::string& name, void (*i)(F), void (*fl)(F)) {
    r[name] = {i};
    r[name + ".f"] = {fl};
  };
  both("vmul", integer<1, 0, 0>, floating<1, 0, 0>);
  both("vnegmul", integer<-1, 0, 0>, floating<-1, 0, 0>);
  both("vmac", integer<1, 1, 0>, floating<1, 1, 0>);
  both("vmsc", integer<-1, 1, 0>, floating<-1, 1, 0>);
  both("vaddmac", integer<1, 1, 1>, floating<1, 1, 1>);
  both("vaddmsc", integer<-1, 1, 1>, floating<-1, 1, 1>);
  both("vadd", integer<0, 1, 1>, floating<0, 1, 1>);
  both("vsub", integer<0, 1, -1>, floating<0, 1, -1>);
  both("vneg", integer<0, -1, 0>, floating<0, -1, 0>);
  r["vclr"] = {[](F f) { f.out("dst", Value::zeros(256)); }};
  r["vmov.d"] = {[](F f) { f.out("dst", f.in("acc1")); }};
  // Sparse operands are not described well enough.
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    const bool sparse = info.name.find("_Q") != std::string_view::npos;
    if (info.slot == isa::Slot::kVec && sparse) r["=" + std::string(info.name)] = {nullptr};
  }
}

}  // namespace tegula::emu::slow
