#include "engine/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace tegula::engine {

Result<void> check(const SamplingOptions& options) {
  if (!(options.temperature >= 0) || !std::isfinite(options.temperature)) {
    return fail(Code::kInvalidArgument,
                "temperature is " + std::to_string(options.temperature) + ", expected 0 or more");
  }
  if (options.top_k < 0) {
    return fail(Code::kInvalidArgument,
                "top_k is " + std::to_string(options.top_k) + ", expected 0 (all) or more");
  }
  if (!(options.top_p > 0 && options.top_p <= 1)) {
    return fail(Code::kInvalidArgument,
                "top_p is " + std::to_string(options.top_p) + ", expected more than 0, at most 1");
  }
  return {};
}

Result<i32> argmax(std::span<const float> logits) {
  if (logits.empty()) return fail(Code::kInvalidArgument, "no logits to choose a token from");
  i64 best = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]))
      return fail(Code::kInternal, "the logit of token " + std::to_string(i) + " is not a number");
    if (logits[i] > logits[best]) best = static_cast<i64>(i);
  }
  return static_cast<i32>(best);
}

// Candidates are sorted, largest first; weights are exp of their distance from the largest.
i32 Sampler::draw() {
  weights_.clear();
  double total = 0;
  for (const Candidate& candidate : candidates_) {
    weights_.push_back(
        std::exp((static_cast<double>(candidate.logit) - candidates_[0].logit) / options_.temperature));
    total += weights_.back();
  }
  size_t kept = 0;
  double mass = 0;
  while (kept < weights_.size() && (kept == 0 || mass < options_.top_p * total)) mass += weights_[kept++];
  // 53 random bits: std distributions differ between libraries.
  double at = static_cast<double>(random_() >> 11) * 0x1p-53 * mass;
  for (size_t i = 0; i < kept; ++i) {
    at -= weights_[i];
    if (at < 0) return candidates_[i].token;
  }
  return candidates_[kept - 1].token;
}

Result<i32> Sampler::sample(std::span<const float> logits) {
  TRY_ASSIGN(const i32 best, argmax(logits));
  if (options_.temperature == 0) return best;
  candidates_.resize(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) candidates_[i] = {logits[i], static_cast<i32>(i)};
  const auto order = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.token < b.token;
  };
  const i64 all = static_cast<i64>(candidates_.size());
  const i64 kept = options_.top_k > 0 ? std::min(options_.top_k, all) : all;
  std::partial_sort(candidates_.begin(), candidates_.begin() + kept, candidates_.end(), order);
  candidates_.resize(kept);
  return draw();
}

}  // namespace tegula::engine
