// A small ELF writer for tests: sections, segments, symbols and relocations of control code and core
// programs.
#pragma once

#include <string>
#include <vector>

#include "base/bytes.h"
#include "format/elf.h"

namespace tegula::test {

class ElfBuilder {
 public:
  explicit ElfBuilder(bool wide) : wide_(wide) { add("", 0, {}); }

  u8 os_abi = 0;
  u16 machine = format::kElfMachineAie;

  // Returns the index of the section.
  u32 add(const std::string& name, u32 type, Bytes data, u32 link = 0, u32 info = 0) {
    sections_.push_back({name, type, std::move(data), link, info});
    return static_cast<u32>(sections_.size() - 1);
  }
  void segment(u32 section, u32 flags, u64 address) { segments_.push_back({section, flags, address}); }

  // Symbols get their names from a string table behind the symbol table.
  u32 add_symbols(const std::string& name, u32 type,
                  const std::vector<std::pair<std::string, u64>>& symbols) {
    ByteWriter table, names;
    names.write<u8>(0);
    symbol(table, 0, 0);
    for (const auto& [text, size] : symbols) {
      symbol(table, static_cast<u32>(names.size()), size);
      names.text(text);
      names.write<u8>(0);
    }
    const u32 index = add(name, type, table.take(), static_cast<u32>(sections_.size() + 1));
    add(".names", 3, names.take());
    return index;
  }
  void rela(ByteWriter& out, u64 offset, u32 type, u32 symbol, i64 addend) const {
    native(out, offset);
    native(out, wide_ ? static_cast<u64>(symbol) << 32 | type : static_cast<u64>(symbol) << 8 | type);
    native(out, static_cast<u64>(addend));
  }

  Bytes finish() {
    ByteWriter names;
    std::vector<u32> name_at;
    sections_.push_back({".shstrtab", 3, {}, 0, 0});
    for (const Section& s : sections_) {
      name_at.push_back(static_cast<u32>(names.size()));
      names.text(s.name);
      names.write<u8>(0);
    }
    sections_.back().data = names.data();
    const u64 header = wide_ ? 64 : 52, segment_bytes = wide_ ? 56 : 32, section_bytes = wide_ ? 64 : 40;
    u64 at = header + segments_.size() * segment_bytes;
    std::vector<u64> place;
    for (const Section& s : sections_) {
      place.push_back(at);
      at = (at + s.data.size() + 7) / 8 * 8;
    }
    ByteWriter out;
    for (u8 byte : {0x7F, 0x45, 0x4C, 0x46, wide_ ? 2 : 1, 1, 1, static_cast<int>(os_abi), 2})
      out.write<u8>(byte);
    out.zeros(7);
    out.write<u16>(2);
    out.write<u16>(machine);
    out.write<u32>(1);
    native(out, 0);
    native(out, header);
    native(out, at);
    out.write<u32>(0);
    for (u64 half : {header, segment_bytes, static_cast<u64>(segments_.size()), section_bytes,
                     static_cast<u64>(sections_.size()), static_cast<u64>(sections_.size() - 1)}) {
      out.write<u16>(static_cast<u16>(half));
    }
    for (const Segment& s : segments_) put_segment(out, s, place[s.section]);
    for (size_t i = 0; i < sections_.size(); ++i) {
      out.zeros(place[i] - out.size());
      out.bytes(sections_[i].data);
    }
    out.zeros(at - out.size());
    for (size_t i = 0; i < sections_.size(); ++i) put_section(out, i, name_at[i], place[i]);
    return out.take();
  }

 private:
  struct Section {
    std::string name;
    u32 type;
    Bytes data;
    u32 link, info;
  };
  struct Segment {
    u32 section, flags;
    u64 address;
  };

  void native(ByteWriter& out, u64 value) const {
    if (wide_)
      out.write<u64>(value);
    else
      out.write<u32>(static_cast<u32>(value));
  }
  void symbol(ByteWriter& out, u32 name, u64 size) const {
    out.write<u32>(name);
    if (!wide_) native(out, 0), native(out, size);
    out.write<u8>(1);
    out.write<u8>(0);
    out.write<u16>(1);
    if (wide_) native(out, 0), native(out, size);
  }
  void put_segment(ByteWriter& out, const Segment& s, u64 place) const {
    const u64 size = sections_[s.section].data.size();
    out.write<u32>(format::kElfSegmentLoad);
    if (wide_) out.write<u32>(s.flags);
    for (u64 value : {place, s.address, s.address, size, size}) native(out, value);
    if (!wide_) out.write<u32>(s.flags);
    native(out, 16);
  }
  void put_section(ByteWriter& out, size_t i, u32 name, u64 place) const {
    const Section& s = sections_[i];
    out.write<u32>(name);
    out.write<u32>(s.type);
    for (u64 value : {u64{0}, u64{0}, s.type == 0 ? 0 : place, static_cast<u64>(s.data.size())})
      native(out, value);
    out.write<u32>(s.link);
    out.write<u32>(s.info);
    native(out, 1);
    native(out, 0);
  }

  bool wide_;
  std::vector<Section> sections_;
  std::vector<Segment> segments_;
};

// Control code: a stream, one relocation for its first address patch, and the symbols of three arguments.
inline Bytes control_elf(const Bytes& stream, bool wide = false) {
  ElfBuilder elf(wide);
  elf.os_abi = format::kElfOsAbiControl;
  elf.machine = 0;
  elf.add(".ctrltext", 1, stream);
  const u32 symbols =
      elf.add_symbols(".dynsym", format::kElfSectionDynamicSymbols, {{"3", 4096}, {"4", 8192}, {"5", 0}});
  ByteWriter rela;
  elf.rela(rela, 0x20, 5, 2, 64);
  elf.add(".rela.dyn", format::kElfSectionRela, rela.take(), symbols);
  return elf.finish();
}

// A core program: code at address 0 and data that is not program memory.
inline Bytes core_elf(const Bytes& code, bool wide = false) {
  ElfBuilder elf(wide);
  elf.segment(elf.add(".text", 1, code), 5, 0);
  elf.segment(elf.add(".data", 1, Bytes(8, 9)), 6, 0x70000);
  elf.add_symbols(".symtab", format::kElfSectionSymbols, {{"main", 16}});
  return elf.finish();
}

}  // namespace tegula::test
