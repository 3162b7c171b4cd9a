// Small programs for the core, written as assembly lines.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "emu/core.h"
#include "isa/text.h"

namespace tegula::emu::testing {

// A core with its memories. Lines: one bundle each; "name:" defines a label at the next multiple of 16,
// "#name" uses it; "nop*5" repeats.
class TestCore {
 public:
  TestCore() : memory(kCoreDataBytes), program(kCoreProgramBytes) {
    core.set_memory(memory.data());
    core.set_program(program.data());
  }

  void load(const std::vector<std::string>& lines) {
    std::map<std::string, u32> labels;
    for (int pass = 0; pass < 2; ++pass) {
      u32 at = 0;
      for (const std::string& line : lines) {
        if (line.ends_with(":")) {
          while (at % 16 != 0) at = emit(at, "nop");
          labels[line.substr(0, line.size() - 1)] = at;
          continue;
        }
        const auto star = line.rfind('*');
        const int repeat = star == std::string::npos ? 1 : std::stoi(line.substr(star + 1));
        for (int i = 0; i < repeat; ++i) at = emit(at, with_labels(line.substr(0, star), labels));
      }
      end = at;
    }
    core.invalidate_program();
    core.reset();
  }

  // Runs to `done` and expects nothing else to happen on the way.
  Stop run(u64 budget = 1000000) {
    const Stop stop = core.run(budget);
    EXPECT_EQ(stop.reason, StopReason::kDone) << stop.fault << " at " << stop.pc;
    return stop;
  }

  u32 r(std::string_view name) const { return core.read_scalar(reg(name)); }
  void set(std::string_view name, u32 value) { core.write_scalar(reg(name), value); }
  std::array<u8, 256> wide(std::string_view name) const { return core.read_register(reg(name)); }
  void set_wide(std::string_view name, const void* bytes, size_t count) {
    std::array<u8, 256> value{};
    std::memcpy(value.data(), bytes, count);
    core.write_register(reg(name), value);
  }

  static isa::Reg reg(std::string_view name) {
    const isa::Reg found = isa::find_reg(name);
    EXPECT_NE(found, isa::Reg::kNone) << name;
    return found;
  }

  std::vector<u8> memory, program;
  Core core;
  u32 end = 0;

 private:
  static std::string with_labels(std::string text, const std::map<std::string, u32>& labels) {
    const auto hash = text.rfind('#');
    if (hash == std::string::npos || hash + 1 >= text.size() || !std::isalpha(text[hash + 1])) return text;
    auto stop = hash + 1;
    while (stop < text.size() && (std::isalnum(text[stop]) || text[stop] == '_')) ++stop;
    const auto label = labels.find(text.substr(hash + 1, stop - hash - 1));
    const u32 value = label == labels.end() ? 0 : label->second;
    return text.substr(0, hash + 1) + std::to_string(value) + text.substr(stop);
  }

  u32 emit(u32 at, const std::string& line) {
    const auto bundle = isa::assemble(line);
    EXPECT_TRUE(bundle.ok()) << line << ": " << (bundle.ok() ? "" : bundle.error().message);
    if (!bundle) return at;
    const auto bytes = isa::encode(*bundle);
    EXPECT_TRUE(bytes.ok()) << line;
    if (!bytes) return at;
    std::copy(bytes->begin(), bytes->end(), program.begin() + at);
    return at + static_cast<u32>(bytes->size());
  }
};

inline std::vector<u8> random_bytes(size_t count, u32 seed) {
  std::mt19937 random(seed);
  std::vector<u8> out(count);
  for (u8& b : out) b = static_cast<u8>(random());
  return out;
}

}  // namespace tegula::emu::testing
