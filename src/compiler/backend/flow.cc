// Control flow and variables before scheduling: labels become blocks, unreachable blocks go, variables are
// split into webs (values that never meet get different variables, so that a name used twice costs no false
// dependence).
#include <algorithm>
#include <map>
#include <tuple>

#include "compiler/backend/schedule.h"

namespace tegula::compiler::backend {

namespace {

Result<void> link_blocks(Function& fn) {
  for (size_t b = 0; b < fn.blocks.size(); ++b) {
    Block& block = fn.blocks[b];
    block.succ.clear();
    if (block.falls_through && b + 1 < fn.blocks.size()) block.succ.push_back(static_cast<int>(b + 1));
    if (block.insts.empty() || block.insts.back().target < 0) continue;
    Inst& branch = block.insts.back();
    const int target = fn.label_block[static_cast<size_t>(branch.target)];
    if (target < 0) {
      return fail(Code::kInvalidArgument, "label " + fn.label_name[static_cast<size_t>(branch.target)] +
                                              " is jumped to but never bound");
    }
    branch.target = target;
    block.succ.push_back(target);
  }
  return {};
}

std::vector<bool> reachable(const Function& fn) {
  std::vector<bool> seen(fn.blocks.size());
  std::vector<int> work{0};
  while (!work.empty()) {
    const auto b = static_cast<size_t>(work.back());
    work.pop_back();
    if (seen[b]) continue;
    seen[b] = true;
    work.insert(work.end(), fn.blocks[b].succ.begin(), fn.blocks[b].succ.end());
  }
  return seen;
}

void drop_blocks(Function& fn, const std::vector<bool>& keep) {
  std::vector<int> where(fn.blocks.size(), -1);
  std::vector<Block> kept;
  for (size_t b = 0; b < fn.blocks.size(); ++b) {
    if (!keep[b]) continue;
    where[b] = static_cast<int>(kept.size());
    kept.push_back(std::move(fn.blocks[b]));
  }
  const auto move = [&](int& b) { b = b < 0 ? b : where[static_cast<size_t>(b)]; };
  fn.blocks = std::move(kept);
  for (Block& block : fn.blocks) {
    std::for_each(block.succ.begin(), block.succ.end(), move);
    for (Inst& inst : block.insts) move(inst.target);
  }
  for (LoopInfo& loop : fn.loops) {
    move(loop.preheader);
    move(loop.exit);
  }
}

}  // namespace

Result<void> finish_control_flow(Function& fn) {
  TRY(link_blocks(fn));
  const std::vector<bool> keep = reachable(fn);
  const Block& last = fn.blocks.back();
  if (keep.back() && last.falls_through) {
    return fail(Code::kInvalidArgument,
                "block " + last.name + ": the program runs past its end; finish it with done() or jump()");
  }
  drop_blocks(fn, keep);
  for (Block& block : fn.blocks) block.is_target = false;
  for (const Block& block : fn.blocks) {
    for (const Inst& inst : block.insts) {
      if (inst.target >= 0) fn.blocks[static_cast<size_t>(inst.target)].is_target = true;
    }
  }
  return {};
}

void merge_blocks(Function& fn) {
  std::vector<int> preds(fn.blocks.size());
  for (const Block& block : fn.blocks) {
    for (int succ : block.succ) ++preds[static_cast<size_t>(succ)];
  }
  std::vector<bool> keep(fn.blocks.size(), true);
  for (size_t b = fn.blocks.size() - 1; b-- > 0;) {
    Block &block = fn.blocks[b], &next = fn.blocks[b + 1];
    const bool plain = !block.kernel && !next.kernel && !next.is_target && block.loop < 0 && next.loop < 0;
    if (!plain || block.succ != std::vector<int>{static_cast<int>(b + 1)} || preds[b + 1] != 1 ||
        !block.falls_through)
      continue;
    // A prologue belongs to the end of its block.
    if (!block.insts.empty() && block.insts.back().pin == Inst::Pin::kFromEnd) continue;
    block.insts.insert(block.insts.end(), next.insts.begin(), next.insts.end());
    block.succ = next.succ;
    block.falls_through = next.falls_through;
    keep[b + 1] = false;
  }
  drop_blocks(fn, keep);
}

void resolve_all(Function& fn) {
  fn.read_flags.clear();
  for (const Block& block : fn.blocks) {
    for (const Inst& inst : block.insts) {
      const isa::InstrInfo& info = inst.info();
      const auto reads = [&](isa::Reg reg) {
        if (is_sticky_flag(reg)) fn.read_flags.insert(atoms_of(reg).begin(), atoms_of(reg).end());
      };
      for (size_t i = info.outs; i < info.operands.size(); ++i) {
        const Operand& operand = inst.operand[i];
        if (operand.is_reg && fn.vars[operand.reg.var].fixed != isa::Reg::kNone)
          reads(fn.vars[operand.reg.var].fixed);
      }
      for (isa::Reg reg : info.implicit_uses) reads(reg);
    }
  }
  for (Block& block : fn.blocks) {
    for (Inst& inst : block.insts) {
      if (auto resolved = resolve(fn, inst); !resolved.ok())
        fn.set_error(Code::kInternal, resolved.error().message);
    }
  }
}

std::vector<std::vector<bool>> live_in_cells(const Function& fn) {
  std::vector<std::vector<bool>> live(fn.blocks.size(), std::vector<bool>(fn.cells));
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = fn.blocks.size(); b-- > 0;) {
      std::vector<bool> now(fn.cells);
      for (int succ : fn.blocks[b].succ) {
        const auto& next = live[static_cast<size_t>(succ)];
        for (size_t c = 0; c < now.size(); ++c) now[c] = now[c] || next[c];
      }
      for (size_t i = fn.blocks[b].insts.size(); i-- > 0;) {
        const Inst& inst = fn.blocks[b].insts[i];
        for (const Access& access : inst.access)
          if (access.def) now[access.cell] = false;
        for (const Access& access : inst.access)
          if (!access.def) now[access.cell] = true;
      }
      if (now != live[b]) {
        live[b] = std::move(now);
        changed = true;
      }
    }
  }
  return live;
}

