// State of one core and the micro-operations that its program is predecoded into. Internal to emu/core.
//
// Time: `pipe` counts un-stalled cycles, one per issued bundle. An operand with read cycle u (schedule
// tables, counted from 1) of a bundle issued at t is sampled at t + u - 1; a result with write cycle d is
// visible from t + d, one cycle earlier to a matching bypass. Within one cycle: results become visible, late
// operands are sampled, the bundle issues, loads access memory, stores access memory.
#pragma once

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "emu/core.h"
#include "emu/core/datapath.h"
#include "emu/core/registers.h"

namespace tegula::emu {

class Machine;
struct AddressStream;
struct Trace;
struct TraceOp;
struct TraceSet;
struct Uop;
using Handler = void (*)(Machine&, const Uop&);
// A later step of an operation that issued at `issue`; buf is its own scratch, see Machine::buffer.
using Stage = void (*)(Machine&, const Uop&, u8* buf, u64 issue);
// The memory access of a load, at pipeline cycle 5.
using LoadStage = void (*)(Machine&, const Uop&, const u8* source, u8* buf, u64 issue);

// Shape of a delayed result.
enum class Kind : u8 { kNone, k32, k64, k128, k256, k512, k1024, k2048, kEx, kQx, kQex, kOr32 };

constexpr u8 kFlagReadsMvBypass = 1;
constexpr u8 kFlagWritesBypass = 2;  // MV bypass of an mv-slot result, VEC bypass of a vec-slot result
constexpr u8 kFlagNow = 4;           // writes its result when it runs and uses nothing but registers
constexpr u8 kFlagPlainStore = 8;    // stores register `a` as it is

struct alignas(64) Uop {
  Handler run = nullptr;
  LoadStage load = nullptr;
  Stage stage = nullptr;  // a step that samples operands late
  u16 dst = kNoRegister, dst2 = kNoRegister;
  u16 a = kZeroRegister, b = kZeroRegister, c = kZeroRegister, d = kZeroRegister;
  u16 x1 = kZeroRegister, x2 = kZeroRegister,
      x3 = kZeroRegister;  // control and status registers, third operands
  u16 size = 0;            // bytes of memory
  i32 imm = 0;
  u32 mask = ~u32{0};
  u8 latency = 1, latency2 = 1;
  Kind kind = Kind::kNone, kind2 = Kind::kNone;
  u8 slot = 0;  // index of the scratch ring
  u8 mem = 0;   // index of the bundle's address
  u8 aux = 0;   // variant of the handler
  u8 flags = 0;
};
static_assert(sizeof(Uop) == 64);

// How a memory instruction or pointer addition forms its address and updates its pointer. Computed for all of
// a bundle before any of its slots takes effect.
enum class Update : u8 { kNone, kLinear, k2D, k3D, kFill, kPop, kPush };

struct AddressOp {
  i32 imm = 0, update_imm = 0;
  u16 base = kZeroRegister, index = kZeroRegister;
  u16 update_index = kZeroRegister, position = kZeroRegister;
  u16 size = 0;  // 0: no memory access
  Update update = Update::kNone;
  bool negate = false;  // subtract the index
  u8 align_mask = 0;
  u8 generator = 0;  // d register of 2D / 3D
  bool write = false;
  u8 load = 0;  // 1 + index, behind the bundle's operations, of the load that starts here; 0: none
};

enum class SyncKind : u8 {
  kAcquire,
  kStreamRead,
  kStreamWrite,
  kCascadeRead,
  kCascadeWrite,
  kTileRead,
  kTileWrite
};

constexpr u32 kSyncsPerBundle = 4;  // one in each of the lda, alu, st and vec slots

struct SyncOp {
  SyncKind kind;
  u16 id = kZeroRegister, value = kZeroRegister, condition = kNoRegister;
  i32 imm = 0;  // lock id, address offset
  bool id_is_imm = false, blocking = true;
  u8 tlast = 0;  // 0, 1, 2: register `condition`
};

constexpr u8 kBundleRelease = 1;
constexpr u8 kBundleDone = 2;

struct Access {
  isa::Reg reg;
  u16 offset, bytes;
  u8 cycle;
  isa::Bypass bypass;
};

// What is needed of a bundle only now and then.
struct DecodedDetail {
  SyncOp sync[kSyncsPerBundle];
  std::string fault;                  // not empty: stop here
  std::vector<Access> reads, writes;  // only for diagnosis, as the next
  u8 memory_cycle[3] = {};            // by address: of the access, counted from 1
};

// One bundle, ready to execute.
struct alignas(64) Decoded {
  const Uop* uops = nullptr;
  const Decoded* next = nullptr;  // at next_pc, where known
  DecodedDetail* detail = nullptr;
  u32 pc = 0, next_pc = 0;
  u8 uop_count = 0, address_count = 0, sync_count = 0, flags = 0;
  AddressOp address[3];
  mutable const TraceSet* traces = nullptr;  // of landings here; by atomic access
};
static_assert(sizeof(Decoded) == 128);

struct Commit {
  union {
    u64 value;
    const u8* data;
  };
  u16 dst, dst2;
  Kind kind;
};
static_assert(sizeof(Commit) == 16);

// A load on its way from issue to its result, in a ring by issue cycle. Loads without a function of their own
// keep their bytes here and are copied to the register when visible; the others queue their results
// themselves.
struct alignas(64) LoadEntry {
  u8 data[96];
  const u8* source;
  const Uop* uop;
};
constexpr int kLoadsPerBundle = 3;

struct StoreEntry {
  u8* target;
  const u8* data;
  u32 size;
};

struct EventEntry {
  Stage stage;
  const Uop* uop;
  u8* buf;
  u64 issue;
};

constexpr u32 kRing = 16;  // longer than any latency
constexpr int kCommitsPerCycle = 40, kStoresPerCycle = 8, kEventsPerCycle = 24;

// An odd number of cache lines, so that the hot starts of the sixteen slots do not compete for the same cache
// sets.
struct alignas(64) CycleSlot {
  u8 commits = 0, events = 0, stores = 0;
  Commit commit[kCommitsPerCycle];
  StoreEntry store[kStoresPerCycle];
  EventEntry event[kEventsPerCycle];
  u8 padding[64];
};
static_assert(sizeof(CycleSlot) / 64 % 2 == 1);

struct alignas(64) VecEntry {
  u8 result[256];
  u8 s1[128], s2[128];
  u8 e1[16], e2[16];
  MacArgs args;  // points into this entry
  MacFn fn;
  const Uop* uop;
  int cascade_position;  // -1: none
  u8 cascade[64];
};
constexpr u32 kVecRing = 8;

// A trace with a hardware loop unrolled, and what it was made for.
struct Expansion {
  const Trace* straight = nullptr;
  u32 start = 0, end = 0, left = 0;
  const Trace* trace = nullptr;
};

struct MacCache {
  u32 conf = 0;
  MacFn fn = nullptr;
  bool in_place = false;
  bool plain_block = false;  // block_8x8x8t with no sign turned and no accumulator zeroed by the control word
  void set(u32 word, MacFn function);
};

class DecodedProgram;

class Machine {
 public:
  Machine();

