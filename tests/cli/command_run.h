// A command as a user calls it: exit code, standard output, standard error.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/file.h"
#include "cli/commands.h"
#include "temporary.h"

namespace tegula::cli {

struct CommandOutcome {
  int code;
  std::string out, err;
};

inline CommandOutcome run_command(std::vector<std::string> words) {
  words.insert(words.begin(), "tegula");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = run_cli(static_cast<int>(argv.size()), argv.data());
  return {code, testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

inline std::string write_file_for_test(const std::string& name, const Bytes& bytes) {
  const std::string path = temporary(name);
  EXPECT_TRUE(write_file(path, bytes).ok());
  return path;
}

}  // namespace tegula::cli
