// Static checks of core programs. The rules are facts of the core: operand cycles and units from
// schedule.tsv, five delay bundles, 16-byte alignment of branch targets, four cycles per lock request,
// constraints of the hardware loop.
#include "isa/lint.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <tuple>

#include "base/hex.h"
#include "isa/flow.h"
#include "isa/sweep.h"
#include "isa/text.h"

namespace tegula::isa {

namespace {

// Longest time between issue and the last effect of an instruction in schedule.tsv, rounded up.
constexpr int kHorizon = 16;
constexpr int kLockDistance = 4;
constexpr u32 kLine = kFetchLine;
// Smallest distance from the end of the last set-up bundle to the bundle at le in running code.
constexpr u32 kLoopDistance = 96;

constexpr LintRule kRules[] = {
    {"early-read", "an operand is read before the value in flight has landed"},
    {"late-overwrite", "a slow result lands on a register after a younger one"},
    {"write-collision", "two results land on one register in one cycle"},
    {"unit-conflict", "two instructions use one port or unit in one cycle"},
    {"delay-slot-branch", "a branch in the delay slots of a branch"},
    {"delay-slot-lock", "a lock request in the delay slots of a branch"},
    {"delay-slot-done", "done in the delay slots of a branch"},
    {"delay-slots-missing", "fewer than five bundles after a branch"},
    {"branch-target", "a branch to an address where no bundle starts, or into delay slots"},
    {"branch-alignment", "a branch target that is not on 16 bytes"},
    {"return-alignment", "a return address that is not on 16 bytes"},
    {"lock-distance", "lock requests closer than four bundles"},
    {"loop-bounds", "a hardware loop without a proper body or count"},
    {"loop-alignment",
     "a hardware loop whose body or exit is not on 16 bytes, or whose last bundle is shorter"},
    {"loop-distance", "a hardware loop set up too shortly before its end"},
    {"loop-nested", "a hardware loop register is written inside the body of a hardware loop"},
    {"loop-last-store", "an 8/16-bit store in the last bundle of a short hardware loop"},
    {"program-size", "the program does not fit the program memory"},
    {"stack-buffer", "the stack may grow into a buffer"},
    {"stack-unknown", "the size of the stack cannot be determined"},
};

// Sticky flags may be set by several instructions in one cycle and have no order.
bool is_sticky(Reg reg) {
  return reg == Reg::pe2_ads || (reg != Reg::srCarry && reg_info(reg).name.starts_with("sr") &&
                                 !reg_info(reg).name.starts_with("srssign"));
}

bool all_nops(std::span<const Instr> bundle) {
  return std::all_of(bundle.begin(), bundle.end(),
                     [](const Instr& instr) { return info(instr.op).mnemonic.starts_with("nop"); });
}

// One register access of an instruction with its cycle.
struct Access {
  Reg reg;
  OperandTiming timing;
  int instr;
  bool implicit;
};

struct Effects {
  std::vector<Access> defs, uses;
};

// The state of a load FIFO is one operand that holds pointer, data and position, each also an output: every
// part is read at the cycle at which it is written, so that FIFO instructions can follow each other.
void add_uses(const Instr& instr, int n, const Timing& times, Effects& out) {
  const InstrInfo& in = info(instr.op);
  for (size_t i = in.outs; i < in.operands.size(); ++i) {
    if (in.operands[i].kind != OperandKind::kReg) continue;
    const Reg reg = instr.reg(static_cast<int>(i));
    if (reg != Reg::plfr0 && reg != Reg::plfr1) {
      out.uses.push_back({reg, times.operand[i], n, false});
      continue;
    }
    for (size_t k = 0; k < in.outs; ++k) {
      const Reg part = instr.reg(static_cast<int>(k));
      if (overlaps(part, reg)) out.uses.push_back({part, times.operand[k], n, false});
    }
  }
  for (const auto& [reg, cycle] : times.implicit_uses) out.uses.push_back({reg, cycle, n, true});
}

Effects effects_of(std::span<const Instr> bundle) {
  Effects out;
  for (int n = 0; n < static_cast<int>(bundle.size()); ++n) {
    const Instr& instr = bundle[static_cast<size_t>(n)];
    const Timing& times = timing(instr);
    const InstrInfo& in = info(instr.op);
    for (int i = 0; i < in.outs; ++i)
      out.defs.push_back({instr.reg(i), times.operand[static_cast<size_t>(i)], n, false});
    for (const auto& [reg, cycle] : times.implicit_defs) out.defs.push_back({reg, cycle, n, true});
    add_uses(instr, n, times, out);
  }
  return out;
}

class Linter {
 public:
  Linter(const PlacedProgram& program, const LintOptions& options) : flow_(program), options_(options) {
    for (const PlacedBundle& b : program) effects_.push_back(effects_of(b.instr));
  }

