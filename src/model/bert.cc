// In the order of the paper: input embeddings (section 3, figure 2), then the encoder of Vaswani et al. 2017,
// section 3, with normalisation after each residual, and GELU (section A.2).
#include "model/bert.h"

#include <cmath>

namespace tegula::model {
namespace {

using graph::Activation;
using graph::Builder;
using graph::ValueId;

class Bert {
 public:
  Bert(const BertConfig& config, Builder& builder)
      : config_(config), builder_(builder), weight_(builder, bert_weights(config)) {}

  ValueId build(BertOutput output) {
    ValueId x = embeddings();
    for (i64 layer = 0; layer < config_.layers; ++layer) {
      x = attention_block(x, layer);
      x = feed_forward_block(x, layer);
    }
    if (output == BertOutput::kHidden) return x;
    x = builder_.mean_pool(x, "pooled");
    return output == BertOutput::kPooled ? x : builder_.l2_normalize(x, "normalized");
  }

 private:
  static std::string at(i64 layer, const char* what) {
    return "layers." + std::to_string(layer) + "." + what;
  }

  // Token + type + position, normalised.
  ValueId embeddings() {
    const ValueId ids = builder_.input("ids", graph::DType::kI32, 1);
    const ValueId positions = builder_.input("positions", graph::DType::kI32, 1);
    const ValueId types = builder_.input("types", graph::DType::kI32, 1);
    const ValueId words = builder_.embed(ids, weight_("embed.weight"), "words");
    const ValueId kinds = builder_.embed(types, weight_("types.weight"), "token_types");
    const ValueId places = builder_.embed(positions, weight_("positions.weight"), "places");
    const ValueId sum = builder_.add(builder_.add(words, kinds, "words_types"), places, "embed_sum");
    return builder_.layer_norm(sum, weight_("embed_norm.weight"), weight_("embed_norm.bias"),
                               config_.norm_eps, "embed");
  }

  ValueId attention_block(ValueId x, i64 layer) {
    const ValueId q = linear(x, layer, "q", Activation::kNone);
    const ValueId k = linear(x, layer, "k", Activation::kNone);
    const ValueId v = linear(x, layer, "v", Activation::kNone);
    const i64 head_dim = config_.hidden / config_.heads;
    const Builder::AttentionShape shape{.heads = config_.heads,
                                        .kv_heads = config_.heads,
                                        .head_dim = head_dim,
                                        .causal = false,
                                        .layer = layer,
                                        .scale = 1.0f / std::sqrt(static_cast<float>(head_dim))};
    const ValueId a = builder_.attention(q, k, v, shape, at(layer, "attn"));
    const ValueId sum = builder_.add(x, linear(a, layer, "o", Activation::kNone), at(layer, "attn_sum"));
    return norm(sum, layer, "attn_norm");
  }

  ValueId feed_forward_block(ValueId x, i64 layer) {
    const ValueId up = linear(x, layer, "up", Activation::kGelu);
    const ValueId sum = builder_.add(x, linear(up, layer, "down", Activation::kNone), at(layer, "ffn_sum"));
    return norm(sum, layer, "ffn_norm");
  }

  ValueId linear(ValueId x, i64 layer, const std::string& what, Activation activation) {
    const auto weight = weight_("layers.{}." + what + ".weight", layer);
    const auto bias = weight_("layers.{}." + what + ".bias", layer);
    return builder_.matmul(x, weight, bias, activation, at(layer, what.c_str()));
  }

  ValueId norm(ValueId x, i64 layer, const std::string& what) {
    const auto weight = weight_("layers.{}." + what + ".weight", layer);
    const auto bias = weight_("layers.{}." + what + ".bias", layer);
    return builder_.layer_norm(x, weight, bias, config_.norm_eps, at(layer, what.c_str()));
  }

  const BertConfig& config_;
  Builder& builder_;
  WeightTable weight_;
};

}  // namespace

std::vector<WeightSpec> bert_weights(const BertConfig& c) {
  return {
      {"embed.weight", c.vocab, c.hidden},       {"types.weight", c.types, c.hidden},
      {"positions.weight", c.context, c.hidden}, {"embed_norm.weight", 1, c.hidden},
      {"embed_norm.bias", 1, c.hidden},          {"layers.{}.q.weight", c.hidden, c.hidden},
      {"layers.{}.q.bias", 1, c.hidden},         {"layers.{}.k.weight", c.hidden, c.hidden},
      {"layers.{}.k.bias", 1, c.hidden},         {"layers.{}.v.weight", c.hidden, c.hidden},
      {"layers.{}.v.bias", 1, c.hidden},         {"layers.{}.o.weight", c.hidden, c.hidden},
      {"layers.{}.o.bias", 1, c.hidden},         {"layers.{}.attn_norm.weight", 1, c.hidden},
      {"layers.{}.attn_norm.bias", 1, c.hidden}, {"layers.{}.up.weight", c.ffn, c.hidden},
      {"layers.{}.up.bias", 1, c.ffn},           {"layers.{}.down.weight", c.hidden, c.ffn},
      {"layers.{}.down.bias", 1, c.hidden},      {"layers.{}.ffn_norm.weight", 1, c.hidden},
      {"layers.{}.ffn_norm.bias", 1, c.hidden},
  };
}

Result<graph::Graph> build_bert(const BertConfig& config, BertOutput output) {
  if (config.heads <= 0 || config.hidden % config.heads != 0) {
    return fail(Code::kInvalidArgument, "bert: hidden size " + std::to_string(config.hidden) +
                                            " is not a multiple of " + std::to_string(config.heads) +
                                            " heads");
  }
  Builder builder("bert");
  builder.output(Bert(config, builder).build(output));
  return builder.finish();
}

}  // namespace tegula::model
