// Software pipelining of loops: the body's modulo schedule becomes a kernel block, a prologue at the end of
// the block before and an epilogue at the start of the block after it. Values that live longer than ii get
// several registers (modulo variable expansion: the kernel is unrolled); so do kernels too short for the five
// delay slots of their branch.
#include <algorithm>
#include <bit>

#include "compiler/backend/modulo.h"

namespace tegula::compiler::backend {

using isa::Op;

namespace {

int positive_mod(int a, int m) {
  return ((a % m) + m) % m;
}

Inst make(Function& fn, std::vector<Op> ops, const std::vector<Arg>& args) {
  auto inst = make_inst(fn, std::move(ops), args, {});
  if (!inst.ok()) {
    fn.set_error(Code::kInternal, "loop control: " + inst.error().message);
    Inst none;
    none.ops = {Op::NOPX};
    (void)resolve(fn, none);
    return none;
  }
  (void)resolve(fn, *inst);
  return *inst;
}

bool carry_is_read(const Function& fn) {
  return fn.read_flags.contains(atoms_of(isa::Reg::srCarry)[0]);
}

Inst make_add(Function& fn, VReg dst, VReg src, int value) {
  if (value >= -64 && value <= 63 && !carry_is_read(fn))
    return make(fn, {Op::ADD_add_r_ri, Op::ADD_NC_mv_add_ri}, {dst, src, value});
  return make(fn, {Op::ADD_NC_mv_add_ri}, {dst, src, value});
}

Inst make_imm(Function& fn, VReg dst, i64 value) {
  if (value >= -1024 && value <= 1023)
    return make(fn, {Op::MOVX_alu_cg, Op::MOVA, Op::MOV_alu_mv_mv_mv_cg}, {dst, value});
  return make(fn, {Op::MOVXM}, {dst, value});
}

void insert_block(Function& fn, int position, Block block) {
  const auto shift = [&](int& b) {
    if (b >= position) ++b;
  };
  for (Block& other : fn.blocks) {
    std::for_each(other.succ.begin(), other.succ.end(), shift);
    for (Inst& inst : other.insts) shift(inst.target);
  }
  for (LoopInfo& loop : fn.loops) {
    shift(loop.preheader);
    shift(loop.exit);
  }
  fn.blocks.insert(fn.blocks.begin() + position, std::move(block));
}

// How a modulo schedule becomes code.
struct Plan {
  ModuloSchedule schedule;
  int stages = 1;
  int unroll = 1;    // iterations per kernel pass
  int peel = 0;      // iterations begun before the kernel
  int dec_row = -1;  // of the counter's decrement (jnz form)
  bool guard = false;
  std::map<u32, int> copies;  // registers per local variable that needs more than one
};

class Pipeliner {
 public:
  Pipeliner(Function& fn, int block, const ScheduleOptions& options)
      : fn_(fn),
        block_(block),
        loop_(fn.loops[static_cast<size_t>(fn.blocks[static_cast<size_t>(block)].loop)]) {
    slack_ = options.ii_slack;
    stats_.name = loop_.options.name;
  }

  void run() {
    const auto& insts = body().insts;
    for (size_t i = 0; i + 2 < insts.size(); ++i) body_.push_back(insts[i]);
    counter_ = insts[insts.size() - 2].operand[0].reg;
    stats_.pipelined = eligible() && search();
    if (stats_.pipelined) {
      expand();
    } else if (loop_.exact > 0 && loop_.options.modulo && loop_.exact * body_.size() <= 256) {
      unroll_fully();
      return;
    }
    fn_.stats.push_back(stats_);
  }

 private:
  Block& body() { return fn_.blocks[static_cast<size_t>(block_)]; }
  Block& before() { return fn_.blocks[static_cast<size_t>(loop_.preheader)]; }

  bool eligible() const {
    if (!loop_.options.modulo || body_.empty() || loop_.preheader != block_ - 1 || loop_.exit != block_ + 1)
      return false;
    return std::all_of(body_.begin(), body_.end(), [](const Inst& inst) {
      return inst.effect == Effect::kNone || inst.effect == Effect::kStream;
    });
  }

  void find_locals() {
    const auto live = live_in_cells(fn_);
    live_ = live[static_cast<size_t>(block_)];
    local_.assign(fn_.cells, false);
    for (size_t v = 0; v < fn_.vars.size(); ++v) {
      const Variable& var = fn_.vars[v];
      if (var.fixed != isa::Reg::kNone) continue;
      bool outside = false;
      for (u32 c = var.first_cell; c < var.first_cell + static_cast<u32>(kind_atoms(var.kind)); ++c) {
        outside = outside || live_[c] || live[static_cast<size_t>(loop_.exit)][c];
      }
      for (u32 c = var.first_cell; c < var.first_cell + static_cast<u32>(kind_atoms(var.kind)); ++c)
        local_[c] = !outside;
    }
  }

