// tegula bench: matrix products on the array. For each shape: what bounds it, the modelled time in a steady
// state and alone, and how fast the emulator runs it. Modelled times come from the emulator's cost model;
// wall times are measured.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>

#include "base/stopwatch.h"
#include "cli/bench/host.h"
#include "cli/commands.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/matmul_kernel.h"
#include "compiler/matmul_pack.h"
#include "device/client.h"
#include "emu/cost_model.h"
#include "format/pdi.h"

namespace tegula::cli {
namespace {

using compiler::MatmulConfig;
using compiler::MatmulLayout;
using compiler::MatmulPass;
using compiler::MatmulRun;
using compiler::MatmulShape;
using compiler::Number;
using nlohmann::json;

using emu::cost::kClockHz;
using emu::cost::kDdrBytesPerSecond;
constexpr double kCoreMacs = 512;  // of the multiplier per cycle
constexpr int kCores = 32;

struct Case {
  i64 m = 0;
  MatmulShape shape;
};

// 512^3, 2048^3, and the shapes of SmolLM2 (decode and a 64-token prompt) and MiniLM (32 tokens).
const Case kStandard[] = {{512, {512, 512}}, {2048, {2048, 2048}}, {1, {576, 960}},   {1, {576, 576}},
                          {1, {576, 3072}},  {1, {1536, 576}},     {1, {576, 49152}}, {64, {576, 960}},
                          {64, {576, 576}},  {64, {576, 3072}},    {64, {1536, 576}}, {32, {384, 1152}},
                          {32, {384, 384}},  {32, {384, 1536}},    {32, {1536, 384}}};

struct Format {
  const char* name;
  Number number;
  int parts;
};
const Format kFormats[] = {
    {"int8", Number::kInt8, 1}, {"bfp16", Number::kBfp16, 1}, {"high", Number::kBfp16, 2}};

struct Measured {
  double cycles = 0;   // modelled, of the array, without submission
  double seconds = 0;  // wall
  u64 matrix_ops = 0, bundles = 0, controller_ops = 0, ddr_bytes = 0;
};

struct Row {
  std::string format, config;
  Case shape;
  i64 repeat = 1;
  double mac_cycles = 0, port_cycles = 0, ddr_cycles = 0;  // per product
  double steady_cycles = 0, alone_cycles = 0;
  double matrix_ops_per_second = 0, bundles_per_second = 0, wall_seconds = 0;
  u64 controller_ops = 0;

  double bound() const { return std::max({mac_cycles, port_cycles, ddr_cycles}); }
  const char* bound_by() const {
    if (bound() == mac_cycles) return "multiplier";
    return bound() == port_cycles ? "stream port" : "DDR";
  }
};

// A device with one matrix program and one product of random operands.
class ProductBench {
 public:
  Result<void> open(const MatmulConfig& config, int threads) {
    config_ = config;
    TRY_ASSIGN(const compiler::CoreProgram program, compiler::matmul_kernel(config));
    TRY_ASSIGN(const auto array, compiler::matmul_array(config, program.code));
    device::NodeOptions options;
    options.threads = threads;
    options.stale_cache = false;
    TRY_ASSIGN(auto node, device::open_node(device::NodeChoice::kEmulated, options));
    TRY_ASSIGN(client_, device::Client::open(std::move(node)));
    TRY_ASSIGN(context_, client_->create_context(format::write_pdi(array)));
    TRY(run(compiler::token_setup_stream(), {}));
    return {};
  }

