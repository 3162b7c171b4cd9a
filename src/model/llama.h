// LLaMA and its relatives: Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models".
#pragma once

#include <vector>

#include "graph/graph.h"
#include "model/weights.h"

namespace tegula::model {

struct LlamaConfig {
  i64 vocab = 0;
  i64 hidden = 0;
  i64 layers = 0;
  i64 heads = 0;
  i64 kv_heads = 0;
  i64 head_dim = 0;
  i64 ffn = 0;
  i64 context = 0;  // most positions that the model was trained for
  float norm_eps = 1e-5f;
  float rope_base = 10000.0f;
  bool tied_head = false;       // the head is the embedding table
  bool attention_bias = false;  // q, k and v have a bias
  bool rope_factors = false;    // a vector of divisors of the rope frequencies

  bool operator==(const LlamaConfig&) const = default;
};

enum class LogitRows : u8 { kLast, kAll };  // of each sequence: its last token, or every token

std::vector<WeightSpec> llama_weights(const LlamaConfig& config);

// Inputs: ids, positions, both i32[tokens,1]. Output: f32[sequences or tokens, vocab].
Result<graph::Graph> build_llama(const LlamaConfig& config, LogitRows rows);

}  // namespace tegula::model
