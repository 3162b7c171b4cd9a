// The array engine behind emu::Array: state of all tiles and one time-ordered event queue. Not a public
// header.
//
// DMA moves whole segments: when a source (an MM2S channel or a core's stream port) and every destination of
// its route are ready, the smallest number of words that all can take moves as one segment of that many
// cycles; bytes are copied when it ends. Cores run in bursts from one synchronisation point to the next; all
// runnable cores run before an event later than the earliest of them is processed, so threads cannot change a
// result.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arch/dma.h"
#include "emu/address_walk.h"
#include "emu/array.h"
#include "emu/burst_pool.h"
#include "emu/core_model.h"
#include "emu/ddr_share.h"
#include "emu/event_queue.h"
#include "emu/poison.h"
#include "emu/races.h"
#include "emu/switches.h"
#include "format/txn.h"

namespace tegula::emu {

struct Channel;
struct CoreSlot;

// Component numbers in the event queue; they also break ties in time.
constexpr u32 kControllerComponent = 0;
constexpr u32 kFlowComponent = 1;  // + tile index * 8 + flow of the tile
constexpr u32 kFlowsPerTile = 8;   // MM2S 0..5, core stream port 6
constexpr u32 kCoreFlow = 6;
constexpr u32 kDdrComponent = kFlowComponent + kFlowsPerTile * arch::kTiles;
constexpr u32 kCoreComponent = kDdrComponent + 1;  // + tile index

struct LockRef {
  arch::Tile tile;
  u8 lock = 0;
};

// Who waits for a lock: a DMA channel, or a core if channel is null.
struct LockWaiter {
  Channel* channel = nullptr;
  arch::Tile core;
  i32 amount = 0;
};

// Who did something: a DMA channel, a core, or with neither a register write from outside.
struct Actor {
  Channel* channel = nullptr;
  CoreSlot* core = nullptr;
};

struct LockState {
  i32 value = 0;
  std::vector<LockWaiter> waiters;  // in order of arrival
  // What last changed the value, for explanations.
  Actor last;
  i32 last_amount = 0;
  u64 last_time = 0;
  bool touched = false;
  u64 givers = 0;           // cores that ever gave it, a bit per core
  std::deque<u64> origins;  // with a timeline: of each unit of the value, the event that gave it (0: unknown)
  LockClocks clocks;        // with races watched
};

// One source of a stream and what it is sending.
struct Flow {
  arch::Tile tile;
  u32 component = 0;
  Channel* channel = nullptr;  // null: the core's stream port
  int slave = -1;              // port at which it enters the switch
  std::shared_ptr<const Route> route;
  bool packet = false;       // the route is packet-switched
  bool in_packet = false;    // arbiters are held
  bool header_done = false;  // of the present packet
  bool moving = false;
  bool header_segment = false;
  bool stuck = false;  // no route; tried again when a switch register changes
  u32 header = 0;
  u32 epoch = 0;
  u32 words = 0;  // of the segment
  u64 started = 0;
};

struct Channel {
  enum class State : u8 { kIdle, kLockWait, kReady, kMoving, kFinishing };

  arch::Tile tile;
  arch::Direction direction = arch::Direction::kS2mm;
  u8 number = 0;
  Flow flow;  // MM2S only

  u32 ctrl = 0;
  bool overflow = false;  // sticky: a task was pushed to a full queue
  bool paused = false;    // shim
  State state = State::kIdle;
  std::deque<arch::Task> queue;
  arch::Task task;
  int runs_left = 0;  // of the running task, with the present one
  int bd_number = 0;
  arch::Bd bd;
  AddressWalk walk;
  std::optional<PaddedWalk> padded;  // instead of walk
  bool awaits_header = false;        // out of order: the next word names the BD
  u32 header = 0;
  std::deque<u32> finish_counts;     // finish-on-TLAST, mode 3
  u8* memory = nullptr;              // offset 0 of the walk; null at the shim
  u64 ddr_address = 0;               // shim: device address of offset 0
  u64 left = 0;                      // words
  u64 loaded_at = 0;                 // the BD
  u64 waiting_since = 0;             // for the lock, or for words or room
  u64 fed_by = 0;                    // event that the lock of the BD came from
  std::vector<Flow*> waiting_flows;  // S2MM: sources that want to send here

