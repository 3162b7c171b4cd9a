// Random instructions and bundles for the tests of src/isa.
#pragma once

#include <array>
#include <random>
#include <vector>

#include "isa/isa.h"

namespace tegula::isa {

inline Instr random_instr(Op op, std::mt19937_64& rng) {
  Instr instr;
  instr.op = op;
  const InstrInfo& in = info(op);
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const OperandInfo& operand = in.operands[i];
    if (!operand.has_field) continue;
    if (operand.kind == OperandKind::kReg) {
      const auto members = reg_class(operand.cls).members;
      instr.operand[i] = static_cast<i64>(members[rng() % members.size()]);
    } else {
      const ImmClass& cls = imm_class(operand.cls);
      const u64 steps = static_cast<u64>((cls.max - cls.min) / cls.step) + 1;
      const u64 pick = rng() % 8;
      instr.operand[i] = pick == 0   ? cls.min
                         : pick == 1 ? cls.max
                                     : cls.min + cls.step * static_cast<i64>(rng() % steps);
    }
  }
  const auto done = complete(instr);
  if (!done.ok()) instr.op = Op::kCount;
  return instr;
}

inline std::array<std::vector<Op>, static_cast<size_t>(Slot::kCount)> ops_by_slot() {
  std::array<std::vector<Op>, static_cast<size_t>(Slot::kCount)> out;
  for (int i = 0; i < static_cast<int>(Op::kCount); ++i) {
    out[static_cast<size_t>(info(static_cast<Op>(i)).slot)].push_back(static_cast<Op>(i));
  }
  return out;
}

inline Bundle random_bundle(u8 format,
                            const std::array<std::vector<Op>, static_cast<size_t>(Slot::kCount)>& by_slot,
                            std::mt19937_64& rng) {
  static constexpr Slot kOrder[] = {Slot::kLda, Slot::kLdb, Slot::kAlu, Slot::kMv,
                                    Slot::kLng, Slot::kSt,  Slot::kVec, Slot::kNop};
  Bundle bundle;
  bundle.format = format;
  bundle.bytes = format_bytes(format);
  for (Slot slot : kOrder) {
    if ((format_slots(format) >> static_cast<u32>(slot) & 1) == 0) continue;
    const auto& ops = by_slot[static_cast<size_t>(slot)];
    bundle.instr[bundle.count++] = random_instr(ops[rng() % ops.size()], rng);
  }
  return bundle;
}

inline int index_of_slot(const Bundle& bundle, Slot slot) {
  for (int i = 0; i < bundle.count; ++i) {
    if (info(bundle.instr[i].op).slot == slot) return i;
  }
  return -1;
}

}  // namespace tegula::isa
