// Address generation of a BD: dimensions are reduced to one run of consecutive words and up to four loops
// around it.
#include "emu/address_walk.h"

namespace tegula::emu {
namespace {

constexpr u64 kEndless = ~0ull;

struct Dimension {
  u64 count;
  u64 step;
};

// Highest offset that the first `length` words reach over dims[0..count-1].
u64 highest(const Dimension* dims, int count, u64 last_index) {
  if (count == 0) return 0;
  u64 inner = 1;  // words of one step of the outermost dimension
  u64 full = 0;   // offset at the end of one complete inner block
  for (int i = 0; i + 1 < count; ++i) {
    inner *= dims[i].count;
    full += (dims[i].count - 1) * dims[i].step;
  }
  const u64 index = last_index / inner;
  u64 top = index * dims[count - 1].step + highest(dims, count - 1, last_index % inner);
  if (index > 0) top = std::max(top, (index - 1) * dims[count - 1].step + full);
  return top;
}

}  // namespace

void AddressWalk::start(const arch::Bd& bd, int dimensions) {
  // A wrap of 0 never wraps, so the dimensions above never move; a wrap of 1 adds nothing.
  std::array<Dimension, 4> dims{};
  int count = 0;
  for (int i = 0; i < dimensions; ++i) {
    const bool last = i + 1 == dimensions || bd.dims[i].wrap == 0;
    const u64 steps = last ? kEndless : bd.dims[i].wrap;
    if (steps != 1) {
      Dimension& below = dims[count == 0 ? 0 : count - 1];
      if (count > 0 && below.count * below.step == bd.dims[i].step) {
        below.count = last ? kEndless : below.count * steps;
      } else {
        dims[count++] = {steps, bd.dims[i].step};
      }
    }
    if (last) break;
  }
  extent_ = highest(dims.data(), count, bd.length - 1) + 1;
  int first = 0;
  run_words_ = 1;
  if (dims[0].step == 1) {
    run_words_ = dims[0].count;
    first = 1;
  }
  loop_count_ = 0;
  for (int i = first; i < count; ++i) loops_[loop_count_++] = {dims[i].count, dims[i].step, 0};
  offset_ = base_ = 0;
  run_left_ = run_words_;
}

void AddressWalk::next_run() {
  for (int i = 0; i < loop_count_; ++i) {
    Loop& loop = loops_[i];
    if (++loop.index < loop.count) {
      base_ += loop.step;
      break;
    }
    base_ -= (loop.count - 1) * loop.step;
    loop.index = 0;
  }
  offset_ = base_;
  run_left_ = run_words_;
}

bool has_padding(const arch::Bd& bd) {
  return bd.pad_before != std::array<u8, 3>{} || bd.pad_after != std::array<u8, 3>{};
}

void PaddedWalk::start(const arch::Bd& bd) {
  for (size_t i = 0; i < levels_.size(); ++i) {
    const u64 wrap = i < 3 ? bd.dims[i].wrap : 0;
    const u64 before = i < 3 ? bd.pad_before[i] : 0, after = i < 3 ? bd.pad_after[i] : 0;
    levels_[i] = {before, wrap, wrap == 0 ? 0 : before + wrap + after, bd.dims[i].step};
  }
  place_ = 0;
  extent_ = 1;
  for (u64 word = 0; word < bd.length; ++word) extent_ = std::max(extent_, offset_of(word).value_or(0) + 1);
}

std::optional<u64> PaddedWalk::offset_of(u64 place) const {
  u64 offset = 0;
  for (const Level& level : levels_) {
    const u64 index = level.all == 0 ? place : place % level.all;
    if (index < level.before || (level.all != 0 && index >= level.before + level.data)) return std::nullopt;
    offset += (index - level.before) * level.step;
    if (level.all == 0) break;
    place /= level.all;
  }
  return offset;
}

}  // namespace tegula::emu
