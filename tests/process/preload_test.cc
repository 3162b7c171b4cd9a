// Whole processes that open the NPU's node by themselves, with libtegula_node.so preloaded.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "device/loopback.h"
#include "temporary.h"

namespace tegula {
namespace {

constexpr const char* kPreload = "LD_PRELOAD=" TEGULA_NODE " ";

struct Outcome {
  int code = -1;
  std::string out;  // stdout and stderr
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  std::array<char, 4096> piece;
  for (size_t n; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;)
    outcome.out.append(piece.data(), n);
  const int status = ::pclose(pipe);
  if (WIFEXITED(status)) outcome.code = WEXITSTATUS(status);
  return outcome;
}

std::string write_file(const std::string& name, ByteSpan bytes) {
  const std::string path = temporary(name);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return path;
}

std::string foreign_client(u32 blocks, u32 send) {
  return std::string(TEGULA_FOREIGN_CLIENT " ") + write_file("loopback.pdi", device::loopback_pdi()) + " " +
         write_file("loopback.txn", device::loopback_stream(blocks, send)) + " " +
         std::to_string(blocks * device::kLoopBytes);
}

TEST(Preload, ForeignClientMovesData) {
  const Outcome outcome = shell(kPreload + foreign_client(4, 4));
  EXPECT_EQ(outcome.code, 0) << outcome.out;
  EXPECT_EQ(outcome.out, "amdxdna_accel_driver, 4096 bytes came back\n");
}

TEST(Preload, OtherGenerationsOfTheDriver) {
  for (const char* version : {"0.6", "0.0"}) {
    const Outcome outcome =
        shell("TEGULA_NODE_DRIVER=" + std::string(version) + " " + kPreload + foreign_client(1, 1));
    EXPECT_EQ(outcome.code, 0) << version << ": " << outcome.out;
  }
}

// The stream waits for data that never comes: the command times out and the log says who waits.
TEST(Preload, FailureIsExplainedInTheLog) {
  const std::string log = temporary("node.log");
  std::filesystem::remove(log);
  const Outcome outcome = shell("TEGULA_NODE_LOG=" + log + " " + kPreload + foreign_client(4, 2));
  EXPECT_EQ(outcome.code, 2) << outcome.out;
  EXPECT_EQ(outcome.out, "command ended in state 8\n");
  std::ifstream in(log);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(text.find("S2MM"), std::string::npos) << text;
}

TEST(Preload, BadSettingIsNamed) {
  const Outcome outcome = shell(std::string("TEGULA_NODE_DRIVER=7 ") + kPreload + foreign_client(1, 1));
  EXPECT_EQ(outcome.code, 0);
  EXPECT_NE(outcome.out.find("libtegula_node: TEGULA_NODE_DRIVER=7: expected 0.0 to 0.16 or 1.0"),
            std::string::npos)
      << outcome.out;
}

TEST(Preload, WithoutItThereIsNoNode) {
  if (std::filesystem::exists("/dev/accel/accel0"))
    GTEST_FAIL() << "this machine has a node; the test cannot tell anything here";
  const Outcome outcome = shell(foreign_client(1, 1));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.out.find("/dev/accel/accel0: No such file or directory"), std::string::npos)
      << outcome.out;
}

// The path to a real node, through system calls, gives what the node in the same process gives, to the last
// bit of the vector.
TEST(Preload, TheProgramItselfOnTheNode) {
  const std::string command = std::string(TEGULA_PROGRAM " embed ") + TEGULA_SOURCE_DIR +
                              "/tests/golden/tiny_bert 'a sentence' --json --device ";
  const Outcome npu = shell(kPreload + command + "npu"), emulated = shell(command + "emu");
  ASSERT_EQ(npu.code, 0) << npu.out;
  ASSERT_EQ(emulated.code, 0) << emulated.out;
  const auto a = nlohmann::json::parse(npu.out), b = nlohmann::json::parse(emulated.out);
  EXPECT_EQ(a["report"]["device"]["name"], "/dev/accel/accel0");
  EXPECT_EQ(a["report"]["device"]["emulated"], false);
  EXPECT_EQ(b["report"]["device"]["emulated"], true);
  EXPECT_EQ(a["embeddings"], b["embeddings"]);
}

TEST(Preload, DoctorFindsIt) {
  const Outcome outcome = shell(std::string(kPreload) + TEGULA_PROGRAM " doctor --json");
  ASSERT_EQ(outcome.code, 0) << outcome.out;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["nodes"][0]["usable"], true) << outcome.out;
}

}  // namespace
}  // namespace tegula
