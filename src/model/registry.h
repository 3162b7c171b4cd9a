// The families we have, behind one configuration type. No code outside asks for a model's name.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "graph/graph.h"
#include "model/bert.h"
#include "model/llama.h"
#include "model/weights.h"

namespace tegula::model {

enum class Family : u8 { kLlama, kBert };

using Config = std::variant<LlamaConfig, BertConfig>;  // alternatives in the order of Family

inline Family family_of(const Config& config) {
  return static_cast<Family>(config.index());
}

// By the name that model files use ("llama", "bert"); kUnsupported, listing what we have, for the rest.
Result<Family> family_by_name(std::string_view name);
std::string_view family_name(Family family);

// What the engine must know to run a model.
struct Traits {
  bool decoder = false;  // generates tokens through a KV cache; otherwise one pass gives embeddings
  i64 layers = 0;
  i64 vocab = 0;
  i64 context = 0;  // most positions of a sequence
  i64 kv_cols = 0;  // columns of a key row and of a value row in the cache; 0 without a cache
  i64 output_cols = 0;
  i64 parameters = 0;  // sum over the weight table
};
Traits traits(const Config& config);

std::vector<WeightSpec> weight_table(const Config& config);

// The graph that the engine runs by default: logits of the last token, or the normalised mean. all_rows gives
// every token: logits, or hidden states.
Result<graph::Graph> build(const Config& config, bool all_rows = false);

}  // namespace tegula::model
