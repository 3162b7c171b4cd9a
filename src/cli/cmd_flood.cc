// tegula emu --flood: configurations without streams, to see whether the emulator can execute them. Random
// data says nothing of the results; it reaches the instructions, registers and modes that programs use.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/emu/findings.h"
#include "emu/flood.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

Result<emu::FloodReport> flood_file(const EmuCommand& command, const std::string& path) {
  TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
  TRY_ASSIGN(emu::Session session, emu::Session::open(file.bytes(), checks_of(command.checks)));
  emu::FloodOptions options;
  options.enough_bundles = command.bundles;
  options.seed = command.seed;
  options.threads = command.threads;
  if (!command.data.empty()) {
    TRY_ASSIGN(options.data, read_file(command.data));
  }
  if (command.max_cycles != 0) options.cycles = command.max_cycles;
  return emu::flood(session, options);
}

// The first thing that the emulator could not do; else what a core that fell short waits for.
std::string first_error(const emu::FloodReport& report, u64 bundles) {
  if (!report.failure.empty()) return report.failure;
  for (const emu::FloodCore& core : report.cores) {
    if (!core.fault.empty()) return arch::tile_name(core.tile) + ": " + core.fault;
  }
  for (const emu::FloodCore& core : report.cores) {
    if (!core.enough(bundles)) return arch::tile_name(core.tile) + " falls short: " + core.waits;
  }
  return {};
}

json flood_json(const std::string& path, const emu::FloodReport& report, u64 bundles) {
  json cores = json::array();
  u64 least = 0;
  int enough = 0;
  for (size_t i = 0; i < report.cores.size(); ++i) {
    const emu::FloodCore& core = report.cores[i];
    least = i == 0 ? core.bundles : std::min(least, core.bundles);
    enough += core.enough(bundles);
    cores.push_back({{"col", core.tile.col},
                     {"row", core.tile.row},
                     {"bundles", core.bundles},
                     {"done", core.done},
                     {"fault", core.fault},
                     {"waits", core.waits}});
  }
  return {{"file", path},
          {"ok", report.enough(bundles)},
          {"enough", enough},
          {"least_bundles", least},
          {"cycles", report.cycles},
          {"kicks", report.kicks},
          {"error", first_error(report, bundles)},
          {"cores", cores}};
}

void print_file(const json& one) {
  std::printf("%s: %s, %d of %zu cores ran, least bundles %llu, locks given from outside %d%s%s\n",
              one["file"].get<std::string>().c_str(), one["ok"].get<bool>() ? "ok" : "short",
              one["enough"].get<int>(), one["cores"].size(),
              static_cast<unsigned long long>(one["least_bundles"].get<u64>()), one["kicks"].get<int>(),
              one["error"].get<std::string>().empty() ? "" : ": ", one["error"].get<std::string>().c_str());
}

}  // namespace

int cmd_flood(const EmuCommand& command) {
  const emu::Checks checks = checks_of(command.checks);
  json files = json::array();
  size_t ok = 0;
  for (const std::string& path : command.files) {
    const Result<emu::FloodReport> report = flood_file(command, path);
    if (!report.ok()) {
      print_error(in_file(path, report.error()));
      continue;
    }
    json one = flood_json(path, *report, command.bundles);
    if (checks.any()) one["checks"] = findings_json(report->findings, checks);
    ok += one["ok"].get<bool>() && report->findings.count() == 0;
    if (!command.json) print_file(one);
    if (!command.json && checks.any()) std::printf("%s", findings_text(report->findings, checks).c_str());
    files.push_back(std::move(one));
  }
  if (command.json) {
    std::printf(
        "%s\n",
        json{{"schema", 1}, {"bundles", command.bundles}, {"ok", ok}, {"files", files}}.dump(2).c_str());
  } else if (command.files.size() > 1) {
    std::printf("%zu of %zu configurations ran\n", ok, command.files.size());
  }
  return ok == command.files.size() ? 0 : 1;
}

}  // namespace tegula::cli
