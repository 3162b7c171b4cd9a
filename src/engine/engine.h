// A loaded model ready to run: weights, KV cache, runner and executors. One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/executor.h"
#include "engine/kv_cache.h"
#include "engine/loader.h"
#include "engine/op_runner.h"

namespace tegula::engine {

// What a runner is made of; all outlive it.
struct RunnerParts {
  const LoadedModel& model;
  WeightStore& weights;
  KvCache* cache;  // null for encoders
  ThreadPool& pool;
};
using RunnerFactory = std::function<Result<std::unique_ptr<OpRunner>>(const RunnerParts&)>;

// The runner that does everything on the host.
Result<std::unique_ptr<OpRunner>> make_cpu_runner(const RunnerParts& parts);

struct EngineOptions {
  int threads = 0;          // 0: all hardware threads
  i64 context = 0;          // positions per sequence; 0: the model's own limit
  i64 slots = 1;            // sequences that may be open at once
  i64 rows_per_pass = 128;  // longer prompts go in several passes
  bool all_rows = false;    // results for every token, not only the last of each sequence
  bool check = false;       // compare each device node with the host; see ExecutionReport::checks
};

class Engine {
 public:
  // kInvalidArgument for options that do not fit the model, and the errors of load_model and of the runner.
  static Result<std::unique_ptr<Engine>> load(const std::string& path, const EngineOptions& options,
                                              const RunnerFactory& runner = make_cpu_runner);
  static Result<std::unique_ptr<Engine>> create(LoadedModel model, const EngineOptions& options,
                                                const RunnerFactory& runner = make_cpu_runner);

  const LoadedModel& model() const { return model_; }
  const model::Traits& traits() const { return traits_; }
  const text::Tokenizer& tokenizer() const { return *model_.tokenizer; }
  const EngineOptions& options() const { return options_; }  // context is resolved
  const graph::Graph& graph() const { return executor_->graph(); }
  Executor& executor() { return *executor_; }
  OpRunner& runner() { return *runner_; }
  WeightStore& weights() { return weights_; }
  ThreadPool& pool() { return pool_; }
  const KvCache* cache() const { return cache_.get(); }

  // One forward pass; see Executor::run.
  Result<const ref::Tensor*> run(const Pass& pass) { return executor_->run(pass); }

  // A free slot of the KV cache, or kOutOfRange with the number of open sequences.
  Result<i64> take_slot();
  void give_slot(i64 slot) { free_slots_.insert(slot); }

 private:
  Engine(LoadedModel model, const EngineOptions& options);

  LoadedModel model_;
  EngineOptions options_;
  model::Traits traits_;
  ThreadPool pool_;
  WeightStore weights_;
  std::unique_ptr<KvCache> cache_;
  std::unique_ptr<OpRunner> runner_;
  std::unique_ptr<OpRunner> yardstick_;
  std::unique_ptr<Executor> executor_;
  std::set<i64> free_slots_;
};

}  // namespace tegula::engine
