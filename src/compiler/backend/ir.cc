// Atoms and register kinds, building of instructions from builder arguments, and the distance rules of the
// exposed pipeline (handbook 5.1), of memory (3.2) and of locks (6.1).
#include "compiler/backend/ir.h"

#include <algorithm>
#include <map>

namespace tegula::compiler::backend {

using isa::Bank;
using isa::Reg;

namespace {

constexpr u32 kGranule[] = {32, 32, 32, 32, 32, 32, 32, 256, 32, 64, 512, 512, 32, 32};
static_assert(std::size(kGranule) == static_cast<size_t>(Bank::kCount));

u32 granule(Bank bank) {
  return kGranule[static_cast<size_t>(bank)];
}

struct AtomTable {
  std::vector<std::vector<u16>> of;  // by Reg
  std::vector<u32> base;             // by Bank
  u32 count = 0;

  AtomTable() {
    for (size_t b = 0; b < static_cast<size_t>(Bank::kCount); ++b) {
      base.push_back(count);
      const u32 size = granule(static_cast<Bank>(b));
      count += (isa::bank_bits(static_cast<Bank>(b)) + size - 1) / size;
    }
    of.resize(static_cast<size_t>(Reg::kCount));
    for (size_t r = 1; r < of.size(); ++r) {
      for (const isa::RegPart& part : isa::reg_info(static_cast<Reg>(r)).parts) {
        const u32 size = granule(part.bank);
        const u32 first = part.bit / size, last = (part.bit + part.bits - 1) / size;
        for (u32 i = first; i <= last; ++i) {
          of[r].push_back(static_cast<u16>(base[static_cast<size_t>(part.bank)] + i));
        }
      }
    }
  }
};

const AtomTable& atoms() {
  static const AtomTable table;
  return table;
}

bool is_fifo_atom(u32 atom) {
  const auto bank = static_cast<size_t>(Bank::kFifo);
  return atom >= atoms().base[bank] && atom < atoms().base[bank + 1];
}

std::vector<Reg> regs(std::initializer_list<std::string_view> prefixes, std::string_view suffix = {}) {
  std::vector<Reg> out;
  for (size_t r = 1; r < static_cast<size_t>(Reg::kCount); ++r) {
    const std::string_view name = isa::reg_info(static_cast<Reg>(r)).name;
    for (std::string_view prefix : prefixes) {
      if (!name.starts_with(prefix)) continue;
      const std::string_view rest = name.substr(prefix.size());
      const bool numeric =
          !rest.empty() && std::all_of(rest.begin(), rest.end(), [](char c) { return c >= '0' && c <= '9'; });
      if (numeric && (suffix.empty() || name.ends_with(suffix))) out.push_back(static_cast<Reg>(r));
    }
  }
  return out;
}

// "d0" names both the 2D register and the 3D pair; pairs of r print as "r1:r0": these are told apart by their
// atoms.
std::vector<Reg> with_shape(Bank first, Bank second, size_t count) {
  std::vector<Reg> out;
  for (size_t r = 1; r < static_cast<size_t>(Reg::kCount); ++r) {
    const auto parts = isa::reg_info(static_cast<Reg>(r)).parts;
    if (parts.empty() || atoms().of[r].size() != count) continue;
    const auto uses = [&](Bank bank) {
      return std::any_of(parts.begin(), parts.end(), [&](const isa::RegPart& p) { return p.bank == bank; });
    };
    const bool foreign = std::any_of(parts.begin(), parts.end(), [&](const isa::RegPart& p) {
      return p.bank != first && p.bank != second && first != Bank::kM;
    });
    if (uses(first) && uses(second) && !foreign) out.push_back(static_cast<Reg>(r));
  }
  return out;
}

std::vector<Reg> make_members(RegKind kind) {
  switch (kind) {
    case RegKind::kR:
      return regs({"r"});
    case RegKind::kL:
      return with_shape(Bank::kR, Bank::kR, 2);
    case RegKind::kP:
      return regs({"p"});
    case RegKind::kM:
      return regs({"m"});
    case RegKind::kDn:
      return regs({"dn"});
    case RegKind::kDj:
      return regs({"dj"});
    case RegKind::kDc:
      return regs({"dc"});
    case RegKind::kD:
      return with_shape(Bank::kM, Bank::kDn, 4);
    case RegKind::kD3:
      return with_shape(Bank::kM, Bank::kDn, 8);
    case RegKind::kS:
      return regs({"s"});
    case RegKind::kW:
      return regs({"wl", "wh"});
    case RegKind::kX:
      return regs({"x"});
    case RegKind::kY:
      return regs({"y"});
    case RegKind::kE:
      return regs({"el", "eh"});
    case RegKind::kEx:
      return regs({"ex"});
    case RegKind::kEy:
      return regs({"ey"});
    case RegKind::kBm:
      return regs({"bmll", "bmlh", "bmhl", "bmhh"});
    case RegKind::kCm:
      return regs({"cml", "cmh"});
    case RegKind::kDm:
      return regs({"dm"});
    case RegKind::kQ:
      return regs({"q"});
    case RegKind::kQx:
      return regs({"qx"});
    case RegKind::kFixed:
      return {};
  }
  return {};
}

constexpr size_t kKinds = static_cast<size_t>(RegKind::kFixed) + 1;

}  // namespace

u32 atom_count() {
  return atoms().count;
}
const std::vector<u16>& atoms_of(Reg reg) {
  return atoms().of[static_cast<size_t>(reg)];
}

const std::vector<Reg>& kind_members(RegKind kind) {
  static const auto table = [] {
    std::vector<std::vector<Reg>> all;
    for (size_t k = 0; k < kKinds; ++k) all.push_back(make_members(static_cast<RegKind>(k)));
    return all;
  }();
  return table[static_cast<size_t>(kind)];
}

int kind_atoms(RegKind kind) {
  const auto& members = kind_members(kind);
  return members.empty() ? 0 : static_cast<int>(atoms_of(members[0]).size());
}

Reg part_in_class(Reg whole, u16 mask, u16 cls) {
  static const auto table = [] {
    std::map<std::pair<u16, std::vector<u16>>, Reg> map;
    for (size_t i = 0; i < static_cast<size_t>(isa::Op::kCount); ++i) {
      for (const auto& operand : isa::info(static_cast<isa::Op>(i)).operands) {
        if (operand.kind != isa::OperandKind::kReg) continue;
        for (Reg member : isa::reg_class(operand.cls).members)
          map.emplace(std::pair(operand.cls, atoms_of(member)), member);
      }
    }
    return map;
  }();
  const auto& all = atoms_of(whole);
  std::vector<u16> part;
  for (size_t i = 0; i < all.size(); ++i) {
    if (mask >> i & 1) part.push_back(all[i]);
  }
  const auto it = table.find(std::pair(cls, part));
  return it == table.end() ? Reg::kNone : it->second;
}

bool is_sticky_flag(Reg reg) {
  const std::string_view name = isa::reg_info(reg).name;
  return name.starts_with("sr") && name.find("ign") == name.npos;
}

// ------------------------------------------------------------------- function

VReg Function::new_var(RegKind kind, std::string name) {
  Variable var;
  var.kind = kind;
  var.name = name.empty() ? "v" + std::to_string(vars.size()) : std::move(name);
  if (cells < atom_count()) cells = atom_count();
  var.first_cell = cells;
  const int count = kind_atoms(kind);
  cells += static_cast<u32>(count);
  vars.push_back(std::move(var));
  return {static_cast<u32>(vars.size() - 1), static_cast<u16>((1 << count) - 1), kind};
}

VReg Function::fixed_var(Reg reg) {
  const auto full = static_cast<u16>((1u << atoms_of(reg).size()) - 1);
  for (size_t i = 0; i < vars.size(); ++i) {
    if (vars[i].fixed == reg) return {static_cast<u32>(i), full, vars[i].kind};
  }
  Variable var;
  var.fixed = reg;
  var.name = std::string(isa::reg_info(reg).name);
  for (size_t k = 0; k + 1 < kKinds; ++k) {
    const auto& members = kind_members(static_cast<RegKind>(k));
    if (std::find(members.begin(), members.end(), reg) != members.end()) var.kind = static_cast<RegKind>(k);
  }
  vars.push_back(std::move(var));
  return {static_cast<u32>(vars.size() - 1), full, vars.back().kind};
}

int Function::new_block(std::string name) {
  Block block;
  block.name = std::move(name);
  blocks.push_back(std::move(block));
  return static_cast<int>(blocks.size() - 1);
}

u32 Function::cell(const VReg& reg, int atom) const {
  const Variable& var = vars[reg.var];
  if (var.fixed != Reg::kNone) return atoms_of(var.fixed)[static_cast<size_t>(atom)];
  return var.first_cell + static_cast<u32>(atom);
}

std::string Function::reg_text(const VReg& reg) const {
  const Variable& var = vars[reg.var];
  const int count =
      var.fixed != Reg::kNone ? static_cast<int>(atoms_of(var.fixed).size()) : kind_atoms(var.kind);
  if (reg.mask == (1u << count) - 1) return var.name;
  std::string text = var.name + ".";
  for (int i = 0; i < count; ++i) {
    if (reg.mask >> i & 1) text += std::to_string(i);
  }
  return text;
}

// --------------------------------------------------------------- instructions

namespace {

Error bad(const isa::InstrInfo& info, const std::string& what) {
  return fail(Code::kInvalidArgument, "emit " + std::string(info.name) + " (" + std::string(info.mnemonic) +
                                          " " + std::string(info.syntax) + "): " + what);
}

Result<void> check_imm(const isa::InstrInfo& info, const isa::OperandInfo& operand, i64 value) {
  const isa::ImmClass& cls = isa::imm_class(operand.cls);
  if (value >= cls.min && value <= cls.max && (value - cls.offset) % cls.step == 0) return {};
  return bad(info, "operand " + std::string(operand.name) + " is " + std::to_string(value) + ", expected " +
                       std::to_string(cls.min) + ".." + std::to_string(cls.max) + " in steps of " +
                       std::to_string(cls.step));
}

// The register that follows from another operand: the fifo and position of a pop pointer, the counters of a d
// register.
Result<VReg> derive(Function& fn, const isa::InstrInfo& info, const isa::OperandInfo& operand,
                    const VReg& from) {
  const std::string_view cls = isa::reg_class(operand.cls).name;
  if (cls.ends_with("DC")) return sub(from, RegKind::kDc);
  if (cls.ends_with("DCL")) return sub(sub(from, RegKind::kD, 0), RegKind::kDc);
  if (cls.ends_with("DCH")) return sub(sub(from, RegKind::kD, 1), RegKind::kDc);
  const Reg ptr = fn.vars[from.var].fixed;
  const bool second = isa::reg_info(ptr).name == "p1";
  if (!second && isa::reg_info(ptr).name != "p0") {
    return bad(info, "the fifo pointer has to be fixed p0 or p1, found " + fn.reg_text(from));
  }
  const auto& members = isa::reg_class(operand.cls).members;
  if (members.size() != 2) return bad(info, "no rule for operand " + std::string(operand.name));
  return fn.fixed_var(members[second ? 1 : 0]);
}

Result<void> check_class(const Function& fn, const isa::InstrInfo& info, const isa::OperandInfo& operand,
                         const VReg& reg) {
  const Variable& var = fn.vars[reg.var];
  const auto& candidates = var.fixed != Reg::kNone ? std::vector<Reg>{var.fixed} : kind_members(var.kind);
  for (Reg whole : candidates) {
    if (part_in_class(whole, reg.mask, operand.cls) != Reg::kNone) return {};
  }
  return bad(info, "operand " + std::string(operand.name) + " is " + fn.reg_text(reg) + " (" +
                       kind_name(reg.kind) + "), which no register of class " +
                       std::string(isa::reg_class(operand.cls).name) + " can hold");
}

}  // namespace

Result<Inst> make_inst(Function& fn, std::vector<isa::Op> ops, const std::vector<Arg>& args, Mem mem) {
  Inst inst;
  inst.ops = std::move(ops);
  inst.mem = mem;
  const isa::InstrInfo& info = inst.info();
  size_t next = 0;
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const isa::OperandInfo& operand = info.operands[i];
    if (operand.kind == isa::OperandKind::kReg && isa::reg_class(operand.cls).members.size() == 1) {
      inst.operand[i] = {true, fn.fixed_var(isa::reg_class(operand.cls).members[0]), 0};
      continue;
    }
    if (operand.tied_to >= 0 || !operand.has_field) continue;
    if (next >= args.size())
      return bad(info, "found " + std::to_string(args.size()) + " operands, which is too few");
    const Arg& arg = args[next++];
    if (arg.is_reg != (operand.kind == isa::OperandKind::kReg)) {
      return bad(info, "operand " + std::string(operand.name) + " has to be " +
                           (arg.is_reg ? "an immediate" : "a register"));
    }
    if (!arg.is_reg) TRY(check_imm(info, operand, arg.imm));
    if (arg.is_reg && (arg.reg.var >= fn.vars.size() || arg.reg.mask == 0)) {
      return bad(info, "operand " + std::string(operand.name) + " is an empty register");
    }
    inst.operand[i] = {arg.is_reg, arg.reg, arg.imm};
  }
  if (next != args.size())
    return bad(info, "found " + std::to_string(args.size()) + " operands, expected " + std::to_string(next));
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const isa::OperandInfo& operand = info.operands[i];
    if (operand.kind != isa::OperandKind::kReg || isa::reg_class(operand.cls).members.size() == 1) continue;
    if (operand.tied_to >= 0) {
      const auto other = static_cast<size_t>(operand.tied_to);
      if (info.operands[other].cls == operand.cls) {
        inst.operand[i] = inst.operand[other];
      } else {
        TRY_ASSIGN(VReg reg, derive(fn, info, operand, inst.operand[other].reg));
        inst.operand[i] = {true, reg, 0};
      }
    }
    if (!inst.operand[i].is_reg) return bad(info, "no rule for operand " + std::string(operand.name));
    for (isa::Op op : inst.ops)
      TRY(check_class(fn, isa::info(op), isa::info(op).operands[i], inst.operand[i].reg));
  }
  return inst;
}

