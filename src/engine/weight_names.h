// What the files call the weights: one row per canonical pattern and family.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"
#include "model/registry.h"

namespace tegula::engine {

enum class RowOrder : u8 {
  kPlain,
  kRopePairs,  // GGUF "llama": rows of a head are interleaved, row 2i + j of the file is row j * head_dim/2 +
               // i of ours
};

struct WeightName {
  std::string_view canonical;
  std::string_view gguf;  // empty: the file format has no such weight
  std::string_view hf;    // without the prefix of the whole model ("model.", "bert.")
  RowOrder gguf_rows = RowOrder::kPlain;
};

std::span<const WeightName> weight_names(model::Family family);

// The row for a canonical name and its layer number (0 for weights outside the layers).
struct NamedWeight {
  const WeightName* row;
  i64 layer;
};
std::optional<NamedWeight> find_weight_name(model::Family family, std::string_view name);

// The pattern with "{}" replaced by the layer.
std::string with_layer(std::string_view pattern, i64 layer);

}  // namespace tegula::engine
