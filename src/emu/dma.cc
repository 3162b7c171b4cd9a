// DMA channels (array.md 4): task queues, BD loading with locks and iteration, the ends of BDs, runs and
// tasks, tokens.
#include "emu/engine.h"

#include "base/hex.h"
#include "emu/cost_model.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {
constexpr size_t kTokenClocks = 64;  // kept of one channel
constexpr size_t kFinishCounts =
    256;  // of finish-on-TLAST that nobody reads (the depth of silicon is unknown)

// What a BD may not ask of padding: what is not allowed with it; empty: nothing.
std::string padding_trouble(const Channel& channel, const arch::Bd& bd) {
  if (!has_padding(bd)) return {};
  if (channel.tile.kind() != TileKind::kMem || channel.direction != Direction::kMm2s)
    return "uses padding, which only MM2S channels of mem tiles have";
  for (int i = 0; i < 3; ++i) {
    if (bd.dims[i].wrap != 0) continue;
    bool more = bd.pad_after[i] != 0;
    for (int above = i + 1; above < 3; ++above) more |= bd.pad_before[above] != 0 || bd.pad_after[above] != 0;
    if (more)
      return "pads behind D" + std::to_string(i) + " or a dimension above it, which its wrap of 0 never ends";
  }
  return {};
}
}  // namespace

std::string Channel::name() const {
  return arch::tile_name(tile) + " " + arch::direction_name(direction) + std::to_string(number);
}

void Engine::push_task(Channel& channel, u32 word) {
  const arch::Task task = arch::decode_task(channel.tile.kind(), word);
  if (channel.queue.size() >= arch::kQueueDepth) {
    channel.overflow = true;
    return fault(RunEnd::kArrayError, channel.tile,
                 channel.name() + ": task of BD " + std::to_string(task.first_bd) +
                     " pushed to a full queue (" + std::to_string(arch::kQueueDepth) +
                     " wait and 1 runs); wait for a token before pushing more");
  }
  channel.queue.push_back(task);
  if (races_) channel.task_clocks.push_back(races_->copy(races_->outside()));
  if (channel.state == Channel::State::kIdle) start_task(channel);
}

void Engine::reset_channel(Channel& channel) {
  if (channel.state == Channel::State::kLockWait) {
    if (auto ref = dma_lock(channel, channel.bd.acquire_lock)) {
      std::erase_if(lock(*ref).waiters, [&](const LockWaiter& w) { return w.channel == &channel; });
    }
  }
  if (channel.state == Channel::State::kMoving || channel.state == Channel::State::kFinishing) {
    fault(RunEnd::kArrayError, channel.tile,
          channel.name() + ": reset while words move; wait for the end of its task first");
  }
  close_packet(channel.flow);
  channel.queue.clear();
  channel.task_clocks.clear();
  channel.finish_counts.clear();
  channel.awaits_header = false;
  channel.state = Channel::State::kIdle;
  channel.left = 0;
}

void Engine::start_task(Channel& channel) {
  if (channel.queue.empty()) {
    channel.state = Channel::State::kIdle;
    return;
  }
  channel.task = channel.queue.front();
  channel.queue.pop_front();
  if (races_) {
    races_->join(actor_id({&channel, nullptr}), channel.task_clocks.front());
    channel.task_clocks.pop_front();
  }
  channel.runs_left = channel.task.repeat;
  if (channel.out_of_order()) return await_header(channel);
  load_bd(channel, channel.task.first_bd);
}

// Out of order: each run of the task is one packet, whose header names the BD.
void Engine::await_header(Channel& channel) {
  channel.awaits_header = true;
  channel.left = 1;
  channel.waiting_since = now_;
  acquired(channel);
}

// The header has come.
void Engine::open_named_bd(Channel& channel) {
  channel.awaits_header = false;
  channel.state = Channel::State::kIdle;
  load_bd(channel, arch::packet_bd_of(channel.header));
}

