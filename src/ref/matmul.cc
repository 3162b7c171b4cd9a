// fp32 matrix product: groups of 4 weight rows, which stay in the first-level cache while all rows of x pass
// by.
#include <algorithm>

#include "ref/dot.h"
#include "ref/ops.h"

namespace tegula::ref {
namespace {

// Bias and activation of columns begin..end-1.
void finish_columns(std::span<const float> bias, graph::Activation activation, i64 begin, i64 end,
                    Tensor& out) {
  for (i64 r = 0; r < out.rows; ++r) {
    const auto row = out.row(r);
    if (!bias.empty()) {
      for (i64 n = begin; n < end; ++n) row[n] += bias[n];
    }
    if (activation == graph::Activation::kGelu) {
      for (i64 n = begin; n < end; ++n) row[n] = gelu(row[n]);
    }
  }
}

}  // namespace

void matmul(ThreadPool& pool, const Tensor& x, const MatrixView& weight, std::span<const float> bias,
            graph::Activation activation, Tensor& out) {
  out.resize(x.rows, weight.rows);
  const i64 k = x.cols;
  pool.parallel_for((weight.rows + 3) / 4, 16, [&](i64 first, i64 last) {
    for (i64 n = first * 4; n < std::min(last * 4, weight.rows); n += 4) {
      const i64 w_rows = std::min<i64>(4, weight.rows - n);
      for (i64 r = 0; r < x.rows; r += 3) {
        dot_tile(x.data.data() + r * k, std::min<i64>(3, x.rows - r), weight.data + n * k, w_rows, k,
                 out.data.data() + r * out.cols + n, out.cols);
      }
    }
    finish_columns(bias, activation, first * 4, std::min(last * 4, weight.rows), out);
  });
}

}  // namespace tegula::ref
