#include "engine/weight_names.h"

#include <charconv>

namespace tegula::engine {
namespace {

constexpr RowOrder kPairs = RowOrder::kRopePairs;

// clang-format off
constexpr WeightName kLlama[] = {
    {"embed.weight",               "token_embd.weight",         "embed_tokens.weight"},
    {"rope_factors",               "rope_freqs.weight",         ""},
    {"layers.{}.attn_norm.weight", "blk.{}.attn_norm.weight",   "layers.{}.input_layernorm.weight"},
    {"layers.{}.q.weight",         "blk.{}.attn_q.weight",      "layers.{}.self_attn.q_proj.weight", kPairs},
    {"layers.{}.q.bias",           "blk.{}.attn_q.bias",        "layers.{}.self_attn.q_proj.bias", kPairs},
    {"layers.{}.k.weight",         "blk.{}.attn_k.weight",      "layers.{}.self_attn.k_proj.weight", kPairs},
    {"layers.{}.k.bias",           "blk.{}.attn_k.bias",        "layers.{}.self_attn.k_proj.bias", kPairs},
    {"layers.{}.v.weight",         "blk.{}.attn_v.weight",      "layers.{}.self_attn.v_proj.weight"},
    {"layers.{}.v.bias",           "blk.{}.attn_v.bias",        "layers.{}.self_attn.v_proj.bias"},
    {"layers.{}.o.weight",         "blk.{}.attn_output.weight", "layers.{}.self_attn.o_proj.weight"},
    {"layers.{}.ffn_norm.weight",  "blk.{}.ffn_norm.weight",    "layers.{}.post_attention_layernorm.weight"},
    {"layers.{}.gate.weight",      "blk.{}.ffn_gate.weight",    "layers.{}.mlp.gate_proj.weight"},
    {"layers.{}.up.weight",        "blk.{}.ffn_up.weight",      "layers.{}.mlp.up_proj.weight"},
    {"layers.{}.down.weight",      "blk.{}.ffn_down.weight",    "layers.{}.mlp.down_proj.weight"},
    {"norm.weight",                "output_norm.weight",        "norm.weight"},
    {"head.weight",                "output.weight",             "lm_head.weight"},
};

constexpr WeightName kBert[] = {
    {"embed.weight",               "", "embeddings.word_embeddings.weight"},
    {"types.weight",               "", "embeddings.token_type_embeddings.weight"},
    {"positions.weight",           "", "embeddings.position_embeddings.weight"},
    {"embed_norm.weight",          "", "embeddings.LayerNorm.weight"},
    {"embed_norm.bias",            "", "embeddings.LayerNorm.bias"},
    {"layers.{}.q.weight",         "", "encoder.layer.{}.attention.self.query.weight"},
    {"layers.{}.q.bias",           "", "encoder.layer.{}.attention.self.query.bias"},
    {"layers.{}.k.weight",         "", "encoder.layer.{}.attention.self.key.weight"},
    {"layers.{}.k.bias",           "", "encoder.layer.{}.attention.self.key.bias"},
    {"layers.{}.v.weight",         "", "encoder.layer.{}.attention.self.value.weight"},
    {"layers.{}.v.bias",           "", "encoder.layer.{}.attention.self.value.bias"},
    {"layers.{}.o.weight",         "", "encoder.layer.{}.attention.output.dense.weight"},
    {"layers.{}.o.bias",           "", "encoder.layer.{}.attention.output.dense.bias"},
    {"layers.{}.attn_norm.weight", "", "encoder.layer.{}.attention.output.LayerNorm.weight"},
    {"layers.{}.attn_norm.bias",   "", "encoder.layer.{}.attention.output.LayerNorm.bias"},
    {"layers.{}.up.weight",        "", "encoder.layer.{}.intermediate.dense.weight"},
    {"layers.{}.up.bias",          "", "encoder.layer.{}.intermediate.dense.bias"},
    {"layers.{}.down.weight",      "", "encoder.layer.{}.output.dense.weight"},
    {"layers.{}.down.bias",        "", "encoder.layer.{}.output.dense.bias"},
    {"layers.{}.ffn_norm.weight",  "", "encoder.layer.{}.output.LayerNorm.weight"},
    {"layers.{}.ffn_norm.bias",    "", "encoder.layer.{}.output.LayerNorm.bias"},
};
// clang-format on

// The number that "{}" stands for, when name matches pattern.
std::optional<i64> match(std::string_view pattern, std::string_view name) {
  const size_t at = pattern.find("{}");
  if (at == std::string_view::npos) return pattern == name ? std::optional<i64>(0) : std::nullopt;
  const std::string_view head = pattern.substr(0, at), tail = pattern.substr(at + 2);
  if (name.size() <= head.size() + tail.size() || !name.starts_with(head) || !name.ends_with(tail))
    return std::nullopt;
  const std::string_view digits = name.substr(head.size(), name.size() - head.size() - tail.size());
  i64 layer = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), layer);
  if (end.ec != std::errc() || end.ptr != digits.data() + digits.size()) return std::nullopt;
  return layer;
}

}  // namespace

std::span<const WeightName> weight_names(model::Family family) {
  switch (family) {
    case model::Family::kLlama:
      return kLlama;
    case model::Family::kBert:
      return kBert;
  }
  return {};
}

std::optional<NamedWeight> find_weight_name(model::Family family, std::string_view name) {
  for (const WeightName& row : weight_names(family)) {
    if (const auto layer = match(row.canonical, name)) return NamedWeight{&row, *layer};
  }
  return std::nullopt;
}

std::string with_layer(std::string_view pattern, i64 layer) {
  std::string out(pattern);
  if (const size_t at = out.find("{}"); at != std::string::npos) out.replace(at, 2, std::to_string(layer));
  return out;
}

}  // namespace tegula::engine