bool Engine::check_bd(Channel& channel, int number) {
  const TileKind kind = channel.tile.kind();
  const auto refuse = [&](const std::string& text) {
    fault(RunEnd::kArrayError, channel.tile, channel.name() + ": BD " + std::to_string(number) + " " + text);
    return false;
  };
  if (!arch::bd_allowed(kind, channel.number, number)) {
    return refuse(kind == TileKind::kMem ? "is not allowed there (even channels use BDs 0-23, odd ones 24-47)"
                                         : "does not exist (0-15)");
  }
  TileState& tile = at(channel.tile);
  if (!tile.bd_fresh[number]) {
    tile.bds[number] = arch::decode(kind, tile.bd_words[number]);
    tile.bd_fresh[number] = true;
  }
  const arch::Bd& bd = tile.bds[number];
  if (!bd.valid) return refuse("is not valid (its valid bit is 0)");
  if (bd.length == 0) return refuse("has length 0");
  if (bd.compress && (channel.ctrl & arch::kCtrlCompress) != 0)
    return refuse("uses compression, not supported");
  if (channel.out_of_order() && bd.use_next)
    return refuse("has a next BD, but its channel takes packets out of order");
  if (const std::string trouble = padding_trouble(channel, bd); !trouble.empty()) return refuse(trouble);
  return true;
}

// Finds the memory of the run and checks that all of it is inside.
bool Engine::place_bd(Channel& channel) {
  const arch::Bd& bd = channel.bd;
  const TileKind kind = channel.tile.kind();
  const u64 start = bd.address + 4ull * bd.iteration_current * bd.iteration_step;
  channel.walk.start(bd, arch::traits(kind).dimensions);
  channel.padded.reset();
  if (has_padding(bd)) channel.padded.emplace().start(bd);
  const u64 extent = channel.padded ? channel.padded->extent_words() : channel.walk.extent_words();
  const u64 end = start + extent * 4;
  const auto refuse = [&](const std::string& text) {
    fault(RunEnd::kArrayError, channel.tile,
          channel.name() + ": BD " + std::to_string(channel.bd_number) + " covers bytes " + hex(start) +
              ".." + hex(end - 1) + ", " + text);
    return false;
  };
  if (kind == TileKind::kShim) {
    channel.memory = nullptr;
    channel.ddr_address = (start - arch::kDdrOffset) & arch::kDeviceAddressMask;
    return true;
  }
  if (kind == TileKind::kCore) {
    if (end > arch::kCoreDataBytes) return refuse("beyond the 64 KiB of data memory");
    channel.memory = at(channel.tile).data + start;
    return true;
  }
  const u64 window = start / arch::kMemTileBytes;
  const int col = channel.tile.col + static_cast<int>(window) - 1;
  if (window > 2 || (end - 1) / arch::kMemTileBytes != window)
    return refuse("not inside one mem tile's window");
  if (!arch::in_grid(col, channel.tile.row)) return refuse("in a neighbour that does not exist");
  if (window != 1 && channel.number >= arch::kMemNeighbourChannels) {
    return refuse("in a neighbour, which only channels 0-3 reach");
  }
  channel.memory = at({static_cast<u8>(col), channel.tile.row}).data + start % arch::kMemTileBytes;
  return true;
}

void Engine::load_bd(Channel& channel, int number) {
  channel.bd_number = number;
  if (!check_bd(channel, number)) return;
  TileState& tile = at(channel.tile);
  channel.bd = tile.bds[number];
  if (!place_bd(channel)) return;
  if (channel.bd.iteration_wrap > 1) {
    // The counter lives in the BD's register.
    arch::Bd& stored = tile.bds[number];
    stored.iteration_current =
        stored.iteration_current + 1 >= stored.iteration_wrap ? 0 : stored.iteration_current + 1;
    arch::set_iteration_current(channel.tile.kind(), tile.bd_words[number], stored.iteration_current);
  }
  if (!channel.flow.in_packet) channel.flow.route.reset();  // a header may come first, or another id
  channel.left = channel.bd.length;
  channel.loaded_at = now_;
  channel.waiting_since = now_;
  channel.fed_by = 0;
  if (channel.bd.acquire) {
    const auto ref = dma_lock(channel, channel.bd.acquire_lock);
    if (!ref) {
      return fault(RunEnd::kArrayError, channel.tile,
                   channel.name() + ": BD " + std::to_string(number) + " acquires lock " +
                       std::to_string(channel.bd.acquire_lock) + ", which this channel cannot reach");
    }
    LockState& state = lock(*ref);
    if (!try_acquire(state, channel.bd.acquire_value, {&channel, nullptr}, &channel.fed_by)) {
      channel.state = Channel::State::kLockWait;
      state.waiters.push_back({&channel, {}, channel.bd.acquire_value});
      return;
    }
  }
  acquired(channel);
}