Result<isa::Instr> to_instr(const Function& fn, const Inst& inst, int alternative,
                            const std::vector<Reg>* assignment) {
  isa::Instr out;
  out.op = inst.ops[static_cast<size_t>(alternative)];
  const isa::InstrInfo& info = isa::info(out.op);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const Operand& operand = inst.operand[i];
    if (!operand.is_reg) {
      out.operand[i] = operand.imm;
      continue;
    }
    const Variable& var = fn.vars[operand.reg.var];
    Reg found = Reg::kNone;
    if (var.fixed != Reg::kNone) {
      found = part_in_class(var.fixed, operand.reg.mask, info.operands[i].cls);
    } else if (assignment != nullptr) {
      found = part_in_class((*assignment)[operand.reg.var], operand.reg.mask, info.operands[i].cls);
    } else {
      for (Reg whole : kind_members(var.kind)) {
        found = part_in_class(whole, operand.reg.mask, info.operands[i].cls);
        if (found != Reg::kNone) break;
      }
    }
    if (found == Reg::kNone) {
      return bad(info,
                 "operand " + std::string(info.operands[i].name) + " cannot be " + fn.reg_text(operand.reg));
    }
    out.operand[i] = static_cast<i64>(found);
  }
  return out;
}

namespace {

// The timing can depend on the kind of a register, hence on an instruction with registers.
Result<void> find_timing(const Function& fn, Inst& inst) {
  inst.timing.clear();
  for (size_t alt = 0; alt < inst.ops.size(); ++alt) {
    TRY_ASSIGN(isa::Instr instr, to_instr(fn, inst, static_cast<int>(alt), nullptr));
    inst.timing.push_back(&isa::timing(instr));
  }
  for (size_t alt = inst.ops.size(); alt-- > 1;) {
    // Alternatives stand for one set of dependences.
    bool same = true;
    for (size_t i = 0; i < inst.info().operands.size(); ++i) {
      const isa::OperandTiming &a = inst.timing[0]->operand[i], &b = inst.timing[alt]->operand[i];
      same = same && a.cycle == b.cycle && a.bypass == b.bypass;
    }
    if (same && inst.timing[alt]->memory_last == inst.timing[0]->memory_last) continue;
    inst.ops.erase(inst.ops.begin() + static_cast<std::ptrdiff_t>(alt));
    inst.timing.erase(inst.timing.begin() + static_cast<std::ptrdiff_t>(alt));
  }
  return {};
}

u8 cycle_of(std::span<const std::pair<Reg, isa::OperandTiming>> list, Reg reg) {
  for (const auto& [r, timing] : list) {
    if (r == reg && timing.cycle != 0) return timing.cycle;
  }
  return 1;
}

void add_implicit(const Function& fn, Inst& inst, Reg reg, u8 cycle, bool def) {
  for (u16 atom : atoms_of(reg)) {
    if (is_sticky_flag(reg) && !fn.read_flags.contains(atom)) continue;
    inst.access.push_back({atom, cycle, isa::Bypass::kNone, def});
  }
}

// A fifo register passes from one fifo instruction to the next in order: its content is read in the cycle in
// which it is written, although the tuple operand is listed with the cycle of the pointer (pops on
// consecutive bundles, handbook 11).
void order_fifo(Inst& inst) {
  for (Access& use : inst.access) {
    if (use.def || !is_fifo_atom(use.cell)) continue;
    for (const Access& def : inst.access) {
      if (def.def && def.cell == use.cell) use.cycle = def.cycle;
    }
  }
}

Effect effect_of(const isa::InstrInfo& info) {
  const std::string_view m = info.mnemonic;
  if (m.starts_with("acq") || m == "rel" || m.starts_with("rel.")) return Effect::kLock;
  if (m == "done") return Effect::kDone;
  if (m.starts_with("event")) return Effect::kEvent;
  if (info.delay) return Effect::kBranch;
  if (info.side || info.name.find("_TM") != info.name.npos) return Effect::kStream;
  return Effect::kNone;
}

}  // namespace