// ------------------------------------------------------------------------ webs

namespace {

class Webs {
 public:
  explicit Webs(Function& fn) : fn_(fn) {}

  Result<void> run() {
    for (size_t v = 0; v < fn_.vars.size(); ++v) entry_.push_back(node());
    reach_.resize(fn_.blocks.size());
    TRY(flow());
    for (size_t b = 0; b < fn_.blocks.size(); ++b) walk(b, true);
    rename();
    return {};
  }

 private:
  using State = std::vector<std::vector<int>>;  // by cell: definitions that may have made its value

  int node() {
    parent_.push_back(static_cast<int>(parent_.size()));
    return parent_.back();
  }
  int root(int n) {
    while (parent_[static_cast<size_t>(n)] != n)
      n = parent_[static_cast<size_t>(n)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(n)])];
    return n;
  }
  void join(int a, int b) { parent_[static_cast<size_t>(root(a))] = root(b); }
  bool is_virtual(const Operand& operand) const {
    return operand.is_reg && fn_.vars[operand.reg.var].fixed == isa::Reg::kNone;
  }

  Result<void> flow() {
    State start(fn_.cells);
    for (size_t v = 0; v < fn_.vars.size(); ++v) {
      if (fn_.vars[v].fixed != isa::Reg::kNone) continue;
      for (int a = 0; a < kind_atoms(fn_.vars[v].kind); ++a)
        start[fn_.vars[v].first_cell + static_cast<u32>(a)] = {entry_[v]};
    }
    reach_[0] = start;
    for (size_t b = 1; b < reach_.size(); ++b) reach_[b].resize(fn_.cells);
    std::vector<bool> dirty(fn_.blocks.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = 0; b < fn_.blocks.size(); ++b) {
        if (!dirty[b]) continue;
        dirty[b] = false;
        changed = true;
        const State out = walk(b, false);
        for (int succ : fn_.blocks[b].succ) {
          if (merge(reach_[static_cast<size_t>(succ)], out)) dirty[static_cast<size_t>(succ)] = true;
        }
      }
    }
    return {};
  }

  static bool merge(State& into, const State& from) {
    bool changed = false;
    for (size_t c = 0; c < into.size(); ++c) {
      for (int def : from[c]) {
        const auto it = std::lower_bound(into[c].begin(), into[c].end(), def);
        if (it != into[c].end() && *it == def) continue;
        into[c].insert(it, def);
        changed = true;
      }
    }
    return changed;
  }

  // Runs through a block; with `record` uses are joined with the definitions that reach them.
  State walk(size_t b, bool record) {
    State state = reach_[b];
    for (size_t i = 0; i < fn_.blocks[b].insts.size(); ++i) {
      const Inst& inst = fn_.blocks[b].insts[i];
      const isa::InstrInfo& info = inst.info();
      if (record) {
        for (size_t o = info.outs; o < info.operands.size(); ++o) use(state, b, i, o);
      }
      for (size_t o = 0; o < info.outs; ++o) {
        if (!is_virtual(inst.operand[o])) continue;
        const VReg& reg = inst.operand[o].reg;
        const int def = def_node(b, i, reg.var);
        each_cell(reg, [&](u32 cell) { state[cell] = {def}; });
        if (record) operands_.push_back({b, i, o, def});
      }
    }
    return state;
  }

  void use(const State& state, size_t b, size_t i, size_t o) {
    const Inst& inst = fn_.blocks[b].insts[i];
    if (!is_virtual(inst.operand[o])) return;
    const VReg& reg = inst.operand[o].reg;
    int first = -1;
    each_cell(reg, [&](u32 cell) {
      for (int def : state[cell]) {
        if (first < 0) first = def;
        join(def, first);
      }
    });
    if (first < 0) first = entry_[reg.var];
    operands_.push_back({b, i, o, first});
    const isa::InstrInfo& info = inst.info();
    for (size_t d = 0; d < info.outs; ++d) {
      const bool tied =
          info.operands[d].tied_to == static_cast<int>(o) || info.operands[o].tied_to == static_cast<int>(d);
      if (tied && is_virtual(inst.operand[d]) && inst.operand[d].reg.var == reg.var)
        join(def_node(b, i, reg.var), first);
    }
  }

  template <typename F>
  void each_cell(const VReg& reg, F f) {
    for (int a = 0; a < 16; ++a) {
      if (reg.mask >> a & 1) f(fn_.cell(reg, a));
    }
  }

  int def_node(size_t b, size_t i, u32 var) {
    const auto [it, fresh] = defs_.try_emplace(std::tuple(b, i, var), 0);
    if (fresh) it->second = node();
    return it->second;
  }

  void rename() {
    std::map<std::pair<int, u32>, u32> names;  // (web, old variable) -> new variable
    std::vector<bool> taken(fn_.vars.size());
    for (const auto& [b, i, o, def] : operands_) {
      VReg& reg = fn_.blocks[b].insts[i].operand[o].reg;
      const u32 old = reg.var;
      const auto [it, fresh] = names.try_emplace(std::pair(root(def), old), old);
      if (fresh && old < taken.size()) {
        if (taken[old])
          it->second = fn_.new_var(fn_.vars[old].kind, fn_.vars[old].name + "'").var;
        else
          taken[old] = true;
      }
      reg.var = it->second;
    }
  }

  Function& fn_;
  std::vector<int> parent_, entry_;
  std::vector<State> reach_;
  std::map<std::tuple<size_t, size_t, u32>, int> defs_;
  struct Site {
    size_t b, i, o;
    int def;
  };
  std::vector<Site> operands_;
};

}  // namespace

Result<void> split_variables(Function& fn) {
  TRY(Webs(fn).run());
  resolve_all(fn);
  const std::vector<bool> live = live_in_cells(fn)[0];
  std::string names;
  for (const Variable& var : fn.vars) {
    if (var.fixed != isa::Reg::kNone) continue;
    const auto first = live.begin() + var.first_cell;
    if (std::find(first, first + kind_atoms(var.kind), true) != first + kind_atoms(var.kind))
      names += " " + var.name;
  }
  if (names.empty()) return {};
  return fail(Code::kInvalidArgument, "read before it is written on some path:" + names);
}

}  // namespace tegula::compiler::backend
