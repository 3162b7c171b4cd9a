// Embeddings of texts: the mean of the last layer over the tokens, with length 1.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace tegula::engine {

struct EmbedOptions {
  bool truncate = false;  // cut texts that are longer than the context, instead of refusing them
};

struct Embedding {
  std::vector<float> values;
  i64 tokens = 0;  // that the model saw
  bool truncated = false;
};

// Short texts share passes. kUnsupported for a model that makes no embeddings; kOutOfRange, with the number
// of the text, for one that is too long.
Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::string> texts,
                                     const EmbedOptions& options = {});

}  // namespace tegula::engine
