// Cores as the engine sees them: bursts, and what happens at each synchronisation point.
#include "emu/engine.h"

#include "base/hex.h"

namespace tegula::emu {

using arch::Tile;

namespace {

constexpr u64 kPortWords = 4;     // words a core's output port holds (array.md 6.6; AIE2 figure)
constexpr u64 kCascadeWords = 2;  // 512-bit words between two cores (assumed)
constexpr u32 kAccumulatorControl = 0x36060;

std::string at_pc(const CoreSlot& core) {
  return arch::tile_name(core.tile) + " at pc " + hex(core.stop.pc);
}

}  // namespace

void Engine::connect_core(CoreSlot& core) {
  const Tile t = core.tile;
  const auto memory = [&](int col, int row) -> u8* {
    if (!arch::in_grid(col, row) || row < arch::kFirstCoreRow) return nullptr;
    return at({static_cast<u8>(col), static_cast<u8>(row)}).data;
  };
  // The id is the tile's place, as in stream packet headers.
  core.model->connect(at(t).data,
                      {memory(t.col, t.row - 1), memory(t.col - 1, t.row), memory(t.col, t.row + 1)},
                      at(t).program.data(), static_cast<u32>(t.col) << 16 | t.row);
}

void Engine::make_runnable(CoreSlot& core, u64 cycle) {
  core.state = CoreSlot::State::kRunnable;
  core.start = cycle;
  runnable_.push_back(&core);
}

void Engine::queue_stop(CoreSlot& core, Stop stop) {
  core.state = CoreSlot::State::kStopped;
  core.stop = std::move(stop);
  if (timeline_ != nullptr) {
    core.last_event = ++event_number_;
    record({.kind = TimelineEvent::Kind::kCoreBusy,
            .tile = core.tile,
            .start = core.start,
            .end = core.stop.cycle,
            .feeds = core.last_event,
            .fed_by = core.fed_by});
    core.fed_by = 0;
  }
  queue_.push(std::max(core.stop.cycle, now_), kCoreComponent + static_cast<u32>(core.tile.index()),
              core.epoch);
}

void Engine::control_core(TileState& tile, u32 value) {
  CoreSlot& core = *tile.core;
  const bool ran = core.state != CoreSlot::State::kOff;
  core.control = value & (arch::kCoreEnable | arch::kCoreReset);
  if ((core.control & arch::kCoreReset) != 0) core.fresh = true;
  const bool run = core.control == arch::kCoreEnable;
  if (run && ran && !core.fresh) return;
  // Leave whatever it was doing: pending stops become void, lock requests are taken back.
  ++core.epoch;
  std::erase(runnable_, &core);
  for (TileState& t : tiles_) {
    for (LockState& state : t.locks) {
      std::erase_if(state.waiters,
                    [&](const LockWaiter& w) { return w.channel == nullptr && w.core == core.tile; });
    }
  }
  if (!run) {
    core.state = CoreSlot::State::kOff;
    return;
  }
  if (!core.fresh) {
    return fault(RunEnd::kArrayError, tile.tile,
                 arch::tile_name(tile.tile) +
                     ": enabled again without a reset; resuming a halted core is not supported");
  }
  core.fresh = false;
  core.in.clear();
  core.out.clear();
  core.cascade_in.clear();
  core.model->reset(now_);
  if (races_) races_->order(races_->outside(), Races::core(core.tile));
  make_runnable(core, now_);
}

void Engine::resume_core(CoreSlot& core) {
  if (timeline_ != nullptr) {
    const auto ref =
        core.stop.reason == StopReason::kAcquire ? core_lock(core.tile, core.stop.lock_id) : std::nullopt;
    record({.kind = TimelineEvent::Kind::kCoreWait,
            .tile = core.tile,
            .start = core.stop.cycle,
            .end = now_,
            .words = static_cast<u32>(core.stop.reason),
            .lock = ref ? static_cast<u32>(ref->tile.index()) << 8 | ref->lock : 0xFFFFFFFF});
  }
  core.model->resume(std::max(now_, core.stop.cycle));
  make_runnable(core, now_);
}

void Engine::core_stop(CoreSlot& core) {
  switch (core.stop.reason) {
    case StopReason::kBudget:
      return make_runnable(core, now_);
    case StopReason::kAcquire:
      return core_acquire(core);
    case StopReason::kRelease:
      return core_release(core);
    case StopReason::kStreamRead:
      return core_stream_read(core);
    case StopReason::kStreamWrite:
      return core_stream_write(core);
    case StopReason::kCascadeRead:
      return core_cascade_read(core);
    case StopReason::kCascadeWrite:
      return core_cascade_write(core);
    case StopReason::kNeighbour:
      return core_neighbour(core);
    case StopReason::kTileRegister:
      return core_register(core);
    case StopReason::kDone:
      core.state = CoreSlot::State::kDone;
      return;
    case StopReason::kFault:
      if (survive_core_faults_) {
        core.state = CoreSlot::State::kFaulted;
        return;
      }
      return fault(RunEnd::kArrayError, core.tile, at_pc(core) + ": " + core.stop.fault);
  }
}

void Engine::core_acquire(CoreSlot& core) {
  const auto ref = core_lock(core.tile, core.stop.lock_id);
  if (!ref) {
    return fault(RunEnd::kArrayError, core.tile,
                 at_pc(core) + ": acquires lock " + std::to_string(core.stop.lock_id) +
                     " of a neighbour that does not exist");
  }
  LockState& state = lock(*ref);
  if (try_acquire(state, core.stop.amount, {nullptr, &core}, &core.fed_by)) return resume_core(core);
  core.state = CoreSlot::State::kLockWait;
  state.waiters.push_back({nullptr, core.tile, core.stop.amount});
}

void Engine::core_release(CoreSlot& core) {
  const auto ref = core_lock(core.tile, core.stop.lock_id);
  if (!ref) {
    return fault(RunEnd::kArrayError, core.tile,
                 at_pc(core) + ": releases lock " + std::to_string(core.stop.lock_id) +
                     " of a neighbour that does not exist");
  }
  make_runnable(core, now_);
  release(*ref, core.stop.amount, {nullptr, &core}, core.last_event);
}

// The core got a lock that it had to wait for.
void Engine::lock_wait(CoreSlot& core, LockRef ref) {
  auto found = std::find_if(core.lock_waits.begin(), core.lock_waits.end(), [&](const LockWaitReport& w) {
    return w.tile == ref.tile && w.lock == ref.lock;
  });
  if (found == core.lock_waits.end()) {
    core.lock_waits.push_back({ref.tile, ref.lock, 0, 0});
    found = core.lock_waits.end() - 1;
  }
  found->cycles += now_ - std::min(now_, std::max(core.stop.cycle, run_start_));
  ++found->waits;
}

// The bundle runs here, alone, so that what it reads does not depend on bursts of other cores in other
// threads.
void Engine::core_neighbour(CoreSlot& core) {
  core.model->resume(now_);
  queue_stop(core, core.model->run(1));
}

void Engine::core_register(CoreSlot& core) {
  const OutsideScope outside(races_.get(), Races::core(core.tile));
  const u32 offset = core.stop.address;
  const auto unknown = [&] {
    fault(RunEnd::kArrayError, core.tile,
          at_pc(core) + ": " + (core.stop.is_write ? "st.tm to " : "lda.tm from ") + hex(offset) +
              ", no register of a core tile");
  };
  if (core.stop.is_write) {
    const auto done = write_tile(core.tile, offset, core.stop.word);
    if (!done.ok() && !failure_) return unknown();
    if (failure_ || core.state != CoreSlot::State::kStopped) return;  // it may have stopped itself
    return resume_core(core);
  }
  const auto value = read_tile(core.tile, offset);
  if (!value) return unknown();
  if (races_) polled(arch::tile_address(core.tile, offset));
  core.model->resume_word(now_, *value, true);
  make_runnable(core, now_);
}

// ------------------------------------------------------------- stream port

void Engine::core_stream_read(CoreSlot& core) {
  if (core.in.empty() && core.stop.blocking) {
    core.state = CoreSlot::State::kStreamRead;
    return;
  }
  const bool success = !core.in.empty();
  u32 word = 0;
  if (success) {
    word = core.in.front();
    core.in.pop_front();
    if (races_) races_->join(Races::core(core.tile), core.in_clock);
  }
  core.model->resume_word(std::max(now_, core.stop.cycle), word, success);
  make_runnable(core, now_);
  if (success) retry(core.waiting_flows);
}

void Engine::core_stream_write(CoreSlot& core) {
  if (core.out.size() >= kPortWords) {
    if (core.stop.blocking) {
      core.state = CoreSlot::State::kStreamWrite;
      return;
    }
    core.model->resume_word(std::max(now_, core.stop.cycle), 0, false);
    return make_runnable(core, now_);
  }
  core.out.push_back({core.stop.word, core.stop.tlast});
  if (races_) core.out_clock = races_->copy(Races::core(core.tile));
  if (core.stop.blocking) {
    resume_core(core);
  } else {
    core.model->resume_word(std::max(now_, core.stop.cycle), 0, true);
    make_runnable(core, now_);
  }
  try_start(core.flow);
}

// ------------------------------------------------------------- cascade

// ACCUMULATOR_CONTROL: bit 0 input (0 from north, 1 from west), bit 1 output (0 to south, 1 to east).
CoreSlot* Engine::cascade_target(const CoreSlot& core) {
  TileState& own = at(core.tile);
  const bool east = (own.stubs[kAccumulatorControl] & 2) != 0;
  const int col = core.tile.col + (east ? 1 : 0);
  const int row = core.tile.row - (east ? 0 : 1);
  if (!arch::in_grid(col, row) || row < arch::kFirstCoreRow) return nullptr;
  TileState& to = at({static_cast<u8>(col), static_cast<u8>(row)});
  const bool from_west = (to.stubs[kAccumulatorControl] & 1) != 0;
  return from_west == east ? to.core : nullptr;
}

CoreSlot* Engine::cascade_source(const CoreSlot& core) {
  const bool west = (at(core.tile).stubs[kAccumulatorControl] & 1) != 0;
  const int col = core.tile.col - (west ? 1 : 0);
  const int row = core.tile.row + (west ? 0 : 1);
  if (!arch::in_grid(col, row)) return nullptr;
  CoreSlot* from = at({static_cast<u8>(col), static_cast<u8>(row)}).core;
  return cascade_target(*from) == &core ? from : nullptr;
}

void Engine::core_cascade_read(CoreSlot& core) {
  if (core.cascade_in.empty()) {
    core.state = CoreSlot::State::kCascadeRead;
    return;
  }
  const std::array<u8, 64> word = core.cascade_in.front();
  core.cascade_in.pop_front();
  if (races_) races_->join(Races::core(core.tile), core.cascade_clock);
  core.model->resume_cascade(std::max(now_, core.stop.cycle), word.data());
  make_runnable(core, now_);
  CoreSlot* from = cascade_source(core);
  if (from != nullptr && from->state == CoreSlot::State::kCascadeWrite) core_cascade_write(*from);
}

void Engine::core_cascade_write(CoreSlot& core) {
  CoreSlot* to = cascade_target(core);
  if (to == nullptr) {
    return fault(RunEnd::kArrayError, core.tile,
                 at_pc(core) + ": writes to the cascade, but no neighbour takes it (ACCUMULATOR_CONTROL)");
  }
  if (to->cascade_in.size() >= kCascadeWords) {
    core.state = CoreSlot::State::kCascadeWrite;
    return;
  }
  std::array<u8, 64> word;
  std::copy_n(core.stop.cascade, word.size(), word.begin());
  to->cascade_in.push_back(word);
  if (races_) to->cascade_clock = races_->copy(Races::core(core.tile));
  resume_core(core);
  if (to->state == CoreSlot::State::kCascadeRead) core_cascade_read(*to);
}

}  // namespace tegula::emu
