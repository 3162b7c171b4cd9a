// Reads of memory and registers that nothing has written, by cores and by DMA.
#include "emu/array_fixture.h"
#include "emu/core_testing.h"

namespace tegula::emu {
namespace {

using testing::TestCore;

struct WatchedCore : TestCore {
  WatchedCore() : written(kCoreDataBytes) {
    core.set_written(kOwnWindow, written.data());
    core.set_options({.uninitialised = true});
  }
  std::vector<u8> written;
};

TEST(Poison, CoreReadsWhatNothingHasWritten) {
  WatchedCore t;
  t.load({"movxm p0, #458784", "lda r1, [p0, #0]", "lda r2, [p0, #0]", "nop*6", "done"});  // 0x70020
  std::fill_n(t.written.begin() + 0x20, 3, u8{1});
  t.run();
  ASSERT_EQ(t.core.hazards().size(), 2u);
  EXPECT_EQ(t.core.hazards()[0].kind, Hazard::Kind::kUnwrittenMemory);
  EXPECT_EQ(t.core.hazards()[0].address, 0x70023u);
  EXPECT_NE(t.core.hazards()[0].text().find("reads memory at 0x70023, which nothing has written"),
            std::string::npos)
      << t.core.hazards()[0].text();
}

TEST(Poison, CoreReadsWhatItHasStored) {
  WatchedCore t;
  t.load(
      {"movxm p0, #458784", "mova r3, #5", "st r3, [p0, #0]", "nop*6", "lda r1, [p0, #0]", "nop*6", "done"});
  t.run();
  EXPECT_TRUE(t.core.hazards().empty()) << t.core.hazards()[0].text();
  EXPECT_EQ(t.r("r1"), 5u);
  EXPECT_EQ(std::count(t.written.begin(), t.written.end(), 1), 4);
  EXPECT_EQ(t.written[0x20], 1);
}

TEST(Poison, CoreReadsANeighboursMemory) {
  WatchedCore t;
  std::vector<u8> south(kCoreDataBytes), south_written(kCoreDataBytes);
  t.core.set_neighbour(4, south.data());
  t.core.set_written(4, south_written.data());
  t.core.set_options({.uninitialised = true, .neighbour_stops = false});
  t.load({"movxm p0, #262208", "lda r1, [p0, #0]", "nop*6", "done"});  // 0x40040
  south_written[0x41] = 1;
  t.run();
  ASSERT_EQ(t.core.hazards().size(), 1u);
  EXPECT_EQ(t.core.hazards()[0].address, 0x40040u);
}

// Shim MM2S0 to core (0,2) S2MM0, and its MM2S0 back to shim S2MM0.
void connect_column(Bench& bench) {
  bench.token_route(0);
  bench.circuit({0, 0}, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
  bench.circuit({0, 1}, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
  bench.circuit({0, 2}, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
  bench.circuit({0, 2}, {PortKind::kDma, 0}, {PortKind::kSouth, 2});
  bench.circuit({0, 1}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
  bench.circuit({0, 0}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
}

// `in` words arrive at 0x400 of the core's tile, then `out` words leave from there.
RunResult there_and_back(Bench& bench, u32 in, u32 out) {
  connect_column(bench);
  bench.lock({0, 2}, 1, 0);
  Bd arriving = linear(0x400, in);
  arriving.release_lock = 1;
  arriving.release_value = 1;
  Bd leaving = linear(0x400, out);
  leaving.acquire = true;
  leaving.acquire_lock = 1;
  leaving.acquire_value = -1;
  bench.bd({0, 2}, 0, arriving);
  bench.bd({0, 2}, 1, leaving);
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  bench.push({0, 2}, Direction::kMm2s, 0, {1, 1, false});
  FakeDdr ddr(256);
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 0, linear(0, in), 0, 0, {0, 1, false});
  transfer(txn, 0, Direction::kS2mm, 0, 1, linear(0, out), 0, 512, {1, 1, true});
  wait(txn, 0, Direction::kS2mm, 0);
  const u64 arguments[] = {ddr.base()};
  return bench.array.run_stream(txn.finish(), arguments, ddr);
}

TEST(Poison, DmaReadsWhatDmaHasWritten) {
  Bench bench;
  bench.array.watch({.uninitialised = true});
  const RunResult result = there_and_back(bench, 64, 64);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_TRUE(result.report.poison.empty()) << result.report.poison[0];
}

TEST(Poison, DmaReadsBeyondWhatWasWritten) {
  Bench bench;
  bench.array.watch({.uninitialised = true});
  const RunResult result = there_and_back(bench, 48, 64);
  ASSERT_TRUE(result.ok()) << result.message;
  ASSERT_EQ(result.report.poison.size(), 1u);
  EXPECT_EQ(result.report.poison[0],
            "core (0,2) MM2S0 in BD 1 reads core (0,2) memory at 0x4c0, which nothing has written");
}

TEST(Poison, WhatTheHostWritesIsWritten) {
  Bench bench;
  bench.array.watch({.uninitialised = true});
  const std::vector<u32> words(12, 7);
  ASSERT_TRUE(bench.array.block_write(arch::tile_address({0, 2}, 0x4c0), words).ok());
  for (u32 i = 12; i < 16; ++i) bench.write({0, 2}, 0x4c0 + 4 * i, 7);
  const RunResult result = there_and_back(bench, 48, 64);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_TRUE(result.report.poison.empty()) << result.report.poison[0];
}

TEST(Poison, ResetForgets) {
  Bench bench;
  bench.array.watch({.uninitialised = true});
  ASSERT_FALSE(there_and_back(bench, 48, 64).report.poison.empty());
  bench.array.reset();
  EXPECT_TRUE(there_and_back(bench, 64, 64).report.poison.empty());
  bench.array.reset();
  EXPECT_FALSE(there_and_back(bench, 48, 64).report.poison.empty());
}

TEST(Poison, NothingIsReportedWithoutWatching) {
  Bench bench;
  EXPECT_TRUE(there_and_back(bench, 48, 64).report.poison.empty());
}

// A real core in the array: its tile and the bundle's address are named.
TEST(Poison, CoresOfAnArrayAreNamed) {
  TestCore assembler;
  assembler.load({"movxm p0, #458784", "lda r1, [p0, #0]", "add r2, r1, r5", "nop*6", "done"});
  Array array;
  array.watch({.uninitialised = true});
  std::vector<u32> words(assembler.end / 4 + 4);
  std::memcpy(words.data(), assembler.program.data(), words.size() * 4);
  const Tile tile{1, 3};
  ASSERT_TRUE(array.block_write(arch::tile_address(tile, arch::kCoreProgramOffset), words).ok());
  ASSERT_TRUE(array.write32(arch::tile_address(tile, arch::kCoreControl), arch::kCoreEnable).ok());
  FakeDdr ddr(1);
  const RunResult result = array.settle(ddr, 1000);
  ASSERT_TRUE(result.ok()) << result.message;
  ASSERT_EQ(result.report.poison.size(), 2u);
  EXPECT_EQ(result.report.poison[0].rfind("core (1,3): pc 0x", 0), 0u) << result.report.poison[0];
  EXPECT_NE(result.report.poison[0].find("reads memory at 0x70020"), std::string::npos)
      << result.report.poison[0];
  EXPECT_NE(result.report.poison[1].find("reads r5"), std::string::npos) << result.report.poison[1];
}

}  // namespace
}  // namespace tegula::emu