  // ---- used by handlers
  template <typename T>
  T get(u16 offset) const {
    return load_le<T>(regs + offset);
  }
  template <typename T>
  void set(u16 offset, T value) {
    store_le<T>(regs + offset, value);
  }
  u32 r(u16 offset) const { return get<u32>(offset); }

  // 256 bytes of result, 64 of raw input, 64 of parameters and a snapshot of a neighbour's memory, that live
  // until the operation of this slot retires.
  u8* buffer(u8 slot) { return buffer_at(slot, pipe); }
  u8* buffer_at(u8 slot, u64 issue) {
    return buffers + (static_cast<u32>(slot) * kRing + (issue & (kRing - 1))) * kBufferBytes;
  }

  void commit(u64 issue, u8 latency, const Commit& entry) {
    CycleSlot& at = ring[(issue + latency) & (kRing - 1)];
    if (at.commits < kCommitsPerCycle) at.commit[at.commits++] = entry;
  }
  void commit_value(u64 issue, u8 latency, u16 dst, Kind kind, u64 value) {
    Commit entry;
    entry.dst = dst;
    entry.dst2 = kNoRegister;
    entry.kind = kind;
    entry.value = value;
    commit(issue, latency, entry);
  }
  void commit_data(const Uop& u, u64 issue, const u8* data) {
    Commit entry;
    entry.dst = u.dst;
    entry.dst2 = u.dst2;
    entry.kind = u.kind;
    entry.data = data;
    commit(issue, u.latency, entry);
  }
  // Result of an mv-slot operation that issues now; remembers it for the MV bypass of the next bundle.
  void commit_mv(const Uop& u, const u8* data) {
    commit_data(u, pipe, data);
    if (u.flags & kFlagWritesBypass) {
      bypass_cycle = pipe + 1;
      bypass_uop = &u;
      bypass_data = data;
    }
  }
  void sticky(u64 issue, u8 latency, u16 dst, u32 bits) {
    commit_value(issue, latency, dst, Kind::kOr32, bits);
  }
  void event_at(u64 cycle, Stage stage, const Uop& u, u8* buf, u64 issue) {
    CycleSlot& at = ring[cycle & (kRing - 1)];
    if (at.events < kEventsPerCycle) at.event[at.events++] = {stage, &u, buf, issue};
  }
  void store_to(u8* target, bool now, u64 cycle, const u8* data, u32 size) {
    if (now) {
      std::memcpy(target, data, size);
      return;
    }
    CycleSlot& at = ring[cycle & (kRing - 1)];
    if (at.stores < kStoresPerCycle) at.store[at.stores++] = {target, data, size};
  }

