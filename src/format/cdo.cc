// CDO (configuration data object): reader and writer. Layout: docs/formats/pdi-cdo.md.
// A command is a word (length in the upper half, opcode in the lower) and that many words; a length whose low
// byte is 0xFF says that the real length is the next word.
#include "format/cdo.h"

#include <fmt/core.h>

namespace tegula::format {
namespace {

constexpr u32 kIdent = 0x004F4443;  // "CDO\0"
constexpr u32 kVersion = 0x00000200;
constexpr u32 kLongForm = 0xFF;
constexpr u32 kShortMaximum = 254;  // words; longest short form

constexpr u32 kOpMaskWrite = 0x102;
constexpr u32 kOpWrite = 0x103;
constexpr u32 kOpBlockWrite = 0x105;
constexpr u32 kOpNop = 0x111;

u32 word_at(ByteSpan bytes, u64 index) {
  return load_le<u32>(bytes.data() + index * 4);
}

// Length of what follows the command word, without the extra word of the long form.
u64 payload_words(const CdoCommand& command) {
  switch (command.kind) {
    case CdoKind::kMaskWrite:
      return 3;
    case CdoKind::kWrite:
      return 2;
    case CdoKind::kBlockWrite:
      return 2 + command.words.size();
    case CdoKind::kNop:
      return command.words.size();
  }
  return 0;
}

u64 head_words(u64 payload) {
  return payload > kShortMaximum ? 2 : 1;
}

class Parser {
 public:
  Parser(ByteSpan bytes, u64 end) : bytes_(bytes), end_(end) {}

  Result<std::vector<CdoCommand>> run() {
    std::vector<CdoCommand> commands;
    while (at_ < end_) {
      CdoCommand command;
      TRY(next(command));
      commands.push_back(std::move(command));
    }
    return commands;
  }

 private:
  Error bad(Code code, u32 head, const std::string& what) const {
    return fail(code, fmt::format("CDO: command word 0x{:08X} at word {}: {}", head, at_, what));
  }

  Result<void> next(CdoCommand& command) {
    u32 head = word_at(bytes_, at_);
    u64 length = head >> 16;
    u64 body = at_ + 1;
    if (length > kLongForm) return bad(Code::kUnsupported, head, "bits 31:24 are set, expected 0");
    if (length == kLongForm) {
      if (body >= end_)
        return bad(Code::kCorrupt, head, "its length word lies past the end; the CDO is truncated");
      length = word_at(bytes_, body++);
    }
    if (length > end_ - body) {
      return bad(
          Code::kCorrupt, head,
          fmt::format("needs {} words, {} are left; the CDO is truncated or damaged", length, end_ - body));
    }
    TRY(decode(command, head, body, length));
    at_ = body + length;
    return {};
  }

  Result<void> decode(CdoCommand& command, u32 head, u64 body, u64 length) const {
    switch (head & 0xFFFF) {
      case kOpMaskWrite:
        if (length != 3) return wrong_length(head, length, "3");
        command = {CdoKind::kMaskWrite,
                   word_at(bytes_, body),
                   word_at(bytes_, body + 1),
                   word_at(bytes_, body + 2),
                   {}};
        return {};
      case kOpWrite:
        if (length != 2) return wrong_length(head, length, "2");
        command = {CdoKind::kWrite, word_at(bytes_, body), 0, word_at(bytes_, body + 1), {}};
        return {};
      case kOpBlockWrite:
        if (length < 2) return wrong_length(head, length, "at least 2");
        if (word_at(bytes_, body) != 0) {
          return bad(Code::kUnsupported, head,
                     fmt::format("upper address word is 0x{:X}, expected 0", word_at(bytes_, body)));
        }
        command = {CdoKind::kBlockWrite, word_at(bytes_, body + 1), 0, 0, copy(body + 2, length - 2)};
        return {};
      case kOpNop:
        command = {CdoKind::kNop, 0, 0, 0, copy(body, length)};
        return {};
      default:
        return bad(Code::kUnsupported, head,
                   fmt::format("opcode 0x{:X}; known are 0x102, 0x103, 0x105 and 0x111", head & 0xFFFF));
    }
  }

  Error wrong_length(u32 head, u64 length, const char* expected) const {
    return bad(Code::kCorrupt, head, fmt::format("length is {} words, expected {}", length, expected));
  }

  std::vector<u32> copy(u64 first, u64 count) const {
    std::vector<u32> out(count);
    if (count != 0) std::memcpy(out.data(), bytes_.data() + first * 4, count * 4);
    return out;
  }

