// Which parts of a trace must come before which: by the cells that they read and write, in true order of
// time. Parts of one instruction merge into one operation where no other has to come in between.
#pragma once

#include <algorithm>
#include <vector>

#include "emu/core/trace_steps.h"

namespace tegula::emu {

enum class TraceRole : u8 { kDirect, kBegin, kIssue, kEnd };

// A piece of work at one or several moments: a part of an instruction's direct form, or a step of the
// pipeline model.
struct TracePart {
  TraceRole role = TraceRole::kDirect;
  int op = -1;                    // index into direct_, or of the step
  u32 first = ~u32{0}, last = 0;  // stamps
  u32 level = 0;                  // of the model: the stamp that orders it
  std::vector<TraceTouch> touches;
  bool model() const { return role != TraceRole::kDirect; }
};

class TraceGraph {
 public:
  explicit TraceGraph(std::vector<TracePart>& parts)
      : parts_(parts), group_(parts.size()), next_(parts.size()) {
    for (size_t i = 0; i < parts.size(); ++i) group_[i] = static_cast<int>(i);
    low_.resize(parts.size());
    high_.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) low_[i] = parts[i].first, high_[i] = parts[i].last;
    seen_.resize(parts.size());
  }
  // The cycle in which two results arrive at one place at once, or a bypass is not plain; ~0: none.
  u32 connect();
  void follows(int part, int before) { next_[before].push_back(part); }
  bool merge(int a, int b);
  int group(int part) const { return group_[part]; }
  std::vector<int> order() const;  // groups, each once; fewer when they wait for each other
  size_t groups() const {
    return static_cast<size_t>(std::count_if(group_members_.begin(), group_members_.end(),
                                             [](const auto& m) { return !m.empty(); }));
  }

 private:
  u32 connect_cell(std::vector<std::pair<TraceTouch, int>>& touches);
  void edge(int from, int to) {
    if (from == to) return;
    // The model keeps its own order, except among the instructions of one bundle.
    if (parts_[from].model() && parts_[to].model() && parts_[from].level != parts_[to].level) return;
    next_[from].push_back(to);
  }
  void chain_models();
  bool detour(int from, int to);
  bool walk(int group, int to, u32 limit);

  std::vector<TracePart>& parts_;
  std::vector<int> group_;
  std::vector<std::vector<int>> next_;  // by part
  std::vector<std::vector<int>> group_members_;
  std::vector<u32> low_, high_;  // stamps of a group
  std::vector<u32> seen_;
  u32 round_ = 0;
};

}  // namespace tegula::emu
