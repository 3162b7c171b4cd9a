// Scalar arithmetic, logic, moves, and the scalar float helpers (semantics: scalar ALU, carry, scalar float).
#include <bit>
#include <cmath>

#include "emu/core/binder.h"

namespace tegula::emu {

namespace {

u32 shift_left_or_logical(u32 a, u32 n) {
  const i32 by = static_cast<i32>(n);
  return by >= 0 ? a << (by & 31) : a >> ((0u - n) & 31);
}

u32 shift_left_or_arithmetic(u32 a, u32 n) {
  const i32 by = static_cast<i32>(n);
  return by >= 0 ? a << (by & 31) : static_cast<u32>(static_cast<i32>(a) >> ((0u - n) & 31));
}

u32 leading_sign_bits(u32 a) {
  return static_cast<u32>(std::countl_zero(static_cast<i32>(a) < 0 ? ~a : a));
}

// Two-operand operations of one cycle; an immediate is added to the zero register.
template <auto F>
void binary(Machine& m, const Uop& u) {
  m.set<u32>(u.dst, F(m.r(u.a), m.r(u.b) + static_cast<u32>(u.imm)));
}

template <auto F>
bool bind_binary(Binder& b) {
  Uop u = b.make(binary<+F>, b.has("d0") ? "d0" : "dst");
  u.flags |= kFlagNow;
  u.a = b.offset("s0");
  if (b.has("s1")) u.b = b.offset("s1");
  if (b.has("imm")) u.imm = static_cast<i32>(b.imm("imm"));
  b.push(u);
  return true;
}

// d = a + b + carry in, with the carry flag written. sub and sbc add the complement.
enum CarryOp { kAdd, kSub, kAdc, kSbc };

template <int op>
void carry_op(Machine& m, const Uop& u) {
  const u64 a = m.r(u.a);
  u32 b = m.r(u.b) + static_cast<u32>(u.imm);
  if (op == kSub || op == kSbc) b = ~b;
  u64 carry = 0;
  if (op == kSub) carry = 1;
  if (op == kAdc || op == kSbc) carry = m.r(u.x1) & 1;
  const u64 sum = a + b + carry;
  m.set<u32>(u.dst, static_cast<u32>(sum));
  m.set<u32>(u.dst2, static_cast<u32>(sum >> 32));
}

template <int op>
bool bind_carry(Binder& b) {
  Uop u = b.make(carry_op<op>, "d0");
  u.flags |= kFlagNow;
  u.a = b.offset("s0");
  if (b.has("s1")) u.b = b.offset("s1");
  if (b.has("imm")) u.imm = static_cast<i32>(b.imm("imm"));
  u.x1 = u.dst2 = register_offset(isa::Reg::srCarry);
  b.push(u);
  return true;
}

bool bind_abs(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        const u32 a = m.r(v.a);
        const u32 negative = a >> 31;
        m.set<u32>(v.dst, negative ? 0u - a : a);
        m.set<u32>(v.dst2, negative);
      },
      "d0");
  u.a = b.offset("s0");
  u.dst2 = register_offset(isa::Reg::srCarry);
  b.push(u);
  return true;
}

// sel.eqz / sel.nez: arg 1 selects on non-zero.
bool bind_select(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        const bool nonzero = m.r(v.c) != 0;
        m.set<u32>(v.dst, m.r(nonzero == (v.aux != 0) ? v.a : v.b));
      },
      "d0");
  u.flags |= kFlagNow;
  u.a = b.offset("s0");
  u.b = b.offset("s1");
  u.c = b.offset("s2");
  u.aux = static_cast<u8>(b.arg);
  b.push(u);
  return true;
}

