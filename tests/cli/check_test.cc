// tegula emu --check: programs with exactly one fault each, and the same programs made right.
#include <nlohmann/json.hpp>

#include "cli/array_files.h"
#include "compiler/matmul_pack.h"

namespace tegula::cli {
namespace {

using arch::Bd;
using arch::Direction;
using arch::TileKind;
using nlohmann::json;
using test::Config;
using test::port;

constexpr u32 kIn = 0x400, kOut = 0x800;  // of core (0,2)
constexpr int kWords = 16;

// "nop*3" becomes three lines.
std::vector<std::string> unfold(const std::vector<std::string>& lines) {
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    const size_t star = line.rfind('*');
    const int repeat = star == std::string::npos ? 1 : std::stoi(line.substr(star + 1));
    for (int i = 0; i < repeat; ++i) out.push_back(line.substr(0, star));
  }
  return out;
}

Bd buffer(u32 address, u32 words, int take, int give) {
  Bd bd;
  bd.address = address;
  bd.length = words;
  bd.acquire = take >= 0;
  bd.acquire_lock = static_cast<u8>(std::max(take, 0));
  bd.acquire_value = -1;
  bd.release_lock = static_cast<u8>(std::max(give, 0));
  bd.release_value = give >= 0;
  return bd;
}

// What may be wrong with the column: its core takes words that arrive at kIn, and one word leaves at kOut.
struct Column {
  std::vector<std::string> program;
  u32 empty = 1;     // units of lock 0, for the one buffer at kIn
  int arrivals = 1;  // buffers' worth of words that come
  u32 words_out = 1;
};

// Locks of core (0,2): 0 in empty, 1 in full, 2 out full.
void configure(Config& config, const Column& column) {
  using arch::PortKind;
  config.token_route(0);
  config.write(0, 0, arch::kShimMux, arch::shim_mux_value(0));
  config.write(0, 0, arch::kShimDemux, arch::shim_demux_value(0));
  config.write(0, 0, arch::channel_ctrl(TileKind::kShim, Direction::kS2mm, 0), 15u << 8);
  config.connect(0, 0, port(PortKind::kSouth, 3), port(PortKind::kNorth, 1));
  config.connect(0, 1, port(PortKind::kSouth, 1), port(PortKind::kNorth, 1));
  config.connect(0, 2, port(PortKind::kSouth, 1), port(PortKind::kDma, 0));
  config.connect(0, 2, port(PortKind::kDma, 0), port(PortKind::kSouth, 2));
  config.connect(0, 1, port(PortKind::kNorth, 2), port(PortKind::kSouth, 2));
  config.connect(0, 0, port(PortKind::kNorth, 2), port(PortKind::kSouth, 2));
  config.lock(0, 2, 0, column.empty);
  Bd in = buffer(kIn, kWords, 0, 1);
  in.use_next = true;
  config.bd(0, 2, 0, in);
  config.bd(0, 2, 1, buffer(kOut, column.words_out, 2, -1));
  config.start(0, 2, Direction::kS2mm, 0, 0);
  config.start(0, 2, Direction::kMm2s, 0, 1);
  config.program(0, 2, test::program_of(unfold(column.program), 64));
  config.mask(0, 2, arch::kCoreControl, arch::kCoreReset | arch::kCoreEnable, arch::kCoreEnable);
}

// `writes`: registers that the stream writes behind the transfers.
std::string stream_file(const Column& column, const std::vector<std::pair<u32, u32>>& writes) {
  format::TxnWriter txn;
  const auto transfer = [&](Direction direction, int number, u32 words, u32 argument, bool token) {
    Bd bd;
    bd.length = words;
    const auto encoded = arch::encode(TileKind::kShim, bd);
    ASSERT_TRUE(encoded.ok()) << encoded.error().message;
    const u32 at = arch::tile_address(0, 0, arch::bd_offset(TileKind::kShim, number));
    txn.block_write(at, *encoded);
    txn.ddr_patch(at + 4, argument, 0);
    txn.write32(arch::tile_address(0, 0, arch::channel_queue(TileKind::kShim, direction, 0)),
                arch::encode_task({static_cast<u8>(number), 1, token}));
  };
  transfer(Direction::kMm2s, 0, static_cast<u32>(column.arrivals * kWords), 0, false);
  transfer(Direction::kS2mm, 1, column.words_out, 1, true);
  for (const auto& [address, value] : writes) txn.write32(address, value);
  txn.token_wait(0, 0, 1, 1, format::TxnDirection::kS2mm, 0);
  return write_file_for_test("check_stream", txn.finish());
}

json checks_of_run(const std::string& file, const std::string& stream, const std::string& what,
                   int expected_code) {
  const std::string data = write_file_for_test("check_data", Bytes(4096, 7));
  const CommandOutcome outcome =
      run_command({"emu", file, "--stream", stream, "--arg", "0=" + data, "--out",
                   "1=" + temporary("check_out") + ":64", "--threads", "1", "--json", "--check", what});
  EXPECT_EQ(outcome.code, expected_code) << outcome.err << outcome.out;
  const json out = json::parse(outcome.out, nullptr, false);
  if (out.is_discarded()) return {};
  EXPECT_EQ(out["runs"][0]["end"], "done") << outcome.out;
  return out["checks"];
}

json run_column(const Column& column, const std::string& what, int expected_code,
                const std::vector<std::pair<u32, u32>>& writes = {}) {
  Config config;
  configure(config, column);
  return checks_of_run(write_file_for_test("check", test::xclbin_of(config.commands())),
                       stream_file(column, writes), what, expected_code);
}

// Takes the buffer that arrived, adds two of its words, gives the sum.
const std::vector<std::string> kRight = {"mova r1, #-1",
                                         "mova r3, #1",
                                         "movxm p0, #459776",
                                         "movxm p1, #460800",
                                         "movxm p2, #459840",
                                         "acq #49, r1",
                                         "nop*4",
                                         "lda r2, [p0, #0]",
                                         "lda r4, [p0, #4]",
                                         "nop*5",
                                         "rel #48, r3",
                                         "add r5, r2, r4",
                                         "st r5, [p1, #0]",
                                         "nop*6",
                                         "rel #50, r3",
                                         "nop*4",
                                         "done"};

std::vector<std::string> with(const std::string& line, const std::vector<std::string>& instead) {
  std::vector<std::string> out;
  for (const std::string& one : kRight) {
    if (one == line) {
      out.insert(out.end(), instead.begin(), instead.end());
    } else {
      out.push_back(one);
    }
  }
  EXPECT_NE(out, kRight);
  return out;
}

TEST(CheckCommand, TheRightProgramHasNoFinding) {
  const json checks = run_column({.program = kRight}, "all", 0);
  EXPECT_EQ(checks, json::parse(R"({"hazards":[],"races":[],"uninit":[]})"));
}

TEST(CheckCommand, ARegisterReadTooEarlyIsAHazard) {
  // One bundle less between the loads and the addition.
  std::vector<std::string> lines = kRight;
  *std::find(lines.begin(), lines.end(), "nop*5") = "nop*4";
  const json checks = run_column({.program = lines}, "all", 1);
  EXPECT_TRUE(checks["races"].empty()) << checks;
  EXPECT_TRUE(checks["uninit"].empty()) << checks;
  ASSERT_EQ(checks["hazards"].size(), 1u) << checks;
  const json& hazard = checks["hazards"][0];
  EXPECT_EQ(hazard["tile"], "core (0,2)");
  EXPECT_EQ(hazard["register"], "r4");
  EXPECT_EQ(hazard["missing_cycles"], 1);
  EXPECT_EQ(hazard["count"], 1);
  EXPECT_LT(hazard["producer"], hazard["consumer"]);
}

// The first value is used while the second is on its way, and then the second: as software pipelines do.
TEST(CheckCommand, OldValuesReadOnPurposeAreNoHazard) {
  const std::vector<std::string> lines =
      with("lda r4, [p0, #4]", {"nop*5", "lda r2, [p0, #4]", "add r4, r2, #0"});
  const json clean = json::parse(R"({"hazards":[]})");
  EXPECT_EQ(run_column({.program = lines}, "hazards", 0), clean);
  const json checks = run_column({.program = lines}, "early-reads", 1);
  ASSERT_EQ(checks["hazards"].size(), 1u) << checks;
  EXPECT_EQ(checks["hazards"][0]["register"], "r2");
  EXPECT_EQ(checks["hazards"][0]["missing_cycles"], 6);
  EXPECT_EQ(checks["hazards"][0]["results_used"], 1);
}

TEST(CheckCommand, OnlyWhatIsAskedForIsChecked) {
  std::vector<std::string> lines = kRight;
  *std::find(lines.begin(), lines.end(), "nop*5") = "nop*4";
  EXPECT_EQ(run_column({.program = lines}, "races,uninit", 0), json::parse(R"({"races":[],"uninit":[]})"));
}

TEST(CheckCommand, MemoryThatNothingHasWritten) {
  const json checks = run_column({.program = with("lda r4, [p0, #4]", {"lda r4, [p2, #0]"})}, "all", 1);
  EXPECT_TRUE(checks["races"].empty()) << checks;
  EXPECT_TRUE(checks["hazards"].empty()) << checks;
  ASSERT_EQ(checks["uninit"].size(), 1u) << checks;
  EXPECT_NE(checks["uninit"][0].get<std::string>().find("reads memory at 0x70440"), std::string::npos)
      << checks;
}

TEST(CheckCommand, DmaSendsWhatNothingHasWritten) {
  const json checks = run_column({.program = kRight, .words_out = 2}, "uninit", 1);
  ASSERT_EQ(checks["uninit"].size(), 1u) << checks;
  EXPECT_EQ(checks["uninit"][0],
            "core (0,2) MM2S0 in BD 1 reads core (0,2) memory at 0x804, which nothing has written");
}

// Without the acquire the core reads while the words arrive.
TEST(CheckCommand, ALoadWithoutTheLockRaces) {
  const json checks = run_column({.program = with("acq #49, r1", {"nop"})}, "races", 1);
  ASSERT_EQ(checks["races"].size(), 2u) << checks;
  const json& race = checks["races"][0];
  EXPECT_EQ(race["tile"], "core (0,2)");
  EXPECT_EQ(race["address"], kIn);
  EXPECT_EQ(race["bytes"], 4);
  EXPECT_EQ(race["count"], 1);
  EXPECT_EQ(race["first"]["who"], "core (0,2)");
  EXPECT_EQ(race["first"]["write"], false);
  EXPECT_GT(race["first"]["pc"], 0);
  EXPECT_EQ(race["second"]["who"], "core (0,2) S2MM0");
  EXPECT_EQ(race["second"]["write"], true);
  EXPECT_EQ(race["second"]["bd"], 0);
  EXPECT_LT(race["first"]["cycle"], race["second"]["cycle"]);
  // Either the core takes the lock that the channel gives, or the channel waits for the core.
  const json locks = json::array({{{"tile", "core (0,2)"}, {"lock", 0}, {"given_by", "first"}},
                                  {{"tile", "core (0,2)"}, {"lock", 1}, {"given_by", "second"}}});
  EXPECT_EQ(race["locks"], locks);
  EXPECT_EQ(checks["races"][1]["address"], kIn + 4);
}

// The store reaches memory four cycles after its bundle: a release before that does not cover it.
TEST(CheckCommand, AReleaseTooCloseToTheStoreRaces) {
  for (const int distance : {4, 3}) {
    std::vector<std::string> lines = kRight;
    const auto store = std::find(lines.begin(), lines.end(), "st r5, [p1, #0]");
    *(store + 1) = "nop*" + std::to_string(distance - 1);
    const json checks = run_column({.program = lines}, "races", distance == 4 ? 0 : 1);
    ASSERT_EQ(checks["races"].size(), distance == 4 ? 0u : 1u) << checks;
    if (distance == 4) continue;
    EXPECT_EQ(checks["races"][0]["address"], kOut);
    EXPECT_EQ(checks["races"][0]["first"]["write"], true);
    EXPECT_EQ(checks["races"][0]["second"]["who"], "core (0,2) MM2S0");
  }
}

// One buffer, two units of its empty lock: the second arrival does not wait for the core.
TEST(CheckCommand, ALockWithMoreUnitsThanBuffersRaces) {
  EXPECT_TRUE(run_column({.program = kRight, .arrivals = 2}, "races", 0)["races"].empty());
  const json checks = run_column({.program = kRight, .empty = 2, .arrivals = 2}, "races", 1);
  ASSERT_EQ(checks["races"].size(), 2u) << checks;
  EXPECT_EQ(checks["races"][0]["second"]["who"], "core (0,2) S2MM0");
}

// The stream writes a word that the core reads: right when it gives a lock behind it.
TEST(CheckCommand, ARegisterWriteOfTheControllerRaces) {
  const u32 at = arch::tile_address(0, 2, kIn + 64),
            lock = arch::tile_address(0, 2, arch::lock_offset(TileKind::kCore, 3));
  std::vector<std::string> lines = with("lda r4, [p0, #4]", {"lda r4, [p2, #0]"});
  const json checks = run_column({.program = lines}, "races", 1, {{at, 5}, {lock, 1}});
  ASSERT_EQ(checks["races"].size(), 1u) << checks;
  const json& race = checks["races"][0];
  EXPECT_EQ(race["address"], kIn + 64);
  const json& controller = race[race["first"]["who"] == "the controller" ? "first" : "second"];
  EXPECT_EQ(controller["who"], "the controller");
  EXPECT_EQ(controller["write"], true);
  EXPECT_EQ(controller["op"], 6);  // behind three operations for each transfer
  lines.insert(std::find(lines.begin(), lines.end(), "acq #49, r1"), {"acq #51, r1", "nop", "nop", "nop"});
  EXPECT_TRUE(run_column({.program = lines}, "races", 0, {{at, 5}, {lock, 1}})["races"].empty());
}

// Core (0,3) stores into the memory of core (0,2), south of it. A third core has nothing to do with it.
json run_neighbours(bool with_lock, int expected_code) {
  Config config;
  Column column{.program = with("lda r4, [p0, #4]", {"lda r4, [p2, #0]"})};
  std::vector<std::string> north = {"mova r3, #1", "mova r2, #9",     "movxm p0, #263232",
                                    "nop",         "st r2, [p0, #0]", "nop*6"};  // 0x40440
  if (with_lock) {
    north.push_back("rel #3, r3");
    column.program.insert(std::find(column.program.begin(), column.program.end(), "acq #49, r1"),
                          {"acq #51, r1", "nop", "nop", "nop"});
  }
  north.push_back("done");
  configure(config, column);
  config.program(0, 3, test::program_of(unfold(north), 64));
  config.mask(0, 3, arch::kCoreControl, arch::kCoreReset | arch::kCoreEnable, arch::kCoreEnable);
  return checks_of_run(write_file_for_test("check_two", test::xclbin_of(config.commands())),
                       stream_file(column, {}), "all", expected_code);
}

TEST(CheckCommand, AStoreIntoANeighboursMemoryRaces) {
  EXPECT_EQ(run_neighbours(true, 0), json::parse(R"({"hazards":[],"races":[],"uninit":[]})"));
  const json checks = run_neighbours(false, 1);
  ASSERT_EQ(checks["races"].size(), 1u) << checks;
  const json& race = checks["races"][0];
  EXPECT_EQ(race["tile"], "core (0,2)");
  EXPECT_EQ(race["address"], kIn + 64);
  EXPECT_EQ(race["first"]["who"], "core (0,3)");
  EXPECT_EQ(race["first"]["write"], true);
  EXPECT_EQ(race["second"]["who"], "core (0,2)");
}

TEST(CheckCommand, TextNamesBothAccesses) {
  Config config;
  const Column column{.program = with("acq #49, r1", {"nop"})};
  configure(config, column);
  const std::string file = write_file_for_test("check_text", test::xclbin_of(config.commands()));
  const std::string data = write_file_for_test("check_data", Bytes(4096, 7));
  const CommandOutcome outcome =
      run_command({"emu", file, "--stream", stream_file(column, {}), "--arg", "0=" + data, "--out",
                   "1=" + temporary("check_out") + ":64", "--check", "races,hazards"});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.out.find("checks: 0 hazards, 2 races\n"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("race: core (0,2) memory at 0x400, 4 bytes: core (0,2) reads at pc "),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find("core (0,2) S2MM0 writes in BD 0 (cycle "), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("core (0,2) would have to take lock 1 of core (0,2) after core (0,2) S2MM0 "
                             "gives it"),
            std::string::npos)
      << outcome.out;
}

TEST(CheckCommand, WithFlood) {
  const std::string good = core_file("check_flood_good", {"mova r1, #3", "add r2, r1, #1", "done"});
  const std::string bad = core_file("check_flood_bad", {"add r2, r1, #1", "done"});
  const CommandOutcome outcome = run_command({"emu", "--flood", good, bad, "--check", "all", "--json"});
  EXPECT_EQ(outcome.code, 1);
  const json out = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(out["ok"], 1);
  EXPECT_EQ(out["files"][0]["checks"]["uninit"].size(), 0u);
  ASSERT_EQ(out["files"][1]["checks"]["uninit"].size(), 1u) << outcome.out;
  EXPECT_NE(out["files"][1]["checks"]["uninit"][0].get<std::string>().find("reads r1"), std::string::npos);
}

TEST(CheckCommand, UnknownCheckIsWrongUse) {
  const std::string file = core_file("check_use", {"done"});
  EXPECT_EQ(run_command({"emu", "--flood", file, "--check", "everything"}).code, 2);
}

// A product on the compiler's own program: nothing early, nothing unwritten, nothing unordered.
TEST(CheckCommand, TheMatrixProgramPassesAllChecks) {
  const compiler::MatmulConfig config = matmul_config();
  const compiler::MatmulShape shape{256, 200};
  const i64 rows = 20;
  const compiler::MatmulLayout layout(config, shape);
  const compiler::MatmulPass pass(config, layout, rows);
  const std::vector<i8> w(static_cast<size_t>(shape.k * shape.n), 3),
      x(static_cast<size_t>(shape.k * rows), 2);
  Bytes weights(static_cast<size_t>(layout.weight_bytes)), activations(static_cast<size_t>(pass.a_bytes()));
  compiler::pack_weights_int8(config, layout, 0, shape.n, w.data(), weights.data());
  compiler::pack_activations_int8(config, layout, pass, rows, x.data(), activations.data());
  const compiler::MatmulRun run{.layout = layout, .pass = pass};
  const auto stream = compiler::matmul_stream(config, std::span(&run, 1));
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  const std::string setup = write_file_for_test("check_setup", compiler::token_setup_stream());
  const std::string product = write_file_for_test("check_product", *stream);
  const std::string out = temporary("check_results");
  const CommandOutcome outcome =
      run_command({"emu", matmul_file(), "--stream", setup, "--stream", product, "--stream", product, "--arg",
                   "0=" + write_file_for_test("check_weights", weights), "--arg",
                   "1=" + write_file_for_test("check_activations", activations), "--out",
                   "2=" + out + ":" + std::to_string(pass.c_bytes()), "--check", "all", "--json"});
  EXPECT_EQ(outcome.code, 0) << outcome.err << outcome.out.substr(0, 4000);
  const json report = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(report["checks"], json::parse(R"({"hazards":[],"races":[],"uninit":[]})"));
  const auto results = read_file(out);
  ASSERT_TRUE(results.ok());
  std::vector<u32> c(static_cast<size_t>(rows * shape.n));
  compiler::unpack_results(config, layout, pass, rows, results->data(), c.data());
  EXPECT_EQ(std::count(c.begin(), c.end(), 256u * 6), rows * shape.n);
}

}  // namespace
}  // namespace tegula::cli
