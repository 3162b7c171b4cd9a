#include "cli/bench/host.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/stopwatch.h"
#include "cli/bench/core_loops.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/matmul_kernel.h"
#include "compiler/matmul_pack.h"
#include "emu/session.h"
#include "format/pdi.h"

namespace tegula::cli {
namespace {

constexpr double kSeconds = 0.15;  // of each loop
constexpr int kLoopRepeats = 4;    // of each loop; the fastest counts
constexpr int kRepeats = 7;        // of the product; likewise
constexpr i64 kRows = 128;
constexpr compiler::MatmulShape kShape = {3072, 1024};

// Work per second when each thread runs its own loop for kSeconds; step() does some and says how much.
template <typename MakeStep>
double rate_once(int threads, MakeStep make_step) {
  std::atomic<u64> total{0};
  std::vector<std::thread> pool;
  const Stopwatch watch;
  for (int i = 0; i < threads; ++i) {
    pool.emplace_back([&] {
      auto step = make_step();
      u64 done = 0;
      while (watch.seconds() < kSeconds) done += step();
      total += done;
    });
  }
  for (std::thread& thread : pool) thread.join();
  return static_cast<double>(total.load()) / watch.seconds();
}

template <typename MakeStep>
double rate(int threads, MakeStep make_step) {
  double best = 0;
  for (int i = 0; i < kLoopRepeats; ++i) best = std::max(best, rate_once(threads, make_step));
  return best;
}

double bare(int threads) {
  return rate(threads, [] {
    return [loop = DatapathLoop(kConfInt8, emu::MacUnit::kInteger)]() mutable {
      constexpr u64 kTimes = 100'000;
      loop.run(kTimes);
      return kTimes;
    };
  });
}

// Matrix operations, or bundles where there are none.
double core(int threads, Result<CoreLoop> (*make)()) {
  return rate(threads, [make] {
    return [loop = make(), before = u64{0}]() mutable {
      if (!loop.ok() || !loop->run(100'000).ok()) return u64{0};
      const emu::CoreCounters& now = loop->counters();
      const u64 all = now.matrix_ops != 0 ? now.matrix_ops : now.bundles;
      return all - std::exchange(before, all);
    };
  });
}

// The product on a fresh array of 32 cores, with random operands.
class Product {
 public:
  static Result<Product> make() {
    Product out;
    TRY_ASSIGN(out.config_, compiler::choose_config(compiler::Number::kInt8, 1, false, std::span(&kShape, 1),
                                                    static_cast<int>(kRows)));
    TRY_ASSIGN(const compiler::CoreProgram program, compiler::matmul_kernel(out.config_));
    TRY_ASSIGN(const auto array, compiler::matmul_array(out.config_, program.code));
    TRY_ASSIGN(emu::Session session, emu::Session::open(format::write_pdi(array)));
    out.session_ = std::make_unique<emu::Session>(std::move(session));
    const compiler::MatmulLayout layout(out.config_, kShape);
    const compiler::MatmulPass pass(out.config_, layout, kRows);
    const compiler::MatmulRun run{.layout = layout, .pass = pass};
    TRY_ASSIGN(out.stream_, compiler::matmul_stream(out.config_, std::span(&run, 1)));
    out.fill(layout, pass);
    return out;
  }

  Result<double> seconds(int threads) {
    emu::RunOptions options;
    options.threads = threads;
    const Bytes setup = compiler::token_setup_stream();
    const emu::RunResult ready = session_->run(setup, {}, options);
    if (!ready.ok()) return fail(Code::kInternal, ready.message);
    const std::span<u8> buffers[] = {weights_, activations_, results_};
    const Stopwatch watch;
    const emu::RunResult result = session_->run(stream_, buffers, options);
    const double seconds = watch.seconds();
    if (!result.ok()) return fail(Code::kInternal, result.message);
    return seconds;
  }

  std::vector<u64> thread_bundles() const { return session_->array().thread_bundles(); }

 private:
  void fill(const compiler::MatmulLayout& layout, const compiler::MatmulPass& pass) {
    std::mt19937 random(1);
    weights_.resize(static_cast<size_t>(layout.weight_bytes));
    activations_.resize(static_cast<size_t>(pass.a_bytes()));
    results_.resize(static_cast<size_t>(pass.c_bytes()));
    std::vector<i8> x(static_cast<size_t>(kRows * kShape.k));
    for (u8& byte : weights_) byte = static_cast<u8>(random());
    for (i8& value : x) value = static_cast<i8>(random());
    compiler::pack_activations_int8(config_, layout, pass, kRows, x.data(), activations_.data());
  }

  compiler::MatmulConfig config_;
  std::unique_ptr<emu::Session> session_;
  Bytes stream_, weights_, activations_, results_;
};

Result<double> fastest(Product& product, int threads) {
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    TRY_ASSIGN(const double seconds, product.seconds(threads));
    best = i == 0 ? seconds : std::min(best, seconds);
  }
  return best;
}

Result<void> measure_product(HostFigures& figures) {
  TRY_ASSIGN(Product product, Product::make());
  TRY_ASSIGN(figures.product_one_seconds, fastest(product, 1));
  TRY_ASSIGN(figures.product_seconds, fastest(product, figures.threads));
  const std::vector<u64> before = product.thread_bundles();
  TRY(product.seconds(figures.threads));
  const std::vector<u64> after = product.thread_bundles();
  u64 all = 0, most = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    const u64 own = after[i] - (i < before.size() ? before[i] : 0);
    all += own;
    most = std::max(most, own);
  }
  figures.product_bundles = static_cast<double>(all);
  figures.busiest_share = static_cast<double>(most) / static_cast<double>(all);
  return {};
}

}  // namespace

Result<HostFigures> measure_host(int threads) {
  HostFigures out;
  out.threads = threads > 0 ? threads : emu::default_threads();
  TRY(int8_loop());
  TRY(scalar_loop());
  out.bare_one = bare(1);
  out.bare_all = bare(out.threads);
  out.core_int8_one = core(1, int8_loop);
  out.core_int8_all = core(out.threads, int8_loop);
  out.core_scalar = core(1, scalar_loop);
  TRY(measure_product(out));
  return out;
}

}  // namespace tegula::cli
