// The resident core program of a matrix configuration: takes product after product as its streams bring them.
#pragma once

#include "base/result.h"
#include "compiler/backend/builder.h"
#include "compiler/matmul_plan.h"

namespace tegula::compiler {

// Errors: kInternal when the back end cannot place the program (registers, 16 KiB).
Result<CoreProgram> matmul_kernel(const MatmulConfig& config);

}  // namespace tegula::compiler
