// Every op of the graph in plain fp32: the yardstick for the array. Shapes are checked by the graph; the
// functions here assert nothing and trust them. `out` is resized by the callee; it must not be one of the
// operands.
#pragma once

#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "graph/op.h"
#include "ref/tensor.h"

namespace tegula::ref {

// A weight matrix [rows, cols] in the caller's memory.
struct MatrixView {
  const float* data = nullptr;
  i64 rows = 0;
  i64 cols = 0;
};

// Fails when an id is outside the table.
Result<void> embed(std::span<const i32> ids, const MatrixView& table, Tensor& out);

void rms_norm(const Tensor& x, std::span<const float> weight, float eps, Tensor& out);
void layer_norm(const Tensor& x, std::span<const float> weight, std::span<const float> bias, float eps,
                Tensor& out);

// out[M,N] = act(x[M,K] * weight[N,K]^T + bias[N]); bias may be empty.
void matmul(ThreadPool& pool, const Tensor& x, const MatrixView& weight, std::span<const float> bias,
            graph::Activation activation, Tensor& out);

// factors may be empty, or head_dim / 2 divisors of the frequencies.
void rope(const Tensor& x, std::span<const i32> positions, i64 heads, i64 head_dim, float base,
          std::span<const float> factors, Tensor& out);

// What one query row attends to: `count` rows of kv_heads * head_dim, contiguous.
struct AttentionRow {
  const float* keys = nullptr;
  const float* values = nullptr;
  i64 count = 0;
};
// rows.size() == q.rows.
void attention(ThreadPool& pool, const Tensor& q, std::span<const AttentionRow> rows,
               const graph::Attrs& attrs, Tensor& out);

void silu_mul(const Tensor& gate, const Tensor& up, Tensor& out);
void add(const Tensor& a, const Tensor& b, Tensor& out);
void scale(const Tensor& x, float factor, Tensor& out);

// sequences[i] is the length of the i-th run of rows; the lengths add up to x.rows and are not 0.
void mean_pool(const Tensor& x, std::span<const i64> sequences, Tensor& out);
void last_row(const Tensor& x, std::span<const i64> sequences, Tensor& out);

void l2_normalize(const Tensor& x, Tensor& out);
void slice(const Tensor& x, i64 begin, i64 end, Tensor& out);
void concat(const Tensor& a, const Tensor& b, Tensor& out);

float gelu(float x);

}  // namespace tegula::ref
