// Scalar arithmetic, moves, control flow.
#include <bit>
#include <cmath>

#include "emu/slow/core.h"

namespace tegula::emu::slow {

namespace {

using F = Flight&;

// Second operand: register or immediate.
u32 second(F f) {
  return f.has("imm") ? static_cast<u32>(f.imm("imm")) : f.word("s1");
}
i32 s(u32 x) {
  return static_cast<i32>(x);
}

void add_with_carry(F f, u32 a, u32 b, u32 carry) {
  const u64 sum = u64{a} + b + carry;
  f.out_word("d0", static_cast<u32>(sum));
  f.out_implicit(isa::Reg::srCarry, static_cast<u32>(sum >> 32));
}

u32 shift(u32 a, u32 n, bool arithmetic) {
  const i32 by = s(n);
  if (by >= 0) return a << (by % 32);
  const u32 right = (0u - n) % 32;
  return arithmetic ? static_cast<u32>(s(a) >> right) : a >> right;
}

u32 sign_bits(u32 a) {
  u32 n = 1;
  while (n < 32 && ((a >> (31 - n)) & 1) == a >> 31) ++n;
  return n;
}

u32 leading_zeros(u32 a) {
  u32 n = 0;
  while (n < 32 && ((a >> (31 - n)) & 1) == 0) ++n;
  return n;
}

u32 ones(u32 a) {
  u32 n = 0;
  for (u32 i = 0; i < 32; ++i) n += (a >> i) & 1;
  return n;
}

template <auto kFunction>
void two(F f) {
  f.out_word("d0", kFunction(f.word("s0"), second(f)));
}
template <auto kFunction>
void one(F f) {
  f.out_word("d0", kFunction(f.word("s0")));
}

void divide_step(F f) {
  const u32 s0 = f.word("s0"), s1 = f.word("s1"), dividend = f.word("sd");
  u64 t = (u64{s0} << 1) | (dividend >> 31);
  u32 q = dividend << 1;
  if (t >= s1) t -= s1, q |= 1;
  f.out_word("d0", static_cast<u32>(t));
  f.out_word("sd_out", q);
}

void move(F f) {
  f.out_word("dst", f.has("i") ? static_cast<u32>(f.imm("i")) : f.word("src"));
}
void move_immediate(F f) {
  f.out_word("dst", static_cast<u32>(f.imm("src")));
}
void nothing(F) {}

void branch(F f, bool taken) {
  f.branch_taken = taken;
  f.branch_target = f.has("i") ? static_cast<u32>(f.imm("i")) : f.word("a");
}

void call(F f) {
  f.out_implicit(isa::Reg::lr, f.return_address);
  branch(f, true);
}

void jump_decrement(F f) {
  const u32 value = f.word("s0");
  f.out_word("d0", value - 1);
  f.out_implicit(isa::Reg::srCarry, value != 0);
  branch(f, value != 0);
}

void ret(F f) {
  f.branch_taken = true;
  f.branch_target = f.implicit[0].get<u32>(0);
}

void add_arithmetic(Rules& r) {
  r["abs"] = {[](F f) {
    const u32 a = f.word("s0");
    f.out_word("d0", s(a) < 0 ? 0u - a : a);
    f.out_implicit(isa::Reg::srCarry, s(a) < 0);
  }};
  r["add"] = {[](F f) { add_with_carry(f, f.word("s0"), second(f), 0); }};
  r["sub"] = {[](F f) { add_with_carry(f, f.word("s0"), ~second(f), 1); }};
  r["adc"] = {[](F f) { add_with_carry(f, f.word("s0"), second(f), f.control(isa::Reg::srCarry) & 1); }};
  r["sbc"] = {[](F f) { add_with_carry(f, f.word("s0"), ~second(f), f.control(isa::Reg::srCarry) & 1); }};
  r["add.nc"] = {[](F f) { f.out_word("dst", f.word("s0") + second(f)); }};
  r["mul"] = {two<[](u32 a, u32 b) { return a * b; }>};
  r["mac"] = {[](F f) { f.out_word("d0", f.word("a0") + f.word("s0") * f.word("s1")); }};
  r["msc"] = {[](F f) { f.out_word("d0", f.word("a0") - f.word("s0") * f.word("s1")); }};
  r["divs"] = {divide_step};
  r["and"] = {two<[](u32 a, u32 b) { return a & b; }>};
  r["or"] = {two<[](u32 a, u32 b) { return a | b; }>};
  r["xor"] = {two<[](u32 a, u32 b) { return a ^ b; }>};
  r["lshl"] = {two<[](u32 a, u32 b) { return shift(a, b, false); }>};
  r["ashl"] = {two<[](u32 a, u32 b) { return shift(a, b, true); }>};
  r["eq"] = {two<[](u32 a, u32 b) { return u32{a == b}; }>};
  r["ne"] = {two<[](u32 a, u32 b) { return u32{a != b}; }>};
  r["lt"] = {two<[](u32 a, u32 b) { return u32{s(a) < s(b)}; }>};
  r["ltu"] = {two<[](u32 a, u32 b) { return u32{a < b}; }>};
  r["ge"] = {two<[](u32 a, u32 b) { return u32{s(a) >= s(b)}; }>};
  r["geu"] = {two<[](u32 a, u32 b) { return u32{a >= b}; }>};
  r["eqz"] = {one<[](u32 a) { return u32{a == 0}; }>};
  r["nez"] = {one<[](u32 a) { return u32{a != 0}; }>};
  r["clb"] = {one<sign_bits>};
  r["clz"] = {one<leading_zeros>};
  r["popcount"] = {one<ones>};
  r["extend.s8"] = {one<[](u32 a) { return static_cast<u32>(i32{static_cast<i8>(a)}); }>};
  r["extend.u8"] = {one<[](u32 a) { return a & 0xFF; }>};
  r["extend.s16"] = {one<[](u32 a) { return static_cast<u32>(i32{static_cast<i16>(a)}); }>};
  r["extend.u16"] = {one<[](u32 a) { return a & 0xFFFF; }>};
  r["sel.eqz"] = {[](F f) { f.out_word("d0", f.word("s2") == 0 ? f.word("s0") : f.word("s1")); }};
  r["sel.nez"] = {[](F f) { f.out_word("d0", f.word("s2") != 0 ? f.word("s0") : f.word("s1")); }};
}

void add_moves(Rules& r) {
  for (const char* name :
       {"mova", "movs", "movxm", "mov", "mov.d1", "mov.d2", "mov.d3", "mov.d4", "mov.d5", "mov.d6"}) {
    r[name] = {move};
  }
  r["movx"] = {[](F f) {
    if (f.has("i")) return move(f);
    if (f.info->operands[static_cast<size_t>(f.find("src"))].kind == isa::OperandKind::kImm)
      return move_immediate(f);
    move(f);
  }};
  // What the timer of the tile counts is not described.
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    if (info.mnemonic == "mov" && info.side && info.slot == isa::Slot::kMv)
      r["=" + std::string(info.name)] = {nullptr};
  }
}

void add_control(Rules& r) {
  r["j"] = {[](F f) { branch(f, true); }};
  r["jl"] = {call};
  r["jz"] = {[](F f) { branch(f, f.word("s0") == 0); }};
  r["jnz"] = {[](F f) { branch(f, f.word("s0") != 0); }};
  r["jnzd"] = {jump_decrement};
  r["ret"] = {ret};
  r["done"] = {nothing};
  for (const char* name : {"event", "event.error", "event.warning", "padda", "paddb", "padds", "paddxm"}) {
    r[name] = {nothing};
  }
}

}  // namespace