  u64 tokens = 0;
  ChannelReport report;

  // With races watched: what its queued tasks and its tokens carry.
  std::deque<ClockCopy> task_clocks, token_clocks;

  std::string name() const;
  bool out_of_order() const {
    return direction == arch::Direction::kS2mm && (ctrl & arch::kCtrlOutOfOrder) != 0;
  }
  bool finishes_on_tlast() const {
    return direction == arch::Direction::kS2mm && (ctrl & arch::kCtrlFotMask) != 0;
  }
};

struct CoreSlot {
  enum class State : u8 {
    kOff,
    kRunnable,
    kStopped,
    kLockWait,
    kStreamRead,
    kStreamWrite,
    kCascadeRead,
    kCascadeWrite,
    kDone,
    kFaulted  // halted by a fault that the run survived
  };
  struct OutWord {
    u32 word;
    bool tlast;
  };

  std::unique_ptr<CoreModel> model;
  arch::Tile tile;
  State state = State::kOff;
  u32 control = arch::kCoreReset;
  u32 epoch = 0;
  bool fresh = true;  // in reset since it last ran
  bool program_dirty = true;
  u64 start = 0;  // of the burst, when runnable
  Stop stop;
  Flow flow;  // the core's stream port as a source
  std::deque<OutWord> out;
  std::deque<u32> in;
  u32 in_reserved = 0;  // words of segments on their way
  std::vector<Flow*> waiting_flows;
  std::deque<std::array<u8, 64>> cascade_in;
  ClockCopy out_clock, in_clock, cascade_clock;  // with races watched: of the last words in these
  u64 fed_by = 0;                                // event that fed the work since the last acquire
  u64 last_event = 0;                            // of the last burst
  std::vector<LockWaitReport> lock_waits;
  CoreCounters base;  // at the start of the run
  u64 base_cycle = 0;
};

struct TileState {
  arch::Tile tile;
  std::vector<u8> storage;  // data memory and its alignment slack
  u8* data = nullptr;       // 64-byte aligned
  std::vector<u8> program;
  std::array<arch::BdWords, 48> bd_words{};
  std::array<arch::Bd, 48> bds{};
  std::array<bool, 48> bd_fresh{};  // bds[i] is the decoded form of bd_words[i]
  std::vector<LockState> locks;
  std::array<std::array<Channel, 6>, 2> channels;
  std::unordered_map<u32, u32> stubs;  // registers without a model
  std::vector<u32> control_words;      // a control packet on its way in
  bool control_drop = false;
  ActorId control_sender = kControllerActor;
  CoreSlot* core = nullptr;
};

// The controller and its stream.
struct Controller {
  format::TxnStream stream;
  std::vector<u64> arguments;
  bool running = false;
  u32 next = 0;          // operation
  u32 tokens_taken = 0;  // of a wait over several tiles
  Channel* waiting = nullptr;
  bool polling = false;
  u64 first_cycle = 0;
};

class Engine {
 public:
  explicit Engine(const CoreFactory& factory);

  void reset();
  void watch(const Checks& checks);  // Array::watch

  Result<void> write(u32 address, u32 value);
  Result<void> mask_write(u32 address, u32 mask, u32 value);
  Result<void> block_write(u32 address, std::span<const u32> words);
  Result<u32> read(u32 address);
  Result<void> refused();  // the error of the first failure, if there is one

  RunResult run_stream(ByteSpan stream, std::span<const u64> arguments, DdrMemory& ddr,
                       const RunOptions& options);
  RunResult settle(DdrMemory& ddr, u64 cycles, const RunOptions& options);

  TileState& at(arch::Tile tile) { return tiles_[tile.index()]; }
  const TileState& at(arch::Tile tile) const { return tiles_[tile.index()]; }
  std::vector<std::string> routes();
  const std::vector<u64>& thread_bundles() const { return thread_bundles_; }
  std::vector<std::string> explain() const;
  CoreState core_state(const CoreSlot& core) const;

 private:
  struct Failure {
    RunEnd end;
    arch::Tile tile;
    std::string message;
  };

