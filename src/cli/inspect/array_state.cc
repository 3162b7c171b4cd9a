#include "cli/inspect/array_state.h"

#include <algorithm>

#include "arch/registers.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::TileKind;

u32 merge(u32 old, u32 mask, u32 value) {
  return (old & ~mask) | (value & mask);
}

bool write_bd(TileState& tile, u32 offset, u32 mask, u32 value) {
  const TileKind kind = tile.tile.kind();
  const u32 base = arch::bd_base(kind);
  if (offset < base || offset >= arch::bd_offset(kind, arch::traits(kind).bds)) return false;
  const u32 word = (offset - base) % arch::kBdStride / 4;
  if (word >= static_cast<u32>(arch::traits(kind).bd_words)) return false;
  BdState& bd = tile.bds[(offset - base) / arch::kBdStride];
  bd.written = true;
  bd.words[word] = merge(bd.words[word], mask, value);
  return true;
}

bool write_lock(TileState& tile, u32 offset, u32 mask, u32 value) {
  const TileKind kind = tile.tile.kind();
  const u32 base = arch::lock_base(kind);
  if (offset < base || offset >= arch::lock_offset(kind, arch::traits(kind).locks)) return false;
  if ((offset - base) % arch::kLockStride != 0) return false;
  i16& lock = tile.locks[(offset - base) / arch::kLockStride];
  lock = static_cast<i16>(merge(lock < 0 ? 0 : static_cast<u32>(lock), mask, value) & 0x3F);
  return true;
}

bool write_channel(TileState& tile, u32 offset, u32 mask, u32 value) {
  const TileKind kind = tile.tile.kind();
  for (const Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
    const u32 base = arch::channel_base(kind, direction);
    const u32 end = base + 8 * static_cast<u32>(arch::traits(kind).channels);
    if (offset < base || offset >= end) continue;
    ChannelState& channel = tile.channels[static_cast<size_t>(direction)][(offset - base) / 8];
    if ((offset - base) % 8 == 0) {
      channel.ctrl = merge(channel.ctrl, mask, value);
      channel.ctrl_written = true;
    } else {
      channel.tasks.push_back(arch::decode_task(kind, value & mask));
    }
    return true;
  }
  return false;
}

bool write_switch(TileState& tile, u32 offset, u32 mask, u32 value) {
  const TileKind kind = tile.tile.kind();
  const u32 base = arch::switch_base(kind);
  if (offset < base || offset >= base + 0x400) return false;
  const u32 at = offset - base;
  const auto masters = static_cast<u32>(arch::master_count(kind));
  const auto slaves = static_cast<u32>(arch::slave_count(kind));
  u32* place = nullptr;
  if (at < 0x100) {
    if (at / 4 < masters) place = &tile.masters[at / 4];
  } else if (at < 0x200) {
    if ((at - 0x100) / 4 < slaves) place = &tile.slaves[(at - 0x100) / 4];
  } else if ((at - 0x200) / 0x10 < slaves) {
    place = &tile.slots[(at - 0x200) / 0x10][at / 4 % 4];
  }
  if (place == nullptr) return false;
  *place = merge(*place, mask, value);
  return true;
}

bool write_single(TileState& tile, u32 offset, u32 mask, u32 value) {
  const TileKind kind = tile.tile.kind();
  if (kind == TileKind::kCore && offset == arch::kCoreControl) {
    tile.core_control = merge(tile.core_control, mask, value);
    tile.core_control_written = true;
    return true;
  }
  if (kind == TileKind::kShim && (offset == arch::kShimMux || offset == arch::kShimDemux)) {
    u32& place = offset == arch::kShimMux ? tile.mux : tile.demux;
    place = merge(place, mask, value);
    return true;
  }
  return false;
}

bool in_program(TileKind kind, u32 offset) {
  return kind == TileKind::kCore && arch::in_core_program(offset);
}

}  // namespace

std::vector<MemoryPiece> WordLog::pieces() const {
  std::vector<Word> sorted = words_;
  const auto before = [](const Word& a, const Word& b) { return a.offset < b.offset; };
  if (!std::is_sorted(sorted.begin(), sorted.end(), before))
    std::stable_sort(sorted.begin(), sorted.end(), before);
  std::vector<u32> starts = starts_;
  std::sort(starts.begin(), starts.end());
  std::vector<MemoryPiece> out;
  for (size_t i = 0; i < sorted.size();) {
    const u32 offset = sorted[i].offset;
    bool begins = std::binary_search(starts.begin(), starts.end(), offset);
    u32 value = 0, written = 0;
    for (; i < sorted.size() && sorted[i].offset == offset; ++i) {
      value = merge(value, sorted[i].mask, sorted[i].value);
      written |= sorted[i].mask;
    }
    for (u32 byte = 0; byte < 4; ++byte) {
      if ((written >> (8 * byte) & 0xFF) == 0) continue;
      const u32 at = offset + byte;
      if (out.empty() || begins || out.back().offset + out.back().bytes.size() != at) out.push_back({at, {}});
      begins = false;
      out.back().bytes.push_back(static_cast<u8>(value >> (8 * byte)));
    }
  }
  return out;
}

