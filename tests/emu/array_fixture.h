// What the array tests share: host memory, scripted cores, and short forms for configuring tiles.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arch/dma.h"
#include "arch/stream_switch.h"
#include "emu/array.h"
#include "emu/core_model.h"
#include "format/txn.h"

namespace tegula::emu {

using arch::Bd;
using arch::Direction;
using arch::PortKind;
using arch::Tile;
using arch::TileKind;

// One host buffer at a device address.
class FakeDdr final : public DdrMemory {
 public:
  explicit FakeDdr(u64 words, u64 base = 0x1'2345'0000) : base_(base), words_(words) {}
  Result<u8*> translate(u64 address, u64 bytes, bool) override {
    if (address < base_ || bytes > words_.size() * 4 || address - base_ > words_.size() * 4 - bytes) {
      return fail(Code::kOutOfRange, "not mapped");
    }
    return reinterpret_cast<u8*>(words_.data()) + (address - base_);
  }
  u64 base() const { return base_; }
  std::vector<u32>& words() { return words_; }
  void count_up(u32 first = 0) {
    for (u32& word : words_) word = first++;
  }

 private:
  u64 base_;
  std::vector<u32> words_;
};

// A core that follows a script: compute for some cycles (with an effect on data memory), acquire, release.
struct Step {
  enum class Kind { kWork, kAcquire, kRelease, kWriteRegister, kStreamRead, kStreamWrite };
  Kind kind = Kind::kWork;
  u64 cycles = 1;
  int lock = 0;  // own lock
  i32 amount = 0;
  u32 address = 0, word = 0;
  bool tlast = false;
  std::function<void(u8*)> work;
  std::function<void(u32)> got;
};

inline Step work(u64 cycles, std::function<void(u8*)> effect = {}) {
  return {.kind = Step::Kind::kWork, .cycles = cycles, .work = std::move(effect)};
}
inline Step acquire(int lock, i32 amount = -1) {
  return {.kind = Step::Kind::kAcquire, .lock = lock, .amount = amount};
}
inline Step release(int lock, i32 amount = 1) {
  return {.kind = Step::Kind::kRelease, .lock = lock, .amount = amount};
}

class ScriptedCore final : public CoreModel {
 public:
  ScriptedCore(std::vector<Step> steps, int rounds) : steps_(std::move(steps)), rounds_(rounds) {}

  void connect(u8* data, const std::array<u8*, 3>&, const u8*, u32) override { data_ = data; }
  void invalidate_program() override {}
  void reset(u64 cycle) override {
    cycle_ = cycle;
    at_ = 0;
    round_ = 0;
    resumed_ = false;
  }
  Stop run(u64 budget) override {
    const u64 end = cycle_ + budget;
    while (round_ < rounds_ && !steps_.empty()) {
      Step& step = steps_[at_];
      if (step.kind == Step::Kind::kWork) {
        if (cycle_ >= end) return stop(StopReason::kBudget);
        if (step.work) step.work(data_);
        cycle_ += step.cycles;
        counters_.bundles += step.cycles;
      } else if (!resumed_) {
        Stop s = stop(reason(step));
        if (step.kind != Step::Kind::kRelease) return s;
        next();  // a release stops after the bundle
        ++cycle_;
        return s;
      } else {
        resumed_ = false;
        ++cycle_;
      }
      next();
    }
    return stop(StopReason::kDone);
  }
  void resume(u64 cycle) override {
    counters_.stall_cycles[1] += cycle - cycle_;
    cycle_ = cycle;
    if (round_ < rounds_ && steps_[at_].kind != Step::Kind::kWork) resumed_ = true;
  }
  void resume_word(u64 cycle, u32 word, bool) override {
    if (steps_[at_].got) steps_[at_].got(word);
    resume(cycle);
  }
  void resume_cascade(u64, const u8*) override {}
  u64 cycle() const override { return cycle_; }
  u32 pc() const override { return static_cast<u32>(at_); }
  const CoreCounters& counters() const override { return counters_; }

 private:
  static StopReason reason(const Step& step) {
    switch (step.kind) {
      case Step::Kind::kAcquire:
        return StopReason::kAcquire;
      case Step::Kind::kRelease:
        return StopReason::kRelease;
      case Step::Kind::kStreamRead:
        return StopReason::kStreamRead;
      case Step::Kind::kStreamWrite:
        return StopReason::kStreamWrite;
      default:
        return StopReason::kTileRegister;
    }
  }
  Stop stop(StopReason why) const {
    Stop s;
    s.reason = why;
    s.cycle = cycle_;
    s.pc = static_cast<u32>(at_);
    if (round_ < rounds_ && !steps_.empty()) {
      s.lock_id = arch::kCoreLockOwn + steps_[at_].lock;
      s.amount = steps_[at_].amount;
      s.address = steps_[at_].address;
      s.word = steps_[at_].word;
      s.tlast = steps_[at_].tlast;
      s.is_write = true;
    }
    return s;
  }
  void next() {
    if (++at_ == steps_.size()) {
      at_ = 0;
      ++round_;
    }
  }

