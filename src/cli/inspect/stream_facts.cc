#include "cli/inspect/stream_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "arch/registers.h"
#include "cli/inspect/words.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::Tile;
using arch::TileKind;
using format::TxnOp;
using format::TxnStream;

// Goes through the ops once, in order, with the state that the controller would have.
class Reader {
 public:
  explicit Reader(StreamFacts& facts) : facts_(facts) {}

  void run() {
    for (u32 i = 0; i < facts_.stream.ops.size(); ++i) {
      const TxnOp& op = facts_.stream.ops[i];
      ++counts_[format::txn_opcode_name(op.opcode)];
      if (!std::holds_alternative<format::TxnTokenWait>(op.body)) close_phase_if_waited(i);
      ++phase_.ops;
      std::visit([&](const auto& body) { take(i, body); }, op.body);
    }
    if (phase_.ops != 0) close_phase(static_cast<u32>(facts_.stream.ops.size()));
    finish();
  }

 private:
  struct Channel {
    ChannelUse use;
    std::deque<size_t> in_flight;  // indices of transfers
  };

  Channel& channel_of(Tile tile, Direction direction, u8 channel) {
    Channel& out = channels_[{tile.index(), static_cast<int>(direction), channel}];
    out.use.tile = tile;
    out.use.direction = direction;
    out.use.channel = channel;
    return out;
  }

  template <typename T>
  void take(u32, const T&) {}

  void take(u32 op, const format::TxnWrite& body) { write(op, body.address, 0xFFFFFFFF, body.value, true); }
  void take(u32 op, const format::TxnMaskWrite& body) {
    write(op, body.address, body.mask, body.value, true);
  }

  void take(u32 op, const format::TxnBlockWrite& body) {
    const std::span<const u32> data = facts_.stream.data(body);
    const BdPlace bd = bd_at(body.address);
    if (bd.valid && bd.word == 0 && data.size() == static_cast<size_t>(arch::traits(bd.tile.kind()).bd_words))
      ++facts_.bds;
    bool all = true;
    for (size_t i = 0; i < data.size(); ++i)
      all = write(op, body.address + 4 * i, 0xFFFFFFFF, data[i], false) && all;
    ++facts_.register_writes;
    if (all) ++facts_.named_writes;
  }

  void take(u32, const format::TxnDdrPatch& body) {
    const BdPlace bd = bd_at(body.register_address);
    if (bd.valid && bd.word == 1)
      patches_[{bd.tile.index(), bd.bd}] = {static_cast<int>(body.argument & 0x7FFFFFFF), body.offset};
  }

  void take(u32 op, const format::TxnTokenWait& body) {
    WaitFacts wait{op, body, 0};
    ++phase_.waits;
    waited_ = true;
    const int last_col = std::min(arch::kColumns, body.column + std::max<int>(1, body.columns));
    const int last_row = std::min(arch::kRows, body.row + std::max<int>(1, body.rows));
    for (int col = body.column; col < last_col; ++col) {
      for (int row = body.row; row < last_row; ++row) {
        const Tile tile{static_cast<u8>(col), static_cast<u8>(row)};
        wait.transfers += pop(op, channel_of(tile, static_cast<Direction>(body.direction), body.channel));
      }
    }
    facts_.waits.push_back(wait);
  }

  // The oldest task with a token is done, and so is all before it.
  u32 pop(u32 op, Channel& channel) {
    ++channel.use.waits;
    const auto token = std::find_if(channel.in_flight.begin(), channel.in_flight.end(),
                                    [&](size_t t) { return facts_.transfers[t].task.token; });
    if (token == channel.in_flight.end()) {
      ++facts_.empty_waits;
      return 0;
    }
    const auto end = token + 1;
    const auto count = static_cast<u32>(end - channel.in_flight.begin());
    for (auto at = channel.in_flight.begin(); at != end; ++at) facts_.transfers[*at].waited = op;
    channel.in_flight.erase(channel.in_flight.begin(), end);
    flying_ -= count;
    return count;
  }

