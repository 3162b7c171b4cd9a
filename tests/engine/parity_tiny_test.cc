// Tiny random checkpoints of both families against the numbers of the reference implementation.
#include "engine/parity_check.h"

namespace tegula::engine {
namespace {

const std::string kGolden = std::string(TEGULA_SOURCE_DIR) + "/tests/golden/";

std::unique_ptr<Engine> load(const std::string& name, const EngineOptions& options) {
  auto engine = Engine::load(kGolden + name, options);
  if (engine.ok()) return std::move(*engine);
  ADD_FAILURE() << engine.error().message;
  return nullptr;
}

TEST(ParityTiny, LlamaInFp16AndFp32) {
  const auto engine = load("tiny_llama.gguf", {.threads = 2});
  ASSERT_TRUE(engine);
  EXPECT_FALSE(std::get<model::LlamaConfig>(engine->model().config).tied_head);
  check_decoder(*engine, Golden("tiny_llama.safetensors"), 1e-5);
}

TEST(ParityTiny, LlamaQuantisedAndTied) {
  const auto engine = load("tiny_llama_quant.gguf", {.threads = 2});
  ASSERT_TRUE(engine);
  EXPECT_TRUE(std::get<model::LlamaConfig>(engine->model().config).tied_head);
  check_decoder(*engine, Golden("tiny_llama_quant.safetensors"), 1e-5);
}

// Prompts in passes of 3 rows go through the cache; every position must still be right.
TEST(ParityTiny, LlamaEveryPositionInSmallPasses) {
  const auto engine = load("tiny_llama.gguf", {.threads = 1, .rows_per_pass = 3, .all_rows = true});
  ASSERT_TRUE(engine);
  const Golden golden("tiny_llama.safetensors");
  const auto ids = golden.get<i32>("prompt1.ids");
  const auto want = golden.get<float>("prompt1.all_logits");
  auto session = Session::open(*engine);
  ASSERT_TRUE(session.ok());
  std::vector<float> got;
  for (size_t at = 0; at < ids.size(); at += 3) {
    const auto piece = std::span(ids).subspan(at, std::min<size_t>(3, ids.size() - at));
    const auto logits = (*session)->advance(piece);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    got.insert(got.end(), (*logits)->data.begin(),
               (*logits)->data.begin() + (*logits)->rows * (*logits)->cols);
  }
  EXPECT_LE(relative_l2(got, want), 1e-5);
}

TEST(ParityTiny, BertEmbeddings) {
  const auto engine = load("tiny_bert", {.threads = 2, .rows_per_pass = 32});
  ASSERT_TRUE(engine);
  check_encoder(*engine, Golden("tiny_bert.safetensors"), 4, 1, 0.999999);
}

TEST(ParityTiny, BertHiddenStates) {
  const auto engine = load("tiny_bert", {.threads = 1, .all_rows = true});
  ASSERT_TRUE(engine);
  const Golden golden("tiny_bert.safetensors");
  const auto ids = golden.get<i32>("sentence1.ids");
  std::vector<i32> positions(ids.size()), types(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) positions[i] = static_cast<i32>(i);
  const Sequence sequence{static_cast<i64>(ids.size()), 0};
  const auto hidden = engine->run({ids, positions, types, std::span(&sequence, 1)});
  ASSERT_TRUE(hidden.ok()) << hidden.error().message;
  EXPECT_LE(relative_l2((*hidden)->data, golden.get<float>("sentence1.hidden")), 1e-5);
}

// Four sessions advanced together give the rows that each would give alone.
TEST(ParityTiny, BatchedDecodeEqualsSingle) {
  const auto engine = load("tiny_llama.gguf", {.threads = 2, .slots = 6});
  ASSERT_TRUE(engine);
  const Golden golden("tiny_llama.safetensors");
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<Session*> pointers;
  std::vector<i32> next;
  std::vector<std::vector<float>> alone;
  for (int i = 0; i < 3; ++i) {
    const auto ids = golden.get<i32>("prompt" + std::to_string(i) + ".ids");
    for (bool keep : {false, true}) {
      auto session = Session::open(*engine);
      ASSERT_TRUE(session.ok()) << session.error().message;
      ASSERT_TRUE((*session)->advance(ids).ok());
      if (keep) {
        pointers.push_back(session->get());
        sessions.push_back(std::move(*session));
        next.push_back(ids[0]);
      } else {
        const auto logits = (*session)->advance(std::span(ids).first(1));
        ASSERT_TRUE(logits.ok());
        alone.emplace_back((*logits)->row(0).begin(), (*logits)->row(0).end());
      }
    }
  }
  const auto together = advance_together(pointers, next);
  ASSERT_TRUE(together.ok()) << together.error().message;
  for (int i = 0; i < 3; ++i) EXPECT_LE(relative_l2((*together)->row(i), alone[i]), 1e-6) << i;
  EXPECT_EQ(pointers[0]->tokens().back(), next[0]);
}

}  // namespace
}  // namespace tegula::engine
