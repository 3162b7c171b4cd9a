// What kind of file some bytes are, by content and never by name.
#pragma once

#include "base/bytes.h"

namespace tegula::format {

enum class FileKind {
  kUnknown,
  kXclbin,
  kAiePartition,
  kPdi,
  kCdo,
  kTxn,
  kElf,
  kGguf,
  kSafetensors,
  kTokenizerJson,
};

const char* file_kind_name(FileKind kind);

// Looks at marks only, except for TXN and AIE_PARTITION, which have none: there the whole must parse. The
// bytes may still be damaged; the reader of the kind says how.
FileKind detect(ByteSpan bytes);

}  // namespace tegula::format
