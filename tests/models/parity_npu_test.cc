// Published models on the emulated array: against the format model and against the numbers of the reference
// implementation.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "engine/npu_runner.h"
#include "engine/parity_check.h"
#include "models/model_files.h"
#include "ref/format_model.h"
#include "ref/gelu_model.h"

namespace tegula::engine {
namespace {

constexpr double kHighLimit =
    4e-3;  // relative L2 of the logits that `high` may differ from the reference in fp32

// The cpu runner with matrix products in the array's number format, rounding and order.
class FormatModelRunner : public CpuRunner {
 public:
  FormatModelRunner(const RunnerParts& parts, int number_parts)
      : CpuRunner(parts.weights, parts.cache, parts.pool), parts_(number_parts) {}

  Result<Place> run(const OpCall& call) override {
    if (call.node().op != graph::Op::kMatmul) return CpuRunner::run(call);
    TRY_ASSIGN(const ref::MatrixView w, weight(call, 0));
    std::span<const float> bias;
    if (call.node().weights.size() > 1) {
      TRY_ASSIGN(const ref::MatrixView b, weight(call, 1));
      bias = {b.data, static_cast<size_t>(b.cols)};
    }
    const ref::Tensor& x = *call.inputs[0];
    call.out.resize(x.rows, w.rows);
    ref::matmul_bfp16_model(
        pool(), x.data.data(), w.data, x.rows, w.rows, w.cols, parts_, bias,
        call.node().attrs.activation == graph::Activation::kGelu ? ref::gelu_model : nullptr,
        call.out.data.data());
    return Place::kHost;
  }

 private:
  int parts_;
};

RunnerFactory format_model(int parts) {
  return [parts](const RunnerParts& p) -> Result<std::unique_ptr<OpRunner>> {
    return std::unique_ptr<OpRunner>(std::make_unique<FormatModelRunner>(p, parts));
  };
}

// A runner whose matrix products read their inputs clipped to +-limit.
class ClippingRunner : public OpRunner {
 public:
  ClippingRunner(std::unique_ptr<OpRunner> inner, float limit) : inner_(std::move(inner)), limit_(limit) {}
  std::string_view name() const override { return inner_->name(); }
  Result<void> prepare(const graph::Graph& graph) override { return inner_->prepare(graph); }
  Result<Place> run(const OpCall& call) override {
    if (call.node().op != graph::Op::kMatmul) return inner_->run(call);
    ref::Tensor clipped = *call.inputs[0];
    for (float& v : clipped.data) v = std::clamp(v, -limit_, limit_);
    const ref::Tensor* inputs[] = {&clipped};
    return inner_->run(
        {.graph = call.graph, .index = call.index, .inputs = inputs, .pass = call.pass, .out = call.out});
  }

