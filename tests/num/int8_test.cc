#include "num/int8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tegula::num {
namespace {

TEST(Int8, SymmetricRow) {
  const std::vector<float> row = {-2.0f, 1.0f, 0.0f, 2.0f};
  std::vector<i8> q(4);
  const float scale = quantize_int8(row, q.data());
  EXPECT_FLOAT_EQ(scale, 2.0f / 127);
  EXPECT_EQ(q, (std::vector<i8>{-127, 64, 0, 127}));  // 63.5 rounds to even
  std::vector<float> back(4);
  dequantize_int8(q, scale, back.data());
  for (int i = 0; i < 4; ++i) EXPECT_NEAR(back[i], row[i], scale / 2 * 1.0001f);
}

TEST(Int8, ZeroRowHasScaleZero) {
  const std::vector<float> row(5);
  std::vector<i8> q(5, 1);
  EXPECT_EQ(quantize_int8(row, q.data()), 0.0f);
  EXPECT_EQ(q, std::vector<i8>(5, 0));
}

TEST(Int8, SrsSaturates) {
  EXPECT_EQ(srs_int8(1000, 2), 127);
  EXPECT_EQ(srs_int8(-1000, 2), -128);
  EXPECT_EQ(srs_int8(10, 2), 2);  // 2.5 to even
  EXPECT_EQ(srs_int8(10, 2, Rounding::kPosInf), 3);
}

TEST(Int4, NibblesAreSigned) {
  EXPECT_EQ(int4_low(0xF8), -8);
  EXPECT_EQ(int4_high(0xF8), -1);
  EXPECT_EQ(int4_high(0x7A), 7);
}

}  // namespace
}  // namespace tegula::num
