// Damage to a whole model that plausible text would hide: the embedding taken for the head, swapped heads, a
// transposed weight. Each must break the parity with the reference that the undamaged model holds, on the
// same path: every matrix product on the emulated array, `high`. (Clipped activations: tests/models, for
// those of this tiny model stay small.)
#include <algorithm>
#include <functional>

#include "engine/golden.h"
#include "engine/npu_runner.h"
#include "engine/session.h"

namespace tegula::engine {
namespace {

constexpr double kLimit =
    4e-3;  // relative L2 of the logits that `high` may differ from the reference in fp32

// Weights of a model with one of them changed on the way.
class DamagedWeights : public WeightSource {
 public:
  using Change = std::function<void(std::vector<float>& matrix, i64 rows, i64 cols)>;

  DamagedWeights(std::shared_ptr<const WeightSource> intact, std::string name, Change change)
      : intact_(std::move(intact)), name_(std::move(name)), change_(std::move(change)) {}

  Result<void> check(const graph::Weight& weight) const override { return intact_->check(weight); }
  std::string stored_type(const std::string& name) const override { return intact_->stored_type(name); }
  Result<void> read_rows(const graph::Weight& weight, i64 first, i64 count,
                         std::span<float> out) const override {
    if (weight.name != name_) return intact_->read_rows(weight, first, count, out);
    std::vector<float> matrix(weight.rows * weight.cols);
    TRY(intact_->read_rows(weight, 0, weight.rows, matrix));
    change_(matrix, weight.rows, weight.cols);
    std::copy_n(matrix.begin() + first * weight.cols, count * weight.cols, out.begin());
    return {};
  }

 private:
  std::shared_ptr<const WeightSource> intact_;
  std::string name_;
  Change change_;
};

struct Damage {
  std::string weight = {};  // its name; empty: none
  DamagedWeights::Change change = {};
  bool head_is_embedding = false;
};

Result<std::unique_ptr<OpRunner>> emulated_array(const RunnerParts& p) {
  TRY_ASSIGN(std::unique_ptr<NpuRunner> runner,
             NpuRunner::create(
                 p.weights, p.cache, p.pool,
                 {.node = device::NodeChoice::kEmulated, .node_options = {.watch = true}, .parts = 2}));
  return std::unique_ptr<OpRunner>(std::move(runner));
}

// The parity check of a tiny model with an untied head: relative L2 of the last logits of a prompt.
double error_with(const Damage& damage) {
  auto model = load_model(std::string(TEGULA_SOURCE_DIR) + "/tests/golden/tiny_llama.gguf");
  EXPECT_TRUE(model.ok());
  if (!damage.weight.empty()) {
    model->weights = std::make_shared<DamagedWeights>(model->weights, damage.weight, damage.change);
  }
  auto& config = std::get<model::LlamaConfig>(model->config);
  EXPECT_FALSE(config.tied_head);
  config.tied_head = damage.head_is_embedding;
  const auto engine = Engine::create(std::move(*model), {.threads = 1}, emulated_array);
  EXPECT_TRUE(engine.ok()) << (engine.ok() ? "" : engine.error().message);
  if (!engine.ok()) return NAN;
  const Golden golden("tiny_llama.safetensors");
  auto session = Session::open(**engine);
  EXPECT_TRUE(session.ok());
  const auto logits = (*session)->advance(golden.get<i32>("prompt1.ids"));
  EXPECT_TRUE(logits.ok());
  if (!logits.ok()) return NAN;
  return relative_l2((*logits)->row((*logits)->rows - 1), golden.get<float>("prompt1.logits"));
}

TEST(ModelMutation, UndamagedHoldsParity) {
  EXPECT_LE(error_with({}), kLimit);
}
TEST(ModelMutation, EmbeddingUsedAsHead) {
  EXPECT_GT(error_with({.head_is_embedding = true}), kLimit);
}
TEST(ModelMutation, TwoHeadsSwapped) {
  constexpr i64 kHeadRows = 16;  // head size of the tiny model
  const auto swap = [](std::vector<float>& m, i64, i64 cols) {
    std::swap_ranges(m.begin(), m.begin() + kHeadRows * cols, m.begin() + kHeadRows * cols);
  };
  EXPECT_GT(error_with({.weight = "layers.0.q.weight", .change = swap}), kLimit);
}
TEST(ModelMutation, OneWeightTransposed) {
  // Read as if its file held columns first.
  const auto transpose = [](std::vector<float>& m, i64 rows, i64 cols) {
    const std::vector<float> old = m;
    for (i64 i = 0; i < rows * cols; ++i) m[i] = old[i % rows * cols + i / rows];
  };
  EXPECT_GT(error_with({.weight = "layers.1.gate.weight", .change = transpose}), kLimit);
}

}  // namespace
}  // namespace tegula::engine