// One step of restoring division: (d, r31) = partial remainder and quotient.
bool bind_divide_step(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        const u32 dividend = m.r(v.c), divisor = m.r(v.b);
        u64 t = (u64{m.r(v.a)} << 1) | (dividend >> 31);
        u32 q = dividend << 1;
        if (t >= divisor) {
          t -= divisor;
          q |= 1;
        }
        m.set<u32>(v.dst, static_cast<u32>(t));
        m.set<u32>(v.dst2, q);
      },
      "d0");
  u.a = b.offset("s0");
  u.b = b.offset("s1");
  u.c = b.offset("sd");
  u.dst2 = b.offset("sd_out");
  b.push(u);
  return true;
}

bool bind_multiply(Binder& b) {
  Uop u =
      b.make([](Machine& m,
                const Uop& v) { m.commit_value(m.pipe, v.latency, v.dst, Kind::k32, m.r(v.a) * m.r(v.b)); },
             "d0");
  u.a = b.offset("s0");
  u.b = b.offset("s1");
  b.push(u);
  return true;
}

// mac / msc: the accumulator is read one cycle after the factors.
bool bind_multiply_accumulate(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        const u32 product = m.r(v.a) * m.r(v.b);
        store_le<u32>(buf, v.aux ? 0u - product : product);
        m.event_at(m.pipe + 1, v.stage, v, buf, m.pipe);
      },
      "d0");
  u.stage = [](Machine& m, const Uop& v, u8* buf, u64 issue) {
    m.commit_value(issue, v.latency, v.dst, Kind::k32, m.r(v.c) + load_le<u32>(buf));
  };
  u.a = b.offset("s0");
  u.b = b.offset("s1");
  u.c = b.offset("a0");
  u.aux = static_cast<u8>(b.arg);
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- moves

void move_now(Machine& m, const Uop& u) {
  m.set<u32>(u.dst, (m.r(u.a) + static_cast<u32>(u.imm)) & u.mask);
}

void move_late(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  const u32 value = m.r(u.a) & u.mask;
  store_le<u32>(buf, value);
  m.commit_value(m.pipe, u.latency, u.dst, Kind::k32, value);
  if (u.flags & kFlagWritesBypass) {
    m.bypass_cycle = m.pipe + 1;
    m.bypass_uop = &u;
    m.bypass_data = buf;
  }
}

bool bind_move_immediate(Binder& b) {
  Uop u = b.make(move_now, "dst");
  u.flags |= kFlagNow;
  const char* source = b.has("i") ? "i" : "src";
  const int at = b.find(source);
  if (at < 0) return false;
  if (b.info.operands[at].kind == isa::OperandKind::kImm) {
    u.imm = static_cast<i32>(b.imm(source));
  } else {
    u.a = b.offset(source);
  }
  b.push(u);
  return true;
}

i32 shift_of(u32 s) {
  return static_cast<i32>(s << 26) >> 26;
}  // a signed 6-bit field

u32 to_float_bits(u32 fixed, u32 s) {
  return std::bit_cast<u32>(
      static_cast<float>(std::ldexp(static_cast<double>(static_cast<i32>(fixed)), -shift_of(s))));
}

// Truncates toward zero and saturates. Assumption: the hardware rounding is not documented.
u32 to_fixed(u32 bits, u32 s) {
  const double v = std::ldexp(static_cast<double>(std::bit_cast<float>(bits)), shift_of(s));
  if (std::isnan(v)) return 0;
  if (v >= 2147483647.0) return 0x7FFFFFFF;
  if (v <= -2147483648.0) return 0x80000000;
  return static_cast<u32>(static_cast<i32>(v));
}

bool bind_register_move(Binder& b) {
  Uop u = b.make(nullptr, "dst");
  u.run = u.latency == 1 ? move_now : move_late;
  if (u.latency == 1) u.flags |= kFlagNow;
  u.a = b.offset("src");
  b.push(u);
  return true;
}

enum MoveConversion { kFixedToFloat = 1, kFloatToFixed = 2 };

