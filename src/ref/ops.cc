#include "ref/ops.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "ref/dot.h"

namespace tegula::ref {

Result<void> embed(std::span<const i32> ids, const MatrixView& table, Tensor& out) {
  out.resize(static_cast<i64>(ids.size()), table.cols);
  for (size_t r = 0; r < ids.size(); ++r) {
    if (ids[r] < 0 || ids[r] >= table.rows) {
      return fail(Code::kOutOfRange, "row " + std::to_string(r) + " of the pass: id " +
                                         std::to_string(ids[r]) + " is outside the embedding table of " +
                                         std::to_string(table.rows) + " rows");
    }
    std::copy_n(table.data + ids[r] * table.cols, table.cols, out.row(static_cast<i64>(r)).begin());
  }
  return {};
}

void rms_norm(const Tensor& x, std::span<const float> weight, float eps, Tensor& out) {
  out.resize(x.rows, x.cols);
  for (i64 r = 0; r < x.rows; ++r) {
    const auto in = x.row(r);
    double sum = 0;
    for (float v : in) sum += static_cast<double>(v) * v;
    const float inverse = 1.0f / std::sqrt(static_cast<float>(sum / static_cast<double>(x.cols)) + eps);
    const auto to = out.row(r);
    for (i64 c = 0; c < x.cols; ++c) to[c] = in[c] * inverse * weight[c];
  }
}

void layer_norm(const Tensor& x, std::span<const float> weight, std::span<const float> bias, float eps,
                Tensor& out) {
  out.resize(x.rows, x.cols);
  for (i64 r = 0; r < x.rows; ++r) {
    const auto in = x.row(r);
    double sum = 0;
    for (float v : in) sum += v;
    const double mean = sum / static_cast<double>(x.cols);
    double squares = 0;
    for (float v : in) squares += (v - mean) * (v - mean);
    const double inverse = 1.0 / std::sqrt(squares / static_cast<double>(x.cols) + eps);
    const auto to = out.row(r);
    for (i64 c = 0; c < x.cols; ++c)
      to[c] = static_cast<float>((in[c] - mean) * inverse) * weight[c] + bias[c];
  }
}

void rope(const Tensor& x, std::span<const i32> positions, i64 heads, i64 head_dim, float base,
          std::span<const float> factors, Tensor& out) {
  out.resize(x.rows, x.cols);
  const i64 half = head_dim / 2;
  std::vector<float> frequency(half), cosine(half), sine(half);
  for (i64 i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(head_dim);
    frequency[i] = 1.0f / (std::pow(base, exponent) * (factors.empty() ? 1.0f : factors[i]));
  }
  for (i64 r = 0; r < x.rows; ++r) {
    for (i64 i = 0; i < half; ++i) {
      const float angle = static_cast<float>(positions[r]) * frequency[i];
      cosine[i] = std::cos(angle);
      sine[i] = std::sin(angle);
    }
    for (i64 h = 0; h < heads; ++h) {
      const float* in = x.row(r).data() + h * head_dim;
      float* to = out.row(r).data() + h * head_dim;
      for (i64 i = 0; i < half; ++i) {
        to[i] = in[i] * cosine[i] - in[i + half] * sine[i];
        to[i + half] = in[i + half] * cosine[i] + in[i] * sine[i];
      }
    }
  }
}

namespace {

// One head of one row: scores, softmax, weighted sum of values.
void attend(const float* q, const AttentionRow& row, i64 head_offset, i64 stride, const graph::Attrs& attrs,
            std::vector<float>& scores, float* out) {
  scores.resize(row.count);
  float largest = -INFINITY;
  for (i64 t = 0; t < row.count; ++t) {
    scores[t] = dot(q, row.keys + t * stride + head_offset, attrs.head_dim) * attrs.scale;
    largest = std::max(largest, scores[t]);
  }
  float sum = 0;
  for (float& score : scores) {
    score = std::exp(score - largest);
    sum += score;
  }
  std::fill_n(out, attrs.head_dim, 0.0f);
  for (i64 t = 0; t < row.count; ++t) {
    accumulate(scores[t] / sum, row.values + t * stride + head_offset, attrs.head_dim, out);
  }
}

}  // namespace

void attention(ThreadPool& pool, const Tensor& q, std::span<const AttentionRow> rows,
               const graph::Attrs& attrs, Tensor& out) {
  out.resize(q.rows, q.cols);
  const i64 group = attrs.heads / attrs.kv_heads;
  const i64 stride = attrs.kv_heads * attrs.head_dim;
  pool.parallel_for(q.rows * attrs.heads, 8, [&](i64 begin, i64 end) {
    std::vector<float> scores;
    for (i64 at = begin; at < end; ++at) {
      const i64 r = at / attrs.heads;
      const i64 head = at % attrs.heads;
      attend(q.row(r).data() + head * attrs.head_dim, rows[r], head / group * attrs.head_dim, stride, attrs,
             scores, out.row(r).data() + head * attrs.head_dim);
    }
  });
}

void silu_mul(const Tensor& gate, const Tensor& up, Tensor& out) {
  out.resize(gate.rows, gate.cols);
  for (size_t i = 0; i < gate.data.size(); ++i) {
    const float g = gate.data[i];
    out.data[i] = g / (1.0f + std::exp(-g)) * up.data[i];
  }
}

void add(const Tensor& a, const Tensor& b, Tensor& out) {
  out.resize(a.rows, a.cols);
  for (size_t i = 0; i < a.data.size(); ++i) out.data[i] = a.data[i] + b.data[i];
}

void scale(const Tensor& x, float factor, Tensor& out) {
  out.resize(x.rows, x.cols);
  for (size_t i = 0; i < x.data.size(); ++i) out.data[i] = x.data[i] * factor;
}

void mean_pool(const Tensor& x, std::span<const i64> sequences, Tensor& out) {
  out.resize(static_cast<i64>(sequences.size()), x.cols);
  std::vector<double> sum(x.cols);
  i64 at = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (i64 r = 0; r < sequences[s]; ++r, ++at) {
      for (i64 c = 0; c < x.cols; ++c) sum[c] += x.row(at)[c];
    }
    for (i64 c = 0; c < x.cols; ++c) {
      out.row(static_cast<i64>(s))[c] = static_cast<float>(sum[c] / static_cast<double>(sequences[s]));
    }
  }
}

