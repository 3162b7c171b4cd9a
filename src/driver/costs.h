// Modelled costs of the driver and firmware; every figure from here is a model, not a measurement of ours.
#pragma once

#include "base/types.h"

namespace tegula::driver {

// Array clock of the top power level (published measurement on Strix Halo, driver table of the other parts).
inline constexpr u64 kArrayMhz = 1800;
// Published round trips of a no-op: about 59 us alone and 20 us each in a chain, hence 39 us per job + 20 us
// per command.
inline constexpr u64 kJobNs = 39'000;
inline constexpr u64 kCommandNs = 20'000;
// Published: a change of array configuration costs about 2.5 ms. Charged for each PDI load, and for each time
// the array passes to another context (whose configuration has to come back).
inline constexpr u64 kConfigurationNs = 2'500'000;
// Time that a context keeps the array while others wait.
inline constexpr u64 kQuantumNs = 30'000'000;

}  // namespace tegula::driver
