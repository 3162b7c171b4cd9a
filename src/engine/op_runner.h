// Runs single nodes of a graph. CpuRunner does every op through ref; an accelerator derives from it and takes
// the nodes that it has, leaving the rest to the base.
#pragma once

#include <span>
#include <string_view>

#include "engine/kv_cache.h"
#include "engine/weights.h"
#include "graph/graph.h"
#include "ref/tensor.h"

namespace tegula::engine {

// A run of consecutive rows of a pass that belong to one sequence.
struct Sequence {
  i64 length = 0;
  i64 slot = 0;  // of the KV cache
};

// One forward pass: the rows of several sequences, one after the other.
struct Pass {
  std::span<const i32> ids;        // one per row, like the next two
  std::span<const i32> positions;  // within its sequence
  std::span<const i32> types;
  std::span<const Sequence> sequences;

  i64 rows() const { return static_cast<i64>(ids.size()); }
  // The graph input of that name ("ids", "positions", "types"); empty for any other.
  std::span<const i32> input(std::string_view name) const;
};

enum class Place : u8 { kHost, kDevice };

struct OpCall {
  const graph::Graph& graph;
  i32 index = 0;                               // of the node
  std::span<const ref::Tensor* const> inputs;  // in the node's order; null for integer inputs, see `pass`
  const Pass& pass;
  ref::Tensor& out;  // resized by the runner

  const graph::Node& node() const { return graph.nodes[index]; }
  std::span<const i32> integers(size_t operand) const {
    return pass.input(graph.values[node().inputs[operand]].name);
  }
};

class OpRunner {
 public:
  virtual ~OpRunner() = default;
  virtual std::string_view name() const = 0;
  // Once per graph, before its first node: load, pack and upload what is needed.
  virtual Result<void> prepare(const graph::Graph& graph) = 0;
  // Runs one node and says where.
  virtual Result<Place> run(const OpCall& call) = 0;
};

class CpuRunner : public OpRunner {
 public:
  // What is referred to must outlive the runner. The cache may be null for graphs without causal attention.
  CpuRunner(WeightStore& weights, KvCache* cache, ThreadPool& pool)
      : weights_(weights), cache_(cache), pool_(pool) {}

  std::string_view name() const override { return "cpu"; }
  Result<void> prepare(const graph::Graph& graph) override;
  Result<Place> run(const OpCall& call) override;

 protected:
  WeightStore& weights() { return weights_; }
  ThreadPool& pool() { return pool_; }
  // Weight `i` of the node, expanded; a vector has rows = 1.
  Result<ref::MatrixView> weight(const OpCall& call, size_t i);

 private:
  Result<std::span<const float>> vector(const OpCall& call, size_t i);
  Result<void> embed(const OpCall& call);
  Result<void> norm(const OpCall& call);
  Result<void> matmul(const OpCall& call);
  Result<void> rope(const OpCall& call);
  Result<void> attention(const OpCall& call);
  Result<void> pool_rows(const OpCall& call);
  Result<void> elementwise(const OpCall& call);

  WeightStore& weights_;
  KvCache* cache_;
  ThreadPool& pool_;
};

}  // namespace tegula::engine
