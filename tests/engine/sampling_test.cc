#include "engine/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

namespace tegula::engine {
namespace {

std::map<i32, int> histogram(const SamplingOptions& options, const std::vector<float>& logits, int draws) {
  Sampler sampler(options);
  std::map<i32, int> out;
  for (int i = 0; i < draws; ++i) ++out[sampler.sample(logits).value()];
  return out;
}

TEST(Sampling, GreedyTakesTheFirstOfTheLargest) {
  Sampler sampler({});
  EXPECT_EQ(sampler.sample(std::vector<float>{1, 3, 3, 2}).value(), 1);
}

TEST(Sampling, FollowsTheProbabilities) {
  const std::vector<float> logits = {std::log(1.0f), std::log(3.0f)};
  const auto counts = histogram({.temperature = 1, .seed = 5}, logits, 8000);
  EXPECT_NEAR(counts.at(1) / 8000.0, 0.75, 0.02);  // 4 standard deviations, and the seed is fixed
  const auto cold = histogram({.temperature = 0.5f, .seed = 5}, logits, 8000);
  EXPECT_NEAR(cold.at(1) / 8000.0, 0.9, 0.02);
}

TEST(Sampling, TopKAndTopPCutTheTail) {
  const std::vector<float> logits = {std::log(0.1f), std::log(0.5f), std::log(0.25f), std::log(0.15f)};
  EXPECT_EQ(histogram({.temperature = 1, .top_k = 2}, logits, 500).size(), 2u);
  const auto nucleus = histogram({.temperature = 1, .top_p = 0.7f}, logits, 500);
  EXPECT_EQ(nucleus.size(), 2u);  // 0.5 alone is less than 0.7
  EXPECT_TRUE(nucleus.contains(1) && nucleus.contains(2));
  EXPECT_EQ(histogram({.temperature = 1, .top_p = 0.4f}, logits, 100).size(), 1u);
}

TEST(Sampling, TheSeedDecides) {
  std::vector<float> logits(50);
  const auto draw = [&](u64 seed) {
    Sampler sampler({.temperature = 1, .seed = seed});
    std::vector<i32> out;
    for (int i = 0; i < 20; ++i) out.push_back(sampler.sample(logits).value());
    return out;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampling, RefusesWhatMakesNoSense) {
  EXPECT_FALSE(check({.temperature = -1}).ok());
  EXPECT_FALSE(check({.temperature = NAN}).ok());
  EXPECT_FALSE(check({.top_k = -1}).ok());
  EXPECT_FALSE(check({.top_p = 0}).ok());
  EXPECT_TRUE(check({.temperature = 0.7f, .top_k = 40, .top_p = 0.9f}).ok());
  EXPECT_FALSE(argmax({}).ok());
  const auto result = argmax(std::vector<float>{0, NAN});
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "the logit of token 1 is not a number");
}

}  // namespace
}  // namespace tegula::engine
