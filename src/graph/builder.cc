// Builder, and look-up by name.
#include <utility>

#include "graph/graph.h"

namespace tegula::graph {

ValueId Graph::find_value(std::string_view value_name) const {
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].name == value_name) return static_cast<ValueId>(i);
  }
  return kNone;
}

WeightId Graph::find_weight(std::string_view weight_name) const {
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i].name == weight_name) return static_cast<WeightId>(i);
  }
  return kNone;
}

Builder::Builder(std::string graph_name) {
  graph_.name = std::move(graph_name);
}

ValueId Builder::refuse(Error error) {
  if (status_.ok()) status_ = std::move(error);
  return kNone;
}

ValueId Builder::add_value(std::string name, Type type, i32 producer) {
  const ValueId id = static_cast<ValueId>(graph_.values.size());
  if (!value_names_.emplace(name, id).second) {
    return refuse(fail(Code::kInvalidArgument, "%" + name + " is defined twice"));
  }
  graph_.values.push_back({std::move(name), type, producer});
  return id;
}

ValueId Builder::input(std::string name, DType dtype, i64 cols) {
  if (!status_.ok()) return kNone;
  if (cols <= 0)
    return refuse(fail(Code::kInvalidArgument, "input " + name + ": columns must be more than 0"));
  const ValueId id = add_value(std::move(name), {dtype, Rows::kTokens, cols}, kNone);
  if (id != kNone) graph_.inputs.push_back(id);
  return id;
}

WeightId Builder::weight(const std::string& name, i64 rows, i64 cols) {
  if (!status_.ok()) return kNone;
  if (rows <= 0 || cols <= 0) return refuse(fail(Code::kInvalidArgument, "weight " + name + " is empty"));
  const auto [at, is_new] = weight_names_.emplace(name, static_cast<WeightId>(graph_.weights.size()));
  if (is_new) {
    graph_.weights.push_back({name, rows, cols});
  } else if (const Weight& old = graph_.weights[at->second]; old.rows != rows || old.cols != cols) {
    return refuse(fail(Code::kInvalidArgument, "weight " + name + " is declared with two shapes"));
  }
  return at->second;
}

ValueId Builder::append(Node node, std::string name) {
  if (!status_.ok()) return kNone;
  Result<Type> type = infer_type(graph_, node);
  if (!type.ok()) return refuse(fail(type.error().code, "%" + name + ": " + type.error().message));
  node.output = add_value(std::move(name), *type, static_cast<i32>(graph_.nodes.size()));
  if (node.output == kNone) return kNone;
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().output;
}

ValueId Builder::embed(ValueId ids, WeightId table, std::string name) {
  return append({Op::kEmbed, {ids}, {table}, {}}, std::move(name));
}

ValueId Builder::rms_norm(ValueId x, WeightId weight, float eps, std::string name) {
  return append({Op::kRmsNorm, {x}, {weight}, {.eps = eps}}, std::move(name));
}

ValueId Builder::layer_norm(ValueId x, WeightId weight, WeightId bias, float eps, std::string name) {
  return append({Op::kLayerNorm, {x}, {weight, bias}, {.eps = eps}}, std::move(name));
}

ValueId Builder::matmul(ValueId x, WeightId weight, WeightId bias, Activation activation, std::string name) {
  Node node{Op::kMatmul, {x}, {weight}, {.activation = activation}};
  if (bias != kNone) node.weights.push_back(bias);
  return append(std::move(node), std::move(name));
}

ValueId Builder::rope(ValueId x, ValueId positions, i64 heads, i64 head_dim, float base, WeightId factors,
                      std::string name) {
  Node node{Op::kRope, {x, positions}, {}, {.base = base, .heads = heads, .head_dim = head_dim}};
  if (factors != kNone) node.weights.push_back(factors);
  return append(std::move(node), std::move(name));
}

ValueId Builder::attention(ValueId q, ValueId k, ValueId v, const AttentionShape& shape, std::string name) {
  const Attrs attrs{.scale = shape.scale,
                    .heads = shape.heads,
                    .kv_heads = shape.kv_heads,
                    .head_dim = shape.head_dim,
                    .layer = shape.layer,
                    .causal = shape.causal};
  return append({Op::kAttention, {q, k, v}, {}, attrs}, std::move(name));
}

ValueId Builder::silu_mul(ValueId gate, ValueId up, std::string name) {
  return append({Op::kSiluMul, {gate, up}, {}, {}}, std::move(name));
}

ValueId Builder::add(ValueId a, ValueId b, std::string name) {
  return append({Op::kAdd, {a, b}, {}, {}}, std::move(name));
}

ValueId Builder::scale(ValueId x, float factor, std::string name) {
  return append({Op::kScale, {x}, {}, {.scale = factor}}, std::move(name));
}

ValueId Builder::mean_pool(ValueId x, std::string name) {
  return append({Op::kMeanPool, {x}, {}, {}}, std::move(name));
}

ValueId Builder::last_row(ValueId x, std::string name) {
  return append({Op::kLastRow, {x}, {}, {}}, std::move(name));
}

ValueId Builder::l2_normalize(ValueId x, std::string name) {
  return append({Op::kL2Normalize, {x}, {}, {}}, std::move(name));
}

ValueId Builder::slice(ValueId x, i64 begin, i64 end, std::string name) {
  return append({Op::kSlice, {x}, {}, {.begin = begin, .end = end}}, std::move(name));
}

ValueId Builder::concat(ValueId a, ValueId b, std::string name) {
  return append({Op::kConcat, {a, b}, {}, {}}, std::move(name));
}

void Builder::output(ValueId value) {
  if (status_.ok()) graph_.outputs.push_back(value);
}

Result<Graph> Builder::finish() {
  if (!status_.ok()) return status_.error();
  TRY(verify(graph_));
  return std::move(graph_);
}

}  // namespace tegula::graph