bool bind_move(Binder& b) {
  if (b.info.slot == isa::Slot::kLda || b.info.slot == isa::Slot::kSt) return bind_stream_move(b);
  if (b.info.slot == isa::Slot::kMv && !b.has("src") && !b.has("i")) {  // mov l, cntr
    Uop u = b.make([](Machine& m, const Uop& v) { m.set<u64>(v.dst, m.time()); }, "dst");
    b.push(u);
    return true;
  }
  if (b.info.slot == isa::Slot::kAlu) {  // fx2flt, flt2fx
    const bool to_float_op = b.info.syntax.find("fx2flt") != std::string_view::npos;
    Uop u = b.make(
        [](Machine& m, const Uop& v) {
          const u32 value = v.aux ? to_float_bits(m.r(v.a), m.r(v.b)) : to_fixed(m.r(v.a), m.r(v.b));
          m.commit_value(m.pipe, v.latency, v.dst, Kind::k32, value);
        },
        "d0");
    u.a = b.offset("s0");
    u.b = b.offset("m");
    u.aux = to_float_op ? 1 : 0;
    b.push(u);
    return true;
  }
  return b.has("i") ? bind_move_immediate(b) : bind_register_move(b);
}

// ------------------------------------------------------- scalar float unit

enum FloatFunction { kInv, kSqrt, kInvSqrt };

u32 float_function(u8 which, u32 bits) {
  const double x = static_cast<double>(std::bit_cast<float>(bits));
  double y = 0;
  switch (which) {
    case kInv:
      y = 1.0 / x;
      break;
    case kSqrt:
      y = std::sqrt(x);
      break;
    default:
      y = 1.0 / std::sqrt(x);
      break;
  }
  if (std::isnan(y)) return 0x7F800001;
  return std::bit_cast<u32>(static_cast<float>(y));
}

bool bind_float_function(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        u32 x = m.r(v.a);
        if (v.imm & kFixedToFloat) x = to_float_bits(x, m.r(v.b));
        store_le<u32>(buf, float_function(v.aux, x));
        m.event_at(m.pipe + 3, v.stage, v, buf, m.pipe);
      },
      "d0");
  u.stage = [](Machine& m, const Uop& v, u8* buf, u64 issue) {
    u32 y = load_le<u32>(buf);
    if (v.imm & kFloatToFixed) y = to_fixed(y, m.r(v.c));
    m.commit_value(issue, v.latency, v.dst, Kind::k32, y);
  };
  u.a = b.offset("s0");
  u.aux = static_cast<u8>(b.arg);
  if (b.info.syntax.find("flt2fx") != std::string_view::npos) {
    u.imm |= kFloatToFixed;
    u.c = b.offset("m");
    if (b.has("m_1")) {
      u.imm |= kFixedToFloat;
      u.b = b.offset("m_1");
    }
  } else if (b.has("m")) {
    u.imm |= kFixedToFloat;
    u.b = b.offset("m");
  }
  b.push(u);
  return true;
}

// Pointer additions are part of the bundle's addresses and need no operation of their own.
bool bind_pointer_add(Binder& b) {
  if (b.info.slot != isa::Slot::kLng) {
    Uop unused;
    return b.add_address(unused, 0, 1, false);
  }
  AddressOp a;  // paddxm [sp]
  a.base = register_offset(isa::Reg::sp);
  a.update = Update::kLinear;
  if (b.has("imm")) {
    a.update_imm = static_cast<i32>(b.imm("imm"));
  } else {
    a.update_index = b.offset("mod");
  }
  return b.add_address(a, nullptr);
}

bool bind_nothing(Binder&) {
  return true;
}

