// The commands inspect, diff, disasm, asm and lint as a user calls them: what they print, and their exit
// codes.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/command_run.h"
#include "cli/inspect/diff.h"
#include "cli/worked_examples.h"

namespace tegula::cli {
namespace {

Bytes sample(u32 lock = 2) {
  test::Config config;
  config.program(0, 2, test::program_of({"mova r9, #47"}, 64));
  config.lock(0, 2, 0, lock);
  config.enable(0, 2);
  return test::xclbin_of(config.commands());
}

TEST(InspectCommand, TextByContentWhateverTheName) {
  const std::string path = write_file_for_test("inspect_sample.txt", sample());
  const CommandOutcome outcome = run_command({"inspect", path, "--depth", "0"});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out.rfind(path + ": xclbin, ", 0), 0u) << outcome.out;
  EXPECT_NE(outcome.out.find("PDI: 1 cores with 1 program, 1 enabled\n"), std::string::npos) << outcome.out;
}

TEST(InspectCommand, OneBadFileDoesNotHideTheOthers) {
  const std::string good = write_file_for_test("inspect_good", sample()),
                    bad = write_file_for_test("inspect_bad", Bytes(100, 1));
  const CommandOutcome outcome = run_command({"inspect", bad, good, "--json"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("inspect_bad: content of 100 bytes is not recognised"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(nlohmann::json::parse(outcome.out)["files"].size(), 1u);
}

TEST(InspectCommand, PartsThatFailAreToldWithTheRest) {
  Bytes bytes = sample();
  const auto xclbin = format::read_xclbin(bytes);
  ASSERT_TRUE(xclbin.ok());
  bytes[static_cast<size_t>(xclbin->partition.pdis[0].image.data() - bytes.data()) + 0x8C] ^= 1;
  const CommandOutcome outcome = run_command({"inspect", write_file_for_test("inspect_part", bytes)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("checksum"), std::string::npos);
  EXPECT_NE(outcome.out.find("AIE_PARTITION at"), std::string::npos);
}

TEST(InspectCommand, WrongTileIsWrongUsage) {
  const CommandOutcome outcome =
      run_command({"inspect", write_file_for_test("inspect_tile", sample()), "--tile", "9,9"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("--tile 9,9: expected column,row as in 0,2"), std::string::npos) << outcome.err;
}

TEST(InspectCommand, PageAndSummary) {
  const std::string page = temporary("inspect_page.html"),
                    path = write_file_for_test("inspect_file", sample());
  EXPECT_EQ(run_command({"inspect", path, "--html", page}).code, 0);
  const Result<Bytes> written = read_file(page);
  ASSERT_TRUE(written.ok());
  EXPECT_EQ(std::string(written->begin(), written->begin() + 15), "<!DOCTYPE html>");
  EXPECT_EQ(run_command({"inspect", path, "--html", "/nonexistent/page.html"}).code, 1);
  const CommandOutcome totals = run_command({"inspect", path, path, "--summary", "--json"});
  EXPECT_EQ(totals.code, 0);
  EXPECT_EQ(nlohmann::json::parse(totals.out)["totals"]["cores with a program"], 2);
}

TEST(DiffCommand, ExitsAsDiffDoes) {
  const std::string a = write_file_for_test("diff_a", sample()), b = write_file_for_test("diff_b", sample(5)),
                    noise = write_file_for_test("diff_noise", Bytes(40, 3));
  const CommandOutcome equal = run_command({"diff", a, a});
  EXPECT_EQ(equal.code, 0);
  EXPECT_EQ(equal.out, "");
  const CommandOutcome different = run_command({"diff", a, b});
  EXPECT_EQ(different.code, 1);
  EXPECT_NE(different.out.find("core (0,2) lock 0: initial value: 2 -> 5\n"), std::string::npos)
      << different.out;
  const CommandOutcome list = run_command({"diff", a, b, "--json"});
  EXPECT_EQ(list.code, 1);
  const auto out = nlohmann::json::parse(list.out);
  EXPECT_EQ(out["schema"], kDiffSchema);
  EXPECT_EQ(out["equal"], false);
  EXPECT_EQ(out["differences"].back()["b"], "5");
  const CommandOutcome unreadable = run_command({"diff", a, noise});
  EXPECT_EQ(unreadable.code, 2);
  EXPECT_NE(unreadable.err.find("not recognised"), std::string::npos);
  EXPECT_EQ(run_command({"diff", a, temporary("nothing-there")}).code, 2);
}

// A load's value is not there yet in the next bundle; the lint names both, and the rule.
TEST(LintCommand, NamesTheRuleAndThePlace) {
  test::Config config;
  config.program(0, 2, test::program_of({"lda r1, [p0, #0]", "add r2, r1, r1"}, 64));
  config.program(1, 2, test::program_of({"mova r9, #47"}, 64));
  const std::string path = write_file_for_test("lint_sample", test::xclbin_of(config.commands()));
  const CommandOutcome text = run_command({"lint", path});
  EXPECT_EQ(text.code, 1) << text.err;
  EXPECT_NE(text.out.find("[early-read]\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("2 programs: 1 errors, 0 warnings\n"), std::string::npos) << text.out;
  const CommandOutcome list = run_command({"lint", path, "--json"});
  EXPECT_EQ(list.code, 1);
  const auto out = nlohmann::json::parse(list.out);
  EXPECT_EQ(out["errors"], 1);
  ASSERT_EQ(out["cores"].size(), 2u);
  EXPECT_EQ(out["cores"][0]["findings"][0]["rule"], "early-read");
  EXPECT_EQ(out["cores"][0]["findings"][0]["address"], 4);
  EXPECT_TRUE(out["cores"][1]["findings"].empty());
  EXPECT_EQ(run_command({"lint", path, "--tile", "1,2"}).code, 0);
  EXPECT_EQ(run_command({"lint", path, "--allow-old-values"}).code, 0);
  EXPECT_EQ(run_command({"lint", path, "--tile", "3,3"}).code, 2);
  EXPECT_EQ(run_command({"lint", write_file_for_test("lint_noise", Bytes(40, 3))}).code, 2);
}

// One core whose lock 1 is given by the DMA that fills 0xa000.
Bytes guarded() {
  test::Config config;
  config.program(0, 2,
                 test::program_of({"mova r0, #49", "nop", "acq r0, r1", "mov r2, ss", "rel #48, r1"}, 64));
  config.program(1, 2, test::program_of({"mova r9, #47"}, 64));
  config.ring(0, 2, test::Direction::kS2mm, 0, {{0}, {0xa000}, 512, {0}, {1}});
  config.connect(0, 1, test::port(test::PortKind::kDma, 0), test::port(test::PortKind::kNorth, 0));
  config.connect(0, 2, test::port(test::PortKind::kSouth, 0), test::port(test::PortKind::kCore, 0));
  config.enable(0, 2);
  return test::xclbin_of(config.commands());
}

TEST(DisasmCommand, TellsWhatLocksGuardAndWhereStreamsComeFrom) {
  const std::string path = write_file_for_test("disasm_guarded", guarded());
  const CommandOutcome outcome = run_command({"disasm", path, "--tile", "0,2"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("// core (0,2): 64 bytes, "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("\n.tile 0,2\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("acq r0, r1  // lock 1: S2MM0 has put 512 words into 0xa000\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("rel #48, r1  // lock 0: S2MM0 puts 512 words into 0xa000\n"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("mov r2, ss  // from MM2S0 of mem (0,1)\n"), std::string::npos) << outcome.out;
}

TEST(DisasmCommand, JsonAndSeveralFiles) {
  const std::string path = write_file_for_test("disasm_json", guarded()),
                    noise = write_file_for_test("disasm_noise", Bytes(40, 3));
  const CommandOutcome outcome = run_command({"disasm", "--json", path, noise});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("disasm_noise: "), std::string::npos) << outcome.err;
  const auto out = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(out["schema"], 1);
  ASSERT_EQ(out["cores"].size(), 2u);
  const auto& core = out["cores"][1];
  EXPECT_EQ(core["file"], path);
  EXPECT_EQ(core["col"], 1);
  EXPECT_EQ(core["row"], 2);
  EXPECT_EQ(core["bytes"], 64);
  EXPECT_EQ(core["bundles"], 31);  // one of 4 bytes, 30 nops of 2
  EXPECT_EQ(core["undecodable"], 0);
  EXPECT_EQ(core["functions"][0]["name"], "fn_0");
  EXPECT_EQ(run_command({"disasm", path, "--tile", "3,3"}).code, 1);
}

TEST(AsmCommand, TakesAListingBackToItsBytes) {
  const Bytes code = test::program_of({"mova r0, #49", "jl #32", "nop", "nop", "nop", "nop", "nop"}, 64);
  const std::string bare = write_file_for_test("asm_bare", code), source = temporary("asm_source.s"),
                    back = temporary("asm_back");
  for (const char* option : {"--bytes", "--cycles", "--raw"}) {
    const CommandOutcome listing = run_command({"disasm", bare, "--raw", option});
    ASSERT_EQ(listing.code, 0) << listing.err;
    ASSERT_TRUE(write_file(source, Bytes(listing.out.begin(), listing.out.end())).ok());
    const CommandOutcome outcome = run_command({"asm", source, "-o", back, "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(read_file(back).value(), code);
    const auto out = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(out["bytes"], 64);
    EXPECT_EQ(out["labels"][1]["name"], "fn_20");
    EXPECT_EQ(out["labels"][1]["address"], 32);
  }
}

TEST(AsmCommand, ErrorsNameFileLineAndColumn) {
  const std::string text = "nop\n  mova r99, #1\n";
  const std::string source = write_file_for_test("asm_wrong.s", Bytes(text.begin(), text.end()));
  const std::string out = temporary("asm_wrong_out");
  const CommandOutcome outcome = run_command({"asm", source, "-o", out});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("asm_wrong.s:2:8: expected a register of class"), std::string::npos)
      << outcome.err;
  EXPECT_FALSE(read_file(out).ok());
  EXPECT_EQ(run_command({"asm", temporary("asm_nothing.s"), "-o", out}).code, 1);
  const std::string large = write_file_for_test("asm_large", Bytes((1 << 20) + 1, 0));
  const CommandOutcome refused = run_command({"disasm", large, "--raw"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_NE(refused.err.find("expected a bare core program of at most 1048576"), std::string::npos)
      << refused.err;
}

}  // namespace
}  // namespace tegula::cli
