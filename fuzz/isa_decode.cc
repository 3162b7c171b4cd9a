// Decodes arbitrary bytes as a program: must always advance, and every bundle that decodes must survive
// encoding (don't-care bits become 0) and the way through its assembly text. Then places and lints what is a
// program.
#include <cstdio>
#include <cstdlib>

#include "isa/lint.h"
#include "isa/text.h"

using namespace tegula;  // NOLINT: a fuzz target is one translation unit

namespace {

void require(bool ok, const char* what, const std::string& text) {
  if (ok) return;
  std::fprintf(stderr, "%s: %s\n", what, text.c_str());
  std::abort();
}

bool same(const isa::Bundle& a, const isa::Bundle& b) {
  return a.bytes == b.bytes && a.format == b.format && a.count == b.count && a.instr == b.instr;
}

void check_bundle(const isa::DisassembledLine& line) {
  const auto bytes = isa::encode(line.bundle);
  require(bytes.ok() && bytes->size() == line.bytes, "does not encode", line.text);
  const auto again = isa::decode(*bytes);
  require(again.ok() && same(*again, line.bundle), "decodes differently after encoding", line.text);
  require(*isa::encode(*again) == *bytes, "encodes differently", line.text);
  const auto parsed = isa::assemble(line.text);
  require(parsed.ok(), "does not assemble", line.text);
  require(parsed->count == line.bundle.count && parsed->instr == line.bundle.instr, "assembles differently",
          line.text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  const ByteSpan code(data, size < 4096 ? size : 4096);
  size_t at = 0;
  for (const isa::DisassembledLine& line : isa::disassemble(code)) {
    require(line.address == at && line.bytes > 0, "does not advance", line.text);
    at += line.bytes;
    if (line.valid) check_bundle(line);
  }
  require(at == code.size(), "does not reach the end", std::to_string(at));
  const auto program = isa::place(code);
  if (program.ok()) isa::lint(*program, {.buffers = {{0x70000, 64}}});
  const std::string_view text(reinterpret_cast<const char*>(data), code.size());
  (void)isa::assemble(text.substr(0, text.find('\n')));
  return 0;
}
