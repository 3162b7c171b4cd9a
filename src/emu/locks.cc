// Locks of the array (array.md 5): acquire and release by DMA channels, cores and register accesses. Waiters
// are served in order of arrival among those that the value satisfies.
#include "emu/engine.h"

namespace tegula::emu {

using arch::Tile;
using arch::TileKind;

// Register accesses from outside have no actor of their own.
ActorId Engine::actor_id(const Actor& actor) const {
  if (actor.channel != nullptr) {
    return Races::channel(actor.channel->tile, actor.channel->direction, actor.channel->number);
  }
  return actor.core != nullptr ? Races::core(actor.core->tile) : races_->outside();
}

bool Engine::try_acquire(LockState& lock, i32 amount, const Actor& actor, u64* origin) {
  if (amount < 0 ? lock.value < -amount : lock.value != amount) return false;
  // A negative amount takes that many. The equal form takes its value too; whether silicon changes the lock
  // there is open (array.md 5), no public program uses it.
  const i32 taken = amount < 0 ? -amount : amount;
  if (timeline_ != nullptr) {
    while (static_cast<i32>(lock.origins.size()) < lock.value) lock.origins.push_front(0);
    for (i32 i = 0; i < taken; ++i) {
      if (lock.origins.front() != 0 && origin != nullptr) *origin = lock.origins.front();
      lock.origins.pop_front();
    }
  }
  lock.value -= taken;
  if (races_) races_->lock_taken(lock.clocks, taken, actor_id(actor));
  changed(lock, actor, -taken);
  return true;
}

void Engine::changed(LockState& lock, const Actor& actor, i32 amount) {
  lock.touched = true;
  lock.last = actor;
  lock.last_amount = amount;
  lock.last_time = now_;
  if (amount > 0 && actor.core != nullptr) lock.givers |= 1ull << actor.core->tile.index();
}

void Engine::release(LockRef ref, i32 amount, const Actor& actor, u64 origin) {
  LockState& state = lock(ref);
  if (timeline_ != nullptr) {
    while (static_cast<i32>(state.origins.size()) < state.value) state.origins.push_front(0);
    for (i32 i = 0; i < amount && state.origins.size() < arch::kLockMax; ++i) state.origins.push_back(origin);
  }
  if (races_) races_->lock_given(state.clocks, ref.tile, ref.lock, amount, actor_id(actor));
  state.value += amount;
  changed(state, actor, amount);
  if (state.value > arch::kLockMax || state.value < 0) {
    const bool over = state.value > 0;
    state.value = over ? arch::kLockMax : 0;
    note(arch::tile_name(ref.tile) + " lock " + std::to_string(ref.lock) +
         (over ? " overflowed at 63" : " fell below 0") + ": a release of " + std::to_string(amount) +
         " that no acquire balances");
    const TileKind kind = ref.tile.kind();
    const u32 base = kind == TileKind::kMem ? 0xC0420 : kind == TileKind::kCore ? 0x1F120 : 0x14120;
    at(ref.tile).stubs[base + (over ? 0 : 8) + ref.lock / 32 * 4] |= 1u << (ref.lock % 32);
  }
  wake(ref);
}

void Engine::wake(LockRef ref) {
  LockState& state = lock(ref);
  for (size_t i = 0; i < state.waiters.size();) {
    const LockWaiter waiter = state.waiters[i];
    CoreSlot* core = waiter.channel == nullptr ? core_at(waiter.core) : nullptr;
    u64* origin = core != nullptr ? &core->fed_by : &waiter.channel->fed_by;
    if (!try_acquire(state, waiter.amount, {waiter.channel, core}, origin)) {
      ++i;
      continue;
    }
    state.waiters.erase(state.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    if (core == nullptr) {
      end_wait(*waiter.channel, &waiter.channel->report.lock_cycles, TimelineEvent::Kind::kLockWait);
      acquired(*waiter.channel);
    } else {
      lock_wait(*core, ref);
      resume_core(*core);
    }
  }
}

// A core names 16 locks of each of four tiles.
std::optional<LockRef> Engine::core_lock(Tile core, int id) const {
  int col = core.col;
  int row = core.row;
  if (id < arch::kCoreLockWest) {
    --row;
  } else if (id < arch::kCoreLockNorth) {
    --col;
  } else if (id < arch::kCoreLockOwn) {
    ++row;
  }
  if (id < 0 || id >= 64 || !arch::in_grid(col, row) || row < arch::kFirstCoreRow) return std::nullopt;
  return LockRef{{static_cast<u8>(col), static_cast<u8>(row)}, static_cast<u8>(id % 16)};
}

// Mem tile channels see the locks of three tiles, the others their own 16.
std::optional<LockRef> Engine::dma_lock(const Channel& channel, int id) const {
  const Tile tile = channel.tile;
  if (tile.kind() != TileKind::kMem) {
    if (id >= 16) return std::nullopt;
    return LockRef{tile, static_cast<u8>(id)};
  }
  const int col = tile.col + id / 64 - 1;
  if (id >= 192 || !arch::in_grid(col, tile.row)) return std::nullopt;
  if (col != tile.col && channel.number >= arch::kMemNeighbourChannels) return std::nullopt;
  return LockRef{{static_cast<u8>(col), tile.row}, static_cast<u8>(id % 64)};
}

}  // namespace tegula::emu
