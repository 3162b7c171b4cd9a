// Runs the matrix products of a graph on the NPU (silicon or emulated, the runner cannot tell) and the other
// ops on the host. Weights are packed once in prepare() and stay in a device buffer; activations and results
// travel per product.
#pragma once

#include <map>
#include <memory>
#include <tuple>

#include "compiler/compile.h"
#include "device/client.h"
#include "engine/op_runner.h"

namespace tegula::engine {

struct NpuOptions {
  device::NodeChoice node = device::NodeChoice::kAuto;
  device::NodeOptions node_options;
  int parts = 2;  // 1 `fast`, 2 `high`
  int rows = 64;  // rows of a pass
};

struct NpuReport {
  device::DeviceInfo device;
  device::Stats stats;
  std::string config;          // name of the matrix configuration
  double compile_seconds = 0;  // graph to program
  double layout_seconds = 0;   // weights expanded, packed and uploaded
  u64 weight_bytes = 0;        // in the device buffer
  u64 useful_macs = 0;         // multiply-adds asked for, padding not counted
};

class NpuRunner : public CpuRunner {
 public:
  // As CpuRunner; opens the device. Errors: those of open_node and Client::open.
  static Result<std::unique_ptr<NpuRunner>> create(WeightStore& weights, KvCache* cache, ThreadPool& pool,
                                                   const NpuOptions& options);

  std::string_view name() const override { return "npu"; }
  Result<void> prepare(const graph::Graph& graph) override;
  Result<Place> run(const OpCall& call) override;

  NpuReport report() const;
  const compiler::CompiledModel& model() const { return model_; }
  // The weight buffer as it lies on the device.
  ByteSpan weight_image() const { return {weights_buffer_.data, weights_buffer_.size}; }

 private:
  // Streams are kept per product and form of pass.
  using StreamKey = std::tuple<i32, compiler::Mode, int>;

  NpuRunner(WeightStore& weights, KvCache* cache, ThreadPool& pool, const NpuOptions& options,
            std::unique_ptr<device::Client> client)
      : CpuRunner(weights, cache, pool), options_(options), client_(std::move(client)) {}

  Result<void> load_program();
  Result<void> lay_out_weights(const graph::Graph& graph);
  Result<void> lay_out_product(const graph::Graph& graph, const compiler::Product& product);
  Result<void> pack_node(const graph::Graph& graph, const compiler::Product& product, size_t member);
  Result<const device::Code*> stream(i32 index, const compiler::MatmulPass& pass, i64 rows);
  Result<void> compute(i32 index, const ref::Tensor& x);
  Result<void> compute_pass(i32 index, const ref::Tensor& x, i64 first, i64 rows);

  NpuOptions options_;
  std::unique_ptr<device::Client> client_;
  device::Context context_;
  compiler::CompiledModel model_;
  device::Buffer weights_buffer_, activations_, results_;
  std::map<StreamKey, device::Code> streams_;
  ref::Tensor joint_;  // result of the product computed last, all columns
  double compile_seconds_ = 0, layout_seconds_ = 0;
  u64 useful_macs_ = 0;
};

}  // namespace tegula::engine
