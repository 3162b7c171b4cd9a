// TXN instruction streams: reader and writer.
// Layout as written by mlir-aie and FastFlowLM (version 0.1) and by aie-rt (version 1.0, xaie_txn.h); the
// facts are in docs/formats/txn.md. All ops are whole 32-bit words, so the reader works on words.
#include "format/txn.h"

#include <fmt/core.h>

#include <charconv>
#include <cstring>

namespace tegula::format {
namespace {

constexpr u32 kWriteBytes = 24;
constexpr u32 kMaskBytes = 28;
constexpr u32 kTokenBytes = 16;
constexpr u32 kPatchBytes = 48;
constexpr u32 kCompactPatchBytes = 24;  // 8 bytes of op header, body of 16 as aie-rt stores it

// Reads one op after the other from the word array; `at_` is the index of the op's first word.
class Parser {
 public:
  explicit Parser(TxnStream& stream) : stream_(stream), words_(stream.words), at_(kTxnHeaderBytes / 4) {}

  Result<void> run() {
    // The shortest op is one word, which caps the list before it is allocated.
    if (stream_.header.op_count > words_.size() - at_) {
      return fail(
          Code::kCorrupt,
          fmt::format("TXN stream: header says {} ops in {} bytes, which is too many; the header is damaged",
                      stream_.header.op_count, stream_.header.size));
    }
    stream_.ops.reserve(stream_.header.op_count);
    for (u32 index = 0; index < stream_.header.op_count; ++index) TRY(parse_op(index));
    if (at_ != words_.size()) {
      return fail(Code::kCorrupt,
                  fmt::format("TXN stream: {} ops end at byte {}, the header says {} bytes; the op "
                              "count or the size is damaged",
                              stream_.header.op_count, at_ * 4, stream_.header.size));
    }
    return {};
  }

 private:
  u32 word(u32 index) const { return words_[at_ + index]; }
  u64 address(u32 index) const { return word(index) | static_cast<u64>(word(index + 1)) << 32; }

  Error bad(Code code, const std::string& what) const {
    return fail(code, fmt::format("TXN stream: op {} (0x{:02X} {}) at byte 0x{:X}: {}", index_, opcode_,
                                  txn_opcode_name(static_cast<TxnOpcode>(opcode_)), at_ * 4, what));
  }

  // The words [0, count) of this op exist.
  Result<void> need(u64 count) const {
    u64 left = words_.size() - at_;
    if (count <= left) return {};
    return bad(Code::kCorrupt,
               fmt::format("needs {} bytes, {} are left; the stream is truncated", count * 4, left * 4));
  }

  // Checks a size field (bytes of the whole op) and turns it into words.
  Result<u32> sized(u32 bytes, u32 minimum) const {
    if (bytes % 4 != 0 || bytes < minimum) {
      return bad(Code::kCorrupt,
                 fmt::format("size field is {}, expected a multiple of 4 of at least {}", bytes, minimum));
    }
    TRY(need(bytes / 4));
    return bytes / 4;
  }

  Result<void> parse_op(u32 index) {
    index_ = index;
    opcode_ = 0xFF;
    TRY(need(1));
    opcode_ = static_cast<u8>(word(0));
    TxnOp op{static_cast<TxnOpcode>(opcode_), static_cast<u32>(at_ * 4), 0, TxnNoop{}};
    TRY_ASSIGN(u32 count, body(op));
    op.size = count * 4;
    stream_.ops.push_back(std::move(op));
    at_ += count;
    return {};
  }

