// Integer and bf16 operations on the lanes of x registers.
#include "emu/slow/core.h"

namespace tegula::emu::slow {

namespace {

using F = Flight&;

// Width of the lanes from the mnemonic: the number, or bf16, behind its last point.
u32 lane_bits(F f) {
  const std::string_view m = f.mnemonic;
  const std::string_view end = m.substr(m.rfind('.') + 1);
  if (end == "8" || end == "s8") return 8;
  if (end == "32" || end == "s32") return 32;
  if (end == "64") return 64;
  if (end == "128") return 128;
  return 16;
}

bool is_bf16(F f) {
  return f.mnemonic.ends_with(".bf16");
}

bool sign_or(F f, bool otherwise) {
  for (const auto& [reg, when] : f.timing->implicit_uses) {
    if (isa::reg_info(reg).name.find("ign") != std::string_view::npos) return f.sign();
  }
  return otherwise;
}

bool is_nan(u32 x) {
  return (x & 0x7FFF) > 0x7F80;
}

// Sign and magnitude order, -0 below +0.
i32 order(u32 x) {
  return (x & 0x8000) != 0 ? -1 - static_cast<i32>(x & 0x7FFF) : static_cast<i32>(x);
}

bool less(F f, u32 bits, const Value& a, const Value& b, u32 i, bool is_signed) {
  if (!is_bf16(f)) return a.lane(bits, i, is_signed) < b.lane(bits, i, is_signed);
  const u32 x = a.get<u16>(i), y = b.get<u16>(i);
  return !is_nan(x) && !is_nan(y) && order(x) < order(y);
}

bool at_least(F f, u32 bits, const Value& a, const Value& b, u32 i, bool is_signed) {
  if (!is_bf16(f)) return a.lane(bits, i, is_signed) >= b.lane(bits, i, is_signed);
  const u32 x = a.get<u16>(i), y = b.get<u16>(i);
  return !is_nan(x) && !is_nan(y) && order(x) >= order(y);
}

void put_mask(F f, u64 mask, u32 bits) {
  if (bits == 8) {
    f.out("cmp", Value::of<u64>(mask));
  } else {
    f.out_word("cmp", static_cast<u32>(mask));
  }
}

u64 mask_in(F f, u32 bits) {
  return bits == 8 ? f.in("sel").get<u64>(0) : f.word("sel");
}

// One lane of an operation with two sources: the result and its bit of the mask.
struct Lane {
  i64 value = 0;
  bool mask = false;
};
using LaneFunction = Lane (*)(F, u32 bits, u32 i, const Value& a, const Value& b, bool is_signed);

template <LaneFunction kFunction>
void lanes(F f) {
  const u32 bits = lane_bits(f);
  const bool is_signed = sign_or(f, true);
  const Value& b = f.in("s2");
  const Value& a = f.has("s1") ? f.in("s1") : b;
  Value d = Value::zeros(64);
  u64 mask = 0;
  for (u32 i = 0; i < 512 / bits; ++i) {
    const Lane lane = kFunction(f, bits, i, a, b, is_signed);
    d.set_lane(bits, i, lane.value);
    if (lane.mask) mask |= u64{1} << i;
  }
  if (f.has("d")) f.out("d", d);
  if (f.has("cmp")) put_mask(f, mask, bits);
}

i64 extended(u32 bits, const Value& v, u32 i, bool is_signed) {
  return v.lane(bits, i, is_signed);
}

Lane add(F, u32 bits, u32 i, const Value& a, const Value& b, bool) {
  return {extended(bits, a, i, true) + extended(bits, b, i, true)};
}
Lane sub(F, u32 bits, u32 i, const Value& a, const Value& b, bool) {
  return {extended(bits, a, i, true) - extended(bits, b, i, true)};
}
Lane add_sub(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  return ((mask_in(f, bits) >> i) & 1) != 0 ? sub(f, bits, i, a, b, sign) : add(f, bits, i, a, b, sign);
}
Lane lt(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  return {0, less(f, bits, a, b, i, sign)};
}
Lane ge(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  return {0, at_least(f, bits, a, b, i, sign)};
}
Lane eqz(F, u32 bits, u32 i, const Value&, const Value& b, bool) {
  return {0, extended(bits, b, i, true) == 0};
}
Lane max_lt(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  const bool mask = less(f, bits, a, b, i, sign);
  return {extended(bits, mask ? b : a, i, sign), mask};
}
Lane min_ge(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  const bool mask = at_least(f, bits, a, b, i, sign);
  return {extended(bits, mask ? b : a, i, sign), mask};
}
Lane sub_lt(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  return {sub(f, bits, i, a, b, sign).value, less(f, bits, a, b, i, sign)};
}
Lane sub_ge(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  return {sub(f, bits, i, a, b, sign).value, at_least(f, bits, a, b, i, sign)};
}
Lane max_diff(F f, u32 bits, u32 i, const Value& a, const Value& b, bool sign) {
  const i64 difference = extended(bits, a, i, sign) - extended(bits, b, i, sign);
  return {difference > 0 ? difference : 0, less(f, bits, a, b, i, sign)};
}
Lane abs_gtz(F, u32 bits, u32 i, const Value&, const Value& b, bool sign) {
  const i64 x = extended(bits, b, i, sign);
  return {x < 0 ? -x : x, x > 0};
}
Lane neg_gtz(F, u32 bits, u32 i, const Value&, const Value& b, bool) {
  const i64 x = extended(bits, b, i, true);
  return {-x, x > 0};
}
Lane not_ltz(F, u32 bits, u32 i, const Value&, const Value& b, bool) {
  const i64 x = extended(bits, b, i, true);
  return {~x, x < 0};
}
Lane select(F f, u32 bits, u32 i, const Value& a, const Value& b, bool) {
  return {extended(bits, ((mask_in(f, bits) >> i) & 1) != 0 ? b : a, i, true)};
}

template <bool kAnd>
void bitwise(F f) {
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) {
    const u8 a = f.in("s1").bytes[i], b = f.in("s2").bytes[i];
    d.bytes[i] = kAnd ? a & b : a | b;
  }
  f.out("d", d);
}

// ---------------------------------------------------------------- moves, extract, insert, broadcast

void move(F f) {
  f.out("dst", f.in("src"));
}

void widen_mask(F f) {
  Value d = Value::zeros(32);
  std::copy_n(f.in("src").bytes.begin(), 16, d.bytes.begin());
  f.out("dst", d);
}

void narrow_mask(F f) {
  Value d = f.in("src");
  d.size = 16;
  f.out("dst", d);
}

u32 index_of(F f, u32 bits) {
  const auto& o = f.info->operands[static_cast<size_t>(f.find("idx"))];
  const u32 index = o.kind == isa::OperandKind::kImm ? static_cast<u32>(f.imm("idx")) : f.word("idx");
  return index % (512 / bits);
}

void extract(F f) {
  const u32 bits = lane_bits(f);
  const i64 x = f.in("s1").lane(bits, index_of(f, bits), f.sign());
  if (bits == 64) {
    f.out("dst", Value::of<i64>(x));
  } else {
    f.out_word("dst", static_cast<u32>(x));
  }
}

void insert(F f) {
  const u32 bits = lane_bits(f);
  Value d = f.in("s1");
  d.set_lane(bits, f.has("idx") ? index_of(f, bits) : 0, f.in("src").get<i64>(0));
  f.out("dst", d);
}

Value spread(u32 bits, const Value& from, u32 element) {
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) d.bytes[i] = from.bytes[element * bits / 8 + i % (bits / 8)];
  return d;
}

