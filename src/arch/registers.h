// Names and fields of every documented register, generated from registers-array.tsv. For messages, the
// inspector and the emulator's check that a written address exists at all.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "arch/grid.h"
#include "base/types.h"

namespace tegula::arch {

struct RegisterField {
  std::string_view name;
  u8 msb;
  u8 lsb;
  std::string_view meaning;
};

// One row group of the table: a register or a family of equal ones. Member (i, j) is at offset + i*stride1 +
// j*stride2.
struct RegisterFamily {
  std::string_view module;   // "core", "memory", "mem_tile", "noc", "pl"
  std::string_view pattern;  // "DMA_BD{0..15}_2"; a range for each index
  u32 offset;
  u16 count1, count2;
  u32 stride1, stride2;
  u32 bytes;                              // of one member, 4 for most
  std::span<const RegisterField> fields;  // from the highest bit down
};

std::span<const RegisterFamily> register_families(TileKind kind);  // sorted by offset

struct RegisterRef {
  const RegisterFamily* family = nullptr;  // nullptr: no register there
  u16 index1 = 0, index2 = 0;
  u32 byte = 0;  // offset inside the member
  explicit operator bool() const { return family != nullptr; }
};
RegisterRef find_register(TileKind kind, u32 offset);

// "DMA_BD3_2", "DATAMEMORY+0x120", or "0x12345 (no register)".
std::string register_name(TileKind kind, u32 offset);

}  // namespace tegula::arch
