// From builder to bytes: control flow, variables, pipelining, scheduling, registers, encoding, check. When
// registers run out, the program is scheduled again with less freedom: straight code closer to the source
// order, loops with a larger ii.
#include <algorithm>

#include "compiler/backend/schedule.h"
#include "compiler/backend/verify.h"

namespace tegula::compiler {

using namespace backend;

namespace {

// Code of the back end itself (counters of loops that were unrolled) may have become useless.
void drop_dead_control(Function& fn) {
  for (bool changed = true; changed;) {
    changed = false;
    const auto live_in = live_in_cells(fn);
    for (Block& block : fn.blocks) {
      if (block.kernel) continue;
      std::vector<bool> live(fn.cells);
      for (int succ : block.succ) {
        for (size_t c = 0; c < live.size(); ++c) live[c] = live[c] || live_in[static_cast<size_t>(succ)][c];
      }
      for (size_t i = block.insts.size(); i-- > 0;) {
        Inst& inst = block.insts[i];
        const bool pure = inst.source == kNoSource && inst.effect == Effect::kNone && !inst.store;
        const bool used = std::any_of(inst.access.begin(), inst.access.end(),
                                      [&](const Access& a) { return a.def && live[a.cell]; });
        if (pure && !used) {
          block.insts.erase(block.insts.begin() + static_cast<std::ptrdiff_t>(i));
          changed = true;
          continue;
        }
        for (const Access& a : inst.access)
          if (a.def) live[a.cell] = false;
        for (const Access& a : inst.access)
          if (!a.def) live[a.cell] = true;
      }
    }
  }
}

Result<CoreProgram> compile_once(Function fn, const ScheduleOptions& schedule, const Options& options,
                                 std::optional<AllocationFailure>& failure) {
  TRY(pipeline_loops(fn, schedule));
  resolve_all(fn);
  if (fn.error) return *fn.error;
  drop_dead_control(fn);
  merge_blocks(fn);
  TRY(schedule_blocks(fn, schedule));
  for (LoopStats& stats : fn.stats) {
    for (const Block& block : fn.blocks) {
      if (!stats.pipelined && block.loop >= 0 &&
          fn.loops[static_cast<size_t>(block.loop)].options.name == stats.name) {
        stats.ii = static_cast<u32>(block.length);
      }
    }
  }
  const Allocation allocation = allocate_registers(fn);
  if (allocation.failure) {
    failure = allocation.failure;
    return fail(Code::kOutOfRange, allocation.failure->message);
  }
  return encode_program(fn, allocation.regs, options);
}

// Less freedom for the blocks where registers ran out; false when they have none left.
bool restrict(ScheduleOptions& schedule, const AllocationFailure& failure) {
  static constexpr int kWindows[] = {64, 32, 16, 8, 4, 2, 0};
  bool changed = false;
  for (int block : failure.blocks) {
    const auto it = schedule.window.find(block);
    const int now = it == schedule.window.end() ? 1 << 20 : it->second;
    const auto* next = std::find_if(std::begin(kWindows), std::end(kWindows), [&](int w) { return w < now; });
    if (next == std::end(kWindows)) continue;
    schedule.window[block] = *next;
    changed = true;
  }
  return changed;
}

constexpr int kMostSlack = 16;

}  // namespace

Result<CoreProgram> assemble_program(Builder builder, const Options& options) {
  Function& fn = builder.function();
  if (fn.error) return *fn.error;
  TRY(finish_control_flow(fn));
  resolve_all(fn);
  const Function source = fn;
  TRY(split_variables(fn));
  if (fn.error) return *fn.error;
  ScheduleOptions schedule;
  for (;;) {
    std::optional<AllocationFailure> failure;
    auto program = compile_once(fn, schedule, options, failure);
    if (program.ok()) {
      if (options.verify) TRY(verify_program(source, *program));
      return program;
    }
    if (!failure) return program.error();
    if (restrict(schedule, *failure)) continue;
    if (fn.loops.empty() || schedule.ii_slack >= kMostSlack) return program.error();
    schedule.window.clear();
    schedule.ii_slack = schedule.ii_slack == 0 ? 1 : 2 * schedule.ii_slack;
  }
}

}  // namespace tegula::compiler
