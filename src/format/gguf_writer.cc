// GGUF writer, version 3, alignment 32. Layout: docs/formats/gguf.md.
#include "format/gguf_writer.h"

namespace tegula::format {
namespace {

constexpr u64 kAlignment = 32;

template <typename T>
void array_of(ByteWriter& out, GgufType type, std::span<const T> values) {
  out.write<u32>(static_cast<u32>(type));
  out.write<u64>(values.size());
  for (T value : values) out.write<T>(value);
}

}  // namespace

void GgufWriter::text(ByteWriter& out, std::string_view value) {
  out.write<u64>(value.size());
  out.text(value);
}

void GgufWriter::head(std::string_view key, GgufType type) {
  ++entry_count_;
  text(metadata_, key);
  metadata_.write<u32>(static_cast<u32>(type));
}

void GgufWriter::add_u32(std::string_view key, u32 value) {
  head(key, GgufType::kU32);
  metadata_.write<u32>(value);
}

void GgufWriter::add_u64(std::string_view key, u64 value) {
  head(key, GgufType::kU64);
  metadata_.write<u64>(value);
}

void GgufWriter::add_i32(std::string_view key, i32 value) {
  head(key, GgufType::kI32);
  metadata_.write<i32>(value);
}

void GgufWriter::add_f32(std::string_view key, float value) {
  head(key, GgufType::kF32);
  metadata_.write<float>(value);
}

void GgufWriter::add_bool(std::string_view key, bool value) {
  head(key, GgufType::kBool);
  metadata_.write<u8>(value);
}

void GgufWriter::add_string(std::string_view key, std::string_view value) {
  head(key, GgufType::kString);
  text(metadata_, value);
}

void GgufWriter::add_strings(std::string_view key, std::span<const std::string> values) {
  head(key, GgufType::kArray);
  metadata_.write<u32>(static_cast<u32>(GgufType::kString));
  metadata_.write<u64>(values.size());
  for (const std::string& value : values) text(metadata_, value);
}

void GgufWriter::add_i32s(std::string_view key, std::span<const i32> values) {
  head(key, GgufType::kArray);
  array_of(metadata_, GgufType::kI32, values);
}

void GgufWriter::add_f32s(std::string_view key, std::span<const float> values) {
  head(key, GgufType::kArray);
  array_of(metadata_, GgufType::kF32, values);
}

void GgufWriter::add_tensor(std::string_view name, GgmlType type, std::span<const u64> dims, ByteSpan data) {
  ++tensor_count_;
  data_.align(kAlignment);
  text(tensors_, name);
  tensors_.write<u32>(static_cast<u32>(dims.size()));
  for (u64 size : dims) tensors_.write<u64>(size);
  tensors_.write<u32>(static_cast<u32>(type));
  tensors_.write<u64>(data_.size());
  data_.bytes(data);
}

void GgufWriter::add_tensor_f32(std::string_view name, std::span<const u64> dims,
                                std::span<const float> values) {
  add_tensor(name, GgmlType::kF32, dims, {reinterpret_cast<const u8*>(values.data()), values.size_bytes()});
}

Bytes GgufWriter::finish() {
  ByteWriter out;
  out.text("GGUF");
  out.write<u32>(3);
  out.write<u64>(tensor_count_);
  out.write<u64>(entry_count_);
  out.bytes(metadata_.data());
  out.bytes(tensors_.data());
  out.align(kAlignment);
  out.bytes(data_.data());
  return out.take();
}

}  // namespace tegula::format
