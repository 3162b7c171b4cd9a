// The parity tests proper, for whatever runner the engine was made with.
#pragma once

#include "engine/embed.h"
#include "engine/generate.h"
#include "engine/golden.h"

namespace tegula::engine {

// Prompts prompt0 .. prompt2 of a golden file: tokens, logits of the last position, greedy continuation.
inline void check_decoder(Engine& engine, const Golden& golden, double logits_tolerance) {
  for (int i = 0; i < 3; ++i) {
    const std::string name = "prompt" + std::to_string(i);
    SCOPED_TRACE(name);
    const auto ids = golden.get<i32>(name + ".ids");
    EXPECT_EQ(engine.tokenizer().encode(golden.text(name + ".text"), true), ids);
    auto session = Session::open(engine);
    ASSERT_TRUE(session.ok()) << session.error().message;
    const auto logits = (*session)->advance(ids);
    ASSERT_TRUE(logits.ok()) << logits.error().message;
    const auto last = (*logits)->row((*logits)->rows - 1);
    const double error = relative_l2(last, golden.get<float>(name + ".logits"));
    ::testing::Test::RecordProperty((name + "_relative_l2").c_str(), std::to_string(error));
    EXPECT_LE(error, logits_tolerance);
    GenerateOptions options;
    const auto continuation = golden.get<i32>(name + ".continuation");
    options.max_tokens = static_cast<i64>(continuation.size());
    options.ignore_eos = true;
    const auto generation = generate(**session, ids, options);
    ASSERT_TRUE(generation.ok()) << generation.error().message;
    EXPECT_EQ(generation->tokens, continuation);
  }
}

// Sentences and the rows of `embeddings` of a golden file. digits: of the number in the names.
inline void check_encoder(Engine& engine, const Golden& golden, int count, int digits, double cosine_floor) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, static_cast<size_t>(digits) - number.size(), '0');
    texts.push_back(golden.text("sentence" + number + ".text"));
    EXPECT_EQ(engine.tokenizer().encode(texts.back(), true), golden.get<i32>("sentence" + number + ".ids"));
  }
  const auto embeddings = embed(engine, texts);
  ASSERT_TRUE(embeddings.ok()) << embeddings.error().message;
  const auto want = golden.get<float>("embeddings");
  const size_t cols = want.size() / texts.size();
  double worst = 1;
  for (size_t i = 0; i < texts.size(); ++i) {
    const double similarity = cosine((*embeddings)[i].values, std::span(want).subspan(i * cols, cols));
    EXPECT_GE(similarity, cosine_floor) << texts[i];
    worst = std::min(worst, similarity);
  }
  ::testing::Test::RecordProperty("worst_cosine", std::to_string(worst));
}

}  // namespace tegula::engine
