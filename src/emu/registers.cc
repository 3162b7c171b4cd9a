// Register space of the tiles: memories, BDs, channels, locks, switches and core control have a model, every
// other documented register keeps what is written, and an address without a register is an error.
#include "arch/registers.h"

#include "base/hex.h"
#include "emu/engine.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {

struct ChannelRegister {
  Direction direction;
  int channel;
  bool queue;  // CTRL otherwise
};

std::optional<ChannelRegister> channel_register(TileKind kind, u32 offset) {
  const int channels = arch::traits(kind).channels;
  for (Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
    const u32 base = arch::channel_base(kind, direction);
    if (offset >= base && offset < base + 8 * static_cast<u32>(channels)) {
      const u32 at = offset - base;
      return ChannelRegister{direction, static_cast<int>(at / 8), at % 8 == 4};
    }
  }
  return std::nullopt;
}

// BD number and word of an offset in the BD registers that exist.
std::optional<std::pair<int, int>> bd_register(TileKind kind, u32 offset) {
  const arch::TileTraits traits = arch::traits(kind);
  const u32 base = arch::bd_base(kind);
  if (offset < base || offset >= base + arch::kBdStride * static_cast<u32>(traits.bds)) return std::nullopt;
  const int word = static_cast<int>((offset - base) % arch::kBdStride / 4);
  if (word >= traits.bd_words) return std::nullopt;
  return std::pair{static_cast<int>((offset - base) / arch::kBdStride), word};
}

std::optional<int> lock_register(TileKind kind, u32 offset) {
  const u32 base = arch::lock_base(kind);
  const u32 locks = static_cast<u32>(arch::traits(kind).locks);
  if (offset < base || offset >= base + locks * arch::kLockStride) return std::nullopt;
  if ((offset - base) % arch::kLockStride != 0) return std::nullopt;
  return static_cast<int>((offset - base) / arch::kLockStride);
}

}  // namespace

// ------------------------------------------------------------- by address

Result<void> Engine::write(u32 address, u32 value) {
  const arch::Location at_address = arch::locate(address);
  if (!at_address.valid()) {
    return fail(Code::kNotFound, "write of " + hex(value) + " to " + hex(address) + ": no tile at column " +
                                     std::to_string(at_address.col) + ", row " +
                                     std::to_string(at_address.row));
  }
  return write_tile(at_address.tile(), at_address.offset, value);
}

Result<void> Engine::mask_write(u32 address, u32 mask, u32 value) {
  TRY_ASSIGN(const u32 old, read(address));
  return write(address, (old & ~mask) | (value & mask));
}

Result<void> Engine::block_write(u32 address, std::span<const u32> words) {
  const arch::Location first = arch::locate(address);
  const u64 bytes = words.size() * 4;
  // Sections of data and program memory are long: copied as a whole.
  if (first.valid() && first.offset % 4 == 0) {
    TileState& tile = at(first.tile());
    const u32 data_bytes = arch::traits(tile.tile.kind()).data_bytes;
    if (first.offset + bytes <= data_bytes) {
      std::memcpy(tile.data + first.offset, words.data(), bytes);
      if (poison_) poison_->write(tile.data + first.offset, bytes);
      if (races_) races_->outside_write(tile.data + first.offset, bytes, now_);
      return {};
    }
  }
  for (size_t i = 0; i < words.size(); ++i) TRY(write(address + 4 * static_cast<u32>(i), words[i]));
  return {};
}

Result<u32> Engine::read(u32 address) {
  const arch::Location at_address = arch::locate(address);
  if (!at_address.valid()) {
    return fail(Code::kNotFound, "read of " + hex(address) + ": no tile at column " +
                                     std::to_string(at_address.col) + ", row " +
                                     std::to_string(at_address.row));
  }
  const auto value = read_tile(at_address.tile(), at_address.offset);
  if (!value) {
    return fail(Code::kNotFound, "read of " + arch::tile_name(at_address.tile()) + " offset " +
                                     hex(at_address.offset) + ": no such register");
  }
  return *value;
}

