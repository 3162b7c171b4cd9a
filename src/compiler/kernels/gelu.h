// GELU of 64 fp32 lanes: x/2 * (1 + tanh(x * (c0 + c1 * x^2))), c0 = sqrt(2/pi), c1 = 0.044715 * c0.
//
// The core multiplies bf16 only, so x is split into two bf16 parts and the hardware's bf16 tanh is used; the
// absolute error is about 2^-9 * |x|/2. The format model in src/ref follows the same steps.
#pragma once

#include "compiler/backend/builder.h"

namespace tegula::compiler {

// Replaces the accumulator `x` (64 fp32 lanes) by its GELU. `control` is an r register holding the
// element-wise bf16 control word 0x3C. crRnd must be 12 (nearest even).
void emit_gelu(Builder& builder, VReg x, VReg control);

}  // namespace tegula::compiler
