// The emulated XDNA2 array: 48 tiles with memories, locks, DMA, stream switches and cores, and the controller
// that runs instruction streams on them. State stays between runs, as on the device. Results, cycles and
// reports are the same for any number of threads.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "arch/grid.h"
#include "arch/register_op.h"
#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "emu/core.h"

namespace tegula::emu {

class CoreModel;
class Engine;

// Host memory as the shim DMA sees it, supplied by the driver for one run.
class DdrMemory {
 public:
  virtual ~DdrMemory() = default;
  // The bytes [device_address, device_address + bytes) if one mapped buffer holds all of them; otherwise an
  // error that becomes a memory fault of the run. device_address is what the stream's argument base and
  // offset give (the 2 GiB that the shim adds is already taken off). Called by one thread at a time; the
  // pointer is used at once.
  virtual Result<u8*> translate(u64 device_address, u64 bytes, bool write) = 0;
};

// What happened on the array, for timelines; times in cycles from the start of the run.
struct TimelineEvent {
  // kBd: from the load of a BD to its end, waits included; kLockWait, kStreamWait: parts of it in which the
  // channel waited for its lock, or for words (S2MM) or room (MM2S). kCoreWait: between two kCoreBusy.
  enum class Kind : u8 { kTransfer, kCoreBusy, kCoreWait, kControllerOp, kBd, kLockWait, kStreamWait };
  Kind kind = Kind::kTransfer;
  arch::Tile tile;  // source tile of a transfer
  arch::Direction direction = arch::Direction::kMm2s;
  u8 channel = 0;
  u64 start = 0, end = 0;
  // kTransfer: words per destination; kControllerOp: opcode; kBd: BD number; kCoreWait: StopReason;
  // kLockWait: lock
  u32 words = 0;
  u32 lock = 0xFFFFFFFF;  // kCoreWait for a lock: tile index << 8 | lock
  u64 feeds = 0;  // not 0: the event whose `fed_by` has this number could begin because this one ended
  u64 fed_by = 0;
};

struct RunOptions {
  int threads = 0;                                 // 0: default_threads()
  u64 max_cycles = 3'600'000'000;                  // 2 s at 1.8 GHz, the driver's watchdog
  std::vector<TimelineEvent>* timeline = nullptr;  // filled when not null
  bool survive_core_faults = false;  // a core that meets what it cannot execute halts, and the rest goes on
};

// Waiting of a core for one lock.
struct LockWaitReport {
  arch::Tile tile;  // of the lock
  int lock = 0;
  u64 cycles = 0;
  u64 waits = 0;  // that took longer than no time
};

struct CoreReport {
  arch::Tile tile;
  u64 cycles = 0;  // local time that passed in this run
  u64 bundles = 0;
  u64 matrix_ops = 0;
  u64 stall_cycles = 0;  // all waiting: what follows, and neighbours' memories and registers
  u64 lock_cycles = 0;
  u64 stream_cycles = 0;
  u64 cascade_cycles = 0;
  std::vector<LockWaitReport> locks;
  // Not in `cycles`, which are those of a memory without conflicts: expected conflicts of the core's accesses
  // with those of the DMA (cost_model.h).
  u64 estimated_conflict_cycles = 0;
};

struct ChannelReport {
  arch::Tile tile;
  arch::Direction direction = arch::Direction::kS2mm;
  int channel = 0;
  u64 words = 0;
  u64 busy_cycles = 0;    // words were moving
  u64 lock_cycles = 0;    // a BD waited for its lock
  u64 stream_cycles = 0;  // S2MM: starved, no words came; MM2S: blocked, no room or no route
  u64 bds = 0;            // finished
  u64 tasks = 0;
};

// Words through a master port of a stream switch.
struct LinkReport {
  arch::Tile tile;
  int master = 0;
  u64 words = 0;
};

// What Array::watch looks for. Each makes cores run slower.
struct Checks {
  bool uninitialised = false;  // reads of registers and memory that nothing has written
  bool hazards = false;        // registers read too early for a result that then nobody reads
  bool early_reads = false;    // all that are read while a write to them is in flight: legal, the old value
  bool races = false;          // accesses to the same bytes of data memory that nothing orders
  bool alignment = false;      // faults for what CoreOptions::strict_alignment forbids

  bool any() const { return uninitialised || hazards || early_reads || races || alignment; }
};

struct HazardReport {
  arch::Tile tile;
  Hazard hazard;

  std::string text() const { return arch::tile_name(tile) + ": pc " + hazard.text(); }
};

constexpr u32 kConfiguration = 0xFFFFFFFF;  // RaceAccess::place, before any stream

struct RaceAccess {
  enum class Who : u8 { kController, kCore, kChannel };
  Who who = Who::kController;
  arch::Tile tile;  // of the core or channel
  arch::Direction direction = arch::Direction::kS2mm;
  int channel = 0;
  bool write = false;
  u32 place = 0;  // pc of a core, BD of a channel, operation of the controller's stream
  u64 cycle = 0;  // of the array since its reset

  std::string name() const;  // "core (0,2) S2MM0"
};

// A lock that one of the two gives after its access, which the other would have to take before its own.
struct RaceLock {
  arch::Tile tile;
  int lock = 0;
  bool by_first = false;
};

struct RaceReport {
  arch::Tile tile;  // of the memory
  u32 address = 0;  // in it: the first bytes found
  u32 bytes = 0;
  RaceAccess first, second;  // by cycle
  std::vector<RaceLock> locks;
  u64 count = 0;  // pieces of memory and repetitions