  std::vector<Finding> run() {
    for (int i = 0; i < flow_.size(); ++i) {
      check_pipeline(i);
      check_delay_slots(i);
      if (flow_.branch(i)) check_branch(i);
    }
    for (const HardwareLoop& loop : flow_.loops()) check_loop(loop);
    check_size();
    if (!options_.buffers.empty()) check_stack();
    std::stable_sort(findings_.begin(), findings_.end(),
                     [](const Finding& a, const Finding& b) { return a.address < b.address; });
    return std::move(findings_);
  }

 private:
  void add(u32 address, std::string_view rule, Severity severity, std::string text) {
    findings_.push_back({address, rule, severity, std::move(text)});
  }

  // For a pair of instructions: reported once per rule and register or unit, at the shortest distance.
  void add_pair(std::array<int, 4> pair, int what, std::string_view rule, Severity severity,
                std::string text) {
    if (seen_.emplace(pair, what, rule).second)
      add(flow_.at(pair[2]).address, rule, severity, std::move(text));
  }

  int instructions(int bundle) const { return static_cast<int>(flow_.at(bundle).instr.size()); }

  const Instr& instr(int bundle, int n) const { return flow_.at(bundle).instr[static_cast<size_t>(n)]; }

  std::string name(int bundle, int n) const {
    return std::string(info(instr(bundle, n).op).mnemonic) + " at " + hex(flow_.at(bundle).address);
  }

  // Follows all paths from bundle i; every bundle is visited once per distance.
  void check_pipeline(int i) {
    check_pair(i, i, 0);
    std::vector<int> level = flow_.next(i), next;
    for (int distance = 1; distance < kHorizon && !level.empty(); ++distance) {
      next.clear();
      for (int j : level) {
        check_pair(i, j, distance);
        next.insert(next.end(), flow_.next(j).begin(), flow_.next(j).end());
      }
      std::sort(next.begin(), next.end());
      next.erase(std::unique(next.begin(), next.end()), next.end());
      level.swap(next);
    }
  }

  void check_pair(int i, int j, int distance) {
    if (distance > 0 && !options_.allow_old_value_reads) check_reads(i, j, distance);
    check_writes(i, j, distance);
    for (int a = 0; a < instructions(i); ++a) {
      for (int b = 0; b < instructions(j); ++b) {
        if (distance == 0 && b <= a) continue;
        check_units(i, a, j, b, distance);
        if (distance < kLockDistance && is_lock(instr(i, a).op) && is_lock(instr(j, b).op)) {
          add_pair({i, a, j, b}, 0, "lock-distance", Severity::kError,
                   name(j, b) + " follows " + name(i, a) + " after " + std::to_string(distance) +
                       " bundles; the lock unit is busy for four: put " +
                       std::to_string(kLockDistance - distance) + " more bundles between them");
        }
      }
    }
  }

