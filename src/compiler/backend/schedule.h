// Scheduling of blocks and loops. Internal to src/compiler/backend.
#pragma once

#include <map>
#include <vector>

#include "compiler/backend/ir.h"

namespace tegula::compiler::backend {

// What one instruction occupies: a slot, and units by cycle after issue.
struct Footprint {
  u8 slots = 0;  // bit per slot; lng takes alu and mv too
  u8 count = 0;
  std::array<u64, kTail> strong{}, weak{};
};
Footprint footprint(const Inst& inst, size_t alternative);

// Which slots and units are taken at which time; with a period, times are taken modulo it.
class Reservations {
 public:
  explicit Reservations(int period = 0)
      : period_(period), rows_(period > 0 ? static_cast<size_t>(period) : 0) {}

  bool fits(const Footprint& print, int time) const;
  void add(const Footprint& print, int time);
  void remove(const Footprint& print, int time);  // only for a table with a period

 private:
  struct Row {
    u8 slots = 0;
    std::array<u8, 64> strong{}, weak{};
  };
  const Row* find(int time) const;
  Row& at(int time);

  int period_;
  std::vector<Row> rows_;
};

struct Edge {
  int from, to, gap, distance;  // distance: iterations
};

// Edges between the instructions of a block in program order.
std::vector<Edge> block_edges(const std::vector<const Inst*>& insts);

struct ScheduleOptions {
  std::map<int, int> window;  // by block: how far an instruction may move ahead of the source order
  int ii_slack = 0;           // bundles above the smallest ii that worked, for all loops
};

// Replaces the bodies of loops by kernel, prologue and epilogue where that pays.
Result<void> pipeline_loops(Function& fn, const ScheduleOptions& options);
// Gives every instruction its time and every block its length.
Result<void> schedule_blocks(Function& fn, const ScheduleOptions& options);

// Turns labels into blocks, finds successors, drops what cannot be reached.
Result<void> finish_control_flow(Function& fn);
// Splits variables into independent ones where values do not meet. Error: a variable is read before it is
// written.
Result<void> split_variables(Function& fn);
void resolve_all(Function& fn);
// Cells live at the start of each block, by program order (only valid before scheduling).
std::vector<std::vector<bool>> live_in_cells(const Function& fn);

// Joins blocks that only follow each other.
void merge_blocks(Function& fn);

// Registers for all variables by the exact times of their accesses; kNone for unused ones.
struct AllocationFailure {
  std::string message;
  std::vector<int> blocks;  // where the variable without a register lives
};
struct Allocation {
  std::vector<isa::Reg> regs;
  std::optional<AllocationFailure> failure;
};
Allocation allocate_registers(const Function& fn);

// Packs, aligns and encodes.
Result<CoreProgram> encode_program(Function& fn, const std::vector<isa::Reg>& regs, const Options& options);

}  // namespace tegula::compiler::backend