  // Fills the body and returns the length in words.
  Result<u32> body(TxnOp& op) {
    switch (op.opcode) {
      case TxnOpcode::kWrite:
        return write(op);
      case TxnOpcode::kBlockWrite:
        return block_write(op);
      case TxnOpcode::kMaskWrite:
      case TxnOpcode::kMaskPoll:
      case TxnOpcode::kMaskPollBusy:
        return masked(op);
      case TxnOpcode::kNoop:
        return 1u;
      case TxnOpcode::kPreempt:
        op.body = TxnPreempt{static_cast<u8>(word(0) >> 8)};
        return 1u;
      case TxnOpcode::kLoadPdi:
        return load_pdi(op);
      case TxnOpcode::kLoadPmStart:
        return load_pm(op);
      case TxnOpcode::kCreateScratchpad:
        return other(op, 4);
      case TxnOpcode::kUpdateStateTable:
        return other(op, 2);
      case TxnOpcode::kUpdateRegister:
        return other(op, 3);
      case TxnOpcode::kUpdateScratch:
        return other(op, 1);
      default:
        break;
    }
    if (opcode_ < 0x80) {
      return bad(Code::kUnsupported,
                 "unknown opcode, its length is not known; the stream is damaged or of a newer kind");
    }
    return custom(op);
  }

  Result<u32> write(TxnOp& op) {
    if (stream_.compact) {
      TRY(need(3));
      op.body = TxnWrite{word(1), word(2)};
      return 3u;
    }
    TRY(need(kWriteBytes / 4));
    TRY_ASSIGN(u32 count, sized(word(5), kWriteBytes));
    op.body = TxnWrite{address(2), word(4)};
    return count;
  }

  Result<u32> block_write(TxnOp& op) {
    u32 head = stream_.compact ? 3 : 4;
    TRY(need(head));
    TRY_ASSIGN(u32 count, sized(word(head - 1), head * 4));
    op.body = TxnBlockWrite{word(head - 2), static_cast<u32>(at_ + head), count - head};
    return count;
  }

  Result<u32> masked(TxnOp& op) {
    u32 count = 4;
    u64 where = 0;
    u32 value = 0;
    u32 mask = 0;
    if (stream_.compact) {
      TRY(need(4));
      where = word(1);
      value = word(2);
      mask = word(3);
    } else {
      TRY(need(kMaskBytes / 4));
      TRY_ASSIGN(count, sized(word(6), kMaskBytes));
      where = address(2);
      value = word(4);
      mask = word(5);
    }
    if (op.opcode == TxnOpcode::kMaskWrite) {
      op.body = TxnMaskWrite{where, value, mask};
    } else {
      op.body = TxnMaskPoll{where, value, mask, op.opcode == TxnOpcode::kMaskPollBusy};
    }
    return count;
  }

  Result<u32> load_pdi(TxnOp& op) {
    TRY(need(4));
    op.body = TxnLoadPdi{static_cast<u16>(word(0) >> 16), word(1), address(2)};
    return 4u;
  }

  Result<u32> load_pm(TxnOp& op) {
    TRY(need(2));
    op.body = TxnLoadPmStart{word(0) >> 8, word(1)};
    return 2u;
  }

  Result<u32> other(TxnOp& op, u32 count) {
    TRY(need(count));
    op.body = TxnOther{static_cast<u32>(at_ + 1), count - 1};
    return count;
  }

  // Ops from 0x80 on carry their size in word 1, so that unknown ones can be stepped over.
  Result<u32> custom(TxnOp& op) {
    TRY(need(2));
    TRY_ASSIGN(u32 count, sized(word(1), 8));
    op.body = TxnOther{static_cast<u32>(at_ + 2), count - 2};
    switch (op.opcode) {
      case TxnOpcode::kTokenWait: {
        TRY(sized(word(1), kTokenBytes));
        u32 from = word(2);
        u32 extent = word(3);
        if ((from & 0xFF) > 1)
          return bad(Code::kCorrupt, fmt::format("direction is {}, expected 0 or 1", from & 0xFF));
        op.body = TxnTokenWait{static_cast<u8>(from >> 16),         static_cast<u8>(from >> 8),
                               static_cast<u8>(extent >> 16),       static_cast<u8>(extent >> 8),
                               static_cast<TxnDirection>(from & 1), static_cast<u8>(extent >> 24)};
        break;
      }
      case TxnOpcode::kDdrPatch:
        TRY(ddr_patch(op));
        break;
      case TxnOpcode::kRecordTimer:
        TRY(sized(word(1), 12));
        op.body = TxnRecordTimer{word(2)};
        break;
      case TxnOpcode::kMergeSync:
        TRY(sized(word(1), 12));
        op.body = TxnMergeSync{static_cast<u8>(word(2)), static_cast<u8>(word(2) >> 8)};
        break;
      default:
        break;
    }
    return count;
  }

