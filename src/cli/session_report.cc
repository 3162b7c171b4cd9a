#include "cli/session_report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "cli/catalog.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

constexpr double kCoreMacs = 512;  // multiply-adds of a core per cycle

json device_json(const engine::NpuReport& report) {
  json out = {{"name", report.device.node},
              {"emulated", report.device.emulated},
              {"driver",
               std::to_string(report.device.driver_major) + "." + std::to_string(report.device.driver_minor)},
              {"configuration", report.config},
              {"compile_seconds", report.compile_seconds},
              {"layout_seconds", report.layout_seconds},
              {"weight_bytes", report.weight_bytes},
              {"submissions", report.stats.submissions},
              {"ioctls", report.stats.ioctls},
              {"useful_multiply_adds", report.useful_macs}};
  u64 calls = 0;
  for (const auto& [name, count] : report.stats.ioctls) calls += count;
  out["ioctl_calls"] = calls;
  if (report.stats.run) {
    const device::NodeRunReport& run = *report.stats.run;
    out["controller_ops"] = run.controller_ops;
    out["ddr_bytes_read"] = run.ddr_bytes_read;
    out["ddr_bytes_written"] = run.ddr_bytes_written;
    out["core_cycles"] = run.core_cycles;
    out["bundles"] = run.bundles;
    out["matrix_ops"] = run.matrix_ops;
    out["multiplier_utilisation"] =
        run.core_cycles == 0
            ? 0.0
            : static_cast<double>(report.useful_macs) / (kCoreMacs * static_cast<double>(run.core_cycles));
    out["modelled_seconds"] = static_cast<double>(run.modelled_ns) * 1e-9;
  }
  return out;
}

json report_object(const OpenModel& model, const RunFacts& facts) {
  const engine::ExecutionReport& ops = model.engine->executor().report();
  const engine::OpTotals total = ops.total();
  json by_op = json::object();
  for (int i = 0; i < graph::kOpCount; ++i) {
    const engine::OpTotals& op = ops.ops[i];
    if (op.host + op.device == 0) continue;
    by_op[std::string(graph::op_info(static_cast<graph::Op>(i)).name)] = {{"npu", op.device},
                                                                          {"host", op.host},
                                                                          {"npu_seconds", op.device_seconds},
                                                                          {"host_seconds", op.host_seconds}};
  }
  json out = {{"model", model.engine->model().name},
              {"device", model.npu == nullptr ? json("cpu") : device_json(model.npu->report())},
              {"precision", model.npu == nullptr ? "fp32" : model.precision},
              {"load_seconds", model.load_seconds},
              {"prompt_tokens", facts.prompt_tokens},
              {"tokens", facts.tokens},
              {"seconds", facts.seconds},
              {"prefill_seconds", facts.prefill_seconds},
              {"passes", ops.passes},
              {"ops_on_npu", total.device},
              {"ops_on_host", total.host},
              {"ops", by_op}};
  return out;
}

void print_device(const json& device) {
  const auto number = [&](const char* key) { return device.value(key, 0.0); };
  std::fprintf(
      stderr, "device        %s%s, driver %s, configuration %s\n", device["name"].get<std::string>().c_str(),
      device["emulated"].get<bool>() ? " (no silicon: times are the host's unless marked modelled)" : "",
      device["driver"].get<std::string>().c_str(), device["configuration"].get<std::string>().c_str());
  std::fprintf(stderr, "program       built in %.2f s, weights laid out in %.2f s, %.1f MB resident\n",
               number("compile_seconds"), number("layout_seconds"), number("weight_bytes") / 1e6);
  std::fprintf(stderr, "driver        %.0f submissions, %.0f ioctls\n", number("submissions"),
               number("ioctl_calls"));
  if (!device.contains("controller_ops")) return;
  std::fprintf(stderr, "array         %.0f controller ops, %.1f MB read and %.1f MB written in DDR\n",
               number("controller_ops"), number("ddr_bytes_read") / 1e6, number("ddr_bytes_written") / 1e6);
  std::fprintf(
      stderr, "cores         %.3g cycles, %.3g bundles, %.3g matrix ops, multiplier utilisation %.2f %%\n",
      number("core_cycles"), number("bundles"), number("matrix_ops"), 100 * number("multiplier_utilisation"));
  std::fprintf(stderr, "modelled      %.4f s on the array at 1.8 GHz with submissions\n",
               number("modelled_seconds"));
}

}  // namespace