  std::vector<Step> steps_;
  int rounds_;
  u8* data_ = nullptr;
  u64 cycle_ = 0;
  size_t at_ = 0;
  int round_ = 0;
  bool resumed_ = false;
  CoreCounters counters_;
};

// An array whose cores are scripted, and writers that check that every register was accepted.
class Bench {
 public:
  using Scripts = std::map<Tile, std::pair<std::vector<Step>, int>>;

  explicit Bench(Scripts scripts = {})
      : array([scripts](Tile tile) {
          const auto found = scripts.find(tile);
          return found == scripts.end()
                     ? std::make_unique<ScriptedCore>(std::vector<Step>{}, 0)
                     : std::make_unique<ScriptedCore>(found->second.first, found->second.second);
        }) {}

  // With the real cores.
  struct RealCores {};
  explicit Bench(RealCores) {}

  void write(Tile tile, u32 offset, u32 value) {
    const auto done = array.write32(arch::tile_address(tile, offset), value);
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void bd(Tile tile, int number, const Bd& bd) {
    const auto words = arch::encode(tile.kind(), bd);
    ASSERT_TRUE(words.ok()) << words.error().message;
    const auto done = array.block_write(arch::tile_address(tile, arch::bd_offset(tile.kind(), number)),
                                        std::span(*words).first(arch::traits(tile.kind()).bd_words));
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  void push(Tile tile, Direction direction, int channel, arch::Task task) {
    write(tile, arch::channel_queue(tile.kind(), direction, channel), arch::encode_task(task));
  }
  void lock(Tile tile, int number, u32 value) { write(tile, arch::lock_offset(tile.kind(), number), value); }
  // Circuit from a slave to a master port inside one tile.
  void circuit(Tile tile, arch::Port slave, arch::Port master) {
    const int s = arch::slave_number(tile.kind(), slave);
    const int m = arch::master_number(tile.kind(), master);
    write(tile, arch::slave_offset(tile.kind(), s), arch::circuit_slave());
    write(tile, arch::master_offset(tile.kind(), m), arch::circuit_master(s));
  }
  void enable(Tile core) {
    write(core, arch::kCoreControl, 0);
    write(core, arch::kCoreControl, arch::kCoreEnable);
  }
  // Tokens of a shim: TileCtrl to South0 for controller id 15, and the id in every channel.
  void token_route(int col) {
    const Tile shim{static_cast<u8>(col), 0};
    write(shim, arch::slave_offset(TileKind::kShim, 0), arch::packet_slave());
    write(shim, arch::slot_offset(TileKind::kShim, 0, 0), arch::packet_slot({true, 15, 0x1F, 3, 5}));
    write(shim, arch::master_offset(TileKind::kShim, 2), arch::packet_master({5, 8, false}));
    for (Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
      for (int c = 0; c < 2; ++c) write(shim, arch::channel_ctrl(TileKind::kShim, direction, c), 15u << 8);
    }
    write(shim, arch::kShimMux, arch::shim_mux_value(0) | arch::shim_mux_value(1));
    write(shim, arch::kShimDemux, arch::shim_demux_value(0) | arch::shim_demux_value(1));
  }
  u32 word(Tile tile, u32 byte) { return load_le<u32>(array.data_memory(tile).data() + byte); }
  void fill(Tile tile, u32 byte, u32 count, u32 first) {
    for (u32 i = 0; i < count; ++i) store_le(array.data_memory(tile).data() + byte + 4 * i, first + i);
  }

  Array array;
};

inline Bd linear(u64 address, u32 words) {
  Bd bd;
  bd.address = address;
  bd.length = words;
  return bd;
}
inline Bd with_locks(Bd bd, int acquire_lock, int release_lock, int amount = 1) {
  bd.acquire = true;
  bd.acquire_lock = static_cast<u8>(acquire_lock);
  bd.acquire_value = static_cast<i8>(-amount);
  bd.release_lock = static_cast<u8>(release_lock);
  bd.release_value = static_cast<i8>(amount);
  return bd;
}
inline Bd then(Bd bd, int next) {
  bd.use_next = true;
  bd.next = static_cast<u8>(next);
  return bd;
}

// Stream operations for one shim transfer: BD, patch, queue.
inline void transfer(format::TxnWriter& txn, int col, Direction direction, int channel, int number,
                     const Bd& bd, u32 argument, u64 offset, arch::Task task) {
  const auto words = arch::encode(TileKind::kShim, bd);
  ASSERT_TRUE(words.ok()) << words.error().message;
  const u32 at = arch::tile_address(col, 0, arch::bd_offset(TileKind::kShim, number));
  task.first_bd = static_cast<u8>(number);
  txn.block_write(at, *words);
  txn.ddr_patch(at + 4, argument, offset);
  txn.write32(arch::tile_address(col, 0, arch::channel_queue(TileKind::kShim, direction, channel)),
              arch::encode_task(task));
}
inline void wait(format::TxnWriter& txn, int col, Direction direction, int channel, int columns = 1) {
  txn.token_wait(static_cast<u32>(col), 0, 1, static_cast<u32>(columns),
                 direction == Direction::kS2mm ? format::TxnDirection::kS2mm : format::TxnDirection::kMm2s,
                 static_cast<u32>(channel));
}

}  // namespace tegula::emu
