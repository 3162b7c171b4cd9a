// The operations of a graph: one row per op with its operands, attributes and shape rule.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/types.h"

namespace tegula::graph {

enum class Op : u8 {
  kEmbed,      // out[r] = table[ids[r]]
  kRmsNorm,    // out[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight
  kLayerNorm,  // out[r] = (x[r] - mean) / sqrt(variance + eps) * weight + bias
  kMatmul,     // out[r][n] = act(sum_k x[r][k] * weight[n][k] + bias[n])
  kRope,  // rotates pairs (i, i + head_dim/2) of every head by position * base^(-2i/head_dim) / factor[i]
  kAttention,    // softmax(scale * q k^T) v per head; kv head = head / (heads / kv_heads); cache `layer` when
                 // causal
  kSiluMul,      // out = gate / (1 + exp(-gate)) * up
  kAdd,          // out = a + b
  kScale,        // out = x * scale
  kMeanPool,     // one row per sequence: the mean of its rows
  kLastRow,      // one row per sequence: its last row
  kL2Normalize,  // out[r] = x[r] / max(|x[r]|, 1e-12)
  kSlice,        // columns begin .. end-1
  kConcat,       // columns of a, then columns of b
};
inline constexpr int kOpCount = 14;

enum class Activation : u8 { kNone, kGelu };  // gelu: x/2 * (1 + erf(x / sqrt 2))

// Attributes of a node; which of them an op has is in its row of the op table, the rest keep their defaults.
struct Attrs {
  float eps = 0;
  float base = 0;   // rope: frequency base
  float scale = 1;  // attention: of the scores; scale: the factor
  i64 heads = 0;    // rope: heads in the operand; attention: query heads
  i64 kv_heads = 0;
  i64 head_dim = 0;
  i64 layer = 0;  // index of the KV cache layer
  i64 begin = 0;  // slice
  i64 end = 0;
  bool causal = false;
  Activation activation = Activation::kNone;

  bool operator==(const Attrs&) const = default;
};

// What an attribute is called in the text form, and where it lives.
struct AttrSpec {
  enum class Kind : u8 { kFloat, kInt, kBool, kActivation };
  std::string_view name;
  Kind kind;
  float Attrs::*real = nullptr;
  i64 Attrs::*integer = nullptr;
  bool Attrs::*flag = nullptr;
};

struct OpInfo {
  Op op;
  std::string_view name;
  int inputs;       // values consumed
  int weights_min;  // named constants: required ones first
  int weights_max;
  std::span<const AttrSpec> attrs;
};

const OpInfo& op_info(Op op);
std::optional<Op> op_by_name(std::string_view name);
std::string_view activation_name(Activation activation);
std::optional<Activation> activation_by_name(std::string_view name);

}  // namespace tegula::graph
