// Shape rules of the op table, and verify().
#include <unordered_set>

#include "graph/graph.h"
#include "graph/text.h"

namespace tegula::graph {
namespace {

std::string shape_text(const Weight& weight) {
  return "[" + std::to_string(weight.rows) + "," + std::to_string(weight.cols) + "]";
}

// What the rules ask of a node; each check names the node's op, the operand, what it is and what it should
// be.
class Rule {
 public:
  Rule(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Type& in(size_t i) const { return graph_.type(node_.inputs[i]); }
  const Weight& weight(size_t i) const { return graph_.weights[node_.weights[i]]; }
  const Attrs& attrs() const { return node_.attrs; }

  Error refuse(const std::string& what) const {
    return fail(Code::kInvalidArgument, std::string(op_info(node_.op).name) + ": " + what);
  }
  Result<void> input_is(size_t i, DType dtype, i64 cols) const {
    const Value& value = graph_.values[node_.inputs[i]];
    if (value.type.dtype != dtype) {
      return refuse("operand %" + value.name + " must be " + (dtype == DType::kF32 ? "f32" : "i32"));
    }
    if (value.type.cols != cols) {
      return refuse("operand %" + value.name + " has " + std::to_string(value.type.cols) +
                    " columns, expected " + std::to_string(cols));
    }
    return {};
  }
  Result<void> float_input(size_t i) const { return input_is(i, DType::kF32, in(i).cols); }
  Result<void> same_rows(size_t i, size_t j) const {
    if (in(i).rows != in(j).rows)
      return refuse("operands differ in their row dimension (tokens against sequences)");
    return {};
  }
  Result<void> weight_is(size_t i, i64 rows, i64 cols) const {
    const Weight& w = weight(i);
    if (w.rows == rows && w.cols == cols) return {};
    return refuse("weight " + w.name + " is " + shape_text(w) + ", expected " + shape_text({"", rows, cols}));
  }
  Result<void> positive(i64 value, const char* name) const {
    if (value <= 0)
      return refuse(std::string(name) + " is " + std::to_string(value) + ", expected more than 0");
    return {};
  }

 private:
  const Graph& graph_;
  const Node& node_;
};

Result<Type> infer_embed(const Rule& rule) {
  TRY(rule.input_is(0, DType::kI32, 1));
  return Type{DType::kF32, rule.in(0).rows, rule.weight(0).cols};
}

Result<Type> infer_norm(const Rule& rule, size_t vectors) {
  TRY(rule.float_input(0));
  for (size_t i = 0; i < vectors; ++i) TRY(rule.weight_is(i, 1, rule.in(0).cols));
  if (!(rule.attrs().eps >= 0)) return rule.refuse("eps must not be negative");
  return rule.in(0);
}

Result<Type> infer_matmul(const Rule& rule, bool has_bias) {
  const Weight& weight = rule.weight(0);
  TRY(rule.float_input(0));
  TRY(rule.weight_is(0, weight.rows, rule.in(0).cols));
  if (has_bias) TRY(rule.weight_is(1, 1, weight.rows));
  return Type{DType::kF32, rule.in(0).rows, weight.rows};
}

Result<Type> infer_rope(const Rule& rule, bool has_factors) {
  const Attrs& attrs = rule.attrs();
  TRY(rule.positive(attrs.heads, "heads"));
  TRY(rule.positive(attrs.head_dim, "head_dim"));
  if (attrs.head_dim % 2 != 0)
    return rule.refuse("head_dim must be even, is " + std::to_string(attrs.head_dim));
  if (!(attrs.base > 0)) return rule.refuse("base must be more than 0");
  TRY(rule.input_is(0, DType::kF32, attrs.heads * attrs.head_dim));
  TRY(rule.input_is(1, DType::kI32, 1));
  TRY(rule.same_rows(0, 1));
  if (has_factors) TRY(rule.weight_is(0, 1, attrs.head_dim / 2));
  return rule.in(0);
}

Result<Type> infer_attention(const Rule& rule) {
  const Attrs& attrs = rule.attrs();
  TRY(rule.positive(attrs.heads, "heads"));
  TRY(rule.positive(attrs.kv_heads, "kv_heads"));
  TRY(rule.positive(attrs.head_dim, "head_dim"));
  if (attrs.heads % attrs.kv_heads != 0) {
    return rule.refuse("heads (" + std::to_string(attrs.heads) + ") must be a multiple of kv_heads (" +
                       std::to_string(attrs.kv_heads) + ")");
  }
  if (attrs.layer < 0) return rule.refuse("layer must not be negative");
  TRY(rule.input_is(0, DType::kF32, attrs.heads * attrs.head_dim));
  for (size_t i : {1, 2}) {
    TRY(rule.input_is(i, DType::kF32, attrs.kv_heads * attrs.head_dim));
    TRY(rule.same_rows(0, i));
  }
  if (rule.in(0).rows != Rows::kTokens) return rule.refuse("operands must have one row per token");
  return rule.in(0);
}

Result<Type> infer_binary(const Rule& rule) {
  TRY(rule.float_input(0));
  TRY(rule.input_is(1, DType::kF32, rule.in(0).cols));
  TRY(rule.same_rows(0, 1));
  return rule.in(0);
}

Result<Type> infer_unary(const Rule& rule) {
  TRY(rule.float_input(0));
  return rule.in(0);
}

Result<Type> infer_pool(const Rule& rule) {
  TRY(rule.float_input(0));
  if (rule.in(0).rows != Rows::kTokens) return rule.refuse("the operand must have one row per token");
  return Type{DType::kF32, Rows::kSequences, rule.in(0).cols};
}

Result<Type> infer_slice(const Rule& rule) {
  TRY(rule.float_input(0));
  const auto [begin, end] = std::pair{rule.attrs().begin, rule.attrs().end};
  if (begin < 0 || end <= begin || end > rule.in(0).cols) {
    return rule.refuse("columns " + std::to_string(begin) + ".." + std::to_string(end) +
                       " of an operand with " + std::to_string(rule.in(0).cols) + " columns");
  }
  return Type{DType::kF32, rule.in(0).rows, end - begin};
}

Result<Type> infer_concat(const Rule& rule) {
  TRY(rule.float_input(0));
  TRY(rule.float_input(1));
  TRY(rule.same_rows(0, 1));
  return Type{DType::kF32, rule.in(0).rows, rule.in(0).cols + rule.in(1).cols};
}

Result<void> check_operands(const Graph& graph, const Node& node) {
  const OpInfo& info = op_info(node.op);
  const auto count_error = [&](const char* what, size_t found, const std::string& expected) {
    return fail(Code::kInvalidArgument, std::string(info.name) + ": found " + std::to_string(found) + " " +
                                            what + ", expected " + expected);
  };
  if (static_cast<int>(node.inputs.size()) != info.inputs) {
    return count_error("operands", node.inputs.size(), std::to_string(info.inputs));
  }
  const int weights = static_cast<int>(node.weights.size());
  if (weights < info.weights_min || weights > info.weights_max) {
    return count_error("weights", node.weights.size(),
                       std::to_string(info.weights_min) + ".." + std::to_string(info.weights_max));
  }
  for (ValueId id : node.inputs) {
    if (id < 0 || id >= static_cast<ValueId>(graph.values.size())) {
      return fail(Code::kInvalidArgument,
                  std::string(info.name) + ": an operand is not a value of the graph");
    }
  }
  for (WeightId id : node.weights) {
    if (id < 0 || id >= static_cast<WeightId>(graph.weights.size())) {
      return fail(Code::kInvalidArgument, std::string(info.name) + ": a weight is not declared in the graph");
    }
  }
  return {};
}

Result<void> verify_node(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  TRY_ASSIGN(const Type type, infer_type(graph, node));
  if (node.output < 0 || node.output >= static_cast<ValueId>(graph.values.size())) {
    return fail(Code::kInvalidArgument, "node " + std::to_string(index) + " has no result value");
  }
  const Value& result = graph.values[node.output];
  if (result.producer != static_cast<i32>(index)) {
    return fail(Code::kInvalidArgument, "%" + result.name + ": its producer is not the node that defines it");
  }
  if (!(result.type == type)) {
    return fail(Code::kInvalidArgument,
                "%" + result.name + ": its type is not that of " + print(graph, node));
  }
  for (ValueId id : node.inputs) {
    if (graph.values[id].producer >= static_cast<i32>(index)) {
      return fail(Code::kInvalidArgument, "%" + result.name + ": operand %" + graph.values[id].name +
                                              " is defined later; nodes must be in topological order");
    }
  }
  return {};
}

}  // namespace

Result<Type> infer_type(const Graph& graph, const Node& node) {
  TRY(check_operands(graph, node));
  const Rule rule(graph, node);
  switch (node.op) {
    case Op::kEmbed:
      return infer_embed(rule);
    case Op::kRmsNorm:
      return infer_norm(rule, 1);
    case Op::kLayerNorm:
      return infer_norm(rule, 2);
    case Op::kMatmul:
      return infer_matmul(rule, node.weights.size() > 1);
    case Op::kRope:
      return infer_rope(rule, !node.weights.empty());
    case Op::kAttention:
      return infer_attention(rule);
    case Op::kSiluMul:
    case Op::kAdd:
      return infer_binary(rule);
    case Op::kScale:
    case Op::kL2Normalize:
      return infer_unary(rule);
    case Op::kMeanPool:
    case Op::kLastRow:
      return infer_pool(rule);
    case Op::kSlice:
      return infer_slice(rule);
    case Op::kConcat:
      return infer_concat(rule);
  }
  return fail(Code::kInternal, "op without a shape rule");
}

Result<void> verify(const Graph& graph) {
  std::unordered_set<std::string> names;
  for (const Value& value : graph.values) {
    if (!names.insert(value.name).second)
      return fail(Code::kInvalidArgument, "%" + value.name + " is defined twice");
  }
  for (size_t i = 0; i < graph.nodes.size(); ++i) TRY(verify_node(graph, i));
  for (ValueId id : graph.outputs) {
    if (id < 0 || id >= static_cast<ValueId>(graph.values.size())) {
      return fail(Code::kInvalidArgument, "graph " + graph.name + ": an output is not a value of the graph");
    }
  }
  if (graph.outputs.empty()) return fail(Code::kInvalidArgument, "graph " + graph.name + " has no output");
  return {};
}

}  // namespace tegula::graph
