#include "cli/inspect/routes.h"

#include <algorithm>
#include <set>

namespace tegula::cli {
namespace {

using arch::PortKind;
using arch::Tile;
using arch::TileKind;

constexpr int kCircuit = -1;

std::string slave_text(Tile tile, int slave) {
  return arch::tile_name(tile) + " slave " + arch::port_name(arch::slave_port(tile.kind(), slave));
}
std::string master_text(Tile tile, int master) {
  return arch::tile_name(tile) + " master " + arch::port_name(arch::master_port(tile.kind(), master));
}

// The shim's DMA channel behind a slave South port, or -1.
int shim_channel(const TileState& tile, int south) {
  for (int channel = 0; channel < 2; ++channel) {
    if (south != arch::shim_mm2s_south(channel)) continue;
    return (tile.mux >> arch::shim_mux_shift(channel) & 3) == arch::kShimSelectDma ? channel : -1;
  }
  return -1;
}

// Follows one stream. Every slave port has one link into it, so meeting one twice means a circle.
class Walk {
 public:
  Walk(const ArrayState& array, Route& route) : array_(array), route_(route) {}

  void enter(Tile tile, int slave, int packet_id) {
    if (!seen_.insert({tile.index(), slave}).second)
      return complain("runs in a circle at " + slave_text(tile, slave));
    const TileState& state = array_.at(tile);
    const u32 config = state.slaves[static_cast<size_t>(slave)];
    if ((config & arch::kPortEnable) == 0) return complain(slave_text(tile, slave) + " is not enabled");
    if ((config & arch::kPortPacket) == 0) return circuit(state, slave, packet_id);
    packet(state, slave, packet_id);
  }

 private:
  void complain(std::string text) { route_.problems.push_back(std::move(text)); }

  void circuit(const TileState& state, int slave, int packet_id) {
    bool fed = false;
    for (int m = 0; m < arch::master_count(state.tile.kind()); ++m) {
      const u32 word = state.masters[static_cast<size_t>(m)];
      if ((word & arch::kPortEnable) == 0 || (word & arch::kPortPacket) != 0) continue;
      if (static_cast<int>(word & 0x7F) != slave) continue;
      fed = true;
      leave(state, slave, m, packet_id, false);
    }
    if (!fed) complain(slave_text(state.tile, slave) + " feeds no master");
  }

  // A circuit stream that enters a packet port carries its header in its own words, so every slot may take
  // it.
  void packet(const TileState& state, int slave, int packet_id) {
    bool matched = false;
    for (const u32 word : state.slots[static_cast<size_t>(slave)]) {
      const arch::PacketSlot slot = arch::decode_packet_slot(word);
      if (!slot.enable) continue;
      if (packet_id != kCircuit && (packet_id & slot.mask) != slot.id) continue;
      matched = true;
      arbiter(state, slave, packet_id == kCircuit ? slot.id : packet_id, slot);
      if (packet_id != kCircuit) return;
    }
    route_.no_slot = route_.no_slot || !matched;
    if (!matched)
      complain(slave_text(state.tile, slave) + " has no slot for packet id " + std::to_string(packet_id));
  }

  void arbiter(const TileState& state, int slave, int packet_id, const arch::PacketSlot& slot) {
    bool fed = false;
    for (int m = 0; m < arch::master_count(state.tile.kind()); ++m) {
      const u32 word = state.masters[static_cast<size_t>(m)];
      if ((word & arch::kPortEnable) == 0 || (word & arch::kPortPacket) == 0) continue;
      const arch::PacketMaster master = arch::decode_packet_master(word);
      if (master.arbiter != slot.arbiter || (master.select >> slot.msel & 1) == 0) continue;
      fed = true;
      leave(state, slave, m, packet_id, master.drop);
    }
    if (!fed) {
      complain(slave_text(state.tile, slave) + " sends id " + std::to_string(packet_id) + " to arbiter " +
               std::to_string(slot.arbiter) + ", which feeds no master");
    }
  }

  void end(EndKind kind, Tile tile, int channel, bool drop) {
    RouteEnd end{kind, tile, static_cast<u8>(channel), drop, true};
    if (kind == EndKind::kChannel && tile.kind() != TileKind::kShim) {
      end.armed = !array_.at(tile).channel(arch::Direction::kS2mm, channel).tasks.empty();
    }
    route_.ends.push_back(end);
  }

