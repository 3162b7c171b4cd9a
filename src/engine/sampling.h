// Picks the next token from logits: greedy, or temperature with top-k and top-p. The same seed gives the same
// tokens on every machine.
#pragma once

#include <random>
#include <span>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::engine {

struct SamplingOptions {
  float temperature = 0;  // 0: greedy
  i64 top_k = 0;          // 0: all tokens
  float top_p = 1;        // smallest set of tokens whose probability reaches it; 1: all
  u64 seed = 0;
};

// kInvalidArgument, naming the option and its range.
Result<void> check(const SamplingOptions& options);

class Sampler {
 public:
  explicit Sampler(const SamplingOptions& options) : options_(options), random_(options.seed) {}

  // kInvalidArgument for empty logits, kInternal when one is not a number.
  Result<i32> sample(std::span<const float> logits);

 private:
  struct Candidate {
    float logit;
    i32 token;
  };
  i32 draw();

  SamplingOptions options_;
  std::mt19937_64 random_;
  std::vector<Candidate> candidates_;
  std::vector<double> weights_;
};

// Index of the largest logit, the first one of equals.
Result<i32> argmax(std::span<const float> logits);

}  // namespace tegula::engine
