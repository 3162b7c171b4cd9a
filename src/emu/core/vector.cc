// Lane-wise integer operations, comparisons and selections of the mv slot (semantics: vector integer). Masks:
// bit i is lane i; 16-lane masks leave the upper half of their register zero.
#include "emu/core/binder.h"

namespace tegula::emu {

namespace {

enum LaneOp : u8 {
  kAdd,
  kSub,
  kAddSub,
  kSel,
  kLt,
  kGe,
  kEqz,
  kMaxLt,
  kMinGe,
  kSubLt,
  kSubGe,
  kMaxDiffLt,
  kAbsGtz,
  kNegGtz,
  kBnegLtz
};

struct LaneArgs {
  const u8* s1;
  const u8* s2;
  u8* out;
  u64 select;
  u64 mask = 0;
};

// Runs f(s1 lane, s2 lane, index) -> {result, mask bit} over all lanes.
template <typename T, typename F>
void map_lanes(LaneArgs& a, F f) {
  constexpr u32 kLanes = 64 / sizeof(T);
  for (u32 i = 0; i < kLanes; ++i) {
    const T x = load_le<T>(a.s1 + i * sizeof(T));
    const T y = load_le<T>(a.s2 + i * sizeof(T));
    bool bit = false;
    const T result = f(x, y, i, bit);
    store_le<T>(a.out + i * sizeof(T), result);
    a.mask |= u64{bit} << i;
  }
}

template <typename T>
void order_lanes(u8 op, LaneArgs& a) {  // T's signedness is the order
  using U = std::make_unsigned_t<T>;
  const auto minus = [](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); };
  switch (op) {
    case kLt:
      map_lanes<T>(a, [](T x, T y, u32, bool& b) {
        b = x < y;
        return x;
      });
      break;
    case kGe:
      map_lanes<T>(a, [](T x, T y, u32, bool& b) {
        b = x >= y;
        return x;
      });
      break;
    case kMaxLt:
      map_lanes<T>(a, [](T x, T y, u32, bool& b) {
        b = x < y;
        return b ? y : x;
      });
      break;
    case kMinGe:
      map_lanes<T>(a, [](T x, T y, u32, bool& b) {
        b = x >= y;
        return b ? y : x;
      });
      break;
    case kSubLt:
      map_lanes<T>(a, [&](T x, T y, u32, bool& b) {
        b = x < y;
        return minus(x, y);
      });
      break;
    case kSubGe:
      map_lanes<T>(a, [&](T x, T y, u32, bool& b) {
        b = x >= y;
        return minus(x, y);
      });
      break;
    case kMaxDiffLt:
      map_lanes<T>(a, [&](T x, T y, u32, bool& b) {
        b = x < y;
        return b ? T{0} : minus(x, y);
      });
      break;
    case kAbsGtz:
      map_lanes<T>(a, [&](T, T y, u32, bool& b) {
        b = y > 0;
        return y < T{0} ? minus(0, y) : y;
      });
      break;
    default:
      break;
  }
}

template <typename T>
void plain_lanes(u8 op, LaneArgs& a) {  // T signed
  using U = std::make_unsigned_t<T>;
  const auto plus = [](T x, T y) { return static_cast<T>(static_cast<U>(x) + static_cast<U>(y)); };
  const auto minus = [](T x, T y) { return static_cast<T>(static_cast<U>(x) - static_cast<U>(y)); };
  switch (op) {
    case kAdd:
      map_lanes<T>(a, [&](T x, T y, u32, bool&) { return plus(x, y); });
      break;
    case kSub:
      map_lanes<T>(a, [&](T x, T y, u32, bool&) { return minus(x, y); });
      break;
    case kAddSub:
      map_lanes<T>(a, [&](T x, T y, u32 i, bool&) { return (a.select >> i) & 1 ? minus(x, y) : plus(x, y); });
      break;
    case kSel:
      map_lanes<T>(a, [&](T x, T y, u32 i, bool&) { return (a.select >> i) & 1 ? y : x; });
      break;
    case kEqz:
      map_lanes<T>(a, [](T x, T y, u32, bool& b) {
        b = y == 0;
        return x;
      });
      break;
    case kNegGtz:
      map_lanes<T>(a, [&](T, T y, u32, bool& b) {
        b = y > 0;
        return minus(0, y);
      });
      break;
    case kBnegLtz:
      map_lanes<T>(a, [](T, T y, u32, bool& b) {
        b = y < 0;
        return static_cast<T>(~y);
      });
      break;
    default:
      break;
  }
}

// Sign-magnitude order with -0 < +0; comparisons with a NaN are false.
void bf16_lanes(u8 op, LaneArgs& a) {
  const auto key = [](u16 v) { return v & 0x8000 ? -1 - (v & 0x7FFF) : static_cast<i32>(v); };
  const auto nan = [](u16 v) { return (v & 0x7FFF) > 0x7F80; };
  map_lanes<u16>(a, [&](u16 x, u16 y, u32, bool& b) {
    const bool less = key(x) < key(y);
    b = !nan(x) && !nan(y) && (op == kLt || op == kMaxLt ? less : !less);
    return b && (op == kMaxLt || op == kMinGe) ? y : x;
  });
}

void dispatch(u8 op, i32 width, bool is_signed, LaneArgs& a) {
  const bool ordered = op == kLt || op == kGe || (op >= kMaxLt && op <= kAbsGtz);
  if (width == 17) {
    bf16_lanes(op, a);
  } else if (!ordered) {
    if (width == 8) plain_lanes<i8>(op, a);
    if (width == 16) plain_lanes<i16>(op, a);
    if (width == 32) plain_lanes<i32>(op, a);
  } else if (is_signed) {
    if (width == 8) order_lanes<i8>(op, a);
    if (width == 16) order_lanes<i16>(op, a);
    if (width == 32) order_lanes<i32>(op, a);
  } else {
    if (width == 8) order_lanes<u8>(op, a);
    if (width == 16) order_lanes<u16>(op, a);
    if (width == 32) order_lanes<u32>(op, a);
  }
}

// a, b: sources; c: select mask; d: sign register; dst: result, dst2: mask. imm: lane width, 17 for bf16.
void run_lanes(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  LaneArgs args;
  args.s1 = m.regs + u.a;
  args.s2 = m.regs + u.b;
  args.out = buf;
  args.select = u.imm == 8 ? m.get<u64>(u.c) : m.r(u.c);
  dispatch(u.aux, u.imm, (m.r(u.d) & 1) != 0, args);
  if (u.dst2 != kNoRegister) m.commit_value(m.pipe, u.latency2, u.dst2, u.kind2, args.mask);
  if (u.dst != kNoRegister) m.commit_mv(u, buf);
}

constexpr int row(LaneOp op, int width) {
  return static_cast<int>(op) | (width << 8);
}

bool bind_lanes(Binder& b) {
  Uop u = b.has("d") ? b.make(run_lanes, "d") : b.make(run_lanes);
  u.aux = static_cast<u8>(b.arg & 0xFF);
  u.imm = b.arg >> 8;
  u.b = b.offset("s2");
  u.a = b.has("s1") ? b.offset("s1") : u.b;
  if (b.has("sel")) u.c = b.offset("sel");
  u.d = b.sign_register();
  if (b.has("cmp")) {
    u.dst2 = b.offset("cmp");
    u.kind2 = kind_of(b.reg("cmp"));
    u.latency2 = b.cycle("cmp");
  }
  b.push(u);
  return true;
}

template <bool is_or>
void run_bitwise(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  for (u16 i = 0; i < 64; i += 8) {
    const u64 x = m.get<u64>(static_cast<u16>(u.a + i)), y = m.get<u64>(static_cast<u16>(u.b + i));
    store_le<u64>(buf + i, is_or ? x | y : x & y);
  }
  m.commit_mv(u, buf);
}

bool bind_bitwise(Binder& b) {
  Uop u = b.make(b.arg ? run_bitwise<true> : run_bitwise<false>, "d");
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"vadd.8", bind_lanes, row(kAdd, 8)},
    {"vadd.16", bind_lanes, row(kAdd, 16)},
    {"vadd.32", bind_lanes, row(kAdd, 32)},
    {"vsub.8", bind_lanes, row(kSub, 8)},
    {"vsub.16", bind_lanes, row(kSub, 16)},
    {"vsub.32", bind_lanes, row(kSub, 32)},
    {"vaddsub.8", bind_lanes, row(kAddSub, 8)},
    {"vaddsub.16", bind_lanes, row(kAddSub, 16)},
    {"vaddsub.32", bind_lanes, row(kAddSub, 32)},
    {"vsel.8", bind_lanes, row(kSel, 8)},
    {"vsel.16", bind_lanes, row(kSel, 16)},
    {"vsel.32", bind_lanes, row(kSel, 32)},
    {"vlt.8", bind_lanes, row(kLt, 8)},
    {"vlt.16", bind_lanes, row(kLt, 16)},
    {"vlt.32", bind_lanes, row(kLt, 32)},
    {"vlt.bf16", bind_lanes, row(kLt, 17)},
    {"vge.8", bind_lanes, row(kGe, 8)},
    {"vge.16", bind_lanes, row(kGe, 16)},
    {"vge.32", bind_lanes, row(kGe, 32)},
    {"vge.bf16", bind_lanes, row(kGe, 17)},
    {"veqz.8", bind_lanes, row(kEqz, 8)},
    {"veqz.16", bind_lanes, row(kEqz, 16)},
    {"veqz.32", bind_lanes, row(kEqz, 32)},
    {"vmax_lt.8", bind_lanes, row(kMaxLt, 8)},
    {"vmax_lt.16", bind_lanes, row(kMaxLt, 16)},
    {"vmax_lt.32", bind_lanes, row(kMaxLt, 32)},
    {"vmax_lt.bf16", bind_lanes, row(kMaxLt, 17)},
    {"vmin_ge.8", bind_lanes, row(kMinGe, 8)},
    {"vmin_ge.16", bind_lanes, row(kMinGe, 16)},
    {"vmin_ge.32", bind_lanes, row(kMinGe, 32)},
    {"vmin_ge.bf16", bind_lanes, row(kMinGe, 17)},
    {"vsub_lt.8", bind_lanes, row(kSubLt, 8)},
    {"vsub_lt.16", bind_lanes, row(kSubLt, 16)},
    {"vsub_lt.32", bind_lanes, row(kSubLt, 32)},
    {"vsub_ge.8", bind_lanes, row(kSubGe, 8)},
    {"vsub_ge.16", bind_lanes, row(kSubGe, 16)},
    {"vsub_ge.32", bind_lanes, row(kSubGe, 32)},
    {"vmaxdiff_lt.8", bind_lanes, row(kMaxDiffLt, 8)},
    {"vmaxdiff_lt.16", bind_lanes, row(kMaxDiffLt, 16)},
    {"vmaxdiff_lt.32", bind_lanes, row(kMaxDiffLt, 32)},
    {"vabs_gtz.8", bind_lanes, row(kAbsGtz, 8)},
    {"vabs_gtz.16", bind_lanes, row(kAbsGtz, 16)},
    {"vabs_gtz.32", bind_lanes, row(kAbsGtz, 32)},
    {"vneg_gtz.8", bind_lanes, row(kNegGtz, 8)},
    {"vneg_gtz.16", bind_lanes, row(kNegGtz, 16)},
    {"vneg_gtz.32", bind_lanes, row(kNegGtz, 32)},
    {"vbneg_ltz.s8", bind_lanes, row(kBnegLtz, 8)},
    {"vbneg_ltz.s16", bind_lanes, row(kBnegLtz, 16)},
    {"vbneg_ltz.s32", bind_lanes, row(kBnegLtz, 32)},
    {"vband", bind_bitwise, 0},
    {"vbor", bind_bitwise, 1},
};

}  // namespace

std::span<const Family> vector_families() {
  return kFamilies;
}

}  // namespace tegula::emu
