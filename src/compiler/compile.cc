// Compilation as a table of contents; each stage is a file of its own.
#include "compiler/compile.h"

#include "compiler/emit/matmul_array.h"
#include "format/pdi.h"
#include "format/xclbin.h"

namespace tegula::compiler {
namespace {

// Weight images start on pages, so that each can be flushed alone.
constexpr u64 kImageAlignment = 4096;

Epilogue epilogue_of(graph::Activation activation) {
  return activation == graph::Activation::kGelu ? Epilogue::kGelu : Epilogue::kNone;
}

void place_products(const std::vector<ProductGroup>& groups, CompiledModel& model) {
  for (const ProductGroup& group : groups) {
    Product product{.group = group};
    product.layout = MatmulLayout(model.config, {group.k, group.n});
    product.epilogue = epilogue_of(group.activation);
    product.weights_offset = model.weights_bytes;
    model.weights_bytes +=
        (product.layout.weight_bytes + kImageAlignment - 1) / kImageAlignment * kImageAlignment;
    for (i32 node : group.nodes) model.product_of_node[node] = static_cast<i32>(model.products.size());
    model.products.push_back(std::move(product));
  }
}

}  // namespace

Result<CompiledModel> compile(const graph::Graph& graph, const CompileOptions& options) {
  CompiledModel model;
  model.product_of_node.assign(graph.nodes.size(), -1);

  // Which products run together.
  const std::vector<ProductGroup> groups = group_products(graph);
  if (groups.empty())
    return fail(Code::kUnsupported, "graph " + graph.name + " has no matrix product to compile");

  // One configuration for all of them.
  std::vector<MatmulShape> shapes;
  bool bias = false;
  for (const ProductGroup& group : groups) {
    shapes.push_back({group.k, group.n});
    bias |= group.bias;
  }
  TRY_ASSIGN(model.config, choose_config(Number::kBfp16, options.parts, bias, shapes, options.rows));

  // From here on sizes are fixed: layouts, then code, then the array around it.
  place_products(groups, model);
  TRY_ASSIGN(model.core, matmul_kernel(model.config));
  TRY_ASSIGN(const std::vector<format::CdoCommand> array, matmul_array(model.config, model.core.code));
  model.pdi = format::write_pdi(array);
  return model;
}

Bytes to_xclbin(const CompiledModel& model) {
  return format::write_xclbin({.pdi = model.pdi});
}

Result<Bytes> product_stream(const CompiledModel& model, const Product& product, i64 rows) {
  const MatmulRun run{.layout = product.layout,
                      .pass = MatmulPass(model.config, product.layout, rows),
                      .weights = product.weights_offset};
  return matmul_stream(model.config, std::span(&run, 1));
}

}  // namespace tegula::compiler
