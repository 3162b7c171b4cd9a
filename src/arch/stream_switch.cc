// Port tables, links and wires of the stream switches. Source: Xilinx/aie-rt port tables
// (xaie2pgbl_reginit.c) and connection rules (xaie_ss_aieml.c).
#include "arch/stream_switch.h"

#include <span>

namespace tegula::arch {
namespace {

struct PortRange {
  PortKind kind;
  u8 count;
};

constexpr PortRange kCoreMasters[] = {{PortKind::kCore, 1},  {PortKind::kDma, 2},   {PortKind::kTileCtrl, 1},
                                      {PortKind::kFifo, 1},  {PortKind::kSouth, 4}, {PortKind::kWest, 4},
                                      {PortKind::kNorth, 6}, {PortKind::kEast, 4}};
// The last two are the traces of core and memory.
constexpr PortRange kCoreSlaves[] = {{PortKind::kCore, 1},  {PortKind::kDma, 2},   {PortKind::kTileCtrl, 1},
                                     {PortKind::kFifo, 1},  {PortKind::kSouth, 6}, {PortKind::kWest, 4},
                                     {PortKind::kNorth, 4}, {PortKind::kEast, 4},  {PortKind::kTrace, 2}};
constexpr PortRange kMemMasters[] = {
    {PortKind::kDma, 6}, {PortKind::kTileCtrl, 1}, {PortKind::kSouth, 4}, {PortKind::kNorth, 6}};
constexpr PortRange kMemSlaves[] = {{PortKind::kDma, 6},
                                    {PortKind::kTileCtrl, 1},
                                    {PortKind::kSouth, 6},
                                    {PortKind::kNorth, 4},
                                    {PortKind::kTrace, 1}};
constexpr PortRange kShimMasters[] = {{PortKind::kTileCtrl, 1}, {PortKind::kFifo, 1},  {PortKind::kSouth, 6},
                                      {PortKind::kWest, 4},     {PortKind::kNorth, 6}, {PortKind::kEast, 4}};
constexpr PortRange kShimSlaves[] = {{PortKind::kTileCtrl, 1}, {PortKind::kFifo, 1},  {PortKind::kSouth, 8},
                                     {PortKind::kWest, 4},     {PortKind::kNorth, 4}, {PortKind::kEast, 4},
                                     {PortKind::kTrace, 1}};

std::span<const PortRange> masters_of(TileKind kind) {
  if (kind == TileKind::kShim) return kShimMasters;
  if (kind == TileKind::kMem) return kMemMasters;
  return kCoreMasters;
}
std::span<const PortRange> slaves_of(TileKind kind) {
  if (kind == TileKind::kShim) return kShimSlaves;
  if (kind == TileKind::kMem) return kMemSlaves;
  return kCoreSlaves;
}

int count_of(std::span<const PortRange> ranges) {
  int count = 0;
  for (const PortRange& range : ranges) count += range.count;
  return count;
}

Port port_of(std::span<const PortRange> ranges, int number) {
  if (number < 0) return {};
  for (const PortRange& range : ranges) {
    if (number < range.count) return {range.kind, static_cast<u8>(number)};
    number -= range.count;
  }
  return {};
}

int number_of(std::span<const PortRange> ranges, Port port) {
  int first = 0;
  for (const PortRange& range : ranges) {
    if (range.kind == port.kind) return port.index < range.count ? first + port.index : -1;
    first += range.count;
  }
  return -1;
}

bool is_side(PortKind kind) {
  return kind == PortKind::kSouth || kind == PortKind::kNorth || kind == PortKind::kEast ||
         kind == PortKind::kWest;
}

bool core_wire(Port slave, Port master) {
  switch (slave.kind) {
    case PortKind::kCore:
      return master.kind != PortKind::kCore;
    case PortKind::kTileCtrl:
      return master.kind != PortKind::kTileCtrl && master.kind != PortKind::kDma;
    case PortKind::kTrace:
      return master.kind == PortKind::kFifo || master.kind == PortKind::kSouth ||
             master == Port{PortKind::kDma, 0};
    default:
      return slave.kind != master.kind || slave.index == master.index;
  }
}

bool mem_wire(Port slave, Port master) {
  const bool vertical = master.kind == PortKind::kNorth || master.kind == PortKind::kSouth;
  switch (slave.kind) {
    case PortKind::kDma:
      return vertical || master.kind == PortKind::kTileCtrl ||
             (master.kind == PortKind::kDma && master.index == slave.index);
    case PortKind::kNorth:
    case PortKind::kSouth:
      return master.kind == PortKind::kDma || master.kind == PortKind::kTileCtrl ||
             (vertical && master.index == slave.index);
    case PortKind::kTileCtrl:
      return vertical || master == Port{PortKind::kDma, 5};
    case PortKind::kTrace:
      return master.kind == PortKind::kSouth || master == Port{PortKind::kDma, 5};
    default:
      return false;
  }
}

bool shim_wire(Port slave, Port master) {
  switch (slave.kind) {
    case PortKind::kTileCtrl:
      return master.kind != PortKind::kTileCtrl;
    case PortKind::kTrace:
      return master.kind == PortKind::kFifo || master.kind == PortKind::kSouth ||
             master == Port{PortKind::kWest, 0} || master == Port{PortKind::kEast, 0};
    case PortKind::kSouth:
    case PortKind::kFifo:
      return true;
    default:
      return !is_side(slave.kind) || slave.kind != master.kind || slave.index == master.index;
  }
}

}  // namespace

int master_count(TileKind kind) {
  return count_of(masters_of(kind));
}
int slave_count(TileKind kind) {
  return count_of(slaves_of(kind));
}
Port master_port(TileKind kind, int number) {
  return port_of(masters_of(kind), number);
}
Port slave_port(TileKind kind, int number) {
  return port_of(slaves_of(kind), number);
}
int master_number(TileKind kind, Port port) {
  return number_of(masters_of(kind), port);
}
int slave_number(TileKind kind, Port port) {
  return number_of(slaves_of(kind), port);
}

std::string port_name(Port port) {
  const char* name = "none";
  switch (port.kind) {
    case PortKind::kNone:
      return "none";
    case PortKind::kCore:
      return "Core";
    case PortKind::kTileCtrl:
      return "TileCtrl";
    case PortKind::kFifo:
      return "FIFO";
    case PortKind::kDma:
      name = "DMA";
      break;
    case PortKind::kSouth:
      name = "South";
      break;
    case PortKind::kWest:
      name = "West";
      break;
    case PortKind::kNorth:
      name = "North";
      break;
    case PortKind::kEast:
      name = "East";
      break;
    case PortKind::kTrace:
      name = "Trace";
      break;
  }
  return name + std::to_string(port.index);
}

Link link_of(Tile tile, int master) {
  const Port port = master_port(tile.kind(), master);
  int col = tile.col;
  int row = tile.row;
  PortKind entry = PortKind::kNone;
  switch (port.kind) {
    case PortKind::kNorth:
      ++row;
      entry = PortKind::kSouth;
      break;
    case PortKind::kSouth:
      --row;
      entry = PortKind::kNorth;
      break;
    case PortKind::kEast:
      ++col;
      entry = PortKind::kWest;
      break;
    case PortKind::kWest:
      --col;
      entry = PortKind::kEast;
      break;
    default:
      return {};
  }
  if (!in_grid(col, row)) return {};
  const Tile to{static_cast<u8>(col), static_cast<u8>(row)};
  const int slave = slave_number(to.kind(), {entry, port.index});
  if (slave < 0) return {};
  return {true, to, slave};
}

bool connectable(TileKind kind, int slave, int master) {
  const Port from = slave_port(kind, slave);
  const Port to = master_port(kind, master);
  if (from.kind == PortKind::kNone || to.kind == PortKind::kNone) return false;
  if (kind == TileKind::kMem) return mem_wire(from, to);
  return kind == TileKind::kShim ? shim_wire(from, to) : core_wire(from, to);
}

}  // namespace tegula::arch
