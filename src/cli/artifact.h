// What several commands need of array artifacts: the configuration inside a file, and the core programs
// inside it.
#pragma once

#include <string>
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

// Which programs of a file a command is about.
struct ProgramChoice {
  std::string tile;         // "C,R"; empty: all
  bool raw = false;         // the bytes are a bare core program
  bool every_core = false;  // without a tile: also cores with equal programs, else the first of each group
};
// Errors: those of array_commands; kInvalidArgument or kNotFound for the tile.
Result<std::vector<TileProgram>> choose_programs(ByteSpan bytes, const ProgramChoice& choice);

}  // namespace tegula::cli
