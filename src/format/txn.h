// TXN: the instruction stream that the array's controller executes (register writes, waits, address patches).
// Addresses are array addresses: (column << 25) + (row << 20) + byte offset in the tile.
#pragma once

#include <span>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

inline constexpr u64 kTxnHeaderBytes = 16;

enum class TxnOpcode : u8 {
  kWrite = 0x00,
  kBlockWrite = 0x01,
  kMaskWrite = 0x03,
  kMaskPoll = 0x04,
  kNoop = 0x05,
  kPreempt = 0x06,
  kMaskPollBusy = 0x07,
  kLoadPdi = 0x08,
  kLoadPmStart = 0x09,
  kCreateScratchpad = 0x0A,
  kUpdateStateTable = 0x0B,
  kUpdateRegister = 0x0C,
  kUpdateScratch = 0x0D,
  kTokenWait = 0x80,
  kDdrPatch = 0x81,
  kReadRegisters = 0x82,
  kRecordTimer = 0x83,
  kMergeSync = 0x84,
};

// Name of an opcode for listings; "custom" for the vendor range without a name.
const char* txn_opcode_name(TxnOpcode opcode);

// DMA direction as the token wait encodes it.
enum class TxnDirection : u8 { kS2mm = 0, kMm2s = 1 };

struct TxnWrite {
  u64 address = 0;
  u32 value = 0;
};

// The data are words [first_word, first_word + word_count) of TxnStream::words.
struct TxnBlockWrite {
  u64 address = 0;
  u32 first_word = 0;
  u32 word_count = 0;
};

// Masked bits of the register take the value, the others stay.
struct TxnMaskWrite {
  u64 address = 0;
  u32 value = 0;
  u32 mask = 0;
};

// Wait until (register & mask) == value. Busy: without giving way to other work of the controller.
struct TxnMaskPoll {
  u64 address = 0;
  u32 value = 0;
  u32 mask = 0;
  bool busy = false;
};

struct TxnNoop {};

// Level: 0 none, 1 mem tile, 2 core tile, 3 registers.
struct TxnPreempt {
  u8 level = 0;
};

struct TxnLoadPdi {
  u16 id = 0;
  u32 size = 0;  // bytes
  u64 address = 0;
};

// The next op_count ops load program memory.
struct TxnLoadPmStart {
  u32 op_count = 0;
  u32 id = 0;
};

// Wait for one task-complete token from this channel of every tile in the rectangle.
struct TxnTokenWait {
  u8 column = 0;
  u8 row = 0;
  u8 columns = 0;
  u8 rows = 0;
  TxnDirection direction = TxnDirection::kS2mm;
  u8 channel = 0;
};

// The 48-bit address held in the register (BD word 1 of a shim DMA) and the next one becomes the address of
// kernel buffer `argument` plus `offset` bytes. The old content is replaced, not added to.
struct TxnDdrPatch {
  u64 register_address = 0;
  u64 argument = 0;
  u64 offset = 0;
  u32 action = 0;
};

struct TxnRecordTimer {
  u32 id = 0;
};

struct TxnMergeSync {
  u8 tokens = 0;
  u8 columns = 0;
};

// Understood as far as its length: the body is words [first_word, first_word + word_count).
struct TxnOther {
  u32 first_word = 0;
  u32 word_count = 0;
};

using TxnBody =
    std::variant<TxnWrite, TxnBlockWrite, TxnMaskWrite, TxnMaskPoll, TxnNoop, TxnPreempt, TxnLoadPdi,
                 TxnLoadPmStart, TxnTokenWait, TxnDdrPatch, TxnRecordTimer, TxnMergeSync, TxnOther>;

struct TxnOp {
  TxnOpcode opcode = TxnOpcode::kNoop;
  u32 offset = 0;  // byte place of the op in the stream
  u32 size = 0;    // bytes
  TxnBody body;
};

struct TxnHeader {
  u8 major = 0;
  u8 minor = 1;
  u8 generation = 4;  // 4 = XDNA2
  u8 rows = 6;
  u8 columns = 8;
  u8 mem_rows = 1;
  u32 op_count = 0;
  u32 size = 0;  // bytes with the header
};

// Holds its own copy of the words, so it outlives the bytes it was read from. Offsets are byte offsets from
// the start of the header; a value read here at word index w lies at byte 4 * w of the stream.
struct TxnStream {
  TxnHeader header;      // bytes 0-7 as found; they are not trusted beyond the choice of 0.1 or 1.0
  bool compact = false;  // true: version 1.0 layout
  std::vector<u32> words;
  std::vector<TxnOp> ops;

  std::span<const u32> data(const TxnBlockWrite& op) const {
    return {words.data() + op.first_word, op.word_count};
  }
  std::span<const u32> data(const TxnOther& op) const {
    return {words.data() + op.first_word, op.word_count};
  }
};

// Reads a stream of version 0.1, or 1.0 if the first two bytes are exactly 1, 0. Other damage in the first
// eight bytes is tolerated, because public streams carry it and run. Bytes behind the stated size are
// ignored. Errors: kCorrupt (sizes, counts), kUnsupported (unknown opcode, unsettled 1.0 forms); they name
// the byte offset.
Result<TxnStream> read_txn(ByteSpan bytes);

// The bytes of a stream kept as text: words of eight hexadecimal digits, with or without "0x", between white
// space. Errors: kCorrupt, for anything else and for a stream that does not parse.
Result<Bytes> txn_from_text(ByteSpan text);

// Builds a version 0.1 stream. Each function returns the byte offset, in the finished stream, of the word
// that a caller may want to change later with patch32: the value, the first data word, the low word of the
// patch offset.
class TxnWriter {
 public:
  TxnWriter();
  u64 write32(u64 address, u32 value);
  u64 block_write(u64 address, std::span<const u32> data);
  u64 mask_write(u64 address, u32 value, u32 mask);
  u64 mask_poll(u64 address, u32 value, u32 mask);
  u64 token_wait(u32 column, u32 row, u32 rows, u32 columns, TxnDirection direction, u32 channel);
  // The register address is that of BD word 1; the argument counts data buffers from 0. Returns the place of
  // the low word of the offset; its high word follows.
  u64 ddr_patch(u64 register_address, u32 argument, u64 offset);
  u64 preempt(u8 level);
  u64 noop();

  void patch32(u64 offset, u32 value) { out_.patch<u32>(offset, value); }
  u64 size() const { return out_.size(); }  // bytes with the header
  u32 op_count() const { return op_count_; }
  // Completes the header and hands the stream over; the writer is empty afterwards.
  Bytes finish();

 private:
  ByteWriter out_;
  u32 op_count_ = 0;
};

}  // namespace tegula::format
