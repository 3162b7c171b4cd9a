// A matrix product of random int8 numbers through somebody's configuration and stream, compared with the
// exact product: argument 0 is A[M,K], 1 is B[K,N], both int8, 2 is C[M,N] in int32, all row-major.
#pragma once

#include <string>

#include "base/result.h"
#include "emu/session.h"

namespace tegula::cli {

struct GemmShape {
  u64 m = 0, k = 0, n = 0;
};

// "M,K,N", or "auto": from how far the stream reaches into its three arguments.
Result<GemmShape> gemm_shape(const std::string& text, ByteSpan stream);

std::string shape_name(const GemmShape& shape);  // "128x2048x1024"

struct GemmOutcome {
  emu::RunResult run;
  u64 wrong = 0;  // elements of C that differ; meaningless when the run failed
  u64 elements = 0;
  std::string first_wrong;  // "C[3,17] is 5, exact 6"
  double wall_seconds = 0;  // of the run alone

  bool exact() const { return run.ok() && wrong == 0; }
};

// One run with data of this seed: one number in 16 is -128, one is 127, the rest are uniform.
GemmOutcome run_gemm(emu::Session& session, ByteSpan stream, const GemmShape& shape, u64 seed,
                     const emu::RunOptions& options);

}  // namespace tegula::cli
