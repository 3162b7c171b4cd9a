#include "emu/poison.h"

#include <algorithm>

#include "base/hex.h"

namespace tegula::emu {

namespace {
constexpr size_t kMaxFindings = 64;
}

void Poison::attach(arch::Tile tile, const u8* data, u64 bytes) {
  tiles_[tile.index()] = {tile, data, std::vector<u8>(bytes)};
}

void Poison::reset() {
  for (Memory& memory : tiles_) std::fill(memory.written.begin(), memory.written.end(), u8{0});
  findings_.clear();
}

Poison::Memory* Poison::memory_of(const u8* at) {
  for (Memory& memory : tiles_) {
    if (at >= memory.data && at < memory.data + memory.written.size()) return &memory;
  }
  return nullptr;
}

void Poison::write(const u8* at, u64 bytes) {
  if (Memory* memory = memory_of(at))
    std::fill_n(memory->written.begin() + (at - memory->data), bytes, u8{1});
}

void Poison::read(const u8* at, u64 bytes, const std::string& who) {
  const Memory* memory = memory_of(at);
  if (memory == nullptr || findings_.size() >= kMaxFindings) return;
  const auto begin = memory->written.begin() + (at - memory->data);
  const auto unwritten = std::find(begin, begin + bytes, u8{0});
  if (unwritten == begin + bytes) return;
  std::string text = who + " reads " + arch::tile_name(memory->tile) + " memory at " +
                     hex(static_cast<u64>(unwritten - memory->written.begin())) +
                     ", which nothing has written";
  if (std::find(findings_.begin(), findings_.end(), text) == findings_.end())
    findings_.push_back(std::move(text));
}

}  // namespace tegula::emu
