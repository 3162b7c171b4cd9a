// The doctor against made-up system directories.
#include "device/doctor.h"
#include "temporary.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tegula::device {
namespace {

namespace fs = std::filesystem;

class DoctorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = temporary(::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(root_);
    paths_ = {(root_ / "dev").string(), (root_ / "sys").string(), (root_ / "cpuinfo").string()};
    put("cpuinfo", "processor : 0\nflags : fpu sse2\n");
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  bool advised(const DoctorReport& report, const std::string& part) {
    for (const std::string& line : report.advice) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }
  fs::path root_;
  DoctorPaths paths_;
};

TEST_F(DoctorTest, NothingThere) {
  const DoctorReport report = diagnose(paths_);
  EXPECT_TRUE(report.nodes.empty());
  EXPECT_EQ(report.usable_node(), nullptr);
  EXPECT_FALSE(report.kernel.empty());
  EXPECT_FALSE(report.hypervisor);
  EXPECT_TRUE(advised(report, "no NPU on the PCI bus"));
}

TEST_F(DoctorTest, NpuWithoutDriverInAVirtualMachine) {
  put("sys/bus/pci/devices/0000:c6:00.1/vendor", "0x1022\n");
  put("sys/bus/pci/devices/0000:c6:00.1/device", "0x17f0\n");
  put("sys/bus/pci/devices/0000:c6:00.1/revision", "0x11\n");
  put("sys/bus/pci/devices/0000:00:00.0/vendor", "0x1022\n");
  put("sys/bus/pci/devices/0000:00:00.0/device", "0x14b5\n");
  put("cpuinfo", "flags : fpu hypervisor\n");
  const DoctorReport report = diagnose(paths_);
  ASSERT_EQ(report.pci.size(), 1u);
  EXPECT_EQ(report.pci[0], "0000:c6:00.1 17f0 rev 0x11");
  EXPECT_TRUE(report.hypervisor);
  EXPECT_TRUE(advised(report, "load the amdxdna driver"));
  EXPECT_TRUE(advised(report, "virtual machine"));
}

TEST_F(DoctorTest, NodeThatIsNoDrmDevice) {
  put("dev/accel3", "");
  put("sys/class/accel/accel3/device/vbnv", "NPU Strix\n");
  put("sys/class/accel/accel3/device/fw_version", "1.1.2.64\n");
  const DoctorReport report = diagnose(paths_);
  ASSERT_EQ(report.nodes.size(), 1u);
  EXPECT_TRUE(report.nodes[0].openable);
  EXPECT_FALSE(report.nodes[0].usable);
  EXPECT_EQ(report.nodes[0].vbnv, "NPU Strix");
  EXPECT_EQ(report.nodes[0].firmware, "1.1.2.64");
  EXPECT_TRUE(advised(report, "does not answer as a DRM device: ENOTTY"));
}

}  // namespace
}  // namespace tegula::device
