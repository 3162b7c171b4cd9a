// The programs that the models get, as bytes, under the lint.
#include <gtest/gtest.h>

#include <set>

#include "compiler/kernels/matmul_kernel.h"
#include "isa/lint.h"

namespace tegula::compiler {
namespace {

struct Case {
  const char* name;
  std::vector<MatmulShape> shapes;
  int rows;
};

// The products of a small LLaMA and a small BERT, in decode and in prefill, and single ones.
std::vector<Case> cases() {
  return {{"llama", {{576, 960}, {576, 576}, {576, 3072}, {1536, 576}, {576, 49152}}, 64},
          {"llama one row", {{576, 960}, {576, 576}, {576, 3072}, {1536, 576}, {576, 49152}}, 1},
          {"bert", {{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}}, 32},
          {"square", {{512, 512}}, 512},
          {"tiny", {{8, 8}}, 1},
          {"odd", {{40, 24}, {72, 56}}, 9}};
}

TEST(KernelLint, ProgramsOfTheModelsAreClean) {
  std::set<std::string> seen;
  for (const Case& wanted : cases()) {
    for (const auto& [number, parts] :
         {std::pair{Number::kInt8, 1}, {Number::kBfp16, 1}, {Number::kBfp16, 2}}) {
      for (const bool bias : {false, true}) {
        if (bias && number == Number::kInt8) continue;  // int8 has no bias
        const auto config = choose_config(number, parts, bias, wanted.shapes, wanted.rows);
        ASSERT_TRUE(config.ok()) << wanted.name << ": " << config.error().message;
        if (!seen.insert(config->name() + (bias ? " bias" : "")).second) continue;
        SCOPED_TRACE(std::string(wanted.name) + " " + *seen.rbegin());
        const auto program = matmul_kernel(*config);
        ASSERT_TRUE(program.ok()) << program.error().message;
        const auto placed = isa::place(program->code);
        ASSERT_TRUE(placed.ok()) << placed.error().message;
        // Software pipelines read a register while its next value is on the way; that is what makes one
        // product a cycle.
        for (const isa::Finding& finding : isa::lint(*placed, {.allow_old_value_reads = true}))
          ADD_FAILURE() << finding.address << " " << finding.rule << ": " << finding.text;
      }
    }
  }
  EXPECT_GE(seen.size(), 8u);
}

// The lint sees this code: without the first word of a delay slot's bundle it complains.
TEST(KernelLint, OneBundleLessIsFound) {
  const auto config = choose_config(Number::kBfp16, 1, false, cases()[0].shapes, 64);
  ASSERT_TRUE(config.ok());
  const auto program = matmul_kernel(*config);
  ASSERT_TRUE(program.ok());
  auto placed = isa::place(program->code);
  ASSERT_TRUE(placed.ok());
  int found = 0;
  for (int gone = 0; gone < placed->size(); ++gone) {
    isa::PlacedProgram shorter;
    for (int i = 0; i < placed->size(); ++i) {
      if (i != gone) shorter.add((*placed)[i].address, (*placed)[i].bytes, (*placed)[i].instr);
    }
    found += !isa::lint(shorter, {.allow_old_value_reads = true}).empty();
  }
  EXPECT_GT(found, placed->size() / 8) << "of " << placed->size();
}

}  // namespace
}  // namespace tegula::compiler
