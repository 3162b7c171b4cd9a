// Files of one test process: several processes of a suite run at the same time and must not share names.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace tegula {

// Path of `name` in a folder of this process's own, which goes when the process ends.
inline std::string temporary(const std::string& name) {
  struct Folder {
    std::filesystem::path path =
        std::filesystem::path(testing::TempDir()) / ("tegula-test-" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return (folder.path / name).string();
}

}  // namespace tegula
