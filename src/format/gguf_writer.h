// Writes small GGUF files (version 3), for test models.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "format/ggml_type.h"
#include "format/gguf.h"

namespace tegula::format {

class GgufWriter {
 public:
  void add_u32(std::string_view key, u32 value);
  void add_u64(std::string_view key, u64 value);
  void add_i32(std::string_view key, i32 value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_i32s(std::string_view key, std::span<const i32> values);
  void add_f32s(std::string_view key, std::span<const float> values);
  // dims[0] is the row length; data as the type stores them. The caller gives sizes that fit.
  void add_tensor(std::string_view name, GgmlType type, std::span<const u64> dims, ByteSpan data);
  void add_tensor_f32(std::string_view name, std::span<const u64> dims, std::span<const float> values);
  Bytes finish();

 private:
  void head(std::string_view key, GgufType type);
  static void text(ByteWriter& out, std::string_view value);

  ByteWriter metadata_;
  ByteWriter tensors_;
  ByteWriter data_;
  u64 entry_count_ = 0;
  u64 tensor_count_ = 0;
};

}  // namespace tegula::format
