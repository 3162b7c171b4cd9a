// Tables of golden files: rows of tab-separated columns; bytes are in hex, ids decimal with spaces between.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/types.h"

namespace tegula::text {

inline std::string golden_path(const std::string& name) {
  return std::string(TEGULA_SOURCE_DIR) + "/tests/golden/" + name;
}

// A missing file gives no rows; tests assert how many there are.
inline std::vector<std::vector<std::string>> read_table(const std::string& name) {
  std::ifstream in(golden_path(name), std::ios::binary);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    std::vector<std::string>& row = rows.emplace_back(1);
    for (const char c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back().push_back(c);
      }
    }
  }
  return rows;
}

inline std::string from_hex(const std::string& hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

inline std::vector<i32> to_ids(const std::string& column) {
  std::istringstream in(column);
  std::vector<i32> out;
  for (i32 id; in >> id;) out.push_back(id);
  return out;
}

inline Bytes golden_bytes(const std::string& name) {
  Result<Bytes> bytes = read_file(golden_path(name));
  EXPECT_TRUE(bytes.ok()) << name;
  return bytes.ok() ? std::move(bytes).value() : Bytes();
}

}  // namespace tegula::text
