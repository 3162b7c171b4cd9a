// The controller: executes the instruction stream (array.md 15), one operation after the other.
#include "emu/engine.h"

#include "base/hex.h"
#include "emu/cost_model.h"

namespace tegula::emu {

using arch::Tile;
using arch::TileKind;

namespace {

Tile tile_of(u32 address) {
  const arch::Location at = arch::locate(address);
  return at.valid() ? at.tile() : Tile{};
}

}  // namespace

void Engine::controller_step() {
  if (controller_.next == controller_.stream.ops.size()) {
    controller_.running = false;
    return;
  }
  const format::TxnOp& op = controller_.stream.ops[controller_.next];
  if (races_) races_->set_operation(controller_.next);
  if (!controller_op(op) || failure_) return;
  ++report_.controller_ops;
  ++report_.ops_by_code[static_cast<u8>(op.opcode)];
  record({.kind = TimelineEvent::Kind::kControllerOp,
          .start = now_,
          .end = now_ + cost::kControllerOpCycles,
          .words = static_cast<u32>(op.opcode)});
  ++controller_.next;
  queue_.push(now_ + cost::kControllerOpCycles, kControllerComponent, 0);
}

bool Engine::stream_write(u32 address, u32 value, u32 mask) {
  const auto done = mask == 0xFFFFFFFF ? write(address, value) : mask_write(address, mask, value);
  if (!done.ok() && !failure_) fault(RunEnd::kStreamError, tile_of(address), done.error().message);
  return done.ok();
}

bool Engine::controller_op(const format::TxnOp& op) {
  const auto unsupported = [&] {
    fault(RunEnd::kStreamError, {},
          std::string("stream operation ") + format::txn_opcode_name(op.opcode) + " at byte " +
              std::to_string(op.offset) + " is not supported by the emulated controller");
    return false;
  };
  if (const auto* write_op = std::get_if<format::TxnWrite>(&op.body)) {
    return stream_write(static_cast<u32>(write_op->address), write_op->value, 0xFFFFFFFF);
  }
  if (const auto* block = std::get_if<format::TxnBlockWrite>(&op.body)) {
    const auto done = block_write(static_cast<u32>(block->address), controller_.stream.data(*block));
    if (!done.ok() && !failure_) {
      fault(RunEnd::kStreamError, tile_of(static_cast<u32>(block->address)), done.error().message);
    }
    return done.ok();
  }
  if (const auto* mask = std::get_if<format::TxnMaskWrite>(&op.body)) {
    return stream_write(static_cast<u32>(mask->address), mask->value, mask->mask);
  }
  if (const auto* wait = std::get_if<format::TxnMaskPoll>(&op.body)) return poll(*wait);
  if (const auto* wait = std::get_if<format::TxnTokenWait>(&op.body)) return take_tokens(*wait);
  if (const auto* ddr = std::get_if<format::TxnDdrPatch>(&op.body)) return patch(*ddr);
  const bool marker = std::holds_alternative<format::TxnNoop>(op.body) ||
                      std::holds_alternative<format::TxnPreempt>(op.body) ||
                      std::holds_alternative<format::TxnRecordTimer>(op.body);
  return marker || unsupported();
}

// One token from the channel of every tile of the rectangle, column by column.
bool Engine::take_tokens(const format::TxnTokenWait& wait) {
  const u32 rows = wait.rows;
  const u32 count = wait.columns * rows;
  for (; controller_.tokens_taken < count; ++controller_.tokens_taken) {
    const int col = wait.column + static_cast<int>(controller_.tokens_taken / rows);
    const int row = wait.row + static_cast<int>(controller_.tokens_taken % rows);
    if (!arch::in_grid(col, row) || wait.channel >= arch::traits(arch::tile_kind(row)).channels) {
      fault(RunEnd::kStreamError, {},
            "token wait for channel " + std::to_string(wait.channel) + " of tile (" + std::to_string(col) +
                "," + std::to_string(row) + "), which does not exist");
      return false;
    }
    TileState& tile = at({static_cast<u8>(col), static_cast<u8>(row)});
    Channel& channel = tile.channels[static_cast<u8>(wait.direction)][wait.channel];
    if (channel.tokens == 0) {
      controller_.waiting = &channel;
      return false;
    }
    --channel.tokens;
    if (races_ && !channel.token_clocks.empty()) {
      races_->join(kControllerActor, channel.token_clocks.front());
      channel.token_clocks.pop_front();
    }
  }
  controller_.tokens_taken = 0;
  return true;
}

bool Engine::poll(const format::TxnMaskPoll& op) {
  const auto value = read(static_cast<u32>(op.address));
  if (!value.ok()) {
    fault(RunEnd::kStreamError, tile_of(static_cast<u32>(op.address)), value.error().message);
    return false;
  }
  controller_.polling = (*value & op.mask) != op.value;
  // If nothing else can happen the register will never change: no further event, so the run ends as a
  // deadlock.
  if (controller_.polling && !(queue_.empty() && runnable_.empty())) {
    queue_.push(now_ + cost::kPollCycles, kControllerComponent, 0);
  }
  if (races_ && !controller_.polling) polled(static_cast<u32>(op.address));
  return !controller_.polling;
}

// Diagnosis: a register told something of whom it belongs to.
void Engine::polled(u32 address) {
  const arch::Location at_reg = arch::locate(address);
  if (!at_reg.valid()) return;
  const TileState& tile = at(at_reg.tile());
  const TileKind kind = tile.tile.kind();
  const arch::TileTraits traits = arch::traits(kind);
  for (int i = 0; i < traits.locks; ++i) {
    if (at_reg.offset == arch::lock_offset(kind, i)) races_->lock_seen(tile.locks[i].clocks);
  }
  for (const arch::Direction direction : {arch::Direction::kS2mm, arch::Direction::kMm2s}) {
    for (int c = 0; c < traits.channels; ++c) {
      if (at_reg.offset != arch::channel_status(kind, direction, c)) continue;
      races_->order(Races::channel(tile.tile, direction, c), races_->outside());
    }
  }
  if (tile.core != nullptr && at_reg.offset == arch::kCoreStatus) {
    races_->order(Races::core(tile.tile), races_->outside());
  }
  if (at_reg.offset < traits.data_bytes) races_->memory_seen(tile.tile, at_reg.offset);
}

// Words 1 and 2 of a shim BD become the device address of a buffer: argument base + offset, replaced and not
// added.
bool Engine::patch(const format::TxnDdrPatch& op) {
  const arch::Location at_reg = arch::locate(static_cast<u32>(op.register_address));
  const u32 base = arch::bd_base(TileKind::kShim);
  const u32 end = arch::bd_offset(TileKind::kShim, arch::traits(TileKind::kShim).bds);
  if (!at_reg.valid() || at_reg.row != arch::kShimRow || at_reg.offset < base || at_reg.offset >= end ||
      (at_reg.offset - base) % arch::kBdStride != 4) {
    fault(RunEnd::kStreamError, {}, "DDR patch of " + hex(op.register_address) + ": not word 1 of a shim BD");
    return false;
  }
  if (op.argument >= controller_.arguments.size()) {
    fault(RunEnd::kStreamError, at_reg.tile(),
          "DDR patch uses argument " + std::to_string(op.argument) + ", the command has " +
              std::to_string(controller_.arguments.size()));
    return false;
  }
  const u64 address =
      (controller_.arguments[op.argument] + op.offset + arch::kDdrOffset) & arch::kDeviceAddressMask;
  TileState& tile = at(at_reg.tile());
  const u32 bd = (at_reg.offset - base) / arch::kBdStride;
  tile.bd_words[bd][1] = static_cast<u32>(address) & ~3u;
  tile.bd_words[bd][2] = (tile.bd_words[bd][2] & 0xFFFF0000u) | static_cast<u32>(address >> 32);
  tile.bd_fresh[bd] = false;
  return true;
}

}  // namespace tegula::emu
