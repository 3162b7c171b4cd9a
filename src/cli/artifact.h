// What several commands need of array artifacts: the configuration inside a file, and the core programs
// inside it.
#pragma once

#include <string>
#include <vector>

#include "arch/grid.h"
#include "base/bytes.h"
#include "base/result.h"
#include "cli/commands.h"
#include "format/cdo.h"

namespace tegula::cli {

using Commands = std::vector<format::CdoCommand>;

// The configuration commands of an xclbin, a PDI or a CDO. Errors: those of the readers; kUnsupported for
// other kinds.
Result<Commands> array_commands(ByteSpan bytes);

struct TileProgram {
  arch::Tile tile;
  Bytes code;  // from address 0 to the last byte written
};
// Program memory that the commands write, per core tile in grid order.
std::vector<TileProgram> core_programs(const Commands& commands);

// Cores with equal programs, in the order of their first tile.
struct ProgramGroup {
  Bytes code;
  std::vector<arch::Tile> tiles;
};
std::vector<ProgramGroup> group_programs(const Commands& commands);

// The value of --tile, "C,R". Errors: kInvalidArgument.
Result<arch::Tile> parse_tile(const std::string& text);

// The programs of a file that a command is about. Without a tile: every core's, or the first of each group of
// equal ones. With `configuration`, the commands that they stand in are left there (none of a bare program).
// Errors: those of array_commands; kInvalidArgument or kNotFound for the tile.
Result<std::vector<TileProgram>> choose_programs(ByteSpan bytes, const ProgramOptions& options,
                                                 bool every_core, Commands* configuration = nullptr);

}  // namespace tegula::cli
