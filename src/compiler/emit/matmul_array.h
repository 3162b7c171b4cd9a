// The array configuration of a matrix program (DMA chains, locks, routes, core programs) and the controller
// streams that run products on it. docs/matmul.md.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "compiler/matmul_plan.h"
#include "format/cdo.h"

namespace tegula::compiler {

// Core-local byte offsets of the rings; the first 64 bytes hold what differs between cores.
struct CoreMap {
  u32 a, b, c;
  explicit CoreMap(const MatmulConfig& config);
};
constexpr u32 kCoreRowWord = 0;  // byte offset of this core's row number 0..3

// Own locks of a core.
enum CoreLock : int { kLockAEmpty = 0, kLockAFull, kLockBEmpty, kLockBFull, kLockCEmpty, kLockCFull };

// Result units that a mem tile holds per core row.
constexpr int kJoinDepth = 2;

// Everything that configures the array, in the order public files use. `program` is the code of all cores.
Result<std::vector<format::CdoCommand>> matmul_array(const MatmulConfig& config, ByteSpan program);

// Buffers of a command, in the order of the stream's patch arguments.
enum MatmulArgument : u32 { kArgWeights = 0, kArgActivations = 1, kArgResults = 2 };

// One product of a stream: byte offsets into the three buffers.
struct MatmulRun {
  MatmulLayout layout;
  MatmulPass pass;
  u64 weights = 0;
  u64 activations = 0;
  u64 results = 0;
  i64 repeat = 1;  // equal products back to back, each operand following its predecessor in memory
};

// A stream that runs the products in order and waits for the results of each. Errors: a transfer outside the
// limits of the buffer descriptors.
Result<Bytes> matmul_stream(const MatmulConfig& config, std::span<const MatmulRun> runs);

// Sets the controller id of the channels whose tokens streams wait for; run once after the configuration is
// loaded.
Bytes token_setup_stream();

}  // namespace tegula::compiler
