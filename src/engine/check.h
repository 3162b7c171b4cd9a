// Compares a device, op by op, with the plain fp32 executor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tegula::engine {

struct CheckLine {
  CheckRow local;        // against the host with the same inputs
  CheckRow accumulated;  // against a whole pass on the host
};

// Runs the tokens (one sequence from position 0) through `device`, which must have been loaded with
// EngineOptions::check, and through `cpu`, loaded from the same model with the cpu runner. One line per node
// that ran on the device.
Result<std::vector<CheckLine>> check_device(Engine& device, Engine& cpu, std::span<const i32> tokens);

}  // namespace tegula::engine
