// Transfers whose words or order the BD alone does not say: padding, packets out of order, finish-on-TLAST.
// All inside one mem tile, from MM2S0 to S2MM0.
#include "emu/array_fixture.h"

namespace tegula::emu {
namespace {

constexpr Tile kMem{0, 1};
constexpr u32 kFrom = 0x1000, kTo = 0x8000;

// Runs until nothing moves; the message of the failure, if any.
std::string settle(Bench& bench) {
  FakeDdr ddr(4);
  return bench.array.settle(ddr, 100'000).message;
}

Bd memory(u32 byte, u32 words) {
  return linear(arch::kMemWindowOwn + byte, words);
}

void loop_circuit(Bench& bench) {
  bench.circuit(kMem, {PortKind::kDma, 0}, {PortKind::kDma, 0});
}

// Packets of id 3 from MM2S0 to S2MM0.
void loop_packets(Bench& bench, bool drop_header) {
  const int slave = arch::slave_number(TileKind::kMem, {PortKind::kDma, 0});
  const int master = arch::master_number(TileKind::kMem, {PortKind::kDma, 0});
  bench.write(kMem, arch::slave_offset(TileKind::kMem, slave), arch::packet_slave());
  bench.write(kMem, arch::slot_offset(TileKind::kMem, slave, 0), arch::packet_slot({true, 3, 0x1F, 0, 1}));
  bench.write(kMem, arch::master_offset(TileKind::kMem, master), arch::packet_master({1, 1, drop_header}));
}

// What a picture of 3 x 2 words in rows of 5 looks like in a frame: 1 word in front and 2 behind each row,
// one row above, two below; then the same again, two pictures of frames in front of the whole.
TEST(DmaPadding, FramesInThreeDimensions) {
  Bench bench;
  loop_circuit(bench);
  bench.fill(kMem, kFrom, 64, 100);
  Bd bd = memory(kFrom, 0);
  bd.dims = {arch::BdDimension{1, 3}, arch::BdDimension{5, 2}, arch::BdDimension{20, 2},
             arch::BdDimension{1, 0}};
  bd.pad_before = {1, 1, 2};
  bd.pad_after = {2, 2, 1};
  std::vector<u32> expected;
  const u32 padding = 0xABCD;
  for (int picture = -2; picture < 3; ++picture) {
    for (int row = -1; row < 4; ++row) {
      for (int column = -1; column < 5; ++column) {
        const bool inside = picture >= 0 && picture < 2 && row >= 0 && row < 2 && column >= 0 && column < 3;
        expected.push_back(inside ? static_cast<u32>(100 + 20 * picture + 5 * row + column) : padding);
      }
    }
  }
  bd.length = static_cast<u32>(expected.size());
  bench.write(kMem, arch::kPadValueBase, padding);
  bench.bd(kMem, 0, memory(kTo, bd.length));
  bench.bd(kMem, 1, bd);
  bench.push(kMem, Direction::kS2mm, 0, {0, 1, false});
  bench.push(kMem, Direction::kMm2s, 0, {1, 1, false});
  ASSERT_EQ(settle(bench), "");
  for (u32 i = 0; i < bd.length; ++i) ASSERT_EQ(bench.word(kMem, kTo + 4 * i), expected[i]) << i;
}

TEST(DmaPadding, IsZeroWithoutAnotherValue) {
  Bench bench;
  loop_circuit(bench);
  bench.fill(kMem, kFrom, 8, 7);
  bench.fill(kMem, kTo, 8, 50);
  Bd bd = memory(kFrom, 5);
  bd.pad_before[0] = 2;  // D0 never wraps: in front of all
  bench.bd(kMem, 0, memory(kTo, 5));
  bench.bd(kMem, 1, bd);
  bench.push(kMem, Direction::kS2mm, 0, {0, 1, false});
  bench.push(kMem, Direction::kMm2s, 0, {1, 1, false});
  ASSERT_EQ(settle(bench), "");
  const u32 expected[] = {0, 0, 7, 8, 9};
  for (u32 i = 0; i < 5; ++i) EXPECT_EQ(bench.word(kMem, kTo + 4 * i), expected[i]) << i;
}

TEST(DmaOutOfOrder, PacketsGoWhereTheirHeadersSay) {
  Bench bench;
  loop_packets(bench, false);
  bench.fill(kMem, kFrom, 32, 1);
  const int order[] = {5, 2, 9};
  for (u32 i = 0; i < 3; ++i) {
    Bd from = memory(kFrom + 16 * i, 4);
    from.packet = true;
    from.packet_id = 3;
    from.out_of_order_id = static_cast<u8>(order[i]);
    bench.bd(kMem, 12 + static_cast<int>(i), i < 2 ? then(from, 13 + static_cast<int>(i)) : from);
    bench.bd(kMem, order[i], memory(kTo + 0x100 * static_cast<u32>(order[i]), 4));
  }
  bench.write(kMem, arch::channel_ctrl(TileKind::kMem, Direction::kS2mm, 0), arch::kCtrlOutOfOrder);
  bench.push(kMem, Direction::kS2mm, 0, {0, 3, false});  // three packets
  bench.push(kMem, Direction::kMm2s, 0, {12, 1, false});
  ASSERT_EQ(settle(bench), "");
  for (u32 i = 0; i < 3; ++i) {
    for (u32 k = 0; k < 4; ++k)
      EXPECT_EQ(bench.word(kMem, kTo + 0x100 * static_cast<u32>(order[i]) + 4 * k), 1 + 4 * i + k) << i;
  }
}

TEST(DmaOutOfOrder, NeedsTheHeader) {
  Bench bench;
  loop_packets(bench, true);
  Bd from = memory(kFrom, 4);
  from.packet = true;
  from.packet_id = 3;
  bench.bd(kMem, 1, from);
  bench.bd(kMem, 0, memory(kTo, 4));
  bench.write(kMem, arch::channel_ctrl(TileKind::kMem, Direction::kS2mm, 0), arch::kCtrlOutOfOrder);
  bench.push(kMem, Direction::kS2mm, 0, {0, 1, false});
  bench.push(kMem, Direction::kMm2s, 0, {1, 1, false});
  EXPECT_NE(settle(bench).find("the switch drops their headers"), std::string::npos);
}

// Two packets of 3 and 5 words into BDs that have room for 8; the counts tell how many came.
TEST(DmaFinishOnTlast, ShortPacketsEndTheirBds) {
  Bench bench;
  loop_circuit(bench);
  bench.fill(kMem, kFrom, 16, 1);
  bench.fill(kMem, kTo, 32, 900);
  bench.bd(kMem, 2, then(memory(kFrom, 3), 3));
  bench.bd(kMem, 3, memory(kFrom + 12, 5));
  bench.bd(kMem, 0, then(memory(kTo, 8), 1));
  bench.bd(kMem, 1, memory(kTo + 32, 8));
  bench.write(kMem, arch::channel_ctrl(TileKind::kMem, Direction::kS2mm, 0), arch::kCtrlFotFifo);
  bench.push(kMem, Direction::kS2mm, 0, {0, 1, false});
  bench.push(kMem, Direction::kMm2s, 0, {2, 1, false});
  ASSERT_EQ(settle(bench), "");
  const u32 expected[] = {1, 2, 3, 903, 904, 905, 906, 907, 4, 5, 6, 7, 8, 913, 914, 915};
  for (u32 i = 0; i < 16; ++i) EXPECT_EQ(bench.word(kMem, kTo + 4 * i), expected[i]) << i;
  const u32 pop = arch::tile_address(kMem, arch::fot_count_pop(TileKind::kMem, 0));
  EXPECT_EQ(*bench.array.read32(pop), arch::fot_count(0, 3, false));
  EXPECT_EQ(*bench.array.read32(pop), arch::fot_count(1, 5, true));
  EXPECT_EQ(*bench.array.read32(pop), 0u);
}

TEST(DmaFinishOnTlast, LongPacketsAreAnError) {
  Bench bench;
  loop_circuit(bench);
  bench.bd(kMem, 1, memory(kFrom, 5));
  bench.bd(kMem, 0, memory(kTo, 4));
  bench.write(kMem, arch::channel_ctrl(TileKind::kMem, Direction::kS2mm, 0), 1u << 16);
  bench.push(kMem, Direction::kS2mm, 0, {0, 1, false});
  bench.push(kMem, Direction::kMm2s, 0, {1, 1, false});
  EXPECT_NE(settle(bench).find("has its 4 words without TLAST"), std::string::npos);
}

}  // namespace
}  // namespace tegula::emu
