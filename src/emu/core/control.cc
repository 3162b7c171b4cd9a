// Branches, calls, locks, events and the end of a program (semantics: bundles and control flow, locks).
#include "emu/core/binder.h"

namespace tegula::emu {

namespace {

constexpr u32 kDelayBundles = 5;
constexpr u8 kLinkCycle = 4;  // lr is written at cycle 4

void take_branch(Machine& m, u32 target) {
  if (m.branch_delay != 0) {
    m.raise("branch inside the delay bundles of another branch");
    return;
  }
  m.branch_target = target;
  m.branch_delay = kDelayBundles + 1;  // counted down after this bundle too
}

// Target: register a, or the immediate.
u32 target_of(Machine& m, const Uop& u) {
  return (m.r(u.a) + static_cast<u32>(u.imm)) & 0xFFFFF;
}

// Address of the bundle after the delay bundles, from the lengths of what follows in program memory.
u32 return_address(Machine& m) {
  u32 pc = m.next_pc;
  for (u32 i = 0; i <= kDelayBundles && pc < kCoreProgramBytes; ++i) pc += isa::bundle_length(m.program[pc]);
  return pc;
}

void jump(Machine& m, const Uop& u) {
  take_branch(m, target_of(m, u));
}

void jump_and_link(Machine& m, const Uop& u) {
  m.commit_value(m.pipe, kLinkCycle, m.off_lr, Kind::k32, return_address(m));
  take_branch(m, target_of(m, u));
}

void jump_if_zero(Machine& m, const Uop& u) {
  if (m.r(u.b) == 0) take_branch(m, target_of(m, u));
}

void jump_if_nonzero(Machine& m, const Uop& u) {
  if (m.r(u.b) != 0) take_branch(m, target_of(m, u));
}

// Decrements; taken when the value before was not zero.
void jump_decrement(Machine& m, const Uop& u) {
  const u32 value = m.r(u.b);
  const u32 target = target_of(m, u);
  m.set<u32>(u.dst, value - 1);
  m.set<u32>(u.dst2, value != 0 ? 1 : 0);  // carry of value + ~0
  if (value != 0) take_branch(m, target);
}

bool bind_branch(Binder& b) {
  static constexpr Handler kHandlers[] = {jump, jump_and_link, jump_if_zero, jump_if_nonzero};
  Uop u = b.make(kHandlers[b.arg]);
  if (b.has("a")) u.a = b.offset("a");
  if (b.has("i")) u.imm = static_cast<i32>(b.imm("i"));
  if (b.has("s0")) u.b = b.offset("s0");
  b.push(u);
  return true;
}

bool bind_return(Binder& b) {
  Uop u = b.make(jump);
  u.a = register_offset(isa::Reg::lr);
  b.push(u);
  return true;
}

bool bind_jump_decrement(Binder& b) {
  Uop u = b.make(jump_decrement, "d0");
  u.a = b.offset("a");
  u.b = b.offset("s0");
  u.dst2 = register_offset(isa::Reg::srCarry);
  b.push(u);
  return true;
}

bool bind_acquire(Binder& b) {
  SyncOp s{SyncKind::kAcquire};
  const int id = b.find("id");
  s.id_is_imm = b.info.operands[id].kind == isa::OperandKind::kImm;
  if (s.id_is_imm) {
    s.imm = static_cast<i32>(b.imm("id"));
  } else {
    s.id = b.offset("id");
  }
  s.value = b.offset("s1");
  if (b.has("s2")) s.condition = b.offset("s2");
  return b.add_sync(s);
}

// The array applies the release when the bundle has executed.
bool bind_release(Binder& b) {
  Uop u = b.make([](Machine& m, const Uop& v) {
    const bool enabled = v.c == kNoRegister || m.r(v.c) != 0;
    m.release_id = enabled ? static_cast<int>((m.r(v.a) + static_cast<u32>(v.imm)) & 63) : -1;
    m.release_amount = static_cast<i32>(m.r(v.b));
  });
  if (b.info.operands[b.find("id")].kind == isa::OperandKind::kImm) {
    u.imm = static_cast<i32>(b.imm("id"));
  } else {
    u.a = b.offset("id");
  }
  u.b = b.offset("s1");
  u.c = b.has("s2") ? b.offset("s2") : kNoRegister;
  b.push(u);
  b.out.flags |= kBundleRelease;
  return true;
}

bool bind_done(Binder& b) {
  b.out.flags |= kBundleDone;
  return true;
}

bool bind_event(Binder& b) {
  Uop u = b.make([](Machine& m, const Uop& v) { ++m.counters.events[v.aux]; });
  u.aux = static_cast<u8>(b.arg);
  if (b.info.syntax.find("#1") != std::string_view::npos) u.aux = 1;
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"j", bind_branch, 0},
    {"jl", bind_branch, 1},
    {"jz", bind_branch, 2},
    {"jnz", bind_branch, 3},
    {"jnzd", bind_jump_decrement},
    {"ret", bind_return},
    {"acq", bind_acquire},
    {"acq.cond", bind_acquire},
    {"rel", bind_release},
    {"rel.cond", bind_release},
    {"done", bind_done},
    {"event", bind_event, 0},
    {"event.warning", bind_event, 2},
    {"event.error", bind_event, 3},
};

}  // namespace

std::span<const Family> control_families() {
  return kFamilies;
}

}  // namespace tegula::emu
