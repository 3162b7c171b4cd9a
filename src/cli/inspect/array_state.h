// What a configuration leaves in the array: register writes replayed into a plain model of every tile.
// Nothing runs here; the model says what each tile holds once all writes are done.
#pragma once

#include <array>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "arch/dma.h"
#include "arch/grid.h"
#include "arch/stream_switch.h"
#include "base/bytes.h"
#include "format/cdo.h"

namespace tegula::cli {

// Consecutive bytes of a memory that were written; a block write begins a new piece.
struct MemoryPiece {
  u32 offset = 0;
  Bytes bytes;
};

// Writes to a memory in any order; the last one wins. Takes 12 bytes for each word written.
class WordLog {
 public:
  // A block write begins here.
  void begin(u32 offset) { starts_.push_back(offset); }
  void write(u32 offset, u32 mask, u32 value) { words_.push_back({offset, mask, value}); }
  bool empty() const { return words_.empty(); }
  // Sorted and disjoint. A byte counts as written when the mask of a write reaches into it.
  std::vector<MemoryPiece> pieces() const;

 private:
  struct Word {
    u32 offset, mask, value;
  };
  std::vector<Word> words_;
  std::vector<u32> starts_;
};

struct BdState {
  bool written = false;
  arch::BdWords words{};
};

struct ChannelState {
  bool ctrl_written = false;
  u32 ctrl = 0;
  std::vector<arch::Task> tasks;  // in the order of the pushes
};

inline constexpr int kMaxLocks = 64;
inline constexpr int kMaxBds = 48;
inline constexpr int kMaxChannels = 6;

struct TileState {
  arch::Tile tile;
  bool touched = false;
  WordLog program_log, data_log;
  std::array<i16, kMaxLocks> locks{};  // -1: never written
  std::array<BdState, kMaxBds> bds{};
  std::array<std::array<ChannelState, kMaxChannels>, 2> channels{};  // [direction]
  std::array<u32, arch::kMaxPorts> masters{}, slaves{};
  std::array<std::array<u32, arch::kSlotsPerSlave>, arch::kMaxPorts> slots{};
  u32 mux = 0, demux = 0;
  bool core_control_written = false;
  u32 core_control = 0;
  std::map<u32, u32> others;  // offset -> value of every other register

  bool enabled() const { return (core_control & arch::kCoreEnable) != 0; }
  const ChannelState& channel(arch::Direction direction, int number) const {
    return channels[static_cast<size_t>(direction)][static_cast<size_t>(number)];
  }
};

// Register writes by kind. A command counts as named when every word of it falls on a documented register or
// memory.
struct WriteCounts {
  u64 commands = 0;  // without no-ops
  u64 writes = 0, mask_writes = 0, block_writes = 0, noops = 0;
  u64 words = 0;
  u64 named = 0;
  std::vector<u32> unnamed;  // addresses, at most kMaxUnnamed
};
inline constexpr size_t kMaxUnnamed = 64;

class ArrayState {
 public:
  ArrayState();
  void apply(const format::CdoCommand& command);
  void apply(std::span<const format::CdoCommand> commands);
  // One word; `mask` tells which bits change.
  void write(u32 address, u32 mask, u32 value);

  const TileState& at(arch::Tile tile) const { return tiles_[static_cast<size_t>(tile.index())]; }
  std::span<const TileState> tiles() const { return tiles_; }
  const WriteCounts& counts() const { return counts_; }

 private:
  bool named(u32 address, u64 words) const;
  void begin_block(u32 address);

  std::vector<TileState> tiles_;
  WriteCounts counts_;
};

// The bytes of a memory from 0 to the last one written, zero where nothing was; at most `limit` bytes.
Bytes memory_image(std::span<const MemoryPiece> pieces, u32 limit);

}  // namespace tegula::cli
