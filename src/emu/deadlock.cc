// Who waits for whom when nothing moves any more: a graph over the controller, the DMA channels and the
// cores, and in it a circle, or else the chain from the controller to the party that does nothing.
#include <algorithm>

#include "base/hex.h"
#include "emu/engine.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {

constexpr u32 kControllerParty = 0;
constexpr u32 kChannelParties = 1;  // + (tile index * 2 + direction) * 6 + channel
constexpr u32 kCoreParties = kChannelParties + arch::kTiles * 12;  // + tile index
constexpr u32 kParties = kCoreParties + arch::kTiles;
constexpr size_t kMaxSteps = 16;  // of a chain in a message

}  // namespace

Engine::Party Engine::party(const Channel& channel) const {
  return kChannelParties +
         static_cast<u32>((channel.tile.index() * 2 + static_cast<int>(channel.direction)) * 6 +
                          channel.number);
}
Engine::Party Engine::party(const CoreSlot& core) const {
  return kCoreParties + static_cast<u32>(core.tile.index());
}

const Channel* Engine::channel_of(Party party) const {
  if (party < kChannelParties || party >= kCoreParties) return nullptr;
  const u32 number = party - kChannelParties;
  return &tiles_[number / 12].channels[number / 6 % 2][number % 6];
}
const CoreSlot* Engine::core_of(Party party) const {
  return party < kCoreParties ? nullptr : tiles_[party - kCoreParties].core;
}

std::string Engine::party_name(Party party) const {
  if (const Channel* channel = channel_of(party)) return channel->name();
  if (const CoreSlot* core = core_of(party)) return arch::tile_name(core->tile);
  return "controller";
}

// "core (0,2) took 1 at cycle 512".
std::string Engine::last_change(LockRef ref) const {
  const LockState& state = at(ref.tile).locks[ref.lock];
  if (!state.touched) return "nobody has changed it";
  const std::string who = state.last.channel != nullptr ? state.last.channel->name()
                          : state.last.core != nullptr  ? arch::tile_name(state.last.core->tile)
                                                        : "a register write";
  const i32 amount = state.last_amount;
  return "last changed by " + who + " by " + (amount > 0 ? "+" : "") + std::to_string(amount) + " at cycle " +
         std::to_string(state.last_time);
}

std::string Engine::party_wait(Party party) const {
  const auto with_lock = [&](std::string text, std::optional<LockRef> ref) {
    return ref ? text + " (" + last_change(*ref) + ")" : text;
  };
  if (const Channel* channel = channel_of(party)) {
    if (channel->state == Channel::State::kIdle) return channel->name() + " has no task";
    const std::string text = explain_channel(*channel);
    if (channel->state != Channel::State::kLockWait) return text;
    return with_lock(text, dma_lock(*channel, channel->bd.acquire_lock));
  }
  if (const CoreSlot* core = core_of(party)) {
    const std::string name = arch::tile_name(core->tile);
    switch (core->state) {
      case CoreSlot::State::kOff:
        return name + " is not enabled";
      case CoreSlot::State::kDone:
        return name + " has executed done";
      case CoreSlot::State::kFaulted:
        return name + " has halted: " + core->stop.fault;
      case CoreSlot::State::kLockWait:
        return with_lock(explain_core(*core), core_lock(core->tile, core->stop.lock_id));
      default:
        return explain_core(*core);
    }
  }
  return explain_controller();
}

// Channels whose running chain has a BD that releases the lock; cores that have given it before, or the
// tile's own if nobody is known; idle channels with such a BD last.
std::vector<Engine::Party> Engine::lock_givers(LockRef ref) const {
  std::vector<Party> running, idle;
  for (const TileState& tile : tiles_) {
    const TileKind kind = tile.tile.kind();
    if (tile.tile.row != ref.tile.row || std::abs(tile.tile.col - ref.tile.col) > 1) continue;
    for (const auto& side : tile.channels) {
      for (int c = 0; c < arch::traits(kind).channels; ++c) {
        const Channel& channel = side[c];
        const auto gives = [&](int number) {
          const arch::Bd bd = arch::decode(kind, tile.bd_words[number]);
          const auto lock = dma_lock(channel, bd.release_lock);
          return bd.valid && bd.release_value > 0 && lock && lock->tile == ref.tile && lock->lock == ref.lock;
        };
        if (channel.state == Channel::State::kIdle) {
          for (int n = 0; n < arch::traits(kind).bds; ++n) {
            if (!arch::bd_allowed(kind, channel.number, n) || !gives(n)) continue;
            idle.push_back(party(channel));
            break;
          }
          continue;
        }
        int number = channel.bd_number;
        for (int steps = 0; steps < arch::traits(kind).bds; ++steps) {
          if (gives(number)) {
            running.push_back(party(channel));
            break;
          }
          const arch::Bd bd = arch::decode(kind, tile.bd_words[number]);
          number = bd.use_next ? bd.next : channel.task.first_bd;
        }
      }
    }
  }
  const u64 givers = at(ref.tile).locks[ref.lock].givers;
  for (const CoreSlot& core : cores_) {
    if ((givers >> core.tile.index() & 1) != 0) running.push_back(party(core));
  }
  const CoreSlot* own = at(ref.tile).core;
  if (running.empty() && own != nullptr && own->state != CoreSlot::State::kOff)
    running.push_back(party(*own));
  return running.empty() ? idle : running;
}