  // engine.cc: time
  RunResult run(DdrMemory& ddr, u64 deadline, const RunOptions& options, bool until_stream_end);
  void main_loop(u64 deadline, bool until_stream_end);
  void process(const Event& event);
  void run_bursts();
  void fault(RunEnd end, arch::Tile tile, std::string message);
  void note(std::string text);
  void watch_cores();
  void begin_report();
  RunReport finish_report(u64 start) const;
  u64 conflict_estimate(const CoreSlot& core, u64 run_cycles) const;
  // Adds a timeline event; what lies before the start of the run is cut off.
  void record(TimelineEvent event) {
    if (timeline_ == nullptr || event.end <= event.start || event.end <= run_start_) return;
    event.start = std::max(event.start, run_start_) - run_start_;
    event.end -= run_start_;
    timeline_->push_back(event);
  }
  void record(const Channel& channel, TimelineEvent::Kind kind, u64 start, u32 words);

  // registers.cc
  Result<void> write_tile(arch::Tile tile, u32 offset, u32 value);
  bool write_dma(TileState& tile, u32 offset, u32 value);
  bool write_locks(TileState& tile, u32 offset, u32 value);
  bool write_memory(TileState& tile, u32 offset, u32 value);
  bool write_special(TileState& tile, u32 offset, u32 value);
  std::optional<u32> read_tile(arch::Tile tile, u32 offset);
  std::optional<u32> read_dma(TileState& tile, u32 offset);
  u32 channel_status(const Channel& channel) const;
  u32 lock_request(TileState& tile, u32 offset);
  void control_core(TileState& tile, u32 value);

  // locks.cc
  // `origin`: where to put the event that gave what was taken (with a timeline).
  ActorId actor_id(const Actor& actor) const;
  bool try_acquire(LockState& lock, i32 amount, const Actor& actor, u64* origin);
  void release(LockRef ref, i32 amount, const Actor& actor, u64 origin);
  void changed(LockState& lock, const Actor& actor, i32 amount);
  void wake(LockRef ref);
  std::optional<LockRef> core_lock(arch::Tile core, int id) const;
  std::optional<LockRef> dma_lock(const Channel& channel, int id) const;
  LockState& lock(LockRef ref) { return at(ref.tile).locks[ref.lock]; }

  // dma.cc
  void push_task(Channel& channel, u32 word);
  void reset_channel(Channel& channel);
  void start_task(Channel& channel);
  void load_bd(Channel& channel, int number);
  bool check_bd(Channel& channel, int number);
  bool place_bd(Channel& channel);
  void acquired(Channel& channel);
  void end_wait(Channel& channel, u64* sum, TimelineEvent::Kind kind);
  void await_header(Channel& channel);
  void open_named_bd(Channel& channel);
  void finish_on_tlast(Channel& channel);
  void finish_bd(Channel& channel);
  void send_token(Channel& channel);
  u8* ddr_pointer(Channel& channel);
  bool watches_words() const { return poison_ != nullptr || races_ != nullptr; }
  void watch_words(const Channel& channel, u64 words, bool write);
  void watch_piece(const Channel& channel, u64 offset, u64 words, bool write);
  const u8* read_words(Channel& channel, u64 words);
  const u8* read_padded(Channel& channel, u64 words);
  void write_words(Channel& channel, const u8* from, u64 words);
  template <bool kWrite>
  void ddr_words(Channel& channel, u8* linear, u64 words);

  // flow.cc
  void try_start(Flow& flow);
  bool find_route(Flow& flow);
  bool open_packet(Flow& flow);
  void close_packet(Flow& flow);
  u64 source_words(const Flow& flow) const;
  u64 sink_room(const Sink& sink) const;
  void wait_for(const Sink& sink, Flow& flow);
  void retry(std::vector<Flow*>& waiting);
  void begin_segment(Flow& flow, u64 words);
  void end_segment(Flow& flow);
  void end_ddr_segments();
  void schedule_ddr();
  bool postpone_copy(const Flow& flow, Channel& channel, const u8* words);
  void run_copies();
  const u8* take_words(Flow& flow, bool* tlast);
  void after_segment(Flow& flow, const Route& route, bool tlast);
  void take_header(const Flow& flow, const Sink& sink, Channel& channel, u32 word);
  void too_long(const Channel& channel);
  void deliver(Flow& flow, const Sink& sink, const u8* words);
  void order_words(const Flow& flow, const Sink& sink);
  void control_packet(TileState& tile);
  void retry_after_switch_change();