void last_row(const Tensor& x, std::span<const i64> sequences, Tensor& out) {
  out.resize(static_cast<i64>(sequences.size()), x.cols);
  i64 end = 0;
  for (size_t s = 0; s < sequences.size(); ++s) {
    end += sequences[s];
    std::ranges::copy(x.row(end - 1), out.row(static_cast<i64>(s)).begin());
  }
}

void l2_normalize(const Tensor& x, Tensor& out) {
  out.resize(x.rows, x.cols);
  for (i64 r = 0; r < x.rows; ++r) {
    double sum = 0;
    for (float v : x.row(r)) sum += static_cast<double>(v) * v;
    const double norm = std::max(std::sqrt(sum), 1e-12);
    for (i64 c = 0; c < x.cols; ++c) out.row(r)[c] = static_cast<float>(x.row(r)[c] / norm);
  }
}

void slice(const Tensor& x, i64 begin, i64 end, Tensor& out) {
  out.resize(x.rows, end - begin);
  for (i64 r = 0; r < x.rows; ++r) std::copy_n(x.row(r).begin() + begin, end - begin, out.row(r).begin());
}

void concat(const Tensor& a, const Tensor& b, Tensor& out) {
  out.resize(a.rows, a.cols + b.cols);
  for (i64 r = 0; r < a.rows; ++r) {
    const auto to = std::ranges::copy(a.row(r), out.row(r).begin()).out;
    std::ranges::copy(b.row(r), to);
  }
}

float gelu(float x) {
  return 0.5f * x * (1.0f + std::erf(x * 0.70710678f));
}

}  // namespace tegula::ref
