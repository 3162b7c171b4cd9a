#include "ref/format_model.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "num/bfp16.h"

namespace tegula::ref {
namespace {

struct Block {
  u8 raw[9];
};

Block block(u8 exponent, std::initializer_list<int> mantissas) {
  Block out{};
  out.raw[0] = exponent;
  int i = 1;
  for (int m : mantissas) out.raw[i++] = static_cast<u8>(static_cast<i8>(m));
  return out;
}

TEST(MacBfp16, ExactCases) {
  const Block one = block(127, {64});           // 1.0 = 64 * 2^(127 - 133)
  const Block row = block(128, {64, -32, 16});  // 2, -1, 0.5
  const Block ones = block(127, {64, 64, 64});
  EXPECT_EQ(mac_bfp16(0.0f, one.raw, one.raw), 1.0f);
  EXPECT_EQ(mac_bfp16(-3.0f, one.raw, one.raw), -2.0f);
  EXPECT_EQ(mac_bfp16(10.0f, row.raw, ones.raw), 11.5f);
}

TEST(MacBfp16, ZeroIsPositive) {
  const Block one = block(127, {64}), zero = block(0, {});
  EXPECT_FALSE(std::signbit(mac_bfp16(-1.0f, one.raw, one.raw)));
  EXPECT_FALSE(std::signbit(mac_bfp16(-0.0f, zero.raw, one.raw)));
  EXPECT_EQ(mac_bfp16(-1.5f, zero.raw, one.raw), -1.5f);
}

// The term of the product has exponent EA + EB - 127 even when its integer is far from normalised, and each
// term is rounded to the grid of the largest exponent on its own.
TEST(MacBfp16, AlignmentRoundsEachTerm) {
  const Block unit = block(127, {1});  // 2^-6
  const Block small = block(105, {1});
  // Product 1 * 2^(127 + 105 - 266) = 2^-34, term exponent 105; the accumulator 1.0 has exponent 127, grid
  // 2^-23.
  EXPECT_EQ(mac_bfp16(1.0f, unit.raw, small.raw), 1.0f);
  // Accumulator 2^-30 against a product term of exponent 127 whose value is 2^-12: the grid is 2^-23, it
  // vanishes.
  EXPECT_EQ(mac_bfp16(0x1p-30f, unit.raw, unit.raw), 0x1p-12f);
  // 1.5 grid steps go to even (2), 2.5 as well.
  EXPECT_EQ(mac_bfp16(1.5f * 0x1p-23f, unit.raw, unit.raw), 0x1p-12f + 0x1p-22f);
  EXPECT_EQ(mac_bfp16(2.5f * 0x1p-23f, unit.raw, unit.raw), 0x1p-12f + 0x1p-22f);
}

TEST(MacBfp16, FinalRoundingToTwentyFourBits) {
  // 8 products of -128 * -128 at exponent 127: 2^17 * 2^-12 = 32; plus 1 + 2^-23: the last bit is lost.
  const Block low = block(127, {-128, -128, -128, -128, -128, -128, -128, -128});
  EXPECT_EQ(mac_bfp16(1.0f + 0x1p-23f, low.raw, low.raw), 33.0f);
  EXPECT_EQ(mac_bfp16(1.0f + 0x1p-18f, low.raw, low.raw), 33.0f + 0x1p-18f);
}

TEST(MacBfp16, RangeEnds) {
  const Block huge = block(254, {127, 127, 127, 127, 127, 127, 127, 127});
  const Block tiny = block(10, {1});
  EXPECT_TRUE(std::isinf(mac_bfp16(0.0f, huge.raw, huge.raw)));
  EXPECT_EQ(mac_bfp16(0.0f, tiny.raw, tiny.raw), 0.0f);
  EXPECT_EQ(mac_bfp16(0x1p-149f, tiny.raw, block(0, {}).raw),
            0.0f);  // a denormal accumulator is flushed on the way out
  EXPECT_TRUE(std::isinf(mac_bfp16(INFINITY, tiny.raw, tiny.raw)));
  EXPECT_EQ(std::bit_cast<u32>(mac_bfp16(NAN, tiny.raw, tiny.raw)), 0x7F800001u);
}

std::vector<float> random_matrix(i64 count, u32 seed, int spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> out(count);
  for (float& x : out) {
    x = random() % 11 == 0
            ? 0.0f
            : std::ldexp(normal(random), static_cast<int>(random() % (2 * spread + 1)) - spread);
  }
  return out;
}

TEST(MatmulBfp16Model, FastEqualsScalarBitForBit) {
  ThreadPool pool(2);
  // Spreads from tame to far outside the range that the fast form covers itself.
  for (int spread : {0, 10, 60}) {
    for (int parts : {1, 2}) {
      const i64 m = 5, n = 83, k = 100;
      const auto a = random_matrix(m * k, 1, spread), w = random_matrix(n * k, 2, spread),
                 bias = random_matrix(n, 3, spread);
      const Bfp16Matrix ea = encode_bfp16_matrix(a.data(), m, k, parts);
      const Bfp16Matrix ew = encode_bfp16_matrix(w.data(), n, k, parts);
      std::vector<float> fast(m * n), plain(m * n);
      matmul_bfp16_model(pool, ea, ew, bias, nullptr, fast.data());
      matmul_bfp16_model_scalar(ea, ew, bias, nullptr, plain.data());
      ASSERT_EQ(std::memcmp(fast.data(), plain.data(), fast.size() * sizeof(float)), 0)
          << spread << " " << parts;
    }
  }
}

double relative_l2(const std::vector<float>& got, const std::vector<double>& want) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += (got[i] - want[i]) * (got[i] - want[i]);
    norm += want[i] * want[i];
  }
  return std::sqrt(error / norm);
}