void broadcast(F f) {
  f.out("dst", spread(lane_bits(f), f.in("src"), 0));
}

void extract_broadcast(F f) {
  const u32 bits = lane_bits(f);
  f.out("dst", spread(bits, f.in("s1"), index_of(f, bits)));
}

void push_high(F f) {
  const u32 n = lane_bits(f) / 8;
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i)
    d.bytes[i] = i + n < 64 ? f.in("s1").bytes[i + n] : f.in("s2").bytes[i + n - 64];
  f.out("d", d);
}

void push_low(F f) {
  const u32 n = lane_bits(f) / 8;
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) d.bytes[i] = i < n ? f.in("s1").bytes[i] : f.in("s2").bytes[i - n];
  f.out("d", d);
}

}  // namespace

void add_vector(Rules& r) {
  const auto with_widths = [&](const std::string& name, void (*rule)(F), bool bf16, bool wide = false) {
    for (const char* w : {".8", ".16", ".32", ".s8", ".s16", ".s32"}) r[name + w] = {rule};
    if (bf16) r[name + ".bf16"] = {rule};
    if (wide) r[name + ".64"] = r[name + ".128"] = {rule};
  };
  with_widths("vadd", lanes<add>, false);
  with_widths("vsub", lanes<sub>, false);
  with_widths("vaddsub", lanes<add_sub>, false);
  with_widths("vlt", lanes<lt>, true);
  with_widths("vge", lanes<ge>, true);
  with_widths("veqz", lanes<eqz>, false);
  with_widths("vmax_lt", lanes<max_lt>, true);
  with_widths("vmin_ge", lanes<min_ge>, true);
  with_widths("vsub_lt", lanes<sub_lt>, false);
  with_widths("vsub_ge", lanes<sub_ge>, false);
  with_widths("vmaxdiff_lt", lanes<max_diff>, false);
  with_widths("vabs_gtz", lanes<abs_gtz>, false);
  with_widths("vneg_gtz", lanes<neg_gtz>, false);
  with_widths("vbneg_ltz", lanes<not_ltz>, false);
  with_widths("vsel", lanes<select>, false);
  r["vband"] = {bitwise<true>};
  r["vbor"] = {bitwise<false>};
  r["=VMOV_alu_mv_mv_cm"] = r["=VMOV_alu_mv_mv_ex"] = r["=VMOV_alu_mv_mv_q"] =
      r["=VMOV_alu_mv_mv_qex"] = {move};
  r["=VMOV_alu_mv_mv_qx"] = r["=VMOV_alu_mv_mv_w"] = r["=VMOV_alu_mv_mv_x"] = {move};
  r["=VMOV_alu_mv_mv_q_to_w"] = {widen_mask};
  r["=VMOV_alu_mv_mv_w_to_q"] = {narrow_mask};
  with_widths("vextract", extract, false, true);
  with_widths("vinsert", insert, false, true);
  with_widths("vbcst", broadcast, false, true);
  with_widths("vextbcst", extract_broadcast, false, true);
  with_widths("vpush.hi", push_high, false, true);
  with_widths("vpush.lo", push_low, false, true);
}

}  // namespace tegula::emu::slow
