#include <gtest/gtest.h>

#include "graph/text.h"
#include "model/registry.h"

namespace tegula::model {
namespace {

LlamaConfig smollm2() {
  LlamaConfig c;
  c.vocab = 49152, c.hidden = 576, c.layers = 30, c.heads = 9, c.kv_heads = 3, c.head_dim = 64, c.ffn = 1536;
  c.context = 8192, c.rope_base = 100000.0f, c.tied_head = true;
  return c;
}

BertConfig minilm() {
  BertConfig c;
  c.vocab = 30522, c.hidden = 384, c.layers = 6, c.heads = 12, c.ffn = 1536, c.context = 512, c.types = 2;
  return c;
}

i64 count(const graph::Graph& graph, graph::Op op) {
  i64 out = 0;
  for (const auto& node : graph.nodes) out += node.op == op;
  return out;
}

TEST(Llama, GraphOfSmolLm2) {
  const auto graph = build_llama(smollm2(), LogitRows::kLast);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(count(*graph, graph::Op::kMatmul), 30 * 7 + 1);
  EXPECT_EQ(count(*graph, graph::Op::kAttention), 30);
  EXPECT_EQ(graph->type(graph->outputs[0]),
            (graph::Type{graph::DType::kF32, graph::Rows::kSequences, 49152}));
  EXPECT_EQ(graph->find_weight("head.weight"), graph::kNone);  // tied
  EXPECT_EQ(traits(smollm2()).parameters, 134515008);          // as published
}

TEST(Llama, OptionsAreConfiguration) {
  LlamaConfig c = smollm2();
  c.tied_head = false, c.attention_bias = true, c.rope_factors = true;
  const auto graph = build_llama(c, LogitRows::kAll);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_NE(graph->find_weight("head.weight"), graph::kNone);
  EXPECT_NE(graph->find_weight("layers.29.v.bias"), graph::kNone);
  EXPECT_NE(graph->find_weight("rope_factors"), graph::kNone);
  EXPECT_EQ(graph->type(graph->outputs[0]).rows, graph::Rows::kTokens);
}

TEST(Llama, TextFormRoundTrips) {
  const auto graph = build_llama(smollm2(), LogitRows::kLast);
  ASSERT_TRUE(graph.ok());
  const std::string text = graph::print(*graph);
  const auto again = graph::parse(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(graph::print(*again), text);
}

TEST(Bert, GraphOfMiniLm) {
  const auto graph = build_bert(minilm(), BertOutput::kNormalized);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(count(*graph, graph::Op::kMatmul), 6 * 6);
  EXPECT_EQ(count(*graph, graph::Op::kLayerNorm), 13);
  EXPECT_EQ(graph->type(graph->outputs[0]), (graph::Type{graph::DType::kF32, graph::Rows::kSequences, 384}));
  EXPECT_EQ(graph->outputs[0], graph->find_value("normalized"));
}

TEST(Bert, RefusesHeadsThatDoNotDivide) {
  BertConfig c = minilm();
  c.heads = 7;
  EXPECT_FALSE(build_bert(c, BertOutput::kHidden).ok());
}

TEST(Registry, TableAndGraphAgreeOnWeights) {
  for (const Config& config : {Config(smollm2()), Config(minilm())}) {
    const auto graph = build(config);
    ASSERT_TRUE(graph.ok());
    size_t declared = 0;
    for (const WeightSpec& spec : weight_table(config)) {
      if (!spec.present) continue;
      for (i64 layer = 0; layer < (spec.per_layer() ? traits(config).layers : 1); ++layer, ++declared) {
        EXPECT_NE(graph->find_weight(spec.name(layer)), graph::kNone) << spec.name(layer);
      }
    }
    EXPECT_EQ(declared, graph->weights.size());
  }
}

TEST(Registry, UnknownArchitectureListsWhatWeHave) {
  EXPECT_EQ(*family_by_name("bert"), Family::kBert);
  const auto family = family_by_name("mamba");
  ASSERT_FALSE(family.ok());
  EXPECT_EQ(family.error().message, "model architecture 'mamba' is not supported; we have: llama, bert");
}

}  // namespace
}  // namespace tegula::model
