// What kind of file some bytes are, by content and never by name.
#pragma once

#include "base/bytes.h"

namespace tegula::format {

enum class FileKind { kUnknown, kXclbin, kPdi, kCdo, kTxn, kElf, kGguf, kSafetensors };

const char* file_kind_name(FileKind kind);

// Looks at marks only, except for TXN, which has none: there the whole stream must parse. The bytes may still
// be damaged; the reader of the kind says how.
FileKind detect(ByteSpan bytes);

}  // namespace tegula::format
