// Control flow of a placed program. Rules: five delay bundles after every branch, direct targets are absolute
// byte addresses, the hardware loop repeats from ls after the bundle that starts at le.
#include "isa/flow.h"

#include <algorithm>

namespace tegula::isa {

namespace {

std::optional<Branch> branch_of(const Instr& instr) {
  switch (instr.op) {
    case Op::J_lng:
      return Branch{.direct = true, .target = static_cast<u32>(instr.operand[0])};
    case Op::JL_lng:
      return Branch{.call = true, .direct = true, .target = static_cast<u32>(instr.operand[0])};
    case Op::JZ:
    case Op::JNZ:
      return Branch{.conditional = true, .direct = true, .target = static_cast<u32>(instr.operand[1])};
    case Op::J_alumv_or:
      return Branch{};
    case Op::JL_alumv_or:
      return Branch{.call = true};
    case Op::JNZD:
      return Branch{.conditional = true};
    case Op::RET:
      return Branch{.ret = true};
    default:
      return std::nullopt;
  }
}

// The pointer operand of a register branch.
std::optional<Reg> branch_pointer(const Instr& instr) {
  switch (instr.op) {
    case Op::J_alumv_or:
    case Op::JL_alumv_or:
      return instr.reg(0);
    case Op::JNZD:
      return instr.reg(2);
    default:
      return std::nullopt;
  }
}

bool is_move_constant(Op op) {
  return op == Op::MOVXM || op == Op::MOVA || op == Op::MOVX_alu_cg || op == Op::MOV_alu_mv_mv_mv_cg;
}

bool may_write(const OperandInfo& operand, Reg reg) {
  if (!operand.is_out || operand.kind != OperandKind::kReg) return false;
  const auto members = reg_class(operand.cls).members;
  return std::any_of(members.begin(), members.end(), [reg](Reg member) { return overlaps(member, reg); });
}

// Whether the op can write ls, le or lc: most cannot, and their operands need no look.
bool may_set_loop(Op op) {
  static const std::vector<bool> table = [] {
    std::vector<bool> out(static_cast<size_t>(Op::kCount));
    for (size_t i = 0; i < out.size(); ++i) {
      const InstrInfo& in = info(static_cast<Op>(i));
      for (const Reg reg : {Reg::ls, Reg::le, Reg::lc}) {
        for (const OperandInfo& operand : in.operands) out[i] = out[i] || may_write(operand, reg);
        for (const Reg def : in.implicit_defs) out[i] = out[i] || overlaps(def, reg);
      }
    }
    return out;
  }();
  return table[static_cast<size_t>(op)];
}

}  // namespace

bool is_lock(Op op) {
  switch (op) {
    case Op::ACQ_mLockId_imm:
    case Op::ACQ_mLockId_reg:
    case Op::ACQ_COND_mLockId_imm:
    case Op::ACQ_COND_mLockId_reg:
    case Op::REL_mLockId_imm:
    case Op::REL_mLockId_reg:
    case Op::REL_COND_mLockId_imm:
    case Op::REL_COND_mLockId_reg:
      return true;
    default:
      return false;
  }
}

bool is_acquire(Op op) {
  return is_lock(op) && info(op).mnemonic.starts_with("acq");
}

Write write_of(const Instr& instr, Reg reg) {
  Write write;
  const InstrInfo& in = info(instr.op);
  for (int i = 0; i < in.outs; ++i) {
    if (!overlaps(instr.reg(i), reg)) continue;
    write.writes = true;
    if (is_move_constant(instr.op)) write.constant = instr.operand[1];
  }
  for (Reg def : in.implicit_defs) write.writes = write.writes || overlaps(def, reg);
  return write;
}

Flow::Flow(const PlacedProgram& program)
    : program_(program),
      branches_(static_cast<size_t>(size())),
      delay_of_(static_cast<size_t>(size()), -1),
      next_(static_cast<size_t>(size())) {
  find_branches();
  find_loops();
  link();
}

int Flow::find(u32 address) const {
  const auto it = std::lower_bound(program_.begin(), program_.end(), address,
                                   [](const PlacedBundle& b, u32 a) { return b.address < a; });
  return it != program_.end() && it->address == address ? static_cast<int>(it - program_.begin()) : -1;
}

int Flow::following(int i) const {
  return i + 1 < size() && at(i + 1).address == at(i).address + at(i).bytes ? i + 1 : -1;
}

// The value of a pointer at bundle i: the nearest write above it in the same function, when that is a
// constant.
std::optional<u32> Flow::pointer_value(int i, Reg pointer) const {
  for (int k = i - 1; k >= 0; --k) {
    const int b = delay_of(k);
    const bool leaves = b >= 0 && b + kDelaySlots == k && !branch(b)->conditional && !branch(b)->call;
    if (leaves || following(k) < 0) return std::nullopt;
    for (const Instr& instr : at(k).instr) {
      const Write write = write_of(instr, pointer);
      if (!write.writes) continue;
      if (!write.constant) return std::nullopt;
      return static_cast<u32>(*write.constant) & 0xFFFFF;  // pointers have 20 bits
    }
  }
  return std::nullopt;
}

void Flow::find_branches() {
  for (int i = 0; i < size(); ++i) {
    for (const Instr& instr : at(i).instr) {
      const auto branch = branch_of(instr);
      if (branch) branches_[static_cast<size_t>(i)] = branch;
    }
  }
  for (int i = 0; i < size(); ++i) {
    if (!branch(i) || delay_of(i) >= 0) continue;
    for (int n = 0, k = following(i); n < kDelaySlots && k >= 0; ++n, k = following(k)) {
      delay_of_[static_cast<size_t>(k)] = i;
    }
  }
  for (int i = 0; i < size(); ++i) {
    for (const Instr& instr : at(i).instr) {
      const auto pointer = branch_pointer(instr);
      if (pointer) branches_[static_cast<size_t>(i)]->target = pointer_value(i, *pointer);
    }
  }
}

void Flow::find_loops() {
  std::optional<i64> start, end;
  int last_setup = -1;
  bool has_count = false;
  for (int i = 0; i < size(); ++i) {
    if (start && end && at(i).address == *start && last_setup >= 0) {
      loops_.push_back({static_cast<u32>(*start), static_cast<u32>(*end), last_setup, has_count});
      last_setup = -1;
      has_count = false;
    }
    for (const Instr& instr : at(i).instr) {
      if (!may_set_loop(instr.op)) continue;
      const Write ls = write_of(instr, Reg::ls), le = write_of(instr, Reg::le), lc = write_of(instr, Reg::lc);
      if (ls.writes) start = ls.constant;
      if (le.writes) end = le.constant;
      has_count = has_count || lc.writes;
      if (ls.writes || le.writes || lc.writes) last_setup = i;
    }
  }
}

void Flow::link() {
  for (int i = 0; i < size(); ++i) {
    auto& next = next_[static_cast<size_t>(i)];
    const int b = delay_of(i);
    const bool last_delay = b >= 0 && b + kDelaySlots == i;
    const bool falls = !last_delay || branch(b)->conditional;
    if (falls && following(i) >= 0) next.push_back(following(i));
    if (last_delay && branch(b)->target) {
      const int target = find(*branch(b)->target);
      if (target >= 0 && std::find(next.begin(), next.end(), target) == next.end()) next.push_back(target);
    }
  }
  for (const HardwareLoop& loop : loops_) {
    const int start = find(loop.start), end = find(loop.end);
    if (start < 0 || end < 0) continue;
    auto& next = next_[static_cast<size_t>(end)];
    if (std::find(next.begin(), next.end(), start) == next.end()) next.push_back(start);
  }
}

}  // namespace tegula::isa
