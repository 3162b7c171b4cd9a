// tegula emu --calibrate, with files of our own under the published names.
#include "cli/emu/calibrate.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/array_files.h"
#include "emu/cost_model.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::PortKind;
using nlohmann::json;
using test::port;

std::string folder(const std::string& name) {
  const std::string path = temporary(name);
  std::filesystem::create_directories(path + "/xclbins");
  return path;
}

// Two channels of one shim straight back into the other two: reads A and B and fills C as the product of the
// first case would, with bytes that are no product.
Bytes turning_configuration() {
  test::Config config;
  config.token_route(0);
  for (int c = 0; c < 2; ++c) {
    config.mask(0, 0, arch::kShimMux, arch::shim_mux_mask(c), arch::shim_mux_value(c));
    config.mask(0, 0, arch::kShimDemux, arch::shim_demux_mask(c), arch::shim_demux_value(c));
    config.write(0, 0, arch::channel_ctrl(test::TileKind::kShim, Direction::kS2mm, c), 15u << 8);
    config.connect(0, 0, port(PortKind::kSouth, arch::shim_mm2s_south(c)), port(PortKind::kNorth, c));
    config.connect(0, 1, port(PortKind::kSouth, c), port(PortKind::kSouth, c));
    config.connect(0, 0, port(PortKind::kNorth, c), port(PortKind::kSouth, arch::shim_s2mm_south(c)));
  }
  return test::xclbin_of(config.commands());
}

Bytes turning_stream(const GemmShape& shape) {
  format::TxnWriter txn;
  int number = 0;
  const auto transfer = [&](Direction direction, int channel, u64 bytes, u32 argument, u64 offset,
                            u32 repeat) {
    arch::Bd bd;
    bd.length = static_cast<u32>(bytes / 4);
    const auto encoded = arch::encode(test::TileKind::kShim, bd);
    ASSERT_TRUE(encoded.ok()) << encoded.error().message;
    const u32 at = arch::tile_address(0, 0, arch::bd_offset(test::TileKind::kShim, number));
    txn.block_write(at, *encoded);
    txn.ddr_patch(at + 4, argument, offset);
    txn.write32(arch::tile_address(0, 0, arch::channel_queue(test::TileKind::kShim, direction, channel)),
                arch::encode_task(
                    {static_cast<u8>(number), static_cast<u16>(repeat), direction == Direction::kS2mm}));
    ++number;
  };
  const u64 a = shape.m * shape.k, b = shape.k * shape.n, c = 4 * shape.m * shape.n;
  transfer(Direction::kMm2s, 0, a, 0, 0, 1);
  transfer(Direction::kMm2s, 1, b, 1, 0, 1);
  transfer(Direction::kS2mm, 0, a, 2, 0, 1);
  transfer(Direction::kS2mm, 1, c - a, 2, a, static_cast<u32>(b / (c - a)));
  txn.token_wait(0, 0, 1, 1, format::TxnDirection::kS2mm, 0);
  txn.token_wait(0, 0, 1, 1, format::TxnDirection::kS2mm, 1);
  return txn.finish();
}

TEST(CalibrateCommand, SaysWhichFilesItWants) {
  const CommandOutcome outcome = run_command({"emu", "--calibrate", folder("calibrate_empty")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find(published_cases()[0].configuration), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(kPublishedSource), std::string::npos) << outcome.err;
}

TEST(CalibrateCommand, RunsWhatIsThereAndSeesAWrongProduct) {
  const PublishedCase& first = published_cases()[0];
  const std::string path = folder("calibrate_one");
  ASSERT_TRUE(write_file(path + "/" + first.configuration, turning_configuration()).ok());
  ASSERT_TRUE(write_file(path + "/xclbins/" + first.stream, turning_stream(first.shape)).ok());
  const CommandOutcome outcome = run_command({"emu", "--calibrate", path, "--json", "--threads", "1"});
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  const json out = json::parse(outcome.out, nullptr, false);
  ASSERT_FALSE(out.is_discarded()) << outcome.out;
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["label"], "modelled");
  EXPECT_EQ(out["missing"].size(), published_cases().size() - 1);
  ASSERT_EQ(out["cases"].size(), 1u);
  const json& one = out["cases"][0];
  EXPECT_EQ(one["name"], first.name);
  EXPECT_EQ(one["exact"], false);
  EXPECT_EQ(one["controller_ops"], 14);
  // B takes longest: each of its words comes from DDR and goes back there.
  const double cycles = one["array_cycles"];
  EXPECT_GE(cycles, 2048.0 * 1024 / 4);
  EXPECT_LE(cycles, 2048.0 * 1024 / 4 * 2.1);
  const double seconds = cycles / emu::cost::kClockHz + 59e-6;
  const double gops = 2.0 * 128 * 2048 * 1024 / seconds / 1e9;
  EXPECT_NEAR(one["modelled_seconds"], seconds, 1e-8);
  EXPECT_NEAR(one["modelled_gops"], gops, 0.1);
  EXPECT_NEAR(one["error_percent"], 100 * (gops - 757) / 757, 0.02);
  const CommandOutcome text = run_command({"emu", "--calibrate", path, "--threads", "1"});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("WRONG PRODUCT"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("GU   its files are not there"), std::string::npos) << text.out;
}

TEST(CalibrateCommand, RefusesOtherFiles) {
  const PublishedCase& first = published_cases()[0];
  const std::string path = folder("calibrate_other");
  ASSERT_TRUE(write_file(path + "/" + first.configuration, turning_configuration()).ok());
  ASSERT_TRUE(write_file(path + "/" + first.stream, turning_stream({128, 2048, 2048})).ok());
  const CommandOutcome outcome = run_command({"emu", "--calibrate", path});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("is a product of 128x2048x2048, the published one is of 128x2048x1024"),
            std::string::npos)
      << outcome.err;
}

TEST(Calibrate, Arithmetic) {
  const CalibratedCase one{&published_cases()[0], true, 1'800'000, 2000};
  EXPECT_NEAR(one.seconds(), 1.059e-3, 1e-9);
  EXPECT_NEAR(one.controller_seconds(), 0.8e-3, 1e-9);
  EXPECT_NEAR(one.gops(), 506.96, 0.01);
  EXPECT_NEAR(one.error_percent(), -33.03, 0.01);
  EXPECT_NEAR(one.implied_op_seconds(), 0.3251e-6, 1e-10);  // (536.87e6 / 757e9 - 59e-6) / 2000
}

TEST(CalibrateCommand, WrongUse) {
  const std::string file = core_file("calibrate_use", {"done"});
  EXPECT_EQ(run_command({"emu", file, "--calibrate", "."}).code, 2);
  EXPECT_EQ(run_command({"emu", "--calibrate", ".", "--flood"}).code, 2);
  EXPECT_EQ(run_command({"emu"}).code, 2);
}

}  // namespace
}  // namespace tegula::cli