// ------------------------------------------------------------- writes

Result<void> Engine::write_tile(Tile t, u32 offset, u32 value) {
  TileState& tile = at(t);
  bool known = offset % 4 == 0;
  if (known) {
    known = write_memory(tile, offset, value) || write_dma(tile, offset, value) ||
            write_locks(tile, offset, value) || switches_.write(t, offset, value) ||
            write_special(tile, offset, value);
  }
  if (!known) {
    return fail(Code::kNotFound, "write of " + hex(value) + " to " + arch::tile_name(t) + " offset " +
                                     hex(offset) + ": no such register");
  }
  if (failure_) return fail(Code::kDevice, failure_->message);
  return {};
}

bool Engine::write_memory(TileState& tile, u32 offset, u32 value) {
  if (offset < arch::traits(tile.tile.kind()).data_bytes) {
    store_le(tile.data + offset, value);
    if (poison_) poison_->write(tile.data + offset, sizeof value);
    if (races_) races_->outside_write(tile.data + offset, sizeof value, now_);
    return true;
  }
  if (tile.core == nullptr || !arch::in_core_program(offset)) return false;
  store_le(tile.program.data() + (offset - arch::kCoreProgramOffset), value);
  tile.core->program_dirty = true;
  return true;
}

bool Engine::write_dma(TileState& tile, u32 offset, u32 value) {
  const TileKind kind = tile.tile.kind();
  if (const auto bd = bd_register(kind, offset)) {
    tile.bd_words[bd->first][bd->second] = value;
    tile.bd_fresh[bd->first] = false;
    return true;
  }
  const auto reg = channel_register(kind, offset);
  if (!reg) return false;
  Channel& channel = tile.channels[static_cast<int>(reg->direction)][reg->channel];
  if (reg->queue) {
    push_task(channel, value);
    return true;
  }
  const u32 old = channel.ctrl;
  channel.ctrl = value;
  if (kind == TileKind::kShim) {
    channel.paused = (value & arch::kCtrlPauseMask) != 0;
    if (!channel.paused && channel.state == Channel::State::kReady) acquired(channel);
  } else if ((value & arch::kCtrlReset) != 0 && (old & arch::kCtrlReset) == 0) {
    reset_channel(channel);
  }
  return true;
}

bool Engine::write_locks(TileState& tile, u32 offset, u32 value) {
  const auto number = lock_register(tile.tile.kind(), offset);
  if (!number) return false;
  LockState& state = tile.locks[*number];
  const i32 old = state.value;
  state.value = static_cast<i32>(value & arch::kLockMax);
  state.origins.clear();
  if (races_) races_->lock_set(state.clocks, state.value);
  changed(state, {}, state.value - old);
  wake({tile.tile, static_cast<u8>(*number)});
  return true;
}

bool Engine::write_special(TileState& tile, u32 offset, u32 value) {
  const TileKind kind = tile.tile.kind();
  if (kind == TileKind::kShim && offset == arch::kShimMux) {
    switches_.set_mux(tile.tile, value);
    return true;
  }
  if (kind == TileKind::kShim && offset == arch::kShimDemux) {
    switches_.set_demux(tile.tile, value);
    return true;
  }
  if (kind == TileKind::kCore && offset == arch::kCoreControl) {
    control_core(tile, value);
    return true;
  }
  const u32 window = arch::lock_request_base(kind);
  if (offset >= window && offset < window + static_cast<u32>(arch::traits(kind).locks) * 0x400) return false;
  if (!arch::find_register(kind, offset)) return false;
  tile.stubs[offset] = value;
  return true;
}

// ------------------------------------------------------------- reads

