// safetensors: named tensors behind a JSON header.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

enum class SafetensorsType : u8 {
  kBool,
  kU8,
  kI8,
  kF8E5m2,
  kF8E4m3,
  kU16,
  kI16,
  kF16,
  kBf16,
  kU32,
  kI32,
  kF32,
  kU64,
  kI64,
  kF64,
};

const char* safetensors_type_name(SafetensorsType type);  // as in the file: "F32", ...
u64 safetensors_type_bytes(SafetensorsType type);

struct SafetensorsTensor {
  std::string name;
  SafetensorsType type = SafetensorsType::kF32;
  std::vector<u64> shape;  // row-major, outermost first; empty for a scalar
  u64 elements = 0;
  ByteSpan data;
};

// Spans point into the bytes given to read_safetensors (usually a mapped file), which must stay.
struct Safetensors {
  std::map<std::string, std::string> metadata;
  std::vector<SafetensorsTensor> tensors;  // sorted by name

  const SafetensorsTensor* find(std::string_view name) const;
  Result<const SafetensorsTensor*> get(std::string_view name) const;  // kNotFound with the name
};

// Checks the header length (at most 100 MB), the JSON, duplicate names, shapes (product without overflow),
// that the size of each tensor fits its type and shape, and that the tensors cover the data without overlap
// or hole, as the format demands. Errors: kCorrupt, kUnsupported (unknown type).
Result<Safetensors> read_safetensors(ByteSpan bytes);
Result<Safetensors> read_safetensors(Bytes&&) = delete;  // the spans would dangle

// Values as fp32; F32, F16, BF16 only (kUnsupported otherwise). raw must hold exactly out.size() values.
Result<void> to_float(SafetensorsType type, ByteSpan raw, std::span<float> out);

// Writes small files, for test models.
class SafetensorsWriter {
 public:
  void add(std::string_view name, SafetensorsType type, std::span<const u64> shape, ByteSpan data);
  void add_f32(std::string_view name, std::span<const u64> shape, std::span<const float> values);
  void add_metadata(std::string_view key, std::string_view value);
  Bytes finish();

 private:
  struct Entry {
    std::string name;
    SafetensorsType type;
    std::vector<u64> shape;
    u64 begin;
    u64 end;
  };
  std::vector<Entry> entries_;
  std::map<std::string, std::string> metadata_;
  ByteWriter data_;
};

}  // namespace tegula::format
