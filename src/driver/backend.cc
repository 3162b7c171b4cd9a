// Address checks of the shim DMA against the mapped buffers of one client: the emulated IOMMU.
#include "driver/backend.h"

#include <algorithm>
#include <cstdio>

namespace tegula::driver {
namespace {

std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

u8* JobMemory::at(u64 address, u64 size) const {
  auto it = std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](u64 value, const Region& region) { return value < region.start; });
  if (it == regions_.begin()) return nullptr;
  --it;
  const u64 offset = address - it->start;
  if (offset >= it->size || size > it->size - offset) return nullptr;
  if (!it->listed) unlisted_.fetch_add(1, std::memory_order_relaxed);
  return it->bytes + offset;
}

std::string JobMemory::explain(u64 address, u64 size) const {
  std::string text = "IOMMU fault: shim DMA of " + std::to_string(size) + " bytes at " + hex(address);
  auto it = std::upper_bound(regions_.begin(), regions_.end(), address,
                             [](u64 value, const Region& region) { return value < region.start; });
  if (it == regions_.begin()) return text + ", below every mapped buffer";
  --it;
  return text + "; nearest buffer is " + hex(it->start) + " + " + std::to_string(it->size) +
         " bytes, transfer at offset " + std::to_string(address - it->start);
}

}  // namespace tegula::driver
