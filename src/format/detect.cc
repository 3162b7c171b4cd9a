// Recognises the formats of this folder by their marks (docs/formats/).
#include "format/detect.h"

#include <cstring>
#include <string_view>

#include "format/txn.h"
#include "format/xclbin.h"

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

bool is_pdi(ByteSpan bytes) {
  using namespace std::string_view_literals;
  return has(bytes, 0x38, "IDPP") && has(bytes, 0, "\xDD\0\0\0"sv);
}

// The section has no mark of its own, the image inside it has.
bool is_aie_partition(ByteSpan bytes) {
  if (bytes.empty() || bytes[0] != 0) return false;
  const Result<AiePartition> partition = read_aie_partition(bytes);
  return partition.ok() && !partition->pdis.empty() && is_pdi(partition->pdis[0].image);
}

// A JSON object with the two members that every tokenizer of the tokenizers library has.
bool is_tokenizer(ByteSpan bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  return text.find("\"vocab\"") != std::string_view::npos && text.find("\"model\"") != std::string_view::npos;
}

}  // namespace

const char* file_kind_name(FileKind kind) {
  switch (kind) {
    case FileKind::kUnknown:
      return "unknown";
    case FileKind::kXclbin:
      return "xclbin";
    case FileKind::kAiePartition:
      return "AIE partition";
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
    case FileKind::kTokenizerJson:
      return "tokenizer.json";
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
  if (is_pdi(bytes)) return FileKind::kPdi;
  if (has(bytes, 0, "\4\0\0\0CDO\0"sv)) return FileKind::kCdo;
  if (is_safetensors(bytes)) return FileKind::kSafetensors;
  if (is_aie_partition(bytes)) return FileKind::kAiePartition;
  if (read_txn(bytes).ok()) return FileKind::kTxn;
  if (is_tokenizer(bytes)) return FileKind::kTokenizerJson;
  return FileKind::kUnknown;
}

}  // namespace tegula::format
