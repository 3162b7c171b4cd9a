// Stream switches: port numbers, configuration registers, links between tiles, and the shim's connection to
// its DMA. A port number is the index used for the register address and for the circuit configuration value.
#pragma once

#include <string>

#include "arch/grid.h"
#include "base/types.h"

namespace tegula::arch {

enum class PortKind : u8 {
  kNone,      // no such port
  kCore,      // the core's own 32-bit stream
  kDma,       // master DMA i feeds S2MM channel i, slave DMA i is MM2S channel i
  kTileCtrl,  // control packets in, tokens and read answers out
  kFifo,
  kSouth,
  kWest,
  kNorth,
  kEast,
  kTrace,
};

struct Port {
  PortKind kind = PortKind::kNone;
  u8 index = 0;
  bool operator==(const Port&) const = default;
};

constexpr int kMaxPorts = 25;
constexpr int kSlotsPerSlave = 4;
constexpr int kArbiters = 8;
constexpr int kMasterSelects = 4;

int master_count(TileKind kind);
int slave_count(TileKind kind);
Port master_port(TileKind kind, int number);  // kNone outside the range
Port slave_port(TileKind kind, int number);
int master_number(TileKind kind, Port port);  // -1: no such port
int slave_number(TileKind kind, Port port);
std::string port_name(Port port);  // "North1", "DMA0", "TileCtrl"

constexpr u32 switch_base(TileKind kind) {
  return kind == TileKind::kMem ? 0xB0000 : 0x3F000;
}
constexpr u32 master_offset(TileKind kind, int master) {
  return switch_base(kind) + 4 * static_cast<u32>(master);
}
constexpr u32 slave_offset(TileKind kind, int slave) {
  return switch_base(kind) + 0x100 + 4 * static_cast<u32>(slave);
}
constexpr u32 slot_offset(TileKind kind, int slave, int slot) {
  return switch_base(kind) + 0x200 + 0x10 * static_cast<u32>(slave) + 4 * static_cast<u32>(slot);
}

// ------------------------------------------------------------- register values

constexpr u32 kPortEnable = 1u << 31;
constexpr u32 kPortPacket = 1u << 30;

constexpr u32 circuit_slave() {
  return kPortEnable;
}
constexpr u32 circuit_master(int slave) {
  return kPortEnable | static_cast<u32>(slave);
}
constexpr u32 packet_slave() {
  return kPortEnable | kPortPacket;
}

struct PacketMaster {
  u8 arbiter = 0;     // 0..7
  u8 select = 0;      // one bit per msel value 0..3
  bool drop = false;  // remove the header word on the way out
};
constexpr u32 packet_master(const PacketMaster& m) {
  return kPortEnable | kPortPacket | (m.drop ? 0x80u : 0u) | static_cast<u32>(m.select) << 3 | m.arbiter;
}
constexpr PacketMaster decode_packet_master(u32 word) {
  return {static_cast<u8>(word & 7), static_cast<u8>((word >> 3) & 0xF), (word & 0x80) != 0};
}

// A packet whose (id & mask) equals the slot's id goes to every master with this arbiter whose select has bit
// msel.
struct PacketSlot {
  bool enable = true;
  u8 id = 0;
  u8 mask = 0x1F;
  u8 msel = 0;
  u8 arbiter = 0;
};
constexpr u32 packet_slot(const PacketSlot& s) {
  return static_cast<u32>(s.id) << 24 | static_cast<u32>(s.mask) << 16 | (s.enable ? 0x100u : 0u) |
         static_cast<u32>(s.msel) << 4 | s.arbiter;
}
constexpr PacketSlot decode_packet_slot(u32 word) {
  return {(word & 0x100) != 0, static_cast<u8>((word >> 24) & 0x1F), static_cast<u8>((word >> 16) & 0x1F),
          static_cast<u8>((word >> 4) & 3), static_cast<u8>(word & 7)};
}

// First word of a packet. Bit 31 makes the parity of the word odd.
struct PacketHeader {
  u8 col = 0;
  u8 row = 0;
  u8 type = 0;  // 0..7
  u8 id = 0;    // 0..31
  u8 bd = 0;    // 0..63: the receiver's BD, where its channel takes packets out of order (layout: aiebu)
};
constexpr u32 odd_parity(u32 low31) {
  u32 fold = low31 & 0x7FFFFFFF;
  u32 ones = 0;
  for (; fold != 0; fold &= fold - 1) ++ones;
  return (low31 & 0x7FFFFFFF) | ((ones & 1) == 0 ? 1u << 31 : 0u);
}
constexpr u32 packet_header(const PacketHeader& h) {
  return odd_parity(static_cast<u32>(h.col) << 21 | static_cast<u32>(h.row) << 16 |
                    static_cast<u32>(h.type & 7) << 12 | static_cast<u32>(h.bd & 0x3F) << 5 | (h.id & 0x1Fu));
}
constexpr u8 packet_id_of(u32 header) {
  return static_cast<u8>(header & 0x1F);
}
constexpr u8 packet_bd_of(u32 header) {
  return static_cast<u8>(header >> 5 & 0x3F);
}

// Second word of a control packet, which a tile takes at master TileCtrl.
enum class ControlOp : u8 { kWrite = 0, kRead = 1, kWriteIncrement = 2, kBlockWrite = 3 };
struct ControlHeader {
  u8 response_id = 0;  // 7 bits
  ControlOp op = ControlOp::kWrite;
  u8 beats = 1;    // data words, 1..4
  u32 offset = 0;  // tile offset, 20 bits
};
constexpr u32 control_header(const ControlHeader& h) {
  return odd_parity(static_cast<u32>(h.response_id & 0x7F) << 24 | static_cast<u32>(h.op) << 22 |
                    static_cast<u32>((h.beats - 1) & 3) << 20 | (h.offset & kOffsetMask));
}
constexpr ControlHeader decode_control_header(u32 word) {
  return {static_cast<u8>((word >> 24) & 0x7F), static_cast<ControlOp>((word >> 22) & 3),
          static_cast<u8>(((word >> 20) & 3) + 1), word & kOffsetMask};
}

constexpr u8 kTokenPacketId = 15;  // controller id that every public program gives the shim channels
constexpr u8 kTokenPacketType = 6;

// ------------------------------------------------------------- links

struct Link {
  bool exists = false;
  Tile tile;       // of the slave
  int slave = -1;  // its number there
};
// Where a master that points out of the tile leads. exists is false at the edge of the array and for local
// masters.
Link link_of(Tile tile, int master);

// Whether the switch of this kind of tile has the wire from slave to master.
bool connectable(TileKind kind, int slave, int master);

// ------------------------------------------------------------- shim and DMA

constexpr u32 kShimMux = 0x1F000;    // what feeds a slave South port
constexpr u32 kShimDemux = 0x1F004;  // where a master South port goes
constexpr u32 kShimSelectPl = 0;
constexpr u32 kShimSelectDma = 1;
constexpr u32 kShimSelectNoc = 2;

// Shim MM2S channel i enters the switch at slave South 3 (i = 0) or South 7 (i = 1); master South 2 and 3
// lead to S2MM 0 and 1; master South 0 leads to the controller (tokens).
constexpr int shim_mm2s_south(int channel) {
  return channel == 0 ? 3 : 7;
}
constexpr int shim_s2mm_south(int channel) {
  return 2 + channel;
}
constexpr int kShimTokenSouth = 0;
constexpr int shim_mux_shift(int channel) {
  return channel == 0 ? 10 : 14;
}  // 2-bit field of kShimMux
constexpr int shim_demux_shift(int channel) {
  return channel == 0 ? 4 : 6;
}  // of kShimDemux
constexpr u32 shim_mux_mask(int channel) {
  return 3u << shim_mux_shift(channel);
}
constexpr u32 shim_demux_mask(int channel) {
  return 3u << shim_demux_shift(channel);
}
constexpr u32 shim_mux_value(int channel) {
  return kShimSelectDma << shim_mux_shift(channel);
}
constexpr u32 shim_demux_value(int channel) {
  return kShimSelectDma << shim_demux_shift(channel);
}

}  // namespace tegula::arch
