// See ddr_share.h. Integers only, so that a run is the same everywhere.
#include "emu/ddr_share.h"

#include <algorithm>

#include "emu/cost_model.h"

namespace tegula::emu {

namespace {

constexpr u64 kUnit = 1 << 16;  // of virtual time, per byte
constexpr u64 kStreamBytesPerCycle = 4;

}  // namespace

u64 DdrShare::rate() const {
  const u64 all = static_cast<u64>(cost::kDdrBytesPerSecond / cost::kClockHz * kUnit);
  return std::min(kStreamBytesPerCycle * kUnit, all / std::max<u64>(1, transfers_.size()));
}

void DdrShare::advance(u64 now) {
  virtual_ += (now - at_) * rate();
  at_ = now;
}

void DdrShare::start(u64 now, u64 bytes, u32 component, Flow* flow) {
  advance(now);
  transfers_.push({virtual_ + bytes * kUnit, component, flow});
}

u64 DdrShare::next_end() const {
  if (transfers_.empty()) return ~0ull;
  const u64 end = transfers_.top().end;
  return end <= virtual_ ? at_ : at_ + (end - virtual_ + rate() - 1) / rate();
}

Flow* DdrShare::take_ended(u64 now) {
  if (transfers_.empty()) return nullptr;
  advance(now);
  if (transfers_.top().end > virtual_) return nullptr;
  Flow* flow = transfers_.top().flow;
  transfers_.pop();
  return flow;
}

void DdrShare::clear() {
  *this = {};
}

}  // namespace tegula::emu
