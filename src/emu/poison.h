// Which bytes of the data memories something has written since the array was reset. Kept in diagnosis only;
// reading any other byte is reported.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "arch/grid.h"
#include "base/types.h"

namespace tegula::emu {

class Poison {
 public:
  // Data memory of a tile, as the engine holds it.
  void attach(arch::Tile tile, const u8* data, u64 bytes);
  void reset();  // nothing is written

  // One byte per byte of the tile's data memory, not 0 once it is written; nullptr at a shim. Cores keep it
  // themselves.
  u8* written(arch::Tile tile) { return tiles_[tile.index()].written.data(); }

  // Pointers are into data memories; others are ignored.
  void write(const u8* at, u64 bytes);
  // A read by somebody called `who`.
  void read(const u8* at, u64 bytes, const std::string& who);

  // One line per finding, the first few of them.
  const std::vector<std::string>& findings() const { return findings_; }

 private:
  struct Memory {
    arch::Tile tile;
    const u8* data = nullptr;
    std::vector<u8> written;
  };
  Memory* memory_of(const u8* at);

  std::array<Memory, arch::kTiles> tiles_;
  std::vector<std::string> findings_;
};

}  // namespace tegula::emu