u32 control_bits(isa::Reg reg) {
  using R = isa::Reg;
  switch (reg) {
    case R::crSat:
      return 2;
    case R::crRnd:
      return 4;
    case R::crFPMask:
    case R::crF2IMask:
    case R::crF2FMask:
    case R::crF2BMask:
    case R::srFPFlags:
    case R::srF2IFlags:
    case R::srF2FFlags:
    case R::srF2BFlags:
      return 5;
    case R::crFPNlfMask:
    case R::crFPCnvFx2FlMask:
    case R::crFPCnvFl2FxMask:
    case R::srFPNlf:
    case R::srFPCnvFx2Fl:
    case R::srFPCnvFl2Fx:
      return 8;
    case R::srSS0:
    case R::srMS0:
      return 32;  // how many of them mean something is not described
    default:
      return 1;
  }
}

// Reserved rounding and saturation modes.
bool legal_control(isa::Reg reg, u32 value) {
  if (reg == isa::Reg::crSat) return (value & 3) != 2;
  if (reg == isa::Reg::crRnd) return (value & 15) <= 3 || ((value & 15) >= 8 && (value & 15) <= 13);
  return true;
}

void add_scalar(Rules& rules) {
  add_arithmetic(rules);
  add_moves(rules);
  add_control(rules);
}

}  // namespace tegula::emu::slow
