// Whole models with the emulated array watching: a run that reads a register or memory that nothing has
// written fails. (Products of all kinds run so in product_test.cc.)
#include <gtest/gtest.h>

#include "engine/embed.h"
#include "engine/generate.h"
#include "engine/npu_runner.h"

namespace tegula::engine {
namespace {

RunnerFactory watched(int parts) {
  return [parts](const RunnerParts& p) -> Result<std::unique_ptr<OpRunner>> {
    const NpuOptions options{
        .node = device::NodeChoice::kEmulated, .node_options = {.watch = true}, .parts = parts};
    TRY_ASSIGN(std::unique_ptr<NpuRunner> runner, NpuRunner::create(p.weights, p.cache, p.pool, options));
    return std::unique_ptr<OpRunner>(std::move(runner));
  };
}

std::string golden(const std::string& name) {
  return std::string(TEGULA_SOURCE_DIR) + "/tests/golden/" + name;
}

TEST(Watched, DecoderReadsNothingUnwritten) {
  for (const int parts : {1, 2}) {
    const auto engine = Engine::load(golden("tiny_llama.gguf"), {.threads = 1}, watched(parts));
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    const auto session = Session::open(**engine);
    ASSERT_TRUE(session.ok());
    const std::vector<i32> prompt(40, 7);
    const auto out = generate(**session, prompt, {.max_tokens = 6, .ignore_eos = true});
    ASSERT_TRUE(out.ok()) << out.error().message;
    EXPECT_EQ(out->tokens.size(), 6u);
  }
}

TEST(Watched, EncoderReadsNothingUnwritten) {
  const auto engine = Engine::load(golden("tiny_bert"), {.threads = 1}, watched(2));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  const std::vector<std::string> texts = {"a short one", "and a longer one, so that there are several rows"};
  const auto out = embed(**engine, texts);
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->size(), 2u);
}

}  // namespace
}  // namespace tegula::engine
