#include "engine/weights.h"

#include <optional>

namespace tegula::engine {

Result<std::vector<float>> WeightSource::read(const graph::Weight& weight) const {
  TRY(check(weight));
  std::vector<float> out(weight.rows * weight.cols);
  TRY(read_rows(weight, 0, weight.rows, out));
  return out;
}

Result<void> check_weights(const WeightSource& source, const graph::Graph& graph) {
  constexpr int kShown = 3;
  int failed = 0;
  std::optional<Error> first;
  for (const graph::Weight& weight : graph.weights) {
    Result<void> result = source.check(weight);
    if (result.ok()) continue;
    if (!first) {
      first = result.error();
    } else if (failed < kShown) {
      first->message += "; " + result.error().message;
    }
    ++failed;
  }
  if (!first) return {};
  if (failed > kShown) first->message += "; and " + std::to_string(failed - kShown) + " more";
  return *first;
}

Result<ref::MatrixView> WeightStore::get(const graph::Weight& weight) {
  const std::lock_guard lock(mutex_);
  const auto view = [&](const std::vector<float>& data) {
    return ref::MatrixView{data.data(), weight.rows, weight.cols};
  };
  if (const auto found = held_.find(weight.name); found != held_.end()) return view(found->second);
  TRY(source_->check(weight));
  std::vector<float> data(weight.rows * weight.cols);
  std::mutex error_mutex;
  std::optional<Error> error;
  pool_.parallel_for(weight.rows, 64, [&](i64 begin, i64 end) {
    const auto rows = std::span(data).subspan(begin * weight.cols, (end - begin) * weight.cols);
    Result<void> result = source_->read_rows(weight, begin, end - begin, rows);
    if (result.ok()) return;
    const std::lock_guard error_lock(error_mutex);
    error = result.error();
  });
  if (error) return *error;
  return view(held_.emplace(weight.name, std::move(data)).first->second);
}

void WeightStore::release(const std::string& name) {
  const std::lock_guard lock(mutex_);
  held_.erase(name);
}

i64 WeightStore::bytes() const {
  const std::lock_guard lock(mutex_);
  i64 out = 0;
  for (const auto& [name, data] : held_) out += static_cast<i64>(data.size() * sizeof(float));
  return out;
}

}  // namespace tegula::engine
