// Address generation of one BD run (array.md 4.3): the words of the transfer as runs of consecutive words.
// Offsets are in words from the start address of the run, never negative because steps are unsigned.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "arch/dma.h"
#include "base/types.h"

namespace tegula::emu {

class AddressWalk {
 public:
  // dimensions: how many of bd.dims count on this kind of tile. The iteration offset is not included.
  void start(const arch::Bd& bd, int dimensions);

  u64 extent_words() const { return extent_; }                     // highest offset of the whole run, plus 1
  bool contiguous(u64 words) const { return words <= run_left_; }  // the next words are consecutive
  u64 offset() const { return offset_; }                           // of the next word

  // Calls use(offset, count) for each run of the next words, and moves past them.
  template <typename Use>
  void runs(u64 words, Use&& use) {
    while (words != 0) {
      const u64 count = std::min(words, run_left_);
      use(offset_, count);
      words -= count;
      advance(count);
    }
  }

  // Copies the next words from memory (pointer to offset 0) to a linear buffer, and back.
  void gather(const u8* memory, u8* linear, u64 words) {
    runs(words, [&](u64 offset, u64 count) {
      copy_words(linear, memory + offset * 4, count);
      linear += count * 4;
    });
  }
  void scatter(u8* memory, const u8* linear, u64 words) {
    runs(words, [&](u64 offset, u64 count) {
      copy_words(memory + offset * 4, linear, count);
      linear += count * 4;
    });
  }

 private:
  struct Loop {
    u64 count;  // ~0 for "until the length is done"
    u64 step;
    u64 index;
  };

  static void copy_words(u8* to, const u8* from, u64 count) {
    if (count == 1) {
      std::memcpy(to, from, 4);
    } else if (count == 2) {
      std::memcpy(to, from, 8);
    } else {
      std::memcpy(to, from, count * 4);
    }
  }

  void advance(u64 count) {
    offset_ += count;
    run_left_ -= count;
    if (run_left_ == 0) next_run();
  }
  void next_run();

  std::array<Loop, 4> loops_{};  // outside the run, innermost first
  int loop_count_ = 0;
  u64 run_words_ = 0;  // ~0: the whole transfer is one run
  u64 run_left_ = 0;
  u64 offset_ = 0;
  u64 base_ = 0;  // offset of the first word of the present run
  u64 extent_ = 0;
};

// A run with padding (array.md 4.4): memory and padding word by word. The BD's length counts both; padding of a
// dimension is whole padded pieces of the one below.
class PaddedWalk {
 public:
  void start(const arch::Bd& bd);
  u64 extent_words() const { return extent_; }
  // Offset of the next word in memory; none: padding. Moves past it.
  std::optional<u64> next() { return offset_of(place_++); }

 private:
  struct Level {
    u64 before, data, all;  // in pieces of the level below; all 0: endless
    u64 step;
  };
  std::optional<u64> offset_of(u64 place) const;

  std::array<Level, 4> levels_{};
  u64 place_ = 0;
  u64 extent_ = 0;
};

bool has_padding(const arch::Bd& bd);

}  // namespace tegula::emu
