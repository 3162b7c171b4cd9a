#include "preload/node_table.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace tegula::preload {
namespace {

constexpr unsigned kMostThreads = 256;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

TableOptions options_from_environment(std::string* problem) {
  TableOptions options;
  if (const std::string path = variable("TEGULA_NODE_PATH"); !path.empty()) options.path = path;
  options.log = variable("TEGULA_NODE_LOG");
  options.driver.stale_cache = false;
  char end = 0;
  if (const std::string version = variable("TEGULA_NODE_DRIVER"); !version.empty()) {
    int major = 0, minor = 0;
    const bool read = std::sscanf(version.c_str(), "%d.%d%c", &major, &minor, &end) == 2;
    if (read && ((major == 0 && minor >= 0 && minor <= 16) || (major == 1 && minor == 0))) {
      options.driver.major = major;
      options.driver.minor = minor;
    } else {
      *problem = "TEGULA_NODE_DRIVER=" + version + ": expected 0.0 to 0.16 or 1.0";
    }
  }
  if (const std::string threads = variable("TEGULA_NODE_THREADS"); !threads.empty()) {
    unsigned count = 0;
    if (std::sscanf(threads.c_str(), "%u%c", &count, &end) == 1 && count <= kMostThreads) {
      options.driver.array.threads = count;
    } else {
      *problem = "TEGULA_NODE_THREADS=" + threads + ": expected 0 (all) to " + std::to_string(kMostThreads);
    }
  }
  return options;
}

NodeTable::NodeTable(TableOptions options) : options_(std::move(options)), device_(options_.driver) {}

bool NodeTable::is_node(const char* path) const {
  return path != nullptr && options_.path == path;
}

bool NodeTable::owns(int fd) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return files_.contains(fd);
}

std::optional<NodeTable::OpenFile> NodeTable::find(int fd) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = files_.find(fd);
  if (found == files_.end()) return std::nullopt;
  return found->second;
}

int NodeTable::open(int flags) {
  std::unique_ptr<driver::DriverClient> client;
  if (const int error = device_.open(&client); error != 0) return error;
  // A descriptor of the kernel's, so that the number is taken and everything that is not answered here fails
  // in an ordinary way.
  const int fd = memfd_create("accel", (flags & O_CLOEXEC) != 0 ? MFD_CLOEXEC : 0);
  if (fd < 0) return -errno;
  std::lock_guard<std::mutex> lock(mutex_);
  files_[fd] = {std::move(client), getpid()};
  return fd;
}

std::optional<int> NodeTable::ioctl(int fd, u64 request, void* argument) {
  const std::optional<OpenFile> file = find(fd);
  if (!file) return std::nullopt;
  if (file->process != getpid()) return -EBADF;
  const int result = file->client->ioctl(static_cast<u32>(request), argument);
  log_failure();
  return result;
}

std::optional<int> NodeTable::mmap(void* at, u64 length, int flags, int fd, u64 offset, void** mapped) {
  const std::optional<OpenFile> file = find(fd);
  if (!file) return std::nullopt;
  if (file->process != getpid()) return -EBADF;
  const int error = file->client->mmap((flags & MAP_FIXED) != 0 ? at : nullptr, length, offset, mapped);
  if (error != 0) return error;
  std::lock_guard<std::mutex> lock(mutex_);
  mappings_[reinterpret_cast<u64>(*mapped)] = {length, *file};
  return 0;
}

std::optional<int> NodeTable::munmap(void* address, u64 length) {
  const u64 start = reinterpret_cast<u64>(address), end = start + length;
  std::vector<std::pair<u64, Mapping>> inside;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (mappings_.empty()) return std::nullopt;
    auto first = mappings_.upper_bound(start);
    if (first != mappings_.begin() && std::prev(first)->first + std::prev(first)->second.length > start)
      --first;
    auto last = first;
    for (; last != mappings_.end() && last->first < end; ++last) {
      if (last->first < start || last->first + last->second.length > end) return -EINVAL;
    }
    inside.assign(first, last);
    mappings_.erase(first, last);
  }
  int error = 0;
  for (auto& [at, mapping] : inside) {
    if (error == 0 && mapping.file.process == getpid())
      error = mapping.file.client->munmap(reinterpret_cast<void*>(at), mapping.length);
    let_go(std::move(mapping.file));
  }
  if (error != 0) return error;
  return std::nullopt;
}

void NodeTable::duplicated(int from, int to) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = files_.find(from);
  if (found != files_.end() && from != to) files_[to] = found->second;
}

// Gives up a reference, without the lock: the last one closes the client. A mapping holds one too, as in the
// kernel. In a child the client is the parent's, and its threads are not here: it must not be closed.
void NodeTable::let_go(OpenFile file) {
  if (file.process != getpid()) (void)new OpenFile(std::move(file));
}

void NodeTable::closed(int fd) {
  OpenFile file;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found = files_.find(fd);
    if (found == files_.end()) return;
    file = std::move(found->second);
    files_.erase(found);
  }
  let_go(std::move(file));
}

void NodeTable::log_failure() {
  if (options_.log.empty()) return;
  const std::string text = device_.last_failure();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (text.empty() || text == logged_) return;
    logged_ = text;
  }
  // Without the lock: these calls come back to this table.
  const int fd = ::open(options_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const std::string line = text + "\n";
  const bool written = ::write(fd, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  ::close(fd);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!written) logged_.clear();  // said again at the next chance
}

}  // namespace tegula::preload
