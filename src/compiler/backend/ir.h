// Intermediate form of the back end: blocks of instructions over variables, and what the exposed pipeline
// demands between two instructions (handbook sections 3.2, 5, 6.1). Internal to src/compiler/backend.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/backend/builder.h"

namespace tegula::compiler::backend {

// Atoms: the smallest named pieces of the register files (r, p, half x, half e, quarter dm, control register
// ...).
u32 atom_count();
const std::vector<u16>& atoms_of(isa::Reg reg);
int kind_atoms(RegKind kind);
const std::vector<isa::Reg>& kind_members(
    RegKind kind);  // registers that a variable of this kind can live in
// The member of operand class `cls` that is exactly the part `mask` of `whole`; kNone when there is none.
isa::Reg part_in_class(isa::Reg whole, u16 mask, u16 cls);
bool is_sticky_flag(isa::Reg reg);

struct Variable {
  RegKind kind = RegKind::kFixed;
  isa::Reg fixed = isa::Reg::kNone;
  std::string name;
  u32 first_cell =
      0;  // virtual ones: cells first_cell .. + kind_atoms; fixed ones use the atoms themselves as cells
};

struct Operand {
  bool is_reg = false;
  VReg reg;
  i64 imm = 0;
};

// One register part touched by an instruction, at a cycle counted from 1 at issue.
struct Access {
  u32 cell;
  u8 cycle;
  isa::Bypass bypass;
  bool def;
};

enum class Effect : u8 { kNone, kLock, kStream, kDone, kEvent, kBranch };

struct Inst {
  std::vector<isa::Op> ops;  // alternatives; after scheduling only the chosen one
  std::array<Operand, isa::kMaxOperands> operand;
  Mem mem;
  u32 source = kNoSource;
  u32 turn = 0, turns = 1;  // of a fully unrolled loop
  int target = -1;          // block whose address is the immediate operand `target_operand`
  int target_operand = -1;

  // Derived by resolve().
  std::vector<Access> access;
  std::vector<Access> by_cell;             // the same, sorted
  std::vector<const isa::Timing*> timing;  // by alternative
  u64 cells_seen = 0;                      // bit (cell mod 64) of every access: a quick test for independence
  bool load = false, store = false;
  u8 mem_first = 0, mem_last = 0;
  Effect effect = Effect::kNone;
  bool release = false;

  // Scheduling: time in the block; pinned ones were placed by the modulo scheduler, from the start of the
  // block or (negative) from its end.
  enum class Pin : u8 { kFree, kFromStart, kFromEnd } pin = Pin::kFree;
  int time = 0;

  const isa::InstrInfo& info() const { return isa::info(ops[0]); }
  void choose(size_t alternative) {
    ops = {ops[alternative]};
    timing = {timing[alternative]};
  }
};

struct LoopInfo {
  LoopOptions options;
  VReg trip;
  u32 exact = 0;  // known trip count, 0: unknown
  int preheader = -1, exit = -1;
  VReg counter;  // of the plain form
};

struct Block {
  std::string name;
  std::vector<Inst> insts;  // a branch, if any, is the last one
  std::vector<int> succ;    // fall through first
  bool is_target = false;   // needs 16-byte alignment
  int loop = -1;            // index of the loop whose single-block body this is
  bool kernel = false;      // modulo-scheduled: times are final
  bool falls_through = true;
  int length = 0;  // bundles
};

struct Function {
  std::vector<Variable> vars;
  std::vector<Block> blocks;  // in layout order
  std::vector<LoopInfo> loops;
  std::vector<int> label_block;
  std::vector<std::string> label_name;
  u32 sources = 0;
  u32 cells = 0;
  int current = 0;
  std::optional<Error> error;
  std::vector<LoopStats> stats;
  std::set<u32> read_flags;  // atoms of status flags that some instruction reads

  VReg new_var(RegKind kind, std::string name);
  VReg fixed_var(isa::Reg reg);
  int new_block(std::string name);
  Block& now() { return blocks[static_cast<size_t>(current)]; }
  void set_error(Code code, const std::string& message) {
    if (!error) error = fail(code, message);
  }
  u32 cell(const VReg& reg, int atom) const;
  std::string reg_text(const VReg& reg) const;
};

// Fills in operands (implied, tied, derived) from the given ones.
Result<Inst> make_inst(Function& fn, std::vector<isa::Op> ops, const std::vector<Arg>& args, Mem mem);
// Computes the derived fields; call again after variables change.
Result<void> resolve(const Function& fn, Inst& inst);
// The instruction with a register of the right class for every operand (any: for timing; or by an
// assignment).
Result<isa::Instr> to_instr(const Function& fn, const Inst& inst, int alternative,
                            const std::vector<isa::Reg>* assignment);

// Smallest issue distance at which b may follow a (a earlier in program order); nothing when they are
// independent. `carried`: b belongs to a later iteration of a loop whose iterations are promised disjoint.
std::optional<int> min_gap(const Inst& a, const Inst& b, bool carried_disjoint = false);
std::optional<int> register_gap(const Inst& a, const Inst& b);
std::optional<int> order_gap(const Inst& a, const Inst& b, bool carried_disjoint);

constexpr int kDelaySlots = 5;
constexpr int kTail = 16;  // no effect of an instruction lasts longer than this many cycles after its issue

}  // namespace tegula::compiler::backend