  Result<Measured> measure(const Case& shape, i64 repeat) {
    const MatmulLayout layout(config_, shape.shape);
    std::vector<MatmulRun> runs = passes(layout, shape.m, repeat);
    u64 a_bytes = 0, c_bytes = 0;
    for (MatmulRun& one : runs) {
      one.activations = a_bytes;
      one.results = c_bytes;
      a_bytes += one.pass.a_bytes() * one.repeat;
      c_bytes += one.pass.c_bytes() * one.repeat;
    }
    TRY_ASSIGN(const device::Buffer weights, client_->alloc(layout.weight_bytes * runs[0].repeat));
    TRY_ASSIGN(const device::Buffer activations, client_->alloc(a_bytes));
    TRY_ASSIGN(const device::Buffer results, client_->alloc(c_bytes));
    fill(layout, shape.m, runs, weights, activations);
    TRY_ASSIGN(const Bytes stream, compiler::matmul_stream(config_, runs));
    const device::NodeRunReport before = client_->stats().run.value_or(device::NodeRunReport{});
    const Stopwatch watch;
    TRY(run(stream, {&weights, &activations, &results}));
    Measured out;
    out.seconds = watch.seconds();
    const device::NodeRunReport after = client_->stats().run.value_or(device::NodeRunReport{});
    out.cycles = static_cast<double>(after.array_cycles - before.array_cycles);
    out.matrix_ops = after.matrix_ops - before.matrix_ops;
    out.bundles = after.bundles - before.bundles;
    out.controller_ops = after.controller_ops - before.controller_ops;
    out.ddr_bytes =
        after.ddr_bytes_read + after.ddr_bytes_written - before.ddr_bytes_read - before.ddr_bytes_written;
    return out;
  }

 private:
  // One product is one or more passes of rows. Where activations stay in the cores and one pass does,
  // `repeat` products share their transfers; else the products follow each other in the stream.
  std::vector<MatmulRun> passes(const MatmulLayout& layout, i64 m, i64 repeat) const {
    std::vector<MatmulRun> product;
    for (i64 first = 0; first < m; first += config_.max_rows()) {
      product.push_back({.layout = layout,
                         .pass = MatmulPass(config_, layout, std::min<i64>(config_.max_rows(), m - first))});
    }
    if (product.size() == 1 && (product[0].pass.resident || layout.tiles == 1)) {
      product[0].repeat = repeat;
      return product;
    }
    std::vector<MatmulRun> all;
    for (i64 i = 0; i < repeat; ++i) all.insert(all.end(), product.begin(), product.end());
    return all;
  }

  void fill(const MatmulLayout& layout, i64 m, const std::vector<MatmulRun>& runs,
            const device::Buffer& weights, const device::Buffer& activations) const {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    const i64 rows = std::min<i64>(m, config_.max_rows());
    const i64 k = layout.shape.k;
    std::vector<float> w(static_cast<size_t>(64 * k)), x(static_cast<size_t>(rows * k));
    std::vector<i8> wi(w.size()), xi(x.size());
    for (float& v : w) v = normal(random);
    for (float& v : x) v = normal(random);
    for (i8& v : wi) v = static_cast<i8>(random());
    for (i8& v : xi) v = static_cast<i8>(random());
    const bool int8 = config_.number == Number::kInt8;
    for (i64 n = 0; n < layout.shape.n; n += 64) {
      const i64 count = std::min<i64>(64, layout.shape.n - n);
      if (int8)
        compiler::pack_weights_int8(config_, layout, n, count, wi.data(), weights.data);
      else
        compiler::pack_weights(config_, layout, n, count, w.data(), weights.data);
    }
    // Further products repeat the first one's bytes; a column's share of all products is contiguous.
    for (i64 r = runs[0].repeat - 1; r >= 0; --r) {
      for (int col = compiler::kColumns - 1; col >= 0; --col) {
        std::memmove(weights.data + (col * runs[0].repeat + r) * layout.column_bytes,
                     weights.data + col * layout.column_bytes, static_cast<size_t>(layout.column_bytes));
      }
    }
    for (const MatmulRun& one : runs) {
      for (i64 r = 0; r < one.repeat; ++r) {
        u8* at = activations.data + one.activations + r * one.pass.a_bytes();
        const i64 live =
            std::min<i64>(rows, one.pass.mode == compiler::Mode::kColumnSplit ? 8 : one.pass.row_blocks * 32);
        if (int8)
          compiler::pack_activations_int8(config_, layout, one.pass, live, xi.data(), at);
        else
          compiler::pack_activations(config_, layout, one.pass, compiler::Epilogue::kNone, live, x.data(),
                                     at);
      }
    }
  }

  Result<void> run(const Bytes& stream, std::vector<const device::Buffer*> args) {
    TRY_ASSIGN(const device::Code code, client_->load_stream(stream));
    TRY_ASSIGN(const u64 sequence, client_->submit(context_, code, args));
    return client_->wait(context_, sequence);
  }

