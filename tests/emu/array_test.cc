// The array as a whole: registers, streams, packets, deadlocks, determinism.
#include "emu/array_fixture.h"

#include <algorithm>

namespace tegula::emu {
namespace {

TEST(ArrayRegisters, MemoriesLocksAndStubs) {
  Bench bench;
  EXPECT_EQ(bench.word({3, 4}, 0x8000), kPoisonWord);
  bench.write({3, 4}, 0x8000, 42);
  EXPECT_EQ(bench.word({3, 4}, 0x8000), 42u);
  EXPECT_EQ(*bench.array.read32(arch::tile_address(3, 4, 0x8000)), 42u);
  ASSERT_TRUE(bench.array.mask_write32(arch::tile_address(3, 4, 0x8000), 0xFF00, 0x1234).ok());
  EXPECT_EQ(bench.word({3, 4}, 0x8000), 0x122Au);
  bench.lock({3, 4}, 5, 70);
  EXPECT_EQ(bench.array.lock_value({3, 4}, 5), 6);  // 6 bits
  bench.write({3, 4}, 0x34000, 5);                  // timer control: kept
  EXPECT_EQ(*bench.array.read32(arch::tile_address(3, 4, 0x34000)), 5u);
  bench.write({3, 4}, 0x20000, 0xABCD);
  EXPECT_EQ(*bench.array.read32(arch::tile_address(3, 4, 0x20000)), 0xABCDu);
}

TEST(ArrayRegisters, UnknownOnesAreNamed) {
  Bench bench;
  const auto bad = bench.array.write32(arch::tile_address(2, 3, 0x10004), 7);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, Code::kNotFound);
  EXPECT_EQ(bad.error().message, "write of 0x7 to core (2,3) offset 0x10004: no such register");
  EXPECT_FALSE(bench.array.write32(arch::tile_address(0, 6, 0), 0).ok());
  EXPECT_FALSE(bench.array.write32(arch::tile_address(0, 2, 0x1D018), 0).ok());  // core BDs have six words
  EXPECT_FALSE(bench.array.write32(arch::tile_address(0, 2, 2), 0).ok());
  EXPECT_FALSE(bench.array.read32(arch::tile_address(0, 0, 0x100)).ok());
}

TEST(ArrayRegisters, LockRequestWindow) {
  Bench bench;
  bench.lock({0, 1}, 9, 3);
  const u32 window = arch::tile_address(0, 1, 0xD0000 + 9 * 0x400);
  const auto amount = [](int value) { return static_cast<u32>(value & 0x7F) << 2; };
  EXPECT_EQ(*bench.array.read32(window + 0x200 + amount(-2)), 1u);
  EXPECT_EQ(bench.array.lock_value({0, 1}, 9), 1);
  EXPECT_EQ(*bench.array.read32(window + 0x200 + amount(-2)), 0u);
  EXPECT_EQ(*bench.array.read32(window + amount(4)), 1u);
  EXPECT_EQ(bench.array.lock_value({0, 1}, 9), 5);
}

TEST(ArrayRegisters, ChannelStatus) {
  Bench bench;
  bench.bd({0, 2}, 7, with_locks(linear(0, 4), 1, 2));
  bench.push({0, 2}, Direction::kS2mm, 1, {7, 1, false});
  bench.push({0, 2}, Direction::kS2mm, 1, {7, 1, false});
  const u32 status = *bench.array.read32(arch::tile_address(0, 2, 0x1DF04));
  EXPECT_EQ(status & 3, 2u);
  EXPECT_EQ((status >> 2) & 1, 1u);   // waits for a lock
  EXPECT_EQ((status >> 20) & 7, 1u);  // one task waits
  EXPECT_EQ((status >> 24) & 0xF, 7u);
}

TEST(Stream, WritesPollsAndCosts) {
  Bench bench({{{0, 2}, {{work(3000, [](u8* data) { store_le(data + 0x100, u32{9}); })}, 1}}});
  bench.enable({0, 2});
  FakeDdr ddr(1);
  format::TxnWriter txn;
  txn.write32(arch::tile_address(0, 2, 0x200), 0x55);
  txn.mask_write(arch::tile_address(0, 2, 0x200), 0xA0, 0xF0);
  txn.preempt(0);
  txn.noop();
  txn.mask_poll(arch::tile_address(0, 2, 0x32004), arch::kCoreDone, arch::kCoreDone);
  const RunResult result = bench.array.run_stream(txn.finish(), {}, ddr);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(bench.word({0, 2}, 0x200), 0xA5u);
  EXPECT_EQ(bench.word({0, 2}, 0x100), 9u);
  EXPECT_EQ(result.report.controller_ops, 5u);
  EXPECT_GE(result.report.cycles, 5u * 720);
  EXPECT_EQ(result.report.submission_cycles, 106200u);
}

TEST(Stream, Errors) {
  FakeDdr ddr(16);
  const u64 arguments[] = {ddr.base()};
  const auto run = [&](const std::function<void(format::TxnWriter&)>& fill) {
    Bench bench;
    format::TxnWriter txn;
    fill(txn);
    return bench.array.run_stream(txn.finish(), arguments, ddr);
  };
  RunResult r = run([](auto& txn) {
    txn.noop();
    txn.write32(arch::tile_address(0, 0, 0x50), 1);
  });
  EXPECT_EQ(r.end, RunEnd::kStreamError);
  EXPECT_EQ(r.op_index, 1u);
  r = run([](auto& txn) { txn.ddr_patch(arch::tile_address(0, 0, 0x1D004), 1, 0); });
  EXPECT_EQ(r.end, RunEnd::kStreamError);
  EXPECT_NE(r.message.find("argument 1"), std::string::npos);
  r = run([](auto& txn) { txn.ddr_patch(arch::tile_address(0, 0, 0x1D008), 0, 0); });
  EXPECT_NE(r.message.find("not word 1 of a shim BD"), std::string::npos);
  r = run([](auto& txn) { txn.token_wait(0, 0, 1, 9, format::TxnDirection::kS2mm, 0); });
  EXPECT_EQ(r.end, RunEnd::kDeadlock);  // columns before the missing one are asked first
  r = run([](auto& txn) { txn.token_wait(8, 0, 1, 1, format::TxnDirection::kS2mm, 0); });
  EXPECT_EQ(r.end, RunEnd::kStreamError);
  r = run([](auto& txn) { txn.mask_poll(arch::tile_address(0, 2, 0x100), 0, 1); });
  EXPECT_EQ(r.end, RunEnd::kDeadlock);
  EXPECT_NE(r.message.find("polls"), std::string::npos);
  Bench bench;
  EXPECT_EQ(bench.array.run_stream(Bytes(7), arguments, ddr).end, RunEnd::kStreamError);
}

TEST(Stream, EndlessCoreMeetsTheCycleLimit) {
  Bench bench({{{0, 2}, {{work(1000)}, 1 << 30}}});
  bench.enable({0, 2});
  FakeDdr ddr(1);
  format::TxnWriter txn;
  txn.token_wait(0, 0, 1, 1, format::TxnDirection::kS2mm, 0);
  RunOptions options;
  options.max_cycles = 1'000'000;
  const RunResult result = bench.array.run_stream(txn.finish(), {}, ddr, options);
  EXPECT_EQ(result.end, RunEnd::kDeadlock);
  EXPECT_NE(result.message.find("no end within 1000000 cycles"), std::string::npos);
}

TEST(Deadlock, TheMessageSaysWhoWaitsForWhom) {
  Bench bench({{{0, 2}, {{acquire(4, -3)}, 1}}});
  bench.token_route(0);
  bench.circuit({0, 0}, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
  bench.circuit({0, 1}, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
  bench.circuit({0, 2}, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
  bench.bd({0, 2}, 6, with_locks(linear(0, 16), 3, 4));
  bench.push({0, 2}, Direction::kS2mm, 0, {6, 1, false});
  bench.lock({0, 2}, 4, 2);
  bench.enable({0, 2});
  FakeDdr ddr(16);
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 1, linear(0, 16), 0, 0, {1, 1, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  EXPECT_EQ(result.end, RunEnd::kDeadlock);
  EXPECT_EQ(result.op_index, 3u);
  for (const char* part :
       {"waits for a token of shim (0,0) MM2S0", "shim (0,0) MM2S0 BD 1 waits for room at core (0,2) S2MM0",
        "core (0,2) S2MM0 BD 6 waits for lock 3 of core (0,2): is 0, needs >= 1",
        "core (0,2) pc 0x0 waits for lock 4 of core (0,2): is 2, needs >= 3",
        "BDs of this tile that give it: 6"}) {
    EXPECT_NE(result.message.find(part), std::string::npos) << part << "\n in " << result.message;
  }
}

TEST(Deadlock, MissingRouteIsNamed) {
  Bench bench;
  bench.token_route(0);
  bench.circuit({0, 0}, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
  FakeDdr ddr(16);
  format::TxnWriter txn;
  transfer(txn, 0, Direction::kMm2s, 0, 1, linear(0, 16), 0, 0, {1, 1, true});
  wait(txn, 0, Direction::kMm2s, 0);
  const u64 arguments[] = {ddr.base()};
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr);
  EXPECT_EQ(result.end, RunEnd::kDeadlock);
  EXPECT_NE(result.message.find("has no route: mem (0,1) slave South1 is not enabled"), std::string::npos)
      << result.message;
}

TEST(Locks, ReleaseAbove63IsNotedAndStays) {
  Bench bench({{{0, 2}, {{release(1, 40)}, 2}}});
  bench.enable({0, 2});
  FakeDdr ddr(1);
  const RunResult result = bench.array.settle(ddr, 1000);
  EXPECT_EQ(bench.array.lock_value({0, 2}, 1), 63);
  ASSERT_EQ(result.report.notes.size(), 1u);
  EXPECT_NE(result.report.notes[0].find("lock 1 overflowed"), std::string::npos);
  EXPECT_EQ(*bench.array.read32(arch::tile_address(0, 2, 0x1F120)), 2u);
}

TEST(Locks, WaitersAreServedInOrderOfArrival) {
  // Two channels wait for one lock: the one that came first gets it, though its number is higher.
  Bench bench;
  bench.bd({0, 2}, 0, with_locks(linear(0, 4), 0, 1));
  bench.push({0, 2}, Direction::kS2mm, 1, {0, 1, false});
  bench.push({0, 2}, Direction::kS2mm, 0, {0, 1, false});
  bench.lock({0, 2}, 0, 1);
  EXPECT_EQ((*bench.array.read32(arch::tile_address(0, 2, 0x1DF00)) >> 2) & 1, 1u);
  EXPECT_EQ((*bench.array.read32(arch::tile_address(0, 2, 0x1DF04)) >> 2) & 1, 0u);
}

// ------------------------------------------------------------- packets

// Cores (0,2) and (0,3) send packets over one wire; the mem tile's arbiter merges them into S2MM0.
void merge_two_cores(Bench& bench, bool drop) {
  const Tile low{0, 2}, high{0, 3}, mem{0, 1};
  const auto packet = [&](Tile tile, arch::Port slave, arch::PacketSlot slot) {
    const int s = arch::slave_number(tile.kind(), slave);
    bench.write(tile, arch::slave_offset(tile.kind(), s), arch::packet_slave());
    bench.write(tile, arch::slot_offset(tile.kind(), s, 0), arch::packet_slot(slot));
  };
  const auto out = [&](Tile tile, arch::Port master, arch::PacketMaster config) {
    bench.write(tile, arch::master_offset(tile.kind(), arch::master_number(tile.kind(), master)),
                arch::packet_master(config));
  };
  packet(high, {PortKind::kDma, 0}, {true, 2, 0x1F, 0, 0});
  out(high, {PortKind::kSouth, 0}, {0, 1, false});
  packet(low, {PortKind::kNorth, 0}, {true, 2, 0x1F, 0, 3});
  packet(low, {PortKind::kDma, 0}, {true, 1, 0x1F, 0, 3});
  out(low, {PortKind::kSouth, 0}, {3, 1, false});
  packet(mem, {PortKind::kNorth, 0}, {true, 0, 0x1C, 1, 2});  // ids 0..3
  out(mem, {PortKind::kDma, 0}, {2, 2, drop});
}

TEST(Packets, TwoSourcesShareAWire) {
  for (bool drop : {true, false}) {
    Bench bench;
    merge_two_cores(bench, drop);
    for (u8 i = 0; i < 2; ++i) {
      const Tile core{0, static_cast<u8>(2 + i)};
      bench.fill(core, 0, 20, 100 * (i + 1));
      Bd bd = linear(0, 10);
      bd.packet = true;
      bd.packet_id = static_cast<u8>(i + 1);
      bench.bd(core, 0, then(bd, 1));
      bd.address = 40;
      bench.bd(core, 1, bd);
      bench.push(core, Direction::kMm2s, 0, {0, 1, false});
    }
    const u32 words = drop ? 40 : 44;
    bench.bd({0, 1}, 0, with_locks(linear(arch::kMemWindowOwn, words), 64, 65));
    bench.lock({0, 1}, 0, 1);
    bench.push({0, 1}, Direction::kS2mm, 0, {0, 1, false});
    FakeDdr ddr(1);
    const RunResult result = bench.array.settle(ddr, 100000);
    ASSERT_TRUE(result.ok()) << result.message;
    EXPECT_EQ(bench.array.lock_value({0, 1}, 1), 1);
    // Packets stay whole, and the sources take turns.
    const std::vector<u32> firsts = {100, 200, 110, 210};
    u32 at = 0;
    for (u32 first : firsts) {
      if (!drop) {
        const u32 header = bench.word({0, 1}, 4 * at++);
        EXPECT_EQ(arch::packet_id_of(header), first / 100);
        EXPECT_EQ(__builtin_popcount(header) % 2, 1);
        EXPECT_EQ((header >> 16) & 0x1F, 1 + first / 100);
      }
      for (u32 i = 0; i < 10; ++i) EXPECT_EQ(bench.word({0, 1}, 4 * at++), first + i);
    }
  }
}

TEST(Packets, HeaderFromMemoryChoosesTheRoute) {
  Bench bench;
  merge_two_cores(bench, true);
  bench.fill({0, 2}, 0, 9, 1000);
  store_le(bench.array.data_memory({0, 2}).data(), arch::packet_header({0, 2, 0, 1}));
  bench.bd({0, 2}, 0, linear(0, 9));
  bench.push({0, 2}, Direction::kMm2s, 0, {0, 1, false});
  bench.bd({0, 1}, 0, linear(arch::kMemWindowOwn, 8));
  bench.push({0, 1}, Direction::kS2mm, 0, {0, 1, false});
  FakeDdr ddr(1);
  ASSERT_TRUE(bench.array.settle(ddr, 10000).ok());
  for (u32 i = 0; i < 8; ++i) EXPECT_EQ(bench.word({0, 1}, 4 * i), 1001 + i);
}

TEST(Packets, ControlPacketsWriteRegisters) {
  // Core (0,2) sends a control packet to the TileCtrl port of the shim and so starts a shim transfer itself.
  Bench bench;
  bench.token_route(0);
  const int from = arch::slave_number(TileKind::kCore, {PortKind::kDma, 0});
  bench.write({0, 2}, arch::slave_offset(TileKind::kCore, from), arch::packet_slave());
  bench.write({0, 2}, arch::slot_offset(TileKind::kCore, from, 0), arch::packet_slot({true, 7, 0x1F, 0, 0}));
  bench.write({0, 2}, arch::master_offset(TileKind::kCore, 5), arch::packet_master({0, 1, false}));
  const int mem = arch::slave_number(TileKind::kMem, {PortKind::kNorth, 0});
  bench.write({0, 1}, arch::slave_offset(TileKind::kMem, mem), arch::packet_slave());
  bench.write({0, 1}, arch::slot_offset(TileKind::kMem, mem, 0), arch::packet_slot({true, 7, 0x1F, 0, 0}));
  bench.write({0, 1}, arch::master_offset(TileKind::kMem, 7), arch::packet_master({0, 1, false}));
  const int shim = arch::slave_number(TileKind::kShim, {PortKind::kNorth, 0});
  bench.write({0, 0}, arch::slave_offset(TileKind::kShim, shim), arch::packet_slave());
  bench.write({0, 0}, arch::slot_offset(TileKind::kShim, shim, 0), arch::packet_slot({true, 7, 0x1F, 0, 0}));
  bench.write({0, 0}, arch::master_offset(TileKind::kShim, 0), arch::packet_master({0, 1, true}));
  u8* data = bench.array.data_memory({0, 2}).data();
  const u32 words[] = {
      arch::packet_header({0, 2, 0, 7}),
      arch::control_header({0, arch::ControlOp::kWrite, 2, arch::bd_offset(TileKind::kShim, 3)}), 77, 88};
  for (u32 i = 0; i < 4; ++i) store_le(data + 4 * i, words[i]);
  bench.bd({0, 2}, 0, linear(0, 4));
  bench.push({0, 2}, Direction::kMm2s, 0, {0, 1, false});
  FakeDdr ddr(1);
  const RunResult result = bench.array.settle(ddr, 10000);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(*bench.array.read32(arch::tile_address(0, 0, arch::bd_offset(TileKind::kShim, 3))), 77u);
  EXPECT_EQ(*bench.array.read32(arch::tile_address(0, 0, arch::bd_offset(TileKind::kShim, 3) + 4)), 88u);
}

TEST(CorePort, StreamsBetweenCores) {
  // Core (0,2) writes 20 words to its stream port; core (0,3) reads them and stores the last.
  u32 last = 0, count = 0;
  Step send{.kind = Step::Kind::kStreamWrite, .word = 5};
  Step receive{.kind = Step::Kind::kStreamRead, .got = [&](u32 word) {
                 last = word;
                 ++count;
               }};
  Bench bench({{{0, 2}, {{send}, 20}}, {{0, 3}, {{receive, work(50)}, 20}}});
  bench.circuit({0, 2}, {PortKind::kCore, 0}, {PortKind::kNorth, 2});
  bench.circuit({0, 3}, {PortKind::kSouth, 2}, {PortKind::kCore, 0});
  bench.enable({0, 2});
  bench.enable({0, 3});
  FakeDdr ddr(1);
  const RunResult result = bench.array.settle(ddr, 100000);
  ASSERT_TRUE(result.ok()) << result.message;
  EXPECT_EQ(count, 20u);
  EXPECT_EQ(last, 5u);
}

TEST(CorePort, TileRegisterWritesReachTheOwnDma) {
  // The core rewrites a BD's length and starts it.
  Step length{.kind = Step::Kind::kWriteRegister, .address = arch::bd_offset(TileKind::kCore, 2), .word = 3};
  Step start{.kind = Step::Kind::kWriteRegister,
             .address = arch::channel_queue(TileKind::kCore, Direction::kMm2s, 0),
             .word = 2};
  Bench bench({{{0, 2}, {{length, start}, 1}}});
  bench.circuit({0, 2}, {PortKind::kDma, 0}, {PortKind::kSouth, 0});
  bench.circuit({0, 1}, {PortKind::kNorth, 0}, {PortKind::kDma, 0});
  bench.fill({0, 2}, 0, 8, 30);
  bench.bd({0, 2}, 2, linear(0, 8));
  bench.bd({0, 1}, 0, linear(arch::kMemWindowOwn, 8));
  bench.push({0, 1}, Direction::kS2mm, 0, {0, 1, false});
  bench.enable({0, 2});
  FakeDdr ddr(1);
  ASSERT_TRUE(bench.array.settle(ddr, 10000).ok());
  EXPECT_EQ(bench.word({0, 1}, 8), 32u);
  EXPECT_EQ(bench.word({0, 1}, 12), kPoisonWord);
}

// ------------------------------------------------------------- determinism

// Eight columns, four cores each, all fed by broadcast, all draining through their mem tile, with uneven
// work.
struct Outcome {
  std::string text;
  std::vector<u32> data;
};

std::vector<Step> uneven_core(int seed) {
  return {acquire(1), acquire(2),
          work(static_cast<u64>(40 + seed * 13 % 97),
               [seed](u8* data) {
                 for (u32 i = 0; i < 32; ++i) {
                   store_le(data + 0x4000 + 4 * i,
                            load_le<u32>(data + 0x1000 + 4 * i) * 3 + static_cast<u32>(seed));
                 }
               }),
          release(0), release(3)};
}

Outcome run_eight_columns(int threads) {
  constexpr u32 kWords = 32, kRounds = 25;
  Bench::Scripts scripts;
  for (u8 c = 0; c < 8; ++c) {
    for (u8 r = 2; r < 6; ++r) scripts[{c, r}] = {uneven_core(c * 4 + r), 1 << 20};
  }
  Bench bench(scripts);
  for (u8 c = 0; c < 8; ++c) {
    bench.token_route(c);
    bench.circuit({c, 0}, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
    bench.circuit({c, 1}, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
    for (u8 r = 2; r < 6; ++r) {
      const Tile core{c, r};
      bench.circuit(core, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
      if (r < 5) bench.circuit(core, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
      // Core r sends down wire r - 2.
      const u8 wire = static_cast<u8>(r - 2);
      bench.circuit(core, {PortKind::kDma, 0}, {PortKind::kSouth, wire});
      for (u8 below = 2; below < r; ++below)
        bench.circuit({c, below}, {PortKind::kNorth, wire}, {PortKind::kSouth, wire});
      bench.circuit({c, 1}, {PortKind::kNorth, wire}, {PortKind::kDma, wire});
      bench.bd(core, 0, then(with_locks(linear(0x1000, kWords), 0, 1), 0));
      bench.bd(core, 1, then(with_locks(linear(0x4000, kWords), 3, 2), 1));
      bench.lock(core, 0, 1);
      bench.lock(core, 2, 1);
      bench.push(core, Direction::kS2mm, 0, {0, 1, false});
      bench.push(core, Direction::kMm2s, 0, {1, 1, false});
      const u8 bd = static_cast<u8>(wire % 2 == 0 ? wire : 24 + wire);
      const u64 place = arch::kMemWindowOwn + wire * kWords * 4ull;
      bench.bd({c, 1}, bd, then(with_locks(linear(place, kWords), 64 + 2 * wire, 65 + 2 * wire), bd));
      bench.lock({c, 1}, 2 * wire, 1);
      bench.push({c, 1}, Direction::kS2mm, wire, {bd, 1, false});
      const u8 out = static_cast<u8>(10 + wire);
      bench.bd(
          {c, 1}, out,
          then(with_locks(linear(place, kWords), 65 + 2 * wire, 64 + 2 * wire), wire == 3 ? 10 : out + 1));
      bench.enable(core);
    }
    bench.circuit({c, 1}, {PortKind::kDma, 4}, {PortKind::kSouth, 2});
    bench.circuit({c, 0}, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
    bench.push({c, 1}, Direction::kMm2s, 4, {10, 1, false});
  }
  FakeDdr ddr(8 * kRounds * kWords * 5);
  ddr.count_up(3);
  const u64 out_base = 8ull * kRounds * kWords * 4;
  format::TxnWriter txn;
  for (int c = 0; c < 8; ++c) {
    transfer(txn, c, Direction::kMm2s, 0, 0, linear(0, kRounds * kWords), 0, c * kRounds * kWords * 4ull,
             {0, 1, false});
    transfer(txn, c, Direction::kS2mm, 0, 1, linear(0, kRounds * kWords * 4), 0,
             out_base + c * kRounds * kWords * 16ull, {1, 1, true});
  }
  wait(txn, 0, Direction::kS2mm, 0, 8);
  const u64 arguments[] = {ddr.base()};
  RunOptions options;
  options.threads = threads;
  std::vector<TimelineEvent> timeline;
  options.timeline = &timeline;
  const RunResult result = bench.array.run_stream(txn.finish(), arguments, ddr, options);
  Outcome outcome;
  outcome.text = std::string(run_end_name(result.end)) + result.message + " cycles " +
                 std::to_string(result.report.cycles) + " events " + std::to_string(result.report.events) +
                 " " + result.report.max_port;
  for (const CoreReport& core : result.report.cores) {
    outcome.text += " " + std::to_string(core.cycles) + "/" + std::to_string(core.stall_cycles);
  }
  for (const ChannelReport& channel : result.report.channels)
    outcome.text += " " + std::to_string(channel.busy_cycles);
  for (const TimelineEvent& event : timeline) {
    outcome.text += " " + std::to_string(event.tile.index()) + ":" + std::to_string(event.start) + "-" +
                    std::to_string(event.end);
  }
  outcome.data = ddr.words();
  // What the cores were asked to compute.
  for (u32 c = 0; c < 8; ++c) {
    for (u32 round = 0; round < kRounds; ++round) {
      for (u32 r = 0; r < 4; ++r) {
        for (u32 i = 0; i < kWords; ++i) {
          const u32 in = 3 + c * kRounds * kWords + round * kWords + i;
          const u64 at = out_base / 4 + c * kRounds * kWords * 4ull + (round * 4 + r) * kWords + i;
          EXPECT_EQ(outcome.data[at], in * 3 + c * 4 + r + 2);
        }
      }
    }
  }
  return outcome;
}

TEST(Determinism, SameForAnyNumberOfThreads) {
  const Outcome one = run_eight_columns(1);
  EXPECT_EQ(one.text.rfind("done", 0), 0u) << one.text.substr(0, 500);
  for (int threads : {2, 7}) {
    const Outcome many = run_eight_columns(threads);
    EXPECT_EQ(many.text, one.text) << threads;
    EXPECT_EQ(many.data, one.data) << threads;
  }
}

}  // namespace
}  // namespace tegula::emu
