#include "engine/npu_runner.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/stopwatch.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/matmul_pack.h"

namespace tegula::engine {
namespace {

using compiler::MatmulPass;
using compiler::Product;

constexpr i64 kPackGrain = 64;  // weight rows that one thread expands and packs at a time

}  // namespace

Result<std::unique_ptr<NpuRunner>> NpuRunner::create(WeightStore& weights, KvCache* cache, ThreadPool& pool,
                                                     const NpuOptions& options) {
  TRY_ASSIGN(std::unique_ptr<device::AccelNode> node, device::open_node(options.node, options.node_options));
  TRY_ASSIGN(std::unique_ptr<device::Client> client, device::Client::open(std::move(node)));
  return std::unique_ptr<NpuRunner>(new NpuRunner(weights, cache, pool, options, std::move(client)));
}

Result<void> NpuRunner::prepare(const graph::Graph& graph) {
  // Only what host ops read is expanded to fp32; matrix weights go straight into the packed image.
  for (const graph::Node& node : graph.nodes) {
    if (node.op == graph::Op::kMatmul) continue;
    for (const graph::WeightId id : node.weights) {
      if (id == graph::kNone) continue;
      TRY_ASSIGN(const ref::MatrixView view, weights().get(graph.weights[id]));
      (void)view;
    }
  }
  const Stopwatch compile_time;
  TRY_ASSIGN(model_, compiler::compile(graph, {.parts = options_.parts, .rows = options_.rows}));
  compile_seconds_ = compile_time.seconds();
  TRY(load_program());
  const Stopwatch layout_time;
  TRY(lay_out_weights(graph));
  layout_seconds_ = layout_time.seconds();
  return {};
}

Result<void> NpuRunner::load_program() {
  TRY_ASSIGN(context_, client_->create_context(model_.pdi));
  TRY_ASSIGN(const device::Code setup, client_->load_stream(compiler::token_setup_stream()));
  TRY_ASSIGN(const u64 sequence, client_->submit(context_, setup, {}));
  TRY(client_->wait(context_, sequence));
  u64 activation_bytes = 0, result_bytes = 0;
  for (const Product& product : model_.products) {
    const MatmulPass pass(model_.config, product.layout, model_.config.max_rows());
    activation_bytes = std::max<u64>(activation_bytes, pass.a_bytes());
    result_bytes = std::max<u64>(result_bytes, pass.c_bytes());
  }
  TRY_ASSIGN(activations_, client_->alloc(activation_bytes));
  TRY_ASSIGN(results_, client_->alloc(result_bytes));
  return {};
}

Result<void> NpuRunner::lay_out_weights(const graph::Graph& graph) {
  TRY_ASSIGN(weights_buffer_,
             client_->alloc(model_.weights_bytes));  // zero at first: padding needs no writing
  for (const Product& product : model_.products) TRY(lay_out_product(graph, product));
  client_->flush(weights_buffer_, 0, weights_buffer_.size);
  return {};
}

Result<void> NpuRunner::lay_out_product(const graph::Graph& graph, const Product& product) {
  std::vector<float> bias(product.layout.shape.n, 0.0f);
  for (size_t member = 0; member < product.group.nodes.size(); ++member) {
    TRY(pack_node(graph, product, member));
    const graph::Node& node = graph.nodes[product.group.nodes[member]];
    if (node.weights.size() < 2) continue;
    TRY_ASSIGN(const std::vector<float> values, weights().source().read(graph.weights[node.weights[1]]));
    std::copy(values.begin(), values.end(), bias.begin() + product.group.first_column[member]);
  }
  if (product.group.bias) {
    compiler::pack_bias(model_.config, product.layout, bias, weights_buffer_.data + product.weights_offset);
  }
  return {};
}

// Expands and packs the weight rows of one node, on all threads.
Result<void> NpuRunner::pack_node(const graph::Graph& graph, const Product& product, size_t member) {
  const graph::Weight& weight = graph.weights[graph.nodes[product.group.nodes[member]].weights[0]];
  const i64 first_column = product.group.first_column[member];
  std::mutex mutex;
  Result<void> status;
  pool().parallel_for(weight.rows, kPackGrain, [&](i64 begin, i64 end) {
    std::vector<float> rows((end - begin) * weight.cols);
    const Result<void> read = weights().source().read_rows(weight, begin, end - begin, rows);
    if (!read.ok()) {
      const std::lock_guard lock(mutex);
      status = read;
      return;
    }
    compiler::pack_weights(model_.config, product.layout, first_column + begin, end - begin, rows.data(),
                           weights_buffer_.data + product.weights_offset);
  });
  return status;
}

Result<Place> NpuRunner::run(const OpCall& call) {
  const i32 index = model_.product_of_node[call.index];
  if (index < 0) return CpuRunner::run(call);
  const compiler::ProductGroup& group = model_.products[index].group;
  if (call.index == group.nodes[0]) TRY(compute(index, *call.inputs[0]));
  const size_t member = std::find(group.nodes.begin(), group.nodes.end(), call.index) - group.nodes.begin();
  const i64 cols = call.graph.type(call.node().output).cols;
  call.out.resize(joint_.rows, cols);
  for (i64 row = 0; row < joint_.rows; ++row) {
    std::memcpy(call.out.row(row).data(), joint_.row(row).data() + group.first_column[member],
                cols * sizeof(float));
  }
  return Place::kDevice;
}

// The joint result of a group for all rows, in as many passes as the program needs.
Result<void> NpuRunner::compute(i32 index, const ref::Tensor& x) {
  joint_.resize(x.rows, model_.products[index].layout.shape.n);
  const i64 step = model_.config.max_rows();
  for (i64 first = 0; first < x.rows; first += step) {
    TRY(compute_pass(index, x, first, std::min(step, x.rows - first)));
  }
  return {};
}

Result<void> NpuRunner::compute_pass(i32 index, const ref::Tensor& x, i64 first, i64 rows) {
  const Product& product = model_.products[index];
  const MatmulPass pass(model_.config, product.layout, rows);
  TRY_ASSIGN(const device::Code* code, stream(index, pass, rows));

  compiler::pack_activations(model_.config, product.layout, pass, product.epilogue, rows, x.row(first).data(),
                             activations_.data);
  client_->flush(activations_, 0, pass.a_bytes());
  const device::Buffer* args[] = {&weights_buffer_, &activations_, &results_};
  TRY_ASSIGN(const u64 sequence, client_->submit(context_, *code, args));
  TRY(client_->wait(context_, sequence));
  client_->invalidate(results_, 0, pass.c_bytes());
  compiler::unpack_results(model_.config, product.layout, pass, rows, results_.data,
                           reinterpret_cast<u32*>(joint_.row(first).data()));
  useful_macs_ += static_cast<u64>(rows * product.layout.shape.n * product.layout.shape.k);
  return {};
}

Result<const device::Code*> NpuRunner::stream(i32 index, const MatmulPass& pass, i64 rows) {
  const StreamKey key{index, pass.mode, pass.row_blocks};
  auto found = streams_.find(key);
  if (found == streams_.end()) {
    TRY_ASSIGN(const Bytes bytes, compiler::product_stream(model_, model_.products[index], rows));
    TRY_ASSIGN(device::Code code, client_->load_stream(bytes));
    found = streams_.emplace(key, std::move(code)).first;
  }
  return &found->second;
}

NpuReport NpuRunner::report() const {
  return {.device = client_->info(),
          .stats = client_->stats(),
          .config = model_.config.name(),
          .compile_seconds = compile_seconds_,
          .layout_seconds = layout_seconds_,
          .weight_bytes = model_.weights_bytes,
          .useful_macs = useful_macs_};
}

}  // namespace tegula::engine