  // One word; returns whether the address names a register.
  bool write(u32 op, u64 address, u32 mask, u32 value, bool count) {
    const arch::Location at = arch::locate(static_cast<u32>(address));
    const bool named =
        address <= 0xFFFFFFFF && at.valid() && arch::find_register(at.tile().kind(), at.offset);
    if (count) {
      ++facts_.register_writes;
      if (named) ++facts_.named_writes;
    }
    if (address > 0xFFFFFFFF || !at.valid()) return false;
    const QueuePlace queue = queue_at(address);
    const BdPlace bd = bd_at(address);
    if (bd.valid) {
      state_bd(bd)[static_cast<size_t>(bd.word)] =
          (state_bd(bd)[static_cast<size_t>(bd.word)] & ~mask) | (value & mask);
      if (bd.word == 1) patches_.erase({bd.tile.index(), bd.bd});
    } else if (queue.valid && !queue.ctrl) {
      push(op, queue, value);
    } else if (!queue.valid) {
      ++phase_.other_writes;
      facts_.others.push_back({op, static_cast<u32>(address), mask, value});
    }
    return named;
  }

  arch::BdWords& state_bd(const BdPlace& bd) { return bds_[{bd.tile.index(), bd.bd}]; }

  void push(u32 op, const QueuePlace& queue, u32 value) {
    const TileKind kind = queue.tile.kind();
    TransferFacts transfer;
    transfer.op = op;
    transfer.tile = queue.tile;
    transfer.direction = queue.direction;
    transfer.channel = queue.channel;
    transfer.task = arch::decode_task(kind, value);
    const auto patch = patches_.find({queue.tile.index(), transfer.task.first_bd});
    if (patch != patches_.end()) {
      transfer.argument = patch->second.first;
      transfer.offset = patch->second.second;
    }
    std::vector<int> seen;
    for (int bd = transfer.task.first_bd;;) {
      const auto at = bds_.find({queue.tile.index(), bd});
      if (at == bds_.end()) transfer.known = false;
      if (at == bds_.end() || std::find(seen.begin(), seen.end(), bd) != seen.end()) break;
      const arch::Bd decoded = arch::decode(kind, at->second);
      if (seen.empty()) transfer.bd = at->second;
      seen.push_back(bd);
      transfer.words += decoded.length;
      if (!decoded.use_next) break;
      bd = decoded.next;
    }
    transfer.words *= transfer.task.repeat;
    count(transfer);
    facts_.transfers.push_back(std::move(transfer));
  }

  void count(const TransferFacts& transfer) {
    Channel& channel = channel_of(transfer.tile, transfer.direction, transfer.channel);
    ++channel.use.tasks;
    channel.use.runs += transfer.task.repeat;
    channel.use.tokens += transfer.task.token ? 1 : 0;
    channel.use.words += transfer.words;
    channel.in_flight.push_back(facts_.transfers.size());
    channel.use.most_in_flight = std::max<u64>(channel.use.most_in_flight, channel.in_flight.size());
    facts_.most_in_flight = std::max(facts_.most_in_flight, ++flying_);

    ArgumentFacts& argument = arguments_[transfer.argument];
    const bool first = argument.reads + argument.writes == 0;
    argument.argument = transfer.argument;
    argument.first = first ? transfer.offset : std::min(argument.first, transfer.offset);
    argument.last = std::max(argument.last, transfer.offset);
    const bool reads = transfer.direction == Direction::kMm2s;
    ++(reads ? argument.reads : argument.writes);
    (reads ? argument.read_bytes : argument.write_bytes) += 4 * transfer.words;
    auto& [number, bytes] = phase_.transfers[{transfer.argument, transfer.direction}];
    ++number;
    bytes += 4 * transfer.words;
  }

  void close_phase_if_waited(u32 op) {
    if (waited_) close_phase(op);
  }

  void close_phase(u32 next) {
    std::vector<PhaseFacts>& phases = facts_.phases;
    const bool again =
        !phases.empty() && phases.back().ops == phase_.ops && phases.back().waits == phase_.waits &&
        phases.back().other_writes == phase_.other_writes && phases.back().transfers == phase_.transfers;
    if (again) {
      ++phases.back().repeat;
    } else {
      phases.push_back(std::move(phase_));
    }
    phase_ = {};
    phase_.first_op = next;
    waited_ = false;
  }

