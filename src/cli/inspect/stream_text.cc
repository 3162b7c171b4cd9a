// Ops of a controller stream in words, and the meaning of every word in it.
#include <fmt/core.h>

#include "cli/inspect/stream_facts.h"
#include "cli/inspect/words.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using format::TxnOp;
using format::TxnStream;

std::string task_text(const QueuePlace& queue, u32 value) {
  const arch::Task task = arch::decode_task(queue.tile.kind(), value);
  std::string text =
      fmt::format("start BD {} on {}{}", task.first_bd, arch::direction_name(queue.direction), queue.channel);
  if (task.repeat != 1) text += fmt::format(", {} times", task.repeat);
  return text + (task.token ? ", with token" : "");
}

std::string text_of(const TxnStream&, const format::TxnWrite& body) {
  const QueuePlace queue = queue_at(body.address);
  std::string text = fmt::format("{} = 0x{:x}", address_name(body.address), body.value);
  if (queue.valid && !queue.ctrl) text += ": " + task_text(queue, body.value);
  return text;
}

std::string text_of(const TxnStream& stream, const format::TxnBlockWrite& body) {
  const std::span<const u32> data = stream.data(body);
  const BdPlace bd = bd_at(body.address);
  if (bd.valid && bd.word == 0 && data.size() == static_cast<size_t>(arch::traits(bd.tile.kind()).bd_words)) {
    return fmt::format("{} BD {}: {}", arch::tile_name(bd.tile), bd.bd,
                       bd_text(bd.tile.kind(), arch::decode(bd.tile.kind(), data)));
  }
  return fmt::format("{}, {} words", address_name(body.address), data.size());
}

std::string text_of(const TxnStream&, const format::TxnMaskWrite& body) {
  return fmt::format("{}: bits 0x{:x} = 0x{:x}", address_name(body.address), body.mask, body.value);
}

std::string text_of(const TxnStream&, const format::TxnMaskPoll& body) {
  return fmt::format("until {} & 0x{:x} = 0x{:x}", address_name(body.address), body.mask, body.value);
}

std::string text_of(const TxnStream&, const format::TxnTokenWait& body) {
  std::string tiles = fmt::format("({},{})", body.column, body.row);
  if (body.columns > 1 || body.rows > 1) {
    tiles = fmt::format("({}-{},{}-{})", body.column, body.column + std::max<int>(1, body.columns) - 1,
                        body.row, body.row + std::max<int>(1, body.rows) - 1);
  }
  return fmt::format("{}{} of {}", arch::direction_name(static_cast<Direction>(body.direction)), body.channel,
                     tiles);
}

std::string text_of(const TxnStream&, const format::TxnDdrPatch& body) {
  const BdPlace bd = bd_at(body.register_address);
  const std::string place = bd.valid && bd.word == 1
                                ? fmt::format("{} BD {}", arch::tile_name(bd.tile), bd.bd)
                                : address_name(body.register_address);
  return fmt::format("address of {} = argument {} + 0x{:x}", place, body.argument, body.offset);
}

std::string text_of(const TxnStream&, const format::TxnPreempt& body) {
  return fmt::format("level {}", body.level);
}

std::string text_of(const TxnStream&, const format::TxnLoadPdi& body) {
  return fmt::format("id {}, {} bytes at 0x{:x}", body.id, body.size, body.address);
}

std::string text_of(const TxnStream&, const format::TxnLoadPmStart& body) {
  return fmt::format("{} ops, id {}", body.op_count, body.id);
}

std::string text_of(const TxnStream&, const format::TxnRecordTimer& body) {
  return fmt::format("id {}", body.id);
}

std::string text_of(const TxnStream&, const format::TxnMergeSync& body) {
  return fmt::format("{} tokens, {} columns", body.tokens, body.columns);
}

std::string text_of(const TxnStream&, const format::TxnNoop&) {
  return {};
}

std::string text_of(const TxnStream&, const format::TxnOther& body) {
  return fmt::format("{} words", body.word_count);
}

const char* const kShimBdWords[] = {"length",       "address (low)", "address (high) and packet", "D0", "D1",
                                    "D2 and cache", "iteration",     "next BD, valid and locks"};
const char* const kMemBdWords[] = {
    "length and packet", "address and next BD", "D0", "D1", "D2", "D3 and padding",
    "iteration",         "valid and locks"};
const char* const kCoreBdWords[] = {"address and length", "packet",    "D0 and D1 steps",
                                    "wraps and D2 step",  "iteration", "next BD, valid and locks"};

std::string bd_word(const BdPlace& bd) {
  const char* const* names = bd.tile.kind() == arch::TileKind::kShim  ? kShimBdWords
                             : bd.tile.kind() == arch::TileKind::kMem ? kMemBdWords
                                                                      : kCoreBdWords;
  return fmt::format("{} of BD {} of {}", names[bd.word], bd.bd, arch::tile_name(bd.tile));
}

std::string written_word(u64 address) {
  const BdPlace bd = bd_at(address);
  const QueuePlace queue = queue_at(address);
  if (bd.valid) return bd_word(bd);
  if (queue.valid && !queue.ctrl) {
    return fmt::format("task of {}{} of {}", arch::direction_name(queue.direction), queue.channel,
                       arch::tile_name(queue.tile));
  }
  return "value of " + address_name(address);
}

}  // namespace

std::string op_text(const TxnStream& stream, const TxnOp& op) {
  const std::string body = std::visit([&](const auto& b) { return text_of(stream, b); }, op.body);
  const std::string name = format::txn_opcode_name(op.opcode);
  return body.empty() ? name : name + " " + body;
}

std::string word_text(const TxnStream& stream, const TxnOp& op, u64 byte) {
  const u64 word = (byte - op.offset) / 4;
  const bool compact = stream.compact;
  if (word == 0) return "opcode";
  if (const auto* write = std::get_if<format::TxnWrite>(&op.body)) {
    return word == (compact ? 2u : 4u) ? written_word(write->address) : "address or size of a write";
  }
  if (const auto* write = std::get_if<format::TxnMaskWrite>(&op.body)) {
    if (word == (compact ? 2u : 4u)) return written_word(write->address);
    return word == (compact ? 3u : 5u) ? "mask of " + address_name(write->address)
                                       : "address or size of a mask write";
  }
  if (const auto* write = std::get_if<format::TxnBlockWrite>(&op.body)) {
    const u64 head = compact ? 3 : 4;
    return word < head ? "address or size of a block write"
                       : written_word(write->address + 4 * (word - head));
  }
  if (const auto* patch = std::get_if<format::TxnDdrPatch>(&op.body)) {
    const BdPlace bd = bd_at(patch->register_address);
    const std::string place =
        bd.valid ? fmt::format(" for BD {} of {}", bd.bd, arch::tile_name(bd.tile)) : std::string();
    if (word >= (compact && op.size == 24 ? 4u : 10u))
      return fmt::format("offset into argument {}{}", patch->argument, place);
    return word >= (compact && op.size == 24 ? 3u : 8u) ? "argument" + place : "register of an address patch";
  }
  if (std::holds_alternative<format::TxnTokenWait>(op.body))
    return word == 2 ? "tile of a wait" : "extent and channel of a wait";
  return fmt::format("word {} of a {}", word, format::txn_opcode_name(op.opcode));
}

}  // namespace tegula::cli