  MatmulConfig config_;
  std::unique_ptr<device::Client> client_;
  device::Context context_;
};

// Words of the busiest stream port: an activation row stream, a column's weights, a column's results.
i64 port_words(const MatmulConfig& config, const MatmulLayout& layout, i64 m) {
  i64 a = 0, b = 0, c = 0;
  for (i64 first = 0; first < m; first += config.max_rows()) {
    const MatmulPass pass(config, layout, std::min<i64>(config.max_rows(), m - first));
    const i64 times = pass.resident ? 1 : layout.tiles;
    a += config.a_unit_bytes() + (pass.a_row_bytes - config.a_unit_bytes()) * times;
    b += layout.column_bytes;
    c += pass.c_column_bytes;
  }
  return std::max({a, b, c}) / 4;
}

Result<Row> bench_case(const Format& format, const Case& shape, const BenchCommand& command) {
  TRY_ASSIGN(const MatmulConfig config,
             compiler::choose_config(format.number, format.parts, false, std::span(&shape.shape, 1),
                                     static_cast<int>(std::min<i64>(shape.m, 256))));
  ProductBench bench;
  TRY(bench.open(config, command.threads));
  TRY_ASSIGN(const Measured alone, bench.measure(shape, 1));
  // Long products are their own steady state.
  const double macs =
      static_cast<double>(shape.m) * static_cast<double>(shape.shape.k) * static_cast<double>(shape.shape.n);
  const i64 repeat = macs > 2e8 ? 1 : command.repeat;
  Measured steady = alone;
  if (repeat > 1) {
    TRY_ASSIGN(steady, bench.measure(shape, repeat));
  }
  Row row{.format = format.name, .config = config.name(), .shape = shape, .repeat = repeat};
  const double n = static_cast<double>(repeat);
  row.mac_cycles = macs * (format.parts == 2 ? 3 : 1) / (kCoreMacs * kCores);
  row.port_cycles = static_cast<double>(port_words(config, MatmulLayout(config, shape.shape), shape.m));
  row.ddr_cycles = static_cast<double>(steady.ddr_bytes) / n / kDdrBytesPerSecond * kClockHz;
  row.steady_cycles = steady.cycles / n;
  row.alone_cycles = alone.cycles;
  row.wall_seconds = steady.seconds / n;
  row.matrix_ops_per_second = static_cast<double>(steady.matrix_ops) / steady.seconds;
  row.bundles_per_second = static_cast<double>(steady.bundles) / steady.seconds;
  row.controller_ops = steady.controller_ops / static_cast<u64>(repeat);
  return row;
}

double us(double cycles) {
  return cycles / kClockHz * 1e6;
}

void print_row(const Row& row) {
  char shape[48];
  std::snprintf(shape, sizeof(shape), "%lldx%lldx%lld", static_cast<long long>(row.shape.m),
                static_cast<long long>(row.shape.shape.k), static_cast<long long>(row.shape.shape.n));
  std::printf("%-6s %-16s %-18s %9.1f %-11s %9.1f %4.0f%% %9.1f %6llu %8.2f M/s %8.2f M/s\n",
              row.format.c_str(), shape, row.config.c_str(), us(row.bound()), row.bound_by(),
              us(row.steady_cycles), 100 * row.bound() / row.steady_cycles, us(row.alone_cycles),
              static_cast<unsigned long long>(row.controller_ops), row.matrix_ops_per_second / 1e6,
              row.bundles_per_second / 1e6);
  std::fflush(stdout);
}

json row_json(const Row& row) {
  return {{"format", row.format},
          {"config", row.config},
          {"m", row.shape.m},
          {"k", row.shape.shape.k},
          {"n", row.shape.shape.n},
          {"repeat", row.repeat},
          {"multiplier_us", us(row.mac_cycles)},
          {"port_us", us(row.port_cycles)},
          {"ddr_us", us(row.ddr_cycles)},
          {"bound_us", us(row.bound())},
          {"bound_by", row.bound_by()},
          {"modelled_us", us(row.steady_cycles)},
          {"of_bound", row.bound() / row.steady_cycles},
          {"modelled_alone_us", us(row.alone_cycles)},
          {"controller_ops", row.controller_ops},
          {"matrix_ops_per_second", row.matrix_ops_per_second},
          {"bundles_per_second", row.bundles_per_second},
          {"wall_seconds", row.wall_seconds}};
}

Result<std::vector<Case>> wanted_cases(const BenchCommand& command) {
  if (command.shapes.empty()) return std::vector<Case>(std::begin(kStandard), std::end(kStandard));
  std::vector<Case> cases;
  for (const std::string& text : command.shapes) {
    long long m = 0, k = 0, n = 0;
    char end = 0;
    if (std::sscanf(text.c_str(), "%lldx%lldx%lld%c", &m, &k, &n, &end) != 3 || m < 1 || k < 1 || n < 1 ||
        m * k > (1LL << 28) || k * n > (1LL << 28) || m * n > (1LL << 28)) {
      return fail(Code::kInvalidArgument, "shape " + text + ": expected MxKxN, as in 64x576x960");
    }
    cases.push_back({m, {k, n}});
  }
  return cases;
}

json host_json(const HostFigures& f) {
  return {{"threads", f.threads},
          {"bare_int8_per_second", {f.bare_one, f.bare_all}},
          {"core_int8_per_second", {f.core_int8_one, f.core_int8_all}},
          {"core_scalar_bundles_per_second", f.core_scalar},
          {"product_seconds", {f.product_one_seconds, f.product_seconds}},
          {"product_bundles", f.product_bundles},
          {"busiest_thread_share", f.busiest_share}};
}

void print_host(const HostFigures& f) {
  std::printf("measured on this host, %d threads; int8 products are 8x8x8, of 512 multiply-adds\n\n",
              f.threads);
  std::printf("%-40s %12s %12s %8s\n", "", "one thread", "all threads", "scaling");
  std::printf("%-40s %8.1f M/s %8.1f M/s %8.2f\n", "bare loop, int8 products", f.bare_one / 1e6,
              f.bare_all / 1e6, f.bare_scaling());
  std::printf("%-40s %8.1f M/s %8.1f M/s %8.2f\n", "emulated core, int8 products", f.core_int8_one / 1e6,
              f.core_int8_all / 1e6, f.core_scaling());
  std::printf("%-40s %8.1f M/s\n", "emulated core, bundles of scalar code", f.core_scalar / 1e6);
  std::printf("%-40s %10.3f s %10.3f s %8.2f\n\n", "128x3072x1024 int8 on 32 cores", f.product_one_seconds,
              f.product_seconds, f.product_scaling());
  std::printf(
      "the emulated core does %.0f %% of the bare loop; the product scales %.2f times as the bare loop\n",
      100 * f.core_int8_one / f.bare_one, f.product_scaling() / f.bare_scaling());
  std::printf("the busiest thread executes %.0f %% of the product's bundles\n", 100 * f.busiest_share);
}

int bench_host(const BenchCommand& command) {
  const Result<HostFigures> figures = measure_host(command.threads);
  if (!figures.ok()) return print_error(figures.error());
  if (command.json) {
    std::printf("%s\n",
                json{{"schema", 1}, {"label", "measured"}, {"host", host_json(*figures)}}.dump(2).c_str());
  } else {
    print_host(*figures);
  }
  return 0;
}

}  // namespace

int cmd_bench(const BenchCommand& command) {
  if (command.host) return bench_host(command);
  const Result<std::vector<Case>> cases = wanted_cases(command);
  if (!cases.ok()) return print_error(cases.error());
  json rows = json::array();
  if (!command.json) {
    std::printf(
        "times in us at 1.8 GHz; modelled: by the emulator's cost model, without the submission; alone: one "
        "product\n");
    std::printf("%-6s %-16s %-18s %9s %-11s %9s %5s %9s %6s %12s %12s\n", "format", "MxKxN", "configuration",
                "bound", "by", "modelled", "of it", "alone", "ops", "matrix ops", "bundles");
  }
  for (const Format& format : kFormats) {
    if (command.number != "all" && command.number != format.name) continue;
    for (const Case& shape : *cases) {
      const Result<Row> row = bench_case(format, shape, command);
      if (!row.ok()) return print_error(row.error());
      if (command.json)
        rows.push_back(row_json(*row));
      else
        print_row(*row);
    }
  }
  if (command.json)
    std::printf("%s\n", json{{"schema", 1}, {"label", "modelled"}, {"products", rows}}.dump(2).c_str());
  return 0;
}

}  // namespace tegula::cli