  bool search() {
    find_locals();
    ModuloProblem problem;
    problem.fn = &fn_;
    for (const Inst& inst : body_) problem.insts.push_back(&inst);
    problem.local = local_;
    problem.edges = loop_edges(problem.insts, local_, loop_.options.disjoint_iterations);
    const int bound = resource_bound(problem);
    const int limit = bound + slack_ + 16 + static_cast<int>(body_.size());
    const Footprint jnz = footprint(body().insts.back(), 0);
    const Footprint jnzd = footprint(make_jnzd(), 0);
    for (int ii = bound; ii <= limit; ++ii) {
      for (const BackEdge edge : {BackEdge::kJnz, BackEdge::kJnzd}) {
        if (loop_.options.back_edge != BackEdge::kAuto && loop_.options.back_edge != edge) continue;
        if (edge == BackEdge::kJnzd && carry_is_read(fn_))
          continue;  // it writes the carry in the midst of the body
        plan_ = Plan();
        if (!modulo_schedule(problem, ii, edge == BackEdge::kJnz ? jnz : jnzd, plan_.schedule)) continue;
        plan_.schedule.back_edge = edge;
        stats_.min_ii = static_cast<u32>(bound);
        if (!complete_plan()) continue;
        if (slack_-- > 0) break;  // try the next larger ii
        return true;
      }
    }
    return false;
  }

  Inst make_jnzd() {
    if (jump_reg_.mask == 0) jump_reg_ = fn_.new_var(RegKind::kP, loop_.options.name + ".head");
    return make(fn_, {Op::JNZD}, {counter_, counter_, jump_reg_});
  }

  // Lifetime of every local variable in cycles: from its first write to its last read.
  std::map<u32, std::pair<int, int>> lifetimes() const {
    std::map<u32, std::pair<int, int>> spans;
    for (size_t i = 0; i < body_.size(); ++i) {
      const isa::InstrInfo& info = body_[i].info();
      const isa::Timing& timing = *body_[i].timing[0];
      for (size_t o = 0; o < info.operands.size(); ++o) {
        const Operand& operand = body_[i].operand[o];
        if (!operand.is_reg || !is_local(operand.reg.var)) continue;
        const isa::OperandTiming& t = timing.operand[o];
        const int cycle = plan_.schedule.time[i] + std::max<int>(t.cycle, 1);
        const bool bypassed = t.bypass != isa::Bypass::kNone;
        const auto [it, fresh] = spans.try_emplace(operand.reg.var, std::pair(1 << 28, -(1 << 28)));
        if (info.operands[o].is_out) it->second.first = std::min(it->second.first, cycle);
        it->second.second =
            std::max(it->second.second, info.operands[o].is_out ? cycle : cycle - 1 + (bypassed ? 1 : 0));
      }
    }
    return spans;
  }

  bool is_local(u32 var) const {
    return fn_.vars[var].fixed == isa::Reg::kNone && fn_.vars[var].first_cell < local_.size() &&
           local_[fn_.vars[var].first_cell];
  }

  bool complete_plan() {
    const int ii = plan_.schedule.ii;
    for (int t : plan_.schedule.time) plan_.stages = std::max(plan_.stages, t / ii + 1);
    int most = 1;
    const auto spans = lifetimes();
    for (const auto& [var, span] : spans) {
      const int length = std::max(1, span.second - span.first + 1);
      const int copies = static_cast<int>(std::bit_ceil(static_cast<unsigned>((length + ii - 1) / ii)));
      if (copies > 1) plan_.copies[var] = copies;
      most = std::max(most, copies);
    }
    const int shortest = static_cast<int>(std::bit_ceil(static_cast<unsigned>((kDelaySlots + ii) / ii)));
    plan_.unroll = std::max(most, shortest);
    if (plan_.unroll > 16 || !pressure_fits(spans) || !find_dec_row()) return false;
    return choose_peel();
  }

