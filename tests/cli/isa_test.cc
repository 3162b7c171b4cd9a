// tegula isa --coverage: the sums over the table, and the instructions of a file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/command_run.h"
#include "cli/sample.h"
#include "isa/isa.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

// VLDB_POPX_512 is not executed: the semantics of the FIFO with a step are unknown.
std::string file_with(const std::string& name, const std::vector<std::string>& lines) {
  test::Config config;
  config.program(0, 2, test::program_of(lines, 64));
  config.program(1, 2, test::program_of(lines, 64));
  return write_file_for_test(name, test::xclbin_of(config.commands()));
}

TEST(IsaCommand, FamiliesHoldEveryInstructionOnce) {
  const CommandOutcome outcome = run_command({"isa", "--coverage", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = json::parse(outcome.out);
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["instructions"], 879);  // rows of instructions.tsv
  int executed = 0, missing = 0;
  std::set<std::string> names;
  for (const json& family : out["families"]) {
    executed += family["executed"].get<int>();
    missing += static_cast<int>(family["missing"].size());
    for (const json& name : family["missing"]) {
      names.insert(name);
      const isa::Op op = isa::find_op(name.get<std::string>());
      ASSERT_NE(op, isa::Op::kCount) << name;
      const std::string first = family["family"].get<std::string>();
      const std::string_view mnemonic = isa::info(op).mnemonic;
      EXPECT_EQ(mnemonic.substr(0, mnemonic.find('.')), first.substr(0, first.find('.'))) << name;
    }
  }
  EXPECT_EQ(executed, out["executed"]);
  EXPECT_EQ(executed + missing, 879);
  EXPECT_EQ(names.size(), static_cast<size_t>(missing));
  EXPECT_TRUE(names.contains("VLDB_POPX_512"));
  EXPECT_FALSE(out.contains("corpus"));
}

TEST(IsaCommand, VariantsBelongToTheFamilyOfTheirOperation) {
  const json out = json::parse(run_command({"isa", "--coverage", "--json"}).out);
  std::set<std::string> families;
  for (const json& family : out["families"]) families.insert(family["family"]);
  for (const char* name : {"vlda.ups", "vst.srs", "vldb.pop", "vmac.f", "sel.eqz", "lda"})
    EXPECT_TRUE(families.contains(name)) << name;
  for (const char* name : {"vlda.ups.2x", "vst.srs.4x.2d", "lda.s8", "vadd.16", "vmov.d.3d"})
    EXPECT_FALSE(families.contains(name)) << name;
}

// Equal programs count once, in however many cores and files.
TEST(IsaCommand, CountsTheInstructionsOfFiles) {
  const std::string path = file_with("isa_known", {"mova r9, #47", "add r1, r2, r3", "add r1, r2, r3"});
  const CommandOutcome outcome = run_command({"isa", "--coverage", "--json", path, path});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const json corpus = json::parse(outcome.out)["corpus"];
  EXPECT_EQ(corpus["files"], 2);
  EXPECT_EQ(corpus["programs"], 1);
  EXPECT_EQ(corpus["undecodable"], 0);
  EXPECT_EQ(corpus["instructions"], 2);
  EXPECT_EQ(corpus["executed"], 2);
  EXPECT_TRUE(corpus["missing"].empty());
}

TEST(IsaCommand, NamesWhatAFileHasAndNobodyExecutes) {
  const std::string path = file_with("isa_unknown", {"vldb.popx.512 x1, [p0, lf0, r24]", "mova r9, #47"});
  const CommandOutcome list = run_command({"isa", "--coverage", "--json", path});
  EXPECT_EQ(list.code, 1);
  const json corpus = json::parse(list.out)["corpus"];
  EXPECT_EQ(corpus["instructions"], 2);
  EXPECT_EQ(corpus["executed"], 1);
  ASSERT_EQ(corpus["missing"].size(), 1u);
  EXPECT_EQ(corpus["missing"][0]["name"], "VLDB_POPX_512");
  EXPECT_EQ(corpus["missing"][0]["count"], 1);
  const CommandOutcome text = run_command({"isa", "--coverage", path});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("not executed: VLDB_POPX_512 (vldb.popx.512), 1 times in 1 programs\n"),
            std::string::npos)
      << text.out;
}

TEST(IsaCommand, WrongUse) {
  EXPECT_EQ(run_command({"isa"}).code, 2);
  const CommandOutcome outcome =
      run_command({"isa", "--coverage", write_file_for_test("isa_noise", Bytes(40, 3))});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("isa_noise"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace tegula::cli
