// BERT encoders as sentence embedders: Devlin et al. 2018, "BERT"; pooling: Reimers and Gurevych 2019,
// "Sentence-BERT".
#pragma once

#include <vector>

#include "graph/graph.h"
#include "model/weights.h"

namespace tegula::model {

struct BertConfig {
  i64 vocab = 0;
  i64 hidden = 0;
  i64 layers = 0;
  i64 heads = 0;
  i64 ffn = 0;
  i64 context = 0;  // rows of the position table
  i64 types = 0;    // rows of the token type table
  float norm_eps = 1e-12f;

  bool operator==(const BertConfig&) const = default;
};

enum class BertOutput : u8 {
  kHidden,
  kPooled,
  kNormalized
};  // last layer; its mean over the tokens; that with length 1

std::vector<WeightSpec> bert_weights(const BertConfig& config);

// Inputs: ids, positions, types, all i32[tokens,1]. Output: f32[tokens or sequences, hidden].
Result<graph::Graph> build_bert(const BertConfig& config, BertOutput output);

}  // namespace tegula::model
