// DMA against an independent reading of the address rules, locks, chains, tasks and tokens.
#include <random>

#include "emu/address_walk.h"
#include "emu/array_fixture.h"

namespace tegula::emu {
namespace {

// Word offsets of a run, straight from the handbook: every dimension counts to its wrap, then the next one
// steps.
std::vector<u64> offsets(const Bd& bd, int dimensions) {
  std::vector<u64> out;
  std::array<u64, 4> index{};
  for (u32 n = 0; n < bd.length; ++n) {
    u64 at = 0;
    for (int d = 0; d < dimensions; ++d) at += index[d] * bd.dims[d].step;
    out.push_back(at);
    for (int d = 0; d < dimensions; ++d) {
      ++index[d];
      const bool last = d + 1 == dimensions;
      if (last || bd.dims[d].wrap == 0 || index[d] < bd.dims[d].wrap) break;
      index[d] = 0;
    }
  }
  return out;
}

TEST(AddressWalk, MatchesTheOneWordAtATimeRule) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Bd bd;
    bd.length = 1 + random() % 300;
    const int dimensions = 3 + static_cast<int>(random() % 2);
    for (int d = 0; d < dimensions; ++d) {
      bd.dims[d].step = 1 + random() % (random() % 3 == 0 ? 1 : 40);
      bd.dims[d].wrap = d + 1 == dimensions ? 0 : random() % 6;
    }
    if (random() % 3 == 0 && bd.dims[0].wrap != 0) bd.dims[1].step = bd.dims[0].step * bd.dims[0].wrap;
    const std::vector<u64> expected = offsets(bd, dimensions);
    AddressWalk walk;
    walk.start(bd, dimensions);
    u64 top = 0;
    for (u64 offset : expected) top = std::max(top, offset + 1);
    EXPECT_EQ(walk.extent_words(), top);
    std::vector<u64> got;
    while (got.size() < expected.size()) {
      const u64 piece = std::min<u64>(1 + random() % 50, expected.size() - got.size());
      walk.runs(piece, [&](u64 offset, u64 count) {
        for (u64 i = 0; i < count; ++i) got.push_back(offset + i);
      });
    }
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

TEST(AddressWalk, WorkedShimExample) {
  Bd bd;
  bd.length = 128;
  bd.dims = {{{1, 2}, {768, 8}, {2, 0}, {1, 0}}};
  AddressWalk walk;
  walk.start(bd, 3);
  std::vector<u64> got;
  walk.runs(128, [&](u64 offset, u64 count) {
    EXPECT_EQ(count, 2u);
    got.push_back(offset);
  });
  ASSERT_EQ(got.size(), 64u);
  EXPECT_EQ(got[1], 768u);  // next row of 3072 bytes
  EXPECT_EQ(got[7], 7u * 768);
  EXPECT_EQ(got[8], 2u);  // next 8 bytes of the first row
  EXPECT_EQ(walk.extent_words(), 7u * 768 + 7 * 2 + 2);
}

// Shim 0 MM2S0 straight up to core (0,2) S2MM0, and core MM2S0 back to shim S2MM0.
void connect_column(Bench& bench) {
  bench.token_route(0);
  bench.circuit({0, 0}, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
  bench.circuit({0, 1}, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
  bench.circuit({0, 2}, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
  bench.circuit({0, 2}, {PortKind::kDma, 0}, {PortKind::kSouth, 2});
  bench.circuit({0, 1}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
  bench.circuit({0, 0}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
}

TEST(Dma, RoutesAreTraced) {
  Bench bench;
  connect_column(bench);
  const auto routes = bench.array.routes();
  EXPECT_NE(std::find(routes.begin(), routes.end(), "shim (0,0) MM2S0 -> core (0,2) S2MM0"), routes.end());
  EXPECT_NE(std::find(routes.begin(), routes.end(), "core (0,2) MM2S0 -> shim (0,0) S2MM0"), routes.end());
  EXPECT_NE(
      std::find(routes.begin(), routes.end(), "shim (0,0) TileCtrl id 15 -> shim (0,0) South0 (controller)"),
      routes.end());
}

TEST(Dma, IterationRepeatAndNdOfTheWorkedExample) {
  // 4 runs of the A-tile BD: 32 rows of 64 bytes cut into 8x8 blocks, as the published GEMM does it.
  Bench bench;
  connect_column(bench);
  FakeDdr ddr(32 * 768 + 64);
  ddr.count_up();
  bench.bd({0, 2}, 0, linear(0x400, 512));
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  Bd bd;
  bd.length = 128;
  bd.dims = {{{1, 2}, {768, 8}, {2, 0}, {1, 0}}};
  bd.iteration_step = 6144;
  bd.iteration_wrap = 4;
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 2, bd, 0, 64, {2, 4, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  u32 at = 0x400;
  for (u32 run = 0; run < 4; ++run) {
    for (u32 block = 0; block < 8; ++block) {
      for (u32 row = 0; row < 8; ++row) {
        for (u32 i = 0; i < 2; ++i, at += 4) {
          ASSERT_EQ(bench.word({0, 2}, at), 16 + run * 6144 + block * 2 + row * 768 + i);
        }
      }
    }
  }
  EXPECT_EQ(result.report.ddr_bytes_read, 2048u);
  EXPECT_EQ(result.report.ops_by_code[0x80], 1u);
  // The iteration counter is back at 0 in the BD's register.
  EXPECT_EQ(*bench.array.read32(arch::tile_address(0, 0, arch::bd_offset(TileKind::kShim, 2) + 24)) >> 26,
            0u);
}

TEST(Dma, IterationCurrentIsVisibleInTheRegister) {
  Bench bench;
  connect_column(bench);
  FakeDdr ddr(64);
  Bd bd = linear(0x100, 4);
  bd.iteration_step = 8;
  bd.iteration_wrap = 3;
  bench.bd({0, 2}, 1, bd);
  bench.fill({0, 2}, 0x100, 32, 100);
  bench.push({0, 2}, Direction::kMm2s, 0, {1, 2, false});
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kS2mm, 0, 0, linear(0, 8), 0, 0, {0, 1, true});
  wait(txn, 0, Direction::kS2mm, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(ddr.words()[0], 100u);
  EXPECT_EQ(ddr.words()[4], 108u);
  const u32 word = *bench.array.read32(arch::tile_address(0, 2, arch::bd_offset(TileKind::kCore, 1) + 16));
  EXPECT_EQ((word >> 19) & 0x3F, 2u);
}

// A core that adds 1 to every word of a buffer, double buffered on both sides, fed and drained through the
// shim.
std::vector<Step> adder(u32 words) {
  std::vector<Step> steps;
  for (u32 half = 0; half < 2; ++half) {
    steps.push_back(acquire(1));
    steps.push_back(acquire(2));
    steps.push_back(work(words * 2, [half, words](u8* data) {
      for (u32 i = 0; i < words; ++i) {
        const u32 in = load_le<u32>(data + 0x1000 + half * 0x1000 + 4 * i);
        store_le(data + 0x4000 + half * 0x1000 + 4 * i, in + 1);
      }
    }));
    steps.push_back(release(0));
    steps.push_back(release(3));
  }
  return steps;
}

void configure_adder(Bench& bench, Tile core, u32 words) {
  bench.bd(core, 0, then(with_locks(linear(0x1000, words), 0, 1), 1));
  bench.bd(core, 1, then(with_locks(linear(0x2000, words), 0, 1), 0));
  bench.bd(core, 2, then(with_locks(linear(0x4000, words), 3, 2), 3));
  bench.bd(core, 3, then(with_locks(linear(0x5000, words), 3, 2), 2));
  for (int i = 0; i < 4; ++i) bench.lock(core, i, i % 2 == 0 ? 2 : 0);
  bench.push(core, Direction::kS2mm, 0, {0, 1, false});
  bench.push(core, Direction::kMm2s, 0, {2, 1, false});
  bench.enable(core);
}

TEST(Dma, CoreBetweenTwoChannelsInALoop) {
  constexpr u32 kWords = 64, kTiles = 10;
  Bench bench({{{0, 2}, {adder(kWords), 1000}}});
  connect_column(bench);
  configure_adder(bench, {0, 2}, kWords);
  FakeDdr ddr(2 * kWords * kTiles);
  ddr.count_up(7);
  for (int run = 0; run < 3; ++run) {
    format::TxnWriter txn;
    transfer(txn, 0, Direction::kMm2s, 0, 0, linear(0, kWords * kTiles), 0, 0, {0, 1, false});
    transfer(txn, 0, Direction::kS2mm, 0, 1, linear(0, kWords * kTiles), 0, kWords * kTiles * 4,
             {1, 1, true});
    wait(txn, 0, Direction::kS2mm, 0);
    const u64 arguments[] = {ddr.base()};
    const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
    ASSERT_TRUE(result.ok()) << result.message;
    for (u32 i = 0; i < kWords * kTiles; ++i) {
      ASSERT_EQ(ddr.words()[kWords * kTiles + i], ddr.words()[i] + 1) << i;
    }
    for (u32& word : ddr.words()) word = word * 3 + 1;
    EXPECT_EQ(result.report.cores.size(), 1u);
    EXPECT_EQ(result.report.ddr_bytes_written, kWords * kTiles * 4u);
  }
  EXPECT_EQ(bench.array.lock_value({0, 2}, 0), 1);  // the channel has already taken the next empty buffer
}

TEST(Dma, BroadcastWaitsForTheSlowestReceiver) {
  // Column 0: the shim feeds cores (0,2) and (0,3); core (0,3) frees its buffer late.
  constexpr u32 kWords = 100;
  Bench bench({{{0, 2}, {{acquire(1), work(10), release(0)}, 1000}},
               {{0, 3}, {{acquire(1), work(5000), release(0)}, 1000}}});
  connect_column(bench);
  bench.circuit({0, 2}, {PortKind::kSouth, 1}, {PortKind::kNorth, 0});
  bench.circuit({0, 3}, {PortKind::kSouth, 0}, {PortKind::kDma, 1});
  for (Tile core : {Tile{0, 2}, Tile{0, 3}}) {
    bench.bd(core, 0, then(with_locks(linear(0x1000, kWords), 0, 1), 0));
    bench.lock(core, 0, 1);
    bench.enable(core);
  }
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  bench.push({0, 3}, Direction::kS2mm, 1, {0, 1, false});
  FakeDdr ddr(kWords * 10);
  ddr.count_up();
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 0, linear(0, kWords * 10), 0, 0, {0, 1, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_GT(result.report.cycles, 9u * 5000);
  EXPECT_LT(result.report.cycles, 9u * 5200 + 4 * 720);
  EXPECT_EQ(bench.word({0, 2}, 0x1000), 900u);
  EXPECT_EQ(bench.word({0, 3}, 0x1000), 900u);
  EXPECT_EQ(result.report.max_port_words, kWords * 10);
}

TEST(Dma, MemTileJoinsThroughLocksAndFourDimensions) {
  // Core (0,2) sends 64 words, the mem tile stores them transposed and passes them on to the shim.
  Bench bench;
  bench.token_route(0);
  bench.circuit({0, 2}, {PortKind::kDma, 0}, {PortKind::kSouth, 2});
  bench.circuit({0, 1}, {PortKind::kNorth, 2}, {PortKind::kDma, 3});
  bench.circuit({0, 1}, {PortKind::kDma, 1}, {PortKind::kSouth, 2});
  bench.circuit({0, 0}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
  bench.fill({0, 2}, 0, 64, 0);
  bench.bd({0, 2}, 0, linear(0, 64));
  bench.push({0, 2}, Direction::kMm2s, 0, {0, 1, false});
  Bd in = linear(arch::kMemWindowOwn + 0x1000, 64);
  in.dims = {{{8, 8}, {1, 4}, {4, 2}, {1, 0}}};  // word n goes to (n % 8) * 8 + n / 8
  bench.bd({0, 1}, 24, with_locks(in, 64, 65));
  bench.bd({0, 1}, 25, with_locks(linear(arch::kMemWindowOwn + 0x1000, 64), 65, 64));
  bench.lock({0, 1}, 0, 1);
  bench.push({0, 1}, Direction::kS2mm, 3, {24, 1, false});
  bench.push({0, 1}, Direction::kMm2s, 1, {25, 1, false});
  FakeDdr ddr(64);
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kS2mm, 0, 5, linear(0, 64), 0, 0, {5, 1, true});
  wait(txn, 0, Direction::kS2mm, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  for (u32 n = 0; n < 64; ++n) EXPECT_EQ(ddr.words()[(n % 8) * 8 + n / 8], n);
  EXPECT_EQ(bench.array.lock_value({0, 1}, 0), 1);
  EXPECT_EQ(bench.array.lock_value({0, 1}, 1), 0);
}

TEST(Dma, MemTileWindowsReachTheNeighboursMemoryAndLocks) {
  // Mem tile 1 sends a buffer of mem tile 0 (west window), waiting for a lock of mem tile 2 (east window).
  Bench bench;
  bench.token_route(1);
  bench.circuit({1, 1}, {PortKind::kDma, 0}, {PortKind::kSouth, 2});
  bench.circuit({1, 0}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
  bench.fill({0, 1}, 0x200, 16, 500);
  Bd bd = linear(arch::kMemWindowWest + 0x200, 16);
  bd.acquire = true;
  bd.acquire_lock = arch::kMemLockEast + 3;
  bd.acquire_value = -2;
  bench.bd({1, 1}, 0, bd);
  bench.push({1, 1}, Direction::kMm2s, 0, {0, 1, false});
  bench.lock({2, 1}, 3, 2);
  FakeDdr ddr(16);
  format::TxnWriter txn;
  transfer(txn, 1, Direction::kS2mm, 0, 0, linear(0, 16), 0, 0, {0, 1, true});
  wait(txn, 1, Direction::kS2mm, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(ddr.words()[15], 515u);
  EXPECT_EQ(bench.array.lock_value({2, 1}, 3), 0);
}

TEST(Dma, TokensAreCountedPerChannel) {
  Bench bench;
  connect_column(bench);
  bench.bd({0, 2}, 0, then(linear(0x1000, 16), 0));
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  FakeDdr ddr(64);
  format::TxnWriter txn;
  for (int i = 0; i < 5; ++i) {
    transfer(txn, 0, Direction::kMm2s, 0, i, linear(0, 16), 0, 0,
             {0, 2, i != 1});  // one of the five asks for none
  }
  for (int i = 0; i < 4; ++i) wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(bench.array.tokens({0, 0}, Direction::kMm2s, 0), 0u);
  format::TxnWriter again;
  wait(again, 0, Direction::kMm2s, 0);
  const RunResult starved = bench.array.run_stream(again.finish(), arguments, ddr);
  EXPECT_EQ(starved.end, RunEnd::kDeadlock);
  EXPECT_NE(starved.message.find("waits for a token of shim (0,0) MM2S0, which has no task"),
            std::string::npos)
      << starved.message;
}

// ------------------------------------------------------------- errors

TEST(DmaErrors, FullQueue) {
  Bench bench;
  bench.bd({0, 2}, 0, then(with_locks(linear(0, 16), 0, 1), 0));
  for (int i = 0; i < 5; ++i) bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  const auto sixth = bench.array.write32(
      arch::tile_address(0, 2, arch::channel_queue(TileKind::kCore, Direction::kS2mm, 0)), 0);
  ASSERT_FALSE(sixth.ok());
  EXPECT_NE(sixth.error().message.find("core (0,2) S2MM0: task of BD 0 pushed to a full queue"),
            std::string::npos);
}

TEST(DmaErrors, BadBdsAreRefused) {
  const auto message = [](Tile tile, int channel, int number, const Bd& bd) {
    Bench bench;
    bench.bd(tile, number, bd);
    const auto done = bench.array.write32(
        arch::tile_address(tile, arch::channel_queue(tile.kind(), Direction::kMm2s, channel)),
        static_cast<u32>(number));
    return done.ok() ? std::string("accepted") : done.error().message;
  };
  Bd invalid = linear(0, 4);
  invalid.valid = false;
  EXPECT_NE(message({0, 2}, 0, 3, invalid).find("BD 3 is not valid"), std::string::npos);
  EXPECT_NE(message({0, 2}, 0, 3, linear(0, 0)).find("length 0"), std::string::npos);
  EXPECT_NE(message({0, 2}, 0, 3, linear(0xFFF0, 8)).find("beyond the 64 KiB"), std::string::npos);
  EXPECT_EQ(message({0, 2}, 0, 3, linear(0xFFF0, 4)), "accepted");
  EXPECT_NE(message({0, 1}, 0, 30, linear(arch::kMemWindowOwn, 4)).find("not allowed"), std::string::npos);
  EXPECT_NE(message({0, 1}, 4, 2, linear(arch::kMemWindowEast, 4)).find("only channels 0-3"),
            std::string::npos);
  EXPECT_NE(message({0, 1}, 0, 2, linear(arch::kMemWindowWest, 4)).find("does not exist"), std::string::npos);
  EXPECT_NE(message({1, 1}, 0, 2, linear(arch::kMemWindowOwn - 8, 4)).find("window"), std::string::npos);
  EXPECT_NE(message({0, 1}, 0, 2, with_locks(linear(arch::kMemWindowOwn, 4), 0, 64)).find("cannot reach"),
            std::string::npos);
  Bd padded = linear(arch::kMemWindowOwn, 4);
  padded.pad_after[0] = 1;
  EXPECT_NE(message({0, 1}, 0, 2, padded).find("pads behind D0"), std::string::npos);
}

TEST(DmaErrors, AddressOutsideTheMappedBuffers) {
  Bench bench;
  connect_column(bench);
  bench.bd({0, 2}, 0, then(linear(0x1000, 16), 0));
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  FakeDdr ddr(64);
  Bd bd = linear(0, 16);
  bd.dims[0] = {5, 0};
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 0, bd, 0, 0, {0, 1, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  EXPECT_EQ(result.end, RunEnd::kMemoryFault);
  EXPECT_EQ(result.tile, (Tile{0, 0}));
  // Word 13 is the first outside: 65 words.
  EXPECT_NE(result.message.find("0x123450104"), std::string::npos) << result.message;
  const RunResult after = bench.array.run_stream(format::TxnWriter().finish(), arguments, ddr);
  EXPECT_FALSE(after.ok());
  bench.array.reset();
  EXPECT_TRUE(bench.array.run_stream(format::TxnWriter().finish(), arguments, ddr).ok());
}

TEST(DmaErrors, TokenWithoutRoute) {
  Bench bench;
  connect_column(bench);
  bench.write({0, 0}, arch::slave_offset(TileKind::kShim, 0), 0);
  bench.bd({0, 2}, 0, linear(0x1000, 16));
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  FakeDdr ddr(64);
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 0, linear(0, 16), 0, 0, {0, 1, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  EXPECT_EQ(result.end, RunEnd::kArrayError);
  EXPECT_NE(result.message.find("cannot reach the controller"), std::string::npos) << result.message;
}

}  // namespace
}  // namespace tegula::emu
