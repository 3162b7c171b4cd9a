// tegula run, tegula embed, tegula compile.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/stopwatch.h"
#include "cli/catalog.h"
#include "cli/commands.h"
#include "cli/session_report.h"
#include "compiler/compile.h"
#include "engine/embed.h"
#include "engine/generate.h"
#include "program/program.h"
#include "text/chat_template.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

std::string token_or_empty(const text::Tokenizer& tokenizer, std::optional<i32> id) {
  return id ? std::string(tokenizer.token_text(*id)) : std::string();
}

// The prompt as the model wants it: through its chat template unless --raw or there is none.
Result<std::vector<i32>> prompt_tokens(const RunOptions& options, const std::string& prompt,
                                       const engine::Engine& engine) {
  const text::Tokenizer& tokenizer = engine.tokenizer();
  const std::string& source = engine.model().chat_template;
  if (options.raw || source.empty()) return tokenizer.encode(prompt, true);
  std::vector<text::ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  messages.push_back({"user", prompt});
  const text::ChatOptions chat{.bos_token = token_or_empty(tokenizer, tokenizer.bos()),
                               .eos_token = token_or_empty(tokenizer, tokenizer.eos())};
  TRY_ASSIGN(const std::string rendered, text::render_chat(source, messages, chat));
  return tokenizer.encode(rendered, false);
}

Result<void> run(const RunOptions& options) {
  std::string prompt = options.prompt;
  if (!options.has_prompt) prompt.assign(std::istreambuf_iterator<char>(std::cin), {});
  if (prompt.empty())
    return fail(Code::kInvalidArgument, "the prompt is empty; give -p TEXT or text on standard input");
  TRY_ASSIGN(OpenModel model, open_model(options, options.context));
  TRY_ASSIGN(const std::vector<i32> tokens, prompt_tokens(options, prompt, *model.engine));
  if (options.check) TRY(print_check(options, model, tokens));

  engine::GenerateOptions generate;
  generate.max_tokens = options.tokens;
  if (!options.greedy) {
    generate.sampling = {.temperature = options.temperature,
                         .top_k = options.top_k,
                         .top_p = options.top_p,
                         .seed = options.seed};
  }
  TRY_ASSIGN(const std::unique_ptr<engine::Session> session, engine::Session::open(*model.engine));
  const Stopwatch watch;
  const auto stream = [&](std::string_view piece) {
    if (options.json) return true;
    std::fwrite(piece.data(), 1, piece.size(), stdout);
    return std::fflush(stdout) == 0;
  };
  TRY_ASSIGN(const engine::Generation out, engine::generate(*session, tokens, generate, stream));
  const RunFacts facts{.prompt_tokens = out.prompt_tokens,
                       .tokens = static_cast<i64>(out.tokens.size()),
                       .seconds = watch.seconds(),
                       .prefill_seconds = out.prefill_seconds};
  if (!options.json) {
    std::printf("\n");
    print_report(model, facts);
    return {};
  }
  const json object = {{"text", out.text},
                       {"tokens", out.tokens},
                       {"finish", engine::finish_name(out.finish)},
                       {"report", json::parse(report_json(model, facts))}};
  std::printf("%s\n", object.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  return {};
}

Result<void> embed(const EmbedOptions& options) {
  TRY_ASSIGN(OpenModel model, open_model(options, 0));
  if (options.check)
    TRY(print_check(options, model, model.engine->tokenizer().encode(options.texts[0], true)));
  const Stopwatch watch;
  TRY_ASSIGN(const std::vector<engine::Embedding> out, engine::embed(*model.engine, options.texts));
  RunFacts facts{.seconds = watch.seconds()};
  json vectors = json::array();
  for (const engine::Embedding& one : out) {
    facts.prompt_tokens += one.tokens;
    if (options.json) {
      vectors.push_back(one.values);
      continue;
    }
    for (size_t i = 0; i < one.values.size(); ++i)
      std::printf(i == 0 ? "%.7g" : " %.7g", static_cast<double>(one.values[i]));
    std::printf("\n");
  }
  if (!options.json) {
    print_report(model, facts);
    return {};
  }
  std::printf(
      "%s\n",
      json{{"embeddings", vectors}, {"report", json::parse(report_json(model, facts))}}.dump().c_str());
  return {};
}

// Streams of every product for one row (decode) and for the largest pass.
Result<void> add_streams(const compiler::CompiledModel& model, const graph::Graph& graph,
                         program::Program& out) {
  for (const compiler::Product& product : model.products) {
    std::string name = graph.label(graph.nodes[product.group.nodes[0]]);
    for (char& c : name) {
      if (c == '.' || c == '/' || c == '%') c = '_';
    }
    for (const i64 rows : {i64{1}, i64{model.config.max_rows()}}) {
      TRY_ASSIGN(Bytes stream, compiler::product_stream(model, product, rows));
      out.streams.push_back(
          {.name = name + "-rows" + std::to_string(rows), .bytes = std::move(stream), .patches = {}});
    }
    out.weight_layout.push_back({.name = name,
                                 .layout = model.config.name(),
                                 .offset = product.weights_offset,
                                 .size = static_cast<u64>(product.layout.weight_bytes)});
  }
  return {};
}

Result<void> compile(const CompileCommand& command) {
  ModelOptions options;
  options.model = command.model;
  options.device = Device::kEmu;  // packing needs no silicon
  options.precision = command.precision;
  TRY_ASSIGN(const OpenModel model, open_model(options, 0));
  const compiler::CompiledModel& compiled = model.npu->model();
  program::Program out;
  out.name = model.engine->model().name;
  out.xclbin = compiler::to_xclbin(compiled);
  TRY(add_streams(compiled, model.engine->graph(), out));
  const ByteSpan weights = model.npu->weight_image();
  out.weights.assign(weights.begin(), weights.end());
  out.manifest_json_extra =
      json{{"configuration", compiled.config.name()}, {"precision", command.precision}}.dump();
  TRY(program::save(out, command.out));
  std::fprintf(stderr, "%s: xclbin %zu bytes, core program %zu bytes, %zu streams, weights %.1f MB\n",
               command.out.c_str(), out.xclbin.size(), compiled.core.code.size(), out.streams.size(),
               static_cast<double>(out.weights.size()) / 1e6);
  return {};
}

int finish(const Result<void>& result) {
  return result.ok() ? 0 : print_error(result.error());
}

}  // namespace

int cmd_run(const RunOptions& options) {
  return finish(run(options));
}
int cmd_embed(const EmbedOptions& options) {
  return finish(embed(options));
}
int cmd_compile(const CompileCommand& command) {
  return finish(compile(command));
}

}  // namespace tegula::cli