  // cores.cc
  CoreSlot* core_at(arch::Tile tile) { return at(tile).core; }
  void make_runnable(CoreSlot& core, u64 cycle);
  void queue_stop(CoreSlot& core, Stop stop);
  void core_stop(CoreSlot& core);
  void resume_core(CoreSlot& core);
  void core_acquire(CoreSlot& core);
  void lock_wait(CoreSlot& core, LockRef ref);
  void core_release(CoreSlot& core);
  void core_register(CoreSlot& core);
  void core_neighbour(CoreSlot& core);
  void core_stream_read(CoreSlot& core);
  void core_stream_write(CoreSlot& core);
  void core_cascade_read(CoreSlot& core);
  void core_cascade_write(CoreSlot& core);
  CoreSlot* cascade_target(const CoreSlot& core);
  CoreSlot* cascade_source(const CoreSlot& core);
  void connect_core(CoreSlot& core);

  // controller.cc
  void controller_step();
  bool controller_op(const format::TxnOp& op);  // false: not done yet
  bool take_tokens(const format::TxnTokenWait& wait);
  bool patch(const format::TxnDdrPatch& op);
  bool poll(const format::TxnMaskPoll& op);
  void polled(u32 address);
  bool stream_write(u32 address, u32 value, u32 mask);

  // explain.cc
  std::string explain_channel(const Channel& channel) const;
  std::string explain_core(const CoreSlot& core) const;
  std::string explain_controller() const;
  std::string explain_flow(const Flow& flow) const;
  std::string explain_lock(LockRef ref, i32 amount) const;
  std::string deadlock_text() const;

  // deadlock.cc: who waits for whom
  using Party = u32;
  Party party(const Channel& channel) const;
  Party party(const CoreSlot& core) const;
  std::string party_name(Party party) const;
  std::string party_wait(Party party) const;
  std::vector<Party> waits_for(Party party) const;
  std::vector<Party> lock_givers(LockRef ref) const;
  std::vector<Party> senders_to(arch::Tile tile, int channel) const;
  const Channel* channel_of(Party party) const;
  const CoreSlot* core_of(Party party) const;
  bool find_circle(Party at, std::vector<Party>& path, std::vector<bool>& seen) const;
  std::string last_change(LockRef ref) const;
  std::string circle_text() const;

  std::array<TileState, arch::kTiles> tiles_;
  std::vector<CoreSlot> cores_;
  Switches switches_;
  std::array<Flow*, arch::kTiles * arch::kArbiters> arbiter_owner_{};
  std::array<std::vector<Flow*>, arch::kTiles * arch::kArbiters> arbiter_waiting_;
  std::array<std::array<u64, arch::kMaxPorts>, arch::kTiles> port_words_{};
  EventQueue queue_;
  std::vector<CoreSlot*> runnable_;
  Controller controller_;
  Checks checks_;
  std::unique_ptr<Poison> poison_;  // null: not watched
  std::unique_ptr<Races> races_;    // the same
  u64 now_ = 0;
  DdrShare ddr_share_;
  u32 ddr_epoch_ = 0;  // of the event for its next end
  std::optional<Failure> failure_;
  // Copies from DDR to tiles of transfers that end in the same cycle, to be done together by all threads.
  // Nothing reads or writes their ends before run_copies().
  struct Copy {
    u8* to;
    const u8* from;
    u64 bytes;
  };
  std::vector<Copy> copies_;
  bool postponing_ = false;
  std::vector<u8> staging_;            // gathered words of a segment
  std::vector<u8> port_words_buffer_;  // of a core's port, or a header

  // of the present run
  DdrMemory* ddr_ = nullptr;
  std::vector<TimelineEvent>* timeline_ = nullptr;
  u64 event_number_ = 0;  // of events that feed others
  u64 run_start_ = 0;
  bool survive_core_faults_ = false;
  std::unique_ptr<BurstPool> pool_;
  int pool_threads_ = 0;
  std::vector<u64> thread_bundles_;  // executed by each host thread
  RunReport report_;
};

}  // namespace tegula::emu
