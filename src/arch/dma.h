// DMA of the array: buffer descriptors (BDs) as a struct with their register form per tile kind, and the
// offsets of channel control, start queue and status registers.
#pragma once

#include <array>
#include <span>

#include "arch/grid.h"
#include "base/result.h"
#include "base/types.h"

namespace tegula::arch {

// ------------------------------------------------------------- buffer descriptors

constexpr int kMaxBdWords = 8;
using BdWords = std::array<u32, kMaxBdWords>;

// One address dimension. wrap 0 means "never wraps", so that the dimensions above do not move. The last
// dimension (D2 on core and shim, D3 on mem) has no wrap: it runs until the length is done.
struct BdDimension {
  u32 step = 1;  // words, at least 1
  u32 wrap = 0;  // steps, 0 = never
  bool operator==(const BdDimension&) const = default;
};

// A BD in plain units: lengths and steps in 32-bit words as they are (registers hold steps minus 1),
// addresses in bytes. Word k of a run is at address + 4 * (iteration_current*iteration_step + i0*step0 +
// i1*step1 + ...), i0 innermost.
struct Bd {
  u64 address = 0;  // bytes, multiple of 4. core: in the tile; mem: in the window of three tiles
                    // (kMemWindowOwn + x); shim: 48-bit device address
  u32 length = 0;   // words of one run
  std::array<BdDimension, 4> dims{};  // D3 on mem only
  u32 iteration_step = 1;             // words, added for each load of the BD
  u32 iteration_wrap = 1;             // loads until the iteration starts again, 1 = no iteration, up to 64
  u32 iteration_current = 0;

  bool valid = true;
  bool use_next = false;
  u8 next = 0;
  bool suppress_tlast = false;  // MM2S ends a packet with the last word unless set

  bool acquire = false;  // off: no lock is waited for
  u8 acquire_lock = 0;   // own lock; mem: in the window of three tiles (kMemLockOwn + x)
  i8 acquire_value = 0;  // -n: wait for at least n and take n; >= 0: wait for equal
  u8 release_lock = 0;
  i8 release_value = 0;  // 0: no release

  bool packet = false;  // MM2S puts a packet header in front
  u8 packet_id = 0;     // 0..31
  u8 packet_type = 0;   // 0..7
  u8 out_of_order_id = 0;
  bool compress = false;  // core and mem

  std::array<u8, 3> pad_before{};  // mem, MM2S: D0 in words, D1 in rows, D2 in blocks
  std::array<u8, 3> pad_after{};

  u8 burst = 0;  // shim: 0 = 64 B, 1 = 128 B, 2 = 256 B, 3 = 512 B
  u8 smid = 0;
  u8 ax_cache = 0;
  u8 ax_qos = 0;
  bool secure = false;

