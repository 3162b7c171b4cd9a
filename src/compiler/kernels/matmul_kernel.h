// The resident core program of a matrix configuration: takes product after product as its streams bring them.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "compiler/matmul_plan.h"

namespace tegula::compiler {

struct CoreProgram {
  Bytes code;
  std::string listing;    // addresses and assembly
  int loop_bundles = 0;   // bundles per turn of the inner loop
  int loop_matrix_ops = 0;  // matrix operations in them
};

// Errors: kInternal when the back end cannot place the program (registers, 16 KiB).
Result<CoreProgram> matmul_kernel(const MatmulConfig& config);

}  // namespace tegula::compiler
