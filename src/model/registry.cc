#include "model/registry.h"

#include <array>

namespace tegula::model {
namespace {

struct Row {
  Family family;
  std::string_view name;
};
constexpr std::array<Row, 2> kFamilies = {{
    {Family::kLlama, "llama"},
    {Family::kBert, "bert"},
}};

Traits traits_of(const LlamaConfig& c) {
  return {.decoder = true,
          .layers = c.layers,
          .vocab = c.vocab,
          .context = c.context,
          .kv_cols = c.kv_heads * c.head_dim,
          .output_cols = c.vocab};
}

Traits traits_of(const BertConfig& c) {
  return {.layers = c.layers, .vocab = c.vocab, .context = c.context, .output_cols = c.hidden};
}

std::vector<WeightSpec> table_of(const LlamaConfig& c) {
  return llama_weights(c);
}
std::vector<WeightSpec> table_of(const BertConfig& c) {
  return bert_weights(c);
}

Result<graph::Graph> graph_of(const LlamaConfig& c, bool all_rows) {
  return build_llama(c, all_rows ? LogitRows::kAll : LogitRows::kLast);
}
Result<graph::Graph> graph_of(const BertConfig& c, bool all_rows) {
  return build_bert(c, all_rows ? BertOutput::kHidden : BertOutput::kNormalized);
}

}  // namespace

Result<Family> family_by_name(std::string_view name) {
  std::string have;
  for (const Row& row : kFamilies) {
    if (row.name == name) return row.family;
    have += (have.empty() ? "" : ", ") + std::string(row.name);
  }
  return fail(Code::kUnsupported,
              "model architecture '" + std::string(name) + "' is not supported; we have: " + have);
}

std::string_view family_name(Family family) {
  return kFamilies[static_cast<size_t>(family)].name;
}

Traits traits(const Config& config) {
  Traits out = std::visit([](const auto& c) { return traits_of(c); }, config);
  for (const WeightSpec& spec : weight_table(config)) {
    if (spec.present) out.parameters += spec.rows * spec.cols * (spec.per_layer() ? out.layers : 1);
  }
  return out;
}

std::vector<WeightSpec> weight_table(const Config& config) {
  return std::visit([](const auto& c) { return table_of(c); }, config);
}

Result<graph::Graph> build(const Config& config, bool all_rows) {
  return std::visit([&](const auto& c) { return graph_of(c, all_rows); }, config);
}

}  // namespace tegula::model
