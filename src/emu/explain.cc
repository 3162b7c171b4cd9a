// Text about the state of the array: who waits for whom. For deadlock messages and inspectors.
#include "emu/engine.h"

#include "base/hex.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {

constexpr size_t kDeadlockLines = 12;

std::string sink_name(const Sink& sink) {
  switch (sink.kind) {
    case Sink::Kind::kChannel:
      return arch::tile_name(sink.tile) + " S2MM" + std::to_string(sink.channel);
    case Sink::Kind::kCore:
      return arch::tile_name(sink.tile) + " core stream port";
    case Sink::Kind::kToken:
      return arch::tile_name(sink.tile) + " South0 (controller)";
    case Sink::Kind::kControl:
      break;
  }
  return arch::tile_name(sink.tile) + " TileCtrl";
}

}  // namespace

// "lock 5 of core (0,2): is 0, needs >= 1; given by S2MM0 BD 3".
std::string Engine::explain_lock(LockRef ref, i32 amount) const {
  const TileState& tile = at(ref.tile);
  std::string text = "lock " + std::to_string(ref.lock) + " of " + arch::tile_name(ref.tile) + ": is " +
                     std::to_string(tile.locks[ref.lock].value) + ", needs " +
                     (amount < 0 ? ">= " + std::to_string(-amount) : "== " + std::to_string(amount));
  std::string givers;
  const TileKind kind = ref.tile.kind();
  for (int i = 0; i < arch::traits(kind).bds; ++i) {
    const arch::Bd bd = arch::decode(kind, tile.bd_words[i]);
    const int id = kind == TileKind::kMem ? bd.release_lock - arch::kMemLockOwn : bd.release_lock;
    if (bd.valid && bd.release_value > 0 && id == ref.lock)
      givers += (givers.empty() ? "" : ", ") + std::to_string(i);
  }
  if (!givers.empty()) text += "; BDs of this tile that give it: " + givers;
  return text;
}

std::string Engine::explain_flow(const Flow& flow) const {
  if (flow.moving) return "words are moving";
  if (flow.stuck) {
    if (flow.slave < 0) return "has no route: MUX_CONFIG does not connect it to the stream switch";
    const int id = flow.packet ? static_cast<int>(arch::packet_id_of(flow.header)) : Switches::kCircuit;
    const auto route = const_cast<Switches&>(switches_).route(flow.tile, flow.slave, id);
    return "has no route: " + route->problem;
  }
  if (!flow.route) return "waits for an arbiter that another packet holds";
  for (const Sink& sink : flow.route->sinks) {
    if (sink_room(sink) == 0) return "waits for room at " + sink_name(sink);
  }
  return "is ready";
}

std::string Engine::explain_channel(const Channel& channel) const {
  const std::string head = channel.name() + " BD " + std::to_string(channel.bd_number) + " ";
  switch (channel.state) {
    case Channel::State::kIdle:
      return {};
    case Channel::State::kLockWait: {
      const auto ref = dma_lock(channel, channel.bd.acquire_lock);
      return head + "waits for " +
             (ref ? explain_lock(*ref, channel.bd.acquire_value) : "an unreachable lock");
    }
    case Channel::State::kReady:
      break;
    default:
      return head + "moves words";
  }
  const std::string left =
      " (" + std::to_string(channel.left) + " of " + std::to_string(channel.bd.length) + " words left)";
  if (channel.paused) return head + "is paused" + left;
  if (channel.direction == Direction::kMm2s) return head + explain_flow(channel.flow) + left;
  return head + "waits for words" + left;
}

std::string Engine::explain_core(const CoreSlot& core) const {
  const std::string head = arch::tile_name(core.tile) + " pc " + hex(core.stop.pc) + " ";
  switch (core.state) {
    case CoreSlot::State::kLockWait: {
      const auto ref = core_lock(core.tile, core.stop.lock_id);
      return head + "waits for " + (ref ? explain_lock(*ref, core.stop.amount) : "an unreachable lock");
    }
    case CoreSlot::State::kStreamRead:
      return head + "waits for a word on its stream port";
    case CoreSlot::State::kStreamWrite:
      return head + "cannot send: " + explain_flow(core.flow);
    case CoreSlot::State::kCascadeRead:
      return head + "waits for a cascade word";
    case CoreSlot::State::kCascadeWrite:
      return head + "waits for room in the cascade";
    case CoreSlot::State::kRunnable:
    case CoreSlot::State::kStopped:
      return arch::tile_name(core.tile) + " runs";
    default:
      return {};
  }
}

