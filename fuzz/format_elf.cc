// ELF reader: any bytes give an error or sections and segments inside the file, whose tables can be read.
#include <cstdlib>

#include "format/elf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::format;
  const ByteSpan bytes(data, size);
  const auto elf = read_elf(bytes);
  if (!elf.ok()) return 0;
  const auto inside = [bytes](ByteSpan part) {
    return part.empty() ||
           (part.data() >= bytes.data() && part.data() + part.size() <= bytes.data() + bytes.size());
  };
  for (const ElfSection& section : elf->sections) {
    if (!inside(section.data)) std::abort();
    if (const auto symbols = elf_symbols(*elf, section); symbols.ok() && symbols->size() > size) std::abort();
    (void)elf_relocations(*elf, section);
  }
  for (const ElfSegment& segment : elf->segments) {
    if (!inside(segment.data)) std::abort();
  }
  return 0;
}
