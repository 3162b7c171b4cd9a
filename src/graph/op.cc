// The op table. Shape rules are in shape.cc.
#include "graph/op.h"

#include <array>

namespace tegula::graph {
namespace {

using Kind = AttrSpec::Kind;
constexpr AttrSpec kEps{"eps", Kind::kFloat, &Attrs::eps};
constexpr AttrSpec kBase{"base", Kind::kFloat, &Attrs::base};
constexpr AttrSpec kScaleAttr{"scale", Kind::kFloat, &Attrs::scale};
constexpr AttrSpec kHeads{"heads", Kind::kInt, nullptr, &Attrs::heads};
constexpr AttrSpec kKvHeads{"kv_heads", Kind::kInt, nullptr, &Attrs::kv_heads};
constexpr AttrSpec kHeadDim{"head_dim", Kind::kInt, nullptr, &Attrs::head_dim};
constexpr AttrSpec kLayer{"layer", Kind::kInt, nullptr, &Attrs::layer};
constexpr AttrSpec kBegin{"begin", Kind::kInt, nullptr, &Attrs::begin};
constexpr AttrSpec kEnd{"end", Kind::kInt, nullptr, &Attrs::end};
constexpr AttrSpec kCausal{"causal", Kind::kBool, nullptr, nullptr, &Attrs::causal};
constexpr AttrSpec kActivation{"activation", Kind::kActivation};

constexpr AttrSpec kNormAttrs[] = {kEps};
constexpr AttrSpec kMatmulAttrs[] = {kActivation};
constexpr AttrSpec kRopeAttrs[] = {kHeads, kHeadDim, kBase};
constexpr AttrSpec kAttentionAttrs[] = {kHeads, kKvHeads, kHeadDim, kCausal, kLayer, kScaleAttr};
constexpr AttrSpec kScaleAttrs[] = {kScaleAttr};
constexpr AttrSpec kSliceAttrs[] = {kBegin, kEnd};

// clang-format off
constexpr std::array<OpInfo, kOpCount> kOps = {{
    // op               name            inputs  weights  attributes
    {Op::kEmbed,        "embed",        1,      1, 1,    {}},
    {Op::kRmsNorm,      "rms_norm",     1,      1, 1,    kNormAttrs},
    {Op::kLayerNorm,    "layer_norm",   1,      2, 2,    kNormAttrs},
    {Op::kMatmul,       "matmul",       1,      1, 2,    kMatmulAttrs},
    {Op::kRope,         "rope",         2,      0, 1,    kRopeAttrs},
    {Op::kAttention,    "attention",    3,      0, 0,    kAttentionAttrs},
    {Op::kSiluMul,      "silu_mul",     2,      0, 0,    {}},
    {Op::kAdd,          "add",          2,      0, 0,    {}},
    {Op::kScale,        "scale",        1,      0, 0,    kScaleAttrs},
    {Op::kMeanPool,     "mean_pool",    1,      0, 0,    {}},
    {Op::kLastRow,      "last_row",     1,      0, 0,    {}},
    {Op::kL2Normalize,  "l2_normalize", 1,      0, 0,    {}},
    {Op::kSlice,        "slice",        1,      0, 0,    kSliceAttrs},
    {Op::kConcat,       "concat",       2,      0, 0,    {}},
}};
// clang-format on

constexpr bool table_is_in_order() {
  for (int i = 0; i < kOpCount; ++i) {
    if (kOps[i].op != static_cast<Op>(i)) return false;
  }
  return true;
}
static_assert(table_is_in_order(), "a row of the op table is missing or out of order");

constexpr std::string_view kActivationNames[] = {"none", "gelu"};

}  // namespace

const OpInfo& op_info(Op op) {
  return kOps[static_cast<size_t>(op)];
}

std::optional<Op> op_by_name(std::string_view name) {
  for (const OpInfo& info : kOps) {
    if (info.name == name) return info.op;
  }
  return std::nullopt;
}

std::string_view activation_name(Activation activation) {
  return kActivationNames[static_cast<size_t>(activation)];
}

std::optional<Activation> activation_by_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kActivationNames); ++i) {
    if (kActivationNames[i] == name) return static_cast<Activation>(i);
  }
  return std::nullopt;
}

}  // namespace tegula::graph