// Sources whose stream reaches an S2MM channel, or with channel -1 the core's port.
std::vector<Engine::Party> Engine::senders_to(Tile target, int channel) const {
  Switches& switches = const_cast<Switches&>(switches_);  // finds routes when first asked
  std::vector<Party> busy, idle;
  const auto reaches = [&](Tile tile, int slave) {
    if (slave < 0 || (switches_.slave_config(tile)[slave] & arch::kPortEnable) == 0) return false;
    const bool packets = switches_.packet_slave(tile, slave);
    for (int id = packets ? 0 : Switches::kCircuit; id < (packets ? 32 : 0); ++id) {
      for (const Sink& sink : switches.route(tile, slave, id)->sinks) {
        if (sink.tile != target) continue;
        if (channel < 0 ? sink.kind == Sink::Kind::kCore
                        : sink.kind == Sink::Kind::kChannel && sink.channel == channel) {
          return true;
        }
      }
    }
    return false;
  };
  for (const TileState& tile : tiles_) {
    for (int c = 0; c < arch::traits(tile.tile.kind()).channels; ++c) {
      const Channel& source = tile.channels[1][c];
      if (!reaches(tile.tile, switches_.dma_slave(tile.tile, c))) continue;
      (source.state == Channel::State::kIdle ? idle : busy).push_back(party(source));
    }
    if (tile.core == nullptr) continue;
    const int slave = arch::slave_number(TileKind::kCore, {arch::PortKind::kCore, 0});
    if (reaches(tile.tile, slave)) busy.push_back(party(*tile.core));
  }
  return busy.empty() ? idle : busy;
}

std::vector<Engine::Party> Engine::waits_for(Party at_party) const {
  std::vector<Party> out;
  const auto flow_waits = [&](const Flow& flow) {
    if (!flow.route) return;
    for (const Sink& sink : flow.route->sinks) {
      if (sink_room(sink) != 0) continue;
      if (sink.kind == Sink::Kind::kChannel) out.push_back(party(at(sink.tile).channels[0][sink.channel]));
      if (sink.kind == Sink::Kind::kCore) out.push_back(party(*at(sink.tile).core));
    }
  };
  if (at_party == kControllerParty) {
    if (controller_.waiting != nullptr) out.push_back(party(*controller_.waiting));
  } else if (const Channel* channel = channel_of(at_party)) {
    if (channel->state == Channel::State::kLockWait) {
      const auto ref = dma_lock(*channel, channel->bd.acquire_lock);
      if (ref) out = lock_givers(*ref);
    } else if (channel->state == Channel::State::kReady && channel->direction == Direction::kMm2s) {
      flow_waits(channel->flow);
    } else if (channel->state == Channel::State::kReady) {
      out = senders_to(channel->tile, channel->number);
    }
  } else if (const CoreSlot* core = core_of(at_party)) {
    CoreSlot* other = nullptr;
    switch (core->state) {
      case CoreSlot::State::kLockWait:
        if (const auto ref = core_lock(core->tile, core->stop.lock_id)) out = lock_givers(*ref);
        break;
      case CoreSlot::State::kStreamRead:
        out = senders_to(core->tile, -1);
        break;
      case CoreSlot::State::kStreamWrite:
        flow_waits(core->flow);
        break;
      case CoreSlot::State::kCascadeRead:
        other = const_cast<Engine*>(this)->cascade_source(*core);
        break;
      case CoreSlot::State::kCascadeWrite:
        other = const_cast<Engine*>(this)->cascade_target(*core);
        break;
      default:
        break;
    }
    if (other != nullptr) out.push_back(party(*other));
  }
  return out;
}

// Depth first; true when path ends in a party that is in it already.
bool Engine::find_circle(Party at_party, std::vector<Party>& path, std::vector<bool>& seen) const {
  const bool closed = std::find(path.begin(), path.end(), at_party) != path.end();
  path.push_back(at_party);
  if (closed) return true;
  if (!seen[at_party]) {
    seen[at_party] = true;
    for (const Party other : waits_for(at_party)) {
      if (find_circle(other, path, seen)) return true;
    }
  }
  path.pop_back();
  return false;
}

std::string Engine::circle_text() const {
  std::vector<Party> path;
  std::vector<bool> seen(kParties, false);
  std::string text;
  size_t first = 0;
  bool circle = find_circle(kControllerParty, path, seen);
  for (Party start = kChannelParties; start < kParties && !circle && !controller_.running; ++start) {
    if (!waits_for(start).empty()) circle = find_circle(start, path, seen);
  }
  if (circle) {
    first = static_cast<size_t>(std::find(path.begin(), path.end(), path.back()) - path.begin());
    text = "circle of " + std::to_string(path.size() - 1 - first) + ": ";
    path.pop_back();
  } else {
    if (!controller_.running) return {};
    path.assign(1, kControllerParty);
    for (auto next = waits_for(path.back()); !next.empty() && path.size() < kMaxSteps;
         next = waits_for(path.back())) {
      path.push_back(next[0]);
    }
    if (path.size() < 3) return {};
    text = "chain: ";
  }
  for (size_t i = first; i < path.size() && i < first + kMaxSteps; ++i) {
    text += (i == first ? "" : " -> ") + party_wait(path[i]);
  }
  if (circle) text += " -> " + party_name(path[first]) + " again";
  return text;
}

}  // namespace tegula::emu