  // ---- interface of Core
  Stop run(u64 budget);
  u64 time() const { return pipe + stalled; }
  void reset_state();
  void resume(u64 cycle);
  void drop_program();

  alignas(64) u8 regs[kRegisterBytes + 64] = {};
  u64 pipe = 0, stalled = 0;
  u8* own = nullptr;
  u8* neighbour[8] = {};
  u8* written[8] = {};                 // diagnosis: by window, see Core::set_written
  AccessObserver* observer = nullptr;  // diagnosis
  const u8* program = nullptr;

  // Addresses of the bundle that issues now.
  u8* memory_of[3] = {};
  bool eager[3] = {};
  u32 new_pointer[3] = {}, new_a[3] = {}, new_b[3] = {};

  // Branch in flight.
  u32 branch_delay = 0, branch_target = 0;
  u16 off_lc = 0, off_ls = 0, off_le = 0, off_lr = 0, off_core_id = 0;

  // Words that the array has handed over for the bundle at hand.
  u32 stream_word = 0, tile_word = 0;
  bool stream_success = true, stream_write_success = true;
  u8 cascade_word[64] = {};
  int release_id = 0;
  i32 release_amount = 0;

  u64 bypass_cycle = 0;
  const Uop* bypass_uop = nullptr;
  const u8* bypass_data = nullptr;

  // Vector pipeline: bit i of vec_live: an operation issued i cycles ago.
  u32 vec_live = 0;
  VecEntry vec[kVecRing];
  MacCache mac_cache[6];  // by unit and whether there is a product

  CoreCounters counters;
  CoreOptions options;
  std::vector<Hazard> hazards;
  std::string fault;       // set by a handler: stop after this bundle
  bool attention = false;  // something to look at after this bundle: fault, completed synchronisation

  // A read that the observer shall know of besides those of the bundle's addresses.
  void observe_read(u32 address, u32 bytes, u64 at);

  void raise(std::string text) {
    fault = std::move(text);
    attention = true;
  }

  static constexpr u32 kBufferBytes = 576;  // an odd number of cache lines
  static constexpr u32 kSnapshotAt = 384;
  static constexpr u32 kBufferSlots = 6;
  CycleSlot ring[kRing];
  LoadEntry loads[kRing][kLoadsPerBundle];
  u8 load_count[kRing] = {};
  u32 load_live = 0;  // bit i: loads issued i cycles ago
  alignas(64) u8 buffers[kBufferSlots * kRing * kBufferBytes];

  // Trace under way or waiting for its entry (trace.h).
  const Trace* trace = nullptr;
  u64 trace_at = ~u64{0};  // pipe of its first bundle; ~0: none
  u64 trace_base = 0;
  Expansion expansion;
  u8** trace_pointers = nullptr;  // addresses of the trace, computed ahead
  u8* trace_scratch = nullptr;

  // Moves the pipeline to a cycle of the trace without stepping through those between, where nothing happens.
  void trace_cycle(u32 cycle) {
    const u64 to = trace_base + cycle;
    const u64 ahead = to - pipe;
    if (ahead == 0) return;
    vec_live = ahead < 32 ? (vec_live << ahead) & 0x7F : 0;
    load_live = ahead < 32 ? (load_live << ahead) & 0x1FF : 0;
    pipe = to;
  }

