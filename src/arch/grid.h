// The XDNA2 (AIE2P) array as a grid of tiles: which kind stands where, what memory and how many DMA channels,
// BDs and locks it has, and how a register address is made of column, row and offset. No file outside
// src/arch and src/emu should need a number of these again.
#pragma once

#include <compare>
#include <string>

#include "base/types.h"

namespace tegula::arch {

constexpr int kColumns = 8;
constexpr int kRows = 6;
constexpr int kTiles = kColumns * kRows;
constexpr int kShimRow = 0;
constexpr int kMemRow = 1;
constexpr int kFirstCoreRow = 2;
constexpr int kCoreRows = 4;
constexpr int kCores = kColumns * kCoreRows;

enum class TileKind : u8 { kShim, kMem, kCore };
constexpr int kTileKinds = 3;

// Direction of a DMA channel: S2MM writes memory from a stream, MM2S reads memory into a stream. The numbers
// are those of the token-wait operation of the instruction stream.
enum class Direction : u8 { kS2mm = 0, kMm2s = 1 };

constexpr TileKind tile_kind(int row) {
  return row == kShimRow ? TileKind::kShim : row == kMemRow ? TileKind::kMem : TileKind::kCore;
}
constexpr const char* kind_name(TileKind kind) {
  return kind == TileKind::kShim ? "shim" : kind == TileKind::kMem ? "mem" : "core";
}
constexpr const char* direction_name(Direction direction) {
  return direction == Direction::kS2mm ? "S2MM" : "MM2S";
}

struct Tile {
  u8 col = 0;
  u8 row = 0;

  constexpr TileKind kind() const { return tile_kind(row); }
  constexpr int index() const { return row * kColumns + col; }  // 0..kTiles-1
  constexpr auto operator<=>(const Tile&) const = default;
};
constexpr Tile tile_at(int index) {
  return {static_cast<u8>(index % kColumns), static_cast<u8>(index / kColumns)};
}
constexpr bool in_grid(int col, int row) {
  return col >= 0 && col < kColumns && row >= 0 && row < kRows;
}

// "shim (3,0)", "mem (3,1)", "core (3,4)".
std::string tile_name(Tile tile);

// ------------------------------------------------------------- register addresses

constexpr int kRowShift = 20;
constexpr int kColumnShift = 25;
constexpr u32 kOffsetMask = (1u << kRowShift) - 1;

constexpr u32 tile_address(int col, int row, u32 offset) {
  return (static_cast<u32>(col) << kColumnShift) + (static_cast<u32>(row) << kRowShift) + offset;
}
constexpr u32 tile_address(Tile tile, u32 offset) {
  return tile_address(tile.col, tile.row, offset);
}

// An address taken apart. col and row may lie outside the grid: check with valid().
struct Location {
  u8 col = 0;
  u8 row = 0;
  u32 offset = 0;

  constexpr bool valid() const { return in_grid(col, row); }
  constexpr Tile tile() const { return {col, row}; }
};
constexpr Location locate(u32 address) {
  return {static_cast<u8>(address >> kColumnShift), static_cast<u8>((address >> kRowShift) & 0x1F),
          address & kOffsetMask};
}

// ------------------------------------------------------------- sizes per tile kind

constexpr u32 kCoreDataBytes = 64 * 1024;
constexpr u32 kCoreProgramBytes = 16 * 1024;
constexpr u32 kMemTileBytes = 512 * 1024;
constexpr u32 kCoreProgramOffset = 0x20000;  // core PC 0
constexpr bool in_core_program(u32 offset) {
  return offset >= kCoreProgramOffset && offset < kCoreProgramOffset + kCoreProgramBytes;
}
constexpr u32 kCoreControl = 0x32000;  // bit 0 enable, bit 1 reset
constexpr u32 kCoreStatus = 0x32004;
constexpr u32 kCoreEnable = 1u << 0;
constexpr u32 kCoreReset = 1u << 1;
constexpr u32 kCoreDone = 1u << 20;  // CORE_STATUS

struct TileTraits {
  u32 data_bytes;  // data memory, at offset 0
  int channels;    // of each direction
  int bds;
  int bd_words;    // registers of one BD
  int dimensions;  // address dimensions without the iteration
  int locks;
};

constexpr TileTraits traits(TileKind kind) {
  switch (kind) {
    case TileKind::kShim:
      return {0, 2, 16, 8, 3, 16};
    case TileKind::kMem:
      return {kMemTileBytes, 6, 48, 8, 4, 64};
    case TileKind::kCore:
      break;
  }
  return {kCoreDataBytes, 2, 16, 6, 3, 16};
}

// What a core sees of data memories, as byte addresses in its data space, 64 KiB each.
constexpr u32 kWindowSouth = 0x40000;
constexpr u32 kWindowWest = 0x50000;
constexpr u32 kWindowNorth = 0x60000;
constexpr u32 kWindowOwn = 0x70000;
constexpr u32 kWindowBytes = 0x10000;
// Registers of the own tile for lda.tm and st.tm: core address = kWindowRegisters + register offset.
constexpr u32 kWindowRegisters = 0x80000;

// Lock numbers in core instructions, 16 each.
constexpr int kCoreLockSouth = 0;
constexpr int kCoreLockWest = 16;
constexpr int kCoreLockNorth = 32;
constexpr int kCoreLockOwn = 48;

// Mem tile BDs see three tiles: byte addresses and lock numbers of the west, own and east one.
constexpr u32 kMemWindowWest = 0x000000;
constexpr u32 kMemWindowOwn = 0x080000;
constexpr u32 kMemWindowEast = 0x100000;
constexpr int kMemLockWest = 0;
constexpr int kMemLockOwn = 64;
constexpr int kMemLockEast = 128;
constexpr int kMemNeighbourChannels = 4;  // channels 0..3 reach the neighbours, 4 and 5 only their own tile

// ------------------------------------------------------------- locks

constexpr int kLockMax = 63;
constexpr u32 kLockStride = 0x10;
constexpr u32 lock_base(TileKind kind) {
  return kind == TileKind::kCore ? 0x1F000 : kind == TileKind::kMem ? 0xC0000 : 0x14000;
}
constexpr u32 lock_offset(TileKind kind, int lock) {
  return lock_base(kind) + static_cast<u32>(lock) * kLockStride;
}
// Reading window + lock*0x400 + (acquire ? 0x200 : 0) + ((value & 0x7F) << 2) makes a request; bit 0 of the
// answer is 1 if it worked.
constexpr u32 lock_request_base(TileKind kind) {
  return kind == TileKind::kMem ? 0xD0000 : 0x40000;
}

}  // namespace tegula::arch