Result<void> resolve(const Function& fn, Inst& inst) {
  const isa::InstrInfo& info = inst.info();
  TRY(find_timing(fn, inst));
  const isa::Timing& timing = *inst.timing[0];
  inst.access.clear();
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const Operand& operand = inst.operand[i];
    if (!operand.is_reg) continue;
    const u8 cycle = std::max<u8>(timing.operand[i].cycle, 1);
    const Variable& var = fn.vars[operand.reg.var];
    if (var.fixed != Reg::kNone && is_sticky_flag(var.fixed) && info.operands[i].is_out) {
      add_implicit(fn, inst, var.fixed, cycle, true);
      continue;
    }
    for (int atom = 0; atom < 16; ++atom) {
      if (operand.reg.mask >> atom & 1) {
        inst.access.push_back(
            {fn.cell(operand.reg, atom), cycle, timing.operand[i].bypass, info.operands[i].is_out});
      }
    }
  }
  for (Reg reg : info.implicit_defs) add_implicit(fn, inst, reg, cycle_of(timing.implicit_defs, reg), true);
  for (Reg reg : info.implicit_uses) add_implicit(fn, inst, reg, cycle_of(timing.implicit_uses, reg), false);
  order_fifo(inst);
  inst.by_cell = inst.access;
  std::stable_sort(inst.by_cell.begin(), inst.by_cell.end(),
                   [](const Access& a, const Access& b) { return a.cell < b.cell; });
  inst.cells_seen = 0;
  for (const Access& access : inst.access) inst.cells_seen |= u64{1} << (access.cell % 64);
  inst.load = info.load;
  inst.store = info.store;
  inst.mem_first = timing.memory_first;
  inst.mem_last = timing.memory_last;
  if ((inst.load || inst.store) && inst.mem_first == 0) inst.mem_first = inst.mem_last = 5;
  inst.effect = effect_of(info);
  inst.release = info.mnemonic.starts_with("rel");
  return {};
}

