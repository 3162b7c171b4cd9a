// libtegula_node.so, for LD_PRELOAD: a program that opens the NPU's device node by itself gets the emulated
// one. Only calls on that node are answered here; all others go to the kernel as they are, by system call, so
// that nothing depends on the order of libraries.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "preload/node_table.h"

// The C library declares some of these with attributes of its own.
#pragma GCC diagnostic ignored "-Wnonnull-compare"
#define TEGULA_CALL extern "C" __attribute__((visibility("default")))

namespace {

using tegula::u64;
using tegula::preload::NodeTable;

constexpr unsigned kAccelMajor = 261;  // the kernel's number of the accel class

// Made at the first call and never destroyed: calls come until the process has ended. Null for the calls that
// making it makes.
NodeTable* table() {
  static thread_local bool making = false;
  if (making) return nullptr;
  static NodeTable* const instance = [] {
    making = true;
    std::string problem;
    auto options = tegula::preload::options_from_environment(&problem);
    if (!problem.empty()) {
      problem = "libtegula_node: " + problem + "\n";
      (void)!::write(STDERR_FILENO, problem.data(), problem.size());
    }
    auto* const made = new NodeTable(std::move(options));
    making = false;
    return made;
  }();
  return instance;
}

// A child must not inherit the table while another thread of the parent is changing it.
[[maybe_unused]] const int kForkHandlers = ::pthread_atfork(
    [] {
      if (auto* t = table()) t->lock();
    },
    [] {
      if (auto* t = table()) t->unlock();
    },
    [] {
      if (auto* t = table()) t->unlock();
    });

bool is_node(const char* path) {
  NodeTable* const t = table();
  return t != nullptr && t->is_node(path);
}

template <typename Value>
Value checked(Value result) {
  if (result >= 0) return result;
  errno = static_cast<int>(-result);
  return -1;
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
  if (is_node(path)) return checked(table()->open(flags));
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

bool takes_mode(int flags) {
  return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

void describe_node(struct stat* out) {
  std::memset(out, 0, sizeof(*out));
  out->st_mode = S_IFCHR | 0666;
  out->st_nlink = 1;
  out->st_rdev = makedev(kAccelMajor, 0);
}

int stat_file(const char* path, struct stat* out, int flags) {
  if (!is_node(path)) return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, out, flags));
  describe_node(out);
  return 0;
}

void before_close(int fd) {
  if (NodeTable* const t = table()) t->closed(fd);
}

int after_dup(int from, int to) {
  NodeTable* const t = table();
  if (to >= 0 && t != nullptr) t->duplicated(from, to);
  return to;
}

}  // namespace

#define TEGULA_OPEN_MODE(flags)  \
  mode_t mode = 0;               \
  if (takes_mode(flags)) {       \
    va_list list;                \
    va_start(list, flags);       \
    mode = va_arg(list, mode_t); \
    va_end(list);                \
  }