std::optional<u32> Engine::read_tile(Tile t, u32 offset) {
  TileState& tile = at(t);
  const TileKind kind = t.kind();
  if (offset % 4 != 0) return std::nullopt;
  if (offset < arch::traits(kind).data_bytes) return load_le<u32>(tile.data + offset);
  if (tile.core != nullptr && arch::in_core_program(offset)) {
    return load_le<u32>(tile.program.data() + (offset - arch::kCoreProgramOffset));
  }
  if (const auto value = read_dma(tile, offset)) return value;
  if (const auto number = lock_register(kind, offset)) return static_cast<u32>(tile.locks[*number].value);
  if (u32 value = 0; switches_.read(t, offset, &value)) return value;
  if (kind == TileKind::kShim && offset == arch::kShimMux) return switches_.mux(t);
  if (kind == TileKind::kShim && offset == arch::kShimDemux) return switches_.demux(t);
  if (kind == TileKind::kCore && offset == arch::kCoreControl) return tile.core->control;
  if (kind == TileKind::kCore && offset == arch::kCoreStatus) {
    const auto state = tile.core->state;
    constexpr u32 kLockStallOwn = 1u << 9;
    return tile.core->control | (state == CoreSlot::State::kDone ? arch::kCoreDone : 0u) |
           (state == CoreSlot::State::kLockWait ? kLockStallOwn : 0u);
  }
  const u32 window = arch::lock_request_base(kind);
  if (offset >= window && offset < window + static_cast<u32>(arch::traits(kind).locks) * 0x400) {
    return lock_request(tile, offset - window);
  }
  const arch::RegisterRef ref = arch::find_register(kind, offset);
  if (!ref) return std::nullopt;
  if (ref.family->pattern == "TIMER_LOW") return static_cast<u32>(now_);
  if (ref.family->pattern == "TIMER_HIGH") return static_cast<u32>(now_ >> 32);
  const auto stub = tile.stubs.find(offset);
  return stub == tile.stubs.end() ? 0 : stub->second;
}

std::optional<u32> Engine::read_dma(TileState& tile, u32 offset) {
  const TileKind kind = tile.tile.kind();
  if (const auto bd = bd_register(kind, offset)) return tile.bd_words[bd->first][bd->second];
  if (const auto reg = channel_register(kind, offset)) {
    return reg->queue ? 0 : tile.channels[static_cast<int>(reg->direction)][reg->channel].ctrl;
  }
  for (Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
    for (int c = 0; c < arch::traits(kind).channels; ++c) {
      if (direction == Direction::kS2mm && offset == arch::fot_count_pop(kind, c)) {
        std::deque<u32>& counts = tile.channels[0][c].finish_counts;
        if (counts.empty()) return 0;
        const u32 entry = counts.front();
        counts.pop_front();
        return entry;
      }
      if (offset == arch::channel_status(kind, direction, c)) {
        return channel_status(tile.channels[static_cast<int>(direction)][c]);
      }
    }
  }
  return std::nullopt;
}

u32 Engine::channel_status(const Channel& channel) const {
  using State = Channel::State;
  const bool idle = channel.state == State::kIdle;
  u32 value = idle ? 0 : 2;  // 0 idle, 2 running
  if (channel.state == State::kLockWait) value |= 1u << 2;
  if (channel.state == State::kReady) value |= 1u << 4;  // starved or under back-pressure
  if (channel.overflow) value |= 1u << 18;
  if (!idle || !channel.queue.empty()) value |= 1u << 19;
  value |= static_cast<u32>(channel.queue.size()) << 20;
  return value | static_cast<u32>(idle ? 0 : channel.bd_number) << 24;
}

// window + lock*0x400 + (acquire ? 0x200 : 0) + ((value & 0x7F) << 2): the read makes the request.
u32 Engine::lock_request(TileState& tile, u32 offset) {
  const LockRef ref{tile.tile, static_cast<u8>(offset / 0x400)};
  const u32 raw = (offset >> 2) & 0x7F;
  const i32 amount = raw < 64 ? static_cast<i32>(raw) : static_cast<i32>(raw) - 128;
  if ((offset & 0x200) == 0) {
    release(ref, amount, {}, 0);
    return 1;
  }
  const bool granted = try_acquire(lock(ref), amount, {}, nullptr);
  if (granted) wake(ref);
  return granted ? 1 : 0;
}

}  // namespace tegula::emu