// ------------------------------------------------------------------ distances

std::optional<int> register_gap(const Inst& a, const Inst& b) {
  std::optional<int> gap;
  if ((a.cells_seen & b.cells_seen) == 0) return gap;
  const auto need = [&](int value) { gap = gap ? std::max(*gap, value) : value; };
  auto from = b.by_cell.begin();
  for (const Access& x : a.by_cell) {
    while (from != b.by_cell.end() && from->cell < x.cell) ++from;
    for (auto at = from; at != b.by_cell.end() && at->cell == x.cell; ++at) {
      const Access& y = *at;
      if (x.def && y.def) {
        need(x.cycle - y.cycle + 1);  // the later write commits later
      } else if (x.def) {
        need(isa::min_distance({x.cycle, x.bypass}, {y.cycle, y.bypass}));
      } else if (y.def) {
        // Sampled before the new value is visible; a bypass shows values one cycle early.
        need(x.cycle - y.cycle + (x.bypass != isa::Bypass::kNone ? 1 : 0));
      }
    }
  }
  return gap;
}

namespace {

bool may_overlap(const Inst& a, const Inst& b) {
  return a.mem.tag == 0 || b.mem.tag == 0 || a.mem.tag == b.mem.tag;
}

// Bundles between the last store and a release (proven distance, handbook 6.1); later memory cycles need
// more.
int release_distance(const Inst& mem) {
  return mem.store ? std::max<int>(6, mem.mem_last) : mem.mem_last;
}

std::optional<int> effect_gap(const Inst& a, const Inst& b) {
  const bool a_mem = a.load || a.store, b_mem = b.load || b.store;
  if (b.effect == Effect::kDone) return a_mem ? std::max<int>(6, a.mem_last) : 1;
  if (a.effect == Effect::kEvent) return 1;
  if (b.effect == Effect::kEvent) return 0;
  if (a.effect == Effect::kLock && b.effect == Effect::kLock) return 4;
  if (a.effect != Effect::kNone && b.effect != Effect::kNone) return 1;
  if (a_mem && !a.mem.local && b.effect == Effect::kLock) return b.release ? release_distance(a) : 1;
  if (a.effect == Effect::kLock && b_mem && !b.mem.local) return 1;
  return {};
}

}  // namespace

std::optional<int> order_gap(const Inst& a, const Inst& b, bool carried_disjoint) {
  std::optional<int> gap = effect_gap(a, b);
  const bool memory = (a.load || a.store) && (b.load || b.store) && (a.store || b.store);
  if (memory && may_overlap(a, b)) {
    const bool independent = carried_disjoint && (a.mem.tag != 0 || b.mem.tag != 0);
    const int need = a.mem_last - b.mem_first + 1;
    if (!independent) gap = gap ? std::max(*gap, need) : need;
  }
  return gap;
}

std::optional<int> min_gap(const Inst& a, const Inst& b, bool carried_disjoint) {
  const auto regs = register_gap(a, b);
  const auto order = order_gap(a, b, carried_disjoint);
  if (!regs) return order;
  return order ? std::max(*regs, *order) : regs;
}

}  // namespace tegula::compiler::backend
