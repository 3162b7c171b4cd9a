// Any text as assembly source: an error with its place, or a program whose listing gives the same bytes.
#include <cstdlib>

#include "isa/assembler.h"
#include "isa/listing.h"

using namespace tegula;  // NOLINT: a fuzz target is one translation unit

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  const auto program = isa::assemble_program({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!program.ok()) {
    if (!program.error().message.starts_with("fuzz:")) std::abort();
    return 0;
  }
  if (program->code.size() > 8192) return 0;
  std::string text;
  isa::Listing(program->code).append_text(text);
  const auto again = isa::assemble_program(text, "again");
  if (!again.ok() || again->code != program->code) std::abort();
  return 0;
}
