// Iterative modulo scheduling (Rau, 1994): operations in order of height, each in the first free row of its
// window, with eviction where none is free; then operations move within their slack to shorten the lifetimes
// of values.
#include "compiler/backend/modulo.h"

#include <algorithm>
#include <limits>

namespace tegula::compiler::backend {

std::vector<Edge> loop_edges(const std::vector<const Inst*>& insts, const std::vector<bool>& local,
                             bool disjoint) {
  std::vector<Edge> edges = block_edges(insts);
  // The same instructions without the accesses that stay inside an iteration.
  std::vector<Inst> carried;
  for (const Inst* inst : insts) {
    carried.push_back(*inst);
    for (auto* list : {&carried.back().access, &carried.back().by_cell}) {
      std::erase_if(*list, [&](const Access& access) { return local[access.cell]; });
    }
  }
  for (size_t a = 0; a < insts.size(); ++a) {
    for (size_t b = 0; b <= a; ++b) {
      if (const auto gap = min_gap(carried[a], carried[b], disjoint)) {
        edges.push_back({static_cast<int>(a), static_cast<int>(b), *gap, 1});
      }
    }
  }
  return edges;
}

int resource_bound(const ModuloProblem& problem) {
  std::array<int, static_cast<size_t>(isa::Slot::kCount)> slots{};
  std::array<int, 64> units{};
  for (const Inst* inst : problem.insts) {
    if (inst->ops.size() > 1) continue;
    const Footprint print = footprint(*inst, 0);
    for (size_t s = 0; s < slots.size(); ++s) slots[s] += print.slots >> s & 1;
    for (u64 cycle : print.strong) {
      for (size_t u = 0; u < 64; ++u) units[u] += cycle >> u & 1;
    }
  }
  return std::max(
      {1, *std::max_element(slots.begin(), slots.end()), *std::max_element(units.begin(), units.end())});
}

namespace {

constexpr int kUnplaced = std::numeric_limits<int>::min() / 4;

class Scheduler {
 public:
  Scheduler(const ModuloProblem& problem, int ii, const Footprint& back)
      : problem_(problem),
        ii_(ii),
        n_(problem.insts.size()),
        table_(ii),
        out_(n_),
        in_(n_),
        prints_(n_),
        time_(n_, kUnplaced),
        last_(n_, kUnplaced),
        alt_(n_, 0) {
    for (const Edge& edge : problem.edges) {
      out_[static_cast<size_t>(edge.from)].push_back(edge);
      in_[static_cast<size_t>(edge.to)].push_back(edge);
    }
    for (size_t i = 0; i < n_; ++i) {
      for (size_t a = 0; a < problem.insts[i]->ops.size(); ++a) {
        prints_[i].push_back(footprint(*problem.insts[i], a));
      }
    }
    table_.add(back, back_row());
  }

  bool run(ModuloSchedule& out) {
    if (!heights()) return false;
    int budget = static_cast<int>(n_) * 12 + 64;
    for (int i = pick(); i >= 0; i = pick()) {
      if (--budget < 0 || !place(static_cast<size_t>(i))) return false;
    }
    tighten();
    const int low = n_ == 0 ? 0 : *std::min_element(time_.begin(), time_.end());
    const int shift = ((low % ii_) + ii_) % ii_ - low;  // a multiple of ii
    for (int& t : time_) t += shift;
    out.ii = ii_;
    out.time = time_;
    out.alternative = alt_;
    return true;
  }

 private:
  int back_row() const { return ((-1 - kDelaySlots) % ii_ + ii_) % ii_; }

  // Longest paths; a cycle of positive length means that the recurrences need a larger ii.
  bool heights() {
    height_.assign(n_, 0);
    for (size_t round = 0; round <= n_ + 1; ++round) {
      bool changed = false;
      for (const Edge& edge : problem_.edges) {
        const int need = height_[static_cast<size_t>(edge.to)] + edge.gap - ii_ * edge.distance;
        if (need > height_[static_cast<size_t>(edge.from)]) {
          height_[static_cast<size_t>(edge.from)] = need;
          changed = true;
        }
      }
      if (!changed) return true;
    }
    return false;
  }

  int pick() const {
    int best = -1;
    for (size_t i = 0; i < n_; ++i) {
      if (time_[i] != kUnplaced) continue;
      if (best < 0 || height_[i] > height_[static_cast<size_t>(best)]) best = static_cast<int>(i);
    }
    return best;
  }

  int earliest(size_t i) const {
    int bound = kUnplaced;
    for (const Edge& edge : in_[i]) {
      const int from = time_[static_cast<size_t>(edge.from)];
      if (from != kUnplaced && static_cast<size_t>(edge.from) != i)
        bound = std::max(bound, from + edge.gap - ii_ * edge.distance);
    }
    return bound;
  }

  int latest(size_t i) const {
    int bound = std::numeric_limits<int>::max() / 4;
    for (const Edge& edge : out_[i]) {
      const int to = time_[static_cast<size_t>(edge.to)];
      if (to != kUnplaced && static_cast<size_t>(edge.to) != i)
        bound = std::min(bound, to - edge.gap + ii_ * edge.distance);
    }
    return bound;
  }

