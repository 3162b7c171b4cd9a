// The AIE2P core: executes program memory against the data memory of its tile, exactly and cycle by cycle,
// until it needs something of the world outside (a lock, a stream, a neighbour's memory). One Core touches
// nothing but its own state and its tile's memory, so different cores may run on different threads at once.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "isa/isa.h"

namespace tegula::emu {

constexpr u32 kCoreDataBytes = 0x10000;     // data memory of a tile
constexpr u32 kCoreProgramBytes = 0x4000;   // program memory of a tile
constexpr u32 kOwnWindow = 7;               // address >> 16 of the own data memory; 4 south, 5 west, 6 north
constexpr u32 kTileRegisterBase = 0x80000;  // lda.tm / st.tm

enum class StopReason : u8 {
  kBudget,        // the cycles given were used up
  kAcquire,       // before an acq bundle: lock_id, amount; resume when granted
  kRelease,       // after a rel bundle has executed: lock_id, amount; apply, then run on
  kStreamRead,    // before a stream read: resume_word with the word
  kStreamWrite,   // before a stream write: word, tlast; resume when accepted
  kCascadeRead,   // before a cascade read: resume_cascade with 64 bytes
  kCascadeWrite,  // before a cascade write: cascade points at 64 bytes; resume when accepted
  kNeighbour,     // before a bundle that reaches into a neighbour's memory: window, address; resume when safe
  kTileRegister,  // before lda.tm / st.tm: address (tile-local offset), is_write, word; resume or resume_word
  kDone,          // done has executed and the pipeline is empty
  kFault,         // the program did something that cannot be executed: fault says what and where
};
constexpr int kStopReasons = 11;

struct Stop {
  StopReason reason = StopReason::kBudget;
  u64 cycle = 0;    // local time of the core: issued bundles + stalls
  u32 pc = 0;       // address of the bundle concerned
  int lock_id = 0;  // 0..63 as the core sees them: 0.. south, 16.. west, 32.. north, 48.. own
  i32 amount = 0;   // acq: < 0 wait for value >= -amount and add amount; >= 0 wait for equality. rel: added
  bool blocking = true;   // stream access: false for the .nb forms
  bool tlast = false;     // stream write
  bool is_write = false;  // tile register, neighbour
  u32 window = 0;         // neighbour: 4 south, 5 west, 6 north
  u32 address = 0;        // neighbour: core address; tile register: offset in the tile's register space
  u32 word = 0;           // stream write, tile register write
  const u8* cascade = nullptr;
  std::string fault;
};

struct CoreOptions {
  bool hazards = false;  // report operands read while a write to them is in flight
  bool uninitialised =
      false;           // report registers, and memory (see set_written), read before anything wrote them
  bool traces = true;  // false: every bundle goes through the pipeline model
  // False: what compiled programs do with vectors that are not aligned is done as they need it. A load of 32
  // bytes ignores the low five bits of its address (an unaligned load is two of them, from p and p + 32, and
  // a vshift by p & 31); an access of 64 bytes takes any multiple of 32. True: both are faults, because
  // programs of ours never mean them. Others are always faults, as nothing public says what they do.
  bool strict_alignment = false;
  bool neighbour_stops = true;  // false: bundles use neighbour pointers directly, without a kNeighbour stop
};

// An operand was read before the write in flight to it was visible (legal: it got the old value), or was
// never written; or memory that nothing has written.
struct Hazard {
  enum class Kind : u8 { kEarlyRead, kUninitialised, kUnwrittenMemory };
  Kind kind = Kind::kEarlyRead;
  u32 producer_pc = 0;
  u32 consumer_pc = 0;
  isa::Reg reg = isa::Reg::kNone;  // register read by the consumer
  u32 address = 0;                 // kUnwrittenMemory: first such byte that was read, as the core sees it
  int missing_cycles = 0;
  u64 count = 0;
  // kEarlyRead: how often somebody has read that result afterwards. Software pipelines read old values on
  // purpose and use each result; a result that nobody ever uses came too late for who wanted it.
  u64 results_used = 0;
  std::string text() const;
};

// Told of every access that a core makes to data memory, in the order of their memory cycles as far as locks,
// streams and neighbours are concerned: an access whose memory cycle lies behind a release comes after it.
class AccessObserver {
 public:
  virtual ~AccessObserver() = default;
  // address: as the core sees it; cycle: of the core's local time.
  virtual void accessed(u32 address, u32 bytes, bool write, u32 pc, u64 cycle) = 0;
};

struct CoreCounters {
  u64 bundles = 0;          // issued
  u64 traced = 0;           // of these, within traces (a figure of the host's speed, not of the core)
  u64 matrix_ops = 0;       // vmac, vmul and relatives issued (not accumulator add, neg, clr)
  u64 accumulator_ops = 0;  // vadd, vsub, vneg, vclr, vmov.d in the vec slot
  u64 loads = 0, stores = 0;
  std::array<u64, kStopReasons> stall_cycles{};  // by the reason of the stop that was waited for
  std::array<u64, 4> events{};                   // event #0, #1, warning, error
};

class Machine;

class Core {
 public:
  Core();
  ~Core();
  Core(Core&&) noexcept;
  Core& operator=(Core&&) noexcept;

  void set_memory(u8* own64k);                 // must outlive the core
  void set_neighbour(u32 window, u8* memory);  // window 4..6; nullptr: nothing there, access is a fault
  void set_program(const u8* program16k);      // must outlive the core
  // For CoreOptions::uninitialised: one byte per byte of the memory of a window (4..7), not 0 once written.
  // The core marks what it stores. Without it the memory counts as written.
  void set_written(u32 window, u8* written64k);
  void set_observer(AccessObserver* observer);  // must outlive the core; nullptr: none
  void set_core_id(u32 id);
  void set_options(const CoreOptions& options);  // also forgets the hazards so far
  void invalidate_program();                     // after program memory was written
  void reset();  // pc 0, registers zero (vadd.. sign registers: Sign1 = 1), pipeline empty, time kept
  void reset(u64 cycle);  // same, and sets local time

  // Runs for at most cycle_budget cycles of local time, or until a synchronisation point.
  Stop run(u64 cycle_budget);

  // Completes the synchronisation point of the last stop at local time `cycle` (>= Stop::cycle). The bundle
  // then executes on the next run().
  void resume(u64 cycle);
  void resume_word(u64 cycle, u32 word, bool success = true);  // stream read, tile register read
  void resume_cascade(u64 cycle, const u8* bytes64);

  u64 cycle() const;
  u32 pc() const;
  const CoreCounters& counters() const;
  const std::vector<Hazard>& hazards() const;

  // For tests, debuggers and the tile's register space: architectural registers, low bits first, 256 bytes at
  // most.
  std::array<u8, 256> read_register(isa::Reg reg) const;
  void write_register(isa::Reg reg, const std::array<u8, 256>& value);
  u32 read_scalar(isa::Reg reg) const;
  void write_scalar(isa::Reg reg, u32 value);

 private:
  std::unique_ptr<Machine> machine_;
};

// True when the emulator executes this instruction with these operands; others stop with kFault. Tries what
// predecoding does, so there is no second list that could differ from it.
bool core_implements(const isa::Instr& instr);
// The same with the first register of each operand's class.
bool core_implements(isa::Op op);

}  // namespace tegula::emu
