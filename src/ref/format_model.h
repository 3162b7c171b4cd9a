// The format model of the array's matrix product: same blocks, rounding and order as the machine, written
// from semantics.md 10.3 and 10.4 alone, so that a result of the emulator or of silicon can be compared bit
// for bit.
#pragma once

#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "base/types.h"

namespace tegula::ref {

// Rows of blocks of 8 along k, 9 bytes per block; `lo` is empty when parts is 1. k is padded with zeros to
// whole blocks.
struct Bfp16Matrix {
  i64 rows = 0;
  i64 blocks = 0;  // per row
  int parts = 1;
  std::vector<u8> hi;
  std::vector<u8> lo;
};

// parts: 1 (`fast`) or 2 (`high`: high and low part).
Bfp16Matrix encode_bfp16_matrix(const float* data, i64 rows, i64 cols, int parts);

// What the kernel applies to each fp32 result; nullptr for nothing.
using ActivationModel = float (*)(float);

// acc + sum of 8 products of two 9-byte blocks, as one multiply-accumulate instruction computes it.
float mac_bfp16(float acc, const u8* a_block, const u8* w_block);

// out[M,N] = act(a * w^T + bias): each accumulator starts at its bias (or 0) and takes the k-blocks in
// increasing order; with two parts each k-block is three instructions: lo*hi, hi*lo, hi*hi (a's part first).
// a and w must have equal blocks and parts; out holds a.rows * w.rows values.
void matmul_bfp16_model(ThreadPool& pool, const Bfp16Matrix& a, const Bfp16Matrix& w,
                        std::span<const float> bias, ActivationModel activation, float* out);

// The same by mac_bfp16 alone: the text of the specification, and the test of the fast form.
void matmul_bfp16_model_scalar(const Bfp16Matrix& a, const Bfp16Matrix& w, std::span<const float> bias,
                               ActivationModel activation, float* out);

// Encodes both operands, then as above. a is [m, k], w is [n, k].
void matmul_bfp16_model(ThreadPool& pool, const float* a, const float* w, i64 m, i64 n, i64 k, int parts,
                        std::span<const float> bias, ActivationModel activation, float* out);

// out[M,N] = a * w^T + bias in int32, wrapping like the accumulator lanes. a is [m, k], w is [n, k].
void matmul_int8_model(const i8* a, const i8* w, i64 m, i64 n, i64 k, std::span<const i32> bias, i32* out);

}  // namespace tegula::ref
