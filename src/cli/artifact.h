// What several commands need of array artifacts: the configuration inside a file, and the core programs
// inside it.
#pragma once

#include <vector>

#include "arch/grid.h"
#include "base/bytes.h"
#include "base/result.h"
#include "format/cdo.h"

namespace tegula::cli {

// The configuration commands of an xclbin, a PDI or a CDO. Errors: those of the readers; kUnsupported for
// other kinds.
Result<std::vector<format::CdoCommand>> array_commands(ByteSpan bytes);

struct TileProgram {
  arch::Tile tile;
  Bytes code;  // from address 0 to the last byte written
};
// Program memory that the commands write, per core tile in grid order.
std::vector<TileProgram> core_programs(const std::vector<format::CdoCommand>& commands);

// Cores with equal programs, in the order of their first tile.
struct ProgramGroup {
  Bytes code;
  std::vector<arch::Tile> tiles;
};
std::vector<ProgramGroup> group_programs(const std::vector<format::CdoCommand>& commands);

}  // namespace tegula::cli