Result<OpenModel> open_model(const ModelOptions& options, i64 context) {
  const Stopwatch watch;
  TRY_ASSIGN(const std::string path, resolve_model(options.model));
  OpenModel out;
  out.precision = options.precision;
  engine::EngineOptions engine_options;
  engine_options.threads = options.threads;
  engine_options.context = context;
  engine_options.check = options.check && options.device != Device::kCpu;
  if (options.device == Device::kCpu) {
    TRY_ASSIGN(out.engine, engine::Engine::load(path, engine_options));
    out.load_seconds = watch.seconds();
    return out;
  }
  engine::NpuOptions npu;
  npu.node = options.device == Device::kNpu   ? device::NodeChoice::kNpu
             : options.device == Device::kEmu ? device::NodeChoice::kEmulated
                                              : device::NodeChoice::kAuto;
  npu.node_options.threads = static_cast<unsigned>(options.threads);
  npu.parts = options.precision == "high" ? 2 : 1;
  const auto factory = [&](const engine::RunnerParts& parts) -> Result<std::unique_ptr<engine::OpRunner>> {
    TRY_ASSIGN(std::unique_ptr<engine::NpuRunner> runner,
               engine::NpuRunner::create(parts.weights, parts.cache, parts.pool, npu));
    out.npu = runner.get();
    return std::unique_ptr<engine::OpRunner>(std::move(runner));
  };
  TRY_ASSIGN(out.engine, engine::Engine::load(path, engine_options, factory));
  out.load_seconds = watch.seconds();
  return out;
}

std::string report_json(const OpenModel& model, const RunFacts& facts) {
  return report_object(model, facts).dump();
}

void print_report(const OpenModel& model, const RunFacts& facts) {
  const json report = report_object(model, facts);
  std::fprintf(stderr, "\nmodel         %s, precision %s, loaded in %.2f s\n",
               report["model"].get<std::string>().c_str(), report["precision"].get<std::string>().c_str(),
               model.load_seconds);
  if (report["device"].is_string()) {
    std::fprintf(stderr, "device        cpu (plain fp32 on the host, no NPU involved)\n");
  } else {
    print_device(report["device"]);
  }
  std::fprintf(stderr, "tokens        %lld in, %lld out, %.2f s wall",
               static_cast<long long>(facts.prompt_tokens), static_cast<long long>(facts.tokens),
               facts.seconds);
  const double decode = facts.seconds - facts.prefill_seconds;
  if (facts.tokens > 1 && decode > 0) {
    std::fprintf(stderr, " (prompt %.2f s, then %.2f tokens/s)", facts.prefill_seconds,
                 static_cast<double>(facts.tokens - 1) / decode);
  }
  std::fprintf(stderr,
               "\nops           %lld on the NPU, %lld on the host:", report["ops_on_npu"].get<long long>(),
               report["ops_on_host"].get<long long>());
  for (const auto& [name, op] : report["ops"].items()) {
    const bool npu = op["npu"].get<i64>() > 0;
    std::fprintf(stderr, " %s %lld %s (%.2f s)", name.c_str(),
                 (npu ? op["npu"] : op["host"]).get<long long>(), npu ? "NPU" : "host",
                 (npu ? op["npu_seconds"] : op["host_seconds"]).get<double>());
  }
  std::fprintf(stderr, "\n");
}

Result<void> print_check(const ModelOptions& options, OpenModel& model, std::span<const i32> tokens) {
  if (model.npu == nullptr)
    return fail(Code::kInvalidArgument, "--check compares a device with the cpu; choose another --device");
  TRY_ASSIGN(const std::string path, resolve_model(options.model));
  engine::EngineOptions engine_options;
  engine_options.threads = options.threads;
  TRY_ASSIGN(const std::unique_ptr<engine::Engine> cpu, engine::Engine::load(path, engine_options));
  TRY_ASSIGN(const std::vector<engine::CheckLine> lines, engine::check_device(*model.engine, *cpu, tokens));
  std::fprintf(stderr, "%-28s %12s %12s %12s %12s\n", "op", "local L2", "local worst", "accum. L2",
               "accum. worst");
  for (const engine::CheckLine& line : lines) {
    std::fprintf(stderr, "%-28s %12.3e %12.3e %12.3e %12.3e\n", line.accumulated.node.c_str(),
                 line.local.relative_l2, line.local.worst, line.accumulated.relative_l2,
                 line.accumulated.worst);
  }
  model.engine->executor().reset_report();
  return {};
}

}  // namespace tegula::cli
