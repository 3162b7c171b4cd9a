// ELF reader. Layout: the System V ABI (gabi, chapters 4 and 5); what files of this NPU put into it:
// docs/formats/elf.md.
#include "format/elf.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace tegula::format {
namespace {

constexpr u64 kIdentBytes = 16;
constexpr u64 kMaxName = 255;

// Byte places of the two widths.
struct Layout {
  u64 header, section, segment, symbol, rela;
};
constexpr Layout kNarrow{52, 40, 32, 16, 12};
constexpr Layout kWide{64, 64, 56, 24, 24};

const Layout& layout_of(bool wide) {
  return wide ? kWide : kNarrow;
}

// Fields in the order of the file; words are 4 or 8 bytes by width. The caller has checked the bounds.
class Fields {
 public:
  Fields(const u8* at, bool wide) : at_(at), wide_(wide) {}
  u8 byte() { return take<u8>(); }
  u16 half() { return take<u16>(); }
  u32 word() { return take<u32>(); }
  u64 native() { return wide_ ? take<u64>() : take<u32>(); }

 private:
  template <typename T>
  T take() {
    const T value = load_le<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  const u8* at_;
  bool wide_;
};

bool inside(ByteSpan bytes, u64 offset, u64 size) {
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

Error outside(const char* what, u64 index, u64 offset, u64 size, u64 file) {
  return fail(Code::kCorrupt,
              fmt::format("ELF: {} {}: {} bytes at 0x{:X} reach past the end of the file ({} bytes); it is "
                          "truncated or damaged",
                          what, index, size, offset, file));
}

struct Table {
  u64 offset = 0, entry = 0, count = 0;
};

Result<void> check_table(ByteSpan bytes, const Table& table, u64 entry, const char* what) {
  if (table.count == 0) return {};
  if (table.entry != entry) {
    return fail(Code::kCorrupt,
                fmt::format("ELF: {} headers have {} bytes, expected {}", what, table.entry, entry));
  }
  if (inside(bytes, table.offset, table.count * entry)) return {};
  return fail(Code::kCorrupt,
              fmt::format("ELF: {} {} headers at 0x{:X} reach past the end of the file ({} bytes); it is "
                          "truncated or damaged",
                          table.count, what, table.offset, bytes.size()));
}

// A zero-ended string of a string table; empty when it lies outside.
std::string_view text_at(ByteSpan table, u64 offset) {
  if (offset >= table.size()) return {};
  const auto* first = reinterpret_cast<const char*>(table.data() + offset);
  const u64 most = std::min(table.size() - offset, kMaxName);
  return {first, static_cast<size_t>(std::find(first, first + most, '\0') - first)};
}

Result<void> read_sections(ByteSpan bytes, const Table& table, u64 names, Elf& elf) {
  std::vector<u32> name_places;
  for (u64 i = 0; i < table.count; ++i) {
    Fields in(bytes.data() + table.offset + i * table.entry, elf.wide);
    ElfSection section;
    name_places.push_back(in.word());
    section.type = in.word();
    section.flags = in.native();
    section.address = in.native();
    section.offset = in.native();
    section.size = in.native();
    section.link = in.word();
    section.info = in.word();
    in.native();  // alignment
    section.entry_bytes = in.native();
    if (section.type != 0 && section.type != kElfSectionNoBits) {
      if (!inside(bytes, section.offset, section.size))
        return outside("section", i, section.offset, section.size, bytes.size());
      section.data = bytes.subspan(section.offset, section.size);
    }
    elf.sections.push_back(section);
  }
  if (names >= elf.sections.size()) return {};
  for (u64 i = 0; i < elf.sections.size(); ++i)
    elf.sections[i].name = text_at(elf.sections[names].data, name_places[i]);
  return {};
}

Result<void> read_segments(ByteSpan bytes, const Table& table, Elf& elf) {
  for (u64 i = 0; i < table.count; ++i) {
    Fields in(bytes.data() + table.offset + i * table.entry, elf.wide);
    ElfSegment segment;
    segment.type = in.word();
    if (elf.wide) segment.flags = in.word();
    segment.offset = in.native();
    segment.address = in.native();
    in.native();  // physical address
    const u64 size = in.native();
    segment.memory_bytes = in.native();
    if (!elf.wide) segment.flags = in.word();
    if (!inside(bytes, segment.offset, size))
      return outside("segment", i, segment.offset, size, bytes.size());
    segment.data = bytes.subspan(segment.offset, size);
    elf.segments.push_back(segment);
  }
  return {};
}

Result<void> check_ident(ByteSpan bytes) {
  constexpr std::array<u8, 4> kMagic = {0x7F, 'E', 'L', 'F'};
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return fail(Code::kCorrupt, "ELF: does not start with 0x7F \"ELF\"; this is not an ELF file");
  }
  if (bytes.size() < kIdentBytes) {
    return fail(Code::kCorrupt, fmt::format("ELF: {} bytes, the header alone needs {}; the file is truncated",
                                            bytes.size(), kNarrow.header));
  }
  if (bytes[4] != 1 && bytes[4] != 2) {
    return fail(Code::kCorrupt,
                fmt::format("ELF: class is {}, expected 1 (32 bits) or 2 (64 bits)", bytes[4]));
  }
  if (bytes[5] == 2)
    return fail(Code::kUnsupported, "ELF: is big endian; files of this NPU are little endian");
  if (bytes[5] != 1) return fail(Code::kCorrupt, fmt::format("ELF: byte order is {}, expected 1", bytes[5]));
  return {};
}

}  // namespace

const ElfSection* Elf::find(std::string_view name) const {
  const auto at =
      std::find_if(sections.begin(), sections.end(), [name](const ElfSection& s) { return s.name == name; });
  return at == sections.end() ? nullptr : &*at;
}

Result<Elf> read_elf(ByteSpan bytes) {
  TRY(check_ident(bytes));
  Elf elf;
  elf.wide = bytes[4] == 2;
  elf.os_abi = bytes[7];
  elf.abi_version = bytes[8];
  const Layout& layout = layout_of(elf.wide);
  if (bytes.size() < layout.header) {
    return fail(Code::kCorrupt, fmt::format("ELF: {} bytes, the header alone needs {}; the file is truncated",
                                            bytes.size(), layout.header));
  }
  Fields in(bytes.data() + kIdentBytes, elf.wide);
  elf.type = in.half();
  elf.machine = in.half();
  in.word();  // version
  elf.entry = in.native();
  Table segments, sections;
  segments.offset = in.native();
  sections.offset = in.native();
  elf.flags = in.word();
  in.half();  // header size
  segments.entry = in.half();
  segments.count = in.half();
  sections.entry = in.half();
  sections.count = in.half();
  const u64 names = in.half();
  TRY(check_table(bytes, segments, layout.segment, "program"));
  TRY(check_table(bytes, sections, layout.section, "section"));
  TRY(read_sections(bytes, sections, names, elf));
  TRY(read_segments(bytes, segments, elf));
  return elf;
}

Result<std::vector<ElfSymbol>> elf_symbols(const Elf& elf, const ElfSection& table) {
  if (table.type != kElfSectionSymbols && table.type != kElfSectionDynamicSymbols) {
    return fail(Code::kInvalidArgument, fmt::format("ELF: section {} is no symbol table", table.name));
  }
  const u64 entry = layout_of(elf.wide).symbol;
  if (table.size % entry != 0) {
    return fail(Code::kCorrupt, fmt::format("ELF: symbol table {} has {} bytes, expected a multiple of {}",
                                            table.name, table.size, entry));
  }
  const ByteSpan names = table.link < elf.sections.size() ? elf.sections[table.link].data : ByteSpan();
  std::vector<ElfSymbol> out;
  for (u64 at = 0; at < table.data.size(); at += entry) {
    Fields in(table.data.data() + at, elf.wide);
    ElfSymbol symbol;
    symbol.name = text_at(names, in.word());
    if (!elf.wide) {
      symbol.value = in.native();
      symbol.size = in.native();
    }
    symbol.info = in.byte();
    in.byte();  // visibility
    symbol.section = in.half();
    if (elf.wide) {
      symbol.value = in.native();
      symbol.size = in.native();
    }
    out.push_back(symbol);
  }
  return out;
}

Result<std::vector<ElfRelocation>> elf_relocations(const Elf& elf, const ElfSection& table) {
  if (table.type != kElfSectionRela) {
    return fail(Code::kInvalidArgument,
                fmt::format("ELF: section {} is no relocation table with addends", table.name));
  }
  const u64 entry = layout_of(elf.wide).rela;
  if (table.size % entry != 0) {
    return fail(Code::kCorrupt,
                fmt::format("ELF: relocation table {} has {} bytes, expected a multiple of {}", table.name,
                            table.size, entry));
  }
  std::vector<ElfRelocation> out;
  for (u64 at = 0; at < table.data.size(); at += entry) {
    Fields in(table.data.data() + at, elf.wide);
    ElfRelocation relocation;
    relocation.offset = in.native();
    const u64 info = in.native();
    relocation.symbol = static_cast<u32>(elf.wide ? info >> 32 : info >> 8);
    relocation.type = static_cast<u32>(elf.wide ? info & 0xFFFFFFFF : info & 0xFF);
    relocation.addend = elf.wide ? static_cast<i64>(in.native()) : static_cast<i32>(in.word());
    out.push_back(relocation);
  }
  return out;
}

}  // namespace tegula::format
