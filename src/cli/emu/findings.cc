#include "cli/emu/findings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace tegula::cli {

using nlohmann::json;

namespace {

constexpr size_t kMaxLines = 20;  // of one kind

// Cores often run equal programs: findings ("WHO: WHAT") that differ in who only share a line.
std::string lines(const char* kind, const std::vector<std::string>& texts) {
  struct Line {
    std::string text, what;
    size_t others = 0;
  };
  std::vector<Line> all;
  for (const std::string& text : texts) {
    const std::string what = text.substr(std::min(text.find(": "), text.size()));
    const auto same = std::find_if(all.begin(), all.end(),
                                   [&](const Line& line) { return !what.empty() && line.what == what; });
    if (same == all.end()) {
      all.push_back({text, what});
    } else {
      ++same->others;
    }
  }
  std::string out;
  for (size_t i = 0; i < std::min(all.size(), kMaxLines); ++i) {
    out += std::string(kind) + ": " + all[i].text;
    if (all[i].others != 0) out += " (and " + std::to_string(all[i].others) + " more such)";
    out += "\n";
  }
  if (all.size() > kMaxLines) {
    out += std::string(kind) + ": " + std::to_string(all.size() - kMaxLines) + " more, --json has them\n";
  }
  return out;
}

json access_json(const emu::RaceAccess& access) {
  json out = {{"who", access.name()}, {"write", access.write}, {"cycle", access.cycle}};
  switch (access.who) {
    case emu::RaceAccess::Who::kCore:
      out["pc"] = access.place;
      break;
    case emu::RaceAccess::Who::kChannel:
      out["bd"] = access.place;
      break;
    case emu::RaceAccess::Who::kController:
      if (access.place != emu::kConfiguration) out["op"] = access.place;
      break;
  }
  return out;
}

json race_json(const emu::RaceReport& race) {
  json locks = json::array();
  for (const emu::RaceLock& lock : race.locks) {
    locks.push_back({{"tile", arch::tile_name(lock.tile)},
                     {"lock", lock.lock},
                     {"given_by", lock.by_first ? "first" : "second"}});
  }
  return {{"tile", arch::tile_name(race.tile)},
          {"address", race.address},
          {"bytes", race.bytes},
          {"first", access_json(race.first)},
          {"second", access_json(race.second)},
          {"locks", locks},
          {"count", race.count},
          {"text", race.text()}};
}

json hazard_json(const emu::HazardReport& report) {
  const emu::Hazard& hazard = report.hazard;
  return {
      {"tile", arch::tile_name(report.tile)},    {"producer", hazard.producer_pc},
      {"consumer", hazard.consumer_pc},          {"register", std::string(isa::reg_info(hazard.reg).name)},
      {"missing_cycles", hazard.missing_cycles}, {"count", hazard.count},
      {"results_used", hazard.results_used}};
}

}  // namespace

emu::Checks checks_of(const std::vector<std::string>& names) {
  const auto asked = [&](const char* name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const bool all = asked("all");
  return {.uninitialised = all || asked("uninit"),
          .hazards = all || asked("hazards"),
          .early_reads = asked("early-reads"),
          .races = all || asked("races")};
}

std::string findings_text(const emu::Findings& findings, const emu::Checks& checks) {
  std::string out = "checks:";
  const auto count = [&](bool checked, const char* name, size_t number) {
    if (checked) out += std::string(out.back() == ':' ? " " : ", ") + std::to_string(number) + " " + name;
  };
  count(checks.hazards || checks.early_reads, "hazards", findings.hazards.size());
  count(checks.races, "races", findings.races.size());
  count(checks.uninitialised, "reads of what nothing has written", findings.poison.size());
  std::vector<std::string> hazards, races;
  for (const emu::HazardReport& one : findings.hazards) hazards.push_back(one.text());
  for (const emu::RaceReport& one : findings.races) races.push_back(one.text());
  return out + "\n" + lines("hazard", hazards) + lines("race", races) + lines("uninit", findings.poison);
}

json findings_json(const emu::Findings& findings, const emu::Checks& checks) {
  json out = json::object();
  if (checks.hazards || checks.early_reads) {
    out["hazards"] = json::array();
    for (const emu::HazardReport& one : findings.hazards) out["hazards"].push_back(hazard_json(one));
  }
  if (checks.races) {
    out["races"] = json::array();
    for (const emu::RaceReport& one : findings.races) out["races"].push_back(race_json(one));
  }
  if (checks.uninitialised) out["uninit"] = findings.poison;
  return out;
}

}  // namespace tegula::cli