  void check_reads(int i, int j, int distance) {
    for (const Access& def : effects_[static_cast<size_t>(i)].defs) {
      for (const Access& use : effects_[static_cast<size_t>(j)].uses) {
        const int need = min_distance(def.timing, use.timing);
        if (distance >= need || use.timing.cycle == 0 || !overlaps(def.reg, use.reg)) continue;
        add_pair({i, def.instr, j, use.instr}, static_cast<int>(use.reg), "early-read", Severity::kError,
                 name(j, use.instr) + " reads " + std::string(reg_info(use.reg).name) + " in cycle " +
                     std::to_string(use.timing.cycle) + ", " + std::to_string(distance) + " bundles after " +
                     name(i, def.instr) + ", which writes it in cycle " + std::to_string(def.timing.cycle) +
                     "; the new value needs a distance of " + std::to_string(need) + ": move the read " +
                     std::to_string(need - distance) + " bundles later");
      }
    }
  }

  void check_writes(int i, int j, int distance) {
    for (const Access& first : effects_[static_cast<size_t>(i)].defs) {
      for (const Access& second : effects_[static_cast<size_t>(j)].defs) {
        const int gap = second.timing.cycle + distance - first.timing.cycle;
        if (gap > 0 || (distance == 0 && (first.instr >= second.instr || gap != 0))) continue;
        if (is_sticky(first.reg) || is_sticky(second.reg) || !overlaps(first.reg, second.reg)) continue;
        const std::array<int, 4> pair = {i, first.instr, j, second.instr};
        const int reg = static_cast<int>(second.reg);
        if (gap == 0) {
          add_pair(pair, reg, "write-collision", Severity::kError,
                   name(i, first.instr) + " and " + name(j, second.instr) + " both write " +
                       std::string(reg_info(second.reg).name) +
                       " in the same cycle; move one of them or use another register");
        } else if (!options_.allow_old_value_reads) {
          add_pair(pair, reg, "late-overwrite", Severity::kWarning,
                   "the result of " + name(i, first.instr) + " lands on " +
                       std::string(reg_info(first.reg).name) + " " + std::to_string(-gap) +
                       " cycles after that of the younger " + name(j, second.instr) +
                       "; use another register or move one of them");
        }
      }
    }
  }

  void check_units(int i, int a, int j, int b, int distance) {
    for (const UnitUse& x : timing(instr(i, a)).units) {
      for (const UnitUse& y : timing(instr(j, b)).units) {
        if (x.unit != y.unit || (x.weak && y.weak)) continue;
        const int y_start = y.start + distance;
        if (x.start + x.cycles <= y_start || y_start + y.cycles <= x.start) continue;
        if (unit_name(x.unit) == "LCKREQ") continue;  // lock-distance
        add_pair({i, a, j, b}, x.unit, "unit-conflict", Severity::kError,
                 name(i, a) + " and " + name(j, b) + " use " + std::string(unit_name(x.unit)) +
                     " in the same cycle; move one of them");
      }
    }
  }

  void check_delay_slots(int i) {
    const int b = flow_.delay_of(i);
    if (b < 0) return;
    const std::string where = " in the delay slots of the branch at " + hex(flow_.at(b).address);
    for (int n = 0; n < instructions(i); ++n) {
      const Instr& in = instr(i, n);
      const std::string what(info(in.op).mnemonic);
      if (info(in.op).delay) {
        add(flow_.at(i).address, "delay-slot-branch", Severity::kError,
            what + where + "; move it behind them");
      } else if (in.op == Op::DONE) {
        add(flow_.at(i).address, "delay-slot-done", Severity::kError,
            what + where + " was never tried; move it out");
      } else if (is_acquire(in.op) && flow_.branch(b)->call) {
        add(flow_.at(i).address, "delay-slot-lock", Severity::kWarning,
            what + where +
                " is legal: it blocks there before the callee starts; make sure that this is meant");
      } else if (is_lock(in.op)) {
        add(flow_.at(i).address, "delay-slot-lock", Severity::kError,
            what + where + "; only acq behind a call is known to work: move it out");
      }
    }
  }

  // 16-byte aligned, or behind nothing but nops in its line.
  bool aligned(int i) const {
    const u32 line = flow_.at(i).address & ~(kLine - 1);
    for (int k = i; flow_.at(k).address > line;) {
      --k;
      if (k < 0 || flow_.following(k) != k + 1 || !all_nops(flow_.at(k).instr) || flow_.at(k).address < line)
        return false;
    }
    return true;
  }

