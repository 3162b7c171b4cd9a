// GGUF: model files with metadata and tensors (versions 2 and 3, little endian).
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "format/ggml_type.h"

namespace tegula::format {

enum class GgufType : u32 {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

const char* gguf_type_name(GgufType type);

// Numbers are widened: unsigned to u64, signed to i64, floats to double.
using GgufScalar = std::variant<u64, i64, double, bool, std::string_view>;

struct GgufArray {
  GgufType element = GgufType::kU8;
  u64 count = 0;
  ByteSpan raw;                           // elements that are not strings, as stored
  std::vector<std::string_view> strings;  // elements that are
};

struct GgufValue {
  GgufType type = GgufType::kU8;
  std::variant<GgufScalar, GgufArray> value;
};

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

struct GgufTensor {
  std::string_view name;
  GgmlType type = GgmlType::kF32;
  std::vector<u64> dims;  // as stored: dims[0] is the fastest (row length)
  u64 elements = 0;
  ByteSpan data;

  u64 row_elements() const { return dims.empty() ? 1 : dims[0]; }
  u64 rows() const { return elements / row_elements(); }
};

// All views and spans point into the bytes given to read_gguf (usually a mapped file), which must stay.
class Gguf {
 public:
  u32 version = 0;
  u64 alignment = 32;
  std::vector<GgufEntry> metadata;  // in file order
  std::vector<GgufTensor> tensors;  // in file order

  const GgufValue* find(std::string_view key) const;
  const GgufTensor* find_tensor(std::string_view name) const;

  // Typed access. Errors name the key: kNotFound, kInvalidArgument (another type, value out of range).
  Result<u64> get_u64(std::string_view key) const;  // any integer type that is not negative
  Result<i64> get_i64(std::string_view key) const;
  Result<double> get_float(std::string_view key) const;  // any float or integer type
  Result<bool> get_bool(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key) const;
  Result<std::vector<std::string_view>> get_strings(std::string_view key) const;
  Result<std::vector<i64>> get_integers(std::string_view key) const;
  Result<std::vector<float>> get_floats(std::string_view key) const;
  // Errors: kNotFound with the tensor's name.
  Result<const GgufTensor*> get_tensor(std::string_view name) const;

 private:
  friend class GgufParser;
  Result<const GgufValue*> need(std::string_view key) const;
  Result<const GgufArray*> need_array(std::string_view key) const;
  std::vector<u32> keys_sorted_;
  std::vector<u32> tensors_sorted_;
};

// Checks everything before use: counts against the bytes left, string lengths, duplicate names, dimensions (1
// to 4, no zero, product without overflow, whole blocks), alignment, bounds and overlap of the tensor data.
// Errors: kCorrupt, kUnsupported (version 1, big endian, nested arrays, unknown tensor type).
Result<Gguf> read_gguf(ByteSpan bytes);
Result<Gguf> read_gguf(Bytes&&) = delete;  // the views would dangle

// Expands rows [first, first + count) of the tensor. Errors: kOutOfRange, kInvalidArgument, kUnsupported.
Result<void> read_rows(const GgufTensor& tensor, u64 first, u64 count, std::span<float> out);

}  // namespace tegula::format
