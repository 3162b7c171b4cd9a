// Runs a graph node by node through an OpRunner; counts, times and, on demand, checks what the device
// computed.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/op_runner.h"
#include "graph/graph.h"

namespace tegula::engine {

// Totals since the last reset.
struct OpTotals {
  i64 host = 0;    // nodes run on the host
  i64 device = 0;  // nodes run on the device
  double host_seconds = 0;
  double device_seconds = 0;
};

// A device node against the same node in fp32 on the host, worst of all passes.
struct CheckRow {
  std::string node;
  double relative_l2 = 0;
  double worst = 0;  // largest absolute difference
  i64 worst_row = 0;
  i64 worst_col = 0;
};

// `got` against `want`, which have the same shape.
CheckRow compare(const std::string& node, const ref::Tensor& got, const ref::Tensor& want);

struct ExecutionReport {
  i64 passes = 0;
  i64 rows = 0;
  std::array<OpTotals, graph::kOpCount> ops;
  std::vector<CheckRow> checks;  // one per checked node, in graph order

  OpTotals total() const;
};

// What an observer gets after each node.
struct NodeEvent {
  const graph::Graph& graph;
  i32 index;
  Place place;
  double begin_seconds;  // since the start of the pass
  double end_seconds;
  const ref::Tensor& out;
};

class Executor {
 public:
  // Prepares the runner for the graph. `runner` must outlive the executor.
  static Result<Executor> create(std::shared_ptr<const graph::Graph> graph, OpRunner& runner);

  const graph::Graph& graph() const { return *graph_; }

  // Runs all nodes; the result is output 0 and stays valid until the next run.
  // kInvalidArgument for a pass whose parts do not fit together.
  Result<const ref::Tensor*> run(const Pass& pass);
  const ref::Tensor& output(size_t i) const { return buffers_[buffer_of_[graph_->outputs[i]]]; }

  void observe(std::function<void(const NodeEvent&)> observer) { observer_ = std::move(observer); }
  // Runs each device node on `yardstick` as well and records the difference; null turns it off.
  void check_against(OpRunner* yardstick) { yardstick_ = yardstick; }

  const ExecutionReport& report() const { return report_; }
  void reset_report();

 private:
  Executor(std::shared_ptr<const graph::Graph> graph, OpRunner& runner)
      : graph_(std::move(graph)), runner_(&runner) {}
  void assign_buffers();
  Result<void> check_pass(const Pass& pass) const;
  Result<void> run_node(i32 index, const Pass& pass, double pass_begin);
  Result<void> check_node(const OpCall& call);

  std::shared_ptr<const graph::Graph> graph_;
  OpRunner* runner_;
  OpRunner* yardstick_ = nullptr;
  std::function<void(const NodeEvent&)> observer_;
  std::vector<i32> buffer_of_;  // by value; kNone for graph inputs
  std::vector<ref::Tensor> buffers_;
  ref::Tensor expected_;
  std::vector<i32> check_row_of_;  // by node; kNone until checked
  ExecutionReport report_;
};

}  // namespace tegula::engine
