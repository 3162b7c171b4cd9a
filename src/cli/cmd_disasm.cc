// tegula disasm: core programs as text.
#include <fmt/core.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "cli/disasm/annotate.h"
#include "isa/listing.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

constexpr size_t kWriteBytes = 1 << 20;

std::string header(const TileProgram& program, const isa::ListingTotals& totals, bool raw) {
  std::string out = fmt::format("// {}{} bytes, {} bundles", raw ? "" : arch::tile_name(program.tile) + ": ",
                                program.code.size(), totals.bundles);
  if (totals.undecodable != 0) out += fmt::format(", {} pieces that are no bundle", totals.undecodable);
  if (totals.noncanonical != 0)
    out += fmt::format(", {} bundles with bits set that mean nothing", totals.noncanonical);
  out += '\n';
  if (!raw) out += fmt::format(".tile {},{}\n", program.tile.col, program.tile.row);
  return out;
}

void flush(std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  text.clear();
}

void append_programs(const DisasmCommand& command, const std::vector<TileProgram>& programs,
                     const ArrayFacts& facts, std::string& text) {
  isa::ListingOptions options;
  options.bytes = command.bytes;
  options.cycles = command.cycles;
  for (const TileProgram& program : programs) {
    if (!command.raw) {
      options.annotate = [&](const isa::Instr& instr, std::optional<int> lock, std::string& comment) {
        annotate(facts, program.tile, instr, lock, comment);
      };
    }
    const isa::Listing listing(program.code, options);
    text += header(program, listing.totals(), command.raw);
    listing.append_text(text);
  }
}

json core_json(ByteSpan code) {
  const isa::Listing listing(code);
  const isa::ListingTotals& totals = listing.totals();
  json functions = json::array();
  for (const isa::ListedFunction& function : listing.functions()) {
    functions.push_back({{"name", function.name}, {"address", function.address}, {"bytes", function.bytes}});
  }
  return {{"bytes", code.size()},
          {"bundles", totals.bundles},
          {"undecodable", totals.undecodable},
          {"noncanonical", totals.noncanonical},
          {"functions", std::move(functions)}};
}

void add_json(const std::string& file, const std::vector<TileProgram>& programs, json& cores) {
  std::map<std::string_view, json> known;  // by code; most cores run one of a few programs
  for (const TileProgram& program : programs) {
    const std::string_view code(reinterpret_cast<const char*>(program.code.data()), program.code.size());
    json& facts = known[code];
    if (facts.is_null()) facts = core_json(program.code);
    json core = {{"file", file}, {"col", program.tile.col}, {"row", program.tile.row}};
    core.update(facts);
    cores.push_back(std::move(core));
  }
}

// All that the configuration holds but the contents of memories.
ArrayFacts surroundings(Commands commands) {
  std::erase_if(commands, [](const format::CdoCommand& command) {
    const arch::Location at = arch::locate(command.address);
    if (!at.valid() || at.tile().kind() != arch::TileKind::kCore) return false;
    return at.offset < arch::kCoreDataBytes || arch::in_core_program(at.offset);
  });
  return array_facts(commands);
}

// One of the files; what is printed goes to text or cores.
Result<void> disassemble(const DisasmCommand& command, const std::string& path, std::string& text,
                         json& cores) {
  TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
  Commands commands;
  const Result<std::vector<TileProgram>> programs =
      choose_programs(file.bytes(), command, command.json, &commands);
  if (!programs.ok()) return in_file(path, programs.error());
  if (command.json) {
    add_json(path, *programs, cores);
    return {};
  }
  if (command.files.size() > 1) text += "// " + path + "\n";
  append_programs(command, *programs, surroundings(std::move(commands)), text);
  return {};
}

}  // namespace

int cmd_disasm(const DisasmCommand& command) {
  int code = 0;
  std::string text;
  json cores = json::array();
  for (const std::string& path : command.files) {
    const Result<void> done = disassemble(command, path, text, cores);
    if (!done.ok()) code = print_error(done.error());
    if (text.size() >= kWriteBytes) flush(text);
  }
  flush(text);
  if (command.json) {
    std::printf(
        "%s\n",
        json{{"schema", 1}, {"cores", cores}}.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  }
  return code;
}

}  // namespace tegula::cli
