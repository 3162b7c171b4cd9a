// Predecoded core programs. Cores with equal program memory share one, so that 32 cores of one kernel keep
// its bundles in the host's cache once instead of 32 times. A shared program never changes after it was made,
// but for traces that are added to it: threads read it freely.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "emu/core/machine.h"
#include "emu/core/trace.h"

namespace tegula::emu {

class DecodedProgram {
 public:
  // The program with these 16 KiB, from the process-wide store or newly made.
  static std::shared_ptr<const DecodedProgram> share(const u8* program, bool diagnose);

  // The bundle at pc, or nullptr where a linear walk from address 0 finds none.
  const Decoded* at(u32 pc) const {
    return pc < kCoreProgramBytes && (pc & 1) == 0 ? index_[pc / 2] : nullptr;
  }

  // What is known about landing at a bundle of at(), built when first asked for; loop_end: address of the
  // last bundle of the hardware loop that starts there, or ~0.
  const TraceSet* traces(const Decoded& at, u32 loop_end) const;

  // A straight trace with the hardware loop in it run `left` times; `cache` is the caller's. Null: there is
  // none.
  const Trace* expanded(const Trace& straight, u32 loop_start, u32 loop_end, u32 left,
                        Expansion& cache) const;

 private:
  DecodedProgram(const u8* program, bool diagnose);

  std::vector<u8> bytes_;
  bool diagnose_;
  std::vector<const Decoded*> index_;  // by pc / 2
  std::vector<Decoded> bundles_;
  std::deque<DecodedDetail> details_;
  std::deque<std::vector<Uop>> uops_;
  mutable std::vector<std::unique_ptr<TraceSet>> traces_;  // these under a lock
  mutable std::vector<std::unique_ptr<Trace>> expanded_;
  mutable std::vector<Expansion> expansions_;
};

}  // namespace tegula::emu
