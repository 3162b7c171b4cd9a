#include "engine/kv_cache.h"

#include <algorithm>
#include <string>

namespace tegula::engine {

KvCache::KvCache(i64 layers, i64 slots, i64 capacity, i64 cols)
    : layers_(layers), slots_(slots), capacity_(capacity), cols_(cols), lanes_(layers * slots) {}

Result<void> KvCache::store(i64 layer, i64 slot, i64 position, std::span<const float> key,
                            std::span<const float> value) {
  if (layer < 0 || layer >= layers_ || slot < 0 || slot >= slots_ || position < 0 || position >= capacity_) {
    return fail(Code::kOutOfRange, "KV cache of " + std::to_string(layers_) + " layers, " +
                                       std::to_string(slots_) + " slots and " + std::to_string(capacity_) +
                                       " positions has no layer " + std::to_string(layer) + ", slot " +
                                       std::to_string(slot) + ", position " + std::to_string(position));
  }
  Lane& lane = lanes_[layer * slots_ + slot];
  const size_t needed = static_cast<size_t>((position + 1) * cols_);
  if (lane.keys.size() < needed) {
    lane.keys.resize(needed);
    lane.values.resize(needed);
  }
  std::ranges::copy(key, lane.keys.begin() + position * cols_);
  std::ranges::copy(value, lane.values.begin() + position * cols_);
  return {};
}

i64 KvCache::bytes() const {
  i64 out = 0;
  for (const Lane& lane : lanes_)
    out += static_cast<i64>((lane.keys.size() + lane.values.size()) * sizeof(float));
  return out;
}

}  // namespace tegula::engine
