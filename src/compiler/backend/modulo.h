// Modulo scheduling of one loop body: times such that iterations may start every `ii` bundles. Internal to
// src/compiler/backend.
#pragma once

#include <vector>

#include "compiler/backend/schedule.h"

namespace tegula::compiler::backend {

struct ModuloProblem {
  const Function* fn;
  std::vector<const Inst*> insts;
  std::vector<Edge> edges;
  std::vector<bool> local;  // by cell: value does not outlive its iteration
};

struct ModuloSchedule {
  int ii = 0, min_ii = 0;
  std::vector<int> time, alternative;
  BackEdge back_edge = BackEdge::kJnz;
};

// Edges within an iteration and to the next one. Cells in `local` carry nothing to the next iteration.
std::vector<Edge> loop_edges(const std::vector<const Inst*>& insts, const std::vector<bool>& local,
                             bool disjoint);

// Lower bound from slots and units.
int resource_bound(const ModuloProblem& problem);

// A schedule at exactly this ii that leaves room for the back edge: `back` is its footprint, in row (-6 mod
// ii).
bool modulo_schedule(const ModuloProblem& problem, int ii, const Footprint& back, ModuloSchedule& out);

}  // namespace tegula::compiler::backend
