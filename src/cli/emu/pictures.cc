#include "cli/emu/pictures.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "arch/stream_switch.h"
#include "emu/core.h"
#include "emu/cost_model.h"
#include "format/txn.h"

namespace tegula::cli {

using emu::TimelineEvent;
using Kind = emu::TimelineEvent::Kind;

namespace {

std::string channel_name(arch::Direction direction, int channel) {
  return arch::direction_name(direction) + std::to_string(channel);
}

std::string lock_name(u32 lock) {
  return "lock " + std::to_string(lock & 0xFF) + " of " +
         arch::tile_name(arch::tile_at(static_cast<int>(lock >> 8)));
}

std::string slice_name(const TimelineEvent& event) {
  switch (event.kind) {
    case Kind::kTransfer:
      return "words move";
    case Kind::kCoreBusy:
      return "runs";
    case Kind::kCoreWait:
      if (event.lock != 0xFFFFFFFF) return "waits for " + lock_name(event.lock);
      switch (static_cast<emu::StopReason>(event.words)) {
        case emu::StopReason::kStreamRead:
        case emu::StopReason::kStreamWrite:
          return "waits for the stream port";
        case emu::StopReason::kCascadeRead:
        case emu::StopReason::kCascadeWrite:
          return "waits for the cascade";
        default:
          return "waits";
      }
    case Kind::kControllerOp:
      return format::txn_opcode_name(static_cast<format::TxnOpcode>(event.words));
    case Kind::kBd:
      return "BD " + std::to_string(event.words);
    case Kind::kLockWait:
      return "waits for its lock " + std::to_string(event.words);
    case Kind::kStreamWait:
      return event.direction == arch::Direction::kS2mm ? "waits for words" : "waits for room";
  }
  return "unknown";
}

// Words move inside a BD and need no slice of their own, but for the stream port of a core.
bool has_slice(const TimelineEvent& event) {
  return event.kind != Kind::kTransfer || event.channel == 255;
}

std::pair<std::string, std::string> track_of(const TimelineEvent& event) {
  switch (event.kind) {
    case Kind::kControllerOp:
      return {"controller", "stream"};
    case Kind::kCoreBusy:
    case Kind::kCoreWait:
      return {arch::tile_name(event.tile), "core"};
    case Kind::kTransfer:
      return {arch::tile_name(event.tile), "core stream port"};
    default:
      return {arch::tile_name(event.tile), channel_name(event.direction, event.channel)};
  }
}

// Bursts of a core that follow each other without a wait are one slice.
bool continues(const trace::Slice& slice, u32 track, u32 name, const TimelineEvent& event) {
  return event.kind == Kind::kCoreBusy && slice.track == track && slice.name == name &&
         slice.end == event.start && event.fed_by == 0;
}

double share(u64 part, u64 whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string line(const std::string& what, u64 part, u64 whole) {
  char text[160];
  std::snprintf(text, sizeof(text), "%s: %llu cycles (%.1f%%)", what.c_str(),
                static_cast<unsigned long long>(part), 100 * share(part, whole));
  return text;
}

trace::TileHeat core_heat(const emu::CoreReport& core, u64 cycles) {
  trace::TileHeat heat;
  heat.tile = core.tile;
  heat.work = share(core.matrix_ops, cycles);
  heat.waiting = share(core.stall_cycles, cycles);
  heat.details = {
      std::to_string(core.bundles) + " bundles, " + std::to_string(core.matrix_ops) + " matrix operations",
      line("locks", core.lock_cycles, cycles), line("stream port", core.stream_cycles, cycles),
      line("bank conflicts, estimated", core.estimated_conflict_cycles, cycles)};
  for (const emu::LockWaitReport& lock : core.locks) {
    heat.details.push_back(
        line("lock " + std::to_string(lock.lock) + " of " + arch::tile_name(lock.tile), lock.cycles, cycles));
  }
  return heat;
}

void add_channel(trace::TileHeat& heat, const emu::ChannelReport& channel, u64 cycles) {
  const double busy = share(channel.busy_cycles, cycles);
  if (heat.tile.kind() != arch::TileKind::kCore && busy >= heat.work) {
    heat.work = busy;
    heat.waiting = share(channel.lock_cycles + channel.stream_cycles, cycles);
  }
  heat.details.push_back(
      line(channel_name(channel.direction, channel.channel) + " busy", channel.busy_cycles, cycles) +
      line(", lock", channel.lock_cycles, cycles) +
      line(channel.direction == arch::Direction::kS2mm ? ", starved" : ", blocked", channel.stream_cycles,
           cycles));
}

}  // namespace

trace::Timeline make_timeline(const std::vector<TimelineEvent>& events) {
  trace::Timeline out;
  out.cycles_per_microsecond = emu::cost::kClockHz / 1e6;
  std::map<std::pair<std::string, std::string>, u32> tracks;
  // Tracks in a fixed order: controller, then tiles by row and column, cores before channels.
  std::map<std::pair<int, std::pair<std::string, std::string>>, int> wanted;
  for (const TimelineEvent& event : events) {
    if (!has_slice(event)) continue;
    const int order = event.kind == Kind::kControllerOp ? -1 : event.tile.index();
    wanted[{order, track_of(event)}] = 1;
  }
  for (const auto& [key, unused] : wanted)
    tracks[key.second] = out.track(key.second.first, key.second.second);
  std::map<std::string, u32> names;
  std::map<u64, u32> feeders;            // event number -> slice
  std::vector<std::pair<u64, u32>> fed;  // event number, slice
  std::map<u32, u32> last;               // of a track
  for (const TimelineEvent& event : events) {
    if (!has_slice(event)) continue;
    const u32 track = tracks.at(track_of(event));
    const std::string text = slice_name(event);
    const auto [name, added] = names.try_emplace(text, static_cast<u32>(out.names.size()));
    if (added) out.names.push_back(text);
    const auto before = last.find(track);
    u32 slice = 0;
    if (before != last.end() && continues(out.slices[before->second], track, name->second, event)) {
      slice = before->second;
      out.slices[slice].end = event.end;
    } else {
      slice = static_cast<u32>(out.slices.size());
      out.slices.push_back({track, name->second, event.start, event.end, {}});
      last[track] = slice;
    }
    if (event.feeds != 0) feeders[event.feeds] = slice;
    if (event.fed_by != 0) fed.push_back({event.fed_by, slice});
  }
  for (const auto& [number, slice] : fed) {
    const auto from = feeders.find(number);
    if (from != feeders.end()) out.arrows.push_back({from->second, slice});
  }
  return out;
}

trace::Heatmap make_heatmap(const emu::RunResult& result, const std::string& title) {
  const emu::RunReport& report = result.report;
  trace::Heatmap out;
  out.title = title;
  out.cycles = report.cycles;
  char text[200];
  std::snprintf(text, sizeof(text),
                "%s, %llu cycles of the array = %.3f ms modelled at %.1f GHz, and %.3f ms for the submission",
                emu::run_end_name(result.end), static_cast<unsigned long long>(report.cycles),
                static_cast<double>(report.cycles) / emu::cost::kClockHz * 1e3, emu::cost::kClockHz / 1e9,
                static_cast<double>(report.submission_cycles) / emu::cost::kClockHz * 1e3);
  out.summary = {text, std::to_string(report.ddr_bytes_read) + " bytes read from DDR, " +
                           std::to_string(report.ddr_bytes_written) + " written, " +
                           std::to_string(report.controller_ops) + " operations of the controller"};
  if (!result.message.empty()) out.summary.push_back(result.message);
  std::map<arch::Tile, trace::TileHeat> tiles;
  for (const emu::CoreReport& core : report.cores) tiles[core.tile] = core_heat(core, report.cycles);
  for (const emu::ChannelReport& channel : report.channels) {
    trace::TileHeat& heat = tiles[channel.tile];
    heat.tile = channel.tile;
    add_channel(heat, channel, report.cycles);
  }
  for (auto& [tile, heat] : tiles) out.tiles.push_back(std::move(heat));
  std::map<std::pair<arch::Tile, arch::Tile>, trace::LinkHeat> links;
  for (const emu::LinkReport& link : report.links) {
    const arch::Link to = arch::link_of(link.tile, link.master);
    if (!to.exists) continue;
    trace::LinkHeat& heat = links[{link.tile, to.tile}];
    heat.from = link.tile;
    heat.to = to.tile;
    heat.words += link.words;
    heat.share = std::max(heat.share, share(link.words, report.cycles));
  }
  for (const auto& [ends, heat] : links) out.links.push_back(heat);
  return out;
}

}  // namespace tegula::cli