  // In version 1.0 aie-rt stores a short body and aiebu a long one; the size tells which.
  Result<void> ddr_patch(TxnOp& op) {
    if (stream_.compact && word(1) == kCompactPatchBytes) {
      op.body = TxnDdrPatch{word(2), word(3) & 0xFF, address(4), 0};
      return {};
    }
    if (word(1) != kPatchBytes) {
      return bad(Code::kUnsupported, fmt::format("size field is {}, expected {}", word(1), kPatchBytes));
    }
    op.body = TxnDdrPatch{address(6), address(8), address(10), word(5)};
    return {};
  }

  TxnStream& stream_;
  const std::vector<u32>& words_;
  u64 at_;
  u32 index_ = 0;
  u8 opcode_ = 0;
};

}  // namespace

const char* txn_opcode_name(TxnOpcode opcode) {
  switch (opcode) {
    case TxnOpcode::kWrite:
      return "write";
    case TxnOpcode::kBlockWrite:
      return "block write";
    case TxnOpcode::kMaskWrite:
      return "mask write";
    case TxnOpcode::kMaskPoll:
      return "mask poll";
    case TxnOpcode::kNoop:
      return "no-op";
    case TxnOpcode::kPreempt:
      return "preempt";
    case TxnOpcode::kMaskPollBusy:
      return "mask poll busy";
    case TxnOpcode::kLoadPdi:
      return "load PDI";
    case TxnOpcode::kLoadPmStart:
      return "load PM start";
    case TxnOpcode::kCreateScratchpad:
      return "create scratchpad";
    case TxnOpcode::kUpdateStateTable:
      return "update state table";
    case TxnOpcode::kUpdateRegister:
      return "update register";
    case TxnOpcode::kUpdateScratch:
      return "update scratch";
    case TxnOpcode::kTokenWait:
      return "token wait";
    case TxnOpcode::kDdrPatch:
      return "DDR patch";
    case TxnOpcode::kReadRegisters:
      return "read registers";
    case TxnOpcode::kRecordTimer:
      return "record timer";
    case TxnOpcode::kMergeSync:
      return "merge sync";
  }
  return "custom";
}

Result<TxnStream> read_txn(ByteSpan bytes) {
  if (bytes.size() < kTxnHeaderBytes) {
    return fail(Code::kCorrupt,
                fmt::format("TXN stream: {} bytes, the header alone needs {}; the stream is truncated",
                            bytes.size(), kTxnHeaderBytes));
  }
  const u8* at = bytes.data();
  TxnStream stream;
  stream.header = {at[0], at[1], at[2], at[3], at[4], at[5], load_le<u32>(at + 8), load_le<u32>(at + 12)};
  stream.compact = at[0] == 1 && at[1] == 0;
  u32 size = stream.header.size;
  if (size < kTxnHeaderBytes || size % 4 != 0 || size > bytes.size()) {
    return fail(
        Code::kCorrupt,
        fmt::format(
            "TXN stream: header says {} bytes, {} are there; expected a multiple of 4 from {} on; the "
            "stream is truncated or not a TXN stream",
            size, bytes.size(), kTxnHeaderBytes));
  }
  stream.words.resize(size / 4);
  std::memcpy(stream.words.data(), at, size);
  TRY(Parser(stream).run());
  return stream;
}

Result<Bytes> txn_from_text(ByteSpan text) {
  constexpr u64 kDigits = 8;
  const auto space = [](u8 c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  ByteWriter out;
  for (u64 at = 0; at < text.size();) {
    if (space(text[at])) {
      ++at;
      continue;
    }
    u64 end = at;
    while (end < text.size() && !space(text[end])) ++end;
    const auto* first = reinterpret_cast<const char*>(text.data() + at);
    const auto* last = reinterpret_cast<const char*>(text.data() + end);
    if (last - first > 2 && first[0] == '0' && first[1] == 'x') first += 2;
    u32 word = 0;
    const auto [stop, error] = std::from_chars(first, last, word, 16);
    if (error != std::errc() || stop != last || static_cast<u64>(last - first) != kDigits) {
      return fail(Code::kCorrupt,
                  fmt::format("TXN stream as text: no word of eight hexadecimal digits at byte {}", at));
    }
    out.write<u32>(word);
    at = end;
  }
  TRY(read_txn(out.data()));
  return out.take();
}

TxnWriter::TxnWriter() {
  out_.zeros(kTxnHeaderBytes);
}

u64 TxnWriter::write32(u64 address, u32 value) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kWrite));
  out_.write<u32>(0);
  out_.write<u64>(address);
  out_.write<u32>(value);
  out_.write<u32>(kWriteBytes);
  return out_.size() - 8;
}