ArrayState::ArrayState() : tiles_(arch::kTiles) {
  for (int i = 0; i < arch::kTiles; ++i) {
    tiles_[static_cast<size_t>(i)].tile = arch::tile_at(i);
    tiles_[static_cast<size_t>(i)].locks.fill(-1);
  }
}

void ArrayState::write(u32 address, u32 mask, u32 value) {
  const arch::Location at = arch::locate(address);
  if (!at.valid()) return;
  TileState& tile = tiles_[static_cast<size_t>(at.tile().index())];
  const TileKind kind = at.tile().kind();
  tile.touched = true;
  const u32 offset = at.offset & ~3u;
  if (in_program(kind, offset)) return tile.program_log.write(offset - arch::kCoreProgramOffset, mask, value);
  if (offset < arch::traits(kind).data_bytes) return tile.data_log.write(offset, mask, value);
  if (write_bd(tile, offset, mask, value) || write_lock(tile, offset, mask, value)) return;
  if (write_channel(tile, offset, mask, value) || write_switch(tile, offset, mask, value)) return;
  if (write_single(tile, offset, mask, value)) return;
  u32& other = tile.others[offset];
  other = merge(other, mask, value);
}

void ArrayState::begin_block(u32 address) {
  const arch::Location at = arch::locate(address);
  if (!at.valid()) return;
  TileState& tile = tiles_[static_cast<size_t>(at.tile().index())];
  const TileKind kind = at.tile().kind();
  const u32 offset = at.offset & ~3u;
  if (in_program(kind, offset)) tile.program_log.begin(offset - arch::kCoreProgramOffset);
  if (offset < arch::traits(kind).data_bytes) tile.data_log.begin(offset);
}

// Long runs lie inside one memory, so both ends tell; short ones are looked up word by word.
bool ArrayState::named(u32 address, u64 words) const {
  const auto one = [](u64 at) {
    if (at > 0xFFFFFFFFu) return false;
    const arch::Location place = arch::locate(static_cast<u32>(at));
    return place.valid() && static_cast<bool>(arch::find_register(place.tile().kind(), place.offset));
  };
  const arch::Location place = arch::locate(address);
  if (words == 0) return one(address);
  const u64 last = address + 4 * (words - 1);
  const bool memory = place.valid() && (place.offset < arch::traits(place.tile().kind()).data_bytes ||
                                        in_program(place.tile().kind(), place.offset));
  if (memory && arch::locate(static_cast<u32>(last)).tile() == place.tile()) return one(address) && one(last);
  for (u64 at = address; at <= last; at += 4) {
    if (!one(at)) return false;
  }
  return true;
}

void ArrayState::apply(const format::CdoCommand& command) {
  u64 words = 1;
  switch (command.kind) {
    case format::CdoKind::kNop:
      ++counts_.noops;
      return;
    case format::CdoKind::kMaskWrite:
      ++counts_.mask_writes;
      write(command.address, command.mask, command.value);
      break;
    case format::CdoKind::kWrite:
      ++counts_.writes;
      write(command.address, 0xFFFFFFFF, command.value);
      break;
    case format::CdoKind::kBlockWrite:
      ++counts_.block_writes;
      words = command.words.size();
      begin_block(command.address);
      for (size_t i = 0; i < command.words.size(); ++i) {
        write(command.address + static_cast<u32>(4 * i), 0xFFFFFFFF, command.words[i]);
      }
      break;
  }
  ++counts_.commands;
  counts_.words += words;
  if (named(command.address, words)) {
    ++counts_.named;
  } else if (counts_.unnamed.size() < kMaxUnnamed) {
    counts_.unnamed.push_back(command.address);
  }
}

void ArrayState::apply(std::span<const format::CdoCommand> commands) {
  for (const format::CdoCommand& command : commands) apply(command);
}

Bytes memory_image(std::span<const MemoryPiece> pieces, u32 limit) {
  Bytes out;
  for (const MemoryPiece& piece : pieces) {
    if (piece.offset >= limit) break;
    const u64 size = std::min<u64>(piece.bytes.size(), limit - piece.offset);
    out.resize(piece.offset + size, 0);
    std::copy_n(piece.bytes.begin(), size, out.begin() + piece.offset);
  }
  return out;
}

}  // namespace tegula::cli
