// File descriptors and mappings of the preloaded node, within one process.
#include "preload/node_table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/amdxdna_uapi.h"

namespace tegula::preload {
namespace {

constexpr u64 kBytes = 8192;

class NodeTableTest : public testing::Test {
 protected:
  static TableOptions options() {
    TableOptions made;
    made.driver.stale_cache = false;
    return made;
  }
  // A shared buffer of kBytes; returns its map offset.
  u64 buffer(int fd) {
    uapi::CreateBo create{0, 0, kBytes, uapi::kBoShare, 0};
    EXPECT_EQ(table_.ioctl(fd, uapi::kReqCreateBo, &create), 0);
    uapi::GetBoInfo info{};
    info.handle = create.handle;
    EXPECT_EQ(table_.ioctl(fd, uapi::kReqGetBoInfo, &info), 0);
    return info.map_offset;
  }
  void* map(int fd, u64 offset) {
    void* mapped = nullptr;
    EXPECT_EQ(table_.mmap(nullptr, kBytes, MAP_SHARED, fd, offset, &mapped), 0);
    return mapped;
  }
  int version(int fd) {
    uapi::DrmVersion query{};
    return table_.ioctl(fd, uapi::kReqVersion, &query).value_or(1);
  }

  NodeTable table_{options()};
};

TEST_F(NodeTableTest, OnlyTheNodeIsAnswered) {
  EXPECT_TRUE(table_.is_node("/dev/accel/accel0"));
  EXPECT_FALSE(table_.is_node("/dev/accel/accel1"));
  EXPECT_FALSE(table_.is_node(nullptr));
  EXPECT_EQ(version(0), 1);
  void* mapped = nullptr;
  EXPECT_EQ(table_.mmap(nullptr, kBytes, MAP_SHARED, 0, 0, &mapped), std::nullopt);
  EXPECT_EQ(table_.munmap(&mapped, 8), std::nullopt);
}

TEST_F(NodeTableTest, OpenHonoursCloseOnExec) {
  const int plain = table_.open(O_RDWR), closing = table_.open(O_RDWR | O_CLOEXEC);
  EXPECT_EQ(::fcntl(plain, F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_EQ(::fcntl(closing, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
  EXPECT_NE(plain, closing);
}

TEST_F(NodeTableTest, DuplicateKeepsTheFileOpen) {
  const int fd = table_.open(O_RDWR);
  const int copy = ::dup(fd);
  table_.duplicated(fd, copy);
  table_.closed(fd);
  EXPECT_EQ(version(fd), 1);
  EXPECT_EQ(version(copy), 0);
  table_.closed(copy);
  EXPECT_EQ(version(copy), 1);
}

TEST_F(NodeTableTest, MappingsAreUnmappedWithWhatSurroundsThem) {
  const int fd = table_.open(O_RDWR);
  auto* room = static_cast<u8*>(::mmap(nullptr, 4 * kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* mapped = nullptr;
  ASSERT_EQ(table_.mmap(room + kBytes, kBytes, MAP_SHARED | MAP_FIXED, fd, buffer(fd), &mapped), 0);
  ASSERT_EQ(mapped, room + kBytes);
  std::memset(mapped, 7, kBytes);
  EXPECT_EQ(table_.munmap(room, kBytes + 4096), -EINVAL);           // ends inside the buffer
  EXPECT_EQ(table_.munmap(room + kBytes + 4096, kBytes), -EINVAL);  // starts inside it
  EXPECT_EQ(room[kBytes], 7);
  EXPECT_EQ(table_.munmap(room, 4 * kBytes), std::nullopt);  // the kernel removes the rest
  EXPECT_EQ(table_.munmap(room + kBytes, kBytes), std::nullopt);
  ::munmap(room, 4 * kBytes);
}

TEST_F(NodeTableTest, MappingOutlivesItsDescriptor) {
  const int fd = table_.open(O_RDWR);
  auto* data = static_cast<u8*>(map(fd, buffer(fd)));
  data[5] = 9;
  table_.closed(fd);
  EXPECT_EQ(data[5], 9);
  EXPECT_EQ(table_.munmap(data, kBytes), std::nullopt);
}

TEST_F(NodeTableTest, RefusalsComeThrough) {
  const int fd = table_.open(O_RDWR);
  void* mapped = nullptr;
  EXPECT_EQ(table_.mmap(nullptr, kBytes, MAP_SHARED, fd, 0x123000, &mapped), -EINVAL);
  uapi::GetBoInfo info{};
  info.handle = 77;
  EXPECT_EQ(table_.ioctl(fd, uapi::kReqGetBoInfo, &info), -ENOENT);
}

TEST_F(NodeTableTest, ChildHasNoNode) {
  const int fd = table_.open(O_RDWR);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(version(fd) == -EBADF ? 0 : 1);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(version(fd), 0);
}

TEST(NodeOptions, Environment) {
  std::string problem;
  ::setenv("TEGULA_NODE_PATH", "/dev/accel/accel3", 1);
  ::setenv("TEGULA_NODE_DRIVER", "1.0", 1);
  ::setenv("TEGULA_NODE_THREADS", "2", 1);
  const TableOptions good = options_from_environment(&problem);
  EXPECT_EQ(problem, "");
  EXPECT_EQ(good.path, "/dev/accel/accel3");
  EXPECT_EQ(good.driver.major, 1);
  EXPECT_EQ(good.driver.array.threads, 2u);
  EXPECT_FALSE(good.driver.stale_cache);
  ::setenv("TEGULA_NODE_THREADS", "-1", 1);
  options_from_environment(&problem);
  EXPECT_NE(problem.find("TEGULA_NODE_THREADS=-1: expected"), std::string::npos) << problem;
  for (const char* name : {"TEGULA_NODE_PATH", "TEGULA_NODE_DRIVER", "TEGULA_NODE_THREADS"}) ::unsetenv(name);
}

}  // namespace
}  // namespace tegula::preload
