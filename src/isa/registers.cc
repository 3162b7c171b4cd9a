// Look-ups over the generated tables of registers, classes and instructions (sources:
// src/isa/tables/regfile.tsv, registers.tsv, immediates.tsv, instructions.tsv).
#include <algorithm>
#include <unordered_map>
#include <vector>

#include "isa/isa.h"
#include "isa/tables.h"

namespace tegula::isa {

namespace {

// First entry wins: "d0" is the 2D register, not its 3D pair of the same assembly name.
std::unordered_map<std::string_view, Reg> make_register_names() {
  std::unordered_map<std::string_view, Reg> names;
  for (int i = 1; i < tables::kRegs; ++i) names.emplace(tables::kRegInfo[i].name, static_cast<Reg>(i));
  return names;
}

std::unordered_map<std::string_view, Op> make_op_names() {
  std::unordered_map<std::string_view, Op> names;
  for (int i = 0; i < tables::kOps; ++i) names.emplace(tables::kInstrInfo[i].name, static_cast<Op>(i));
  return names;
}

// Pair by pair, but only of registers with a part in the same bank: this runs at the start of every process.
std::vector<bool> make_overlaps() {
  std::vector<bool> table(static_cast<size_t>(tables::kRegs) * tables::kRegs);
  std::vector<std::vector<std::pair<size_t, RegPart>>> banks;
  for (int i = 0; i < tables::kRegs; ++i) {
    const auto reg = static_cast<size_t>(i);
    for (const RegPart& part : reg_info(static_cast<Reg>(i)).parts) {
      banks.resize(std::max(banks.size(), static_cast<size_t>(part.bank) + 1));
      auto& bank = banks[static_cast<size_t>(part.bank)];
      for (const auto& [other, known] : bank) {
        if (part.bit >= known.bit + known.bits || known.bit >= part.bit + part.bits) continue;
        table[reg * tables::kRegs + other] = table[other * tables::kRegs + reg] = true;
      }
      table[reg * tables::kRegs + reg] = true;
      bank.emplace_back(reg, part);
    }
  }
  return table;
}

}  // namespace

const RegInfo& reg_info(Reg reg) {
  const auto i = static_cast<size_t>(reg);
  return tables::kRegInfo[i < static_cast<size_t>(tables::kRegs) ? i : 0];
}

Reg find_reg(std::string_view assembly_name) {
  static const auto names = make_register_names();
  const auto it = names.find(assembly_name);
  return it == names.end() ? Reg::kNone : it->second;
}

bool overlaps(Reg a, Reg b) {
  static const auto table = make_overlaps();
  const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b), n = static_cast<size_t>(tables::kRegs);
  return i < n && j < n && table[i * n + j];
}

u32 bank_bits(Bank bank) {
  return tables::kBankBits[static_cast<size_t>(bank)];
}

const InstrInfo& info(Op op) {
  return tables::kInstrInfo[static_cast<size_t>(op)];
}

Op find_op(std::string_view record_name) {
  static const auto names = make_op_names();
  const auto it = names.find(record_name);
  return it == names.end() ? Op::kCount : it->second;
}

const RegClass& reg_class(u16 cls) {
  return tables::kRegClasses[cls];
}

const ImmClass& imm_class(u16 cls) {
  return tables::kImmClasses[cls];
}

const Timing& timing(const Instr& instr) {
  const tables::TimingSelect& select = tables::kTimingSelect[static_cast<size_t>(instr.op)];
  if (select.a < 0) return tables::kTimings[select.base];
  const auto group = [&](int operand) -> size_t {
    const auto reg = static_cast<u64>(instr.operand[operand]);
    return reg < static_cast<u64>(tables::kRegs) ? tables::kTimingGroup[reg] : 0;
  };
  size_t at = select.table;
  at += select.b < 0 ? group(select.a) : group(select.a) * tables::kTimingGroups + group(select.b);
  return tables::kTimings[tables::kTimingVariant[at]];
}

std::string_view unit_name(u8 unit) {
  return unit < tables::kUnits.size() ? tables::kUnits[unit] : "?";
}

}  // namespace tegula::isa
