// fp32 inner loops with a plain and an AVX2 form; they differ in the order of summation only.
#pragma once

#include "base/types.h"

namespace tegula::ref {

bool host_has_avx2();  // AVX2 and FMA

float dot(const float* a, const float* b, i64 count);

// out += factor * x
void accumulate(float factor, const float* x, i64 count, float* out);

// out[r * out_stride + n] = dot of row r of x and row n of w, for 1..3 rows of x and 1..4 rows of w.
void dot_tile(const float* x, i64 x_rows, const float* w, i64 w_rows, i64 k, float* out, i64 out_stride);

}  // namespace tegula::ref
