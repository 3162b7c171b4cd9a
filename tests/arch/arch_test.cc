#include <gtest/gtest.h>

#include <random>

#include "arch/dma.h"
#include "arch/registers.h"
#include "arch/stream_switch.h"

namespace tegula::arch {
namespace {

TEST(Grid, AddressesGoBothWays) {
  EXPECT_EQ(tile_address(0, 2, 0x3F034), 0x0023F034u);
  EXPECT_EQ(tile_address(7, 1, 0xA0000), 0x0E1A0000u);
  const Location at = locate(0x0E1A0000);
  EXPECT_EQ(at.col, 7);
  EXPECT_EQ(at.row, 1);
  EXPECT_EQ(at.offset, 0xA0000u);
  EXPECT_TRUE(at.valid());
  EXPECT_FALSE(locate(tile_address(8, 0, 0)).valid());
  EXPECT_FALSE(locate(tile_address(0, 6, 0)).valid());
  EXPECT_EQ(tile_name({3, 0}), "shim (3,0)");
  for (int i = 0; i < kTiles; ++i) EXPECT_EQ(tile_at(i).index(), i);
}

// The A-tile BD of a published GEMM (final_i8_D_qwen3_0_6b), register words as its stream has them.
TEST(Bd, WorkedShimExample) {
  Bd bd;
  bd.length = 128;
  bd.address = 64 * 3 + 98304 * 2;
  bd.dims = {{{1, 2}, {768, 8}, {2, 0}, {1, 0}}};
  bd.iteration_step = 6144;
  bd.iteration_wrap = 4;
  bd.burst = 3;
  bd.ax_cache = 2;
  auto words = encode(TileKind::kShim, bd);
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ((*words)[0], 0x80u);
  EXPECT_EQ((*words)[1], 64u * 3 + 98304 * 2);
  EXPECT_EQ((*words)[2], 0u);
  EXPECT_EQ((*words)[3], 0x200000u);
  EXPECT_EQ((*words)[4], 0xC08002FFu);
  EXPECT_EQ((*words)[5], 0x02000001u);
  EXPECT_EQ((*words)[6], 0x003017FFu);
  EXPECT_EQ((*words)[7], 0x02000000u);
  EXPECT_EQ(decode(TileKind::kShim, *words), bd);
  EXPECT_EQ(encode_task({4, 4, true}), 0x80030004u);
  EXPECT_EQ(decode_task(TileKind::kShim, 0x80030004), (Task{4, 4, true}));
}

TEST(Bd, EveryRegisterBitPatternSurvivesARoundTrip) {
  std::mt19937 random(7);
  for (TileKind kind : {TileKind::kShim, TileKind::kMem, TileKind::kCore}) {
    for (int round = 0; round < 2000; ++round) {
      BdWords words{};
      for (int w = 0; w < traits(kind).bd_words; ++w) words[w] = random();
      const Bd bd = decode(kind, words);
      auto again = encode(kind, bd);
      ASSERT_TRUE(again.ok()) << kind_name(kind) << ": " << again.error().message;
      EXPECT_EQ(decode(kind, *again), bd);
    }
  }
}

TEST(Bd, ValuesThatDoNotFitAreNamed) {
  Bd bd;
  bd.length = 1 << 14;
  auto words = encode(TileKind::kCore, bd);
  ASSERT_FALSE(words.ok());
  EXPECT_EQ(words.error().code, Code::kOutOfRange);
  EXPECT_NE(words.error().message.find("length"), std::string::npos);
  bd.length = 4;
  bd.dims[0].step = 0;
  EXPECT_FALSE(encode(TileKind::kCore, bd).ok());
  bd.dims[0].step = 1;
  bd.pad_before[1] = 2;
  auto padded = encode(TileKind::kCore, bd);
  ASSERT_FALSE(padded.ok());
  EXPECT_EQ(padded.error().code, Code::kInvalidArgument);
  EXPECT_TRUE(encode(TileKind::kMem, bd).ok());
  bd.pad_before[1] = 0;
  bd.dims[2].wrap = 3;
  EXPECT_FALSE(encode(TileKind::kCore, bd).ok());
  EXPECT_TRUE(encode(TileKind::kMem, bd).ok());
  bd.dims[2].wrap = 0;
  bd.acquire_value = -65;
  EXPECT_FALSE(encode(TileKind::kCore, bd).ok());
}

TEST(Bd, LockAmountsAreSevenBitTwosComplement) {
  Bd bd;
  bd.length = 16;
  bd.acquire = true;
  bd.acquire_value = -23;
  bd.acquire_lock = 5;
  bd.release_value = 23;
  bd.release_lock = 6;
  const BdWords words = *encode(TileKind::kCore, bd);
  EXPECT_EQ((words[5] >> 5) & 0x7F, 128u - 23);
  EXPECT_EQ(words[5] & 0xF, 5u);
  EXPECT_EQ(decode(TileKind::kCore, words), bd);
}

TEST(Channels, OffsetsOfTheRegisterList) {
  EXPECT_EQ(channel_queue(TileKind::kShim, Direction::kMm2s, 0), 0x1D214u);
  EXPECT_EQ(channel_queue(TileKind::kShim, Direction::kS2mm, 1), 0x1D20Cu);
  EXPECT_EQ(channel_ctrl(TileKind::kMem, Direction::kMm2s, 5), 0xA0658u);
  for (TileKind kind : {TileKind::kShim, TileKind::kMem, TileKind::kCore}) {
    for (Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
      for (int c = 0; c < traits(kind).channels; ++c) {
        const std::string side = std::string("DMA_") + direction_name(direction) + "_" + std::to_string(c);
        EXPECT_EQ(register_name(kind, channel_ctrl(kind, direction, c)), side + "_CTRL");
        EXPECT_EQ(register_name(kind, channel_queue(kind, direction, c)),
                  side + (kind == TileKind::kShim ? "_TASK_QUEUE" : "_START_QUEUE"));
        EXPECT_EQ(register_name(kind, channel_status(kind, direction, c)),
                  std::string("DMA_") + direction_name(direction) + "_STATUS_" + std::to_string(c));
      }
    }
    for (int lock = 0; lock < traits(kind).locks; ++lock) {
      EXPECT_EQ(register_name(kind, lock_offset(kind, lock)), "LOCK" + std::to_string(lock) + "_VALUE");
    }
    for (int bd = 0; bd < traits(kind).bds; ++bd) {
      EXPECT_EQ(register_name(kind, bd_offset(kind, bd) + 4), "DMA_BD" + std::to_string(bd) + "_1");
    }
  }
}

TEST(Channels, MemTileBdsAreSplitByParity) {
  EXPECT_TRUE(bd_allowed(TileKind::kMem, 0, 23));
  EXPECT_FALSE(bd_allowed(TileKind::kMem, 0, 24));
  EXPECT_TRUE(bd_allowed(TileKind::kMem, 5, 47));
  EXPECT_FALSE(bd_allowed(TileKind::kMem, 5, 48));
  EXPECT_TRUE(bd_allowed(TileKind::kCore, 1, 0));
}

// The table's own names of switch registers must agree with the port tables.
TEST(Switch, PortNumbersMatchTheRegisterNames) {
  const auto upper = [](Port port) -> std::string {
    switch (port.kind) {
      case PortKind::kSouth:
        return "SOUTH";
      case PortKind::kNorth:
        return "NORTH";
      case PortKind::kEast:
        return "EAST";
      case PortKind::kWest:
        return "WEST";
      case PortKind::kDma:
        return "DMA";
      case PortKind::kFifo:
        return "FIFO";
      case PortKind::kTileCtrl:
        return "TILE_CTRL";
      case PortKind::kCore:
        return "AIE_CORE0";
      default:
        return "TRACE";
    }
  };
  for (TileKind kind : {TileKind::kShim, TileKind::kMem, TileKind::kCore}) {
    for (int m = 0; m < master_count(kind); ++m) {
      const Port port = master_port(kind, m);
      const std::string name = register_name(kind, master_offset(kind, m));
      EXPECT_NE(name.find("MASTER_CONFIG_" + upper(port)), std::string::npos) << name;
      EXPECT_EQ(master_number(kind, port), m);
    }
    for (int s = 0; s < slave_count(kind); ++s) {
      const Port port = slave_port(kind, s);
      const std::string name = register_name(kind, slave_offset(kind, s));
      EXPECT_NE(name.find(upper(port)), std::string::npos) << name << " " << port_name(port);
      EXPECT_EQ(slave_number(kind, port), s);
      const std::string slot = register_name(kind, slot_offset(kind, s, 3));
      EXPECT_NE(slot.find("SLOT3"), std::string::npos) << slot;
    }
  }
  EXPECT_EQ(master_number(TileKind::kShim, {PortKind::kNorth, 1}), 13);
  EXPECT_EQ(slave_number(TileKind::kShim, {PortKind::kSouth, 3}), 5);
  EXPECT_EQ(master_port(TileKind::kMem, 17).kind, PortKind::kNone);
}

TEST(Switch, LinksLeadToTheOppositePort) {
  const Link up = link_of({0, 0}, master_number(TileKind::kShim, {PortKind::kNorth, 1}));
  ASSERT_TRUE(up.exists);
  EXPECT_EQ(up.tile, (Tile{0, 1}));
  EXPECT_EQ(slave_port(TileKind::kMem, up.slave), (Port{PortKind::kSouth, 1}));
  EXPECT_FALSE(link_of({0, 3}, master_number(TileKind::kCore, {PortKind::kWest, 0})).exists);
  EXPECT_FALSE(link_of({0, 5}, master_number(TileKind::kCore, {PortKind::kNorth, 0})).exists);
  EXPECT_FALSE(link_of({0, 3}, master_number(TileKind::kCore, {PortKind::kDma, 0})).exists);
  const Link right = link_of({6, 2}, master_number(TileKind::kCore, {PortKind::kEast, 2}));
  ASSERT_TRUE(right.exists);
  EXPECT_EQ(slave_port(TileKind::kCore, right.slave), (Port{PortKind::kWest, 2}));
}

TEST(Switch, WiresFollowTheConnectionRules) {
  const auto wire = [](TileKind kind, Port slave, Port master) {
    return connectable(kind, slave_number(kind, slave), master_number(kind, master));
  };
  EXPECT_TRUE(wire(TileKind::kMem, {PortKind::kSouth, 1}, {PortKind::kNorth, 1}));
  EXPECT_FALSE(wire(TileKind::kMem, {PortKind::kSouth, 1}, {PortKind::kNorth, 2}));
  EXPECT_TRUE(wire(TileKind::kMem, {PortKind::kDma, 3}, {PortKind::kNorth, 0}));
  EXPECT_FALSE(wire(TileKind::kMem, {PortKind::kDma, 3}, {PortKind::kDma, 0}));
  EXPECT_TRUE(wire(TileKind::kShim, {PortKind::kSouth, 3}, {PortKind::kNorth, 5}));
  EXPECT_TRUE(wire(TileKind::kShim, {PortKind::kTileCtrl, 0}, {PortKind::kSouth, 0}));
  EXPECT_FALSE(wire(TileKind::kCore, {PortKind::kCore, 0}, {PortKind::kCore, 0}));
  EXPECT_FALSE(wire(TileKind::kCore, {PortKind::kWest, 0}, {PortKind::kWest, 1}));
  EXPECT_TRUE(wire(TileKind::kCore, {PortKind::kWest, 0}, {PortKind::kEast, 1}));
}

TEST(Switch, RegisterValuesOfRealFiles) {
  EXPECT_EQ(circuit_master(5), 0x80000005u);
  EXPECT_EQ(packet_master({5, 8, false}), 0xC0000045u);  // token route to shim South0
  EXPECT_EQ(packet_slot({true, 15, 0x1F, 3, 5}), 0x0F1F0135u);
  EXPECT_EQ(shim_mux_value(0) | shim_mux_value(1), 0x4400u);
  EXPECT_EQ(shim_demux_value(0), 0x10u);
  EXPECT_EQ(shim_demux_mask(1), 0xC0u);
  const u32 header = packet_header({3, 2, 0, 7});
  EXPECT_EQ(__builtin_popcount(header) % 2, 1);
  EXPECT_EQ(packet_id_of(header), 7);
  const ControlHeader control = decode_control_header(control_header({0x1B, ControlOp::kWrite, 2, 0x1D214}));
  EXPECT_EQ(control.beats, 2);
  EXPECT_EQ(control.offset, 0x1D214u);
  EXPECT_EQ(control.response_id, 0x1B);
}

TEST(Registers, NamesAndUnknownOffsets) {
  EXPECT_EQ(register_name(TileKind::kCore, 0x120), "DATAMEMORY+0x120");
  EXPECT_EQ(register_name(TileKind::kCore, 0x32000), "CORE_CONTROL");
  EXPECT_EQ(register_name(TileKind::kCore, 0x10000), "0x10000 (no register)");
  EXPECT_EQ(register_name(TileKind::kMem, 0xA06E4), "DMA_MM2S_1_CONSTANT_PAD_VALUE");
  EXPECT_FALSE(find_register(TileKind::kShim, 0x0));
  EXPECT_TRUE(find_register(TileKind::kShim, 0x43FFC));
  EXPECT_FALSE(find_register(TileKind::kShim, 0x44000));
  const RegisterRef mux = find_register(TileKind::kShim, kShimMux);
  ASSERT_TRUE(mux);
  EXPECT_EQ(mux.family->fields.front().msb, 15);
}

TEST(Bd, IterationCounterAloneIsWhatEncodeWrites) {
  for (const TileKind kind : {TileKind::kShim, TileKind::kMem, TileKind::kCore}) {
    Bd bd;
    bd.length = 64;
    bd.iteration_step = 16;
    bd.iteration_wrap = 64;
    auto words = encode(kind, bd);
    ASSERT_TRUE(words.ok());
    for (u32 current : {1u, 37u, 63u, 0u}) {
      bd.iteration_current = current;
      set_iteration_current(kind, *words, current);
      EXPECT_EQ(*words, *encode(kind, bd)) << kind_name(kind) << " " << current;
    }
  }
}

}  // namespace
}  // namespace tegula::arch
