// Host side of a matrix product: weights, activations and results between row-major matrices and the order in
// which the array streams them (docs/matmul.md).
#pragma once

#include <span>

#include "base/types.h"
#include "compiler/matmul_plan.h"

namespace tegula::compiler {

// Writes rows [first, first + rows) of W[N,K] (row-major fp32, `w` points at row `first`) into the weight
// image `dst` of layout.weight_bytes bytes. Rows may come in any order and from several threads; padding must
// be cleared beforehand.
void pack_weights(const MatmulConfig& config, const MatmulLayout& layout, i64 first, i64 rows, const float* w,
                  u8* dst);
void pack_weights_int8(const MatmulConfig& config, const MatmulLayout& layout, i64 first, i64 rows,
                       const i8* w, u8* dst);

// Writes the padding of the image: zero blocks wherever no weight goes, and zero bias.
void clear_weights(const MatmulLayout& layout, u8* dst);

// Writes bias[n] for all n of the layout; the configuration must carry bias.
void pack_bias(const MatmulConfig& config, const MatmulLayout& layout, std::span<const float> bias, u8* dst);

// Writes header and units of every core row: pass.a_bytes() bytes. x is [rows, K] row-major.
void pack_activations(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
                      Epilogue epilogue, i64 rows, const float* x, u8* dst);
void pack_activations_int8(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
                           i64 rows, const i8* x, u8* dst);

// Reads results (pass.c_bytes() bytes) into out[rows, N] row-major; fp32 and int32 lanes look alike here.
void unpack_results(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass, i64 rows,
                    const u8* src, u32* out);

}  // namespace tegula::compiler
