#include "engine/embed.h"

namespace tegula::engine {
namespace {

// Rows of one pass: whole texts one after the other.
struct Batch {
  std::vector<i32> ids;
  std::vector<i32> positions;
  std::vector<Sequence> sequences;

  void add(std::span<const i32> tokens) {
    for (size_t i = 0; i < tokens.size(); ++i) {
      ids.push_back(tokens[i]);
      positions.push_back(static_cast<i32>(i));
    }
    sequences.push_back({static_cast<i64>(tokens.size()), 0});
  }
};

// Keeps the token that closes the text ([SEP]) when it cuts.
Result<std::vector<i32>> tokenize(const Engine& engine, const std::string& text, size_t number,
                                  const EmbedOptions& options, Embedding& out) {
  std::vector<i32> tokens = engine.tokenizer().encode(text, true);
  const size_t limit = static_cast<size_t>(engine.options().context);
  if (tokens.empty()) return fail(Code::kInvalidArgument, "text " + std::to_string(number + 1) + " is empty");
  if (tokens.size() > limit) {
    if (!options.truncate) {
      return fail(Code::kOutOfRange, "text " + std::to_string(number + 1) + " has " +
                                         std::to_string(tokens.size()) + " tokens, the model takes " +
                                         std::to_string(limit) + "; split it or ask for truncation");
    }
    tokens[limit - 1] = tokens.back();
    tokens.resize(limit);
    out.truncated = true;
  }
  out.tokens = static_cast<i64>(tokens.size());
  return tokens;
}

Result<void> run(Engine& engine, Batch& batch, std::span<Embedding> out) {
  const std::vector<i32> types(batch.ids.size());
  TRY_ASSIGN(const ref::Tensor* result, engine.run({batch.ids, batch.positions, types, batch.sequences}));
  for (i64 i = 0; i < result->rows; ++i) out[i].values.assign(result->row(i).begin(), result->row(i).end());
  batch = {};
  return {};
}

}  // namespace

Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::string> texts,
                                     const EmbedOptions& options) {
  if (engine.traits().decoder || engine.options().all_rows) {
    return fail(Code::kUnsupported,
                "model " + engine.model().name + " is not loaded as one that makes embeddings");
  }
  std::vector<Embedding> out(texts.size());
  Batch batch;
  size_t first = 0;
  for (size_t i = 0; i < texts.size(); ++i) {
    TRY_ASSIGN(const std::vector<i32> tokens, tokenize(engine, texts[i], i, options, out[i]));
    const i64 rows = static_cast<i64>(batch.ids.size() + tokens.size());
    if (!batch.ids.empty() && rows > engine.options().rows_per_pass) {
      TRY(run(engine, batch, std::span(out).subspan(first)));
      first = i;
    }
    batch.add(tokens);
  }
  if (!batch.ids.empty()) TRY(run(engine, batch, std::span(out).subspan(first)));
  return out;
}

}  // namespace tegula::engine
