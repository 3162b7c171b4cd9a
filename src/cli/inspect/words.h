// Configuration in words: sets of tiles, buffer descriptors, routes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "arch/dma.h"
#include "cli/inspect/routes.h"

namespace tegula::cli {

// Tiles as rectangles: "(0-7,2-5)", "(0-3,2), (6,4)".
std::string tiles_text(std::span<const arch::Tile> tiles);

// Numbers as ranges: "0-3, 7".
std::string ranges_text(std::span<const int> sorted);

// What one buffer descriptor does when a channel of that direction runs it: "receive 512 words into 0xa000,
// take lock 0, give lock 1, then BD 1". Mem tiles name addresses and locks as the BD sees them, through the
// window of three tiles, with the own ones in brackets.
std::string bd_text(arch::TileKind kind, arch::Direction direction, const arch::Bd& bd);
// "512 words at 0xa000 ..." when it is not known who runs it.
std::string bd_text(arch::TileKind kind, const arch::Bd& bd);

// The dimensions when the transfer is not one linear run: "D0 4 x1, D1 8 x128, D2 x4"; else empty. "n xS" is
// n steps of S words.
std::string dimensions_text(arch::TileKind kind, const arch::Bd& bd);

// Bytes from the lowest to the highest address that one run touches, and one more.
u64 bd_extent(arch::TileKind kind, const arch::Bd& bd);

// Routes that differ in the column only, as one line.
struct RouteLine {
  std::string text;             // "mem (c,1) MM2S0 -> S2MM1 of core (c,2-5), c = 0-7"
  std::vector<size_t> members;  // indices of RouteMap::routes
};
std::vector<RouteLine> route_lines(const RouteMap& map);
std::string route_text(const Route& route);
// "South3 (5) -> North1 (13) at shim (0,0)" for each switch.
std::vector<std::string> hop_texts(const Route& route);

}  // namespace tegula::cli
