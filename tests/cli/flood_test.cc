// tegula emu --flood: a configuration of our own compiler, and small ones that go wrong in one way each.
#include <nlohmann/json.hpp>

#include "cli/array_files.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

json flood_of(const std::vector<std::string>& words, int expected_code) {
  std::vector<std::string> all = {"emu", "--flood", "--json", "--threads", "1"};
  all.insert(all.end(), words.begin(), words.end());
  const CommandOutcome outcome = run_command(all);
  EXPECT_EQ(outcome.code, expected_code) << outcome.err << outcome.out;
  return json::parse(outcome.out, nullptr, false);
}

// All 32 cores get operands for ever, and room for their results.
TEST(FloodCommand, RunsTheMatrixProgramOfTheCompiler) {
  const json out = flood_of({matmul_file(), "--data", matmul_data(), "--bundles", "20000"}, 0);
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["ok"], 1);
  const json& file = out["files"][0];
  EXPECT_EQ(file["ok"], true);
  EXPECT_EQ(file["enough"], 32);
  EXPECT_EQ(file["cores"].size(), 32u);
  EXPECT_EQ(file["error"], "");
  EXPECT_GE(file["least_bundles"], 20000);
  for (const json& core : file["cores"]) {
    EXPECT_GE(core["bundles"], file["least_bundles"]);
    EXPECT_EQ(core["fault"], "");
  }
}

TEST(FloodCommand, SaysWhenThereIsNotTimeEnough) {
  const json out =
      flood_of({matmul_file(), "--data", matmul_data(), "--bundles", "20000", "--max-cycles", "4096"}, 1);
  EXPECT_EQ(out["ok"], 0);
  const json& file = out["files"][0];
  EXPECT_EQ(file["ok"], false);
  EXPECT_EQ(file["cycles"], 4096);
  EXPECT_LT(file["least_bundles"], 20000);
  EXPECT_NE(file["error"].get<std::string>().find("falls short"), std::string::npos) << file["error"];
}

// A program that ends has run, however short it is; a lock that nobody on the array gives is given from
// outside.
TEST(FloodCommand, GivesTheLocksThatStreamsGive) {
  const json out = flood_of({core_file("flood_lock", {"mova r1, #-3", "acq #48, r1", "nop", "nop", "nop",
                                                      "nop", "acq #48, r1", "done"})},
                            0);
  const json& file = out["files"][0];
  EXPECT_EQ(file["kicks"], 2);
  EXPECT_EQ(file["cores"][0]["done"], true);
  EXPECT_EQ(file["cores"][0]["bundles"], 8);
}

TEST(FloodCommand, NamesTheInstructionThatIsNotExecuted) {
  const std::string good = core_file("flood_good", {"mova r1, #3", "done"});
  const std::string bad = core_file("flood_bad", {"nop", "vldb.popx.512 x1, [p0, lf0, r24]", "done"});
  const json out = flood_of({bad, good}, 1);
  EXPECT_EQ(out["ok"], 1);
  ASSERT_EQ(out["files"].size(), 2u);
  const std::string error = out["files"][0]["error"];
  EXPECT_NE(error.find("core (0,2)"), std::string::npos) << error;
  EXPECT_NE(error.find("VLDB_POPX_512"), std::string::npos) << error;
  EXPECT_NE(error.find("0x2"), std::string::npos) << error;
  EXPECT_EQ(out["files"][1]["ok"], true);
  const CommandOutcome text = run_command({"emu", "--flood", bad, good});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("1 of 2 configurations ran\n"), std::string::npos) << text.out;
}

TEST(FloodCommand, WithoutACoreNothingRan) {
  test::Config config;
  config.lock(0, 2, 0, 1);
  const json out = flood_of({write_file_for_test("flood_empty", test::xclbin_of(config.commands()))}, 1);
  EXPECT_EQ(out["files"][0]["error"], "the configuration enables no core");
}

TEST(FloodCommand, WrongUse) {
  const std::string path = core_file("flood_use", {"done"});
  EXPECT_EQ(run_command({"emu", path}).code, 2);
  EXPECT_EQ(run_command({"emu", path, "--flood", "--stream", path}).code, 2);
  EXPECT_EQ(run_command({"emu", path, path, "--stream", path}).code, 2);
  EXPECT_EQ(run_command({"emu", path, "--stream", path, "--bundles", "5"}).code, 2);
  EXPECT_EQ(run_command({"emu", path, "--stream", path, "--data", path}).code, 2);
  EXPECT_EQ(run_command({"emu", path, "--flood", "--data", path + ".none"}).code, 1);
  const CommandOutcome noise =
      run_command({"emu", "--flood", write_file_for_test("flood_noise", Bytes(40, 3))});
  EXPECT_EQ(noise.code, 1);
  EXPECT_NE(noise.err.find("flood_noise"), std::string::npos) << noise.err;
}

}  // namespace
}  // namespace tegula::cli