  void leave(const TileState& state, int slave, int master, int packet_id, bool drop) {
    const Tile tile = state.tile;
    route_.hops.push_back({tile, static_cast<u8>(slave), static_cast<u8>(master)});
    if (!arch::connectable(tile.kind(), slave, master)) {
      return complain(slave_text(tile, slave) + " has no wire to " + master_text(tile, master));
    }
    const arch::Port port = arch::master_port(tile.kind(), master);
    if (port.kind == PortKind::kDma) return end(EndKind::kChannel, tile, port.index, drop);
    if (port.kind == PortKind::kCore) return end(EndKind::kCore, tile, 0, drop);
    if (port.kind == PortKind::kTileCtrl) return end(EndKind::kControl, tile, 0, drop);
    if (port.kind == PortKind::kFifo) {
      return enter(tile, arch::slave_number(tile.kind(), {PortKind::kFifo, port.index}), packet_id);
    }
    if (tile.kind() == TileKind::kShim && port.kind == PortKind::kSouth)
      return south(state, port.index, drop);
    const arch::Link link = arch::link_of(tile, master);
    if (!link.exists) return complain(master_text(tile, master) + " leads out of the array");
    if (drop) complain(master_text(tile, master) + " drops the header between two switches");
    enter(link.tile, link.slave, packet_id);
  }

  void south(const TileState& shim, int south, bool drop) {
    if (south == arch::kShimTokenSouth) return end(EndKind::kTokens, shim.tile, 0, drop);
    for (int channel = 0; channel < 2; ++channel) {
      if (south != arch::shim_s2mm_south(channel)) continue;
      if ((shim.demux >> arch::shim_demux_shift(channel) & 3) == arch::kShimSelectDma) {
        return end(EndKind::kChannel, shim.tile, channel, drop);
      }
      return complain(arch::tile_name(shim.tile) + " master South" + std::to_string(south) +
                      " is not connected to the DMA by DEMUX_CONFIG");
    }
    end(EndKind::kOutside, shim.tile, south, drop);
  }

