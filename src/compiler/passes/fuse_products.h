// Groups the matrix products of a graph: those of one input that need no different epilogue become one
// product whose weight rows stand below each other (query, key and value; gate and up).
#pragma once

#include <vector>

#include "graph/graph.h"

namespace tegula::compiler {

struct ProductGroup {
  std::vector<i32> nodes;         // indices into Graph::nodes, in the order of their columns
  std::vector<i64> first_column;  // of each node in the joint result
  i64 k = 0;
  i64 n = 0;
  bool bias = false;  // some node has a bias
  graph::Activation activation = graph::Activation::kNone;
};

// Groups in the order of their first node. Every matmul node is in exactly one group.
std::vector<ProductGroup> group_products(const graph::Graph& graph);

}  // namespace tegula::compiler
