// List scheduling of blocks (handbook 5): every instruction goes to the earliest time that dependences, slots
// and units allow; what is still in flight from earlier blocks counts, and nothing is drained that need not
// be.
#include "compiler/backend/schedule.h"

#include <algorithm>

namespace tegula::compiler::backend {

using isa::Slot;

// ---------------------------------------------------------------- reservations

Footprint footprint(const Inst& inst, size_t alternative) {
  Footprint print;
  const Slot slot = isa::info(inst.ops[alternative]).slot;
  print.slots = static_cast<u8>(1u << static_cast<int>(slot));
  if (slot == Slot::kLng)
    print.slots |= (1u << static_cast<int>(Slot::kAlu)) | (1u << static_cast<int>(Slot::kMv));
  for (const isa::UnitUse& use : inst.timing[alternative]->units) {
    for (int c = use.start; c < use.start + use.cycles && c < kTail; ++c) {
      (use.weak ? print.weak : print.strong)[static_cast<size_t>(c)] |= u64{1} << use.unit;
      print.count = std::max<u8>(print.count, static_cast<u8>(c + 1));
    }
  }
  return print;
}

const Reservations::Row* Reservations::find(int time) const {
  if (period_ > 0) return &rows_[static_cast<size_t>(((time % period_) + period_) % period_)];
  const int at = time + 2 * kTail;
  return at >= 0 && at < static_cast<int>(rows_.size()) ? &rows_[static_cast<size_t>(at)] : nullptr;
}

Reservations::Row& Reservations::at(int time) {
  if (period_ > 0) return rows_[static_cast<size_t>(((time % period_) + period_) % period_)];
  const auto at = static_cast<size_t>(std::max(0, time + 2 * kTail));
  if (at >= rows_.size()) rows_.resize(at + kTail);
  return rows_[at];
}

bool Reservations::fits(const Footprint& print, int time) const {
  const Row* row = find(time);
  if (row != nullptr && (row->slots & print.slots) != 0) return false;
  for (int c = 0; c < print.count; ++c) {
    row = find(time + c);
    if (row == nullptr) continue;
    for (u64 bits = print.strong[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1) {
      const auto unit = static_cast<size_t>(__builtin_ctzll(bits));
      if (row->strong[unit] != 0 || row->weak[unit] != 0) return false;
    }
    for (u64 bits = print.weak[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1) {
      if (row->strong[static_cast<size_t>(__builtin_ctzll(bits))] != 0) return false;
    }
  }
  return true;
}

void Reservations::add(const Footprint& print, int time) {
  at(time).slots |= print.slots;
  for (int c = 0; c < print.count; ++c) {
    Row& row = at(time + c);
    for (u64 bits = print.strong[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1)
      ++row.strong[static_cast<size_t>(__builtin_ctzll(bits))];
    for (u64 bits = print.weak[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1)
      ++row.weak[static_cast<size_t>(__builtin_ctzll(bits))];
  }
}

void Reservations::remove(const Footprint& print, int time) {
  at(time).slots &= static_cast<u8>(~print.slots);
  for (int c = 0; c < print.count; ++c) {
    Row& row = at(time + c);
    for (u64 bits = print.strong[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1)
      --row.strong[static_cast<size_t>(__builtin_ctzll(bits))];
    for (u64 bits = print.weak[static_cast<size_t>(c)]; bits != 0; bits &= bits - 1)
      --row.weak[static_cast<size_t>(__builtin_ctzll(bits))];
  }
}

std::vector<Edge> block_edges(const std::vector<const Inst*>& insts) {
  std::vector<Edge> edges;
  for (size_t a = 0; a < insts.size(); ++a) {
    for (size_t b = a + 1; b < insts.size(); ++b) {
      if (const auto gap = min_gap(*insts[a], *insts[b])) {
        edges.push_back({static_cast<int>(a), static_cast<int>(b), *gap, 0});
      }
    }
  }
  return edges;
}

// ---------------------------------------------------------------- block scheduler

namespace {

struct Timed {
  const Inst* inst;
  int time;
};

class BlockScheduler {
 public:
  BlockScheduler(Function& fn, int block, const ScheduleOptions& options, const std::vector<bool>& scheduled,
                 const std::vector<Timed>& tails)
      : fn_(fn),
        block_(fn.blocks[static_cast<size_t>(block)]),
        index_(block),
        scheduled_(scheduled),
        tails_(tails) {
    const auto it = options.window.find(block);
    if (it != options.window.end()) window_ = it->second;
  }

  Result<void> run() {
    for (const Timed& tail : tails_) reserve(*tail.inst, tail.time);
    collect();
    place_free();
    return close();
  }

 private:
  void reserve(const Inst& inst, int time) { table_.add(footprint(inst, 0), time); }

  void collect() {
    for (Inst& inst : block_.insts) {
      if (inst.effect == Effect::kBranch)
        branch_ = &inst;
      else if (inst.pin == Inst::Pin::kFree)
        free_.push_back(&inst);
      else if (inst.pin == Inst::Pin::kFromEnd)
        late_.push_back(&inst);
      else
        early_.push_back({&inst, inst.time});
    }
    for (const Timed& early : early_) reserve(*early.inst, early.time);
    before_ = tails_;
    before_.insert(before_.end(), early_.begin(), early_.end());
  }

  void place_free() {
    const size_t n = free_.size();
    std::vector<const Inst*> insts(free_.begin(), free_.end());
    const std::vector<Edge> edges = block_edges(insts);
    std::vector<int> height(n, 0), earliest(n, 0), missing(n, 0);
    std::vector<std::vector<Edge>> out(n);
    for (const Edge& edge : edges) {
      out[static_cast<size_t>(edge.from)].push_back(edge);
      ++missing[static_cast<size_t>(edge.to)];
    }
    for (size_t i = n; i-- > 0;) {
      for (const Edge& edge : out[i])
        height[i] = std::max(height[i], height[static_cast<size_t>(edge.to)] + edge.gap);
    }
    for (size_t i = 0; i < n; ++i) earliest[i] = entry_bound(*free_[i]);
    std::vector<bool> done(n);
    std::vector<int> floor(n + 1, 0);  // latest time among the first i instructions
    size_t first = 0;
    for (size_t placed = 0; placed < n; ++placed) {
      while (done[first]) {
        floor[first + 1] = std::max(floor[first], free_[first]->time);
        ++first;
      }
      const size_t pick = choose(done, missing, height, earliest, first);
      const auto window = static_cast<size_t>(window_);
      const int bound =
          pick > window ? std::max(earliest[pick], floor_of(floor, first, pick - window)) : earliest[pick];
      put(*free_[pick], bound);
      done[pick] = true;
      for (const Edge& edge : out[pick]) {
        const auto to = static_cast<size_t>(edge.to);
        earliest[to] = std::max(earliest[to], free_[pick]->time + edge.gap);
        --missing[to];
      }
    }
  }

  static int floor_of(const std::vector<int>& floor, size_t known, size_t index) {
    return floor[std::min(known, index)];
  }

  size_t choose(const std::vector<bool>& done, const std::vector<int>& missing,
                const std::vector<int>& height, const std::vector<int>& earliest, size_t first) const {
    size_t best = first;
    bool found = false;
    const size_t end = std::min(done.size(), first + static_cast<size_t>(window_) + 1);
    for (size_t i = first; i < end; ++i) {
      if (done[i] || missing[i] != 0) continue;
      if (!found || height[i] > height[best] || (height[i] == height[best] && earliest[i] < earliest[best]))
        best = i;
      found = true;
    }
    return best;
  }

  void put(Inst& inst, int earliest) {
    for (int t = std::max(0, earliest);; ++t) {
      for (size_t alt = 0; alt < inst.ops.size(); ++alt) {
        const Footprint print = footprint(inst, alt);
        if (!table_.fits(print, t)) continue;
        table_.add(print, t);
        inst.choose(alt);
        inst.time = t;
        return;
      }
    }
  }

  int entry_bound(const Inst& inst) const {
    int bound = 0;
    for (const Timed& before : before_) {
      if (const auto gap = min_gap(*before.inst, inst)) bound = std::max(bound, before.time + *gap);
    }
    return bound;
  }

  // Everything in this block or in flight from before it that later code has to respect.
  std::vector<Timed> all_before() const {
    std::vector<Timed> all = before_;
    for (const Inst* inst : free_) all.push_back({inst, inst->time});
    return all;
  }

  // Code that is placed already and follows this block, with times from the end of the block.
  void follow(int block, int offset, std::vector<Timed>& out) const {
    const auto b = static_cast<size_t>(block);
    if (offset >= kTail || !(scheduled_[b] || fn_.blocks[b].kernel)) return;
    for (const Inst& inst : fn_.blocks[b].insts) {
      if (inst.time + offset < 2 * kTail) out.push_back({&inst, inst.time + offset});
    }
    if (fn_.blocks[b].length == 0) return;
    for (int succ : fn_.blocks[b].succ) follow(succ, offset + fn_.blocks[b].length, out);
  }

  Result<void> close() {
    std::vector<Timed> after;
    for (int succ : block_.succ) {
      if (succ != index_) follow(succ, 0, after);
    }
    const std::vector<Timed> all = all_before();
    int length = 0;
    for (const Inst* inst : free_) length = std::max(length, inst->time + 1);
    for (const Timed& early : early_) length = std::max(length, early.time + 1);
    for (const Inst* inst : late_) length = std::max(length, -inst->time);
    for (const Timed& a : all) {
      for (const Timed& b : after) {
        if (const auto gap = min_gap(*a.inst, *b.inst)) length = std::max(length, a.time + *gap - b.time);
      }
      for (const Inst* b : late_) {
        if (const auto gap = min_gap(*a.inst, *b)) length = std::max(length, a.time + *gap - b->time);
      }
    }
    if (loops_to_itself()) length = std::max(length, self_bound(all));
    if (branch_ != nullptr) length = std::max(length, branch_bound(all) + 1 + kDelaySlots);
    const int limit = length + 4096;
    while (!fits_at(length, after)) {
      if (++length > limit)
        return fail(Code::kInternal, "block " + block_.name + ": no place for its end found");
    }
    finish(length);
    return {};
  }

  bool loops_to_itself() const {
    return std::find(block_.succ.begin(), block_.succ.end(), index_) != block_.succ.end();
  }

  int self_bound(const std::vector<Timed>& all) const {
    int bound = 0;
    for (const Timed& a : all) {
      for (const Inst* b : free_) {
        if (const auto gap = min_gap(*a.inst, *b)) bound = std::max(bound, a.time + *gap - b->time);
      }
    }
    return bound;
  }

  int branch_bound(const std::vector<Timed>& all) const {
    int bound = 0;
    for (const Timed& a : all) {
      if (const auto gap = register_gap(*a.inst, *branch_)) bound = std::max(bound, a.time + *gap);
      if (a.inst->effect == Effect::kLock || a.inst->effect == Effect::kDone)
        bound = std::max(bound, a.time + 1);
    }
    return bound;
  }

  bool fits_at(int length, const std::vector<Timed>& after) const {
    Reservations table = table_;
    if (branch_ != nullptr) {
      const Footprint print = footprint(*branch_, 0);
      if (!table.fits(print, length - 1 - kDelaySlots)) return false;
      table.add(print, length - 1 - kDelaySlots);
    }
    // Pinned code is consistent among itself, so it is checked against ours only.
    for (const Inst* inst : late_) {
      if (!table.fits(footprint(*inst, 0), length + inst->time)) return false;
    }
    for (const Timed& next : after) {
      if (!table.fits(footprint(*next.inst, 0), length + next.time)) return false;
    }
    if (loops_to_itself()) {
      for (const Inst* inst : free_) {
        // The block's own rows, seen from its previous run.
        if (!tail_fits(*inst, length)) return false;
      }
    }
    return true;
  }

  // Units that this block still holds at its end, against its first instructions when it repeats.
  bool tail_fits(const Inst& inst, int length) const {
    Reservations tail;
    for (const Inst* other : free_) {
      if (other->time > length - kTail) tail.add(footprint(*other, 0), other->time - length);
    }
    return tail.fits(footprint(inst, 0), inst.time);
  }

  void finish(int length) {
    block_.length = length;
    if (branch_ != nullptr) branch_->time = length - 1 - kDelaySlots;
    for (Inst* inst : late_) inst->time += length;
    for (Inst* inst : late_) inst->pin = Inst::Pin::kFromStart;
  }

  Function& fn_;
  Block& block_;
  int index_;
  int window_ = 1 << 20;
  const std::vector<bool>& scheduled_;
  const std::vector<Timed>& tails_;
  Reservations table_;
  std::vector<Inst*> free_, late_;
  std::vector<Timed> early_, before_;
  Inst* branch_ = nullptr;
};

}  // namespace

Result<void> schedule_blocks(Function& fn, const ScheduleOptions& options) {
  std::vector<bool> scheduled(fn.blocks.size());
  std::vector<std::vector<Timed>> tails(fn.blocks.size());  // in flight at the start of each block
  const auto pass_on = [&](size_t from, size_t to) {
    const Block& block = fn.blocks[from];
    for (const Inst& inst : block.insts) {
      if (inst.time - block.length > -kTail) tails[to].push_back({&inst, inst.time - block.length});
    }
    for (const Timed& tail : tails[from]) {
      if (tail.time - block.length > -kTail) tails[to].push_back({tail.inst, tail.time - block.length});
    }
  };
  for (size_t b = 0; b < fn.blocks.size(); ++b) {
    if (!fn.blocks[b].kernel) {
      TRY(BlockScheduler(fn, static_cast<int>(b), options, scheduled, tails[b]).run());
    }
    scheduled[b] = true;
    for (int succ : fn.blocks[b].succ) {
      if (static_cast<size_t>(succ) > b) pass_on(b, static_cast<size_t>(succ));
    }
  }
  return {};
}

}  // namespace tegula::compiler::backend