 private:
  std::unique_ptr<OpRunner> inner_;
  float limit_;
};

RunnerFactory npu(int parts) {
  return [parts](const RunnerParts& p) -> Result<std::unique_ptr<OpRunner>> {
    TRY_ASSIGN(std::unique_ptr<NpuRunner> runner,
               NpuRunner::create(p.weights, p.cache, p.pool,
                                 {.node = device::NodeChoice::kEmulated, .parts = parts}));
    return std::unique_ptr<OpRunner>(std::move(runner));
  };
}

std::string smollm_path() {
  return model_dir() + "/smollm2-135m-instruct-q4_1.gguf";
}

std::vector<float> last_logits(Engine& engine, std::span<const i32> ids) {
  auto session = Session::open(engine);
  EXPECT_TRUE(session.ok());
  const auto logits = (*session)->advance(ids);
  EXPECT_TRUE(logits.ok()) << (logits.ok() ? "" : logits.error().message);
  if (!logits.ok()) return {};
  const auto row = (*logits)->row((*logits)->rows - 1);
  return {row.begin(), row.end()};
}

// The device against the format model, and both against the reference, on one prompt.
void check_against_format_model(int parts, double reference_limit) {
  NEED_MODEL(smollm_path());
  const Golden golden("smollm2.safetensors");
  const auto ids = golden.get<i32>("prompt0.ids");
  const auto model = Engine::load(smollm_path(), {}, format_model(parts));
  const auto device = Engine::load(smollm_path(), {}, npu(parts));
  ASSERT_TRUE(model.ok() && device.ok());
  const std::vector<float> want = last_logits(**model, ids), got = last_logits(**device, ids);
  EXPECT_LE(relative_l2(got, want), 1e-4);
  const auto reference = golden.get<float>("prompt0.logits");
  const double of_model = relative_l2(want, reference), of_device = relative_l2(got, reference);
  std::printf("parts %d: format model %.3e, device %.3e of the reference\n", parts, of_model, of_device);
  EXPECT_LE(of_device, reference_limit > 0 ? reference_limit : 1.1 * of_model);
}

TEST(ParityNpu, FastEqualsItsFormatModel) {
  check_against_format_model(1, 0);
}
TEST(ParityNpu, HighEqualsItsFormatModel) {
  check_against_format_model(2, kHighLimit);
}

// Teacher-forced on the reference's tokens: logits of the last prompt position, and the most likely token of
// every position whose margin in the reference is wider than twice the largest error seen.
TEST(ParityNpu, SmolLm2HighFollowsTheReference) {
  NEED_MODEL(smollm_path());
  const auto engine = Engine::load(smollm_path(), {.all_rows = true}, npu(2));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Golden golden("smollm2.safetensors");
  int compared = 0;
  for (int p = 0; p < 3; ++p) {
    const std::string name = "prompt" + std::to_string(p);
    SCOPED_TRACE(name);
    std::vector<i32> ids = golden.get<i32>(name + ".ids");
    const size_t prompt = ids.size();
    const auto continuation = golden.get<i32>(name + ".continuation");
    const auto margins = golden.get<float>(name + ".margins");
    ids.insert(ids.end(), continuation.begin(), continuation.end() - 1);
    auto session = Session::open(**engine);
    ASSERT_TRUE(session.ok());
    const auto logits = (*session)->advance(ids);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    ASSERT_EQ((*logits)->rows, static_cast<i64>(ids.size()));
    const auto reference = golden.get<float>(name + ".logits");
    const auto at_prompt = (*logits)->row(static_cast<i64>(prompt) - 1);
    const double error = relative_l2(at_prompt, reference);
    std::printf("%s: relative L2 %.3e\n", name.c_str(), error);
    EXPECT_LE(error, kHighLimit);
    double worst = 0;
    for (size_t i = 0; i < reference.size(); ++i)
      worst = std::max(worst, std::fabs(double{at_prompt[i]} - reference[i]));
    for (size_t i = 0; i < continuation.size(); ++i) {
      if (margins[i] <= 2 * worst) continue;
      const auto row = (*logits)->row(static_cast<i64>(prompt - 1 + i));
      EXPECT_EQ(std::max_element(row.begin(), row.end()) - row.begin(), continuation[i]) << "token " << i;
      ++compared;
    }
  }
  EXPECT_GE(compared, 40);  // of 48
}

// The control is HighEqualsItsFormatModel: the same prompt and limit without the clipping.
TEST(ParityNpu, MutationActivationsClippedAt5) {
  NEED_MODEL(smollm_path());
  const auto engine =
      Engine::load(smollm_path(), {}, [](const RunnerParts& p) -> Result<std::unique_ptr<OpRunner>> {
        TRY_ASSIGN(std::unique_ptr<OpRunner> array, npu(2)(p));
        return std::unique_ptr<OpRunner>(std::make_unique<ClippingRunner>(std::move(array), 5.0f));
      });
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const Golden golden("smollm2.safetensors");
  const std::vector<float> logits = last_logits(**engine, golden.get<i32>("prompt0.ids"));
  EXPECT_GT(relative_l2(logits, golden.get<float>("prompt0.logits")), kHighLimit);
}

TEST(ParityNpu, MiniLm) {
  const std::string path = model_dir() + "/all-minilm-l6-v2";
  NEED_MODEL(path + "/model.safetensors");
  const auto engine = Engine::load(path, {}, npu(2));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  check_encoder(**engine, Golden("minilm.safetensors"), 20, 2, 0.9995);
}

}  // namespace
}  // namespace tegula::engine
