#include "text/chat_template.h"

#include "text/template_ast.h"
#include "text/template_render.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

constexpr u64 kMaxSource = u64{1} << 20;

}  // namespace

struct ChatTemplate::Parsed {
  jinja::Block block;
};

Result<ChatTemplate> ChatTemplate::parse(std::string_view source) {
  if (source.size() > kMaxSource) {
    return fail(Code::kCorrupt, "chat template: " + std::to_string(source.size()) +
                                    " bytes, expected at most " + std::to_string(kMaxSource));
  }
  auto parsed = std::make_shared<Parsed>();
  TRY_ASSIGN(parsed->block, jinja::parse_template(sanitize_utf8(source)));
  return ChatTemplate(std::move(parsed));
}

Result<std::string> ChatTemplate::render(std::span<const ChatMessage> messages,
                                         const ChatOptions& options) const {
  using jinja::Value;
  jinja::List list;
  for (const ChatMessage& message : messages) {
    list.emplace_back(jinja::Dict{{"role", Value(sanitize_utf8(message.role))},
                                  {"content", Value(sanitize_utf8(message.content))}});
  }
  // tools and documents are there but none, as transformers passes them.
  jinja::Dict variables{{"messages", Value(std::move(list))},
                        {"add_generation_prompt", Value(options.add_generation_prompt)},
                        {"tools", Value(Value::None{})},
                        {"documents", Value(Value::None{})},
                        {"bos_token", Value(options.bos_token)},
                        {"eos_token", Value(options.eos_token)}};
  for (const auto& [name, on] : options.flags) variables.emplace_back(name, Value(on));
  return jinja::render(parsed_->block, std::move(variables));
}

Result<std::string> render_chat(std::string_view source, std::span<const ChatMessage> messages,
                                const ChatOptions& options) {
  TRY_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source));
  return parsed.render(messages, options);
}

}  // namespace tegula::text
