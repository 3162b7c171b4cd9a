// Register allocation on the finished schedule. A value occupies its register from the cycle in which it is
// written to the last cycle in which it is sampled, not from issue to issue: two variables interfere iff one
// is written while the other holds a value. Liveness is computed backwards over cycles and blocks; accesses
// that reach past the end of their block are handed to the blocks that follow.
#include <algorithm>
#include <tuple>

#include "compiler/backend/schedule.h"

namespace tegula::compiler::backend {

using isa::Reg;

namespace {

struct Event {
  int cycle;
  u32 cell;
  bool write;
  auto operator<=>(const Event&) const = default;
};

class Bits {
 public:
  explicit Bits(size_t bits = 0) : words_((bits + 63) / 64) {}
  bool test(u32 i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(u32 i) { words_[i / 64] |= u64{1} << (i % 64); }
  void reset(u32 i) { words_[i / 64] &= ~(u64{1} << (i % 64)); }
  void merge(const Bits& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
  }
  bool meets(const Bits& other) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      if ((words_[w] & other.words_[w]) != 0) return true;
    }
    return false;
  }
  bool operator==(const Bits&) const = default;
  template <typename F>
  void each(F f) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (u64 bits = words_[w]; bits != 0; bits &= bits - 1)
        f(static_cast<u32>(w * 64 + static_cast<size_t>(__builtin_ctzll(bits))));
    }
  }

 private:
  std::vector<u64> words_;
};

class Allocator {
 public:
  explicit Allocator(const Function& fn) : fn_(fn), blocks_(fn.blocks.size()) {}

  Allocation run() {
    owner_.assign(fn_.cells, ~u32{0});
    for (size_t v = 0; v < fn_.vars.size(); ++v) {
      if (fn_.vars[v].fixed != Reg::kNone) continue;
      for (int a = 0; a < kind_atoms(fn_.vars[v].kind); ++a)
        owner_[fn_.vars[v].first_cell + static_cast<u32>(a)] = static_cast<u32>(v);
    }
    collect_events();
    inherit();
    liveness();
    interfere();
    return color();
  }

 private:
  struct BlockData {
    std::vector<int> pred;
    std::vector<Event> own;        // cycle may lie past the end
    std::vector<Event> inherited;  // from any predecessor
    std::vector<Event> certain;    // writes handed over by every predecessor
    std::vector<Event> scan;       // own and inherited ones inside the block, latest first
    Bits live;                     // at the start
  };

  void collect_events() {
    for (size_t b = 0; b < blocks_.size(); ++b) {
      blocks_[b].live = Bits(fn_.cells);
      for (int succ : fn_.blocks[b].succ)
        blocks_[static_cast<size_t>(succ)].pred.push_back(static_cast<int>(b));
      for (const Inst& inst : fn_.blocks[b].insts) {
        for (const Access& access : inst.access) {
          // A write is visible from issue + cycle; a read samples at issue + cycle - 1 and sees, through a
          // bypass, the next cycle.
          const int early = access.def || access.bypass != isa::Bypass::kNone ? 0 : 1;
          blocks_[b].own.push_back({inst.time + access.cycle - early, access.cell, access.def});
        }
      }
    }
  }

  static void unique(std::vector<Event>& events) {
    std::sort(events.begin(), events.end());
    events.erase(std::unique(events.begin(), events.end()), events.end());
  }

  // Accesses of a block that happen after its end, in cycles of the next block; with those handed over to it
  // by any
  // (`certain`: by every) path.
  std::vector<Event> spill(size_t from, bool certain) const {
    std::vector<Event> out;
    const int length = fn_.blocks[from].length;
    for (const auto* list :
         {&blocks_[from].own, certain ? &blocks_[from].certain : &blocks_[from].inherited}) {
      for (const Event& event : *list) {
        if (event.cycle >= length) out.push_back({event.cycle - length, event.cell, event.write});
      }
    }
    return out;
  }

