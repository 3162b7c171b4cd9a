// Control flow of a placed program, for the lint and the listing: branches with their targets, delay
// slots, hardware loops.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "isa/placed.h"
#include "isa/sweep.h"

namespace tegula::isa {

struct Branch {
  bool conditional = false;
  bool call = false;
  bool ret = false;
  bool direct = false;        // the target is an operand, not in a pointer
  std::optional<u32> target;  // unknown for ret and for pointers that are not constant
};

struct HardwareLoop {
  u32 start = 0, end = 0;  // addresses of the first and the last bundle of the body
  int last_setup = -1;     // index of the last bundle that writes ls, le or lc before the body
  bool has_count = false;  // lc is written before the body
};

class Flow {
 public:
  // The program must outlive it.
  explicit Flow(const PlacedProgram& program);

  int size() const { return program_.size(); }
  const PlacedBundle& at(int i) const { return program_[i]; }
  // Index of the bundle at an address, -1 when none starts there.
  int find(u32 address) const;
  // The branch in bundle i, if any.
  const std::optional<Branch>& branch(int i) const { return branches_[static_cast<size_t>(i)]; }
  // Index of the branch in whose delay slots bundle i lies, -1 when in none.
  int delay_of(int i) const { return delay_of_[static_cast<size_t>(i)]; }
  // Bundles that may execute right after bundle i. A call continues in the callee when that is known.
  const std::vector<int>& next(int i) const { return next_[static_cast<size_t>(i)]; }
  const std::vector<HardwareLoop>& loops() const { return loops_; }
  // The bundle that follows i in memory without a gap, -1 when none.
  int following(int i) const;

 private:
  void find_branches();
  void find_loops();
  void link();
  std::optional<u32> pointer_value(int i, Reg pointer) const;

  const PlacedProgram& program_;
  std::vector<std::optional<Branch>> branches_;
  std::vector<int> delay_of_;
  std::vector<std::vector<int>> next_;
  std::vector<HardwareLoop> loops_;
};

bool is_lock(Op op);     // acq, rel, conditional or not
bool is_acquire(Op op);  // the acq among them

// The constant that an instruction loads into a register that overlaps `reg`; unknown when it writes
// something else.
struct Write {
  bool writes = false;
  std::optional<i64> constant;
};
Write write_of(const Instr& instr, Reg reg);

}  // namespace tegula::isa
