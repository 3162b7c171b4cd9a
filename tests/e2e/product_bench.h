// A device with one matrix program, for tests that send products through every layer.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/bytes.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/matmul_kernel.h"
#include "compiler/matmul_pack.h"
#include "device/client.h"
#include "format/pdi.h"

namespace tegula {

using compiler::Epilogue;
using compiler::MatmulConfig;
using compiler::MatmulLayout;
using compiler::MatmulPass;
using compiler::MatmulShape;
using compiler::Number;

// A device with one matrix program loaded.
struct Bench {
  MatmulConfig config;
  std::unique_ptr<device::Client> client;
  device::Context context;
  bool may_fail = false;  // a failed run is no test failure: see outcome
  Result<void> outcome;

  // `change` may damage the configuration before it is loaded.
  void open(const MatmulConfig& c, const std::function<void(std::vector<format::CdoCommand>&)>& change = {}) {
    config = c;
    auto program = compiler::matmul_kernel(config);
    ASSERT_TRUE(program.ok()) << program.error().message;
    auto array = compiler::matmul_array(config, program->code);
    ASSERT_TRUE(array.ok()) << array.error().message;
    if (change) change(*array);
    // Buffers have stale caches and a read of what nothing has written fails the run: everything here must
    // pass so.
    auto node = device::open_node(device::NodeChoice::kEmulated, {.stale_cache = true, .watch = true});
    ASSERT_TRUE(node.ok()) << node.error().message;
    auto opened = device::Client::open(std::move(node).value());
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    client = std::move(opened).value();
    auto created = client->create_context(format::write_pdi(*array));
    ASSERT_TRUE(created.ok()) << created.error().message;
    context = std::move(created).value();
    run(compiler::token_setup_stream(), {});
  }

  Result<void> try_run(const Bytes& stream, std::vector<const device::Buffer*> args) {
    TRY_ASSIGN(const device::Code code, client->load_stream(stream));
    TRY_ASSIGN(const u64 sequence, client->submit(context, code, args));
    return client->wait(context, sequence);
  }
  void run(const Bytes& stream, std::vector<const device::Buffer*> args) {
    outcome = try_run(stream, std::move(args));
    if (!may_fail) {
      ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    }
  }

  // Runs one packed product; pack(weights, activations) fills the two images.
  template <typename Pack>
  std::vector<u32> product(MatmulShape shape, i64 rows, Pack&& pack) {
    const MatmulLayout layout(config, shape);
    const MatmulPass pass(config, layout, rows);
    auto weights = client->alloc(layout.weight_bytes);
    auto activations = client->alloc(pass.a_bytes());
    auto results = client->alloc(pass.c_bytes());
    EXPECT_TRUE(weights.ok() && activations.ok() && results.ok());
    compiler::clear_weights(layout, weights->data);
    pack(layout, pass, weights->data, activations->data);
    client->flush(*weights, 0, weights->size);
    client->flush(*activations, 0, activations->size);
    client->flush(*results, 0, results->size);
    const compiler::MatmulRun one{.layout = layout, .pass = pass};
    auto stream = compiler::matmul_stream(config, std::span(&one, 1));
    EXPECT_TRUE(stream.ok());
    run(*stream, {&*weights, &*activations, &*results});
    client->invalidate(*results, 0, results->size);
    std::vector<u32> out(rows * shape.n);
    compiler::unpack_results(config, layout, pass, rows, results->data, out.data());
    return out;
  }
};

}  // namespace tegula
