#include "ref/ops.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace tegula::ref {
namespace {

Tensor tensor(i64 rows, i64 cols, std::vector<float> data) {
  Tensor out(rows, cols);
  out.data = std::move(data);
  return out;
}

Tensor random_tensor(i64 rows, i64 cols, u32 seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Tensor out(rows, cols);
  for (float& x : out.data) x = normal(random);
  return out;
}

TEST(Ops, EmbedRefusesIdsOutsideTheTable) {
  const float table[6] = {1, 2, 3, 4, 5, 6};
  Tensor out;
  const i32 good[2] = {2, 0};
  ASSERT_TRUE(embed(good, {table, 3, 2}, out).ok());
  EXPECT_EQ(out.data, (std::vector<float>{5, 6, 1, 2}));
  const i32 bad[2] = {1, 3};
  const auto result = embed(bad, {table, 3, 2}, out);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().message.find("row 1 of the pass: id 3"), std::string::npos);
}

TEST(Ops, Norms) {
  Tensor out;
  const std::vector<float> weight = {1, 2}, bias = {0.5f, -0.5f};
  rms_norm(tensor(1, 2, {3, 4}), weight, 0.5f, out);
  EXPECT_FLOAT_EQ(out.data[0], 3 / std::sqrt(13.0f));
  EXPECT_FLOAT_EQ(out.data[1], 8 / std::sqrt(13.0f));
  layer_norm(tensor(1, 2, {3, 5}), weight, bias, 3.0f, out);  // mean 4, variance 1
  EXPECT_FLOAT_EQ(out.data[0], 0.0f);
  EXPECT_FLOAT_EQ(out.data[1], 0.5f);
}

TEST(Ops, MatmulAgainstDouble) {
  ThreadPool pool(2);
  for (i64 m : {1, 2, 3, 4, 8}) {
    for (i64 k : {1, 8, 37, 64}) {
      const i64 n = 71;
      const Tensor x = random_tensor(m, k, 1), w = random_tensor(n, k, 2), bias = random_tensor(1, n, 3);
      Tensor out;
      matmul(pool, x, {w.data.data(), n, k}, bias.data, graph::Activation::kNone, out);
      for (i64 r = 0; r < m; ++r) {
        for (i64 c = 0; c < n; ++c) {
          double want = bias.data[c];
          for (i64 i = 0; i < k; ++i) want += static_cast<double>(x.row(r)[i]) * w.row(c)[i];
          ASSERT_NEAR(out.row(r)[c], want, 2e-5) << m << " " << k << " at " << r << "," << c;
        }
      }
    }
  }
}

TEST(Ops, GeluIsTheExactOne) {
  ThreadPool pool(1);
  const float one = 1;
  Tensor out;
  matmul(pool, tensor(3, 1, {-1, 0, 2}), {&one, 1, 1}, {}, graph::Activation::kGelu, out);
  EXPECT_NEAR(out.data[0], -0.15865525, 1e-6);
  EXPECT_EQ(out.data[1], 0);
  EXPECT_NEAR(out.data[2], 1.9544997, 1e-6);
}

TEST(Ops, RopeRotatesHalves) {
  Tensor out;
  const i32 positions[2] = {0, 3};
  const Tensor x = tensor(2, 4, {1, 2, 3, 4, 1, 2, 3, 4});
  rope(x, positions, 1, 4, 100.0f, {}, out);
  EXPECT_EQ(out.row(0)[2], 3);  // position 0 changes nothing
  EXPECT_NEAR(out.row(1)[0], 1 * std::cos(3.0) - 3 * std::sin(3.0), 1e-5);
  EXPECT_NEAR(out.row(1)[2], 3 * std::cos(3.0) + 1 * std::sin(3.0), 1e-5);
  EXPECT_NEAR(out.row(1)[1], 2 * std::cos(0.3) - 4 * std::sin(0.3), 1e-5);
  const std::vector<float> factors = {1, 2};
  rope(x, positions, 1, 4, 100.0f, factors, out);
  EXPECT_NEAR(out.row(1)[1], 2 * std::cos(0.15) - 4 * std::sin(0.15), 1e-5);
}

TEST(Ops, AttentionSharesKeyHeads) {
  ThreadPool pool(2);
  // Two query heads of one dimension over one key head; the second head has q = 0 and so averages the values.
  const Tensor q = tensor(1, 2, {1, 0});
  const std::vector<float> keys = {0, std::log(3.0f)}, values = {4, 8};
  const AttentionRow row{keys.data(), values.data(), 2};
  graph::Attrs attrs;
  attrs.heads = 2, attrs.kv_heads = 1, attrs.head_dim = 1;
  Tensor out;
  attention(pool, q, std::span(&row, 1), attrs, out);
  EXPECT_NEAR(out.data[0], 0.25 * 4 + 0.75 * 8, 1e-6);
  EXPECT_NEAR(out.data[1], 6, 1e-6);
}

TEST(Ops, RowsOfSequences) {
  const Tensor x = tensor(3, 2, {1, 2, 3, 4, 5, 6});
  const std::vector<i64> sequences = {2, 1};
  Tensor out;
  mean_pool(x, sequences, out);
  EXPECT_EQ(out.data, (std::vector<float>{2, 3, 5, 6}));
  last_row(x, sequences, out);
  EXPECT_EQ(out.data, (std::vector<float>{3, 4, 5, 6}));
}

TEST(Ops, ElementwiseAndColumns) {
  Tensor out;
  const Tensor a = tensor(2, 2, {1, -1, 0, 3}), b = tensor(2, 2, {2, 2, 2, 4});
  silu_mul(a, b, out);
  EXPECT_NEAR(out.data[0], 2 / (1 + std::exp(-1.0)), 1e-6);
  EXPECT_NEAR(out.data[1], -2 / (1 + std::exp(1.0)), 1e-6);
  add(a, b, out);
  EXPECT_EQ(out.data, (std::vector<float>{3, 1, 2, 7}));
  scale(a, 2, out);
  EXPECT_EQ(out.data, (std::vector<float>{2, -2, 0, 6}));
  l2_normalize(tensor(2, 2, {3, 4, 0, 0}), out);
  EXPECT_EQ(out.data, (std::vector<float>{0.6f, 0.8f, 0, 0}));
  slice(b, 1, 2, out);
  EXPECT_EQ(out.data, (std::vector<float>{2, 4}));
  Tensor joined;
  concat(a, out, joined);
  EXPECT_EQ(joined.data, (std::vector<float>{1, -1, 2, 0, 3, 4}));
}

}  // namespace
}  // namespace tegula::ref