  // Registers that are live in any row of the kernel must not exceed the files.
  bool pressure_fits(const std::map<u32, std::pair<int, int>>& spans) const {
    const int ii = plan_.schedule.ii;
    std::map<RegKind, int> base;
    std::map<RegKind, std::vector<int>> rows;
    for (size_t v = 0; v < fn_.vars.size(); ++v) {
      const Variable& var = fn_.vars[v];
      if (var.fixed == isa::Reg::kNone && var.first_cell < live_.size() && live_[var.first_cell])
        base[file_of(var.kind)] += units(var.kind);
    }
    for (const auto& [var, span] : spans) {
      auto& row = rows.try_emplace(file_of(fn_.vars[var].kind), static_cast<size_t>(ii), 0).first->second;
      for (int t = span.first; t <= std::max(span.first, span.second); ++t)
        row[static_cast<size_t>(positive_mod(t, ii))] += units(fn_.vars[var].kind);
    }
    for (const auto& [file, row] : rows) {
      const int most = *std::max_element(row.begin(), row.end());
      if (most + base[file] > capacity(file)) return false;
    }
    return true;
  }

  static RegKind file_of(RegKind kind) {
    switch (kind) {
      case RegKind::kL:
        return RegKind::kR;
      case RegKind::kW:
      case RegKind::kY:
      case RegKind::kEx:
      case RegKind::kEy:
      case RegKind::kQx:
        return RegKind::kX;
      case RegKind::kBm:
      case RegKind::kCm:
        return RegKind::kDm;
      default:
        return kind;
    }
  }
  static int units(RegKind kind) {
    switch (kind) {
      case RegKind::kL:
      case RegKind::kX:
      case RegKind::kEx:
      case RegKind::kQx:
      case RegKind::kCm:
        return 2;
      case RegKind::kY:
      case RegKind::kEy:
      case RegKind::kDm:
        return 4;
      default:
        return 1;
    }
  }
  static int capacity(RegKind file) {
    if (file == RegKind::kX) return 24;
    if (file == RegKind::kDm) return 20;
    return static_cast<int>(kind_members(file).size());
  }

  bool find_dec_row() {
    if (plan_.schedule.back_edge == BackEdge::kJnzd) return true;
    const int ii = plan_.schedule.ii, rows = ii * plan_.unroll;
    Reservations table(ii);
    for (size_t i = 0; i < body_.size(); ++i)
      table.add(footprint(body_[i], static_cast<size_t>(plan_.schedule.alternative[i])),
                plan_.schedule.time[i]);
    table.add(footprint(body().insts.back(), 0), rows - 1 - kDelaySlots);
    const Inst dec = make_add(fn_, counter_, counter_, -plan_.unroll);
    for (int row = 0; row < rows; ++row) {
      for (size_t alt = 0; alt < dec.ops.size(); ++alt) {
        if (!table.fits(footprint(dec, alt), row)) continue;
        plan_.dec_row = row;
        dec_op_ = dec.ops[alt];
        return true;
      }
    }
    return false;
  }

  bool choose_peel() {
    const int unroll = plan_.unroll, least = plan_.stages - 1;
    const u32 multiple = loop_.options.trip_multiple_of;
    if (loop_.exact > 0) {
      plan_.peel = least + positive_mod(static_cast<int>(loop_.exact) - least, unroll);
      return static_cast<int>(loop_.exact) >= plan_.peel + unroll;
    }
    plan_.peel = (least + unroll - 1) / unroll * unroll;
    plan_.guard = multiple % static_cast<u32>(unroll) != 0 ||
                  loop_.options.min_trip < static_cast<u32>(plan_.peel + unroll);
    if (plan_.guard) plan_.peel = least;
    return plan_.peel + unroll < 120;
  }

  // ---------------------------------------------------------------- expansion

  Inst instance(size_t index, int iteration) {
    Inst inst = body_[index];
    inst.choose(static_cast<size_t>(plan_.schedule.alternative[index]));
    for (Operand& operand : inst.operand) {
      if (!operand.is_reg) continue;
      const auto it = plan_.copies.find(operand.reg.var);
      if (it == plan_.copies.end()) continue;
      auto& names = copy_vars_[operand.reg.var];
      if (names.empty()) {
        names.push_back(operand.reg.var);
        for (int c = 1; c < it->second; ++c) {
          names.push_back(fn_.new_var(fn_.vars[operand.reg.var].kind,
                                      fn_.vars[operand.reg.var].name + "#" + std::to_string(c))
                              .var);
        }
      }
      operand.reg.var = names[static_cast<size_t>(positive_mod(iteration, it->second))];
    }
    return inst;
  }

