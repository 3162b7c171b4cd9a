// tegula disasm: core programs as text.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "isa/text.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

void print_program(const std::vector<isa::DisassembledLine>& lines, ByteSpan code, bool bytes) {
  for (const isa::DisassembledLine& line : lines) {
    std::string raw;
    for (u32 i = 0; bytes && i < line.bytes; ++i) {
      char pair[4];
      std::snprintf(pair, sizeof(pair), "%02x ", code[line.address + i]);
      raw += pair;
    }
    if (bytes) raw.resize(49, ' ');
    std::printf("%5x: %s%s\n", line.address, raw.c_str(), line.text.c_str());
  }
}

}  // namespace

int cmd_disasm(const DisasmCommand& command) {
  const Result<MappedFile> file = MappedFile::open(command.file);
  if (!file.ok()) return print_error(file.error());
  const Result<std::vector<TileProgram>> programs = choose_programs(file->bytes(), command, command.json);
  if (!programs.ok())
    return print_error(fail(programs.error().code, command.file + ": " + programs.error().message));
  json cores = json::array();
  for (const TileProgram& program : *programs) {
    const std::vector<isa::DisassembledLine> lines = isa::disassemble(program.code);
    if (command.json) {
      u64 bundles = 0, bad = 0;
      for (const isa::DisassembledLine& line : lines) ++(line.valid ? bundles : bad);
      cores.push_back({{"col", program.tile.col},
                       {"row", program.tile.row},
                       {"bytes", program.code.size()},
                       {"bundles", bundles},
                       {"undecodable", bad}});
      continue;
    }
    if (!command.raw)
      std::printf("; %s, %zu bytes\n", arch::tile_name(program.tile).c_str(), program.code.size());
    print_program(lines, program.code, command.bytes);
  }
  if (command.json) std::printf("%s\n", json{{"schema", 1}, {"cores", cores}}.dump(2).c_str());
  return 0;
}

}  // namespace tegula::cli
