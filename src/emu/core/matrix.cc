// The vec slot: multiply, accumulate and accumulator operations (semantics: multiply and accumulate).
// Operands are copied at issue, accumulators are sampled at cycle 4, the result is visible from cycle 6.
#include "emu/core/binder.h"

namespace tegula::emu {

namespace {

constexpr u8 kProduct = 1, kNegateProduct = 2, kNegateAcc1 = 4, kNegateAcc2 = 8;
constexpr int kFloat = 0x100;

}  // namespace

void MacCache::set(u32 word, MacFn function) {
  conf = word;
  fn = function;
  in_place = fn != nullptr && works_in_place(fn);
  plain_block =
      fn == avx2::block_8x8x8t && !conf_zero_acc(conf) && !conf_sub_mul(conf) && !conf_sub_acc1(conf);
}

namespace {

constexpr u8 kPositionCycle = 2;  // in which r31 is read and written

void sample_position(Machine& m, const Uop& u, u8*, u64 issue) {
  m.vec[issue & (kVecRing - 1)].cascade_position = static_cast<int>(m.r(u.x2) & 3);
  if (u.dst2 != kNoRegister) m.commit_value(issue, kPositionCycle, u.dst2, Kind::k32, m.r(u.x2) + 1);
}

// a, b: operands; c, d: accumulators; x1: control word; x2: position of the cascade word; imm: operand bytes
// (s1 low half, s2 high half); mem: MacUnit; mask != 0: no control word (vclr 1, vmov.d 2).
void issue_vec(Machine& m, const Uop& u) {
  VecEntry& e = m.vec[m.pipe & (kVecRing - 1)];
  m.vec_live |= 1;
  e.uop = &u;
  e.cascade_position = -1;
  if (u.mask != 0) {
    e.fn = u.mask == 1 ? mac_clear : mac_copy;
    e.args.conf = 0;
    e.args.negate_product = e.args.negate_acc1 = e.args.negate_acc2 = false;
    ++m.counters.accumulator_ops;
    return;
  }
  const MacUnit unit = static_cast<MacUnit>(u.mem);
  const bool product = (u.aux & kProduct) != 0;
  const u32 conf = m.r(u.x1);
  MacCache& cache = m.mac_cache[u.mem * 2 + product];
  if (cache.conf != conf || cache.fn == nullptr) [[unlikely]] {
    std::string why;
    cache.set(conf, select_mac(conf, unit, product, why));
    if (cache.fn == nullptr) {
      m.raise(why);
      m.vec_live &= ~1u;
      return;
    }
  }
  e.fn = cache.fn;
  e.args.conf = conf;
  e.args.negate_product = ((u.aux & kNegateProduct) != 0) != conf_sub_mul(conf);
  e.args.negate_acc1 = ((u.aux & kNegateAcc1) != 0) != conf_sub_acc1(conf);
  e.args.negate_acc2 = ((u.aux & kNegateAcc2) != 0) != conf_sub_acc2(conf);
  if (u.x2 != kZeroRegister) {
    e.cascade_position = 0;
    std::memcpy(e.cascade, m.cascade_word, 64);
    m.event_at(m.pipe + kPositionCycle - 1, sample_position, u, nullptr, m.pipe);
  }
  if (!product) {
    ++m.counters.accumulator_ops;
    return;
  }
  ++m.counters.matrix_ops;
  const u32 s1_bytes = static_cast<u32>(u.imm) & 0xFFFF, s2_bytes = static_cast<u32>(u.imm) >> 16;
  e.args.s1_bytes = static_cast<u16>(s1_bytes);
  e.args.s2_bytes = static_cast<u16>(s2_bytes);
  std::memcpy(e.s1, m.regs + u.a, 64);
  if (s1_bytes > 64) std::memcpy(e.s1 + 64, m.regs + u.a + 64, 64);
  std::memcpy(e.s2, m.regs + u.b, 64);
  if (s2_bytes > 64) std::memcpy(e.s2 + 64, m.regs + u.b + 64, 64);
  if (unit == MacUnit::kBlock) {
    std::memcpy(e.e1, m.regs + e_of_x(u.a), 16);
    std::memcpy(e.e2, m.regs + e_of_x(u.b), 16);
  }
}

// Bytes of elements or mantissas; 0 for the sparse operands, which are not modelled.
u32 operand_bytes(u32 bits) {
  switch (bits) {
    case 512:
    case 576:
      return 64;
    case 1024:
    case 1152:
      return 128;
    default:
      return 0;
  }
}

bool bind_vec(Binder& b) {
  Uop u = b.make(issue_vec, "dst");
  u.mask = 0;
  u.aux = static_cast<u8>(b.arg & 0xFF);
  u.c = b.has("acc1") ? b.offset("acc1") : kNoRegister;
  u.d = b.has("acc2") ? b.offset("acc2") : kNoRegister;
  u.x1 = b.offset("acc");
  MacUnit unit = MacUnit::kInteger;
  if (b.arg & kFloat) unit = MacUnit::kBf16;
  if (b.has("s1")) {
    const u32 s1 = operand_bytes(b.bits("s1")), s2 = operand_bytes(b.bits("s2"));
    if (s1 == 0 || s2 == 0) return false;
    u.a = b.offset("s1");
    u.b = b.offset("s2");
    u.imm = static_cast<i32>(s1 | s2 << 16);
    if (b.bits("s1") == 576 || b.bits("s1") == 1152) unit = MacUnit::kBlock;
  }
  u.mem = static_cast<u8>(unit);
  const char* position = b.has("c") ? "c" : b.has("r") ? "r" : nullptr;
  if (position != nullptr) {
    SyncOp s{SyncKind::kCascadeRead};
    s.condition = register_offset(isa::Reg::crSCDEn);
    if (!b.add_sync(s)) return false;
    u.x2 = b.offset(position);
    if (b.has("r_out")) u.dst2 = u.x2;
  }
  b.push(u);
  return true;
}

bool bind_plain(Binder& b) {
  Uop u = b.make(issue_vec, "dst");
  u.mask = static_cast<u32>(b.arg);
  u.c = b.has("acc1") ? b.offset("acc1") : kNoRegister;
  u.d = kNoRegister;
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"vmul", bind_vec, kProduct},
    {"vnegmul", bind_vec, kProduct | kNegateProduct},
    {"vmac", bind_vec, kProduct},
    {"vmsc", bind_vec, kProduct | kNegateProduct},
    {"vaddmac", bind_vec, kProduct},
    {"vaddmsc", bind_vec, kProduct | kNegateProduct},
    {"vadd", bind_vec, 0},
    {"vsub", bind_vec, kNegateAcc2},
    {"vneg", bind_vec, kNegateAcc1},
    {"vmul.f", bind_vec, kFloat | kProduct},
    {"vnegmul.f", bind_vec, kFloat | kProduct | kNegateProduct},
    {"vmac.f", bind_vec, kFloat | kProduct},
    {"vmsc.f", bind_vec, kFloat | kProduct | kNegateProduct},
    {"vaddmac.f", bind_vec, kFloat | kProduct},
    {"vaddmsc.f", bind_vec, kFloat | kProduct | kNegateProduct},
    {"vadd.f", bind_vec, kFloat},
    {"vsub.f", bind_vec, kFloat | kNegateAcc2},
    {"vneg.f", bind_vec, kFloat | kNegateAcc1},
    {"vclr", bind_plain, 1},
    {"vmov.d", bind_plain, 2},
};

}  // namespace

std::span<const Family> matrix_families() {
  return kFamilies;
}

}  // namespace tegula::emu
