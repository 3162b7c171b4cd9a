#include "cli/artifact.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "format/detect.h"
#include "format/pdi.h"
#include "format/xclbin.h"
#include "isa/assembler.h"

namespace tegula::cli {
namespace {

// Writes `size` bytes at program address `at`; what lies outside program memory is dropped.
void put(Bytes& code, u32 at, const void* data, u64 size) {
  if (at >= arch::kCoreProgramBytes) return;
  size = std::min<u64>(size, arch::kCoreProgramBytes - at);
  if (code.size() < at + size) code.resize(at + size, 0);
  std::memcpy(code.data() + at, data, size);
}

}  // namespace

Result<Commands> array_commands(ByteSpan bytes) {
  const format::FileKind kind = format::detect(bytes);
  if (kind == format::FileKind::kCdo) return format::read_cdo(bytes);
  ByteSpan image = bytes;
  if (kind == format::FileKind::kXclbin) {
    TRY_ASSIGN(const format::Xclbin xclbin, format::read_xclbin(bytes));
    TRY_ASSIGN(image, format::find_pdi(xclbin));
  } else if (kind != format::FileKind::kPdi) {
    return fail(Code::kUnsupported,
                "is no array configuration (found: " + std::string(format::file_kind_name(kind)) +
                    "; expected an xclbin, a PDI or a CDO)");
  }
  TRY_ASSIGN(format::Pdi pdi, format::read_pdi(image));
  return std::move(pdi.commands);
}

std::vector<TileProgram> core_programs(const Commands& commands) {
  std::map<arch::Tile, Bytes> programs;
  for (const format::CdoCommand& command : commands) {
    const arch::Location at = arch::locate(command.address);
    if (!at.valid() || at.tile().kind() != arch::TileKind::kCore) continue;
    if (!arch::in_core_program(at.offset)) continue;
    Bytes& code = programs[at.tile()];
    const u32 place = at.offset - arch::kCoreProgramOffset;
    if (command.kind == format::CdoKind::kBlockWrite)
      put(code, place, command.words.data(), command.words.size() * 4);
    if (command.kind == format::CdoKind::kWrite) put(code, place, &command.value, 4);
  }
  std::vector<TileProgram> out;
  for (auto& [tile, code] : programs) out.push_back({tile, std::move(code)});
  return out;
}

std::vector<ProgramGroup> group_programs(const Commands& commands) {
  std::vector<ProgramGroup> groups;
  for (TileProgram& program : core_programs(commands)) {
    bool known = false;
    for (ProgramGroup& group : groups) {
      if (group.code != program.code) continue;
      group.tiles.push_back(program.tile);
      known = true;
      break;
    }
    if (!known) groups.push_back({std::move(program.code), {program.tile}});
  }
  return groups;
}

Result<arch::Tile> parse_tile(const std::string& text) {
  int col = -1, row = -1;
  char end = 0;
  if (std::sscanf(text.c_str(), "%d,%d%c", &col, &row, &end) != 2 || !arch::in_grid(col, row)) {
    return fail(Code::kInvalidArgument, "--tile " + text + ": expected column,row as in 0,2");
  }
  return arch::Tile{static_cast<u8>(col), static_cast<u8>(row)};
}

namespace {

Result<std::vector<TileProgram>> choose_of(const Commands& commands, const std::string& tile,
                                           bool every_core) {
  if (tile.empty() && !every_core) {
    std::vector<TileProgram> distinct;
    for (ProgramGroup& group : group_programs(commands))
      distinct.push_back({group.tiles[0], std::move(group.code)});
    return distinct;
  }
  std::vector<TileProgram> all = core_programs(commands);
  if (tile.empty()) return all;
  TRY_ASSIGN(const arch::Tile wanted, parse_tile(tile));
  for (TileProgram& program : all) {
    if (program.tile == wanted) return std::vector<TileProgram>{std::move(program)};
  }
  return fail(Code::kNotFound, "no program for tile " + tile);
}

}  // namespace

Result<std::vector<TileProgram>> choose_programs(ByteSpan bytes, const ProgramOptions& options,
                                                 bool every_core, Commands* configuration) {
  if (options.raw && bytes.size() > isa::kMaxProgramBytes) {
    return fail(Code::kOutOfRange, "has " + std::to_string(bytes.size()) +
                                       " bytes; expected a bare core program of at most " +
                                       std::to_string(isa::kMaxProgramBytes));
  }
  if (options.raw)
    return std::vector<TileProgram>{{arch::Tile{0, arch::kFirstCoreRow}, Bytes(bytes.begin(), bytes.end())}};
  TRY_ASSIGN(Commands commands, array_commands(bytes));
  auto programs = choose_of(commands, options.tile, every_core);
  if (configuration != nullptr) *configuration = std::move(commands);
  return programs;
}

}  // namespace tegula::cli