  const Decoded* current = nullptr;
  u32 next_pc = 0;     // of the bundle to issue next
  bool begun = false;  // results of this cycle are visible already, its bundle has not issued
  u8 sync_done = 0;
  bool neighbour_ok = false;
  StopReason waiting = StopReason::kBudget;
  bool done = false;

 private:
  template <bool kDiagnose>
  Stop run_loop(u64 end);
  bool stops_after(const Decoded& d, Stop& stop);
  template <bool kDiagnose>
  bool issue(const Decoded& d, Stop& stop);
  void begin_cycle();
  void memory_cycle();
  void end_cycle();
  friend void model_begin_cycle(Machine& m, const TraceOp& op);
  friend void model_end_cycle(Machine& m, const TraceOp& op);
  friend void model_issue(Machine& m, const TraceOp& op);
  void land(const Decoded* d);
  const Decoded* run_trace(const Decoded* d, u64 last);
  const Trace* trace_here(const Decoded* d, u64 last);
  bool form_trace_addresses(const Trace& t);
  bool form_streams(const Trace& t);
  bool form_modified(const AddressStream& s, i64 start);
  void finish_loads(u64 issue);
  void access_loads(u64 issue);
  void clear_pipeline();
  void vec_stage4(VecEntry& entry, u64 issue);
  void apply(const Commit& entry);
  bool form_addresses(const Decoded& d, Stop& stop);
  bool slow_address(const Decoded& d, int k, u32 address, Stop& stop);
  const u8* snapshot(const LoadEntry& e);
  void form_update(const AddressOp& a, int k);
  void finish_addresses(const Decoded& d);
  void write_update(const AddressOp& a, int k);
  bool next_sync(const Decoded& d, Stop& stop);
  bool fill_sync_stop(const SyncOp& s, Stop& stop);
  void run_bypassed(const Uop& u);
  const Decoded* lookup(u32 pc);
  Stop make_stop(StopReason reason, const Decoded* d) const;
  Stop make_fault(const std::string& text) const;
  void drain();

  // Diagnosis
  struct InFlight {
    Access access;
    u64 issue;
    u32 pc;
  };
  std::vector<InFlight> in_flight_;
  std::vector<bool> defined_;
  std::vector<u64> issued_;  // 1 + cycle of issue of the write that a register byte shows
  // Results in flight that were read too early, until they are read or overwritten.
  struct LateResult {
    InFlight write;
    std::vector<size_t> hazards;  // numbers
    u64 end = ~u64{0};            // cycle in which another value takes its place
  };
  std::vector<LateResult> late_;
  // Accesses that the observer has not seen, as their memory cycle is still to come.
  struct UnseenAccess {
    u64 at;  // cycle of the pipeline
    u32 address, bytes;
    u32 pc;
    bool write;
  };
  std::vector<UnseenAccess> unseen_;
  bool diagnoses() const { return options.hazards || options.uninitialised || observer != nullptr; }
  void diagnose(const Decoded& d);
  void diagnose_memory(const Decoded& d);
  void diagnose_unwritten(const u8* memory, u32 window, const AddressOp& a, int k, u32 pc);
  void observe(const Decoded& d, int k, u32 address);
  void show_accesses(u64 before);
  size_t note_hazard(const Hazard& hazard);
  void note_early_read(const Access& read, const InFlight& write, u32 pc);
  void watch_result(const InFlight& write, size_t hazard);
  void use_late_results(const Access& read);
  bool shows_newer(const Access& read, const InFlight& write) const;
  void retire_writes();

  // The program shared with equal cores; bundles that its linear walk does not reach are decoded here.
  std::shared_ptr<const DecodedProgram> shared_;
  std::vector<const Decoded*> index_;  // by pc / 2, empty until needed
  std::deque<Decoded> bundles_;
  std::deque<DecodedDetail> details_;
  std::deque<std::vector<Uop>> uops_;
};

// Decodes the bundle at pc. What cannot be executed comes back as a bundle with a fault text.
// out.detail must be set.
void predecode(const u8* program, u32 pc, bool diagnose, Decoded& out, std::deque<std::vector<Uop>>& uops);

}  // namespace tegula::emu
