// The real node: system calls on /dev/accel/accelN, and cache lines flushed by hand, as the NPU does not
// snoop.
#include <emmintrin.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "device/nodes.h"

namespace tegula::device {
namespace {

constexpr u64 kLine = 64;

class LinuxNode : public AccelNode {
 public:
  LinuxNode(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  ~LinuxNode() override { LinuxNode::close(); }

  int ioctl(u32 request, void* argument) override {
    int result = 0;
    do {
      result = ::ioctl(fd_, request, argument);
    } while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : -errno;
  }

  int mmap(void* fixed_at, u64 length, u64 offset, void** mapped) override {
    const int flags = MAP_SHARED | (fixed_at != nullptr ? MAP_FIXED : 0);
    void* at = ::mmap(fixed_at, length, PROT_READ | PROT_WRITE, flags, fd_, static_cast<off_t>(offset));
    if (at == MAP_FAILED) return -errno;
    // The kernel's zeroes of a fresh buffer must not be written back later over what the device puts there.
    // The heap (the fixed mapping) is only read by the device, after flushes of its own.
    if (fixed_at == nullptr) flush(at, length);
    *mapped = at;
    return 0;
  }

  int munmap(void* address, u64 length) override { return ::munmap(address, length) == 0 ? 0 : -errno; }

  void close() override {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  void flush(const void* address, u64 length) override {
    const u64 begin = reinterpret_cast<u64>(address) / kLine * kLine;
    const u64 end = reinterpret_cast<u64>(address) + length;
    _mm_mfence();
    for (u64 line = begin; line < end; line += kLine) _mm_clflush(reinterpret_cast<const void*>(line));
    _mm_mfence();
  }

  // A flush also drops the line, so that the next read fetches what the device wrote.
  void invalidate(const void* address, u64 length) override { flush(address, length); }

  bool emulated() const override { return false; }
  std::string name() const override { return path_; }

 private:
  std::string path_;
  int fd_;
};

}  // namespace

int open_linux_node(const std::string& path, std::unique_ptr<AccelNode>* node) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return -errno;
  *node = std::make_unique<LinuxNode>(path, fd);
  return 0;
}

}  // namespace tegula::device