CoreState Engine::core_state(const CoreSlot& core) const {
  using State = CoreSlot::State;
  CoreState out;
  out.enabled = core.state != State::kOff;
  out.done = core.state == State::kDone;
  if (core.state == State::kFaulted) out.fault = "pc " + hex(core.stop.pc) + ": " + core.stop.fault;
  if (!out.enabled || out.done || core.state == State::kFaulted) return out;
  if (core.state == State::kRunnable || core.state == State::kStopped) return out;
  out.waits = explain_core(core);
  if (core.state != State::kLockWait) return out;
  if (const auto ref = core_lock(core.tile, core.stop.lock_id)) {
    out.waits_for_lock = true;
    out.lock_tile = ref->tile;
    out.lock = ref->lock;
    out.amount = core.stop.amount;
    out.lock_has_giver = !lock_givers(*ref).empty();
  }
  return out;
}

std::string Engine::explain_controller() const {
  if (!controller_.running) return {};
  std::string text = "controller at operation " + std::to_string(controller_.next) + " of " +
                     std::to_string(controller_.stream.ops.size());
  if (controller_.waiting != nullptr) {
    text += " waits for a token of " + controller_.waiting->name();
    if (controller_.waiting->state == Channel::State::kIdle) text += ", which has no task";
  } else if (controller_.polling) {
    text += " polls a register";
  }
  return text;
}

std::vector<std::string> Engine::explain() const {
  std::vector<std::string> lines;
  const auto add = [&](std::string text) {
    if (!text.empty()) lines.push_back(std::move(text));
  };
  add(explain_controller());
  for (const TileState& tile : tiles_) {
    if (tile.core != nullptr) add(explain_core(*tile.core));
    for (const auto& side : tile.channels) {
      for (const Channel& channel : side) add(explain_channel(channel));
    }
  }
  return lines;
}

// The channel the controller waits for first, then the rest up to a limit.
std::string Engine::deadlock_text() const {
  const std::vector<std::string> lines = explain();
  std::string first = controller_.waiting != nullptr ? explain_channel(*controller_.waiting) : std::string();
  std::string text = circle_text();
  if (!lines.empty()) text += (text.empty() ? "" : "; ") + lines[0];
  size_t shown = 1;
  if (!first.empty()) {
    text += "; " + first;
    ++shown;
  }
  size_t hidden = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    if (lines[i] == first) continue;
    if (shown < kDeadlockLines) {
      text += "; " + lines[i];
      ++shown;
    } else {
      ++hidden;
    }
  }
  if (hidden != 0) text += "; and " + std::to_string(hidden) + " more";
  return text;
}

std::vector<std::string> Engine::routes() {
  std::vector<std::string> lines;
  const auto add = [&](const std::string& source, Tile tile, int slave, int id) {
    const auto route = switches_.route(tile, slave, id);
    std::string line = source + (id == Switches::kCircuit ? "" : " id " + std::to_string(id)) + " -> ";
    for (size_t i = 0; i < route->sinks.size(); ++i)
      line += (i == 0 ? "" : ", ") + sink_name(route->sinks[i]);
    if (!route->problem.empty()) line += " [" + route->problem + "]";
    lines.push_back(std::move(line));
  };
  const auto source = [&](const std::string& name, Tile tile, int slave) {
    if (slave < 0 || (switches_.slave_config(tile)[slave] & arch::kPortEnable) == 0) return;
    if (!switches_.packet_slave(tile, slave)) return add(name, tile, slave, Switches::kCircuit);
    for (int id = 0; id < 32; ++id) {
      for (int s = 0; s < arch::kSlotsPerSlave; ++s) {
        const arch::PacketSlot slot = arch::decode_packet_slot(switches_.slot_config(tile, slave)[s]);
        if (!slot.enable || (id & slot.mask) != slot.id) continue;
        add(name, tile, slave, id);
        break;
      }
    }
  };
  for (const TileState& tile : tiles_) {
    const Tile t = tile.tile;
    for (int c = 0; c < arch::traits(t.kind()).channels; ++c) {
      source(arch::tile_name(t) + " MM2S" + std::to_string(c), t, switches_.dma_slave(t, c));
    }
    if (t.kind() == TileKind::kCore) {
      source(arch::tile_name(t) + " core stream port", t,
             arch::slave_number(t.kind(), {arch::PortKind::kCore, 0}));
    }
    source(arch::tile_name(t) + " TileCtrl", t, arch::slave_number(t.kind(), {arch::PortKind::kTileCtrl, 0}));
  }
  return lines;
}

}  // namespace tegula::emu