TEST(MatmulBfp16Model, ErrorAgainstFp32) {
  ThreadPool pool(1);
  const i64 m = 8, n = 64, k = 512;
  const auto a = random_matrix(m * k, 4, 0), w = random_matrix(n * k, 5, 0);
  std::vector<double> want(m * n);
  for (i64 r = 0; r < m; ++r) {
    for (i64 c = 0; c < n; ++c) {
      for (i64 i = 0; i < k; ++i) want[r * n + c] += static_cast<double>(a[r * k + i]) * w[c * k + i];
    }
  }
  std::vector<float> one(m * n), two(m * n);
  matmul_bfp16_model(pool, a.data(), w.data(), m, n, k, 1, {}, nullptr, one.data());
  matmul_bfp16_model(pool, a.data(), w.data(), m, n, k, 2, {}, nullptr, two.data());
  EXPECT_GT(relative_l2(one, want), 1e-3);  // a format with 8-bit mantissas cannot do better
  EXPECT_LT(relative_l2(one, want), 2e-2);
  EXPECT_LT(relative_l2(two, want), 2e-4);
}

TEST(MatmulBfp16Model, ActivationIsAppliedLast) {
  ThreadPool pool(1);
  const float a[1] = {1}, w[2] = {3, -2}, bias[2] = {0.5f, 0.25f};
  float out[2];
  matmul_bfp16_model(
      pool, a, w, 1, 2, 1, 1, bias, [](float x) { return x < 0 ? 0.0f : x; }, out);
  EXPECT_EQ(out[0], 3.5f);
  EXPECT_EQ(out[1], 0.0f);
}

TEST(MatmulInt8Model, SumsAndWraps) {
  const i8 a[3] = {1, -128, 127}, w[6] = {2, 1, 0, -128, -128, 127};
  const i32 bias[2] = {10, 2147483647};
  i32 out[2];
  matmul_int8_model(a, w, 1, 2, 3, bias, out);
  EXPECT_EQ(out[0], 10 + 2 - 128);
  EXPECT_EQ(out[1], static_cast<i32>(2147483647u - 128u + 16384u + 16129u));
}

}  // namespace
}  // namespace tegula::ref
