// The programs of llvm-aie's execution tests (llvm/test/tools/llvm-aie-run) and the registers and memory they
// expect: tests/emu/published_runs/*.txt. docs/emulator/llvm-aie-run.md says what is not among them, and why.
//
// A file is a program in the language of docs/assembly.md, where "nop*7" stands for seven nops, a line "---",
// and what holds when it has run:
//
//   wl3 = (7E7E7E7E){8}     hexadecimal digits, the highest first; a group {n} times; zero above them
//   mem 0x70000 = 2a 00     bytes from an address
//   bundles = 27            issued, without done
//   events = 1 1 0 0        events #0, #1, warning, error
//
// The data memory of those tests is at 0x10000, that of a core at 0x70000: addresses are moved by that much.
// In the comments of the files, "there" is their simulator.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "emu/core_testing.h"
#include "isa/assembler.h"

namespace tegula::emu::testing {
namespace {

std::filesystem::path folder() {
  return std::filesystem::path(TEGULA_SOURCE_DIR) / "tests" / "emu" / "published_runs";
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

struct Case {
  std::string program;
  std::vector<std::string> expected;
};

Case read_case(const std::string& name) {
  Case out;
  std::ifstream in(folder() / (name + ".txt"));
  bool behind = false;
  for (std::string line; std::getline(in, line);) {
    if (behind) {
      out.expected.push_back(line);
    } else if (line == "---") {
      behind = true;
    } else if (line.starts_with("nop*")) {
      for (int i = std::stoi(line.substr(4)); i > 0; --i) out.program += "nop\n";
    } else {
      out.program += line + "\n";
    }
  }
  return out;
}

// "(00FF){2}1" is 00FF00FF1.
std::string digits(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '(') {
      out += text[at++];
      continue;
    }
    const size_t close = text.find("){", at), end = text.find('}', at);
    if (close == text.npos || end == text.npos) throw std::invalid_argument("group " + text);
    for (int i = std::stoi(text.substr(close + 2)); i > 0; --i) out += text.substr(at + 1, close - at - 1);
    at = end + 1;
  }
  return out;
}

std::string without_zeros(const std::string& text) {
  const size_t first = text.find_first_not_of('0');
  return first == text.npos ? "0" : text.substr(first);
}

std::string shown(const TestCore& t, const std::string& reg) {
  std::string out;
  char byte[3];
  for (u8 b : t.wide(reg)) {
    std::snprintf(byte, sizeof byte, "%02X", b);
    out.insert(0, byte);
  }
  return without_zeros(out);
}

std::string memory_text(const TestCore& t, u32 address, size_t count) {
  std::string out;
  char byte[4];
  for (size_t i = 0; i < count; ++i) {
    std::snprintf(byte, sizeof byte, "%s%02x", i ? " " : "", t.memory.at(address - (kOwnWindow << 16) + i));
    out += byte;
  }
  return out;
}

void check(const TestCore& t, const std::string& line) {
  const size_t equals = line.find(" = ");
  ASSERT_NE(equals, line.npos) << line;
  const std::string what = line.substr(0, equals), value = line.substr(equals + 3);
  if (what.starts_with("mem ")) {
    const u32 address = static_cast<u32>(std::stoul(what.substr(4), nullptr, 16));
    EXPECT_EQ(memory_text(t, address, (value.size() + 1) / 3), value) << what;
  } else if (what == "bundles") {
    EXPECT_EQ(t.core.counters().bundles - 1, std::stoul(value));
  } else if (what == "events") {
    std::ostringstream found;
    for (u64 count : t.core.counters().events) found << (found.tellp() > 0 ? " " : "") << count;
    EXPECT_EQ(found.str(), value);
  } else {
    EXPECT_EQ(shown(t, what), without_zeros(digits(value))) << what;
  }
}

class PublishedProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(PublishedProgram, GivesWhatItExpects) {
  const Case run = read_case(GetParam());
  ASSERT_FALSE(run.expected.empty());
  const auto program = isa::assemble_program(run.program, GetParam());
  ASSERT_TRUE(program.ok()) << program.error().message;
  for (bool traces : {false, true}) {
    TestCore t;
    std::copy(program->code.begin(), program->code.end(), t.program.begin());
    t.core.set_options({.traces = traces});
    t.core.invalidate_program();
    t.core.reset();
    t.run();
    for (const std::string& line : run.expected) check(t, line);
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string out = info.param;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

INSTANTIATE_TEST_SUITE_P(LlvmAieRun, PublishedProgram, ::testing::ValuesIn(files()), test_name);

// aie2p-locks.s: the lock's number comes from an immediate or a register, the amount from a register.
TEST(PublishedRun, LockInstructionsNameTheirLock) {
  struct {
    const char* line;
    StopReason reason;
    int lock;
  } const cases[] = {{"acq #3, r0", StopReason::kAcquire, 3},
                     {"acq r5, r0", StopReason::kAcquire, 9},
                     {"rel #3, r0", StopReason::kRelease, 3}};
  for (const auto& c : cases) {
    TestCore t;
    t.load({"mov r0, #-2", "mov r5, #9", "nop*7", c.line, "done"});
    const Stop stop = t.core.run(100);
    EXPECT_EQ(stop.reason, c.reason) << c.line;
    EXPECT_EQ(stop.lock_id, c.lock) << c.line;
    EXPECT_EQ(stop.amount, -2) << c.line;
  }
}

}  // namespace
}  // namespace tegula::emu::testing
