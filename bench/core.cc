// Speed of the emulated core: matrix operations per second of the datapath alone (operands in the first-level
// cache), of the emulated core in loops of one vmac per bundle, and bundles per second of scalar code.
#include <benchmark/benchmark.h>

#include "cli/bench/core_loops.h"

namespace {

using namespace tegula;

void core(benchmark::State& state, Result<cli::CoreLoop> (*make)()) {
  Result<cli::CoreLoop> loop = make();
  if (!loop.ok()) return state.SkipWithError(loop.error().message.c_str());
  for (auto _ : state) {
    const Result<void> done = loop->run(100'000);
    if (!done.ok()) return state.SkipWithError(done.error().message.c_str());
  }
  const emu::CoreCounters& counters = loop->counters();
  const auto rate = [](u64 n) {
    return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate);
  };
  state.counters["bundles/s"] = rate(counters.bundles);
  state.counters["matrix_ops/s"] = rate(counters.matrix_ops);
  state.counters["traced"] = static_cast<double>(counters.traced) / static_cast<double>(counters.bundles);
}

void datapath(benchmark::State& state, u32 conf, emu::MacUnit unit) {
  constexpr u64 kTimes = 1000;
  cli::DatapathLoop loop(conf, unit);
  for (auto _ : state) {
    loop.run(kTimes);
    benchmark::ClobberMemory();
  }
  state.counters["matrix_ops/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kTimes, benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(datapath, int8, cli::kConfInt8, emu::MacUnit::kInteger);
BENCHMARK_CAPTURE(datapath, bfp16, cli::kConfBfp16, emu::MacUnit::kBlock);
BENCHMARK_CAPTURE(datapath, bf16, cli::kConfBf16, emu::MacUnit::kBf16);
BENCHMARK_CAPTURE(core, int8, cli::int8_loop);
BENCHMARK_CAPTURE(core, bfp16, cli::bfp16_loop);
BENCHMARK_CAPTURE(core, scalar, cli::scalar_loop);
BENCHMARK_CAPTURE(core, elementwise, cli::elementwise_loop);

}  // namespace
