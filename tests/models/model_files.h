// Where the published models lie that the tests in this folder need.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tegula {

inline std::string model_dir() {
  if (const char* dir = std::getenv("TEGULA_MODEL_DIR")) return dir;
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : ".") + "/.cache/tegula/models";
}

inline bool models_required() {
  const char* value = std::getenv("TEGULA_REQUIRE_MODELS");
  return value != nullptr && std::string(value) == "1";
}

// Without the model file a test is skipped, or fails where TEGULA_REQUIRE_MODELS=1 says that models must be
// there.
#define NEED_MODEL(path)                                         \
  if (!std::filesystem::exists(path)) {                          \
    ASSERT_FALSE(models_required()) << path << " is missing";    \
    GTEST_SKIP() << path << " is missing; set TEGULA_MODEL_DIR"; \
  }

}  // namespace tegula
