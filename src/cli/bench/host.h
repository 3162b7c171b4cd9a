// How fast this host runs the emulator: emulated cores beside the bare AVX2 loop that they are measured
// against, on one thread and on several.
#pragma once

#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::cli {

// Rates per second of wall time.
struct HostFigures {
  int threads = 1;
  double bare_one = 0, bare_all = 0;            // int8 products 8x8x8 of the datapath alone
  double core_int8_one = 0, core_int8_all = 0;  // of an emulated core in a loop of them, a core a thread
  double core_scalar = 0;                       // bundles without matrix operations, one thread
  double product_one_seconds = 0, product_seconds = 0;  // 128x3072x1024 in int8 on 32 cores
  double product_bundles = 0;
  double busiest_share = 0;  // of the product's bundles, on the thread that executed most

  double bare_scaling() const { return bare_all / bare_one; }
  double core_scaling() const { return core_int8_all / core_int8_one; }
  double product_scaling() const { return product_one_seconds / product_seconds; }
};

// threads: 0 is what the emulator takes by default.
Result<HostFigures> measure_host(int threads);

}  // namespace tegula::cli
