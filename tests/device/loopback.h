// The smallest design that moves data: shim (0,0) MM2S0 -> mem tile (0,1) -> shim S2MM0, no core. As PDI and
// stream.
#pragma once

#include "arch/dma.h"
#include "arch/grid.h"
#include "arch/stream_switch.h"
#include "base/bytes.h"
#include "format/pdi.h"
#include "format/txn.h"

namespace tegula::device {

inline constexpr u32 kLoopWords = 256;  // one buffer of the mem tile
inline constexpr u64 kLoopBytes = 4 * kLoopWords;

inline Bytes loopback_pdi() {
  using arch::PortKind;
  using arch::TileKind;
  format::CdoWriter cdo;
  auto at = [](int row, u32 offset) { return arch::tile_address(0, row, offset); };
  auto connect = [&](int row, arch::Port from, arch::Port to) {
    const TileKind kind = arch::tile_kind(row);
    const int slave = arch::slave_number(kind, from);
    cdo.write(at(row, arch::slave_offset(kind, slave)), arch::circuit_slave());
    cdo.write(at(row, arch::master_offset(kind, arch::master_number(kind, to))), arch::circuit_master(slave));
  };
  connect(0, {PortKind::kSouth, static_cast<u8>(arch::shim_mm2s_south(0))}, {PortKind::kNorth, 0});
  connect(0, {PortKind::kNorth, 0}, {PortKind::kSouth, static_cast<u8>(arch::shim_s2mm_south(0))});
  connect(1, {PortKind::kSouth, 0}, {PortKind::kDma, 0});
  connect(1, {PortKind::kDma, 0}, {PortKind::kSouth, 0});
  cdo.mask_write(at(0, arch::kShimMux), arch::shim_mux_mask(0), arch::shim_mux_value(0));
  cdo.mask_write(at(0, arch::kShimDemux), arch::shim_demux_mask(0), arch::shim_demux_value(0));
  // Tokens of the shim to the controller.
  const int control = arch::slave_number(TileKind::kShim, {PortKind::kTileCtrl, 0});
  const int south = arch::master_number(TileKind::kShim, {PortKind::kSouth, arch::kShimTokenSouth});
  cdo.write(at(0, arch::slave_offset(TileKind::kShim, control)), arch::packet_slave());
  cdo.write(at(0, arch::slot_offset(TileKind::kShim, control, 0)),
            arch::packet_slot({.id = arch::kTokenPacketId, .mask = 0x1F, .msel = 3, .arbiter = 5}));
  cdo.write(at(0, arch::master_offset(TileKind::kShim, south)),
            arch::packet_master({.arbiter = 5, .select = 8}));
  // One buffer, lock 0 = empty, lock 1 = full; both channels loop for ever.
  cdo.write(at(1, arch::lock_offset(TileKind::kMem, 0)), 1);
  cdo.write(at(1, arch::lock_offset(TileKind::kMem, 1)), 0);
  for (u8 i = 0; i < 2; ++i) {
    arch::Bd bd;
    bd.address = arch::kMemWindowOwn;
    bd.length = kLoopWords;
    bd.use_next = true;
    bd.next = i;
    bd.acquire = true;
    bd.acquire_lock = static_cast<u8>(arch::kMemLockOwn + i);
    bd.acquire_value = -1;
    bd.release_lock = static_cast<u8>(arch::kMemLockOwn + 1 - i);
    bd.release_value = 1;
    const arch::BdWords words = arch::encode(TileKind::kMem, bd).value();
    cdo.block_write(at(1, arch::bd_offset(TileKind::kMem, i)), words);
    const arch::Direction direction = i == 0 ? arch::Direction::kS2mm : arch::Direction::kMm2s;
    cdo.write(at(1, arch::channel_queue(TileKind::kMem, direction, 0)), arch::encode_task({.first_bd = i}));
  }
  return format::write_pdi(cdo.commands());
}

// Moves `blocks` times kLoopBytes from argument 0 to argument 1. `send` blocks are pushed in: fewer than
// `blocks` hang.
inline Bytes loopback_stream(u32 blocks, u32 send, u64 in_offset = 0) {
  using arch::Direction;
  using arch::TileKind;
  format::TxnWriter txn;
  const u32 s2mm_ctrl = arch::tile_address(0, 0, arch::channel_ctrl(TileKind::kShim, Direction::kS2mm, 0));
  txn.mask_write(s2mm_ctrl, u32{arch::kTokenPacketId} << arch::kCtrlControllerShift, 0x1F00);
  auto transfer = [&](Direction direction, u8 bd_number, u32 argument, u64 offset, u32 words, bool token) {
    arch::Bd bd;
    bd.length = words;
    bd.burst = 3;
    const arch::BdWords encoded = arch::encode(TileKind::kShim, bd).value();
    const u32 address = arch::tile_address(0, 0, arch::bd_offset(TileKind::kShim, bd_number));
    txn.block_write(address, encoded);
    txn.ddr_patch(address + 4, argument, offset);
    txn.write32(arch::tile_address(0, 0, arch::channel_queue(TileKind::kShim, direction, 0)),
                arch::encode_task({.first_bd = bd_number, .token = token}));
  };
  transfer(Direction::kS2mm, 0, 1, 0, blocks * kLoopWords, true);
  transfer(Direction::kMm2s, 1, 0, in_offset, send * kLoopWords, false);
  txn.token_wait(0, 0, 1, 1, format::TxnDirection::kS2mm, 0);
  return txn.finish();
}

}  // namespace tegula::device
