// Recognises the formats of this folder by their marks (docs/formats/).
#include "format/detect.h"

#include <cstring>
#include <string_view>

#include "format/txn.h"

namespace tegula::format {
namespace {

bool has(ByteSpan bytes, u64 offset, std::string_view mark) {
  if (bytes.size() < offset + mark.size()) return false;
  return std::memcmp(bytes.data() + offset, mark.data(), mark.size()) == 0;
}

// A length that fits, then a JSON object.
bool is_safetensors(ByteSpan bytes) {
  return has(bytes, 8, "{") && load_le<u64>(bytes.data()) <= bytes.size() - 8;
}

}  // namespace

const char* file_kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown:
      return "unknown";
    case FileKind::kXclbin:
      return "xclbin";
    case FileKind::kPdi:
      return "PDI";
    case FileKind::kCdo:
      return "CDO";
    case FileKind::kTxn:
      return "TXN stream";
    case FileKind::kElf:
      return "ELF";
    case FileKind::kGguf:
      return "GGUF";
    case FileKind::kSafetensors:
      return "safetensors";
  }
  return "unknown";
}

FileKind detect(ByteSpan bytes) {
  using namespace std::string_view_literals;
  if (has(bytes, 0, "xclbin2\0"sv)) return FileKind::kXclbin;
  if (has(bytes, 0, "GGUF")) return FileKind::kGguf;
  if (has(bytes, 0,
          "\x7F"
          "ELF"))
    return FileKind::kElf;
  if (has(bytes, 0x38, "IDPP") && has(bytes, 0, "\xDD\0\0\0"sv)) return FileKind::kPdi;
  if (has(bytes, 0, "\4\0\0\0CDO\0"sv)) return FileKind::kCdo;
  if (is_safetensors(bytes)) return FileKind::kSafetensors;
  if (read_txn(bytes).ok()) return FileKind::kTxn;
  return FileKind::kUnknown;
}

}  // namespace tegula::format
