// See fuse_products.h. Products may join when they read the same value and apply the same activation: the
// joint product is computed where the first of them stands, and nothing it reads comes later.
#include "compiler/passes/fuse_products.h"

#include <algorithm>

namespace tegula::compiler {

std::vector<ProductGroup> group_products(const graph::Graph& graph) {
  std::vector<ProductGroup> groups;
  for (i32 index = 0; index < static_cast<i32>(graph.nodes.size()); ++index) {
    const graph::Node& node = graph.nodes[index];
    if (node.op != graph::Op::kMatmul) continue;
    const graph::Weight& weight = graph.weights[node.weights[0]];
    const auto joins = [&](const ProductGroup& group) {
      return graph.nodes[group.nodes[0]].inputs[0] == node.inputs[0] &&
             group.activation == node.attrs.activation;
    };
    auto found = std::find_if(groups.begin(), groups.end(), joins);
    if (found == groups.end()) {
      found =
          groups.insert(groups.end(), ProductGroup{.k = weight.cols, .activation = node.attrs.activation});
    }
    found->nodes.push_back(index);
    found->first_column.push_back(found->n);
    found->n += weight.rows;
    found->bias |= node.weights.size() > 1;
  }
  return groups;
}

}  // namespace tegula::compiler
