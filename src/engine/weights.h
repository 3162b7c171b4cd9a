// Weights by their canonical names (the tables in model/), whatever file they lie in.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "graph/graph.h"
#include "ref/ops.h"

namespace tegula::engine {

// Where weights come from. Reading is lazy and safe from several threads.
class WeightSource {
 public:
  virtual ~WeightSource() = default;

  // kNotFound, kCorrupt (another shape) or kUnsupported (a stored type that cannot be expanded) before
  // anything is read.
  virtual Result<void> check(const graph::Weight& weight) const = 0;
  // How it is stored, for reports: "Q4_1", "F32"; empty when absent.
  virtual std::string stored_type(const std::string& name) const = 0;
  // Expands rows first .. first + count - 1 to fp32; out holds count * weight.cols values.
  virtual Result<void> read_rows(const graph::Weight& weight, i64 first, i64 count,
                                 std::span<float> out) const = 0;

  // The whole matrix, row-major.
  Result<std::vector<float>> read(const graph::Weight& weight) const;
};

// Checks every weight of a graph; the one error names all that do not fit (the first few, and how many).
Result<void> check_weights(const WeightSource& source, const graph::Graph& graph);

// Expanded weights, kept until released. Safe from several threads, except that `pool` runs one get at a
// time.
class WeightStore {
 public:
  WeightStore(std::shared_ptr<const WeightSource> source, ThreadPool& pool)
      : source_(std::move(source)), pool_(pool) {}

  const WeightSource& source() const { return *source_; }
  // The view stays valid until release(name).
  Result<ref::MatrixView> get(const graph::Weight& weight);
  void release(const std::string& name);
  i64 bytes() const;  // held now

 private:
  std::shared_ptr<const WeightSource> source_;
  ThreadPool& pool_;
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<float>> held_;
};

}  // namespace tegula::engine
