#include "engine/op_runner.h"

namespace tegula::engine {

using graph::Op;

std::span<const i32> Pass::input(std::string_view name) const {
  if (name == "ids") return ids;
  if (name == "positions") return positions;
  if (name == "types") return types;
  return {};
}

Result<void> CpuRunner::prepare(const graph::Graph& graph) {
  for (const graph::Weight& weight : graph.weights) TRY(weights_.get(weight));
  return {};
}

Result<ref::MatrixView> CpuRunner::weight(const OpCall& call, size_t i) {
  return weights_.get(call.graph.weights[call.node().weights[i]]);
}

// An absent optional weight is an empty span.
Result<std::span<const float>> CpuRunner::vector(const OpCall& call, size_t i) {
  if (i >= call.node().weights.size()) return std::span<const float>();
  TRY_ASSIGN(const ref::MatrixView view, weight(call, i));
  return std::span<const float>(view.data, static_cast<size_t>(view.rows * view.cols));
}

Result<void> CpuRunner::embed(const OpCall& call) {
  TRY_ASSIGN(const ref::MatrixView table, weight(call, 0));
  return ref::embed(call.integers(0), table, call.out);
}

Result<void> CpuRunner::norm(const OpCall& call) {
  TRY_ASSIGN(const auto scale, vector(call, 0));
  TRY_ASSIGN(const auto bias, vector(call, 1));
  const float eps = call.node().attrs.eps;
  if (call.node().op == Op::kRmsNorm) {
    ref::rms_norm(*call.inputs[0], scale, eps, call.out);
  } else {
    ref::layer_norm(*call.inputs[0], scale, bias, eps, call.out);
  }
  return {};
}

Result<void> CpuRunner::matmul(const OpCall& call) {
  TRY_ASSIGN(const ref::MatrixView matrix, weight(call, 0));
  TRY_ASSIGN(const auto bias, vector(call, 1));
  ref::matmul(pool_, *call.inputs[0], matrix, bias, call.node().attrs.activation, call.out);
  return {};
}

Result<void> CpuRunner::rope(const OpCall& call) {
  TRY_ASSIGN(const auto factors, vector(call, 0));
  const graph::Attrs& attrs = call.node().attrs;
  ref::rope(*call.inputs[0], call.integers(1), attrs.heads, attrs.head_dim, attrs.base, factors, call.out);
  return {};
}

Result<void> CpuRunner::attention(const OpCall& call) {
  const graph::Attrs& attrs = call.node().attrs;
  const ref::Tensor &q = *call.inputs[0], &k = *call.inputs[1], &v = *call.inputs[2];
  std::vector<ref::AttentionRow> rows(q.rows);
  i64 first = 0;
  for (const Sequence& sequence : call.pass.sequences) {
    for (i64 r = first; r < first + sequence.length; ++r) {
      rows[r] = {k.row(first).data(), v.row(first).data(), sequence.length};
      if (!attrs.causal) continue;
      if (cache_ == nullptr) return fail(Code::kInternal, "causal attention without a KV cache");
      TRY(cache_->store(attrs.layer, sequence.slot, call.pass.positions[r], k.row(r), v.row(r)));
    }
    for (i64 r = first; attrs.causal && r < first + sequence.length; ++r) {
      rows[r] = {cache_->keys(attrs.layer, sequence.slot), cache_->values(attrs.layer, sequence.slot),
                 call.pass.positions[r] + 1};
    }
    first += sequence.length;
  }
  ref::attention(pool_, q, rows, attrs, call.out);
  return {};
}

Result<void> CpuRunner::pool_rows(const OpCall& call) {
  std::vector<i64> lengths;
  for (const Sequence& sequence : call.pass.sequences) lengths.push_back(sequence.length);
  if (call.node().op == Op::kMeanPool) {
    ref::mean_pool(*call.inputs[0], lengths, call.out);
  } else {
    ref::last_row(*call.inputs[0], lengths, call.out);
  }
  return {};
}

Result<void> CpuRunner::elementwise(const OpCall& call) {
  const graph::Attrs& attrs = call.node().attrs;
  const ref::Tensor& x = *call.inputs[0];
  switch (call.node().op) {
    case Op::kSiluMul:
      ref::silu_mul(x, *call.inputs[1], call.out);
      return {};
    case Op::kAdd:
      ref::add(x, *call.inputs[1], call.out);
      return {};
    case Op::kScale:
      ref::scale(x, attrs.scale, call.out);
      return {};
    case Op::kL2Normalize:
      ref::l2_normalize(x, call.out);
      return {};
    case Op::kSlice:
      ref::slice(x, attrs.begin, attrs.end, call.out);
      return {};
    case Op::kConcat:
      ref::concat(x, *call.inputs[1], call.out);
      return {};
    default:
      return fail(Code::kInternal,
                  "op " + std::string(graph::op_info(call.node().op).name) + " has no runner");
  }
}

Result<Place> CpuRunner::run(const OpCall& call) {
  const auto run_here = [&]() -> Result<void> {
    switch (call.node().op) {
      case Op::kEmbed:
        return embed(call);
      case Op::kRmsNorm:
      case Op::kLayerNorm:
        return norm(call);
      case Op::kMatmul:
        return matmul(call);
      case Op::kRope:
        return rope(call);
      case Op::kAttention:
        return attention(call);
      case Op::kMeanPool:
      case Op::kLastRow:
        return pool_rows(call);
      default:
        return elementwise(call);
    }
  };
  TRY(run_here());
  return Place::kHost;
}

}  // namespace tegula::engine
