#include "num/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace tegula::num {
namespace {

TEST(Bf16, EveryPatternSurvivesTheRoundTripInEveryMode) {
  for (Rounding mode : {Rounding::kFloor, Rounding::kSymCeil, Rounding::kConvEven, Rounding::kConvOdd}) {
    for (u32 bits = 0; bits < 0x10000; ++bits) {
      EXPECT_EQ(bf16_from_f32(f32_from_bf16(static_cast<u16>(bits)), mode), bits);
    }
  }
}

TEST(Bf16, RoundsTheRealValue) {
  const float above = std::bit_cast<float>(0x3F800001u);  // a little over 1
  const float half = std::bit_cast<float>(0x3F808000u);   // half way between 0x3F80 and 0x3F81
  EXPECT_EQ(bf16_from_f32(above, Rounding::kFloor), 0x3F80);
  EXPECT_EQ(bf16_from_f32(-above, Rounding::kFloor), 0xBF81);
  EXPECT_EQ(bf16_from_f32(above, Rounding::kCeil), 0x3F81);
  EXPECT_EQ(bf16_from_f32(-above, Rounding::kCeil), 0xBF80);
  EXPECT_EQ(bf16_from_f32(-above, Rounding::kSymFloor), 0xBF80);
  EXPECT_EQ(bf16_from_f32(-above, Rounding::kSymCeil), 0xBF81);
  EXPECT_EQ(bf16_from_f32(half), 0x3F80);
  EXPECT_EQ(bf16_from_f32(half, Rounding::kConvOdd), 0x3F81);
  EXPECT_EQ(bf16_from_f32(half, Rounding::kPosInf), 0x3F81);
  EXPECT_EQ(bf16_from_f32(-half, Rounding::kPosInf), 0xBF80);
  EXPECT_EQ(bf16_from_f32(-half, Rounding::kNegInf), 0xBF81);
}

TEST(Bf16, SpecialValues) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(bf16_from_f32(inf), 0x7F80);
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max()), 0x7F80);  // rounding carries into infinity
  EXPECT_EQ(bf16_from_f32(std::numeric_limits<float>::max(), Rounding::kFloor), 0x7F7F);
  EXPECT_EQ(bf16_from_f32(std::bit_cast<float>(0x7F800001u)), 0x7F81);
  EXPECT_EQ(bf16_from_f32(-0.0f), 0x8000);
}

TEST(Bf16, RowsEqualSingleValues) {
  std::mt19937 random(2);
  std::vector<float> row(50000);
  for (float& x : row) x = std::bit_cast<float>(static_cast<u32>(random()));
  row[0] = std::bit_cast<float>(0xFF800001u), row[1] = INFINITY, row[2] = std::bit_cast<float>(0x3F808000u);
  std::vector<u16> out(row.size());
  for (Rounding mode : {Rounding::kConvEven, Rounding::kFloor}) {
    bf16_from_f32(row, out.data(), mode);
    for (size_t i = 0; i < row.size(); ++i) ASSERT_EQ(out[i], bf16_from_f32(row[i], mode)) << i;
  }
}

TEST(F16, KnownValues) {
  EXPECT_EQ(f32_from_f16(0x3C00), 1.0f);
  EXPECT_EQ(f32_from_f16(0xC500), -5.0f);
  EXPECT_EQ(f32_from_f16(0x0001), 0x1p-24f);
  EXPECT_EQ(f32_from_f16(0x03FF), 1023 * 0x1p-24f);
  EXPECT_EQ(f32_from_f16(0x7BFF), 65504.0f);
  EXPECT_TRUE(std::isinf(f32_from_f16(0xFC00)));
  EXPECT_TRUE(std::isnan(f32_from_f16(0x7E00)));
}

}  // namespace
}  // namespace tegula::num
