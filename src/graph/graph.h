// A model as a list of operations. Values are matrices [rows, cols]; weights are constants referred to by
// name.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "graph/op.h"

namespace tegula::graph {

// Rows of a value are symbolic: one per token of the pass, or one per sequence of the pass.
enum class Rows : u8 { kTokens, kSequences };
enum class DType : u8 { kF32, kI32 };

struct Type {
  DType dtype = DType::kF32;
  Rows rows = Rows::kTokens;
  i64 cols = 0;

  bool operator==(const Type&) const = default;
};

using ValueId = i32;   // index into Graph::values
using WeightId = i32;  // index into Graph::weights
inline constexpr i32 kNone = -1;

// A named constant matrix [rows, cols], row-major; vectors have rows = 1. A matmul weight is [N, K].
struct Weight {
  std::string name;
  i64 rows = 0;
  i64 cols = 0;

  bool operator==(const Weight&) const = default;
};

struct Value {
  std::string name;  // unique in the graph
  Type type;
  i32 producer = kNone;  // index into Graph::nodes; kNone for graph inputs
};

struct Node {
  Op op;
  std::vector<ValueId> inputs;
  std::vector<WeightId> weights;
  Attrs attrs;
  ValueId output = kNone;
};

struct Graph {
  std::string name;
  std::vector<Value> values;
  std::vector<Weight> weights;
  std::vector<ValueId> inputs;
  std::vector<Node> nodes;  // in topological order
  std::vector<ValueId> outputs;

  const Type& type(ValueId value) const { return values[value].type; }
  const std::string& label(const Node& node) const { return values[node.output].name; }
  ValueId find_value(std::string_view value_name) const;  // kNone where absent
  WeightId find_weight(std::string_view weight_name) const;
};

// The result type of `node` from its operands; the error names the operand that does not fit.
Result<Type> infer_type(const Graph& graph, const Node& node);

// Checks every node against the op table, order of definition, unique names and result types.
Result<void> verify(const Graph& graph);

// Appends nodes in order. The first error sticks, later calls do nothing, finish() reports it; so a model is
// written without checks between its lines. A result is named by `name`, which must be new in the graph.
class Builder {
 public:
  explicit Builder(std::string graph_name);

  ValueId input(std::string name, DType dtype, i64 cols);
  // Declares a weight, or returns the earlier declaration of the same name and shape.
  WeightId weight(const std::string& name, i64 rows, i64 cols);
  WeightId vector(const std::string& name, i64 cols) { return weight(name, 1, cols); }

  ValueId embed(ValueId ids, WeightId table, std::string name);
  ValueId rms_norm(ValueId x, WeightId weight, float eps, std::string name);
  ValueId layer_norm(ValueId x, WeightId weight, WeightId bias, float eps, std::string name);
  // bias may be kNone.
  ValueId matmul(ValueId x, WeightId weight, WeightId bias, Activation activation, std::string name);
  // factors may be kNone; otherwise a vector of head_dim / 2 divisors of the frequencies.
  ValueId rope(ValueId x, ValueId positions, i64 heads, i64 head_dim, float base, WeightId factors,
               std::string name);
  struct AttentionShape {
    i64 heads, kv_heads, head_dim;
    bool causal;
    i64 layer;
    float scale;
  };
  ValueId attention(ValueId q, ValueId k, ValueId v, const AttentionShape& shape, std::string name);
  ValueId silu_mul(ValueId gate, ValueId up, std::string name);
  ValueId add(ValueId a, ValueId b, std::string name);
  ValueId scale(ValueId x, float factor, std::string name);
  ValueId mean_pool(ValueId x, std::string name);
  ValueId last_row(ValueId x, std::string name);
  ValueId l2_normalize(ValueId x, std::string name);
  ValueId slice(ValueId x, i64 begin, i64 end, std::string name);
  ValueId concat(ValueId a, ValueId b, std::string name);

  // The general form behind all of them.
  ValueId append(Node node, std::string name);

  void output(ValueId value);
  Result<Graph> finish();

 private:
  ValueId add_value(std::string name, Type type, i32 producer);
  ValueId refuse(Error error);

  Graph graph_;
  std::unordered_map<std::string, ValueId> value_names_;
  std::unordered_map<std::string, WeightId> weight_names_;
  Result<void> status_;
};

}  // namespace tegula::graph
