// Golden numbers of the reference implementation (tests/golden, written by tools/golden/models.py), and how
// to compare.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "format/safetensors.h"

namespace tegula {

class Golden {
 public:
  explicit Golden(const std::string& name) {
    auto file = MappedFile::open(std::string(TEGULA_SOURCE_DIR) + "/tests/golden/" + name);
    if (!file.ok()) {
      ADD_FAILURE() << file.error().message;
      return;
    }
    file_ = std::move(*file);
    auto tensors = format::read_safetensors(file_.bytes());
    if (tensors.ok()) {
      tensors_ = std::move(*tensors);
    } else {
      ADD_FAILURE() << tensors.error().message;
    }
  }

  template <typename T>
  std::vector<T> get(const std::string& name) const {
    const format::SafetensorsTensor* tensor = tensors_.find(name);
    if (tensor == nullptr) {
      ADD_FAILURE() << "golden tensor " << name << " is missing";
      return {};
    }
    std::vector<T> out(tensor->data.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), tensor->data.data(), out.size() * sizeof(T));
    return out;
  }
  std::string text(const std::string& name) const {
    const std::vector<char> bytes = get<char>(name);
    return {bytes.begin(), bytes.end()};
  }

 private:
  MappedFile file_;
  format::Safetensors tensors_;
};

inline double relative_l2(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return INFINITY;
  double error = 0, norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    error += (static_cast<double>(got[i]) - want[i]) * (static_cast<double>(got[i]) - want[i]);
    norm += static_cast<double>(want[i]) * want[i];
  }
  return std::sqrt(error / norm);
}

inline double cosine(std::span<const float> a, std::span<const float> b) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    dot += static_cast<double>(a[i]) * b[i];
    aa += static_cast<double>(a[i]) * a[i];
    bb += static_cast<double>(b[i]) * b[i];
  }
  return a.size() == b.size() ? dot / std::sqrt(aa * bb) : NAN;
}

}  // namespace tegula