// A wait that began at waiting_since is over.
void Engine::end_wait(Channel& channel, u64* sum, TimelineEvent::Kind kind) {
  const u64 start = std::max(channel.waiting_since, run_start_);
  if (now_ > start) {
    *sum += now_ - start;
    record(channel, kind, start, kind == TimelineEvent::Kind::kLockWait ? channel.bd.acquire_lock : 0);
  }
  channel.waiting_since = now_;
}

void Engine::record(const Channel& channel, TimelineEvent::Kind kind, u64 start, u32 words) {
  record({.kind = kind,
          .tile = channel.tile,
          .direction = channel.direction,
          .channel = channel.number,
          .start = start,
          .end = now_,
          .words = words});
}

void Engine::acquired(Channel& channel) {
  channel.state = Channel::State::kReady;
  if (channel.direction == Direction::kMm2s) {
    try_start(channel.flow);
  } else {
    retry(channel.waiting_flows);
  }
}

// TLAST came. In finish-on-TLAST mode that ends the BD, however many words are missing.
void Engine::finish_on_tlast(Channel& channel) {
  if (!channel.finishes_on_tlast() || channel.awaits_header || channel.state == Channel::State::kIdle) return;
  if ((channel.ctrl & arch::kCtrlFotMask) == arch::kCtrlFotFifo) {
    if (channel.finish_counts.size() >= kFinishCounts) {
      return fault(RunEnd::kArrayError, channel.tile,
                   channel.name() + ": " + std::to_string(kFinishCounts) +
                       " counts of finish-on-TLAST wait to be read; read them or use mode 1");
    }
    const bool last = !channel.bd.use_next && channel.runs_left == 1;
    channel.finish_counts.push_back(
        arch::fot_count(channel.bd_number, channel.bd.length - channel.left, last));
  }
  channel.left = 0;
  channel.state = Channel::State::kFinishing;
}

void Engine::finish_bd(Channel& channel) {
  ++channel.report.bds;
  const arch::Bd bd = channel.bd;
  channel.state = Channel::State::kIdle;
  u64 event = 0;
  if (timeline_ != nullptr) {
    event = ++event_number_;
    record({.kind = TimelineEvent::Kind::kBd,
            .tile = channel.tile,
            .direction = channel.direction,
            .channel = channel.number,
            .start = channel.loaded_at,
            .end = now_,
            .words = static_cast<u32>(channel.bd_number),
            .feeds = event,
            .fed_by = channel.fed_by});
  }
  if (bd.release_value != 0) {
    const auto ref = dma_lock(channel, bd.release_lock);
    if (!ref) {
      return fault(RunEnd::kArrayError, channel.tile,
                   channel.name() + ": BD " + std::to_string(channel.bd_number) + " releases lock " +
                       std::to_string(bd.release_lock) + ", which this channel cannot reach");
    }
    release(*ref, bd.release_value, {&channel, nullptr}, event);
  }
  if (bd.use_next) return load_bd(channel, bd.next);
  if (--channel.runs_left > 0) {
    if (channel.out_of_order()) return await_header(channel);
    return load_bd(channel, channel.task.first_bd);
  }
  ++channel.report.tasks;
  if (channel.task.token) send_token(channel);
  start_task(channel);
}

// The token itself is a packet from the tile's TileCtrl port to the controller below a shim. Its words carry
// nothing the engine needs, but without a route it would never arrive.
void Engine::send_token(Channel& channel) {
  const int id = static_cast<int>((channel.ctrl >> arch::kCtrlControllerShift) & 0x1F);
  const int slave = arch::slave_number(channel.tile.kind(), {arch::PortKind::kTileCtrl, 0});
  const auto route = switches_.route(channel.tile, slave, id);
  bool arrives = route->problem.empty();
  for (const Sink& sink : route->sinks) arrives = arrives && sink.kind == Sink::Kind::kToken;
  if (!arrives) {
    return fault(
        RunEnd::kArrayError, channel.tile,
        channel.name() + ": the task token (controller id " + std::to_string(id) +
            ") cannot reach the controller: " +
            (route->problem.empty() ? "its route ends elsewhere than at a shim's South0" : route->problem));
  }
  ++channel.tokens;
  if (races_) {
    channel.token_clocks.push_back(races_->copy(actor_id({&channel, nullptr})));
    // Tokens that nobody waits for pile up; of many the last ones are enough.
    if (channel.token_clocks.size() > kTokenClocks) channel.token_clocks.pop_front();
  }
  if (controller_.waiting == &channel) {
    controller_.waiting = nullptr;
    queue_.push(now_, kControllerComponent, 0);
  }
}

