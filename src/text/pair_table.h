// A hash table from a pair of token ids to the rank and the result of their merge; built once, then only
// read.
#pragma once

#include <vector>

#include "base/types.h"

namespace tegula::text {

struct Merge {
  u32 rank = 0;
  i32 result = -1;  // -1: the pair does not merge
};

// Open addressing with linear probing, at most half full.
class PairTable {
 public:
  PairTable() = default;
  explicit PairTable(u64 pairs) {
    u64 slots = 16;
    while (slots < pairs * 2) slots *= 2;
    slots_.resize(slots);
  }

  void set(i32 left, i32 right, Merge merge) {
    Slot& slot = slots_[find(key_of(left, right))];
    slot = {key_of(left, right), merge};
  }

  Merge get(i32 left, i32 right) const {
    if (slots_.empty()) return {};
    return slots_[find(key_of(left, right))].merge;
  }

 private:
  static constexpr u64 kEmpty = ~u64{0};
  struct Slot {
    u64 key = kEmpty;
    Merge merge;
  };

  static u64 key_of(i32 left, i32 right) {
    return static_cast<u64>(static_cast<u32>(left)) << 32 | static_cast<u32>(right);
  }

  // The slot that holds `key`, or the empty one where it belongs.
  u64 find(u64 key) const {
    const u64 mask = slots_.size() - 1;
    u64 at = (key * 0x9E3779B97F4A7C15u) >> 20 & mask;  // Fibonacci hashing
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
};

}  // namespace tegula::text
