// From a graph to a program for the array: groups the matrix products, chooses one configuration for all of
// them, generates the core program and the array configuration, and lays the weights out. Ops that are no
// matrix products stay on the host for now; CompiledModel says which.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "compiler/kernels/matmul_kernel.h"
#include "compiler/matmul_plan.h"
#include "compiler/passes/fuse_products.h"
#include "graph/graph.h"

namespace tegula::compiler {

struct CompileOptions {
  int parts = 1;   // 1 `fast`, 2 `high`
  int rows = 128;  // rows of the largest pass wanted; longer inputs take several passes
};

struct Product {
  ProductGroup group;
  MatmulLayout layout;
  Epilogue epilogue = Epilogue::kNone;
  u64 weights_offset = 0;  // of its image in the weight buffer
};

struct CompiledModel {
  MatmulConfig config;
  CoreProgram core;
  Bytes pdi;
  std::vector<Product> products;
  std::vector<i32>
      product_of_node;  // per graph node: index into products, or -1 when the node runs on the host
  u64 weights_bytes = 0;
};

Result<CompiledModel> compile(const graph::Graph& graph, const CompileOptions& options);

// The container that other tools load: the PDI of the model in an xclbin.
Bytes to_xclbin(const CompiledModel& model);

// The stream of one product for a pass of `rows` rows; weights, activations and results at offsets 0 of their
// arguments but for the product's own place in the weight buffer.
Result<Bytes> product_stream(const CompiledModel& model, const Product& product, i64 rows);

}  // namespace tegula::compiler
