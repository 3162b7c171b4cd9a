#include "graph/graph.h"

#include <gtest/gtest.h>

#include "graph/text.h"

namespace tegula::graph {
namespace {

// Every op of the table once.
constexpr const char* kEveryOp = R"(graph every_op
input ids : i32[tokens,1]
input positions : i32[tokens,1]
weight embed.weight [100,64]
weight norm.weight [1,64]
weight norm.bias [1,64]
weight q.weight [64,64]
weight q.bias [1,64]
weight k.weight [32,64]
weight factors [1,8]
%x = embed(%ids) {embed.weight} : f32[tokens,64]
%n = rms_norm(%x) {norm.weight} eps=1e-05 : f32[tokens,64]
%m = layer_norm(%n) {norm.weight, norm.bias} eps=1e-12 : f32[tokens,64]
%q = matmul(%m) {q.weight, q.bias} activation=gelu : f32[tokens,64]
%k = matmul(%m) {k.weight} activation=none : f32[tokens,32]
%qr = rope(%q, %positions) {factors} heads=4 head_dim=16 base=10000 : f32[tokens,64]
%kr = rope(%k, %positions) heads=2 head_dim=16 base=10000 : f32[tokens,32]
%a = attention(%qr, %kr, %k) heads=4 kv_heads=2 head_dim=16 causal=true layer=0 scale=0.25 : f32[tokens,64]
%s = silu_mul(%a, %q) : f32[tokens,64]
%r = add(%s, %x) : f32[tokens,64]
%c = scale(%r) scale=0.33333334 : f32[tokens,64]
%p = mean_pool(%c) : f32[sequences,64]
%l = last_row(%c) : f32[sequences,64]
%u = l2_normalize(%p) : f32[sequences,64]
%h = slice(%u) begin=16 end=48 : f32[sequences,32]
%j = concat(%h, %l) : f32[sequences,96]
output %j
output %l
)";

std::string error_of(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const Result<Graph> graph = parse(text);
  return graph.ok() ? "accepted" : graph.error().message;
}

TEST(GraphText, RoundTripOfEveryOp) {
  Result<Graph> graph = parse(kEveryOp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(print(*graph), kEveryOp);
  std::vector<bool> seen(kOpCount);
  for (const Node& node : graph->nodes) seen[static_cast<size_t>(node.op)] = true;
  for (int i = 0; i < kOpCount; ++i) EXPECT_TRUE(seen[i]) << op_info(static_cast<Op>(i)).name;
}

TEST(GraphText, CommentsAndBlanksAreIgnored) {
  const Result<Graph> graph = parse(
      "\n# a comment\ngraph g\ninput x : f32[tokens,8] # eight\n\n"
      "%y=scale( %x )  scale=2:f32[tokens,8]\noutput %y\n");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->nodes[0].attrs.scale, 2.0f);
}

TEST(GraphText, ErrorsNameLineAndCause) {
  EXPECT_NE(error_of(kEveryOp, "%q = matmul(%m)", "%q = matmul(%z)").find("line 14: %z is not defined yet"),
            std::string::npos);
  EXPECT_NE(error_of(kEveryOp, "rms_norm", "rms_nom").find("unknown op 'rms_nom'"), std::string::npos);
  EXPECT_NE(error_of(kEveryOp, "{k.weight}", "{kk.weight}").find("weight kk.weight is not declared"),
            std::string::npos);
  EXPECT_NE(error_of(kEveryOp, "eps=1e-05", "epsilon=1").find("rms_norm has no attribute 'epsilon'"),
            std::string::npos);
  EXPECT_NE(error_of(kEveryOp, "activation=gelu", "activation=relu").find("bad value 'relu'"),
            std::string::npos);
  EXPECT_NE(error_of(kEveryOp, "%m = ", "%n = ").find("%n is defined twice"), std::string::npos);
  EXPECT_NE(error_of(kEveryOp, ": f32[tokens,64]\n%n", ": f32[tokens,65]\n%n").find("is f32[tokens,64]"),
            std::string::npos);
  EXPECT_FALSE(parse("").ok());
  EXPECT_FALSE(parse("graph g\ninput x : f32[tokens,8]\n").ok());  // no output
}

TEST(Shape, EachRuleRefusesAWrongOperand) {
  const struct {
    const char *from, *to, *expected;
  } cases[] = {
      {"embed(%ids)", "embed(%x)", "not defined"},
      {"weight norm.weight [1,64]", "weight norm.weight [1,63]", "is [1,63], expected [1,64]"},
      {"weight q.weight [64,64]", "weight q.weight [64,60]", "is [64,60], expected [64,64]"},
      {"weight q.bias [1,64]", "weight q.bias [1,32]", "is [1,32], expected [1,64]"},
      {"rope(%k, %positions) heads=2", "rope(%k, %positions) heads=3", "has 32 columns, expected 48"},
      {"rope(%k, %positions)", "rope(%k, %k)", "operand %k must be i32"},
      {"kv_heads=2", "kv_heads=3", "must be a multiple of kv_heads (3)"},
      {"silu_mul(%a, %q)", "silu_mul(%a, %k)", "has 32 columns, expected 64"},
      {"%u = l2_normalize(%p)", "%u = add(%p, %c)", "differ in their row dimension"},
      {"last_row(%c)", "last_row(%p)", "one row per token"},
      {"heads=4 head_dim=16 base", "heads=4 head_dim=9223372036854775807 base", "bad value"},
      {"end=48", "end=65", "columns 16..65"},
      {"add(%s, %x)", "add(%s)", "found 1 operands, expected 2"},
      {"{norm.weight, norm.bias}", "{norm.weight}", "found 1 weights, expected 2..2"},
  };
  for (const auto& c : cases) {
    EXPECT_NE(error_of(kEveryOp, c.from, c.to).find(c.expected), std::string::npos)
        << c.to << ": " << error_of(kEveryOp, c.from, c.to);
  }
}

TEST(Builder, TheFirstErrorSticks) {
  Builder builder("g");
  const ValueId x = builder.input("x", DType::kF32, 8);
  const ValueId y = builder.matmul(x, builder.weight("w", 4, 9), kNone, Activation::kNone, "y");
  builder.output(builder.add(y, x, "z"));
  const Result<Graph> graph = builder.finish();
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.error().message, "%y: matmul: weight w is [4,9], expected [4,8]");
}

TEST(Builder, AWeightMayBeUsedTwice) {
  Builder builder("g");
  const ValueId ids = builder.input("ids", DType::kI32, 1);
  const ValueId x = builder.embed(ids, builder.weight("embed", 50, 8), "x");
  builder.output(builder.matmul(x, builder.weight("embed", 50, 8), kNone, Activation::kNone, "logits"));
  const Result<Graph> graph = builder.finish();
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->weights.size(), 1u);
  EXPECT_EQ(graph->find_value("logits"), graph->outputs[0]);
}

TEST(Verify, RefusesNodesOutOfOrder) {
  Result<Graph> graph = parse(kEveryOp);
  ASSERT_TRUE(graph.ok());
  std::swap(graph->nodes[0], graph->nodes[1]);
  EXPECT_FALSE(verify(*graph).ok());
}

}  // namespace
}  // namespace tegula::graph
