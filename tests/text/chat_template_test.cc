#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/golden_table.h"

namespace tegula::text {
namespace {

using Json = nlohmann::json;

struct Case {
  std::string source;
  std::vector<ChatMessage> messages;
  ChatOptions options;
};

Case read_case(const Json& entry) {
  Case out;
  out.source = entry["template"];
  for (const Json& m : entry["messages"]) out.messages.push_back({m[0], m[1]});
  out.options.add_generation_prompt = entry["prompt"];
  out.options.bos_token = "<s>";
  out.options.eos_token = "</s>";
  for (const auto& [name, on] : entry["flags"].items()) out.options.flags.emplace_back(name, on.get<bool>());
  return out;
}

std::string error_of(std::string_view source) {
  const std::vector<ChatMessage> messages{{"user", "Hi"}};
  const Result<std::string> text = render_chat(source, messages, {});
  return text.ok() ? "no error: " + text.value() : text.error().message;
}

TEST(ChatTemplate, AgreesWithTransformers) {
  const Bytes bytes = golden_bytes("chat_templates.json");
  const Json golden = Json::parse(bytes.begin(), bytes.end());
  ASSERT_GE(golden["cases"].size(), 150u);
  for (const Json& entry : golden["cases"]) {
    const Case c = read_case(entry);
    const Result<std::string> text = render_chat(c.source, c.messages, c.options);
    if (entry.contains("error")) {
      EXPECT_FALSE(text.ok()) << c.source << "\nreference: " << entry["error"] << "\nours: " << text.value();
    } else {
      ASSERT_TRUE(text.ok()) << c.source << "\n" << text.error().message;
      EXPECT_EQ(text.value(), entry["expected"].get<std::string>()) << c.source;
    }
  }
}

TEST(ChatTemplate, NamesWhatItLacks) {
  EXPECT_EQ(error_of("a\n{% macro f(x) %}{% endmacro %}"),
            "chat template line 2: tag 'macro' is not supported");
  EXPECT_EQ(error_of("{{ messages|batch(2) }}"), "chat template line 1: filter 'batch' is not supported");
  EXPECT_EQ(error_of("{{ 1 is callable }}"), "chat template line 1: test 'callable' is not supported");
  EXPECT_EQ(error_of("{{ strftime_now('%Y') }}"),
            "chat template line 1: function 'strftime_now' is not supported");
  EXPECT_EQ(error_of("{{ 'a'.zfill(3) }}"),
            "chat template line 1: method 'zfill' of a text is not supported");
  EXPECT_EQ(error_of("{{ 1.5 }}"), "chat template line 1: numbers with a fraction are not supported");
  EXPECT_EQ(error_of("{{ 1 / 2 }}"), "chat template line 1: operator '/' is not supported");
}

TEST(ChatTemplate, SaysWhereTheSyntaxBreaks) {
  EXPECT_EQ(error_of("a\n\n{{ 1 + }}"), "chat template line 3: expected a value, found '}}'");
  EXPECT_EQ(error_of("{% if true %}"), "chat template line 1: expected 'endif', found the end");
  EXPECT_EQ(error_of("{% for x in [] %}{% endif %}"),
            "chat template line 1: expected 'endfor', found 'endif'");
  EXPECT_EQ(error_of("{{ missing.name }}"), "chat template line 1: 'missing' is undefined");
}

TEST(ChatTemplate, GivesTheTemplatesOwnRefusal) {
  EXPECT_EQ(error_of("{{ raise_exception('roles must alternate') }}"),
            "the chat template refuses this conversation: roles must alternate");
}

TEST(ChatTemplate, StopsHostileTemplates) {
  const std::string loops =
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}";
  EXPECT_EQ(error_of(loops), "chat template line 1: the template does not come to an end");
  EXPECT_NE(error_of("{% set ns = namespace(t='aaaa') %}{% for a in range(100) %}{% set ns.t = ns.t + ns.t "
                     "%}{% endfor %}")
                .find("more than 16 MiB"),
            std::string::npos);
  EXPECT_NE(
      error_of("{% set ns = namespace(t=[]) %}{% for a in range(100) %}{% set ns.t = [ns.t] %}{% endfor %}")
          .find("nested deeper"),
      std::string::npos);
  EXPECT_NE(
      error_of("{{ " + std::string(5000, '(') + "1" + std::string(5000, ')') + "}}").find("nested deeper"),
      std::string::npos);
  EXPECT_NE(error_of("{{ " + std::string(5000, '-') + "1 }}").find("nested deeper"), std::string::npos);
  std::string sum = "{{ 1";
  for (int i = 0; i < 900; ++i) sum += "+1";
  EXPECT_NE(error_of(sum + "}}").find("nests deeper"), std::string::npos);
  for (int i = 0; i < 900; ++i) sum += "+1";
  EXPECT_NE(error_of(sum + "}}").find("more than 1000 values"), std::string::npos);
  EXPECT_NE(error_of("{% set ns = namespace() %}{% set ns.me = ns %}").find("cannot hold a namespace"),
            std::string::npos);
  EXPECT_NE(error_of("{{ range(1000000) }}").find("more than 100000"), std::string::npos);
  EXPECT_NE(error_of("{{ 999999999999999999 * 999999999999999999 }}").find("out of range"),
            std::string::npos);
}

TEST(ChatTemplate, RepairsBrokenUtf8) {
  const std::vector<ChatMessage> messages{{"user", "a\xFF"}};
  const Result<std::string> text = render_chat("{{ messages[0].content }}", messages, {});
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text.value(), "a\uFFFD");
}

}  // namespace
}  // namespace tegula::text
