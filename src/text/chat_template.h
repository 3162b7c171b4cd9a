// Chat templates: the part of the Jinja language with which model files say how a conversation becomes a
// prompt.
//
// Known: text, {{ }}, {% if/elif/else, for (with `if` and else), set (names, members of a namespace, blocks),
// break, continue, generation %}, comments, white-space control as in transformers (trim_blocks and
// lstrip_blocks on); loop.*, arithmetic on whole numbers, ~, comparisons, in, and/or/not, `a if b else c`,
// lists, dicts, indexing, slices; the usual filters, tests and methods of texts and dicts; namespace, range,
// dict, raise_exception. Tuples are lists. Anything else is kUnsupported and named.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tegula::text {

struct ChatMessage {
  std::string role;
  std::string content;
};

struct ChatOptions {
  bool add_generation_prompt = true;
  std::string bos_token;
  std::string eos_token;
  std::vector<std::pair<std::string, bool>>
      flags;  // further variables of the template, such as enable_thinking
};

// A parsed template; copies share it. Safe to use from several threads.
class ChatTemplate {
 public:
  // Errors give the line: kCorrupt for broken syntax, kUnsupported for syntax that we lack, by name.
  static Result<ChatTemplate> parse(std::string_view source);

  // kInvalidArgument with the template's own words where it refuses the conversation (raise_exception). Bytes
  // of the messages that are not UTF-8 become U+FFFD.
  Result<std::string> render(std::span<const ChatMessage> messages, const ChatOptions& options) const;

 private:
  struct Parsed;
  explicit ChatTemplate(std::shared_ptr<const Parsed> parsed) : parsed_(std::move(parsed)) {}
  std::shared_ptr<const Parsed> parsed_;
};

// Both at once.
Result<std::string> render_chat(std::string_view source, std::span<const ChatMessage> messages,
                                const ChatOptions& options);

}  // namespace tegula::text
