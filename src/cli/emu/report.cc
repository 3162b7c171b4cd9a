#include "cli/emu/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tegula::cli {

using nlohmann::json;

namespace {

std::string percent(u64 part, u64 whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f%%",
                whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

}  // namespace

std::string run_text(const emu::RunResult& result) {
  const emu::RunReport& report = result.report;
  std::string text = std::string("end: ") + emu::run_end_name(result.end) + "\n";
  if (!result.message.empty()) text += "why: " + result.message + "\n";
  char line[200];
  std::snprintf(line, sizeof(line), "modelled: %llu cycles of the array, %.3f ms with the submission\n",
                static_cast<unsigned long long>(report.cycles), report.seconds() * 1e3);
  text += line;
  u64 bundles = 0, matrix = 0, stall = 0, cycles = 0;
  for (const emu::CoreReport& core : report.cores) {
    bundles += core.bundles;
    matrix += core.matrix_ops;
    stall += core.stall_cycles;
    cycles += core.cycles;
  }
  text += "cores: " + std::to_string(report.cores.size()) + " ran, " + std::to_string(bundles) +
          " bundles, " + std::to_string(matrix) + " matrix operations (" +
          percent(matrix, report.cycles * report.cores.size()) + " of the run), " + percent(stall, cycles) +
          " of their time waiting\n";
  text += "DDR: " + std::to_string(report.ddr_bytes_read) + " bytes read, " +
          std::to_string(report.ddr_bytes_written) +
          " written; controller: " + std::to_string(report.controller_ops) + " operations\n";
  if (!report.max_port.empty()) {
    text += "busiest link: " + report.max_port + ", " + percent(report.max_port_words, report.cycles) + "\n";
  }
  for (const std::string& note : report.notes) text += "note: " + note + "\n";
  return text;
}

json run_json(const emu::RunResult& result) {
  const emu::RunReport& report = result.report;
  json out = {
      {"end", emu::run_end_name(result.end)},          {"cycles", report.cycles},
      {"submission_cycles", report.submission_cycles}, {"modelled_seconds", report.seconds()},
      {"ddr_bytes_read", report.ddr_bytes_read},       {"ddr_bytes_written", report.ddr_bytes_written},
      {"controller_ops", report.controller_ops},       {"notes", report.notes}};
  if (!result.ok()) {
    out["message"] = result.message;
    if (result.op_index != 0xFFFFFFFF) out["op"] = result.op_index;
    out["tile"] = arch::tile_name(result.tile);
  }
  json cores = json::array(), channels = json::array();
  for (const emu::CoreReport& core : report.cores) {
    json locks = json::array();
    for (const emu::LockWaitReport& lock : core.locks) {
      locks.push_back({{"tile", arch::tile_name(lock.tile)},
                       {"lock", lock.lock},
                       {"cycles", lock.cycles},
                       {"waits", lock.waits}});
    }
    cores.push_back({{"col", core.tile.col},
                     {"row", core.tile.row},
                     {"cycles", core.cycles},
                     {"bundles", core.bundles},
                     {"matrix_ops", core.matrix_ops},
                     {"stall_cycles", core.stall_cycles},
                     {"lock_cycles", core.lock_cycles},
                     {"stream_cycles", core.stream_cycles},
                     {"cascade_cycles", core.cascade_cycles},
                     {"estimated_conflict_cycles", core.estimated_conflict_cycles},
                     {"locks", locks}});
  }
  for (const emu::ChannelReport& channel : report.channels) {
    channels.push_back({{"col", channel.tile.col},
                        {"row", channel.tile.row},
                        {"direction", arch::direction_name(channel.direction)},
                        {"channel", channel.channel},
                        {"words", channel.words},
                        {"busy_cycles", channel.busy_cycles},
                        {"lock_cycles", channel.lock_cycles},
                        {channel.direction == arch::Direction::kS2mm ? "starved_cycles" : "blocked_cycles",
                         channel.stream_cycles},
                        {"bds", channel.bds},
                        {"tasks", channel.tasks}});
  }
  out["cores"] = cores;
  out["channels"] = channels;
  return out;
}

}  // namespace tegula::cli