TEGULA_CALL int open(const char* path, int flags, ...) {
  TEGULA_OPEN_MODE(flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
TEGULA_CALL int open64(const char* path, int flags, ...) {
  TEGULA_OPEN_MODE(flags)
  return open_file(AT_FDCWD, path, flags, mode);
}
TEGULA_CALL int openat(int folder, const char* path, int flags, ...) {
  TEGULA_OPEN_MODE(flags)
  return open_file(folder, path, flags, mode);
}
TEGULA_CALL int openat64(int folder, const char* path, int flags, ...) {
  TEGULA_OPEN_MODE(flags)
  return open_file(folder, path, flags, mode);
}
// What open() becomes in programs built with _FORTIFY_SOURCE.
TEGULA_CALL int __open_2(const char* path, int flags) {
  return open_file(AT_FDCWD, path, flags, 0);
}
TEGULA_CALL int __open64_2(const char* path, int flags) {
  return open_file(AT_FDCWD, path, flags, 0);
}
TEGULA_CALL int __openat_2(int folder, const char* path, int flags) {
  return open_file(folder, path, flags, 0);
}
TEGULA_CALL int __openat64_2(int folder, const char* path, int flags) {
  return open_file(folder, path, flags, 0);
}

TEGULA_CALL int close(int fd) {
  before_close(fd);
  return static_cast<int>(::syscall(SYS_close, fd));
}

TEGULA_CALL int dup(int fd) noexcept {
  return after_dup(fd, static_cast<int>(::syscall(SYS_dup, fd)));
}
TEGULA_CALL int dup2(int fd, int to) noexcept {
  if (fd != to) before_close(to);
  return after_dup(fd, static_cast<int>(::syscall(SYS_dup2, fd, to)));
}
TEGULA_CALL int dup3(int fd, int to, int flags) noexcept {
  before_close(to);
  return after_dup(fd, static_cast<int>(::syscall(SYS_dup3, fd, to, flags)));
}

#define TEGULA_FCNTL(name)                                                                    \
  TEGULA_CALL int name(int fd, int command, ...) {                                            \
    va_list list;                                                                             \
    va_start(list, command);                                                                  \
    void* const argument = va_arg(list, void*);                                               \
    va_end(list);                                                                             \
    const int result = static_cast<int>(::syscall(SYS_fcntl, fd, command, argument));         \
    return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? after_dup(fd, result) : result; \
  }
TEGULA_FCNTL(fcntl)
TEGULA_FCNTL(fcntl64)

TEGULA_CALL int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list list;
  va_start(list, request);
  void* const argument = va_arg(list, void*);
  va_end(list);
  NodeTable* const t = table();
  if (t != nullptr) {
    if (const auto result = t->ioctl(fd, request, argument)) return checked(*result);
  }
  return static_cast<int>(::syscall(SYS_ioctl, fd, request, argument));
}

TEGULA_CALL void* mmap(void* at, size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  void* mapped = MAP_FAILED;
  NodeTable* const t = fd >= 0 && (flags & MAP_ANONYMOUS) == 0 ? table() : nullptr;
  if (t != nullptr) {
    if (const auto error = t->mmap(at, length, flags, fd, static_cast<u64>(offset), &mapped)) {
      return checked(*error) == 0 ? mapped : MAP_FAILED;
    }
  }
  return reinterpret_cast<void*>(::syscall(SYS_mmap, at, length, protection, flags, fd, offset));
}
TEGULA_CALL void* mmap64(void* at, size_t length, int protection, int flags, int fd,
                         off64_t offset) noexcept {
  return mmap(at, length, protection, flags, fd, offset);
}

TEGULA_CALL int munmap(void* address, size_t length) noexcept {
  NodeTable* const t = table();
  if (t != nullptr) {
    if (const auto error = t->munmap(address, length)) return checked(*error);
  }
  return static_cast<int>(::syscall(SYS_munmap, address, length));
}

TEGULA_CALL int stat(const char* path, struct stat* out) noexcept {
  return stat_file(path, out, 0);
}
TEGULA_CALL int lstat(const char* path, struct stat* out) noexcept {
  return stat_file(path, out, AT_SYMLINK_NOFOLLOW);
}
TEGULA_CALL int stat64(const char* path, struct stat64* out) noexcept {
  return stat_file(path, reinterpret_cast<struct stat*>(out), 0);
}
TEGULA_CALL int lstat64(const char* path, struct stat64* out) noexcept {
  return stat_file(path, reinterpret_cast<struct stat*>(out), AT_SYMLINK_NOFOLLOW);
}
TEGULA_CALL int fstat(int fd, struct stat* out) noexcept {
  NodeTable* const t = table();
  if (t == nullptr || !t->owns(fd)) return static_cast<int>(::syscall(SYS_fstat, fd, out));
  describe_node(out);
  return 0;
}
TEGULA_CALL int fstat64(int fd, struct stat64* out) noexcept {
  return fstat(fd, reinterpret_cast<struct stat*>(out));
}
TEGULA_CALL int access(const char* path, int mode) noexcept {
  if (is_node(path)) return (mode & X_OK) != 0 ? checked(-EACCES) : 0;
  return static_cast<int>(::syscall(SYS_access, path, mode));
}
