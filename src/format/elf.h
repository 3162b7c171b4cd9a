// ELF: sections, segments, symbols and relocations, as far as files for this NPU use them: core programs and
// control code. Little endian, 32 and 64 bits wide.
#pragma once

#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

inline constexpr u16 kElfMachineAie = 264;    // EM_AIE, core programs
inline constexpr u8 kElfOsAbiControl = 0x45;  // control code for this array
inline constexpr u32 kElfSegmentLoad = 1;
inline constexpr u32 kElfSectionSymbols = 2, kElfSectionRela = 4, kElfSectionNote = 7, kElfSectionNoBits = 8;
inline constexpr u32 kElfSectionDynamicSymbols = 11;

// Names and data point into the bytes given to read_elf.
struct ElfSection {
  std::string_view name;
  u32 type = 0;
  u64 flags = 0;
  u64 address = 0;
  u64 offset = 0;
  u64 size = 0;  // in memory; for kElfSectionNoBits there are no bytes
  u32 link = 0;
  u32 info = 0;
  u64 entry_bytes = 0;
  ByteSpan data;
};

struct ElfSegment {
  u32 type = 0;
  u32 flags = 0;  // 1 executable, 2 writable, 4 readable
  u64 offset = 0;
  u64 address = 0;
  u64 memory_bytes = 0;
  ByteSpan data;
};

struct ElfSymbol {
  std::string_view name;
  u64 value = 0;
  u64 size = 0;
  u8 info = 0;  // low half type, high half binding
  u16 section = 0;
};

struct ElfRelocation {
  u64 offset = 0;
  u32 type = 0;
  u32 symbol = 0;  // index in the linked symbol table
  i64 addend = 0;
};

struct Elf {
  bool wide = false;  // 64-bit
  u8 os_abi = 0;
  u8 abi_version = 0;
  u16 type = 0;
  u16 machine = 0;
  u32 flags = 0;
  u64 entry = 0;
  std::vector<ElfSection> sections;
  std::vector<ElfSegment> segments;

  const ElfSection* find(std::string_view name) const;  // the first of its name, or null
};

// Checks the identification, both header tables and the bounds of every section and segment. Sections may
// overlap, as segments and sections always do. Errors: kCorrupt; kUnsupported (big endian).
Result<Elf> read_elf(ByteSpan bytes);
Result<Elf> read_elf(Bytes&&) = delete;  // the spans would dangle

// The entries of a symbol table or of a relocation table with addends. Errors: kInvalidArgument for a section
// of another type, kCorrupt.
Result<std::vector<ElfSymbol>> elf_symbols(const Elf& elf, const ElfSection& table);
Result<std::vector<ElfRelocation>> elf_relocations(const Elf& elf, const ElfSection& table);

}  // namespace tegula::format
