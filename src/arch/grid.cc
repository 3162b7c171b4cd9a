// Names of tiles for messages.
#include "arch/grid.h"

namespace tegula::arch {

std::string tile_name(Tile tile) {
  return std::string(kind_name(tile.kind())) + " (" + std::to_string(tile.col) + "," +
         std::to_string(tile.row) + ")";
}

}  // namespace tegula::arch
