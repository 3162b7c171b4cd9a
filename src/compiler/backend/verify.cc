// Symbolic replay (see verify.h). Every execution of an instruction gives each of its results a tag of its
// own: (source index, how many times it ran, which result). The source run notes the tags that every
// execution reads; the bundle run moves the same tags through physical registers with the commit and sample
// cycles of the exposed pipeline and compares. Trip counts and branch conditions that the program loads from
// memory are invented, within the promises of the loops.
#include "compiler/backend/verify.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_map>

namespace tegula::compiler::backend {

using isa::Op;

namespace {

using Tag = u64;

constexpr int kSeeds = 3;
constexpr size_t kSourceSteps = 12000;
constexpr Tag kInitial = Tag{1} << 63;
constexpr u32 kOwnCode =
    0x400000;  // source numbers from here on: loop counters, which exist in other forms in the bundles

Tag make_tag(u32 source, u32 count, size_t result) {
  return (Tag{source} + 1) << 36 | Tag{count} << 8 | (result & 0xFF);
}

// The carry that loop control leaves behind is nobody's business.
bool is_own(Tag tag) {
  return (tag & kInitial) == 0 && (tag >> 36) >= kOwnCode;
}

u64 mix(u64 x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

// What one execution of a source instruction saw.
struct Record {
  std::vector<Tag> inputs;
  u32 loads_before = 0, stores_before = 0;  // accesses that may overlap
  u32 locks_before = 0, releases_before = 0;
  u32 effect = 0;  // position among locks, streams and events
};

using Known = std::unordered_map<Tag, u32>;

// Loads and stores so far, by tag of the memory they touch.
class MemoryOrder {
 public:
  void load(const Mem& mem) { ++loads_[mem.tag]; }
  void store(const Mem& mem) { ++stores_[mem.tag]; }
  u32 loads(const Mem& mem) const { return overlapping(loads_, mem.tag); }
  u32 stores(const Mem& mem) const { return overlapping(stores_, mem.tag); }

 private:
  static u32 overlapping(const std::map<u16, u32>& count, u16 tag) {
    u32 sum = 0;
    for (const auto& [other, n] : count) {
      if (tag == 0 || other == 0 || other == tag) sum += n;
    }
    return sum;
  }
  std::map<u16, u32> loads_, stores_;
};

bool is_constant(Op op) {
  return op == Op::MOVX_alu_cg || op == Op::MOVA || op == Op::MOV_alu_mv_mv_mv_cg || op == Op::MOVXM;
}

// The scalar instructions that counters and conditions are made of; nothing for any other, or when an input
// is unknown.
std::optional<u32> evaluate(Op op, const std::vector<std::optional<u32>>& in, i64 imm) {
  if (is_constant(op)) return static_cast<u32>(imm);
  if (in.empty() || std::any_of(in.begin(), in.end(), [](const auto& v) { return !v.has_value(); }))
    return {};
  const u32 a = *in[0], b = in.size() > 1 ? *in[1] : 0;
  const auto sa = static_cast<i32>(a), sb = static_cast<i32>(b);
  switch (op) {
    case Op::MOV_alu_mv_mv_mv_scl:
      return a;
    case Op::ADD_add_r_ri:
    case Op::ADD_NC_mv_add_ri:
      return a + static_cast<u32>(imm);
    case Op::ADD_alu_r_rr:
    case Op::ADD_NC_mv_add_rr:
      return a + b;
    case Op::JNZD:
      return a - 1;
    case Op::SUB:
      return a - b;
    case Op::AND:
      return a & b;
    case Op::OR:
      return a | b;
    case Op::XOR:
      return a ^ b;
    case Op::EQ:
      return a == b;
    case Op::NE:
      return a != b;
    case Op::EQZ:
      return a == 0;
    case Op::NEZ:
      return a != 0;
    case Op::LT:
      return sa < sb;
    case Op::GE:
      return sa >= sb;
    case Op::LTU:
      return a < b;
    case Op::GEU:
      return a >= b;
    case Op::LSHL:
      return sb >= 0 ? a << (sb & 31) : a >> (-sb & 31);
    case Op::ASHL:
      return sb >= 0 ? a << (sb & 31) : static_cast<u32>(sa >> (-sb & 31));
    case Op::SEL_EQZ:
      return in.size() > 2 && *in[2] == 0 ? a : b;
    case Op::SEL_NEZ:
      return in.size() > 2 && *in[2] != 0 ? a : b;
    default:
      return {};
  }
}

i64 immediate_of(const Inst& inst) {
  for (size_t i = 0; i < inst.info().operands.size(); ++i) {
    if (!inst.operand[i].is_reg) return inst.operand[i].imm;
  }
  return 0;
}

// ------------------------------------------------------------------ source run

class SourceRun {
 public:
  SourceRun(const Function& fn, u64 seed) : fn_(fn), seed_(seed), cells_(fn.cells) {
    for (size_t c = 0; c < cells_.size(); ++c) cells_[c] = kInitial | c;
    records.resize(fn.sources);
  }

  void run() {
    int block = 0;
    while (block >= 0 && steps_ < kSourceSteps && !stopped_) block = run_block(block);
    complete = block < 0;
  }

  std::vector<std::vector<Record>> records;  // by source index
  Known known;
  size_t total = 0;
  bool complete = false;  // the program ended

 private:
  int run_block(int index) {
    const Block& block = fn_.blocks[static_cast<size_t>(index)];
    const int next = block.falls_through ? index + 1 : -1;
    for (size_t i = 0; i < block.insts.size() && !stopped_; ++i) {
      const Inst& inst = block.insts[i];
      ++steps_;
      if (inst.effect == Effect::kBranch) return branch(inst, next);
      const bool last = i + 1 == block.insts.size();
      if (last && inst.source == kNoSource) bind_trip(index, inst);
      execute(index, i, inst);
      if (inst.effect == Effect::kDone) return -1;
    }
    return next;
  }

  int branch(const Inst& inst, int next) {
    if (inst.ops[0] == Op::J_lng) return inst.target;
    const Tag cond = cells_[inst.access[0].cell];
    if (!known.contains(cond)) {
      const LoopInfo* loop = inst.ops[0] == Op::JZ ? loop_of(next) : nullptr;
      if (loop != nullptr && loop->options.min_trip == 0) {
        known[cond] = invent_trip(*loop, cond);
      } else {
        known[cond] = static_cast<u32>(mix(cond ^ seed_) % 3);
      }
    }
    const bool zero = known[cond] == 0;
    return zero == (inst.ops[0] == Op::JZ) ? inst.target : next;
  }

  const LoopInfo* loop_of(int preheader) const {
    for (const LoopInfo& loop : fn_.loops) {
      if (loop.preheader == preheader) return &loop;
    }
    return nullptr;
  }

  u32 invent_trip(const LoopInfo& loop, Tag tag) const {
    const u32 m = std::max<u32>(1, loop.options.trip_multiple_of);
    const u32 least = (loop.options.min_trip + m - 1) / m;
    return (least + static_cast<u32>(mix(tag ^ seed_) % (1 + 24 / m))) * m;
  }

  // The last instruction of a preheader copies the trip count.
  void bind_trip(int block, const Inst& inst) {
    const LoopInfo* loop = loop_of(block);
    if (loop == nullptr || inst.ops[0] != Op::MOV_alu_mv_mv_mv_scl) return;
    const Tag trip = cells_[inst.access[1].cell];
    if (!known.contains(trip)) known[trip] = invent_trip(*loop, trip);
    const u32 value = known[trip];
    // A number invented earlier for another purpose may break the promise: nothing can be said about what
    // follows.
    if (value == 0 || value < loop->options.min_trip ||
        value % std::max<u32>(1, loop->options.trip_multiple_of) != 0)
      stopped_ = true;
  }

  void execute(int block, size_t index, const Inst& inst) {
    const bool own = inst.source == kNoSource;
    Record record;
    std::vector<std::optional<u32>> values;
    for (const Access& access : inst.access) {
      if (access.def) continue;
      const Tag tag = cells_[access.cell];
      record.inputs.push_back(tag);
      const auto it = known.find(tag);
      values.push_back(it == known.end() ? std::nullopt : std::optional(it->second));
    }
    record.loads_before = order_.loads(inst.mem);
    record.stores_before = order_.stores(inst.mem);
    record.locks_before = locks_;
    record.releases_before = releases_;
    if (inst.effect != Effect::kNone) record.effect = effects_++;
    if (inst.effect == Effect::kLock) ++locks_;
    if (inst.effect == Effect::kLock && inst.release) ++releases_;
    if (inst.load) order_.load(inst.mem);
    if (inst.store) order_.store(inst.mem);
    const u32 id =
        own ? static_cast<u32>(static_cast<int>(kOwnCode) + block * 0x400 + static_cast<int>(index & 0x3FF))
            : inst.source;
    const u32 count = own ? own_count_++ : static_cast<u32>(records[inst.source].size());
    size_t result = 0;
    const auto value = evaluate(inst.ops[0], values, immediate_of(inst));
    for (const Access& access : inst.access) {
      if (!access.def) continue;
      const Tag tag = make_tag(id, count, result++);
      cells_[access.cell] = tag;
      if (value && result == 1) known[tag] = *value;
    }
    if (own || inst.ops.size() > 1) {
      // Loop control may leave any carry behind, and so may an instruction with alternatives (add, add.nc).
      for (u16 atom : atoms_of(isa::Reg::srCarry)) cells_[atom] = make_tag(kOwnCode, count, result);
    }
    if (own) return;
    records[inst.source].push_back(std::move(record));
    ++total;
  }

  const Function& fn_;
  u64 seed_;
  std::vector<Tag> cells_;
  MemoryOrder order_;
  u32 locks_ = 0, releases_ = 0, effects_ = 0, own_count_ = 0;
  size_t steps_ = 0;
  bool stopped_ = false;
};

// ------------------------------------------------------------------ bundle run

// A decoded instruction with its accesses, and what the source says about it.
struct Step {
  Inst inst;
  mutable u32 runs = 0;
  bool check_memory = false;  // order against accesses that may overlap
};

struct Code {
  Function regs;  // holds named registers only
  std::vector<std::vector<Step>> bundles;
  std::map<u32, size_t> at;  // address -> bundle
};

class BundleRun {
 public:
  BundleRun(const Code& code, const CoreProgram& program, SourceRun& source)
      : code_(code), program_(program), source_(source), regs_(atom_count()), counts_(source.records.size()) {
    for (size_t a = 0; a < regs_.size(); ++a) regs_[a] = kInitial | a;
  }

  Result<void> run() {
    size_t pc = 0;
    int wait = 0;
    std::optional<size_t> target;
    const size_t limit = 64 * (source_.total + 1000);
    for (cycle_ = 0; !finished(); ++cycle_) {
      if (static_cast<size_t>(cycle_) > limit)
        return mismatch(pc, "the program does not come to its end (in time)");
      TRY(commit());
      if (!halted_) {
        if (pc >= code_.bundles.size()) return mismatch(pc - 1, "execution runs past the end");
        TRY(issue(pc, target, wait));
      }
      TRY(sample());
      if (!halted_) pc = next(pc, target, wait);
    }
    return {};
  }

 private:
  struct Write {
    u32 atom;
    Tag tag;
    isa::Bypass bypass;
    size_t bundle;
  };
  struct Sample {
    const Step* step;
    u32 count;
    size_t input;
    const Access* access;
    size_t bundle;
  };
  struct Touch {
    const Step* step;
    u32 count;
    size_t bundle;
  };

  bool finished() const {
    if (matched_ == source_.total && !source_.complete) return true;
    return halted_ && writes_.empty() && samples_.empty() && touches_.empty();
  }

  Error mismatch(size_t bundle, const std::string& what) const {
    char address[16];
    std::snprintf(address, sizeof address, "0x%x",
                  bundle < program_.bundles.size() ? program_.bundles[bundle].address : 0);
    return fail(tegula::Code::kInternal, "verification: bundle " + std::string(address) + ", cycle " +
                                             std::to_string(cycle_) + ": " + what);
  }

  std::string name(const Step& step) const {
    return std::string(step.inst.info().name) + " (source " + std::to_string(step.inst.source) + ")";
  }

  Result<void> commit() {
    const auto it = writes_.find(cycle_);
    if (it == writes_.end()) return {};
    for (size_t i = 0; i < it->second.size(); ++i) {
      const Write& write = it->second[i];
      for (size_t j = 0; j < i; ++j) {
        if (it->second[j].atom == write.atom)
          return mismatch(write.bundle, "two results are written to one register in one cycle");
      }
      regs_[write.atom] = write.tag;
    }
    writes_.erase(it);
    return {};
  }

  Tag read(const Access& access) const {
    const auto it = writes_.find(cycle_ + 1);
    if (access.bypass != isa::Bypass::kNone && it != writes_.end()) {
      for (const Write& write : it->second) {
        if (write.atom == access.cell && write.bypass == access.bypass) return write.tag;
      }
    }
    return regs_[access.cell];
  }

  Result<void> issue(size_t bundle, std::optional<size_t>& target, int& wait) {
    u32 locks = 0, releases = 0;
    for (const Step& step : code_.bundles[bundle]) {
      if (step.inst.effect == Effect::kBranch) TRY(branch(step, bundle, target, wait));
      if (step.inst.source == kNoSource)
        issue_own(step, bundle);
      else
        TRY(issue_source(step, bundle));
      if (step.inst.effect == Effect::kLock) ++locks;
      if (step.inst.effect == Effect::kLock && step.inst.release) ++releases;
      if (step.inst.effect == Effect::kDone) halted_ = true;
    }
    locks_ += locks;
    releases_ += releases;
    return {};
  }

  Result<void> branch(const Step& step, size_t bundle, std::optional<size_t>& target, int& wait) {
    if (target) return mismatch(bundle, "a branch in a delay slot");
    const Op op = step.inst.ops[0];
    bool taken = true;
    u32 address = static_cast<u32>(immediate_of(step.inst));
    std::vector<Tag> inputs;
    if (op != Op::J_lng) {
      for (const Access& access : step.inst.access) {
        if (!access.def) inputs.push_back(read(access));
      }
      const auto value = source_.known.find(inputs[0]);
      if (value == source_.known.end())
        return mismatch(bundle, "a branch depends on a value that the source never tested");
      taken = (value->second == 0) == (op == Op::JZ);
    }
    if (op == Op::JNZD) {
      const auto pointer = source_.known.find(inputs.back());
      if (pointer == source_.known.end()) return mismatch(bundle, "jnzd to an unknown address");
      address = pointer->second;
    }
    if (!taken) return {};
    const auto it = code_.at.find(address);
    if (it == code_.at.end() || address % 16 != 0)
      return mismatch(bundle, "branch to " + std::to_string(address) + ", where no aligned bundle starts");
    target = it->second;
    wait = kDelaySlots + 1;
    return {};
  }

  static size_t next(size_t pc, std::optional<size_t>& target, int& wait) {
    if (target && --wait == 0) {
      const size_t to = *target;
      target.reset();
      return to;
    }
    return pc + 1;
  }

  // Code of the back end: evaluated on the spot.
  void issue_own(const Step& step, size_t bundle) {
    std::vector<std::optional<u32>> values;
    for (const Access& access : step.inst.access) {
      if (access.def) continue;
      const auto it = source_.known.find(read(access));
      values.push_back(it == source_.known.end() ? std::nullopt : std::optional(it->second));
    }
    const auto value = evaluate(step.inst.ops[0], values, immediate_of(step.inst));
    for (const Access& access : step.inst.access) {
      if (!access.def) continue;
      const Tag tag = kInitial | Tag{1} << 40 | own_++;
      if (value) source_.known[tag] = *value;
      writes_[cycle_ + access.cycle].push_back({access.cell, tag, access.bypass, bundle});
    }
  }

  Result<void> issue_source(const Step& step, size_t bundle) {
    const u32 source = step.inst.source;
    // Turns of an unrolled loop may change places, everything else runs in the order of the source.
    const u32 count =
        step.inst.turns > 1 ? step.runs++ * step.inst.turns + step.inst.turn : counts_[source]++;
    size_t result = 0, input = 0;
    for (const Access& access : step.inst.access) {
      if (access.def)
        writes_[cycle_ + access.cycle].push_back(
            {access.cell, make_tag(source, count, result++), access.bypass, bundle});
      else
        samples_[cycle_ + access.cycle - 1].push_back({&step, count, input++, &access, bundle});
    }
    const bool memory = step.inst.load || step.inst.store;
    if (memory)
      touches_[cycle_ + (step.inst.store ? step.inst.mem_last : step.inst.mem_first) - 1].push_back(
          {&step, count, bundle});
    if (count >= source_.records[source].size()) {
      if (source_.complete) return mismatch(bundle, name(step) + " runs more often than in the source");
      return {};
    }
    ++matched_;
    const Record& record = source_.records[source][count];
    if (step.inst.effect != Effect::kNone && record.effect != effects_++)
      return mismatch(bundle, name(step) + ": locks, streams and events are out of order");
    if (memory && !step.inst.mem.local && record.locks_before != locks_)
      return mismatch(bundle, name(step) + ": a memory access moved across a lock operation");
    return {};
  }

  Result<void> sample() {
    if (const auto it = touches_.find(cycle_); it != touches_.end()) {
      std::stable_sort(it->second.begin(), it->second.end(), [](const Touch& a, const Touch& b) {
        return a.step->inst.store < b.step->inst.store;
      });
      for (const Touch& touch : it->second) TRY(touch_memory(touch));
      touches_.erase(it);
    }
    const auto it = samples_.find(cycle_);
    if (it == samples_.end()) return {};
    for (const Sample& s : it->second) {
      const auto& records = source_.records[s.step->inst.source];
      if (s.count >= records.size()) continue;
      const std::vector<Tag>& inputs = records[s.count].inputs;
      const Tag found = read(*s.access);
      if (inputs.size() > s.input && (inputs[s.input] == found || is_own(inputs[s.input]))) continue;
      return mismatch(s.bundle, name(*s.step) + ", run " + std::to_string(s.count) + ": input " +
                                    std::to_string(s.input) + " is " + describe(found) + ", expected " +
                                    (inputs.size() > s.input ? describe(inputs[s.input]) : "nothing"));
    }
    samples_.erase(it);
    return {};
  }

  static std::string describe(Tag tag) {
    if (tag & kInitial) return "a value that no source instruction made";
    return "result " + std::to_string(tag & 0xFF) + " of source " + std::to_string((tag >> 36) - 1) +
           ", run " + std::to_string(tag >> 8 & 0xFFFFFFF);
  }

  Result<void> touch_memory(const Touch& touch) {
    const Inst& inst = touch.step->inst;
    const u32 loads = order_.loads(inst.mem), stores = order_.stores(inst.mem);
    if (inst.load) order_.load(inst.mem);
    if (inst.store) order_.store(inst.mem);
    const auto& records = source_.records[inst.source];
    if (touch.count >= records.size()) return {};
    const Record& record = records[touch.count];
    if (!inst.mem.local && record.releases_before != releases_)
      return mismatch(touch.bundle, name(*touch.step) + ": a release came before the memory access");
    if (!touch.step->check_memory) return {};
    if (stores != record.stores_before || (inst.store && loads != record.loads_before)) {
      return mismatch(touch.bundle,
                      name(*touch.step) + ": memory accesses that may overlap are out of order");
    }
    return {};
  }

  const Code& code_;
  const CoreProgram& program_;
  SourceRun& source_;
  std::vector<Tag> regs_;
  std::vector<u32> counts_;
  std::map<int, std::vector<Write>> writes_;
  std::map<int, std::vector<Sample>> samples_;
  std::map<int, std::vector<Touch>> touches_;
  MemoryOrder order_;
  u32 locks_ = 0, releases_ = 0, effects_ = 0;
  Tag own_ = 0;
  size_t matched_ = 0;
  bool halted_ = false;
  int cycle_ = 0;
};

// Memory tags and promises by source index.
struct SourceFacts {
  std::vector<Mem> mem;
  std::vector<bool> ordered;
};

SourceFacts facts_of(const Function& source) {
  SourceFacts facts;
  facts.mem.resize(source.sources);
  facts.ordered.assign(source.sources, true);
  for (const Block& block : source.blocks) {
    const bool disjoint =
        block.loop >= 0 && source.loops[static_cast<size_t>(block.loop)].options.disjoint_iterations;
    for (const Inst& inst : block.insts) {
      if (inst.source == kNoSource) continue;
      facts.mem[inst.source] = inst.mem;
      if (disjoint) facts.ordered[inst.source] = false;
    }
  }
  return facts;
}

Result<Code> decode_steps(const Function& source, const CoreProgram& program) {
  Code code;
  code.regs.read_flags = source.read_flags;
  const SourceFacts facts = facts_of(source);
  for (size_t b = 0; b < program.bundles.size(); ++b) {
    const PlacedBundle& placed = program.bundles[b];
    code.at[placed.address] = b;
    TRY_ASSIGN(isa::Bundle bundle,
               isa::decode(ByteSpan(program.code).subspan(placed.address - program.bundles[0].address)));
    std::vector<Step> steps;
    for (int i = 0; i < bundle.count; ++i) {
      const isa::Instr& instr = bundle.instr[static_cast<size_t>(i)];
      Step step;
      step.inst.ops = {instr.op};
      for (size_t o = 0; o < isa::info(instr.op).operands.size(); ++o) {
        if (isa::info(instr.op).operands[o].kind == isa::OperandKind::kReg)
          step.inst.operand[o] = {true, code.regs.fixed_var(instr.reg(static_cast<int>(o))), 0};
        else
          step.inst.operand[o] = {false, {}, instr.operand[o]};
      }
      TRY(resolve(code.regs, step.inst));
      const Origin& origin = placed.origin[static_cast<size_t>(i)];
      step.inst.source = origin.source;
      step.inst.turn = origin.turn;
      step.inst.turns = origin.turns;
      if (step.inst.source != kNoSource) {
        step.inst.mem = facts.mem[step.inst.source];
        step.check_memory = facts.ordered[step.inst.source];
      }
      steps.push_back(std::move(step));
    }
    code.bundles.push_back(std::move(steps));
  }
  return code;
}

}  // namespace

Result<void> verify_program(const Function& source, const CoreProgram& program) {
  TRY_ASSIGN(Code code, decode_steps(source, program));
  for (u64 seed = 0; seed < kSeeds; ++seed) {
    for (auto& bundle : code.bundles) {
      for (Step& step : bundle) step.runs = 0;
    }
    SourceRun run(source, mix(seed + 1));
    run.run();
    TRY(BundleRun(code, program, run).run());
  }
  return {};
}

}  // namespace tegula::compiler::backend
