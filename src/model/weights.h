// The weights of a model as one table: name pattern, shape, present or not. Building, loading and reporting
// use it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tegula::model {

// "{}" in a pattern stands for the layer number. Vectors have rows = 1.
struct WeightSpec {
  std::string_view pattern;
  i64 rows = 0;
  i64 cols = 0;
  bool present = true;  // false: the configuration goes without it

  bool per_layer() const { return pattern.find("{}") != std::string_view::npos; }
  std::string name(i64 layer) const;
};

// Declares weights of a table in a graph.
class WeightTable {
 public:
  WeightTable(graph::Builder& builder, std::vector<WeightSpec> specs)
      : builder_(builder), specs_(std::move(specs)) {}

  // kNone for a weight that the configuration goes without; a pattern that is not in the table is an error of
  // finish().
  graph::WeightId operator()(std::string_view pattern, i64 layer = 0);

 private:
  graph::Builder& builder_;
  std::vector<WeightSpec> specs_;
};

}  // namespace tegula::model