// add.nc leaves the carry alone; its result can be any pointer, loop or control register.
bool bind_add_no_carry(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        m.set<u32>(v.dst, (m.r(v.a) + m.r(v.b) + static_cast<u32>(v.imm)) & v.mask);
      },
      "dst");
  u.flags |= kFlagNow;
  u.a = b.offset("s0");
  if (b.has("s1")) u.b = b.offset("s1");
  if (b.has("imm")) u.imm = static_cast<i32>(b.imm("imm"));
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"nop", bind_nothing},
    {"nopa", bind_nothing},
    {"nopb", bind_nothing},
    {"nopv", bind_nothing},
    {"nops", bind_nothing},
    {"nopx", bind_nothing},
    {"nopm", bind_nothing},
    {"nopxm", bind_nothing},
    {"add", bind_carry<kAdd>},
    {"sub", bind_carry<kSub>},
    {"adc", bind_carry<kAdc>},
    {"sbc", bind_carry<kSbc>},
    {"abs", bind_abs},
    {"and", bind_binary<[](u32 a, u32 b) { return a & b; }>},
    {"or", bind_binary<[](u32 a, u32 b) { return a | b; }>},
    {"xor", bind_binary<[](u32 a, u32 b) { return a ^ b; }>},
    {"lshl", bind_binary<[](u32 a, u32 b) { return shift_left_or_logical(a, b); }>},
    {"ashl", bind_binary<[](u32 a, u32 b) { return shift_left_or_arithmetic(a, b); }>},
    {"clz", bind_binary<[](u32 a, u32) { return static_cast<u32>(std::countl_zero(a)); }>},
    {"clb", bind_binary<[](u32 a, u32) { return leading_sign_bits(a); }>},
    {"popcount", bind_binary<[](u32 a, u32) { return static_cast<u32>(std::popcount(a)); }>},
    {"extend.s8", bind_binary<[](u32 a, u32) { return static_cast<u32>(static_cast<i8>(a)); }>},
    {"extend.u8", bind_binary<[](u32 a, u32) { return a & 0xFF; }>},
    {"extend.s16", bind_binary<[](u32 a, u32) { return static_cast<u32>(static_cast<i16>(a)); }>},
    {"extend.u16", bind_binary<[](u32 a, u32) { return a & 0xFFFF; }>},
    {"eq", bind_binary<[](u32 a, u32 b) { return u32{a == b}; }>},
    {"ne", bind_binary<[](u32 a, u32 b) { return u32{a != b}; }>},
    {"eqz", bind_binary<[](u32 a, u32) { return u32{a == 0}; }>},
    {"nez", bind_binary<[](u32 a, u32) { return u32{a != 0}; }>},
    {"lt", bind_binary<[](u32 a, u32 b) { return u32{static_cast<i32>(a) < static_cast<i32>(b)}; }>},
    {"ge", bind_binary<[](u32 a, u32 b) { return u32{static_cast<i32>(a) >= static_cast<i32>(b)}; }>},
    {"ltu", bind_binary<[](u32 a, u32 b) { return u32{a < b}; }>},
    {"geu", bind_binary<[](u32 a, u32 b) { return u32{a >= b}; }>},
    {"sel.eqz", bind_select, 0},
    {"sel.nez", bind_select, 1},
    {"divs", bind_divide_step},
    {"mul", bind_multiply},
    {"mac", bind_multiply_accumulate, 0},
    {"msc", bind_multiply_accumulate, 1},
    {"mova", bind_move_immediate},
    {"movx", bind_move_immediate},
    {"movxm", bind_move_immediate},
    {"mov", bind_move},
    {"movs", bind_register_move},
    {"mov.d1", bind_register_move},
    {"mov.d2", bind_register_move},
    {"mov.d3", bind_register_move},
    {"mov.d4", bind_register_move},
    {"mov.d5", bind_register_move},
    {"mov.d6", bind_register_move},
    {"inv", bind_float_function, kInv},
    {"sqrt", bind_float_function, kSqrt},
    {"invsqrt", bind_float_function, kInvSqrt},
    {"padda", bind_pointer_add},
    {"paddb", bind_pointer_add},
    {"padds", bind_pointer_add},
    {"paddxm", bind_pointer_add},
    {"add.nc", bind_add_no_carry},
};

}  // namespace

std::span<const Family> scalar_families() {
  return kFamilies;
}

}  // namespace tegula::emu