  void check_branch(int i) {
    const Branch& branch = *flow_.branch(i);
    const u32 here = flow_.at(i).address;
    int last = i;
    for (int n = 0; n < kDelaySlots && last >= 0; ++n) last = flow_.following(last);
    if (last < 0) {
      add(here, "delay-slots-missing", Severity::kError,
          "fewer than five bundles follow the branch; they always execute: fill up with nops");
    } else if (branch.call && flow_.following(last) >= 0 && !aligned(flow_.following(last))) {
      const u32 back = flow_.at(flow_.following(last)).address;
      add(here, "return-alignment", Severity::kError,
          "the call returns to " + hex(back) +
              ", which is not on 16 bytes; lengthen the delay bundles with nops");
    }
    if (!branch.target) return;
    const int target = flow_.find(*branch.target);
    if (target < 0) {
      add(here, "branch-target", Severity::kError, "no bundle starts at the target " + hex(*branch.target));
      return;
    }
    if (flow_.delay_of(target) >= 0) {
      add(here, "branch-target", Severity::kWarning,
          "the target " + hex(*branch.target) + " lies in the delay slots of another branch");
    }
    if (!aligned(target)) {
      add(here, "branch-alignment", Severity::kError,
          "the target " + hex(*branch.target) +
              " is not on 16 bytes, nor behind nops only in its line: align it, unaligned targets hang or "
              "corrupt");
    }
  }

  void check_loop(const HardwareLoop& loop);
  void check_loop_body(const HardwareLoop& loop, int start, int end);
  void check_size();
  void check_stack();
  void report_stack(u32 low, u32 high, int where);

