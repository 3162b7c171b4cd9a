// Routes through the stream switches (array.md 6).
#include "emu/switches.h"

#include <algorithm>

namespace tegula::emu {

using arch::Port;
using arch::PortKind;
using arch::Tile;
using arch::TileKind;

namespace {

constexpr int kMaxHops = 64;  // longer means a loop

void complain(Route& route, std::string text) {
  if (route.problem.empty()) route.problem = std::move(text);
}

std::string slave_text(Tile tile, int slave) {
  return arch::tile_name(tile) + " slave " + arch::port_name(arch::slave_port(tile.kind(), slave));
}
std::string master_text(Tile tile, int master) {
  return arch::tile_name(tile) + " master " + arch::port_name(arch::master_port(tile.kind(), master));
}

}  // namespace

void Switches::reset() {
  tiles_ = {};
  forget();
}

void Switches::forget() {
  routes_.clear();
  changed_ = true;
}

const u32* Switches::find(Tile tile, u32 offset) const {
  const TileKind kind = tile.kind();
  const u32 base = arch::switch_base(kind);
  if (offset < base || offset >= base + 0x400 || offset % 4 != 0) return nullptr;
  const u32 at_offset = offset - base;
  const State& state = at(tile);
  if (at_offset < 0x100) {
    const int master = static_cast<int>(at_offset / 4);
    return master < arch::master_count(kind) ? &state.masters[master] : nullptr;
  }
  if (at_offset < 0x200) {
    const int slave = static_cast<int>((at_offset - 0x100) / 4);
    return slave < arch::slave_count(kind) ? &state.slaves[slave] : nullptr;
  }
  const int slave = static_cast<int>((at_offset - 0x200) / 0x10);
  return slave < arch::slave_count(kind) ? &state.slots[slave][(at_offset / 4) % 4] : nullptr;
}

bool Switches::write(Tile tile, u32 offset, u32 value) {
  const u32* place = find(tile, offset);
  if (place == nullptr) return false;
  if (*place != value) {
    *const_cast<u32*>(place) = value;
    forget();
  }
  return true;
}

bool Switches::read(Tile tile, u32 offset, u32* value) const {
  const u32* place = find(tile, offset);
  if (place == nullptr) return false;
  *value = *place;
  return true;
}

int Switches::dma_slave(Tile tile, int channel) const {
  if (tile.kind() != TileKind::kShim) {
    return arch::slave_number(tile.kind(), {PortKind::kDma, static_cast<u8>(channel)});
  }
  const u32 select = (at(tile).mux >> arch::shim_mux_shift(channel)) & 3;
  if (select != arch::kShimSelectDma) return -1;
  return arch::slave_number(TileKind::kShim,
                            {PortKind::kSouth, static_cast<u8>(arch::shim_mm2s_south(channel))});
}

std::shared_ptr<const Route> Switches::route(Tile tile, int slave, int packet_id) {
  const u32 key =
      static_cast<u32>(tile.index()) << 16 | static_cast<u32>(slave) << 8 | static_cast<u8>(packet_id);
  auto& entry = routes_[key];
  if (!entry) {
    auto route = std::make_shared<Route>();
    walk(*route, tile, slave, packet_id, 0);
    std::sort(route->arbiters.begin(), route->arbiters.end());
    route->arbiters.erase(std::unique(route->arbiters.begin(), route->arbiters.end()), route->arbiters.end());
    if (route->sinks.empty()) complain(*route, slave_text(tile, slave) + " feeds no master port");
    entry = std::move(route);
  }
  return entry;
}

void Switches::walk(Route& route, Tile tile, int slave, int packet_id, int depth) const {
  if (depth > kMaxHops) return complain(route, "the route runs in a circle at " + slave_text(tile, slave));
  const State& state = at(tile);
  const u32 config = state.slaves[slave];
  if ((config & arch::kPortEnable) == 0) return complain(route, slave_text(tile, slave) + " is not enabled");
  const int masters = arch::master_count(tile.kind());
  if ((config & arch::kPortPacket) == 0) {
    for (int m = 0; m < masters; ++m) {
      const u32 word = state.masters[m];
      if ((word & arch::kPortEnable) == 0 || (word & arch::kPortPacket) != 0) continue;
      if (static_cast<int>(word & 0x7F) == slave) leave(route, tile, slave, m, packet_id, false, depth);
    }
    return;
  }
  if (packet_id == kCircuit) {
    return complain(route, "a circuit stream enters packet-switched " + slave_text(tile, slave));
  }
  for (u32 word : state.slots[slave]) {
    const arch::PacketSlot slot = arch::decode_packet_slot(word);
    if (!slot.enable || (packet_id & slot.mask) != slot.id) continue;
    route.arbiters.push_back(static_cast<u16>(tile.index() * arch::kArbiters + slot.arbiter));
    for (int m = 0; m < masters; ++m) {
      const u32 master = state.masters[m];
      if ((master & arch::kPortEnable) == 0 || (master & arch::kPortPacket) == 0) continue;
      const arch::PacketMaster config_m = arch::decode_packet_master(master);
      if (config_m.arbiter != slot.arbiter || ((config_m.select >> slot.msel) & 1) == 0) continue;
      leave(route, tile, slave, m, packet_id, config_m.drop, depth);
    }
    return;
  }
  complain(route, slave_text(tile, slave) + " has no slot for packet id " + std::to_string(packet_id));
}

void Switches::leave(Route& route, Tile tile, int slave, int master, int packet_id, bool drop,
                     int depth) const {
  const TileKind kind = tile.kind();
  if (!arch::connectable(kind, slave, master)) {
    return complain(route, slave_text(tile, slave) + " has no wire to master " +
                               arch::port_name(arch::master_port(kind, master)));
  }
  route.ports.push_back({tile, static_cast<u8>(master)});
  const Port port = arch::master_port(kind, master);
  switch (port.kind) {
    case PortKind::kDma:
      route.sinks.push_back({Sink::Kind::kChannel, tile, port.index, drop});
      return;
    case PortKind::kCore:
      route.sinks.push_back({Sink::Kind::kCore, tile, 0, drop});
      return;
    case PortKind::kTileCtrl:
      route.sinks.push_back({Sink::Kind::kControl, tile, 0, drop});
      return;
    case PortKind::kFifo:
      return complain(route, master_text(tile, master) + " leads to a switch FIFO, not supported");
    default:
      break;
  }
  if (kind == TileKind::kShim && port.kind == PortKind::kSouth) {
    if (port.index == arch::kShimTokenSouth) {
      route.sinks.push_back({Sink::Kind::kToken, tile, 0, drop});
      return;
    }
    for (u8 channel = 0; channel < 2; ++channel) {
      if (port.index != arch::shim_s2mm_south(channel)) continue;
      if (((at(tile).demux >> arch::shim_demux_shift(channel)) & 3) != arch::kShimSelectDma) break;
      route.sinks.push_back({Sink::Kind::kChannel, tile, channel, drop});
      return;
    }
    return complain(route, master_text(tile, master) + " is not connected to the DMA by DEMUX_CONFIG");
  }
  const arch::Link link = arch::link_of(tile, master);
  if (!link.exists) return complain(route, master_text(tile, master) + " leads out of the array");
  if (drop)
    return complain(route,
                    master_text(tile, master) + " drops the packet header before the packet has arrived");
  walk(route, link.tile, link.slave, packet_id, depth + 1);
}

}  // namespace tegula::emu
