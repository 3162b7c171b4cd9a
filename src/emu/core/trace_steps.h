// The instructions of a trace: what each touches and when, whether a bundle may join, and addresses that
// differ from a pointer's value at the entry by constants. Internal to the building of traces.
#pragma once

#include <bitset>
#include <vector>

#include "emu/core/binder.h"
#include "emu/core/trace.h"

namespace tegula::emu {

// Registers as cells: 4 bytes, in the vector bank 32, among accumulators and FIFO lines 64. The last cell is
// data memory.
constexpr u32 kScalarCells = kBankX / 4;
constexpr u32 kVectorCells = kScalarCells + (kBankE - kBankX) / 32;
constexpr u32 kBlockCells = kVectorCells + (kBankAcc - kBankE) / 4;
constexpr u32 kMemoryCell = kBlockCells + (kRegisterBytes - kBankAcc) / 64;
constexpr u32 kCells = kMemoryCell + 1;
using CellSet = std::bitset<kCells>;

u32 cell_of(u32 byte);

// Moments within a cycle.
enum TracePhase : u32 {
  kVisible = 0,
  kBypassRead = 1,
  kLateRead = 2,
  kIssueRead = 3,
  kIssueWrite = 4,
  kLoad = 5,
  kStore = 6
};
constexpr u32 stamp(u32 cycle, TracePhase phase) {
  return cycle * 8 + phase;
}

struct TraceTouch {
  u32 cell;
  u32 when;  // stamp
  bool write;
  bool bypass = false;  // of the accumulator's VEC bypass, reader or writer
  u16 offset = 0;       // of the register, for bypass
};

struct TraceUse {  // one register operand, cycles from issue
  u16 offset, bytes;
  u8 cycle;
  isa::Bypass bypass;
  bool write;
};

// One instruction of the trace.
struct TraceStep {
  u32 at = 0;  // issue, in cycles from the landing
  std::vector<Uop> uops, loads;
  std::vector<AddressOp> addresses;
  std::vector<TraceUse> uses;  // without those of its addresses
  CellSet address_reads, address_writes;
  const Family* family = nullptr;
  bool is_vec = false;
  u8 memory_first = 0, memory_last = 0;
  u8 longest = 1;  // cycles until nothing of it is in flight
};

struct TraceStretch {
  std::vector<const Decoded*> bundles;
  std::vector<TraceStep> steps;
  void cut(u32 bundle_count) {
    bundles.resize(bundle_count);
    while (!steps.empty() && steps.back().at >= bundle_count) steps.pop_back();
  }
};

// Binds the bundle's instructions; false when it cannot be part of a trace's body. Of bundles before the body
// only the registers they write matter.
bool bind_bundle(const u8* program, u32 pc, u32 at, std::vector<TraceStep>& out);

// Grows the body of a trace bundle by bundle while addresses can be computed ahead of everything else and
// control words stay as they are.
class TraceGrowth {
 public:
  bool accept(const std::vector<TraceStep>& bundle);
  // Bundles before the body: their results that arrive later count.
  void add_before(const TraceStep& step, u32 body);

 private:
  void add(const TraceStep& step);

  CellSet address_reads_, address_writes_, reads_, writes_, controls_;
  size_t addresses_ = 0;
};

// Adds an address to the stream of its pointer; false when it does not differ from the entry's by a constant.
bool extend(std::vector<AddressStream>& streams, const AddressOp& a, u16 pointer);

}  // namespace tegula::emu
