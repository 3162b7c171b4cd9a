// See trace_graph.h.
#include "emu/core/trace_graph.h"

#include <map>
#include <queue>

namespace tegula::emu {

u32 TraceGraph::connect_cell(std::vector<std::pair<TraceTouch, int>>& touches) {
  std::stable_sort(touches.begin(), touches.end(),
                   [](const auto& a, const auto& b) { return a.first.when < b.first.when; });
  std::vector<int> readers;
  int writer = -1;
  u32 written = ~u32{0};
  const TraceTouch* write = nullptr;
  for (const auto& [touch, part] : touches) {
    if (!touch.write) {
      // A bypass sees a result a cycle early, if the same kind of unit wrote the very register.
      if (touch.bypass && write != nullptr && written == touch.when - kBypassRead + kVisible &&
          !(write->bypass && write->offset == touch.offset)) {
        return touch.when / 8;
      }
      if (writer >= 0) edge(writer, part);
      readers.push_back(part);
      continue;
    }
    if (writer >= 0 && written == touch.when && writer != part &&
        !(parts_[writer].model() && parts_[part].model())) {
      return touch.when / 8;
    }
    if (writer >= 0) edge(writer, part);
    for (int reader : readers) edge(reader, part);
    readers.clear();
    writer = part;
    written = touch.when;
    write = &touch;
  }
  return ~u32{0};
}

// Steps of the model run in the order of time: beginning of a cycle, its instructions in any order, its end.
void TraceGraph::chain_models() {
  std::map<u32, std::vector<int>> levels;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].model()) levels[parts_[i].level].push_back(static_cast<int>(i));
  }
  const std::vector<int>* before = nullptr;
  for (const auto& [level, parts] : levels) {
    if (before != nullptr) {
      for (int a : *before) next_[a].insert(next_[a].end(), parts.begin(), parts.end());
    }
    before = &parts;
  }
}

u32 TraceGraph::connect() {
  u32 conflict = ~u32{0};
  std::map<u32, std::vector<std::pair<TraceTouch, int>>> cells;
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (const TraceTouch& touch : parts_[i].touches)
      cells[touch.cell].push_back({touch, static_cast<int>(i)});
  }
  for (auto& [cell, touches] : cells) {
    if (cell == kMemoryCell) {
      // Stores are ordered with everything, loads only with stores.
      std::stable_sort(touches.begin(), touches.end(),
                       [](const auto& a, const auto& b) { return a.first.when < b.first.when; });
      int store = -1;
      std::vector<int> loads;
      for (const auto& [touch, part] : touches) {
        if (store >= 0) edge(store, part);
        if (!touch.write) {
          loads.push_back(part);
          continue;
        }
        for (int load : loads) edge(load, part);
        loads.clear();
        store = part;
      }
      continue;
    }
    conflict = std::min(conflict, connect_cell(touches));
  }
  chain_models();
  for (auto& list : next_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  group_members_.resize(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) group_members_[i] = {static_cast<int>(i)};
  return conflict;
}

bool TraceGraph::walk(int group, int to, u32 limit) {
  if (group == to) return true;
  if (seen_[group] == round_ || low_[group] > limit) return false;
  seen_[group] = round_;
  for (int part : group_members_[group]) {
    for (int next : next_[part]) {
      if (group_[next] != group && walk(group_[next], to, limit)) return true;
    }
  }
  return false;
}

// A way from one group to another through a third.
bool TraceGraph::detour(int from, int to) {
  ++round_;
  seen_[from] = round_;
  for (int part : group_members_[from]) {
    for (int next : next_[part]) {
      const int group = group_[next];
      if (group != from && group != to && walk(group, to, high_[to])) return true;
    }
  }
  return false;
}

bool TraceGraph::merge(int a, int b) {
  const int x = group_[a], y = group_[b];
  if (x == y) return true;
  if (detour(x, y) || detour(y, x)) return false;
  for (int part : group_members_[y]) group_[part] = x;
  auto& members = group_members_[x];
  members.insert(members.end(), group_members_[y].begin(), group_members_[y].end());
  group_members_[y].clear();
  low_[x] = std::min(low_[x], low_[y]);
  high_[x] = std::max(high_[x], high_[y]);
  return true;
}

std::vector<int> TraceGraph::order() const {
  std::vector<int> waiting(parts_.size(), 0);
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (int next : next_[p]) {
      if (group_[next] != group_[p]) ++waiting[group_[next]];
    }
  }
  using Ready = std::pair<u32, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (size_t g = 0; g < parts_.size(); ++g) {
    if (!group_members_[g].empty() && waiting[g] == 0) ready.push({low_[g], static_cast<int>(g)});
  }
  std::vector<int> out;
  while (!ready.empty()) {
    const int g = ready.top().second;
    ready.pop();
    out.push_back(g);
    for (int part : group_members_[g]) {
      for (int next : next_[part]) {
        const int to = group_[next];
        if (to != g && --waiting[to] == 0) ready.push({low_[to], to});
      }
    }
  }
  return out;
}

}  // namespace tegula::emu