  bool self_fits(size_t i, int alt) const {
    // A unit held for longer than ii collides with the next iteration.
    const Footprint& print = prints_[i][static_cast<size_t>(alt)];
    for (u64 unit = 0; unit < 64; ++unit) {
      std::vector<int> rows(static_cast<size_t>(ii_));
      for (int c = 0; c < print.count; ++c) {
        if ((print.strong[static_cast<size_t>(c)] >> unit & 1) != 0 &&
            ++rows[static_cast<size_t>(c % ii_)] > 1)
          return false;
      }
    }
    return true;
  }

  void put(size_t i, int t, size_t alt) {
    table_.add(prints_[i][alt], t);
    time_[i] = last_[i] = t;
    alt_[i] = static_cast<int>(alt);
  }

  void take(size_t i) {
    table_.remove(prints_[i][static_cast<size_t>(alt_[i])], time_[i]);
    time_[i] = kUnplaced;
  }

  bool place(size_t i) {
    const int bound = earliest(i);
    const int start = bound == kUnplaced ? 0 : bound;
    for (int t = start; t < start + ii_; ++t) {
      for (size_t alt = 0; alt < prints_[i].size(); ++alt) {
        if (!table_.fits(prints_[i][alt], t) || !self_fits(i, static_cast<int>(alt))) continue;
        put(i, t, alt);
        evict_violated(i);
        return true;
      }
    }
    const int forced = last_[i] == kUnplaced ? start : std::max(start, last_[i] + 1);
    return force(i, forced);
  }

  bool force(size_t i, int from) {
    for (int t = from; t < from + ii_; ++t) {
      for (size_t alt = 0; alt < prints_[i].size(); ++alt) {
        if (!self_fits(i, static_cast<int>(alt))) continue;
        std::vector<size_t> evicted;
        for (size_t j = 0; j < n_ && !table_.fits(prints_[i][alt], t); ++j) {
          if (j == i || time_[j] == kUnplaced) continue;
          const int at = time_[j];
          Reservations alone(ii_);
          alone.add(prints_[j][static_cast<size_t>(alt_[j])], at);
          if (alone.fits(prints_[i][alt], t)) continue;
          take(j);
          evicted.push_back(j);
        }
        if (!table_.fits(prints_[i][alt], t)) continue;  // the back edge is in the way
        put(i, t, alt);
        evict_violated(i);
        return true;
      }
    }
    return false;
  }

  void evict_violated(size_t i) {
    for (const Edge& edge : out_[i]) {
      const auto to = static_cast<size_t>(edge.to);
      if (to != i && time_[to] != kUnplaced && time_[to] < time_[i] + edge.gap - ii_ * edge.distance)
        take(to);
    }
    for (const Edge& edge : in_[i]) {
      const auto from = static_cast<size_t>(edge.from);
      if (from != i && time_[from] != kUnplaced && time_[i] < time_[from] + edge.gap - ii_ * edge.distance)
        take(from);
    }
  }

  // Register cost of an instruction at time t: how long the values that it makes or uses live.
  long lifetime_cost() const {
    std::vector<int> first(problem_.fn->cells, std::numeric_limits<int>::max()),
        last(problem_.fn->cells, kUnplaced);
    std::vector<u32> touched;
    for (size_t i = 0; i < n_; ++i) {
      for (const Access& access : problem_.insts[i]->access) {
        if (!problem_.local[access.cell]) continue;
        if (first[access.cell] == std::numeric_limits<int>::max() && last[access.cell] == kUnplaced)
          touched.push_back(access.cell);
        if (access.def) first[access.cell] = std::min(first[access.cell], time_[i] + access.cycle);
        last[access.cell] = std::max(last[access.cell], time_[i] + access.cycle - (access.def ? 0 : 1));
      }
    }
    long cost = 0;
    for (u32 cell : touched) {
      const int length = last[cell] - first[cell] + 1;
      cost += length + 64L * ((length + ii_ - 1) / ii_);
    }
    return cost;
  }

  void tighten() {
    if (n_ > 200) return;
    const int span = ii_;
    for (int round = 0; round < 4; ++round) {
      bool changed = false;
      for (size_t i = n_; i-- > 0;) changed = improve(i, span) || changed;
      if (!changed) return;
    }
  }

  bool improve(size_t i, int span) {
    const int here = time_[i];
    const int low = std::max(earliest(i), here - 4 * span), high = std::min(latest(i), here + 4 * span);
    const long before = lifetime_cost();
    long best_cost = before;
    int best = here;
    const Footprint& print = prints_[i][static_cast<size_t>(alt_[i])];
    table_.remove(print, here);
    for (int t = high; t >= low; --t) {
      if (t == here || !table_.fits(print, t)) continue;
      time_[i] = t;
      const long cost = lifetime_cost();
      if (cost < best_cost) {
        best_cost = cost;
        best = t;
      }
    }
    table_.add(print, best);
    time_[i] = best;
    return best != here;
  }

  const ModuloProblem& problem_;
  int ii_;
  size_t n_;
  Reservations table_;
  std::vector<std::vector<Edge>> out_, in_;
  std::vector<std::vector<Footprint>> prints_;
  std::vector<int> time_, last_, alt_, height_;
};

}  // namespace

bool modulo_schedule(const ModuloProblem& problem, int ii, const Footprint& back, ModuloSchedule& out) {
  return Scheduler(problem, ii, back).run(out);
}

}  // namespace tegula::compiler::backend