  Flow flow_;
  const LintOptions& options_;
  std::vector<Effects> effects_;
  std::vector<Finding> findings_;
  std::set<std::tuple<std::array<int, 4>, int, std::string_view>> seen_;
};

void Linter::check_loop(const HardwareLoop& loop) {
  const int start = flow_.find(loop.start), end = flow_.find(loop.end);
  const u32 setup = flow_.at(loop.last_setup).address;
  if (end < 0 || loop.end < loop.start) {
    add(setup, "loop-bounds", Severity::kError,
        "le is " + hex(loop.end) + ", expected the start of the last bundle of the body that begins at " +
            hex(loop.start));
    return;
  }
  if (!loop.has_count) {
    add(setup, "loop-bounds", Severity::kWarning, "lc is not set before the loop at " + hex(loop.start));
  }
  const u32 ready = setup + flow_.at(loop.last_setup).bytes;
  if (loop.end < ready + kLoopDistance) {
    add(setup, "loop-distance", Severity::kError,
        "ls, le or lc is written here, " + std::to_string(i64{loop.end} - ready) +
            " bytes before the last bundle at " + hex(loop.end) + "; at least " +
            std::to_string(kLoopDistance) + " are needed: pad with nops");
  }
  check_loop_body(loop, start, end);
}

void Linter::check_loop_body(const HardwareLoop& loop, int start, int end) {
  const PlacedBundle& last = flow_.at(end);
  if (loop.start % kLine != 0) {
    add(loop.start, "loop-alignment", Severity::kError,
        "the body of a hardware loop starts here, not on 16 bytes");
  }
  if (last.bytes != kLine) {
    add(loop.end, "loop-alignment", Severity::kWarning,
        "the last bundle of a hardware loop has " + std::to_string(last.bytes) +
            " bytes; only 16 are known to work: use the longest format");
  }
  if ((loop.end + last.bytes) % kLine != 0) {
    add(loop.end, "loop-alignment", Severity::kError,
        "the bundle behind the hardware loop is not on 16 bytes");
  }
  if (flow_.delay_of(end) >= 0) {
    add(loop.end, "loop-bounds", Severity::kError, "the last bundle of a hardware loop lies in delay slots");
  }
  for (int i = start; i <= end; ++i) {
    for (int n = 0; n < instructions(i); ++n) {
      const Instr& in = instr(i, n);
      if (write_of(in, Reg::ls).writes || write_of(in, Reg::le).writes || write_of(in, Reg::lc).writes) {
        add(flow_.at(i).address, "loop-nested", Severity::kError,
            name(i, n) + " writes a loop register inside the loop at " + hex(loop.start) +
                "; there is one set only");
      }
      const Timing& times = timing(in);
      const bool part_word = times.memory_last > times.memory_first;  // read-modify-write stores
      if (i == end && part_word && loop.end - loop.start <= kLoopDistance) {
        add(loop.end, "loop-last-store", Severity::kError,
            name(i, n) + " in the last bundle of a short loop can be lost on the back edge; move it up");
      }
    }
  }
}

void Linter::check_size() {
  if (flow_.size() == 0) return;
  const PlacedBundle& last = flow_.at(flow_.size() - 1);
  const u64 end = u64{last.address} + last.bytes;
  if (end > options_.program_bytes) {
    add(last.address, "program-size", Severity::kError,
        "the program ends at " + std::to_string(end) + ", program memory has " +
            std::to_string(options_.program_bytes) +
            " bytes: " + std::to_string(end - options_.program_bytes) + " too many");
  }
}

// The highest sp per bundle over all paths; a callee starts with the caller's sp and returns it unchanged.
void Linter::check_stack() {
  constexpr int kMaxUpdates = 64;  // of one bundle, then the stack is taken to grow without end
  std::map<int, std::pair<i64, int>> highest;
  std::vector<std::pair<int, i64>> work;
  const i64 unknown = -1;
  i64 low = options_.stack_start ? i64{*options_.stack_start} : unknown, high = unknown;
  int top = 0;
  if (flow_.size() > 0) work.emplace_back(0, low);
  while (!work.empty()) {
    const auto [i, before] = work.back();
    work.pop_back();
    const auto [it, fresh] = highest.try_emplace(i, before, 0);
    if (!fresh && before <= it->second.first) continue;
    it->second.first = before;
    if (++it->second.second > kMaxUpdates) {
      add(flow_.at(i).address, "stack-unknown", Severity::kError,
          "sp grows on every turn of a loop; balance paddxm [sp]");
      return;
    }
    i64 sp = before;
    for (int n = 0; n < instructions(i); ++n) {
      const Write write = write_of(instr(i, n), Reg::sp);
      if (!write.writes) continue;
      if (instr(i, n).op == Op::PADDXM_pstm_sp_imm && sp != unknown) {
        sp += instr(i, n).operand[0];
      } else if (write.constant) {
        sp = *write.constant & 0xFFFFF;
        if (low == unknown || sp < low) low = sp;
      } else {
        add(flow_.at(i).address, "stack-unknown", Severity::kWarning,
            name(i, n) + " moves sp by an unknown amount");
        sp = unknown;
      }
    }
    if (sp > high) {
      high = sp;
      top = i;
    }
    for (int next : flow_.next(i)) work.emplace_back(next, sp);
    const int b = flow_.delay_of(i);
    if (b >= 0 && b + kDelaySlots == i && flow_.branch(b)->call && flow_.following(i) >= 0) {
      work.emplace_back(flow_.following(i), sp);
    }
  }
  if (low != unknown && high > low) report_stack(static_cast<u32>(low), static_cast<u32>(high), top);
}

void Linter::report_stack(u32 low, u32 high, int where) {
  for (const MemoryRange& buffer : options_.buffers) {
    if (low >= u64{buffer.address} + buffer.bytes || buffer.address >= high) continue;
    add(flow_.at(where).address, "stack-buffer", Severity::kError,
        "the stack reaches from " + hex(low) + " to " + hex(high) + " here and runs into the buffer at " +
            hex(buffer.address) + "; move the buffer or shrink the frames");
  }
}

}  // namespace

std::vector<Finding> lint(const PlacedProgram& program, const LintOptions& options) {
  return Linter(program, options).run();
}

std::span<const LintRule> lint_rules() {
  return kRules;
}

}  // namespace tegula::isa
