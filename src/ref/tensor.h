// A host matrix of fp32, row-major.
#pragma once

#include <span>
#include <vector>

#include "base/types.h"

namespace tegula::ref {

struct Tensor {
  i64 rows = 0;
  i64 cols = 0;
  std::vector<float> data;

  Tensor() = default;
  Tensor(i64 row_count, i64 col_count) { resize(row_count, col_count); }
  void resize(i64 row_count, i64 col_count) {
    rows = row_count;
    cols = col_count;
    data.resize(static_cast<size_t>(rows * cols));
  }
  std::span<float> row(i64 r) { return {data.data() + r * cols, static_cast<size_t>(cols)}; }
  std::span<const float> row(i64 r) const { return {data.data() + r * cols, static_cast<size_t>(cols)}; }
};

}  // namespace tegula::ref
