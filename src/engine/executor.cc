#include "engine/executor.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace tegula::engine {
namespace {

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

CheckRow compare(const std::string& node, const ref::Tensor& got, const ref::Tensor& want) {
  CheckRow out;
  out.node = node;
  double error = 0, norm = 0;
  for (i64 r = 0; r < want.rows; ++r) {
    for (i64 c = 0; c < want.cols; ++c) {
      const double difference = std::fabs(static_cast<double>(got.row(r)[c]) - want.row(r)[c]);
      error += difference * difference;
      norm += static_cast<double>(want.row(r)[c]) * want.row(r)[c];
      if (!(difference > out.worst) && !std::isnan(difference)) continue;
      out.worst = difference;
      out.worst_row = r;
      out.worst_col = c;
    }
  }
  out.relative_l2 = norm > 0 ? std::sqrt(error / norm) : std::sqrt(error);
  return out;
}

OpTotals ExecutionReport::total() const {
  OpTotals out;
  for (const OpTotals& op : ops) {
    out.host += op.host;
    out.device += op.device;
    out.host_seconds += op.host_seconds;
    out.device_seconds += op.device_seconds;
  }
  return out;
}

Result<Executor> Executor::create(std::shared_ptr<const graph::Graph> graph, OpRunner& runner) {
  TRY(graph::verify(*graph));
  for (graph::ValueId id : graph->inputs) {
    const std::string& name = graph->values[id].name;
    if (name == "ids" || name == "positions" || name == "types") continue;
    return fail(Code::kUnsupported, "graph " + graph->name + ": no pass provides its input %" + name);
  }
  TRY(runner.prepare(*graph));
  Executor out(std::move(graph), runner);
  out.assign_buffers();
  out.reset_report();
  return out;
}

// A value's buffer is free again after its last reader, so a pass needs a handful of them, not one per node.
void Executor::assign_buffers() {
  std::vector<i32> last_use(graph_->values.size(), graph::kNone);
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    for (graph::ValueId id : graph_->nodes[i].inputs) last_use[id] = static_cast<i32>(i);
  }
  for (graph::ValueId id : graph_->outputs) last_use[id] = static_cast<i32>(graph_->nodes.size());
  buffer_of_.assign(graph_->values.size(), graph::kNone);
  std::vector<i32> free;
  i32 count = 0;
  for (size_t i = 0; i < graph_->nodes.size(); ++i) {
    const graph::Node& node = graph_->nodes[i];
    if (free.empty()) free.push_back(count++);
    buffer_of_[node.output] = free.back();
    free.pop_back();
    if (last_use[node.output] == graph::kNone) free.push_back(buffer_of_[node.output]);
    for (size_t j = 0; j < node.inputs.size(); ++j) {
      const graph::ValueId id = node.inputs[j];
      const bool repeated = std::find(node.inputs.begin(), node.inputs.begin() + static_cast<i64>(j), id) !=
                            node.inputs.begin() + static_cast<i64>(j);
      if (repeated || last_use[id] != static_cast<i32>(i) || buffer_of_[id] == graph::kNone) continue;
      free.push_back(buffer_of_[id]);
    }
  }
  buffers_.resize(count);
}

Result<void> Executor::check_pass(const Pass& pass) const {
  for (graph::ValueId id : graph_->inputs) {
    const std::string& name = graph_->values[id].name;
    const i64 found = static_cast<i64>(pass.input(name).size());
    if (found == pass.rows()) continue;
    return fail(Code::kInvalidArgument, "pass of " + std::to_string(pass.rows()) + " rows gives " +
                                            std::to_string(found) + " values for %" + name);
  }
  i64 rows = 0;
  for (const Sequence& sequence : pass.sequences) {
    if (sequence.length <= 0) return fail(Code::kInvalidArgument, "pass with an empty sequence");
    rows += sequence.length;
  }
  if (rows == pass.rows() && rows > 0) return {};
  return fail(Code::kInvalidArgument, "pass of " + std::to_string(pass.rows()) + " rows has sequences of " +
                                          std::to_string(rows) + " rows");
}

Result<void> Executor::check_node(const OpCall& call) {
  const OpCall again{call.graph, call.index, call.inputs, call.pass, expected_};
  TRY(yardstick_->run(again));
  CheckRow row = compare(call.graph.label(call.node()), call.out, expected_);
  i32& at = check_row_of_[call.index];
  if (at == graph::kNone) {
    at = static_cast<i32>(report_.checks.size());
    report_.checks.push_back(std::move(row));
  } else if (!(row.relative_l2 <= report_.checks[at].relative_l2)) {
    report_.checks[at] = std::move(row);
  }
  return {};
}

Result<void> Executor::run_node(i32 index, const Pass& pass, double pass_begin) {
  const graph::Node& node = graph_->nodes[index];
  std::array<const ref::Tensor*, 4> inputs{};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const i32 buffer = buffer_of_[node.inputs[i]];
    inputs[i] = buffer == graph::kNone ? nullptr : &buffers_[buffer];
  }
  ref::Tensor& out = buffers_[buffer_of_[node.output]];
  const OpCall call{*graph_, index, std::span(inputs.data(), node.inputs.size()), pass, out};
  const double begin = now_seconds();
  Result<Place> place = runner_->run(call);
  const double end = now_seconds();
  if (!place.ok()) return fail(place.error().code, "%" + graph_->label(node) + ": " + place.error().message);
  OpTotals& totals = report_.ops[static_cast<size_t>(node.op)];
  const bool on_device = *place == Place::kDevice;
  ++(on_device ? totals.device : totals.host);
  (on_device ? totals.device_seconds : totals.host_seconds) += end - begin;
  if (on_device && yardstick_ != nullptr) TRY(check_node(call));
  if (observer_) observer_({*graph_, index, *place, begin - pass_begin, end - pass_begin, out});
  return {};
}

Result<const ref::Tensor*> Executor::run(const Pass& pass) {
  TRY(check_pass(pass));
  const double begin = now_seconds();
  for (size_t i = 0; i < graph_->nodes.size(); ++i) TRY(run_node(static_cast<i32>(i), pass, begin));
  ++report_.passes;
  report_.rows += pass.rows();
  return &output(0);
}

void Executor::reset_report() {
  report_ = {};
  check_row_of_.assign(graph_->nodes.size(), graph::kNone);
}

}  // namespace tegula::engine
