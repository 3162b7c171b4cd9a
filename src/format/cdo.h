// CDO: the list of register and memory writes that configures the array before a run.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

inline constexpr u64 kCdoHeaderWords = 5;

enum class CdoKind : u8 { kMaskWrite, kWrite, kBlockWrite, kNop };

const char* cdo_kind_name(CdoKind kind);

struct CdoCommand {
  CdoKind kind = CdoKind::kNop;
  u32 address = 0;         // array address: (column << 25) + (row << 20) + offset
  u32 mask = 0;            // mask write: only these bits change
  u32 value = 0;           // mask write, write
  std::vector<u32> words;  // block write: data for address, address + 4, ...; no-op: filler words
  bool operator==(const CdoCommand&) const = default;
};

// Reads the header (with its checksum) and all commands. Bytes behind the stated length are ignored.
// Errors: kCorrupt, kUnsupported (an opcode outside the four kinds), with the word index.
Result<std::vector<CdoCommand>> read_cdo(ByteSpan bytes);

// The exact inverse: header, checksum, short form up to 254 words and long form above.
Bytes write_cdo(std::span<const CdoCommand> commands);

// Collects commands. Before a block write it adds the no-op that puts the data on a 16-byte boundary of the
// CDO, as the public files have it in most places.
class CdoWriter {
 public:
  void write(u32 address, u32 value);
  void mask_write(u32 address, u32 mask, u32 value);
  void block_write(u32 address, std::span<const u32> data);
  const std::vector<CdoCommand>& commands() const { return commands_; }
  u64 words() const { return at_; }  // length so far, with the CDO header

 private:
  void add(CdoCommand command);

  std::vector<CdoCommand> commands_;
  u64 at_ = kCdoHeaderWords;
};

}  // namespace tegula::format
