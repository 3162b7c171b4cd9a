#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tegula {
namespace {

Error os_error(const std::string& path, const char* verb) {
  const int saved = errno;
  const Code code = saved == ENOENT ? Code::kNotFound : Code::kIo;
  return fail(code, path + ": cannot " + verb + ": " + std::strerror(saved));
}

// Closes a descriptor when it leaves scope.
struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<u64> file_size(int fd, const std::string& path) {
  struct stat info;
  if (::fstat(fd, &info) != 0) return os_error(path, "inspect");
  if (!S_ISREG(info.st_mode)) return fail(Code::kIo, path + ": is not a regular file");
  return static_cast<u64>(info.st_size);
}

}  // namespace

Result<Bytes> read_file(const std::string& path) {
  TRY_ASSIGN(MappedFile mapped, MappedFile::open(path));
  ByteSpan view = mapped.bytes();
  return Bytes(view.begin(), view.end());
}

Result<void> write_file(const std::string& path, ByteSpan data) {
  const std::string temporary = path + ".tmp";
  {
    Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
    if (file.fd < 0) return os_error(temporary, "create");
    u64 done = 0;
    while (done < data.size()) {
      const ssize_t n = ::write(file.fd, data.data() + done, data.size() - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        Error error = os_error(temporary, "write");
        ::unlink(temporary.c_str());
        return error;
      }
      done += static_cast<u64>(n);
    }
    if (::fsync(file.fd) != 0) return os_error(temporary, "sync");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return os_error(path, "replace");
  return {};
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return os_error(path, "open");
  TRY_ASSIGN(const u64 size, file_size(file.fd, path));
  MappedFile out;
  out.path_ = path;
  if (size == 0) return out;
  void* at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (at == MAP_FAILED) return os_error(path, "map");
  out.data_ = static_cast<const u8*>(at);
  out.size_ = size;
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept {
  *this = std::move(other);
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<u8*>(data_), size_);
}

}  // namespace tegula