  void finish() {
    for (auto& [name, count] : counts_) facts_.ops.push_back({name, count});
    for (auto& [key, channel] : channels_) {
      if (channel.use.tasks + channel.use.waits != 0) facts_.channels.push_back(channel.use);
      facts_.unwaited += channel.in_flight.size();
    }
    for (auto& [number, argument] : arguments_) facts_.arguments.push_back(argument);
    for (PhaseFacts& phase : facts_.phases) phase.text = phase_text(phase);
  }

  static std::string phase_text(const PhaseFacts& phase) {
    std::string text;
    for (const auto& [key, value] : phase.transfers) {
      const auto& [argument, direction] = key;
      if (!text.empty()) text += ", ";
      const std::string buffer = argument < 0 ? "no argument" : "argument " + std::to_string(argument);
      text += fmt::format("{} {} {} ({} bytes)", value.first, direction == Direction::kMm2s ? "from" : "to",
                          buffer, value.second);
    }
    if (phase.other_writes != 0)
      text += fmt::format("{}{} other writes", text.empty() ? "" : ", ", phase.other_writes);
    if (text.empty()) text = "no transfer";
    return text + fmt::format("; {} waits", phase.waits);
  }

  StreamFacts& facts_;
  std::map<std::string, u64> counts_;
  std::map<std::pair<int, int>, arch::BdWords> bds_;
  std::map<std::pair<int, int>, std::pair<int, u64>> patches_;
  std::map<std::tuple<int, int, int>, Channel> channels_;
  std::map<int, ArgumentFacts> arguments_;
  PhaseFacts phase_;
  bool waited_ = false;
  u64 flying_ = 0;
};

bool damaged(const format::TxnHeader& header) {
  const bool version = (header.major == 0 && header.minor == 1) || (header.major == 1 && header.minor == 0);
  return !version || header.generation < 3 || header.generation > 4 || header.rows != arch::kRows;
}

}  // namespace

StreamFacts stream_facts(format::TxnStream stream, u64 file_bytes) {
  StreamFacts facts;
  facts.stream = std::move(stream);
  facts.header_damaged = damaged(facts.stream.header);
  facts.trailing = file_bytes > facts.stream.header.size ? file_bytes - facts.stream.header.size : 0;
  Reader(facts).run();
  return facts;
}

QueuePlace queue_at(u64 address) {
  const arch::Location at = arch::locate(static_cast<u32>(address));
  if (address > 0xFFFFFFFF || !at.valid()) return {};
  const TileKind kind = at.tile().kind();
  for (const Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
    const u32 base = arch::channel_base(kind, direction);
    if (at.offset < base || at.offset >= base + 8 * static_cast<u32>(arch::traits(kind).channels)) continue;
    return {true, at.tile(), direction, static_cast<u8>((at.offset - base) / 8), (at.offset - base) % 8 < 4};
  }
  return {};
}

BdPlace bd_at(u64 address) {
  const arch::Location at = arch::locate(static_cast<u32>(address));
  if (address > 0xFFFFFFFF || !at.valid()) return {};
  const TileKind kind = at.tile().kind();
  const u32 base = arch::bd_base(kind);
  if (at.offset < base || at.offset >= arch::bd_offset(kind, arch::traits(kind).bds)) return {};
  const int word = static_cast<int>((at.offset - base) % arch::kBdStride / 4);
  if (word >= arch::traits(kind).bd_words) return {};
  return {true, at.tile(), static_cast<int>((at.offset - base) / arch::kBdStride), word};
}

std::string address_name(u64 address) {
  const arch::Location at = arch::locate(static_cast<u32>(address));
  if (address > 0xFFFFFFFF || !at.valid()) return fmt::format("0x{:x} (outside the array)", address);
  return arch::tile_name(at.tile()) + " " + arch::register_name(at.tile().kind(), at.offset);
}

}  // namespace tegula::cli
