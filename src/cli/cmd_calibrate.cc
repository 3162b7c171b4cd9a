// tegula emu --calibrate: the cost model against rates that others measured on silicon, with their files.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/commands.h"
#include "cli/emu/calibrate.h"
#include "emu/cost_model.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

json case_json(const CalibratedCase& one) {
  const GemmShape& shape = one.published->shape;
  return {{"name", one.published->name},
          {"configuration", one.published->configuration},
          {"stream", one.published->stream},
          {"gemm", {shape.m, shape.k, shape.n}},
          {"exact", one.exact},
          {"published_gops", one.published->gops},
          {"modelled_gops", one.gops()},
          {"error_percent", one.error_percent()},
          {"modelled_seconds", one.seconds()},
          {"array_cycles", one.array_cycles},
          {"controller_ops", one.controller_ops},
          {"controller_seconds", one.controller_seconds()},
          {"implied_op_seconds", one.implied_op_seconds()}};
}

void print_case(const CalibratedCase& one) {
  std::printf("%-4s %-14s %9.0f %9.1f %+6.1f%% %9.3f %5.0f%% %6llu %8.3f%s\n", one.published->name,
              shape_name(one.published->shape).c_str(), one.published->gops, one.gops(), one.error_percent(),
              one.seconds() * 1e3, 100 * one.controller_seconds() / one.seconds(),
              static_cast<unsigned long long>(one.controller_ops), one.implied_op_seconds() * 1e6,
              one.exact ? "" : "  WRONG PRODUCT");
}

void print_head() {
  std::printf(
      "published: measured on silicon by %s (submit and wait, in a loop); modelled: by "
      "src/emu/cost_model.h,\n"
      "with the submission; us/op: what an operation of the stream would take if only those counted\n",
      kPublishedSource);
  std::printf("%-4s %-14s %9s %9s %7s %9s %6s %6s %8s\n", "case", "MxKxN", "published", "modelled", "error",
              "modelled", "in the", "stream", "implied");
  std::printf("%-4s %-14s %9s %9s %7s %9s %6s %6s %8s\n", "", "", "GOP/s", "GOP/s", "", "ms", "contr.", "ops",
              "us/op");
}

json report(const std::vector<CalibratedCase>& cases, const std::vector<std::string>& missing) {
  json rows = json::array();
  for (const CalibratedCase& one : cases) rows.push_back(case_json(one));
  return {
      {"schema", 1},
      {"label", "modelled"},
      {"source", kPublishedSource},
      {"clock_hz", emu::cost::kClockHz},
      {"controller_op_seconds", static_cast<double>(emu::cost::kControllerOpCycles) / emu::cost::kClockHz},
      {"cases", rows},
      {"missing", missing}};
}

Result<int> run_cases(const EmuCommand& command) {
  emu::RunOptions options;
  options.threads = command.threads;
  std::vector<CalibratedCase> cases;
  std::vector<std::string> missing;
  bool exact = true;
  double error = 0;
  for (const PublishedCase& published : published_cases()) {
    TRY_ASSIGN(const std::optional<CalibratedCase> one, calibrate(published, command.calibrate, options));
    if (!one) {
      missing.push_back(published.name);
      continue;
    }
    if (cases.empty() && !command.json) print_head();
    cases.push_back(*one);
    exact = exact && one->exact;
    error += std::abs(one->error_percent());
    if (!command.json) print_case(*one);
  }
  if (command.json) {
    std::printf("%s\n", report(cases, missing).dump(2).c_str());
  } else if (!cases.empty()) {
    for (const std::string& name : missing) std::printf("%-4s its files are not there\n", name.c_str());
    std::printf("mean error %.1f%% of %zu cases\n", error / static_cast<double>(cases.size()), cases.size());
  }
  if (cases.empty()) {
    return fail(Code::kNotFound, command.calibrate + ": has none of the files, the first is " +
                                     published_cases()[0].configuration + "; they are in " +
                                     kPublishedSource);
  }
  return exact ? 0 : 1;
}

}  // namespace

int cmd_calibrate(const EmuCommand& command) {
  const Result<int> code = run_cases(command);
  return code.ok() ? *code : print_error(code.error());
}

}  // namespace tegula::cli
