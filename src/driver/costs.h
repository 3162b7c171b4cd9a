// Modelled costs of the driver and firmware beside those of a submission (emu/cost_model.h); every figure
// from here is a model, not a measurement of ours.
#pragma once

#include "base/types.h"
#include "emu/cost_model.h"

namespace tegula::driver {

inline constexpr u64 kArrayMhz = static_cast<u64>(emu::cost::kClockHz / 1e6);
// Published: a change of array configuration costs about 2.5 ms. Charged for each PDI load, and for each time
// the array passes to another context (whose configuration has to come back).
inline constexpr u64 kConfigurationNs = 2'500'000;
// Time that a context keeps the array while others wait.
inline constexpr u64 kQuantumNs = 30'000'000;

}  // namespace tegula::driver
