// What a controller stream does, ready to be shown: transfers with their arguments, waits, phases, and what
// is in flight.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "arch/dma.h"
#include "cli/inspect/array_state.h"
#include "format/txn.h"

namespace tegula::cli {

// One push to a task queue.
struct TransferFacts {
  u32 op = 0;  // index in the stream
  arch::Tile tile;
  arch::Direction direction = arch::Direction::kS2mm;
  u8 channel = 0;
  arch::Task task;
  int argument = -1;   // buffer that the first BD was patched to; -1: none
  u64 offset = 0;      // bytes into that buffer
  u64 words = 0;       // of all runs of the chain; 0 when a BD is not in the stream
  bool known = true;   // false: the stream does not write the BD, so the configuration must have it
  i64 waited = -1;     // op that waits for it, or for a later task of the channel; -1: none does
  arch::BdWords bd{};  // the first BD
};

struct WaitFacts {
  u32 op = 0;
  format::TxnTokenWait wait;
  u32 transfers = 0;  // that it waits for
};

// Bytes that move between an argument and the array.
struct ArgumentFacts {
  int argument = -1;                // -1: transfers without a patched address
  u64 reads = 0, read_bytes = 0;    // MM2S
  u64 writes = 0, write_bytes = 0;  // S2MM
  u64 first = 0, last = 0;          // smallest and largest offset of a transfer's start
};

struct ChannelUse {
  arch::Tile tile;
  arch::Direction direction = arch::Direction::kS2mm;
  u8 channel = 0;
  u64 tasks = 0, runs = 0, tokens = 0, waits = 0, words = 0;
  u64 most_in_flight = 0;
};

// Ops up to and including a run of waits. Equal phases in a row are one entry.
struct PhaseFacts {
  u32 first_op = 0;
  u64 repeat = 1;
  u32 ops = 0;  // of one
  u64 waits = 0;
  u64 other_writes = 0;  // to neither a BD nor a channel
  // Transfers by (argument, direction): count and bytes.
  std::map<std::pair<int, arch::Direction>, std::pair<u64, u64>> transfers;
  std::string text;
};

struct WordWrite {
  u32 op = 0;
  u32 address = 0;
  u32 mask = 0xFFFFFFFF;
  u32 value = 0;
};

struct StreamFacts {
  std::string name;
  format::TxnStream stream;
  bool header_damaged = false;  // the first eight bytes are not what a writer of 0.1 or 1.0 puts there
  u64 trailing = 0;             // bytes behind the stated size
  std::vector<std::pair<std::string, u64>> ops;  // name, count
  std::vector<TransferFacts> transfers;
  std::vector<WaitFacts> waits;
  std::vector<ArgumentFacts> arguments;
  std::vector<ChannelUse> channels;
  std::vector<PhaseFacts> phases;
  std::vector<WordWrite> others;  // register writes outside BDs and channels
  u64 register_writes = 0, named_writes = 0;
  u64 bds = 0;             // block writes that fill a BD
  u64 most_in_flight = 0;  // tasks queued and not known to be done, over all channels
  u64 unwaited = 0;        // tasks that no wait covers
  u64 empty_waits = 0;     // waits with no token on its way: they would never end
};

StreamFacts stream_facts(format::TxnStream stream, u64 file_bytes);

// One op in words: "write shim (0,0) DMA_S2MM_0_Task_Queue = 0x80000000: start BD 0, token".
std::string op_text(const format::TxnStream& stream, const format::TxnOp& op);

// What the 32-bit word at this byte of the stream means: "length of BD 3 of shim (2,0)", "offset of argument
// 1".
std::string word_text(const format::TxnStream& stream, const format::TxnOp& op, u64 byte);

// The place of a start queue: tile, direction, channel.
struct QueuePlace {
  bool valid = false;
  arch::Tile tile;
  arch::Direction direction = arch::Direction::kS2mm;
  u8 channel = 0;
  bool ctrl = false;  // the control word of the channel instead
};
QueuePlace queue_at(u64 address);

// The BD that an address lies in.
struct BdPlace {
  bool valid = false;
  arch::Tile tile;
  int bd = 0;
  int word = 0;
};
BdPlace bd_at(u64 address);

// "shim (0,0) DMA_BD3_2"; a hexadecimal number outside the array.
std::string address_name(u64 address);

}  // namespace tegula::cli
