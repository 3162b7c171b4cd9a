#include "num/rounding.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tegula::num {
namespace {

struct Row {
  Rounding mode;
  i64 expected[9];  // of -1.75, -1.5, -1.25, -1, -0.5, 0.5, 1.25, 1.5, 2.5 in quarters
};

TEST(RoundShift, FollowsTheTableOfModes) {
  const i64 quarters[9] = {-7, -6, -5, -4, -2, 2, 5, 6, 10};
  const Row rows[] = {
      {Rounding::kFloor, {-2, -2, -2, -1, -1, 0, 1, 1, 2}},
      {Rounding::kCeil, {-1, -1, -1, -1, 0, 1, 2, 2, 3}},
      {Rounding::kSymFloor, {-1, -1, -1, -1, 0, 0, 1, 1, 2}},
      {Rounding::kSymCeil, {-2, -2, -2, -1, -1, 1, 2, 2, 3}},
      {Rounding::kNegInf, {-2, -2, -1, -1, -1, 0, 1, 1, 2}},
      {Rounding::kPosInf, {-2, -1, -1, -1, 0, 1, 1, 2, 3}},
      {Rounding::kSymZero, {-2, -1, -1, -1, 0, 0, 1, 1, 2}},
      {Rounding::kSymInf, {-2, -2, -1, -1, -1, 1, 1, 2, 3}},
      {Rounding::kConvEven, {-2, -2, -1, -1, 0, 0, 1, 2, 2}},
      {Rounding::kConvOdd, {-2, -1, -1, -1, -1, 1, 1, 1, 3}},
  };
  for (const Row& row : rows) {
    for (int i = 0; i < 9; ++i) {
      EXPECT_EQ(round_shift(quarters[i], 2, row.mode), row.expected[i])
          << "mode " << static_cast<int>(row.mode) << " value " << quarters[i] << "/4";
    }
  }
}

TEST(RoundShift, ExtremeShifts) {
  EXPECT_EQ(round_shift(-5, 0, Rounding::kFloor), -5);
  EXPECT_EQ(round_shift(-5, 200, Rounding::kFloor), -1);
  EXPECT_EQ(round_shift(-5, 200, Rounding::kConvEven), 0);
}

}  // namespace
}  // namespace tegula::num
