// The emulated NPU as a device node of a process that knows nothing of it: which file descriptors stand for
// the node, which addresses its buffers are mapped at. src/preload/main.cc puts the process's system calls
// here.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/types.h"
#include "driver/node.h"

namespace tegula::preload {

struct TableOptions {
  std::string path = "/dev/accel/accel0";  // the node that is emulated, whether or not there is a real one
  std::string log;  // file for the driver's explanation of each failed command; empty: none
  driver::DriverOptions driver;
};

// From the environment: TEGULA_NODE_PATH, TEGULA_NODE_LOG, TEGULA_NODE_DRIVER ("0.16", "0.6", "1.0"),
// TEGULA_NODE_THREADS. A value that cannot be read leaves the default and is reported in `problem`. Caches
// are not modelled: clflush cannot be seen from here.
TableOptions options_from_environment(std::string* problem);

// Calls of the process, from any of its threads. Results are those of the system calls: a value, or -errno.
// nullopt: the call is not about the node and belongs to the kernel. A child after fork() has no node: its
// calls get EBADF, as the emulator's threads stay behind.
class NodeTable {
 public:
  explicit NodeTable(TableOptions options);

  bool is_node(const char* path) const;
  bool owns(int fd) const;
  int open(int flags);  // O_CLOEXEC is honoured
  std::optional<int> ioctl(int fd, u64 request, void* argument);
  // `at` is used with MAP_FIXED only. On success *mapped is the address.
  std::optional<int> mmap(void* at, u64 length, int flags, int fd, u64 offset, void** mapped);
  // Unmaps the buffers that lie wholly inside the range; what else is in it is left to the kernel (nullopt).
  // EINVAL when the range cuts a buffer in two.
  std::optional<int> munmap(void* address, u64 length);
  void duplicated(
      int from,
      int to);  // after a dup: `to` stands for the same open file; nothing happens if `from` is not the node
  void closed(int fd);            // before the kernel closes fd
  void lock() { mutex_.lock(); }  // around fork()
  void unlock() { mutex_.unlock(); }

 private:
  struct OpenFile {
    std::shared_ptr<driver::DriverClient> client;
    pid_t process = 0;
  };
  struct Mapping {
    u64 length = 0;
    OpenFile file;
  };

  std::optional<OpenFile> find(int fd) const;
  static void let_go(OpenFile file);
  void log_failure();

  const TableOptions options_;
  driver::EmulatedDriver device_;
  mutable std::mutex mutex_;
  std::map<int, OpenFile> files_;
  std::map<u64, Mapping> mappings_;  // by address
  std::string logged_;               // last explanation in the log
};

}  // namespace tegula::preload
