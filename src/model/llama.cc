// In the order of the paper, section 2.2: pre-normalisation (RMSNorm, [GPT3]), SwiGLU [PaLM], rotary
// embeddings [GPTNeo]; grouped key heads as in "Llama 2", section 2.2.
#include "model/llama.h"

#include <cmath>

namespace tegula::model {
namespace {

using graph::Activation;
using graph::Builder;
using graph::kNone;
using graph::ValueId;

class Llama {
 public:
  Llama(const LlamaConfig& config, Builder& builder)
      : config_(config), builder_(builder), weight_(builder, llama_weights(config)) {}

  ValueId build(LogitRows rows) {
    const ValueId ids = builder_.input("ids", graph::DType::kI32, 1);
    positions_ = builder_.input("positions", graph::DType::kI32, 1);
    ValueId x = builder_.embed(ids, weight_("embed.weight"), "embed");
    for (i64 layer = 0; layer < config_.layers; ++layer) {
      x = attention_block(x, layer);
      x = feed_forward_block(x, layer);
    }
    if (rows == LogitRows::kLast) x = builder_.last_row(x, "last");
    x = builder_.rms_norm(x, weight_("norm.weight"), config_.norm_eps, "norm");
    const auto head = weight_(config_.tied_head ? "embed.weight" : "head.weight");
    return builder_.matmul(x, head, kNone, Activation::kNone, "logits");
  }

 private:
  static std::string at(i64 layer, const char* what) {
    return "layers." + std::to_string(layer) + "." + what;
  }

  // Pre-normalisation; q, k rotated; softmax(q k^T / sqrt(head_dim)) v; projection; residual.
  ValueId attention_block(ValueId x, i64 layer) {
    const ValueId n = builder_.rms_norm(x, weight_("layers.{}.attn_norm.weight", layer), config_.norm_eps,
                                        at(layer, "attn_norm"));
    const ValueId q = project(n, layer, "q");
    const ValueId k = project(n, layer, "k");
    const ValueId v = project(n, layer, "v");
    const auto factors = weight_("rope_factors");
    const ValueId q_rotated = builder_.rope(q, positions_, config_.heads, config_.head_dim, config_.rope_base,
                                            factors, at(layer, "q_rope"));
    const ValueId k_rotated = builder_.rope(k, positions_, config_.kv_heads, config_.head_dim,
                                            config_.rope_base, factors, at(layer, "k_rope"));
    const Builder::AttentionShape shape{.heads = config_.heads,
                                        .kv_heads = config_.kv_heads,
                                        .head_dim = config_.head_dim,
                                        .causal = true,
                                        .layer = layer,
                                        .scale = 1.0f / std::sqrt(static_cast<float>(config_.head_dim))};
    const ValueId a = builder_.attention(q_rotated, k_rotated, v, shape, at(layer, "attn"));
    const ValueId o = linear(a, layer, "layers.{}.o.weight", at(layer, "o"));
    return builder_.add(x, o, at(layer, "attn_out"));
  }

  // SwiGLU: down(silu(gate(x)) * up(x)); residual.
  ValueId feed_forward_block(ValueId x, i64 layer) {
    const ValueId n = builder_.rms_norm(x, weight_("layers.{}.ffn_norm.weight", layer), config_.norm_eps,
                                        at(layer, "ffn_norm"));
    const ValueId gate = linear(n, layer, "layers.{}.gate.weight", at(layer, "gate"));
    const ValueId up = linear(n, layer, "layers.{}.up.weight", at(layer, "up"));
    const ValueId mixed = builder_.silu_mul(gate, up, at(layer, "silu_mul"));
    const ValueId down = linear(mixed, layer, "layers.{}.down.weight", at(layer, "down"));
    return builder_.add(x, down, at(layer, "ffn_out"));
  }

  ValueId project(ValueId x, i64 layer, const std::string& what) {
    const auto weight = weight_("layers.{}." + what + ".weight", layer);
    const auto bias = weight_("layers.{}." + what + ".bias", layer);
    return builder_.matmul(x, weight, bias, Activation::kNone, at(layer, what.c_str()));
  }

  ValueId linear(ValueId x, i64 layer, std::string_view pattern, std::string name) {
    return builder_.matmul(x, weight_(pattern, layer), kNone, Activation::kNone, std::move(name));
  }

  const LlamaConfig& config_;
  Builder& builder_;
  WeightTable weight_;
  ValueId positions_ = kNone;
};

}  // namespace

std::vector<WeightSpec> llama_weights(const LlamaConfig& c) {
  const i64 q = c.heads * c.head_dim;
  const i64 kv = c.kv_heads * c.head_dim;
  return {
      {"embed.weight", c.vocab, c.hidden},
      {"rope_factors", 1, c.head_dim / 2, c.rope_factors},
      {"layers.{}.attn_norm.weight", 1, c.hidden},
      {"layers.{}.q.weight", q, c.hidden},
      {"layers.{}.q.bias", 1, q, c.attention_bias},
      {"layers.{}.k.weight", kv, c.hidden},
      {"layers.{}.k.bias", 1, kv, c.attention_bias},
      {"layers.{}.v.weight", kv, c.hidden},
      {"layers.{}.v.bias", 1, kv, c.attention_bias},
      {"layers.{}.o.weight", c.hidden, q},
      {"layers.{}.ffn_norm.weight", 1, c.hidden},
      {"layers.{}.gate.weight", c.ffn, c.hidden},
      {"layers.{}.up.weight", c.ffn, c.hidden},
      {"layers.{}.down.weight", c.hidden, c.ffn},
      {"norm.weight", 1, c.hidden},
      {"head.weight", c.vocab, c.hidden, !c.tied_head},
  };
}

Result<graph::Graph> build_llama(const LlamaConfig& config, LogitRows rows) {
  Builder builder("llama");
  builder.output(Llama(config, builder).build(rows));
  return builder.finish();
}

}  // namespace tegula::model
