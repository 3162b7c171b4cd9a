#include "engine/engine.h"

namespace tegula::engine {

Result<std::unique_ptr<OpRunner>> make_cpu_runner(const RunnerParts& parts) {
  return std::unique_ptr<OpRunner>(std::make_unique<CpuRunner>(parts.weights, parts.cache, parts.pool));
}

Engine::Engine(LoadedModel model, const EngineOptions& options)
    : model_(std::move(model)),
      options_(options),
      traits_(model::traits(model_.config)),
      pool_(options.threads),
      weights_(model_.weights, pool_) {}

Result<std::unique_ptr<Engine>> Engine::load(const std::string& path, const EngineOptions& options,
                                             const RunnerFactory& runner) {
  TRY_ASSIGN(LoadedModel model, load_model(path));
  return create(std::move(model), options, runner);
}

Result<std::unique_ptr<Engine>> Engine::create(LoadedModel model, const EngineOptions& options,
                                               const RunnerFactory& runner) {
  std::unique_ptr<Engine> engine(new Engine(std::move(model), options));
  const i64 limit = engine->traits_.context;
  i64& context = engine->options_.context;
  if (context == 0) context = limit;
  if (context < 0 || context > limit) {
    return fail(Code::kInvalidArgument, "a context of " + std::to_string(context) +
                                            " positions was asked for; model " + engine->model_.name +
                                            " has 1 .. " + std::to_string(limit));
  }
  if (options.slots < 1 || options.rows_per_pass < 1) {
    return fail(Code::kInvalidArgument, "slots and rows per pass must be 1 or more");
  }
  if (engine->traits_.decoder) {
    engine->cache_ =
        std::make_unique<KvCache>(engine->traits_.layers, options.slots, context, engine->traits_.kv_cols);
  }
  for (i64 slot = 0; slot < options.slots; ++slot) engine->free_slots_.insert(slot);
  TRY_ASSIGN(graph::Graph graph, model::build(engine->model_.config, options.all_rows));
  const RunnerParts parts{engine->model_, engine->weights_, engine->cache_.get(), engine->pool_};
  TRY_ASSIGN(engine->runner_, runner(parts));
  TRY_ASSIGN(Executor executor,
             Executor::create(std::make_shared<const graph::Graph>(std::move(graph)), *engine->runner_));
  engine->executor_ = std::make_unique<Executor>(std::move(executor));
  if (options.check) {
    TRY_ASSIGN(engine->yardstick_, make_cpu_runner(parts));
    engine->executor_->check_against(engine->yardstick_.get());
  }
  return engine;
}

Result<i64> Engine::take_slot() {
  if (free_slots_.empty()) {
    return fail(Code::kOutOfRange, "all " + std::to_string(options_.slots) +
                                       " sequences are in use; close one, or load the model with more slots");
  }
  const i64 slot = *free_slots_.begin();
  free_slots_.erase(free_slots_.begin());
  return slot;
}

}  // namespace tegula::engine
