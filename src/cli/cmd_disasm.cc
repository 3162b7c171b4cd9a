// tegula disasm: core programs as text.
#include <fmt/core.h>

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "cli/disasm/annotate.h"
#include "isa/assembler.h"
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

void print_text(const DisasmCommand& command, const std::vector<TileProgram>& programs,
                const ArrayFacts& facts) {
  isa::ListingOptions options;
  options.bytes = command.bytes;
  options.cycles = command.cycles;
  std::string text;
  for (const TileProgram& program : programs) {
    const Annotator annotator(facts, program.tile);
    if (!command.raw) {
      options.annotate = [&annotator](const isa::Instr& instr, std::string& comment) {
        annotator.annotate(instr, comment);
      };
    }
    const isa::Listing listing(program.code, options);
    text += header(program, listing.totals(), command.raw);
    listing.append_text(text);
    if (text.size() >= kWriteBytes) flush(text);
  }
  flush(text);
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

void print_json(const std::vector<TileProgram>& programs) {
  json cores = json::array();
  std::map<std::string_view, json> known;  // by code; most cores run one of a few programs
  for (const TileProgram& program : programs) {
    const std::string_view code(reinterpret_cast<const char*>(program.code.data()), program.code.size());
    json& facts = known[code];
    if (facts.is_null()) facts = core_json(program.code);
    json core = {{"col", program.tile.col}, {"row", program.tile.row}};
    core.update(facts);
    cores.push_back(std::move(core));
  }
  std::printf("%s\n", json{{"schema", 1}, {"cores", cores}}.dump(2).c_str());
}

// All that the configuration holds but the contents of memories.
ArrayFacts surroundings(Commands commands) {
  std::erase_if(commands, [](const format::CdoCommand& command) {
    const arch::Location at = arch::locate(command.address);
    if (!at.valid() || at.tile().kind() != arch::TileKind::kCore) return false;
    return at.offset < arch::kCoreDataBytes ||
           (at.offset >= arch::kCoreProgramOffset &&
            at.offset < arch::kCoreProgramOffset + arch::kCoreProgramBytes);
  });
  return array_facts(commands);
}

int failure(const DisasmCommand& command, const Error& error) {
  return print_error(fail(error.code, command.file + ": " + error.message));
}

}  // namespace

int cmd_disasm(const DisasmCommand& command) {
  const Result<MappedFile> file = MappedFile::open(command.file);
  if (!file.ok()) return print_error(file.error());
  Commands commands;
  const Result<std::vector<TileProgram>> programs =
      choose_programs(file->bytes(), command, command.json, &commands);
  if (!programs.ok()) return failure(command, programs.error());
  if (command.json) {
    print_json(*programs);
  } else {
    print_text(command, *programs, surroundings(std::move(commands)));
  }
  return 0;
}

}  // namespace tegula::cli