  const ArrayState& array_;
  Route& route_;
  std::set<std::pair<int, int>> seen_;
};

// Name of a source at this slave port; empty when words come from another tile.
std::string source_name(const TileState& tile, int slave) {
  const arch::Port port = arch::slave_port(tile.tile.kind(), slave);
  switch (port.kind) {
    case PortKind::kDma:
      return "MM2S" + std::to_string(port.index);
    case PortKind::kCore:
    case PortKind::kTileCtrl:
    case PortKind::kTrace:
      return arch::port_name(port);
    case PortKind::kSouth: {
      if (tile.tile.kind() != TileKind::kShim) return {};
      const int channel = shim_channel(tile, port.index);
      return channel < 0 ? arch::port_name(port) : "MM2S" + std::to_string(channel);
    }
    default:
      return {};
  }
}

// The ids that a slave's slots accept, each with the mask of its slot; {-1, 0} for a circuit.
std::vector<std::pair<int, u8>> packet_ids(const TileState& tile, int slave) {
  if ((tile.slaves[static_cast<size_t>(slave)] & arch::kPortPacket) == 0) return {{kCircuit, u8{0}}};
  std::vector<std::pair<int, u8>> out;
  for (const u32 word : tile.slots[static_cast<size_t>(slave)]) {
    const arch::PacketSlot slot = arch::decode_packet_slot(word);
    if (!slot.enable) continue;
    for (int id = 0; id < 32; ++id) {
      const bool taken =
          std::any_of(out.begin(), out.end(), [id](const auto& known) { return known.first == id; });
      if (!taken && (id & slot.mask) == slot.id) out.push_back({id, slot.mask});
    }
  }
  return out;
}

// Whether a BD that the configuration queues on this channel puts that id into a header.
bool sends(const TileState& tile, int slave, int id) {
  const arch::Port port = arch::slave_port(tile.tile.kind(), slave);
  if (port.kind != PortKind::kDma) return false;
  const TileKind kind = tile.tile.kind();
  for (const arch::Task& task : tile.channel(arch::Direction::kMm2s, port.index).tasks) {
    int bd = task.first_bd;
    for (int steps = 0; steps < kMaxBds && bd < arch::traits(kind).bds; ++steps) {
      const arch::Bd decoded = arch::decode(kind, tile.bds[static_cast<size_t>(bd)].words);
      if (decoded.packet && decoded.packet_id == id) return true;
      if (!decoded.use_next) break;
      bd = decoded.next;
    }
  }
  return false;
}

// Ids of one source that share the mask of a slot: those that no switch behind takes are spare, if any is
// taken.
void drop_spare(const TileState& tile, std::vector<Route>& routes, RouteMap& map) {
  std::vector<int> spare;
  for (const Route& route : routes) {
    const bool shared = std::any_of(routes.begin(), routes.end(), [&](const Route& other) {
      return other.packet_mask == route.packet_mask && other.complete();
    });
    if (!route.no_slot || route.packet_mask == 0x1F || !shared || sends(tile, route.slave, route.packet_id))
      continue;
    spare.push_back(route.packet_id);
  }
  if (spare.empty()) return;
  std::string text = arch::tile_name(tile.tile) + " " + routes[0].source + ":";
  for (const int id : spare) text += " " + std::to_string(id);
  map.spare_ids.push_back(text);
  std::erase_if(routes, [&](const Route& route) {
    return std::find(spare.begin(), spare.end(), route.packet_id) != spare.end();
  });
}

void routes_from(const ArrayState& array, const TileState& tile, int slave, const std::string& source,
                 RouteMap& map) {
  std::vector<Route> routes;
  for (const auto& [id, mask] : packet_ids(tile, slave)) {
    Route route;
    route.tile = tile.tile;
    route.slave = static_cast<u8>(slave);
    route.source = source;
    route.packet_id = id;
    route.packet_mask = mask;
    Walk(array, route).enter(tile.tile, slave, id);
    routes.push_back(std::move(route));
  }
  drop_spare(tile, routes, map);
  for (size_t i = 0; i < routes.size(); ++i) {
    // Ids that the slot does not tell apart and that go the same way are one route.
    const bool again = routes[i].packet_mask != 0x1F && routes[i].packet_id != kCircuit &&
                       std::any_of(routes.begin(), routes.begin() + static_cast<std::ptrdiff_t>(i),
                                   [&](const Route& known) { return known.hops == routes[i].hops; });
    if (!again) map.routes.push_back(routes[i]);
  }
}

void check_links(const ArrayState& array, RouteMap& map) {
  for (const TileState& tile : array.tiles()) {
    for (int m = 0; m < arch::master_count(tile.tile.kind()); ++m) {
      const u32 word = tile.masters[static_cast<size_t>(m)];
      const arch::Link link = arch::link_of(tile.tile, m);
      if ((word & arch::kPortEnable) == 0 || !link.exists) continue;
      ++map.links;
      const u32 partner = array.at(link.tile).slaves[static_cast<size_t>(link.slave)];
      if (((word ^ partner) & (arch::kPortEnable | arch::kPortPacket)) != 0) ++map.broken_links;
    }
  }
}

void find_unreached(const ArrayState& array, RouteMap& map) {
  std::set<std::pair<int, int>> masters, slaves;
  for (const Route& route : map.routes) {
    slaves.insert({route.tile.index(), route.slave});
    for (const RouteHop& hop : route.hops) {
      slaves.insert({hop.tile.index(), hop.slave});
      masters.insert({hop.tile.index(), hop.master});
    }
  }
  for (const TileState& tile : array.tiles()) {
    for (int s = 0; s < arch::slave_count(tile.tile.kind()); ++s) {
      const bool on = (tile.slaves[static_cast<size_t>(s)] & arch::kPortEnable) != 0;
      if (on && !slaves.contains({tile.tile.index(), s})) map.unreached.push_back(slave_text(tile.tile, s));
    }
    for (int m = 0; m < arch::master_count(tile.tile.kind()); ++m) {
      const bool on = (tile.masters[static_cast<size_t>(m)] & arch::kPortEnable) != 0;
      if (on && !masters.contains({tile.tile.index(), m})) map.unreached.push_back(master_text(tile.tile, m));
    }
  }
}

}  // namespace

RouteMap trace_routes(const ArrayState& array) {
  RouteMap map;
  for (const TileState& tile : array.tiles()) {
    for (int slave = 0; slave < arch::slave_count(tile.tile.kind()); ++slave) {
      if ((tile.slaves[static_cast<size_t>(slave)] & arch::kPortEnable) == 0) continue;
      const std::string source = source_name(tile, slave);
      if (!source.empty()) routes_from(array, tile, slave, source, map);
    }
  }
  check_links(array, map);
  find_unreached(array, map);
  return map;
}

std::string end_text(const RouteEnd& end) {
  const std::string tile = arch::tile_name(end.tile);
  switch (end.kind) {
    case EndKind::kChannel:
      return "S2MM" + std::to_string(end.channel) + " of " + tile;
    case EndKind::kCore:
      return "stream input of " + tile;
    case EndKind::kControl:
      return "control of " + tile;
    case EndKind::kTokens:
      return "controller through " + tile;
    case EndKind::kOutside:
      return "South" + std::to_string(end.channel) + " of " + tile;
  }
  return tile;
}

}  // namespace tegula::cli