  void expand() {
    before().insts.pop_back();  // counter = trip
    VReg trip = loop_.trip;
    if (plan_.guard) trip = add_guard(trip);
    set_counter(trip);
    add_prologue();
    add_kernel();
    add_epilogue();
    stats_.ii = static_cast<u32>(plan_.schedule.ii);
    stats_.stages = static_cast<u32>(plan_.stages);
    stats_.unroll = static_cast<u32>(plan_.unroll);
    stats_.peeled = static_cast<u32>(plan_.peel);
    stats_.guarded = plan_.guard;
    stats_.back_edge = plan_.schedule.back_edge;
    resolve_all(fn_);
  }

  void set_counter(VReg trip) {
    auto& insts = before().insts;
    const bool jnzd = plan_.schedule.back_edge == BackEdge::kJnzd;
    const bool late = !jnzd && plan_.dec_row >= plan_.schedule.ii * plan_.unroll - 1 - kDelaySlots;
    const int less = plan_.peel + (jnzd || late ? plan_.unroll : 0);
    const int shift = jnzd ? std::countr_zero(static_cast<unsigned>(plan_.unroll)) : 0;
    if (loop_.exact > 0) {
      insts.push_back(make_imm(fn_, counter_, (static_cast<int>(loop_.exact) - less) >> shift));
    } else if (shift == 0) {
      insts.push_back(make_add(fn_, counter_, trip, -less));
    } else {
      const VReg rest = fn_.new_var(RegKind::kR, loop_.options.name + ".rest"),
                 by = fn_.new_var(RegKind::kR, loop_.options.name + ".by");
      insts.push_back(make_imm(fn_, by, -shift));
      insts.push_back(make_add(fn_, rest, trip, -less));
      insts.push_back(make(fn_, {Op::LSHL}, {counter_, rest, by}));
    }
    if (!jnzd) return;
    Inst address = make(fn_, {Op::MOVXM}, {jump_reg_, 0});
    address.target = block_;
    address.target_operand = 1;
    insts.push_back(address);
  }

  void add_prologue() {
    const int ii = plan_.schedule.ii;
    for (int n = 0; n < plan_.peel; ++n) {
      for (size_t i = 0; i < body_.size(); ++i) {
        const int time = plan_.schedule.time[i] + (n - plan_.peel) * ii;
        if (time >= 0) continue;
        Inst inst = instance(i, n);
        inst.pin = Inst::Pin::kFromEnd;
        inst.time = time;
        before().insts.push_back(std::move(inst));
      }
    }
  }

  void add_kernel() {
    const int ii = plan_.schedule.ii, rows = ii * plan_.unroll;
    std::vector<Inst> insts;
    const auto put = [&](Inst inst, int row) {
      inst.pin = Inst::Pin::kFromStart;
      inst.time = row;
      insts.push_back(std::move(inst));
    };
    for (int j = 0; j < plan_.unroll; ++j) {
      for (size_t i = 0; i < body_.size(); ++i) {
        const int stage = plan_.schedule.time[i] / ii;
        put(instance(i, plan_.peel + j - stage), plan_.schedule.time[i] % ii + j * ii);
      }
    }
    Inst branch = body().insts.back();
    if (plan_.schedule.back_edge == BackEdge::kJnzd) {
      branch = make_jnzd();
    } else {
      put(make(fn_, {dec_op_}, {counter_, counter_, -plan_.unroll}), plan_.dec_row);
    }
    std::stable_sort(insts.begin(), insts.end(),
                     [](const Inst& a, const Inst& b) { return a.time < b.time; });
    put(std::move(branch), rows - 1 - kDelaySlots);
    body().insts = std::move(insts);
    body().kernel = true;
    body().is_target = true;
    body().length = rows;
  }

  void add_epilogue() {
    const int ii = plan_.schedule.ii;
    std::vector<Inst> insts;
    for (int back = plan_.stages - 1; back >= 1; --back) {
      for (size_t i = 0; i < body_.size(); ++i) {
        const int time = plan_.schedule.time[i] - back * ii;
        if (time < 0) continue;
        Inst inst = instance(i, plan_.peel - back);
        inst.pin = Inst::Pin::kFromStart;
        inst.time = time;
        insts.push_back(std::move(inst));
      }
    }
    auto& exit = fn_.blocks[static_cast<size_t>(loop_.exit)].insts;
    exit.insert(exit.begin(), insts.begin(), insts.end());
  }