u64 TxnWriter::block_write(u64 address, std::span<const u32> data) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kBlockWrite));
  out_.write<u32>(0);
  out_.write<u32>(static_cast<u32>(address));
  out_.write<u32>(static_cast<u32>(16 + 4 * data.size()));
  u64 at = out_.size();
  for (u32 value : data) out_.write<u32>(value);
  return at;
}

u64 TxnWriter::mask_write(u64 address, u32 value, u32 mask) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kMaskWrite));
  out_.write<u32>(0);
  out_.write<u64>(address);
  out_.write<u32>(value);
  out_.write<u32>(mask);
  out_.write<u32>(kMaskBytes);
  return out_.size() - 12;
}

u64 TxnWriter::mask_poll(u64 address, u32 value, u32 mask) {
  u64 at = mask_write(address, value, mask);
  out_.patch<u32>(at - 16, static_cast<u32>(TxnOpcode::kMaskPoll));
  return at;
}

u64 TxnWriter::token_wait(u32 column, u32 row, u32 rows, u32 columns, TxnDirection direction, u32 channel) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kTokenWait));
  out_.write<u32>(kTokenBytes);
  out_.write<u32>(static_cast<u32>(direction) | (row & 0xFF) << 8 | (column & 0xFF) << 16);
  out_.write<u32>((rows & 0xFF) << 8 | (columns & 0xFF) << 16 | (channel & 0xFF) << 24);
  return out_.size() - 8;
}

u64 TxnWriter::ddr_patch(u64 register_address, u32 argument, u64 offset) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kDdrPatch));
  out_.write<u32>(kPatchBytes);
  out_.zeros(16);  // words 2-4 unused, word 5 action 0
  out_.write<u64>(register_address);
  out_.write<u64>(argument);
  out_.write<u64>(offset);
  return out_.size() - 8;
}

u64 TxnWriter::preempt(u8 level) {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kPreempt) | static_cast<u32>(level) << 8);
  return out_.size() - 4;
}

u64 TxnWriter::noop() {
  ++op_count_;
  out_.write<u32>(static_cast<u32>(TxnOpcode::kNoop));
  return out_.size() - 4;
}

Bytes TxnWriter::finish() {
  out_.patch<u64>(
      0, 0x0000'0108'0604'0100);  // from byte 0: 0.1, generation 4, 6 rows, 8 columns, 1 mem tile row
  out_.patch<u32>(8, op_count_);
  out_.patch<u32>(12, static_cast<u32>(out_.size()));
  Bytes done = out_.take();
  *this = TxnWriter();
  return done;
}

}  // namespace tegula::format
