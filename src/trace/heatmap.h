// The array as a heatmap with the timeline below: one self-contained HTML page without scripts.
#pragma once

#include <string>
#include <vector>

#include "arch/grid.h"
#include "trace/timeline.h"

namespace tegula::trace {

// Shares are 0..1 of the run.
struct TileHeat {
  arch::Tile tile;
  double work = 0;                   // cores: cycles with a matrix operation; others: busiest channel
  double waiting = 0;                // cores: waiting; others: of the busiest channel
  std::vector<std::string> details;  // shown when the pointer rests on the tile
};

// Traffic between neighbouring tiles, all links of one direction together.
struct LinkHeat {
  arch::Tile from, to;
  double share = 0;  // of the busiest of the links, 0..1
  u64 words = 0;
};

struct Heatmap {
  std::string title;
  std::vector<std::string> summary;  // lines above the picture
  std::vector<TileHeat> tiles;       // those that did something
  std::vector<LinkHeat> links;
  u64 cycles = 0;  // length of the run
};

// The timeline's slices are drawn in bins of time, a row per track.
std::string heatmap_html(const Heatmap& heatmap, const Timeline& timeline);

}  // namespace tegula::trace