// ------------------------------------------------------------- words to and from memory

// Memory of the whole run of a shim BD, or null after a memory fault. When the run does not lie in one
// buffer, its pieces may still; ddr_words finds out.
u8* Engine::ddr_pointer(Channel& channel) {
  auto memory = ddr_->translate(channel.ddr_address, channel.walk.extent_words() * 4,
                                channel.direction == Direction::kS2mm);
  return memory.ok() ? *memory : nullptr;
}

template <bool kWrite>
void Engine::ddr_words(Channel& channel, u8* linear, u64 words) {
  u8* whole = ddr_pointer(channel);
  if (whole != nullptr) {
    if constexpr (kWrite) {
      channel.walk.scatter(whole, linear, words);
    } else {
      channel.walk.gather(whole, linear, words);
    }
    return;
  }
  channel.walk.runs(words, [&](u64 offset, u64 count) {
    if (failure_) return;
    const u64 address = channel.ddr_address + offset * 4;
    auto piece = ddr_->translate(address, count * 4, kWrite);
    if (!piece.ok()) {
      return fault(RunEnd::kMemoryFault, channel.tile,
                   channel.name() + ": BD " + std::to_string(channel.bd_number) +
                       (kWrite ? " writes " : " reads ") + std::to_string(count * 4) +
                       " bytes at device address " + hex(address) + ": " + piece.error().message);
    }
    std::memcpy(kWrite ? *piece : linear, kWrite ? linear : *piece, count * 4);
    linear += count * 4;
  });
}

// Diagnosis: the next words of a channel between a tile's memory and a stream.
void Engine::watch_words(const Channel& channel, u64 words, bool write) {
  if (channel.memory == nullptr) return;
  AddressWalk walk = channel.walk;
  walk.runs(words, [&](u64 offset, u64 count) { watch_piece(channel, offset, count, write); });
}

void Engine::watch_piece(const Channel& channel, u64 offset, u64 words, bool write) {
  const u8* at_byte = channel.memory + offset * 4;
  if (races_) {
    races_->access(actor_id({const_cast<Channel*>(&channel), nullptr}), at_byte, words * 4, write,
                   static_cast<u32>(channel.bd_number), now_);
  }
  if (!poison_) return;
  if (write) {
    poison_->write(at_byte, words * 4);
  } else {
    poison_->read(at_byte, words * 4, channel.name() + " in BD " + std::to_string(channel.bd_number));
  }
}

// The same of a run with padding, always of a mem tile.
const u8* Engine::read_padded(Channel& channel, u64 words) {
  run_copies();
  if (staging_.size() < words * 4) staging_.resize(words * 4);
  const u32 offset = arch::kPadValueBase + 4 * channel.number;
  const auto stub = at(channel.tile).stubs.find(offset);
  const u32 padding = stub == at(channel.tile).stubs.end() ? 0 : stub->second;
  for (u64 i = 0; i < words; ++i) {
    const std::optional<u64> place = channel.padded->next();
    if (place && watches_words()) watch_piece(channel, *place, 1, false);
    store_le(staging_.data() + 4 * i, place ? load_le<u32>(channel.memory + *place * 4) : padding);
  }
  return staging_.data();
}

// The next words of a source, in one piece; moves past them.
const u8* Engine::read_words(Channel& channel, u64 words) {
  if (channel.padded) return read_padded(channel, words);
  if (watches_words()) watch_words(channel, words, false);
  if (channel.memory != nullptr) run_copies();
  u8* memory = channel.memory;
  if (memory == nullptr && channel.walk.contiguous(words)) memory = ddr_pointer(channel);
  if (memory != nullptr && channel.walk.contiguous(words)) {
    const u8* from = memory + channel.walk.offset() * 4;
    channel.walk.runs(words, [](u64, u64) {});
    return from;
  }
  if (staging_.size() < words * 4) staging_.resize(words * 4);
  if (channel.memory != nullptr) {
    channel.walk.gather(channel.memory, staging_.data(), words);
  } else {
    ddr_words<false>(channel, staging_.data(), words);
  }
  return staging_.data();
}

void Engine::write_words(Channel& channel, const u8* from, u64 words) {
  if (channel.memory != nullptr) {
    channel.walk.scatter(channel.memory, from, words);
  } else {
    ddr_words<true>(channel, const_cast<u8*>(from), words);
  }
}

}  // namespace tegula::emu
