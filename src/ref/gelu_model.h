// The format model of GELU on the array: the steps of the kernel (compiler/kernels/gelu.cc) in plain scalar
// code, with the rounding of semantics.md 10.2, 10.3 and the hardware tanh taken as correctly rounded to bf16
// (section 12).
#pragma once

namespace tegula::ref {

// acc + a * b for bf16 values a and b, as one lane of the element-wise bf16 multiply-accumulate.
float mac_bf16(float acc, float a, float b);

// x/2 * (1 + tanh(x * (c0 + c1 * x^2))).
float gelu_model(float x);

}  // namespace tegula::ref
