// Races: two accesses to the same bytes of a tile's data memory, one of them a write, between which nothing
// makes an order. Kept in diagnosis only.
//
// Order is made by what passes from one to the other: units of a lock, words of a stream or the cascade, a
// task pushed to a channel, a token, a register that somebody wrote or polled. Each core, each DMA channel
// and the controller (with whoever loads the configuration) has a vector clock; whoever gives something hands
// over a copy of his. Units of a lock are taken in the order in which they were given, so a lock with more
// units than buffers shows as a race even if this run was lucky. A word that waits in a stream makes no order
// backwards, from the receiver to the sender.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "arch/grid.h"
#include "base/types.h"
#include "emu/array.h"

namespace tegula::emu {

using Clock = std::vector<u32>;
using ClockCopy = std::shared_ptr<const Clock>;

// Who accesses memory and hands over.
using ActorId = u16;
constexpr ActorId kControllerActor = 0;

// What a lock hands over: for each unit of its value the clock of who gave it, and everybody who ever changed
// it, for those that wait for a value and take nothing.
struct LockClocks {
  std::deque<ClockCopy> units;
  ClockCopy all;
};

class Races {
 public:
  Races();
  Races(const Races&) = delete;
  Races& operator=(const Races&) = delete;

  // Data memory of a tile, as the engine holds it.
  void attach(arch::Tile tile, const u8* data, u64 bytes);
  void reset();

  static ActorId core(arch::Tile tile);
  static ActorId channel(arch::Tile tile, arch::Direction direction, int number);

  // Who does what comes from outside of cores and channels: register writes of a core or of a control packet
  // are its, others the controller's.
  void set_outside(ActorId actor) { outside_ = actor; }
  ActorId outside() const { return outside_; }
  void set_operation(u32 number) { operation_ = number; }  // of the controller's stream

  // ---- accesses
  // What a core shall tell of its accesses.
  AccessObserver* observer(arch::Tile core) { return &observers_[core.index()]; }
  // `at` points into a data memory, others are ignored. place: pc of a core, BD of a channel.
  void access(ActorId actor, const u8* at, u64 bytes, bool write, u32 place, u64 cycle);
  // By tile, for cores: they may call it from different threads, each for its own tile's memory.
  void access(ActorId actor, arch::Tile tile, u32 offset, u32 bytes, bool write, u32 place, u64 cycle);
  void outside_write(const u8* at, u64 bytes, u64 cycle) {
    access(outside_, at, bytes, true, operation_, cycle);
  }

  // ---- order
  void lock_given(LockClocks& lock, arch::Tile tile, int number, i32 amount, ActorId by);
  void lock_taken(LockClocks& lock, i32 amount, ActorId by);
  void lock_set(LockClocks& lock, i32 value);     // by a register write
  void lock_seen(const LockClocks& lock);         // from outside
  void memory_seen(arch::Tile tile, u32 offset);  // a word polled from outside: what wrote it is known
  void order(ActorId before, ActorId after);      // all that `before` has done so far
  ClockCopy copy(ActorId of);                     // hands over what it has done so far
  void join(ActorId who, const ClockCopy& clock);

  std::vector<RaceReport> reports() const;

 private:
  struct Entry {
    u64 cycle;
    u32 epoch;
    u32 place;
    u32 next;
    ActorId actor;
    u8 mask;  // bytes of the granule
    bool write;
  };
  struct Found {
    Entry first, second;
    u32 address = 0, bytes = 0;
    u64 count = 0;
  };
  struct Memory {
    arch::Tile tile;
    const u8* data = nullptr;
    u64 bytes = 0;
    std::vector<u32> heads;  // by granule, into pool
    std::vector<Entry> pool;
    u32 free = 0;
    std::vector<Found> found;
  };
  struct Observer final : AccessObserver {
    Races* races = nullptr;
    arch::Tile tile;
    void accessed(u32 address, u32 bytes, bool write, u32 pc, u64 cycle) override;
  };
  struct Given {
    u32 epoch;
    arch::Tile tile;
    u8 lock;
  };

  void granule(Memory& memory, u32 number, const Entry& access);
  void note(Memory& memory, u32 number, const Entry& old, const Entry& access);
  void advance(ActorId actor) { ++clocks_[actor][actor]; }
  RaceAccess describe(const Entry& entry) const;
  void name_lock(const Entry& entry, bool first, std::vector<RaceLock>& locks) const;

  std::array<Memory, arch::kTiles> memories_;
  std::array<Observer, arch::kTiles> observers_;
  std::vector<Clock> clocks_;             // by actor
  std::vector<std::deque<Given>> given_;  // by actor: the last locks that it gave
  ActorId outside_ = kControllerActor;
  u32 operation_ = kConfiguration;
};

// What happens in its life comes from `actor`. Without a watch it does nothing.
class OutsideScope {
 public:
  OutsideScope(Races* races, ActorId actor) : races_(races) {
    if (races_ == nullptr) return;
    before_ = races_->outside();
    races_->set_outside(actor);
  }
  ~OutsideScope() {
    if (races_ != nullptr) races_->set_outside(before_);
  }
  OutsideScope(const OutsideScope&) = delete;
  OutsideScope& operator=(const OutsideScope&) = delete;

 private:
  Races* races_;
  ActorId before_ = kControllerActor;
};

}  // namespace tegula::emu