  bool operator==(const Bd&) const = default;
};

// The register words of a BD (core: 6, the last two are 0). Fails with kOutOfRange, naming the field, when a
// value does not fit, and with kInvalidArgument when a field is set that this kind of tile has not.
Result<BdWords> encode(TileKind kind, const Bd& bd);

// Reads traits(kind).bd_words words; missing words count as 0. Never fails: every bit pattern means
// something.
Bd decode(TileKind kind, std::span<const u32> words);

// Writes the iteration counter of a BD in register form; the hardware moves it on at each load.
constexpr void set_iteration_current(TileKind kind, BdWords& words, u32 current) {
  const int word = kind == TileKind::kCore ? 4 : 6;
  const int lsb = kind == TileKind::kCore ? 19 : kind == TileKind::kMem ? 23 : 26;
  words[word] = (words[word] & ~(0x3Fu << lsb)) | (current & 0x3F) << lsb;
}

constexpr u32 bd_base(TileKind kind) {
  return kind == TileKind::kMem ? 0xA0000 : 0x1D000;
}
constexpr u32 kBdStride = 0x20;  // bytes
constexpr u32 bd_offset(TileKind kind, int bd) {
  return bd_base(kind) + static_cast<u32>(bd) * kBdStride;
}

// Mem tile: even channels may only use BDs 0..23, odd channels only 24..47. Elsewhere any channel may use any
// BD.
constexpr bool bd_allowed(TileKind kind, int channel, int bd) {
  if (bd < 0 || bd >= traits(kind).bds) return false;
  return kind != TileKind::kMem || (channel % 2 == 0) == (bd < 24);
}

// ------------------------------------------------------------- channels

constexpr int kQueueDepth = 4;  // tasks that wait; one more runs
constexpr int kMaxRepeat = 256;

constexpr u32 channel_base(TileKind kind, Direction direction) {
  const bool mm2s = direction == Direction::kMm2s;
  switch (kind) {
    case TileKind::kShim:
      return mm2s ? 0x1D210 : 0x1D200;
    case TileKind::kMem:
      return mm2s ? 0xA0630 : 0xA0600;
    case TileKind::kCore:
      break;
  }
  return mm2s ? 0x1DE10 : 0x1DE00;
}
constexpr u32 channel_ctrl(TileKind kind, Direction direction, int channel) {
  return channel_base(kind, direction) + 8 * static_cast<u32>(channel);
}
constexpr u32 channel_queue(TileKind kind, Direction direction, int channel) {
  return channel_ctrl(kind, direction, channel) + 4;
}
constexpr u32 channel_status(TileKind kind, Direction direction, int channel) {
  const bool mm2s = direction == Direction::kMm2s;
  const u32 base = kind == TileKind::kShim  ? (mm2s ? 0x1D228 : 0x1D220)
                   : kind == TileKind::kMem ? (mm2s ? 0xA0680 : 0xA0660)
                                            : (mm2s ? 0x1DF10 : 0x1DF00);
  return base + 4 * static_cast<u32>(channel);
}
constexpr u32 kPadValueBase = 0xA06E0;  // mem MM2S: padding word of channel i at + 4*i

// CTRL fields. Core and mem: bit 1 resets the channel; shim: bits 2:1 pause it.
constexpr u32 kCtrlReset = 1u << 1;
constexpr u32 kCtrlPauseMask = 3u << 1;
constexpr u32 kCtrlOutOfOrder = 1u << 3;
constexpr u32 kCtrlCompress = 1u << 4;
constexpr int kCtrlControllerShift = 8;  // 8 bits; the low 5 are the packet id of the token
// Finish-on-TLAST: 0 off, 1 on, 2 with counts in the tokens, 3 with counts in a FIFO that reads empty.
constexpr u32 kCtrlFotMask = 3u << 16;
constexpr u32 kCtrlFotFifo = 3u << 16;
constexpr u32 fot_count_pop(TileKind kind, int channel) {  // S2MM
  const u32 base = kind == TileKind::kShim ? 0x1D238 : kind == TileKind::kMem ? 0xA06C8 : 0x1DF20;
  return base + 4 * static_cast<u32>(channel);
}
// An entry of that FIFO.
constexpr u32 fot_count(int bd, u64 words, bool last_in_task) {
  return 1u << 31 | static_cast<u32>(last_in_task) << 30 | static_cast<u32>(bd & 0x3F) << 24 |
         static_cast<u32>(words & 0x3FFFF);
}

struct Task {
  u8 first_bd = 0;
  u16 repeat = 1;      // runs of the chain, 1..256
  bool token = false;  // tell the controller when the last run is done
  bool operator==(const Task&) const = default;
};
constexpr u32 encode_task(const Task& task) {
  return (task.token ? 1u << 31 : 0u) | (static_cast<u32>(task.repeat - 1) & 0xFF) << 16 | task.first_bd;
}
constexpr Task decode_task(TileKind kind, u32 word) {
  return {static_cast<u8>(word & (kind == TileKind::kMem ? 0x3F : 0xF)),
          static_cast<u16>(((word >> 16) & 0xFF) + 1), (word >> 31) != 0};
}

// Device addresses: the shim sees host memory at +2 GiB. Whoever patches a BD adds this to the buffer's
// device address.
constexpr u64 kDdrOffset = 0x80000000;
constexpr u64 kDeviceAddressMask = (1ull << 48) - 1;

}  // namespace tegula::arch
