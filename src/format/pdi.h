// PDI: the boot image around one CDO, with its header checksums.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "format/cdo.h"

namespace tegula::format {

inline constexpr u32 kPdiIdCode = 0x14CA8093;

// The header words that differ between public files; nothing is known to read the last two.
struct PdiHeader {
  u32 id_code = kPdiIdCode;
  u32 image_word_98 = 0;
  u32 image_word_c8 = 0;
};

struct Pdi {
  PdiHeader header;
  ByteSpan cdo;  // inside the bytes given to read_pdi, without the zero fill at the end
  std::vector<CdoCommand> commands;
};

// Checks mark, counts, the three header checksums, lengths and bounds, then reads the CDO. One image with one
// plain partition only. Bytes behind the partition are ignored. Errors: kCorrupt, kUnsupported.
Result<Pdi> read_pdi(ByteSpan bytes);
Result<Pdi> read_pdi(Bytes&&) = delete;  // the span would dangle

// The whole PDI: headers, checksums, CDO, zero fill to 16 bytes.
Bytes write_pdi(std::span<const CdoCommand> commands, const PdiHeader& header = {});

}  // namespace tegula::format
