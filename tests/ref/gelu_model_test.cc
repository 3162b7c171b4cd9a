#include "ref/gelu_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tegula::ref {
namespace {

TEST(GeluModel, StaysCloseToTheErfForm) {
  double worst = 0;
  for (float x = -12.0f; x <= 12.0f; x += 0.0037f) {
    const double exact = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
    worst = std::max(worst, std::fabs(gelu_model(x) - exact) / std::max(1.0, std::fabs(double{x})));
  }
  EXPECT_LT(worst, 2.5e-3);  // bf16 tanh: 2^-9 of x/2, plus the tanh form itself
  EXPECT_GT(worst, 1e-5);    // it is not the exact function
  EXPECT_EQ(gelu_model(0.0f), 0.0f);
}

TEST(GeluModel, MacRoundsEachTermToTheQuantumOfTheLargest) {
  // 1 + 2^-24: below half an ulp of the product's quantum, so it vanishes; a fused operation would agree.
  EXPECT_EQ(mac_bf16(0x1p-24f, 1.0f, 1.0f), 1.0f);
  // Product 1.5 * 1.5 = 2.25 has nominal exponent 127, so its quantum is 2^-23 although its value is above 2.
  EXPECT_EQ(mac_bf16(0x1.8p-23f, 1.5f, 1.5f), 2.25f + 0x1p-22f);
  EXPECT_EQ(mac_bf16(-2.25f, 1.5f, 1.5f), 0.0f);
}

}  // namespace
}  // namespace tegula::ref
