#include "engine/check.h"

#include <map>

#include "engine/session.h"

namespace tegula::engine {
namespace {

using Outputs = std::map<std::string, ref::Tensor>;

// Runs the tokens as one sequence; decoders through a session, encoders in one pass.
Result<void> run_tokens(Engine& engine, std::span<const i32> tokens) {
  if (engine.traits().decoder) {
    TRY_ASSIGN(const std::unique_ptr<Session> session, Session::open(engine));
    TRY_ASSIGN(const ref::Tensor* logits, session->advance(tokens));
    (void)logits;
    return {};
  }
  std::vector<i32> positions(tokens.size()), types(tokens.size(), 0);
  for (size_t i = 0; i < positions.size(); ++i) positions[i] = static_cast<i32>(i);
  const Sequence sequence{.length = static_cast<i64>(tokens.size())};
  TRY_ASSIGN(
      const ref::Tensor* out,
      engine.run(
          {.ids = tokens, .positions = positions, .types = types, .sequences = std::span(&sequence, 1)}));
  (void)out;
  return {};
}

}  // namespace

Result<std::vector<CheckLine>> check_device(Engine& device, Engine& cpu, std::span<const i32> tokens) {
  Outputs expected;
  cpu.executor().observe([&](const NodeEvent& event) {
    if (event.graph.nodes[event.index].op == graph::Op::kMatmul) {
      expected[event.graph.label(event.graph.nodes[event.index])] = event.out;
    }
  });
  const Result<void> on_cpu = run_tokens(cpu, tokens);
  cpu.executor().observe({});
  TRY(on_cpu);

  std::vector<CheckLine> lines;
  device.executor().reset_report();
  device.executor().observe([&](const NodeEvent& event) {
    if (event.place != Place::kDevice) return;
    const std::string& node = event.graph.label(event.graph.nodes[event.index]);
    lines.push_back({.local = {}, .accumulated = compare(node, event.out, expected[node])});
  });
  const Result<void> on_device = run_tokens(device, tokens);
  device.executor().observe({});
  TRY(on_device);
  for (CheckLine& line : lines) {
    for (const CheckRow& row : device.executor().report().checks) {
      if (row.node == line.accumulated.node) line.local = row;
    }
  }
  return lines;
}

}  // namespace tegula::engine