  std::string text() const;
};

// What the checks found since the last reset.
struct Findings {
  std::vector<std::string> poison;  // reads of registers and memory that nothing has written, a line each
  std::vector<HazardReport> hazards;
  std::vector<RaceReport> races;  // at most 16 for each memory

  size_t count() const { return poison.size() + hazards.size() + races.size(); }
  std::string first() const;  // one of them as text; empty: there is none
};

struct RunReport : Findings {
  u64 cycles = 0;             // from the first stream operation to the end of the last
  u64 submission_cycles = 0;  // modelled cost of the submission before that
  u64 ddr_bytes_read = 0;
  u64 ddr_bytes_written = 0;
  u64 controller_ops = 0;
  std::array<u64, 256> ops_by_code{};
  u64 events = 0;  // of the engine: a measure of the emulator's own work
  u64 segments = 0;
  std::vector<CoreReport> cores;        // those that ran
  std::vector<ChannelReport> channels;  // those that moved words
  std::vector<LinkReport> links;        // those that moved words
  u64 max_port_words = 0;               // of the busiest stream switch master port
  std::string max_port;                 // its name: "shim (0,0) North1"
  std::vector<std::string> notes;       // legal but suspicious: lock overflow and the like, at most 16

  double seconds() const;  // modelled, with submission
};

enum class RunEnd : u8 {
  kDone,
  kStreamError,  // the controller cannot execute the stream: damaged, unknown operation or register
  kArrayError,   // a tile found an error: bad BD, queue overflow, missing route, core fault
  kDeadlock,     // nothing can move any more, or max_cycles passed
  kMemoryFault,  // the shim DMA left the mapped buffers
};
const char* run_end_name(RunEnd end);

struct RunResult {
  RunEnd end = RunEnd::kDone;
  std::string message;        // one line, empty when done
  u32 op_index = 0xFFFFFFFF;  // stream operation that failed or waited
  arch::Tile tile;            // place of the fault
  RunReport report;           // up to the failure

  bool ok() const { return end == RunEnd::kDone; }
};

// What a core is doing.
struct CoreState {
  bool enabled = false;  // it was enabled and not reset since
  bool done = false;     // it executed `done`
  std::string fault;     // it halted there (RunOptions::survive_core_faults)
  std::string waits;     // what it waits for: "lock 5 of core (0,2): is 0, needs >= 1"; empty: it runs
  // The lock, if it is one. amount as in Stop::amount.
  bool waits_for_lock = false;
  arch::Tile lock_tile;
  int lock = 0;
  i32 amount = 0;
  bool lock_has_giver = false;  // a BD of the array gives it, or a core ever did
};

// Makes the core of a tile. The default makes the real one; tests put scripted ones there.
using CoreFactory = std::function<std::unique_ptr<CoreModel>(arch::Tile)>;

// Data memory that nothing wrote holds this word: NaN as fp32 and as bf16, and a number nobody computes as an
// integer.
constexpr u32 kPoisonWord = 0x7FBADBAD;

int default_threads();  // host threads that runs take unless told: two where the host has them

class Array {
 public:
  Array();
  explicit Array(const CoreFactory& factory);
  ~Array();
  Array(Array&&) noexcept;
  Array& operator=(Array&&) noexcept;

  // Everything as after power-on: poison in the memories, locks 0, nothing configured, cores in reset.
  void reset();

  // Resets, and from then on checks what runs; see Findings.
  void watch(const Checks& checks);

  // Register and memory access by address (arch::tile_address). An address without a register is kNotFound
  // and names tile, offset and value; a write that the tile refuses (full queue, invalid BD) is kDevice.
  Result<void> write32(u32 address, u32 value);
  Result<void> mask_write32(u32 address, u32 mask, u32 value);
  Result<void> block_write(u32 address, std::span<const u32> words);
  Result<u32> read32(u32 address);

  // A configuration (the commands of a CDO). Stops at the first error.
  Result<void> apply(std::span<const arch::RegisterOp> ops);

  // Executes an instruction stream (TXN) to its end. DDR patch argument i is argument_addresses[i]. After a
  // result that is not ok the array must be reset before it is used again.
  RunResult run_stream(ByteSpan stream, std::span<const u64> argument_addresses, DdrMemory& ddr,
                       const RunOptions& options = {});

  // Lets the array run by itself, without a stream, until nothing moves or the cycles have passed.
  RunResult settle(DdrMemory& ddr, u64 cycles, const RunOptions& options = {});

  // Direct looks inside, for tests and inspectors.
  std::span<u8> data_memory(arch::Tile tile);  // empty at a shim
  int lock_value(arch::Tile tile, int lock) const;
  u64 tokens(arch::Tile tile, arch::Direction direction, int channel) const;  // issued and not yet taken
  const CoreModel& core(arch::Tile tile) const;                               // rows 2..5
  CoreState core_state(arch::Tile tile) const;                                // rows 2..5
  // Every route as text, one per source and packet id, sorted: "shim (0,0) MM2S0 -> core (0,2) S2MM0, ...".
  std::vector<std::string> routes();
  // Bundles that each host thread has executed since the array was made; the only figure that differs from
  // run to run.
  std::vector<u64> thread_bundles() const;
  // What every busy or waiting part of the array is doing, one line each.
  std::vector<std::string> explain() const;

 private:
  std::unique_ptr<Engine> engine_;
};

}  // namespace tegula::emu
