// Keys and values of earlier tokens, per layer and slot (one slot per running sequence).
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::engine {

class KvCache {
 public:
  // cols: columns of a key row and of a value row. Memory grows with the positions in use.
  KvCache(i64 layers, i64 slots, i64 capacity, i64 cols);

  i64 slots() const { return slots_; }
  i64 capacity() const { return capacity_; }  // positions per slot

  // Stores one row of keys and one of values. kOutOfRange for a layer, slot or position that the cache does
  // not have.
  Result<void> store(i64 layer, i64 slot, i64 position, std::span<const float> key,
                     std::span<const float> value);

  // Rows 0 .. (last stored position), contiguous; valid until the next store in the same layer and slot.
  const float* keys(i64 layer, i64 slot) const { return lane(layer, slot).keys.data(); }
  const float* values(i64 layer, i64 slot) const { return lane(layer, slot).values.data(); }

  i64 bytes() const;

 private:
  struct Lane {
    std::vector<float> keys;
    std::vector<float> values;
  };
  const Lane& lane(i64 layer, i64 slot) const { return lanes_[layer * slots_ + slot]; }

  i64 layers_;
  i64 slots_;
  i64 capacity_;
  i64 cols_;
  std::vector<Lane> lanes_;
};

}  // namespace tegula::engine
