// The chat template of a published model against what transformers makes of it
// (tools/golden/chat_templates.py).
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "format/gguf.h"
#include "models/model_files.h"
#include "text/chat_template.h"
#include "text/golden_table.h"

namespace tegula::text {
namespace {

TEST(ChatTemplateReal, SmolLm2) {
  const std::string path = model_dir() + "/smollm2-135m-instruct-q4_1.gguf";
  NEED_MODEL(path);
  auto file = MappedFile::open(path);
  ASSERT_TRUE(file.ok());
  auto gguf = format::read_gguf(file.value().bytes());
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  auto source = gguf.value().get_string("tokenizer.chat_template");
  ASSERT_TRUE(source.ok()) << source.error().message;
  auto parsed = ChatTemplate::parse(source.value());
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  const Bytes bytes = golden_bytes("chat_templates.json");
  const nlohmann::json golden = nlohmann::json::parse(bytes.begin(), bytes.end());
  ASSERT_GE(golden["smollm2"].size(), 8u);
  for (const auto& entry : golden["smollm2"]) {
    std::vector<ChatMessage> messages;
    for (const auto& m : entry["messages"]) messages.push_back({m[0], m[1]});
    ChatOptions options;
    options.add_generation_prompt = entry["prompt"];
    const auto text = parsed.value().render(messages, options);
    ASSERT_TRUE(text.ok()) << text.error().message;
    EXPECT_EQ(text.value(), entry["expected"].get<std::string>());
  }
}

}  // namespace
}  // namespace tegula::text
