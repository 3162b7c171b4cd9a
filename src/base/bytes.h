// Bounds-checked little-endian reading and writing of byte spans. Every format of this project is little
// endian.
#pragma once

#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula {

using Bytes = std::vector<u8>;
using ByteSpan = std::span<const u8>;

// Unchecked load and store of a trivially copyable value at an unaligned place (host is little endian).
template <typename T>
T load_le(const u8* at) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, at, sizeof(T));
  return value;
}

template <typename T>
void store_le(u8* at, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(at, &value, sizeof(T));
}

// Reads forward through a span; every read checks what is left and names what it wanted on failure.
class ByteReader {
 public:
  explicit ByteReader(ByteSpan data, std::string what = {}) : data_(data), what_(std::move(what)) {}

  u64 position() const { return at_; }
  u64 remaining() const { return data_.size() - at_; }
  ByteSpan data() const { return data_; }

  Result<void> seek(u64 position) {
    if (position > data_.size()) return overrun("seek to", position);
    at_ = position;
    return {};
  }
  Result<void> skip(u64 count) {
    if (count > remaining()) return overrun("skip of", count);
    at_ += count;
    return {};
  }
  template <typename T>
  Result<T> read() {
    if (sizeof(T) > remaining()) return overrun("read of", sizeof(T));
    T value = load_le<T>(data_.data() + at_);
    at_ += sizeof(T);
    return value;
  }
  Result<ByteSpan> bytes(u64 count) {
    if (count > remaining()) return overrun("read of", count);
    ByteSpan out = data_.subspan(at_, count);
    at_ += count;
    return out;
  }

 private:
  Error overrun(const char* verb, u64 count) const {
    return fail(Code::kCorrupt, what_ + ": " + verb + " " + std::to_string(count) + " bytes at offset " +
                                    std::to_string(at_) + " reaches past the end (" +
                                    std::to_string(data_.size()) +
                                    " bytes); the file is truncated or damaged");
  }

  ByteSpan data_;
  u64 at_ = 0;
  std::string what_;
};

// Appends little-endian values to a byte vector.
class ByteWriter {
 public:
  template <typename T>
  void write(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    const u64 at = out_.size();
    out_.resize(at + sizeof(T));
    std::memcpy(out_.data() + at, &value, sizeof(T));
  }
  void bytes(ByteSpan data) { out_.insert(out_.end(), data.begin(), data.end()); }
  void text(std::string_view text) { out_.insert(out_.end(), text.begin(), text.end()); }
  void zeros(u64 count) { out_.insert(out_.end(), count, 0); }
  void align(u64 alignment) {
    while (out_.size() % alignment != 0) out_.push_back(0);
  }
  template <typename T>
  void patch(u64 at, T value) {
    std::memcpy(out_.data() + at, &value, sizeof(T));
  }
  u64 size() const { return out_.size(); }
  Bytes& data() { return out_; }
  Bytes take() { return std::move(out_); }

 private:
  Bytes out_;
};

}  // namespace tegula
