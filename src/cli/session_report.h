// What run and embed share: opening a model on the chosen device, and the report after a run.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "engine/check.h"
#include "engine/engine.h"
#include "engine/npu_runner.h"

namespace tegula::cli {

struct OpenModel {
  std::unique_ptr<engine::Engine> engine;
  engine::NpuRunner* npu = nullptr;  // owned by the engine; null on the cpu
  std::string precision;
  double load_seconds = 0;
};

Result<OpenModel> open_model(const ModelOptions& options, i64 context);

// Facts of the run so far: device, ops, submissions, bytes, cycles, modelled time. `tokens` and `seconds`
// (wall) are what the caller counted.
struct RunFacts {
  i64 prompt_tokens = 0;
  i64 tokens = 0;
  double seconds = 0;
  double prefill_seconds = 0;
};
// As text on stderr.
void print_report(const OpenModel& model, const RunFacts& facts);
// As the text of a JSON object.
std::string report_json(const OpenModel& model, const RunFacts& facts);

// Runs the tokens on the device and on the cpu and prints one line per op on stderr. Errors: no device node
// to check.
Result<void> print_check(const ModelOptions& options, OpenModel& model, std::span<const i32> tokens);

}  // namespace tegula::cli
