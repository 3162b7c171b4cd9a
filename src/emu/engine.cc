// Time: the event loop, bursts of cores, runs and their reports.
#include "emu/engine.h"

#include <algorithm>
#include <thread>

#include "emu/cost_model.h"

namespace tegula::emu {

using arch::Tile;
using arch::TileKind;

namespace {

// A core that never synchronises comes back after this many cycles, so that the rest of the array can go on.
constexpr u64 kBurstCycles = 100'000;
constexpr size_t kMaxNotes = 16;

}  // namespace

Engine::Engine(const CoreFactory& factory) {
  cores_.resize(arch::kCores);
  int core = 0;
  for (int i = 0; i < arch::kTiles; ++i) {
    TileState& tile = tiles_[i];
    tile.tile = arch::tile_at(i);
    const TileKind kind = tile.tile.kind();
    const arch::TileTraits traits = arch::traits(kind);
    tile.storage.resize(traits.data_bytes == 0 ? 0 : traits.data_bytes + 63);
    const auto address = reinterpret_cast<uintptr_t>(tile.storage.data());
    tile.data = traits.data_bytes == 0 ? nullptr : tile.storage.data() + ((64 - address % 64) % 64);
    tile.locks.resize(static_cast<size_t>(traits.locks));
    if (kind == TileKind::kCore) {
      tile.program.resize(arch::kCoreProgramBytes);
      tile.core = &cores_[core++];
      tile.core->tile = tile.tile;
      tile.core->model = factory(tile.tile);
    }
  }
  for (CoreSlot& slot : cores_) connect_core(slot);
  reset();
}

void Engine::reset() {
  queue_.clear();
  runnable_.clear();
  failure_.reset();
  switches_.reset();
  arbiter_owner_ = {};
  for (auto& waiting : arbiter_waiting_) waiting.clear();
  controller_ = {};
  now_ = 0;
  ddr_share_.clear();
  if (poison_) poison_->reset();
  if (races_) races_->reset();
  if (checks_.any()) watch_cores();
  for (TileState& tile : tiles_) {
    const Tile t = tile.tile;
    const arch::TileTraits traits = arch::traits(t.kind());
    for (u32 at_byte = 0; at_byte < traits.data_bytes; at_byte += 4)
      store_le(tile.data + at_byte, kPoisonWord);
    std::fill(tile.program.begin(), tile.program.end(), u8{0});
    for (auto& words : tile.bd_words) words = {};
    tile.bd_fresh = {};
    for (LockState& state : tile.locks) state = {};
    tile.stubs.clear();
    tile.control_words.clear();
    for (int d = 0; d < 2; ++d) {
      for (int c = 0; c < traits.channels; ++c) {
        Channel& channel = tile.channels[d][c];
        channel = {};
        channel.tile = t;
        channel.direction = static_cast<arch::Direction>(d);
        channel.number = static_cast<u8>(c);
        channel.report.tile = t;
        channel.report.direction = channel.direction;
        channel.report.channel = c;
        channel.flow.tile = t;
        channel.flow.channel = &channel;
        channel.flow.component =
            kFlowComponent + static_cast<u32>(t.index()) * kFlowsPerTile + static_cast<u32>(c);
      }
    }
    if (tile.core != nullptr) {
      CoreSlot& core = *tile.core;
      std::unique_ptr<CoreModel> model = std::move(core.model);
      core = {};
      core.tile = t;
      core.model = std::move(model);
      core.model->reset(0);
      core.flow.tile = t;
      core.flow.component = kFlowComponent + static_cast<u32>(t.index()) * kFlowsPerTile + kCoreFlow;
    }
  }
}

void Engine::watch(const Checks& checks) {
  checks_ = checks;
  poison_ = checks.uninitialised ? std::make_unique<Poison>() : nullptr;
  races_ = checks.races ? std::make_unique<Races>() : nullptr;
  for (const TileState& tile : tiles_) {
    const u32 bytes = arch::traits(tile.tile.kind()).data_bytes;
    if (poison_) poison_->attach(tile.tile, tile.data, bytes);
    if (races_) races_->attach(tile.tile, tile.data, bytes);
  }
  watch_cores();
  reset();
}

// From the beginning, with nothing found.
void Engine::watch_cores() {
  for (CoreSlot& core : cores_) {
    const Tile t = core.tile;
    const auto written = [&](int col, int row) -> u8* {
      if (!poison_ || !arch::in_grid(col, row) || row < arch::kFirstCoreRow) return nullptr;
      return poison_->written({static_cast<u8>(col), static_cast<u8>(row)});
    };
    core.model->watch({.hazards = checks_.hazards || checks_.early_reads,
                       .uninitialised = checks_.uninitialised,
                       .strict_alignment = checks_.alignment,
                       .written = {written(t.col, t.row - 1), written(t.col - 1, t.row),
                                   written(t.col, t.row + 1), written(t.col, t.row)},
                       .observer = races_ ? races_->observer(t) : nullptr});
  }
}

void Engine::fault(RunEnd end, Tile tile, std::string message) {
  if (!failure_) failure_ = Failure{end, tile, std::move(message)};
}

void Engine::note(std::string text) {
  auto& notes = report_.notes;
  if (notes.size() < kMaxNotes && std::find(notes.begin(), notes.end(), text) == notes.end()) {
    notes.push_back(std::move(text));
  }
}

// ------------------------------------------------------------- loop

void Engine::run_bursts() {
  std::vector<CoreSlot*> batch;
  batch.swap(runnable_);
  for (CoreSlot* core : batch) {
    if (core->program_dirty) core->model->invalidate_program();
    core->program_dirty = false;
  }
  std::vector<Stop> stops(batch.size());
  pool_->run(static_cast<int>(batch.size()), [&](int i, int thread) {
    CoreModel& core = *batch[i]->model;
    const u64 before = core.counters().bundles;
    stops[i] = core.run(kBurstCycles);
    thread_bundles_[thread] += core.counters().bundles - before;
  });
  for (size_t i = 0; i < batch.size(); ++i) queue_stop(*batch[i], std::move(stops[i]));
}

void Engine::process(const Event& event) {
  ++report_.events;
  if (event.component == kControllerComponent) return controller_step();
  if (event.component == kDdrComponent) {
    if (event.epoch == ddr_epoch_) end_ddr_segments();
    return;
  }
  if (event.component < kDdrComponent) {
    const u32 flow_number = event.component - kFlowComponent;
    TileState& tile = tiles_[flow_number / kFlowsPerTile];
    const u32 index = flow_number % kFlowsPerTile;
    Flow& flow = index == kCoreFlow ? tile.core->flow : tile.channels[1][index].flow;
    if (event.epoch == flow.epoch && flow.moving) end_segment(flow);
    return;
  }
  CoreSlot& core = *tiles_[event.component - kCoreComponent].core;
  if (event.epoch == core.epoch && core.state == CoreSlot::State::kStopped) core_stop(core);
}

void Engine::main_loop(u64 deadline, bool until_stream_end) {
  while (!failure_) {
    if (switches_.changed()) retry_after_switch_change();
    if (until_stream_end && !controller_.running) return;
    const u64 next = queue_.next_time();
    // Cores that start now may reach their next synchronisation point before any later event.
    if (!runnable_.empty() && next > now_) {
      run_bursts();
      continue;
    }
    if (queue_.empty() || next > deadline) return;
    const Event event = queue_.pop();
    now_ = event.time;
    process(event);
  }
}

int default_threads() {
  return static_cast<int>(std::min(2u, std::max(1u, std::thread::hardware_concurrency())));
}

RunResult Engine::run(DdrMemory& ddr, u64 deadline, const RunOptions& options, bool until_stream_end) {
  ddr_ = &ddr;
  timeline_ = options.timeline;
  survive_core_faults_ = options.survive_core_faults;
  int threads = options.threads;
  if (threads <= 0) threads = default_threads();
  if (!pool_ || pool_threads_ != threads) {
    pool_ = std::make_unique<BurstPool>(threads);
    pool_threads_ = threads;
    thread_bundles_.resize(std::max(thread_bundles_.size(), static_cast<size_t>(threads)));
  }
  run_start_ = now_ + (until_stream_end ? cost::kSubmissionCycles : 0);
  begin_report();
  retry_after_switch_change();
  main_loop(deadline, until_stream_end);
  RunResult result;
  if (!failure_ && until_stream_end && controller_.running) {
    const bool stuck = queue_.empty() && runnable_.empty();
    fault(RunEnd::kDeadlock, controller_.waiting != nullptr ? controller_.waiting->tile : Tile{},
          (stuck ? "deadlock" : "no end within " + std::to_string(options.max_cycles) + " cycles") +
              std::string(" (") + deadlock_text() + ")");
  }
  if (!until_stream_end && !failure_ && queue_.next_time() > deadline) now_ = std::max(now_, deadline);
  result.report = finish_report(run_start_);
  if (failure_) {
    result.end = failure_->end;
    result.message = failure_->message;
    result.tile = failure_->tile;
    if (controller_.running) result.op_index = controller_.next;
  }
  ddr_ = nullptr;
  timeline_ = nullptr;
  return result;
}

RunResult Engine::run_stream(ByteSpan stream, std::span<const u64> arguments, DdrMemory& ddr,
                             const RunOptions& options) {
  RunResult refused_run;
  refused_run.end = RunEnd::kStreamError;
  if (failure_) {
    refused_run.end = failure_->end;
    refused_run.message = "the array failed before and was not reset: " + failure_->message;
    return refused_run;
  }
  auto parsed = format::read_txn(stream);
  if (!parsed.ok()) {
    refused_run.message = parsed.error().message;
    return refused_run;
  }
  controller_ = {};
  controller_.stream = std::move(*parsed);
  controller_.arguments.assign(arguments.begin(), arguments.end());
  controller_.running = true;
  const u64 start = now_ + cost::kSubmissionCycles;
  queue_.push(start, kControllerComponent, 0);
  return run(ddr, start + options.max_cycles, options, true);
}

RunResult Engine::settle(DdrMemory& ddr, u64 cycles, const RunOptions& options) {
  return run(ddr, now_ + cycles, options, false);
}

Result<void> Engine::refused() {
  if (failure_) return fail(Code::kDevice, failure_->message);
  return {};
}

// ------------------------------------------------------------- report

void Engine::begin_report() {
  report_ = {};
  port_words_ = {};
  for (TileState& tile : tiles_) {
    for (LockState& state : tile.locks) state.origins.clear();
    for (auto& side : tile.channels) {
      for (Channel& channel : side) {
        ChannelReport fresh;
        fresh.tile = channel.tile;
        fresh.direction = channel.direction;
        fresh.channel = channel.number;
        channel.report = fresh;
      }
    }
  }
  for (CoreSlot& core : cores_) {
    core.base = core.model->counters();
    core.base_cycle = core.model->cycle();
    core.lock_waits.clear();
  }
}

RunReport Engine::finish_report(u64 start) const {
  RunReport report = report_;
  report.cycles = now_ > start ? now_ - start : 0;
  report.submission_cycles = cost::kSubmissionCycles;
  for (const CoreSlot& core : cores_) {
    const CoreCounters& now = core.model->counters();
    CoreReport line;
    line.tile = core.tile;
    line.cycles = core.model->cycle() - core.base_cycle;
    line.bundles = now.bundles - core.base.bundles;
    line.matrix_ops = now.matrix_ops - core.base.matrix_ops;
    const auto stalled = [&](StopReason reason) {
      const size_t i = static_cast<size_t>(reason);
      return now.stall_cycles[i] - core.base.stall_cycles[i];
    };
    for (int i = 0; i < kStopReasons; ++i) line.stall_cycles += stalled(static_cast<StopReason>(i));
    line.lock_cycles = stalled(StopReason::kAcquire);
    line.stream_cycles = stalled(StopReason::kStreamRead) + stalled(StopReason::kStreamWrite);
    line.cascade_cycles = stalled(StopReason::kCascadeRead) + stalled(StopReason::kCascadeWrite);
    line.locks = core.lock_waits;
    line.estimated_conflict_cycles = conflict_estimate(core, report.cycles);
    if (line.cycles != 0 || line.bundles != 0) report.cores.push_back(line);
    for (const Hazard& hazard : core.model->hazards()) {
      if (hazard.kind == Hazard::Kind::kEarlyRead) {
        if (checks_.early_reads || hazard.results_used == 0) report.hazards.push_back({core.tile, hazard});
      } else {
        report.poison.push_back(HazardReport{core.tile, hazard}.text());
      }
    }
  }
  if (poison_)
    report.poison.insert(report.poison.end(), poison_->findings().begin(), poison_->findings().end());
  if (races_) report.races = races_->reports();
  for (const TileState& tile : tiles_) {
    for (const auto& side : tile.channels) {
      for (const Channel& channel : side) {
        ChannelReport line = channel.report;
        const u64 since = std::max(channel.waiting_since, start);
        if (channel.state == Channel::State::kLockWait) line.lock_cycles += now_ - std::min(now_, since);
        if (channel.state == Channel::State::kReady) line.stream_cycles += now_ - std::min(now_, since);
        if (line.words != 0) report.channels.push_back(line);
      }
    }
    const auto& words = port_words_[tile.tile.index()];
    for (int m = 0; m < arch::kMaxPorts; ++m) {
      if (words[m] != 0) report.links.push_back({tile.tile, m, words[m]});
      if (words[m] <= report.max_port_words) continue;
      report.max_port_words = words[m];
      report.max_port =
          arch::tile_name(tile.tile) + " " + arch::port_name(arch::master_port(tile.tile.kind(), m));
    }
  }
  return report;
}

// Of the loads and stores of a core, those that are expected to meet a word group of the DMA in their bank.
u64 Engine::conflict_estimate(const CoreSlot& core, u64 run_cycles) const {
  if (run_cycles == 0) return 0;
  u64 words = 0;
  for (const auto& side : at(core.tile).channels) {
    for (const Channel& channel : side) words += channel.report.words;
  }
  const CoreCounters& now = core.model->counters();
  const u64 accesses = now.loads - core.base.loads + now.stores - core.base.stores;
  const double per_cycle = static_cast<double>(words) / cost::kBankWords / static_cast<double>(run_cycles);
  return static_cast<u64>(static_cast<double>(accesses) * per_cycle / cost::kCoreBanks);
}

double RunReport::seconds() const {
  return static_cast<double>(cycles + submission_cycles) / cost::kClockHz;
}

}  // namespace tegula::emu
