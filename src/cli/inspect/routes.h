// Stream routes read off the switch registers: from every source through all switches to every destination.
#pragma once

#include <string>
#include <vector>

#include "cli/inspect/array_state.h"

namespace tegula::cli {

// One pass through a switch.
struct RouteHop {
  arch::Tile tile;
  u8 slave = 0;
  u8 master = 0;
  bool operator==(const RouteHop&) const = default;
};

enum class EndKind : u8 {
  kChannel,  // S2MM channel of a DMA
  kCore,     // the core's own stream input
  kControl,  // control packets of the tile
  kTokens,   // shim South 0: the controller
  kOutside,  // shim South to the logic beside the array or to the NoC without DMA
};

struct RouteEnd {
  EndKind kind = EndKind::kChannel;
  arch::Tile tile;
  u8 channel = 0;            // kChannel, or the number of the South port (kOutside)
  bool drop_header = false;  // packet mode
  bool armed = true;  // kChannel on core and mem: a task is queued; shim channels are started by the stream
  bool operator==(const RouteEnd&) const = default;
};

// Where words that enter the array's switches at one place come out.
struct Route {
  arch::Tile tile;
  u8 slave = 0;
  std::string source;          // "MM2S0", "Core", "TileCtrl", "Trace0", "South1"
  int packet_id = -1;          // -1: circuit
  u8 packet_mask = 0;          // bits of the id that the source's slot compares
  std::vector<RouteHop> hops;  // each switch passed, in walking order
  std::vector<RouteEnd> ends;
  std::vector<std::string> problems;  // branches that lead nowhere, and why

  bool no_slot = false;  // a problem is a packet id that no slot takes

  bool complete() const { return problems.empty() && !ends.empty(); }
};

struct RouteMap {
  std::vector<Route> routes;           // in the order of the tiles, row by row
  std::vector<std::string> unreached;  // enabled ports that no source reaches
  // Ids that pass the mask of a source's slot, which other ids share, but that no switch behind takes. A mask
  // cannot name ids one by one; no BD sends these.
  std::vector<std::string> spare_ids;
  u64 links = 0;         // enabled masters that lead to a neighbour
  u64 broken_links = 0;  // of these, whose partner is not enabled in the same mode
};

RouteMap trace_routes(const ArrayState& array);

// "S2MM0 of core (3,4)", "tokens of shim (0,0)".
std::string end_text(const RouteEnd& end);

}  // namespace tegula::cli
