// The whole of `tegula disasm` and `tegula lint` on any file. The listing assembles back to the same program.
#include <cstdlib>

#include "cli/artifact.h"
#include "cli/disasm/annotate.h"
#include "isa/assembler.h"
#include "isa/lint.h"
#include "isa/listing.h"
#include "wrapped_artifact.h"

using namespace tegula;

namespace {

void check(const cli::TileProgram& program, const cli::ArrayFacts& facts) {
  isa::ListingOptions options;
  options.bytes = options.cycles = true;
  options.annotate = [&](const isa::Instr& instr, std::optional<int> lock, std::string& comment) {
    cli::annotate(facts, program.tile, instr, lock, comment);
  };
  std::string text;
  isa::Listing(program.code, options).append_text(text);
  const auto back = isa::assemble_program(text, "listing");
  if (!back.ok() || back->code != program.code) std::abort();
  const auto placed = isa::place(program.code);
  if (placed.ok()) (void)isa::lint(*placed, {});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = fuzz::wrap({data, size});
  cli::Commands commands;
  const auto programs = cli::choose_programs(bytes, {}, true, &commands);
  if (!programs.ok()) return 0;
  const cli::ArrayFacts facts = cli::array_facts(commands);
  for (const cli::TileProgram& program : *programs) check(program, facts);
  return 0;
}
