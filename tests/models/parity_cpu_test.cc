// Published models on the host against the numbers of the reference implementation.
#include "engine/parity_check.h"
#include "models/model_files.h"

namespace tegula::engine {
namespace {

TEST(ParityCpu, SmolLm2) {
  const std::string path = model_dir() + "/smollm2-135m-instruct-q4_1.gguf";
  NEED_MODEL(path);
  const auto engine = Engine::load(path, {});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  check_decoder(**engine, Golden("smollm2.safetensors"), 1e-4);
}

TEST(ParityCpu, MiniLm) {
  const std::string path = model_dir() + "/all-minilm-l6-v2";
  NEED_MODEL(path + "/model.safetensors");
  const auto engine = Engine::load(path, {});
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  check_encoder(**engine, Golden("minilm.safetensors"), 20, 2, 0.9995);
}

}  // namespace
}  // namespace tegula::engine