  ByteSpan bytes_;
  u64 end_;  // in words
  u64 at_ = kCdoHeaderWords;
};

u32 opcode_of(CdoKind kind) {
  switch (kind) {
    case CdoKind::kMaskWrite:
      return kOpMaskWrite;
    case CdoKind::kWrite:
      return kOpWrite;
    case CdoKind::kBlockWrite:
      return kOpBlockWrite;
    case CdoKind::kNop:
      return kOpNop;
  }
  return kOpNop;
}

void write_command(ByteWriter& out, const CdoCommand& command) {
  u64 length = payload_words(command);
  u32 opcode = opcode_of(command.kind);
  if (length > kShortMaximum) {
    out.write<u32>(kLongForm << 16 | opcode);
    out.write<u32>(static_cast<u32>(length));
  } else {
    out.write<u32>(static_cast<u32>(length) << 16 | opcode);
  }
  switch (command.kind) {
    case CdoKind::kMaskWrite:
      out.write<u32>(command.address);
      out.write<u32>(command.mask);
      out.write<u32>(command.value);
      break;
    case CdoKind::kWrite:
      out.write<u32>(command.address);
      out.write<u32>(command.value);
      break;
    case CdoKind::kBlockWrite:
      out.write<u32>(0);
      out.write<u32>(command.address);
      break;
    case CdoKind::kNop:
      break;
  }
  for (u32 word : command.words) out.write<u32>(word);
}

}  // namespace

const char* cdo_kind_name(CdoKind kind) {
  switch (kind) {
    case CdoKind::kMaskWrite:
      return "mask write";
    case CdoKind::kWrite:
      return "write";
    case CdoKind::kBlockWrite:
      return "block write";
    case CdoKind::kNop:
      return "no-op";
  }
  return "?";
}

Result<std::vector<CdoCommand>> read_cdo(ByteSpan bytes) {
  if (bytes.size() < kCdoHeaderWords * 4) {
    return fail(Code::kCorrupt, fmt::format("CDO: {} bytes, the header alone needs {}; the file is truncated",
                                            bytes.size(), kCdoHeaderWords * 4));
  }
  u32 head[kCdoHeaderWords];
  std::memcpy(head, bytes.data(), sizeof(head));
  if (head[0] != kCdoHeaderWords - 1 || head[1] != kIdent) {
    return fail(Code::kCorrupt,
                fmt::format("CDO: starts with words 0x{:X}, 0x{:X}, expected 0x4, 0x{:X} (\"CDO\")", head[0],
                            head[1], kIdent));
  }
  if (head[2] != kVersion) {
    return fail(Code::kUnsupported,
                fmt::format("CDO: version is 0x{:X}, expected 0x{:X}", head[2], kVersion));
  }
  u32 sum = ~(head[0] + head[1] + head[2] + head[3]);
  if (head[4] != sum) {
    return fail(Code::kCorrupt,
                fmt::format("CDO: header checksum is 0x{:08X}, expected 0x{:08X}; the file is damaged",
                            head[4], sum));
  }
  u64 words_there = bytes.size() / 4 - kCdoHeaderWords;
  if (head[3] > words_there) {
    return fail(Code::kCorrupt, fmt::format("CDO: header says {} words, {} are there; the file is truncated",
                                            head[3], words_there));
  }
  return Parser(bytes, kCdoHeaderWords + head[3]).run();
}

Bytes write_cdo(std::span<const CdoCommand> commands) {
  ByteWriter out;
  out.zeros(kCdoHeaderWords * 4);
  for (const CdoCommand& command : commands) write_command(out, command);
  u32 length = static_cast<u32>(out.size() / 4 - kCdoHeaderWords);
  u32 first = kCdoHeaderWords - 1;
  out.patch<u32>(0, first);
  out.patch<u32>(4, kIdent);
  out.patch<u32>(8, kVersion);
  out.patch<u32>(12, length);
  out.patch<u32>(16, ~(first + kIdent + kVersion + length));
  return out.take();
}

void CdoWriter::add(CdoCommand command) {
  u64 payload = payload_words(command);
  at_ += head_words(payload) + payload;
  commands_.push_back(std::move(command));
}

void CdoWriter::write(u32 address, u32 value) {
  add({CdoKind::kWrite, address, 0, value, {}});
}

void CdoWriter::mask_write(u32 address, u32 mask, u32 value) {
  add({CdoKind::kMaskWrite, address, mask, value, {}});
}

void CdoWriter::block_write(u32 address, std::span<const u32> data) {
  CdoCommand command{CdoKind::kBlockWrite, address, 0, 0, {data.begin(), data.end()}};
  u64 data_at = at_ + head_words(payload_words(command)) + 2;
  u64 gap = (4 - data_at % 4) % 4;
  if (gap != 0) add({CdoKind::kNop, 0, 0, 0, std::vector<u32>(gap - 1, 0)});
  add(std::move(command));
}

}  // namespace tegula::format
