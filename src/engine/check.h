// Compares a device, op by op, with the plain fp32 executor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tegula::engine {

struct CheckLine {
  std::string node;
  double local_l2 = 0;          // relative L2 against the host with the same inputs
  double local_worst = 0;       // largest absolute difference, same inputs
  double accumulated_l2 = 0;    // against a whole pass on the host
  double accumulated_worst = 0;
};

// Runs the tokens (one sequence from position 0) through `device`, which must have been loaded with EngineOptions::check, and
// through `cpu`, loaded from the same model with the cpu runner. One line per node that ran on the device.
Result<std::vector<CheckLine>> check_device(Engine& device, Engine& cpu, std::span<const i32> tokens);

}  // namespace tegula::engine
