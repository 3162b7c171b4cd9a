// Sessions, limits, loading errors, reports: on the tiny checkpoints.
#include "engine/engine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/file.h"
#include "engine/embed.h"
#include "engine/generate.h"
#include "engine/hf_config.h"
#include "engine/weight_names.h"
#include "format/safetensors.h"

namespace tegula::engine {
namespace {

namespace fs = std::filesystem;
const std::string kGolden = std::string(TEGULA_SOURCE_DIR) + "/tests/golden/";

std::unique_ptr<Engine> tiny_llama(EngineOptions options = {}) {
  options.threads = 1;
  auto engine = Engine::load(kGolden + "tiny_llama.gguf", options);
  EXPECT_TRUE(engine.ok()) << engine.error().message;
  return engine.ok() ? std::move(*engine) : nullptr;
}

std::string load_error(const std::string& path) {
  const auto model = load_model(path);
  return model.ok() ? "loaded" : model.error().message;
}

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    path_ = fs::temp_directory_path() / ("tegula_engine_test_" + std::to_string(::getpid()) + "_" +
                                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(path_);
  }
  ~TemporaryDirectory() { fs::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << text << "' lacks '" << part << "'";
}

TEST(Load, MissingFilesSayWhatIsExpected) {
  expect_contains(load_error("/nonexistent/x.gguf"),
                  "/nonexistent/x.gguf: no such file or directory; expected a .gguf");
  const TemporaryDirectory directory;
  expect_contains(load_error(directory.path().string()),
                  "config.json: no such file; expected a directory with");
}

TEST(Load, TruncatedFilesFailInOneLine) {
  const TemporaryDirectory directory;
  const Bytes whole = read_file(kGolden + "tiny_llama.gguf").value();
  for (size_t size : {size_t{0}, size_t{3}, size_t{100}, whole.size() / 2, whole.size() - 1}) {
    const std::string path = directory.file("cut.gguf");
    ASSERT_TRUE(write_file(path, ByteSpan(whole).first(size)).ok());
    const std::string error = load_error(path);
    EXPECT_TRUE(error.starts_with(path)) << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

// Changes `from` to the equally long `to` wherever it occurs.
Bytes replaced(Bytes data, const std::string& from, const std::string& to) {
  EXPECT_EQ(from.size(), to.size());
  auto at = data.begin();
  int count = 0;
  while ((at = std::search(at, data.end(), from.begin(), from.end())) != data.end()) {
    at = std::copy(to.begin(), to.end(), at);
    ++count;
  }
  EXPECT_GT(count, 0) << from;
  return data;
}

TEST(Load, GgufOfAnotherArchitectureOrWithoutItsParts) {
  const TemporaryDirectory directory;
  const Bytes whole = read_file(kGolden + "tiny_llama.gguf").value();
  const std::string path = directory.file("x.gguf");
  const auto error_with = [&](const std::string& from, const std::string& to) {
    EXPECT_TRUE(write_file(path, replaced(whole, from, to)).ok());
    return load_error(path);
  };
  std::string name(8, '\0');
  name[0] = 5;  // length of the value, so that only the architecture itself is changed
  expect_contains(error_with(name + "llama", name + "mamba"),
                  "x.gguf: model architecture 'mamba' is not supported");
  expect_contains(error_with("blk.1.attn_q.weight", "blk.1.attn_X.weight"),
                  "tensor blk.1.attn_q.weight is missing");
  expect_contains(error_with("tokenizer.ggml.model", "tokenizer.ggml.mxdel"), "tokenizer.ggml.model");
  expect_contains(error_with("llama.block_count", "llama.block_couxt"), "llama.block_count");
}

TEST(Load, DirectoryWithoutTokenizerOrTensor) {
  const TemporaryDirectory directory;
  for (const char* name : {"config.json", "model.safetensors"}) {
    fs::copy(kGolden + "tiny_bert/" + name, directory.file(name));
  }
  expect_contains(load_error(directory.path().string()),
                  "tokenizer.json: no such file; a model needs its tokenizer");
  fs::copy(kGolden + "tiny_bert/tokenizer.json", directory.file("tokenizer.json"));
  EXPECT_EQ(load_error(directory.path().string()), "loaded");
  format::SafetensorsWriter writer;
  const u64 shape[2] = {1, 2};
  const float values[2] = {1, 2};
  writer.add_f32("embeddings.word_embeddings.weight", shape, values);
  ASSERT_TRUE(write_file(directory.file("model.safetensors"), writer.finish()).ok());
  const std::string error = load_error(directory.path().string());
  expect_contains(error, "tensor embeddings.word_embeddings.weight is [1,2], config.json asks for [");
  expect_contains(error, "and ");
  expect_contains(error, " more");
}

TEST(HfConfig, VariantsThatWeLackAreNamed) {
  const auto error_of = [](std::string_view json) {
    const auto config = parse_hf_config({reinterpret_cast<const u8*>(json.data()), json.size()});
    return config.ok() ? std::string("parsed") : config.error().message;
  };
  const std::string llama =
      R"({"model_type":"llama","vocab_size":10,"hidden_size":8,"num_hidden_layers":1,"num_attention_heads":2,)"
      R"("intermediate_size":16)";
  EXPECT_EQ(error_of(llama + "}"), "parsed");
  expect_contains(error_of("[]"), "is not a JSON object");
  expect_contains(error_of(R"({"model_type":"mixtral"})"),
                  "'mixtral' is not supported; we have: llama, bert");
  expect_contains(error_of(R"({"model_type":"llama","vocab_size":-1})"), "'vocab_size' must be an integer");
  expect_contains(error_of(llama + R"(,"hidden_act":"gelu"})"), "'hidden_act' is gelu");
  expect_contains(error_of(llama + R"(,"rope_scaling":{"rope_type":"llama3"}})"), "'rope_type' is llama3");
  expect_contains(error_of(llama + R"(,"attention_bias":true})"), "'attention_bias' is true");
}

TEST(HfConfig, RopeBaseInBothPlaces) {
  for (const char* text : {R"({"model_type":"llama","vocab_size":10,"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":16,"rope_theta":500.0})",
                           R"({"model_type":"llama","vocab_size":10,"hidden_size":8,"num_hidden_layers":1,
        "num_attention_heads":2,"intermediate_size":16,"rope_parameters":{"rope_type":"default","rope_theta":500.0}})"}) {
    const std::string_view json = text;
    const auto config = parse_hf_config({reinterpret_cast<const u8*>(json.data()), json.size()});
    ASSERT_TRUE(config.ok()) << config.error().message;
    EXPECT_EQ(std::get<model::LlamaConfig>(*config).rope_base, 500.0f);
    EXPECT_EQ(std::get<model::LlamaConfig>(*config).head_dim, 4);
  }
}

TEST(WeightNames, EveryWeightOfAFamilyHasAName) {
  model::LlamaConfig llama;
  llama.vocab = llama.hidden = llama.layers = llama.heads = llama.kv_heads = llama.head_dim = llama.ffn = 2;
  model::BertConfig bert;
  bert.vocab = bert.hidden = bert.layers = bert.heads = bert.ffn = bert.context = bert.types = 2;
  for (const model::Config& config : {model::Config(llama), model::Config(bert)}) {
    const model::Family family = model::family_of(config);
    const auto specs = model::weight_table(config);
    EXPECT_EQ(weight_names(family).size(), specs.size());
    for (const auto& spec : specs) {
      const auto found = find_weight_name(family, spec.name(17));
      ASSERT_TRUE(found) << spec.pattern;
      EXPECT_EQ(found->row->canonical, spec.pattern);
      EXPECT_EQ(found->layer, spec.per_layer() ? 17 : 0);
    }
  }
  EXPECT_FALSE(find_weight_name(model::Family::kLlama, "layers.x.q.weight"));
}

TEST(Session, TheContextIsALimit) {
  const auto engine = tiny_llama({.context = 8});
  auto session = Session::open(*engine).value();
  const std::vector<i32> nine(9, 5), eight(8, 5);
  const auto refused = session->advance(nine);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::kOutOfRange);
  expect_contains(refused.error().message, "0 tokens so far and 9 more do not fit the context of 8");
  EXPECT_TRUE(session->tokens().empty());
  EXPECT_TRUE(session->advance(eight).ok());
  EXPECT_EQ(session->room(), 0);
  EXPECT_FALSE(session->advance(std::span(nine).first(1)).ok());
  EXPECT_FALSE(session->advance({}).ok());
}

TEST(Session, SlotsRunOutAndComeBack) {
  const auto engine = tiny_llama({.slots = 2});
  auto one = Session::open(*engine), two = Session::open(*engine);
  ASSERT_TRUE(one.ok() && two.ok());
  const auto three = Session::open(*engine);
  ASSERT_FALSE(three.ok());
  expect_contains(three.error().message, "all 2 sequences are in use");
  two->reset();
  EXPECT_TRUE(Session::open(*engine).ok());
}

TEST(Session, RewindForgets) {
  const auto engine = tiny_llama();
  auto session = Session::open(*engine).value();
  const std::vector<i32> first = {7, 8, 9, 10}, other = {7, 8, 20, 21};
  const auto logits = [&](std::span<const i32> tokens) {
    const auto out = session->advance(tokens);
    EXPECT_TRUE(out.ok());
    return std::vector<float>((*out)->row(0).begin(), (*out)->row(0).end());
  };
  const auto fresh = logits(other);
  session->rewind(0);
  logits(first);
  EXPECT_EQ(session->keep_prefix(other), 2);
  EXPECT_EQ(session->tokens().size(), 2u);
  const auto again = logits(std::span(other).subspan(2));
  for (size_t i = 0; i < fresh.size(); ++i) ASSERT_NEAR(again[i], fresh[i], 1e-4);
  EXPECT_EQ(session->keep_prefix(other), 3);  // one token is always left to run
}

TEST(Session, TokensOutsideTheVocabularyAreRefused) {
  const auto engine = tiny_llama();
  auto session = Session::open(*engine).value();
  const std::vector<i32> bad = {300};
  const auto result = session->advance(bad);
  ASSERT_FALSE(result.ok());
  expect_contains(result.error().message, "%embed: row 0 of the pass: id 300 is outside the embedding table");
}

TEST(Generate, LimitsAndStreaming) {
  const auto engine = tiny_llama({.context = 32});
  auto session = Session::open(*engine).value();
  GenerateOptions options;
  options.max_tokens = 5;
  options.ignore_eos = true;
  std::string streamed;
  auto generation = generate(*session, "hello world", true, options, [&](std::string_view piece) {
    streamed += piece;
    return true;
  });
  ASSERT_TRUE(generation.ok()) << generation.error().message;
  EXPECT_EQ(generation->tokens.size(), 5u);
  EXPECT_EQ(generation->finish, Finish::kLength);
  EXPECT_EQ(generation->text, streamed);
  EXPECT_EQ(generation->decoded_tokens, 4);  // the last token needs no pass
  const auto first = generation->tokens;
  generation = generate(*session, "hello world", true, options);  // the same prompt again, from the cache
  ASSERT_TRUE(generation.ok());
  EXPECT_GT(generation->reused_tokens, 0);
  EXPECT_EQ(generation->tokens, first);
  options.max_tokens = 0;  // until the context is full
  generation = generate(*session, "hello world", true, options);
  ASSERT_TRUE(generation.ok());
  EXPECT_EQ(generation->prompt_tokens + static_cast<i64>(generation->tokens.size()), 33);
  EXPECT_EQ(session->room(), 0);
  EXPECT_FALSE(generate(*session, "", false, options).ok());
  options.sampling.top_p = 2;
  EXPECT_FALSE(generate(*session, "hello world", true, options).ok());
}

TEST(Generate, CancelStopAndSeed) {
  const auto engine = tiny_llama();
  auto session = Session::open(*engine).value();
  GenerateOptions options;
  options.max_tokens = 12;
  options.ignore_eos = true;
  const auto whole = generate(*session, "hello", true, options).value();
  const auto cancelled =
      generate(*session, "hello", true, options, [](std::string_view) { return false; }).value();
  EXPECT_EQ(cancelled.finish, Finish::kCancelled);
  EXPECT_LT(cancelled.tokens.size(), whole.tokens.size());
  ASSERT_GE(whole.text.size(), 6u);
  options.stop = {whole.text.substr(3, 2)};
  const auto stopped = generate(*session, "hello", true, options).value();
  EXPECT_EQ(stopped.finish, Finish::kStop);
  EXPECT_EQ(stopped.text, whole.text.substr(0, whole.text.find(options.stop[0])));
  options.stop.clear();
  options.sampling = {.temperature = 1.5f, .seed = 3};
  const auto random = generate(*session, "hello", true, options).value().tokens;
  EXPECT_EQ(generate(*session, "hello", true, options).value().tokens, random);
  options.sampling.seed = 4;
  EXPECT_NE(generate(*session, "hello", true, options).value().tokens, random);
}

TEST(Embed, TruncationIsAskedForAndReported) {
  EngineOptions options{.threads = 1};
  const auto engine = Engine::load(kGolden + "tiny_bert", options).value();
  std::string text;
  for (int i = 0; i < 100; ++i) text += "hello ";
  const std::vector<std::string> texts = {"hello", text};
  const auto refused = embed(*engine, texts);
  ASSERT_FALSE(refused.ok());
  expect_contains(refused.error().message, "text 2 has ");
  expect_contains(refused.error().message, "the model takes 64");
  const auto cut = embed(*engine, texts, {.truncate = true});
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_FALSE((*cut)[0].truncated);
  EXPECT_TRUE((*cut)[1].truncated);
  EXPECT_EQ((*cut)[1].tokens, 64);
  double norm = 0;
  for (float x : (*cut)[1].values) norm += static_cast<double>(x) * x;
  EXPECT_NEAR(norm, 1, 1e-6);
}

TEST(Embed, TheWrongKindOfModelIsRefused) {
  const auto decoder = tiny_llama();
  const std::vector<std::string> texts = {"hello"};
  EXPECT_FALSE(embed(*decoder, texts).ok());
  const auto encoder = Engine::load(kGolden + "tiny_bert", {.threads = 1}).value();
  const auto session = Session::open(*encoder);
  ASSERT_FALSE(session.ok());
  expect_contains(session.error().message, "(bert) does not generate text; it makes embeddings");
}

// Says that it is a device, and is wrong by a little in one product.
class FaultyRunner : public CpuRunner {
 public:
  using CpuRunner::CpuRunner;
  std::string_view name() const override { return "faulty"; }
  Result<Place> run(const OpCall& call) override {
    TRY(CpuRunner::run(call));
    if (call.node().op != graph::Op::kMatmul) return Place::kHost;
    if (call.graph.label(call.node()) == "layers.1.up") call.out.row(0)[3] += 0.5f;
    return Place::kDevice;
  }
};

TEST(Executor, ReportsPlacesAndChecksTheDevice) {
  const EngineOptions options{.threads = 1, .check = true};
  const auto factory = [](const RunnerParts& parts) -> Result<std::unique_ptr<OpRunner>> {
    return std::unique_ptr<OpRunner>(std::make_unique<FaultyRunner>(parts.weights, parts.cache, parts.pool));
  };
  const auto engine = Engine::load(kGolden + "tiny_llama.gguf", options, factory).value();
  std::vector<std::string> order;
  engine->executor().observe([&](const NodeEvent& event) {
    order.push_back(event.graph.label(event.graph.nodes[event.index]));
    EXPECT_LE(event.begin_seconds, event.end_seconds);
  });
  auto session = Session::open(*engine).value();
  const std::vector<i32> tokens = {3, 4, 5};
  ASSERT_TRUE(session->advance(tokens).ok());
  EXPECT_EQ(order.size(), engine->graph().nodes.size());
  EXPECT_EQ(order.front(), "embed");
  EXPECT_EQ(order.back(), "logits");
  const ExecutionReport& report = engine->executor().report();
  EXPECT_EQ(report.passes, 1);
  EXPECT_EQ(report.rows, 3);
  EXPECT_EQ(report.total().device, 2 * 7 + 1);
  EXPECT_EQ(report.ops[static_cast<size_t>(graph::Op::kMatmul)].device, 2 * 7 + 1);
  EXPECT_EQ(report.total().host + report.total().device, static_cast<i64>(engine->graph().nodes.size()));
  ASSERT_EQ(report.checks.size(), 2u * 7 + 1);
  for (const CheckRow& row : report.checks) {
    if (row.node != "layers.1.up") {
      EXPECT_EQ(row.relative_l2, 0) << row.node;
      continue;
    }
    EXPECT_NEAR(row.worst, 0.5, 1e-5);
    EXPECT_EQ(row.worst_row, 0);
    EXPECT_EQ(row.worst_col, 3);
  }
  engine->executor().reset_report();
  EXPECT_EQ(engine->executor().report().passes, 0);
}

TEST(Executor, RefusesPassesThatDoNotFit) {
  const auto engine = tiny_llama();
  const std::vector<i32> ids = {1, 2}, positions = {0, 1};
  const Sequence one{1, 0}, two{2, 0}, nowhere{2, 9};
  EXPECT_FALSE(engine->run({ids, positions, {}, std::span(&one, 1)}).ok());
  EXPECT_FALSE(engine->run({ids, std::span(positions).first(1), {}, std::span(&two, 1)}).ok());
  EXPECT_FALSE(engine->run({ids, positions, {}, std::span(&nowhere, 1)}).ok());
  EXPECT_FALSE(engine->run({}).ok());
  EXPECT_TRUE(engine->run({ids, positions, {}, std::span(&two, 1)}).ok());
}

TEST(Engine, OptionsAreChecked) {
  EXPECT_FALSE(Engine::load(kGolden + "tiny_llama.gguf", {.context = 257}).ok());
  EXPECT_FALSE(Engine::load(kGolden + "tiny_llama.gguf", {.slots = 0}).ok());
}

}  // namespace
}  // namespace tegula::engine