  // With t = trip - (peel + unroll): `slow` iterations run unpipelined first, all of them when t < 0, else t
  // mod unroll; what remains fits the kernel exactly (or is nothing, and the kernel is skipped). Returns the
  // number that remains.
  VReg add_guard(VReg trip) {
    const std::string& name = loop_.options.name;
    const auto var = [&](const char* what) { return fn_.new_var(RegKind::kR, name + what); };
    const VReg t = var(".t"), by = var(".by"), low = var(".low"), sign = var(".sign"), m = var(".m"),
               x = var(".x");
    const VReg y = var(".y"), slow = var(".slow"), fast = var(".fast"), count = var(".slow_count");
    auto& insts = before().insts;
    insts.push_back(make_imm(fn_, by, -31));
    insts.push_back(make_imm(fn_, low, plan_.unroll - 1));
    insts.push_back(make_add(fn_, t, trip, -(plan_.peel + plan_.unroll)));
    insts.push_back(make(fn_, {Op::ASHL}, {sign, t, by}));
    insts.push_back(make(fn_, {Op::AND}, {m, t, low}));
    insts.push_back(make(fn_, {Op::XOR}, {x, trip, m}));
    insts.push_back(make(fn_, {Op::AND}, {y, x, sign}));
    insts.push_back(make(fn_, {Op::XOR}, {slow, y, m}));
    insts.push_back(make(fn_, {Op::SUB}, {fast, trip, slow}));
    insts.push_back(make(fn_, {Op::MOV_alu_mv_mv_mv_scl}, {count, slow}));

    Block slow_block, check, start;
    slow_block.name = name + ".rest";
    slow_block.insts = fresh_body();
    slow_block.insts.push_back(make_add(fn_, count, count, -1));
    check.name = name + ".check";
    start.name = name + ".start";
    const int at = block_;
    insert_block(fn_, at, std::move(start));
    insert_block(fn_, at, std::move(check));
    insert_block(fn_, at, std::move(slow_block));
    block_ += 3;
    const int join = block_ + 2, head = loop_.preheader;
    connect(head, Op::JZ, slow, at + 1);
    connect(at, Op::JNZ, count, at);
    connect(at + 1, Op::JZ, fast, join);
    fn_.blocks[static_cast<size_t>(at + 2)].succ = {block_};
    loop_.preheader = at + 2;
    return fast;
  }

  void connect(int from, Op op, VReg r, int target) {
    Inst inst = make(fn_, {op}, {r, 0});
    inst.target = target;
    inst.target_operand = 1;
    Block& block = fn_.blocks[static_cast<size_t>(from)];
    block.insts.push_back(std::move(inst));
    block.succ = {from + 1, target};
    fn_.blocks[static_cast<size_t>(target)].is_target = true;
  }

  // The body with variables of its own.
  std::vector<Inst> fresh_body() {
    std::vector<Inst> insts = body_;
    std::map<u32, u32> names;
    for (Inst& inst : insts) {
      for (Operand& operand : inst.operand) {
        if (!operand.is_reg || !is_local(operand.reg.var)) continue;
        const u32 old = operand.reg.var;
        if (!names.contains(old)) names[old] = fn_.new_var(fn_.vars[old].kind, fn_.vars[old].name + "*").var;
        operand.reg.var = names[old];
      }
    }
    return insts;
  }

  void unroll_fully() {
    find_locals();
    std::vector<Inst> insts;
    for (u32 n = 0; n < loop_.exact; ++n) {
      std::vector<Inst> one = fresh_body();
      for (Inst& inst : one) {
        inst.turn = n;
        inst.turns = loop_.exact;
      }
      insts.insert(insts.end(), one.begin(), one.end());
    }
    body().insts = std::move(insts);
    std::erase(body().succ, block_);
    body().loop = -1;
    body().is_target = false;
    before().insts.pop_back();
    resolve_all(fn_);
  }

  Function& fn_;
  int block_;
  LoopInfo& loop_;
  std::vector<Inst> body_;
  VReg counter_, jump_reg_;
  std::vector<bool> local_, live_;
  int slack_ = 0;
  Plan plan_;
  Op dec_op_ = Op::ADD_add_r_ri;
  std::map<u32, std::vector<u32>> copy_vars_;
  LoopStats stats_;
};

}  // namespace

Result<void> pipeline_loops(Function& fn, const ScheduleOptions& options) {
  for (size_t l = 0; l < fn.loops.size(); ++l) {
    for (size_t b = 0; b < fn.blocks.size(); ++b) {
      if (fn.blocks[b].loop != static_cast<int>(l) || fn.blocks[b].kernel) continue;
      const Inst& move = fn.blocks[static_cast<size_t>(fn.loops[l].preheader)].insts.back();
      fn.loops[l].trip = move.operand[1].reg;  // after the splitting of variables
      Pipeliner(fn, static_cast<int>(b), options).run();
      break;
    }
    if (fn.error) return *fn.error;
  }
  return {};
}

}  // namespace tegula::compiler::backend
