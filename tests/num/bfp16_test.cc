#include "num/bfp16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace tegula::num {
namespace {

TEST(Bfp16, KnownBlocks) {
  const float ones[8] = {1, -1, 0.5f, 0, 0, 0, 0, 2.0f};
  const Bfp16Block block = encode_bfp16_block(ones);
  EXPECT_EQ(block.exponent, 128);  // 2.0 is the largest: m = 64
  const i8 expected[8] = {32, -32, 16, 0, 0, 0, 0, 64};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(block.m[i], expected[i]);

  const float zeros[8] = {};
  EXPECT_EQ(encode_bfp16_block(zeros).exponent, 0);
}

TEST(Bfp16, CarryRaisesTheExponent) {
  const float top[8] = {std::nextafter(2.0f, 1.0f), 1.0f, -0.015625f};
  const Bfp16Block block = encode_bfp16_block(top);
  EXPECT_EQ(block.exponent, 128);
  EXPECT_EQ(block.m[0], 64);
  EXPECT_EQ(block.m[1], 32);
  EXPECT_EQ(block.m[2], 0);  // -0.5 unit, rounded once, to even
  const float bottom[8] = {-std::nextafter(2.0f, 1.0f)};
  EXPECT_EQ(encode_bfp16_block(bottom).exponent, 127);  // -128 fits
  EXPECT_EQ(encode_bfp16_block(bottom).m[0], -128);
}

TEST(Bfp16, FloorModeIsBiased) {
  const float values[8] = {1.0f, std::nextafter(-1.0f / 64, 0.0f), 1.0f / 128};
  const Bfp16Block block = encode_bfp16_block(values, Rounding::kFloor);
  EXPECT_EQ(block.m[1], -1);
  EXPECT_EQ(block.m[2], 0);
}

float pattern(u64 bits) {
  return std::bit_cast<float>(static_cast<u32>(bits));
}

// Values over many magnitudes, with zeros, extremes and tops of blocks mixed in.
std::vector<float> hard_values(size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::vector<float> out(count);
  for (float& x : out) {
    const u32 kind = random() % 16;
    if (kind == 0)
      x = 0;
    else if (kind == 1)
      x = pattern(random() & 0x807FFFFFu);  // denormal
    else if (kind == 2)
      x = pattern((random() & 0x80000000u) | 0x3FFFFFFFu);
    else if (kind == 3)
      x = pattern(random() & 0xFF7FFFFFu);  // any finite exponent
    else
      x = std::ldexp(static_cast<float>(random()) * 0x1p-32f - 0.5f, static_cast<int>(random() % 24) - 12);
  }
  for (size_t at = 0; at + 8 <= count; at += 8 * 5) {  // some blocks wholly tiny or wholly huge
    const int shift = (random() & 1) != 0 ? -130 : 120;
    for (size_t i = at; i < at + 8; ++i) out[i] = std::ldexp(1.0f + static_cast<float>(i % 7) / 7, shift);
  }
  return out;
}

TEST(Bfp16, FastEqualsScalar) {
  for (size_t count : {8u, 80000u, 80003u}) {
    const std::vector<float> row = hard_values(count, static_cast<u32>(count));
    std::vector<u8> fast(bfp16_row_bytes(static_cast<i64>(count))), plain(fast.size());
    encode_bfp16(row, fast.data());
    encode_bfp16_scalar(row, plain.data());
    EXPECT_EQ(fast, plain);
  }
}

TEST(Bfp16, ErrorIsHalfAUnit) {
  const std::vector<float> row = hard_values(4096, 3);
  std::vector<u8> bytes(bfp16_row_bytes(4096));
  std::vector<float> back(4096);
  encode_bfp16(row, bytes.data());
  decode_bfp16(bytes.data(), back);
  for (size_t i = 0; i < row.size(); ++i) {
    if (bytes[i / 8 * 9] >= 254) continue;  // the decoded value may be past the largest fp32
    const double unit = std::ldexp(1.0, bytes[i / 8 * 9] - 133);
    ASSERT_LE(std::fabs(static_cast<double>(row[i]) - back[i]), unit / 2) << i;
  }
}

TEST(Bfp16, SplitIsEncodeOfTheRestAndCarriesFifteenBits) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  std::vector<float> row(1003);
  for (float& x : row) x = normal(random);
  const i64 bytes = bfp16_row_bytes(1003);
  std::vector<u8> hi(bytes), lo(bytes), expected(bytes);
  encode_bfp16_split(row, hi.data(), lo.data());
  encode_bfp16(row, expected.data());
  EXPECT_EQ(hi, expected);
  std::vector<float> high(1003), low(1003), rest(1003);
  decode_bfp16(hi.data(), high);
  decode_bfp16(lo.data(), low);
  for (size_t i = 0; i < row.size(); ++i) {
    rest[i] = row[i] - high[i];
    const double unit = std::ldexp(1.0, lo[i / 8 * 9] - 133);
    ASSERT_LE(std::fabs(static_cast<double>(rest[i]) - low[i]), unit / 2);
    ASSERT_LE(unit, std::ldexp(1.0, hi[i / 8 * 9] - 133 - 6));
  }
  encode_bfp16_scalar(rest, expected.data());
  EXPECT_EQ(lo, expected);
}

}  // namespace
}  // namespace tegula::num
