// Locks of the array (array.md 5): acquire and release by DMA channels, cores and register accesses. Waiters
// are served in order of arrival among those that the value satisfies.
#include "emu/engine.h"

namespace tegula::emu {

using arch::Tile;
using arch::TileKind;

bool Engine::try_acquire(LockState& lock, i32 amount) {
  if (amount < 0 ? lock.value < -amount : lock.value != amount) return false;
  // A negative amount takes that many. The equal form takes its value too; whether silicon changes the lock
  // there is open (array.md 5), no public program uses it.
  lock.value += amount < 0 ? amount : -amount;
  return true;
}

void Engine::release(LockRef ref, i32 amount) {
  LockState& state = lock(ref);
  state.value += amount;
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
    if (!try_acquire(state, waiter.amount)) {
      ++i;
      continue;
    }
    state.waiters.erase(state.waiters.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiter.channel != nullptr) {
      acquired(*waiter.channel);
    } else {
      resume_core(*core_at(waiter.core));
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
