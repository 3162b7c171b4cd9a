#include "compiler/emit/array_writer.h"

#include <algorithm>
#include <string>

namespace tegula::compiler {

using arch::Bd;
using arch::Direction;
using arch::PortKind;
using arch::TileKind;

void ArrayWriter::write(int col, int row, u32 offset, u32 value) {
  cdo_.write(arch::tile_address(col, row, offset), value);
}

void ArrayWriter::mask(int col, int row, u32 offset, u32 mask, u32 value) {
  cdo_.mask_write(arch::tile_address(col, row, offset), mask, value);
}

void ArrayWriter::block(int col, int row, u32 offset, std::span<const u32> words) {
  cdo_.block_write(arch::tile_address(col, row, offset), words);
}

void ArrayWriter::lock(int col, int row, int lock, u32 value) {
  write(col, row, arch::lock_offset(arch::tile_kind(row), lock), value);
}

void ArrayWriter::bd(int col, int row, int number, const Bd& bd) {
  const TileKind kind = arch::tile_kind(row);
  auto words = arch::encode(kind, bd);
  if (!words.ok()) {
    if (status_.ok()) status_ = words.error();
    return;
  }
  block(col, row, arch::bd_offset(kind, number), std::span(words->data(), arch::traits(kind).bd_words));
}

void ArrayWriter::start(int col, int row, Direction direction, int channel, int first_bd) {
  const TileKind kind = arch::tile_kind(row);
  write(col, row, arch::channel_queue(kind, direction, channel),
        arch::encode_task({.first_bd = static_cast<u8>(first_bd)}));
  mask(col, row, arch::channel_ctrl(kind, direction, channel), 0, 0);
}

void ArrayWriter::connect(int col, int row, arch::Port slave, arch::Port master) {
  const TileKind kind = arch::tile_kind(row);
  const int s = arch::slave_number(kind, slave);
  const int m = arch::master_number(kind, master);
  write(col, row, arch::slave_offset(kind, s), arch::circuit_slave());
  write(col, row, arch::master_offset(kind, m), arch::circuit_master(s));
}

void ArrayWriter::shim_channel(int col, Direction direction, int channel) {
  if (direction == Direction::kMm2s) {
    mask(col, 0, arch::kShimMux, arch::shim_mux_mask(channel), arch::shim_mux_value(channel));
  } else {
    mask(col, 0, arch::kShimDemux, arch::shim_demux_mask(channel), arch::shim_demux_value(channel));
  }
}

void ArrayWriter::token_route(int col) {
  const int slave = arch::slave_number(TileKind::kShim, port(PortKind::kTileCtrl, 0));
  const int master = arch::master_number(TileKind::kShim, port(PortKind::kSouth, arch::kShimTokenSouth));
  constexpr u8 kArbiter = 5, kMsel = 3;
  write(col, 0, arch::slave_offset(TileKind::kShim, slave), arch::packet_slave());
  write(col, 0, arch::slot_offset(TileKind::kShim, slave, 0),
        arch::packet_slot({.id = arch::kTokenPacketId, .mask = 0x1F, .msel = kMsel, .arbiter = kArbiter}));
  write(col, 0, arch::master_offset(TileKind::kShim, master),
        arch::packet_master({.arbiter = kArbiter, .select = 1 << kMsel}));
}

void ArrayWriter::reset_dma(int col, int row, bool reset) {
  for (Direction direction : {Direction::kMm2s, Direction::kS2mm}) {
    for (int channel = 0; channel < 2; ++channel) {
      mask(col, row, arch::channel_ctrl(TileKind::kCore, direction, channel), arch::kCtrlReset,
           reset ? arch::kCtrlReset : 0);
    }
  }
}

void ArrayWriter::stop_core(int col, int row) {
  mask(col, row, arch::kCoreControl, arch::kCoreEnable, 0);
  reset_dma(col, row, true);
}

void ArrayWriter::program(int col, int row, ByteSpan code) {
  std::vector<u32> words((code.size() + 3) / 4, 0);
  std::copy(code.begin(), code.end(), reinterpret_cast<u8*>(words.data()));
  block(col, row, arch::kCoreProgramOffset, words);
}

void ArrayWriter::release_dma(int col, int row) {
  reset_dma(col, row, false);
}

void ArrayWriter::reset_core(int col, int row) {
  mask(col, row, arch::kCoreControl, arch::kCoreReset, arch::kCoreReset);
  mask(col, row, arch::kCoreControl, arch::kCoreReset, 0);
}

void ArrayWriter::enable_core(int col, int row) {
  mask(col, row, arch::kCoreControl, arch::kCoreEnable, arch::kCoreEnable);
}

Result<std::vector<format::CdoCommand>> ArrayWriter::finish() const {
  TRY(status_);
  return cdo_.commands();
}

Result<void> StreamWriter::transfer(const Transfer& t) {
  if (t.repeat < 1 || t.repeat > arch::kMaxRepeat) {
    return fail(Code::kOutOfRange, "a shim task runs 1..256 times, " + std::to_string(t.repeat) + " wanted");
  }
  Bd bd;
  bd.address = t.offset & arch::kDeviceAddressMask;
  bd.length = static_cast<u32>(t.bytes / 4);
  bd.burst = 3;
  bd.ax_cache = 2;
  if (t.stride != 0 && t.repeat > 1) {
    if (t.repeat > 64) {
      return fail(Code::kOutOfRange,
                  "a BD iterates at most 64 times, " + std::to_string(t.repeat) + " wanted");
    }
    bd.iteration_step = static_cast<u32>(t.stride / 4);
    bd.iteration_wrap = static_cast<u32>(t.repeat);
  }
  TRY_ASSIGN(const arch::BdWords words, arch::encode(TileKind::kShim, bd));
  const u32 bd_address = arch::tile_address(t.col, 0, arch::bd_offset(TileKind::kShim, t.bd));
  txn_.block_write(bd_address, std::span(words.data(), 8));
  txn_.ddr_patch(bd_address + 4, t.argument, t.offset);
  txn_.write32(arch::tile_address(t.col, 0, arch::channel_queue(TileKind::kShim, t.direction, t.channel)),
               arch::encode_task({static_cast<u8>(t.bd), static_cast<u16>(t.repeat), t.token}));
  return {};
}

void StreamWriter::wait(int col, Direction direction, int channel, int columns) {
  txn_.token_wait(static_cast<u32>(col), 0, 1, static_cast<u32>(columns),
                  direction == Direction::kS2mm ? format::TxnDirection::kS2mm : format::TxnDirection::kMm2s,
                  static_cast<u32>(channel));
}

void StreamWriter::token_id(int col, Direction direction, int channel) {
  txn_.mask_write(arch::tile_address(col, 0, arch::channel_ctrl(TileKind::kShim, direction, channel)),
                  u32{arch::kTokenPacketId} << arch::kCtrlControllerShift,
                  0x1Fu << arch::kCtrlControllerShift);
}

}  // namespace tegula::compiler
