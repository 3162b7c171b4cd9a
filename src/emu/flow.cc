// Streams: a source and all sinks of its route move segments together (array.md 6). Packets hold the arbiters
// of their route from the header to TLAST.
#include "emu/engine.h"

#include <algorithm>

#include "base/hex.h"
#include "emu/cost_model.h"

namespace tegula::emu {

using arch::Tile;
using arch::TileKind;

namespace {

// Words a core's input port holds before the stream stalls (local master port, array.md 6.6; AIE2 figure).
constexpr u64 kCorePortWords = 4;

}  // namespace

u64 Engine::source_words(const Flow& flow) const {
  if (flow.channel != nullptr) {
    const bool ready = flow.channel->state == Channel::State::kReady && !flow.channel->paused;
    return ready ? flow.channel->left : 0;
  }
  const CoreSlot& core = *at(flow.tile).core;
  for (u64 i = 0; i < core.out.size(); ++i) {
    if (core.out[i].tlast) return i + 1;
  }
  return core.out.size();
}

u64 Engine::sink_room(const Sink& sink) const {
  const TileState& tile = at(sink.tile);
  switch (sink.kind) {
    case Sink::Kind::kChannel: {
      const Channel& channel = tile.channels[0][sink.channel];
      return channel.state == Channel::State::kReady && !channel.paused ? channel.left : 0;
    }
    case Sink::Kind::kCore:
      return kCorePortWords - std::min<u64>(kCorePortWords, tile.core->in.size() + tile.core->in_reserved);
    default:
      return ~0ull;
  }
}

void Engine::wait_for(const Sink& sink, Flow& flow) {
  TileState& tile = at(sink.tile);
  auto& waiting = sink.kind == Sink::Kind::kCore ? tile.core->waiting_flows
                                                 : tile.channels[0][sink.channel].waiting_flows;
  if (std::find(waiting.begin(), waiting.end(), &flow) == waiting.end()) waiting.push_back(&flow);
}

void Engine::retry(std::vector<Flow*>& waiting) {
  if (waiting.empty()) return;
  std::vector<Flow*> flows;
  flows.swap(waiting);
  for (Flow* flow : flows) try_start(*flow);
}

// Finds where the next words go: the circuit, or for a new packet the route of its id.
bool Engine::find_route(Flow& flow) {
  flow.slave = flow.channel == nullptr ? arch::slave_number(TileKind::kCore, {arch::PortKind::kCore, 0})
                                       : switches_.dma_slave(flow.tile, flow.channel->number);
  flow.stuck = true;
  if (flow.slave < 0) return false;
  flow.packet = switches_.packet_slave(flow.tile, flow.slave);
  flow.header_done = true;
  int id = Switches::kCircuit;
  const bool from_bd = flow.channel != nullptr && flow.channel->bd.packet;
  if (from_bd) {
    const arch::Bd& bd = flow.channel->bd;
    flow.header =
        arch::packet_header({flow.tile.col, flow.tile.row, bd.packet_type, bd.packet_id, bd.out_of_order_id});
    flow.header_done = false;
  }
  if (flow.packet) {
    if (!from_bd && flow.channel == nullptr) flow.header = at(flow.tile).core->out.front().word;
    if (!from_bd && flow.channel != nullptr) {
      const AddressWalk before = flow.channel->walk;
      const std::optional<PaddedWalk> padded = flow.channel->padded;
      const u8* word = read_words(*flow.channel, 1);
      if (failure_) return false;
      flow.header = load_le<u32>(word);
      flow.channel->walk = before;
      flow.channel->padded = padded;
    }
    flow.header_done = false;
    id = arch::packet_id_of(flow.header);
  }
  flow.route = switches_.route(flow.tile, flow.slave, id);
  if (!flow.route->usable()) {
    flow.route.reset();
    return false;
  }
  flow.stuck = false;
  return true;
}

// Takes all arbiters of the route, or waits for the first that is busy.
bool Engine::open_packet(Flow& flow) {
  for (u16 arbiter : flow.route->arbiters) {
    if (arbiter_owner_[arbiter] == nullptr) continue;
    auto& waiting = arbiter_waiting_[arbiter];
    if (std::find(waiting.begin(), waiting.end(), &flow) == waiting.end()) waiting.push_back(&flow);
    return false;
  }
  for (u16 arbiter : flow.route->arbiters) arbiter_owner_[arbiter] = &flow;
  flow.in_packet = true;
  return true;
}

void Engine::close_packet(Flow& flow) {
  if (!flow.in_packet) return;
  flow.in_packet = false;
  const std::shared_ptr<const Route> route = std::move(flow.route);
  flow.route.reset();
  for (u16 arbiter : route->arbiters) arbiter_owner_[arbiter] = nullptr;
  for (u16 arbiter : route->arbiters) retry(arbiter_waiting_[arbiter]);
}

void Engine::try_start(Flow& flow) {
  // Outside a run nothing moves; the run starts by trying every source.
  if (flow.moving || ddr_ == nullptr || switches_.changed() || failure_) return;
  const u64 available = source_words(flow);
  if (available == 0) return;
  if (!flow.in_packet) {
    if (!flow.route && !find_route(flow)) return;
    if (!open_packet(flow)) {
      flow.route.reset();  // the switch may change, or the source's next packet be another
      return;
    }
  }
  u64 words = flow.header_done ? available : 1;
  bool ddr = flow.tile.kind() == TileKind::kShim;
  for (const Sink& sink : flow.route->sinks) {
    if (!flow.header_done && flow.packet && sink.drop_header) continue;
    const u64 room = sink_room(sink);
    if (room == 0) return wait_for(sink, flow);
    words = std::min(words, room);
    ddr = ddr || (sink.tile.kind() == TileKind::kShim && sink.kind == Sink::Kind::kChannel);
  }
  if (ddr) words = std::min<u64>(words, cost::kShimSegmentWords);
  begin_segment(flow, words);
}

void Engine::begin_segment(Flow& flow, u64 words) {
  flow.moving = true;
  flow.header_segment = !flow.header_done;
  flow.words = static_cast<u32>(words);
  flow.started = now_;
  if (flow.channel != nullptr) {
    flow.channel->state = Channel::State::kMoving;
    end_wait(*flow.channel, &flow.channel->report.stream_cycles, TimelineEvent::Kind::kStreamWait);
  }
  u64 ddr_bytes = flow.tile.kind() == TileKind::kShim ? words * 4 : 0;
  for (const Sink& sink : flow.route->sinks) {
    if (flow.header_segment && flow.packet && sink.drop_header) continue;
    TileState& tile = at(sink.tile);
    if (sink.kind == Sink::Kind::kCore) tile.core->in_reserved += flow.words;
    if (sink.kind != Sink::Kind::kChannel) continue;
    Channel& channel = tile.channels[0][sink.channel];
    channel.state = Channel::State::kMoving;
    end_wait(channel, &channel.report.stream_cycles, TimelineEvent::Kind::kStreamWait);
    if (sink.tile.kind() == TileKind::kShim) ddr_bytes += words * 4;
  }
  // One word per cycle; through the shim also not faster than its share of DDR.
  if (ddr_bytes == 0) return queue_.push(now_ + words, flow.component, flow.epoch);
  ddr_share_.start(now_, ddr_bytes, flow.component, &flow);
  schedule_ddr();
}

// The event of the next end; an older one becomes void.
void Engine::schedule_ddr() {
  const u64 end = ddr_share_.next_end();
  if (end != ~0ull) queue_.push(end, kDdrComponent, ++ddr_epoch_);
}

void Engine::end_ddr_segments() {
  postponing_ = true;
  while (Flow* flow = ddr_share_.take_ended(now_)) end_segment(*flow);
  postponing_ = false;
  run_copies();
  schedule_ddr();
}

// True when the words, one run in DDR, shall go to one run of a tile's memory later.
bool Engine::postpone_copy(const Flow& flow, Channel& channel, const u8* words) {
  const bool in_ddr =
      flow.tile.kind() == TileKind::kShim && words != staging_.data() && words != port_words_buffer_.data();
  if (!postponing_ || !in_ddr || channel.memory == nullptr || !channel.walk.contiguous(flow.words))
    return false;
  copies_.push_back({channel.memory + channel.walk.offset() * 4, words, flow.words * 4ull});
  channel.walk.runs(flow.words, [](u64, u64) {});
  return true;
}

void Engine::run_copies() {
  constexpr u64 kWorthThreads = 32768;
  u64 bytes = 0;
  for (const Copy& copy : copies_) bytes += copy.bytes;
  const auto one = [&](int i, int) { std::memcpy(copies_[i].to, copies_[i].from, copies_[i].bytes); };
  if (bytes >= kWorthThreads) {
    pool_->run(static_cast<int>(copies_.size()), one);
  } else {
    for (size_t i = 0; i < copies_.size(); ++i) one(static_cast<int>(i), 0);
  }
  copies_.clear();
}

// Diagnosis: what the receiver of words may know of.
void Engine::order_words(const Flow& flow, const Sink& sink) {
  TileState& tile = at(sink.tile);
  const ActorId from = flow.channel != nullptr ? actor_id({flow.channel, nullptr}) : Races::core(flow.tile);
  // A core's words left it before, what it has done since is not behind them.
  const ClockCopy clock = flow.channel != nullptr ? races_->copy(from) : at(flow.tile).core->out_clock;
  if (sink.kind == Sink::Kind::kChannel) {
    races_->join(Races::channel(sink.tile, arch::Direction::kS2mm, sink.channel), clock);
  }
  if (sink.kind == Sink::Kind::kCore) tile.core->in_clock = clock;
  if (sink.kind == Sink::Kind::kControl) tile.control_sender = from;
}

void Engine::deliver(Flow& flow, const Sink& sink, const u8* words) {
  TileState& tile = at(sink.tile);
  if (races_) order_words(flow, sink);
  switch (sink.kind) {
    case Sink::Kind::kChannel: {
      Channel& channel = tile.channels[0][sink.channel];
      if (channel.awaits_header) return take_header(flow, sink, channel, load_le<u32>(words));
      if (watches_words()) watch_words(channel, flow.words, true);
      if (!postpone_copy(flow, channel, words)) {
        run_copies();
        write_words(channel, words, flow.words);
      }
      channel.left -= flow.words;
      channel.report.words += flow.words;
      channel.report.busy_cycles += now_ - flow.started;
      channel.waiting_since = now_;
      channel.state = channel.left == 0 ? Channel::State::kFinishing : Channel::State::kReady;
      if (sink.tile.kind() == TileKind::kShim) report_.ddr_bytes_written += flow.words * 4ull;
      return;
    }
    case Sink::Kind::kCore:
      tile.core->in_reserved -= flow.words;
      for (u32 i = 0; i < flow.words; ++i) tile.core->in.push_back(load_le<u32>(words + 4 * i));
      return;
    case Sink::Kind::kControl:
      for (u32 i = 0; i < flow.words; ++i) tile.control_words.push_back(load_le<u32>(words + 4 * i));
      tile.control_drop = sink.drop_header;
      return;
    case Sink::Kind::kToken:
      return;
  }
}

// Out of order: the first word of a packet, which the switch must have left.
void Engine::take_header(const Flow& flow, const Sink& sink, Channel& channel, u32 word) {
  if (!flow.packet || sink.drop_header) {
    return fault(RunEnd::kArrayError, channel.tile,
                 channel.name() + " takes packets out of order, but " +
                     (flow.packet ? "the switch drops their headers, which name the BDs"
                                  : "no packets come: its route is circuit-switched"));
  }
  channel.header = word;
  channel.left = 0;
  channel.report.busy_cycles += now_ - flow.started;
  channel.waiting_since = now_;
  channel.state = Channel::State::kFinishing;
}

// Takes the words of the segment out of its source. The pointer is good until the next read.
const u8* Engine::take_words(Flow& flow, bool* tlast) {
  Channel* source = flow.channel;
  if (source == nullptr) {
    CoreSlot& core = *at(flow.tile).core;
    port_words_buffer_.resize(flow.words * 4);
    for (u32 i = 0; i < flow.words; ++i) {
      store_le(port_words_buffer_.data() + 4 * i, core.out.front().word);
      *tlast = core.out.front().tlast;
      core.out.pop_front();
    }
    return port_words_buffer_.data();
  }
  // A header that the BD adds is not in memory; the header of a packet from memory is its first word.
  const u8* words = nullptr;
  if (flow.header_segment && source->bd.packet) {
    port_words_buffer_.resize(4);
    store_le(port_words_buffer_.data(), flow.header);
    words = port_words_buffer_.data();
  } else {
    words = read_words(*source, flow.words);
    source->left -= flow.words;
    source->report.words += flow.words;
    if (flow.tile.kind() == TileKind::kShim) report_.ddr_bytes_read += flow.words * 4ull;
  }
  source->report.busy_cycles += now_ - flow.started;
  source->waiting_since = now_;
  source->state = source->left == 0 ? Channel::State::kFinishing : Channel::State::kReady;
  *tlast = source->left == 0 && !source->bd.suppress_tlast;
  return words;
}

void Engine::end_segment(Flow& flow) {
  flow.moving = false;
  ++report_.segments;
  const std::shared_ptr<const Route> route = flow.route;
  record({.kind = TimelineEvent::Kind::kTransfer,
          .tile = flow.tile,
          .direction = arch::Direction::kMm2s,
          .channel = flow.channel != nullptr ? flow.channel->number : u8{255},
          .start = flow.started,
          .end = now_,
          .words = flow.words});
  bool tlast = false;
  const u8* words = take_words(flow, &tlast);
  const bool skip_droppers = flow.header_segment && flow.packet;
  for (const Sink& sink : route->sinks) {
    if (failure_) return;
    if (!skip_droppers || !sink.drop_header) deliver(flow, sink, words);
  }
  if (failure_) return;
  for (const SwitchPort& port : route->ports) port_words_[port.tile.index()][port.master] += flow.words;
  flow.header_done = true;
  after_segment(flow, *route, tlast);
}

// Everything has its new state; now BDs end and what waited goes on.
void Engine::after_segment(Flow& flow, const Route& route, bool tlast) {
  Channel* source = flow.channel;
  if (tlast) {
    for (const Sink& sink : route.sinks) {
      if (sink.kind == Sink::Kind::kControl) control_packet(at(sink.tile));
    }
    if (flow.packet) close_packet(flow);
  }
  if (source != nullptr && source->state == Channel::State::kFinishing) finish_bd(*source);
  for (const Sink& sink : route.sinks) {
    TileState& tile = at(sink.tile);
    if (sink.kind == Sink::Kind::kChannel) {
      Channel& channel = tile.channels[0][sink.channel];
      if (tlast) finish_on_tlast(channel);
      if (channel.state == Channel::State::kFinishing) {
        if (!tlast && channel.finishes_on_tlast() && !channel.awaits_header) return too_long(channel);
        channel.awaits_header ? open_named_bd(channel) : finish_bd(channel);
      }
      if (channel.state == Channel::State::kReady) retry(channel.waiting_flows);
    } else if (sink.kind == Sink::Kind::kCore && tile.core->state == CoreSlot::State::kStreamRead) {
      core_stream_read(*tile.core);
    }
  }
  if (source == nullptr) {
    CoreSlot& core = *at(flow.tile).core;
    if (core.state == CoreSlot::State::kStreamWrite) core_stream_write(core);
  }
  try_start(flow);
}

void Engine::too_long(const Channel& channel) {
  fault(RunEnd::kArrayError, channel.tile,
        channel.name() + ": BD " + std::to_string(channel.bd_number) + " has its " +
            std::to_string(channel.bd.length) +
            " words without TLAST, in finish-on-TLAST mode; its length is "
            "the most that it may take");
}

// Executes the control packets that arrived at a tile: header and data words, one or more after the stream
// header.
void Engine::control_packet(TileState& tile) {
  run_copies();
  const OutsideScope outside(races_.get(), tile.control_sender);
  std::vector<u32> words = std::move(tile.control_words);
  tile.control_words.clear();
  size_t i = tile.control_drop ? 0 : 1;
  while (i < words.size()) {
    const arch::ControlHeader header = arch::decode_control_header(words[i++]);
    if (header.op == arch::ControlOp::kRead) {
      return fault(RunEnd::kArrayError, tile.tile,
                   arch::tile_name(tile.tile) + ": control packet reads " + hex(header.offset) +
                       "; answers to control packets are not supported");
    }
    if (words.size() - i < header.beats) {
      return fault(RunEnd::kArrayError, tile.tile,
                   arch::tile_name(tile.tile) + ": control packet for " + hex(header.offset) + " has " +
                       std::to_string(words.size() - i) + " data words, its header says " +
                       std::to_string(header.beats));
    }
    for (u32 beat = 0; beat < header.beats && !failure_; ++beat, ++i) {
      auto done = write_tile(tile.tile, header.offset + 4 * beat, words[i]);
      if (!done.ok()) return fault(RunEnd::kArrayError, tile.tile, "control packet: " + done.error().message);
    }
  }
}

// Routes found before may be gone: every idle source looks again.
void Engine::retry_after_switch_change() {
  switches_.settled();
  for (TileState& tile : tiles_) {
    const int channels = arch::traits(tile.tile.kind()).channels;
    for (int c = 0; c < channels; ++c) {
      Flow& flow = tile.channels[1][c].flow;
      if (!flow.in_packet && !flow.moving) flow.route.reset();
      try_start(flow);
    }
    if (tile.core != nullptr) {
      if (!tile.core->flow.in_packet && !tile.core->flow.moving) tile.core->flow.route.reset();
      try_start(tile.core->flow);
    }
  }
}

}  // namespace tegula::emu
