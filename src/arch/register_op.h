// One write to the array's registers, the common form of configuration commands.
#pragma once

#include <utility>
#include <vector>

#include "base/types.h"

namespace tegula::arch {

struct RegisterOp {
  enum class Kind : u8 { kWrite, kMaskWrite, kBlockWrite };

  Kind kind = Kind::kWrite;
  u32 address = 0;        // as tile_address() makes it
  u32 value = 0;          // kWrite, kMaskWrite
  u32 mask = 0xFFFFFFFF;  // kMaskWrite: these bits take value, the others stay
  std::vector<u32> data;  // kBlockWrite: data[i] goes to address + 4*i

  static RegisterOp write(u32 address, u32 value) { return {Kind::kWrite, address, value, 0xFFFFFFFF, {}}; }
  static RegisterOp mask_write(u32 address, u32 mask, u32 value) {
    return {Kind::kMaskWrite, address, value, mask, {}};
  }
  static RegisterOp block_write(u32 address, std::vector<u32> data) {
    return {Kind::kBlockWrite, address, 0, 0xFFFFFFFF, std::move(data)};
  }
};

}  // namespace tegula::arch
