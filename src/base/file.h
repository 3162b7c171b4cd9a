// Whole-file reading, atomic writing and read-only memory mapping.
#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula {

Result<Bytes> read_file(const std::string& path);

// Writes to path + ".tmp", syncs and renames, so that a reader never sees half a file.
Result<void> write_file(const std::string& path, ByteSpan data);

// A read-only private mapping of a whole file; empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  ByteSpan bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  const u8* data_ = nullptr;
  u64 size_ = 0;
  std::string path_;
};

}  // namespace tegula