  void inherit() {
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockData& block : blocks_) {
        std::vector<Event> all;
        for (int pred : block.pred) {
          const auto more = spill(static_cast<size_t>(pred), false);
          all.insert(all.end(), more.begin(), more.end());
        }
        unique(all);
        if (all == block.inherited) continue;
        block.inherited = std::move(all);
        changed = true;
      }
    }
    for (BlockData& block : blocks_) {
      block.certain = block.inherited;
      std::erase_if(block.certain, [](const Event& event) { return !event.write; });
    }
    blocks_[0].certain.clear();
    for (bool changed = true; changed;) {
      changed = false;
      for (BlockData& block : blocks_) {
        const size_t before = block.certain.size();
        for (int pred : block.pred) {
          const auto spilled = spill(static_cast<size_t>(pred), true);
          std::erase_if(block.certain, [&](const Event& event) {
            return std::find(spilled.begin(), spilled.end(), event) == spilled.end();
          });
        }
        changed = changed || block.certain.size() != before;
      }
    }
    for (size_t b = 0; b < blocks_.size(); ++b) make_scan(b);
  }

  void make_scan(size_t b) {
    BlockData& block = blocks_[b];
    const auto add = [&](const Event& event) {
      if (event.cycle < fn_.blocks[b].length) block.scan.push_back(event);
    };
    std::for_each(block.own.begin(), block.own.end(), add);
    for (const Event& event : block.inherited) {
      if (!event.write) add(event);
    }
    std::for_each(block.certain.begin(), block.certain.end(), add);
    // Within a cycle reads come first in a backward scan: they see what is written in their cycle.
    std::sort(block.scan.begin(), block.scan.end(), [](const Event& a, const Event& b2) {
      return std::tuple(-a.cycle, a.write, a.cell) < std::tuple(-b2.cycle, b2.write, b2.cell);
    });
  }

  // Cells whose value at the end of `from` is needed by `to`: not those that a write in flight replaces
  // before their first read.
  Bits live_on_edge(size_t from, size_t to) const {
    Bits live = blocks_[to].live;
    for (const Event& write : spill(from, true)) {
      if (!write.write || !live.test(write.cell)) continue;
      const bool needed =
          std::any_of(blocks_[to].scan.begin(), blocks_[to].scan.end(), [&](const Event& event) {
            return event.cell == write.cell && !event.write && event.cycle < write.cycle;
          });
      if (!needed) live.reset(write.cell);
    }
    return live;
  }

  Bits live_out(size_t b) const {
    Bits live(fn_.cells);
    for (int succ : fn_.blocks[b].succ) live.merge(live_on_edge(b, static_cast<size_t>(succ)));
    // A block that ends the program still has its last reads ahead.
    return live;
  }

  void liveness() {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t b = blocks_.size(); b-- > 0;) {
        Bits live = live_out(b);
        for (const Event& event : blocks_[b].scan) {
          if (event.write)
            live.reset(event.cell);
          else
            live.set(event.cell);
        }
        if (live == blocks_[b].live) continue;
        blocks_[b].live = std::move(live);
        changed = true;
      }
    }
  }

  void conflict(u32 a, u32 b) {
    const u32 x = owner_[a], y = owner_[b];
    if (x == y) return;
    if (x != ~u32{0} && y != ~u32{0}) {
      matrix_[x].set(y);
      matrix_[y].set(x);
    } else if (x != ~u32{0}) {
      blocked_[x].set(b);
    } else {
      blocked_[y].set(a);
    }
  }

  void interfere() {
    matrix_.assign(fn_.vars.size(), Bits(fn_.vars.size()));
    blocked_.assign(fn_.vars.size(), Bits(atom_count()));
    for (size_t b = 0; b < blocks_.size(); ++b) {
      Bits live = live_out(b);
      std::vector<Event> events = blocks_[b].scan;
      for (const Event& event : blocks_[b].inherited) {
        const bool certain = std::find(blocks_[b].certain.begin(), blocks_[b].certain.end(), event) !=
                             blocks_[b].certain.end();
        if (event.write && !certain && event.cycle < fn_.blocks[b].length) possible_.push_back(event);
      }
      scan_conflicts(events, live);
      possible_.clear();
    }
  }

  // Backwards through a block: whatever is written conflicts with what is live and with what else is written
  // in its cycle.
  void scan_conflicts(const std::vector<Event>& events, Bits& live) {
    std::sort(possible_.begin(), possible_.end(),
              [](const Event& a, const Event& b) { return a.cycle > b.cycle; });
    size_t i = 0, p = 0;
    while (i < events.size() || p < possible_.size()) {
      const int cycle =
          std::max(i < events.size() ? events[i].cycle : -1, p < possible_.size() ? possible_[p].cycle : -1);
      for (; i < events.size() && events[i].cycle == cycle && !events[i].write; ++i) live.set(events[i].cell);
      std::vector<u32> written;
      const size_t first = i;
      for (; i < events.size() && events[i].cycle == cycle; ++i) written.push_back(events[i].cell);
      const size_t last = i;
      for (; p < possible_.size() && possible_[p].cycle == cycle; ++p) written.push_back(possible_[p].cell);
      for (size_t a = 0; a < written.size(); ++a) {
        live.each([&](u32 other) { conflict(written[a], other); });
        for (size_t b = a + 1; b < written.size(); ++b) conflict(written[a], written[b]);
      }
      for (size_t a = first; a < last; ++a) live.reset(events[a].cell);
    }
  }

  // ------------------------------------------------------------------ coloring

  // Registers that suit every operand of a variable.
  std::vector<std::vector<Reg>> candidates() const {
    std::vector<std::vector<Reg>> out(fn_.vars.size());
    std::vector<bool> used(fn_.vars.size());
    for (size_t v = 0; v < out.size(); ++v) {
      if (fn_.vars[v].fixed == Reg::kNone) out[v] = kind_members(fn_.vars[v].kind);
    }
    for (const Block& block : fn_.blocks) {
      for (const Inst& inst : block.insts) {
        const isa::InstrInfo& info = inst.info();
        for (size_t o = 0; o < info.operands.size(); ++o) {
          if (!inst.operand[o].is_reg) continue;
          const VReg& reg = inst.operand[o].reg;
          used[reg.var] = true;
          std::erase_if(out[reg.var], [&](Reg whole) {
            return part_in_class(whole, reg.mask, info.operands[o].cls) == Reg::kNone;
          });
        }
      }
    }
    for (size_t v = 0; v < out.size(); ++v) {
      if (!used[v]) out[v].clear();
      std::erase_if(out[v], [&](Reg whole) {
        return std::any_of(atoms_of(whole).begin(), atoms_of(whole).end(),
                           [&](u16 atom) { return blocked_[v].test(atom); });
      });
      used_.push_back(used[v] && fn_.vars[v].fixed == Reg::kNone);
    }
    return out;
  }

  static const Bits& bits_of(Reg reg) {
    static const auto table = [] {
      std::vector<Bits> all(static_cast<size_t>(Reg::kCount), Bits(atom_count()));
      for (size_t r = 1; r < all.size(); ++r) {
        for (u16 atom : atoms_of(static_cast<Reg>(r))) all[r].set(atom);
      }
      return all;
    }();
    return table[static_cast<size_t>(reg)];
  }

  // A result likes the register of an operand of its own kind: sums stay in one accumulator.
  void collect_hints() {
    hints_.resize(fn_.vars.size());
    for (const Block& block : fn_.blocks) {
      for (const Inst& inst : block.insts) {
        const isa::InstrInfo& info = inst.info();
        if (info.outs == 0 || !inst.operand[0].is_reg) continue;
        for (size_t o = info.outs; o < info.operands.size(); ++o) {
          if (!inst.operand[o].is_reg || info.operands[o].cls != info.operands[0].cls) continue;
          hints_[inst.operand[0].reg.var].push_back(inst.operand[o].reg.var);
          hints_[inst.operand[o].reg.var].push_back(inst.operand[0].reg.var);
          break;
        }
      }
    }
  }

  Reg pick(u32 v, const std::vector<Reg>& choice, const std::vector<Reg>& regs) const {
    Bits taken(atom_count());
    matrix_[v].each([&](u32 other) { taken.merge(bits_of(regs[other])); });
    const auto free = [&](Reg reg) { return !taken.meets(bits_of(reg)); };
    for (u32 hint : hints_[v]) {
      const Reg reg = fn_.vars[hint].fixed != Reg::kNone ? fn_.vars[hint].fixed : regs[hint];
      if (reg != Reg::kNone && free(reg) && std::find(choice.begin(), choice.end(), reg) != choice.end())
        return reg;
    }
    const auto it = std::find_if(choice.begin(), choice.end(), free);
    return it == choice.end() ? Reg::kNone : *it;
  }

  std::optional<u32> try_order(const std::vector<u32>& order, const std::vector<std::vector<Reg>>& choice,
                               std::vector<Reg>& regs) const {
    std::fill(regs.begin(), regs.end(), Reg::kNone);
    for (u32 v : order) {
      regs[v] = pick(v, choice[v], regs);
      if (regs[v] == Reg::kNone) return v;
    }
    return {};
  }

  // Smallest-last order within each size; a variable that finds no register moves to the front, and again.
  Allocation color() {
    const auto choice = candidates();
    collect_hints();
    std::vector<u32> order;
    std::vector<size_t> degree(fn_.vars.size());
    for (u32 v = 0; v < fn_.vars.size(); ++v) {
      if (!used_[v]) continue;
      order.push_back(v);
      matrix_[v].each([&](u32) { ++degree[v]; });
    }
    std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
      const auto key = [&](u32 v) {
        return std::tuple(-kind_atoms(fn_.vars[v].kind), choice[v].size(), ~degree[v]);
      };
      return key(a) < key(b);
    });
    Allocation out;
    out.regs.assign(fn_.vars.size(), Reg::kNone);
    std::optional<u32> stuck;
    for (size_t attempt = 0; attempt < 48; ++attempt) {
      stuck = try_order(order, choice, out.regs);
      if (!stuck) return out;
      if (choice[*stuck].empty()) break;
      std::erase(order, *stuck);
      order.insert(order.begin(), *stuck);
    }
    out.failure = AllocationFailure{describe(*stuck, choice[*stuck]), blocks_with(*stuck)};
    return out;
  }

  std::vector<int> blocks_with(u32 v) const {
    std::vector<int> out;
    for (size_t b = 0; b < blocks_.size(); ++b) {
      const auto mine = [&](const Event& event) { return owner_[event.cell] == v; };
      bool in = std::any_of(blocks_[b].scan.begin(), blocks_[b].scan.end(), mine);
      blocks_[b].live.each([&](u32 cell) { in = in || owner_[cell] == v; });
      if (in) out.push_back(static_cast<int>(b));
    }
    return out;
  }

  std::string describe(u32 v, const std::vector<Reg>& choice) const {
    std::string text = "out of registers of kind " + std::string(kind_name(fn_.vars[v].kind)) + " for " +
                       fn_.vars[v].name + " (" + std::to_string(choice.size()) +
                       " candidates); it is live together with";
    int count = 0;
    matrix_[v].each([&](u32 other) {
      const bool related =
          std::any_of(kind_members(fn_.vars[other].kind).begin(), kind_members(fn_.vars[other].kind).end(),
                      [&](Reg a) { return !choice.empty() && bits_of(a).meets(bits_of(choice[0])); });
      if (related && ++count <= 40) text += " " + fn_.vars[other].name;
    });
    return text + (count > 40 ? " .." : "");
  }

  const Function& fn_;
  std::vector<BlockData> blocks_;
  std::vector<u32> owner_;  // variable of a cell; ~0: a fixed register
  std::vector<Bits> matrix_, blocked_;
  std::vector<std::vector<u32>> hints_;
  std::vector<Event> possible_;
  mutable std::vector<bool> used_;
};

}  // namespace

Allocation allocate_registers(const Function& fn) {
  return Allocator(fn).run();
}

}  // namespace tegula::compiler::backend
