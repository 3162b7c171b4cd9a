// The public face of the core: stops and their completion, program cache, registers from outside.
#include "emu/core.h"

#include "emu/core/machine.h"
#include "emu/core/program.h"
#include "emu/core/text.h"

namespace tegula::emu {

Machine::Machine() {
  off_lc = register_offset(isa::Reg::lc);
  off_ls = register_offset(isa::Reg::ls);
  off_le = register_offset(isa::Reg::le);
  off_lr = register_offset(isa::Reg::lr);
  off_core_id = register_offset(isa::Reg::CORE_ID);
  for (VecEntry& e : vec) {
    e.args.s1 = e.s1;
    e.args.s2 = e.s2;
    e.args.e1 = e.e1;
    e.args.e2 = e.e2;
    e.args.out = e.result;
  }
  reset_state();
}

void Machine::reset_state() {
  const u32 core_id = r(off_core_id);
  std::memset(regs, 0, sizeof regs);
  set<u32>(off_core_id, core_id);
  for (const isa::Reg reg : {isa::Reg::srsSign1, isa::Reg::upsSign1, isa::Reg::packSign1,
                             isa::Reg::unpackSign1, isa::Reg::vaddSign1}) {
    set<u32>(register_offset(reg), 1);
  }
  clear_pipeline();
  branch_delay = 0;
  current = nullptr;
  next_pc = 0;
  begun = false;
  sync_done = 0;
  neighbour_ok = false;
  waiting = StopReason::kBudget;
  done = false;
  fault.clear();
  attention = false;
  in_flight_.clear();
  defined_.clear();
  late_.clear();
  issued_.clear();
  unseen_.clear();
}

void Machine::drop_program() {
  shared_ = nullptr;
  index_.clear();
  bundles_.clear();
  details_.clear();
  uops_.clear();
  current = nullptr;
  // Results in flight refer to micro-operations that are gone.
  clear_pipeline();
}

void Machine::clear_pipeline() {
  for (CycleSlot& slot : ring) slot.commits = slot.events = slot.stores = 0;
  trace = nullptr;
  trace_at = ~u64{0};
  expansion = {};
  vec_live = load_live = 0;
  bypass_cycle = ~u64{0};
}

const Decoded* Machine::lookup(u32 pc) {
  const bool diagnosed = diagnoses();
  if (shared_ == nullptr) shared_ = DecodedProgram::share(program, diagnosed);
  if (const Decoded* known = shared_->at(pc)) return known;
  const bool inside = pc < kCoreProgramBytes && (pc & 1) == 0;
  if (index_.empty()) index_.assign(kCoreProgramBytes / 2, nullptr);
  if (inside && index_[pc / 2] != nullptr) return index_[pc / 2];
  Decoded& d = bundles_.emplace_back();
  d.detail = &details_.emplace_back();
  if (inside) {
    predecode(program, pc, diagnosed, d, uops_);
    index_[pc / 2] = &d;
  } else {
    d.pc = pc;
    d.sync_count = 1;
    d.detail->fault = "program counter " + hex_text(pc) + " is outside the 16 KiB of program memory or odd";
  }
  return &d;
}

Stop Machine::make_stop(StopReason reason, const Decoded* d) const {
  Stop stop;
  stop.reason = reason;
  stop.cycle = time();
  stop.pc = d != nullptr ? d->pc : next_pc;
  return stop;
}

Stop Machine::make_fault(const std::string& text) const {
  Stop stop = make_stop(StopReason::kFault, current);
  stop.fault = text;
  return stop;
}

// Finds the first synchronisation point of the bundle that has not been completed; false: stop there.
bool Machine::next_sync(const Decoded& d, Stop& stop) {
  if (!d.detail->fault.empty()) {
    stop = make_fault(d.detail->fault);
    stop.pc = d.pc;
    return false;
  }
  for (u32 i = 0; i < d.sync_count; ++i) {
    if (sync_done & (1u << i)) continue;
    stop = make_stop(StopReason::kFault, &d);
    if (fill_sync_stop(d.detail->sync[i], stop)) return false;
    sync_done |= static_cast<u8>(1u << i);
    attention = true;
  }
  return true;
}

// Fills in what the array has to do; false when the operation turns out to do nothing.
bool Machine::fill_sync_stop(const SyncOp& s, Stop& stop) {
  stop.blocking = s.blocking;
  switch (s.kind) {
    case SyncKind::kAcquire:
      if (s.condition != kNoRegister && r(s.condition) == 0) return false;
      stop.reason = StopReason::kAcquire;
      stop.lock_id = s.id_is_imm ? s.imm : static_cast<int>(r(s.id) & 63);
      stop.amount = static_cast<i32>(r(s.value));
      return true;
    case SyncKind::kStreamRead:
      stop.reason = StopReason::kStreamRead;
      return true;
    case SyncKind::kStreamWrite:
      stop.reason = StopReason::kStreamWrite;
      stop.word = r(s.value);
      stop.tlast = s.tlast == 2 ? (r(s.condition) & 1) != 0 : s.tlast == 1;
      return true;
    case SyncKind::kCascadeRead:
      stop.reason = StopReason::kCascadeRead;
      return (r(s.condition) & 1) != 0;
    case SyncKind::kCascadeWrite:
      stop.reason = StopReason::kCascadeWrite;
      stop.cascade = regs + s.value;
      return (r(s.condition) & 1) != 0;
    case SyncKind::kTileRead:
    case SyncKind::kTileWrite: {
      const u32 address = (r(s.id) + static_cast<u32>(s.imm) + r(s.condition)) & 0xFFFFF;
      stop.address = address - kTileRegisterBase;
      stop.is_write = s.kind == SyncKind::kTileWrite;
      stop.word = r(s.value);
      stop.reason = StopReason::kTileRegister;
      if (address < kTileRegisterBase || (address & 3) != 0) {
        stop.reason = StopReason::kFault;
        stop.fault =
            "tile register address " + hex_text(address) + " is below 0x80000 or not aligned to 4 bytes";
      }
      return true;
    }
  }
  return false;
}

void Machine::resume(u64 cycle) {
  if (cycle > time()) {
    counters.stall_cycles[static_cast<int>(waiting)] += cycle - time();
    stalled += cycle - time();
  }
  attention = true;
  switch (waiting) {
    case StopReason::kNeighbour:
      neighbour_ok = true;
      break;
    case StopReason::kAcquire:
    case StopReason::kStreamRead:
    case StopReason::kStreamWrite:
    case StopReason::kCascadeRead:
    case StopReason::kCascadeWrite:
    case StopReason::kTileRegister:
      // The lowest point that is still open was the one reported.
      sync_done |= static_cast<u8>(sync_done + 1);
      break;
    default:
      break;
  }
  waiting = StopReason::kBudget;
}

Core::Core() : machine_(std::make_unique<Machine>()) {}
Core::~Core() = default;
Core::Core(Core&&) noexcept = default;
Core& Core::operator=(Core&&) noexcept = default;

void Core::set_memory(u8* own64k) {
  machine_->own = own64k;
}

void Core::set_neighbour(u32 window, u8* memory) {
  if (window >= 4 && window < kOwnWindow) machine_->neighbour[window] = memory;
}

void Core::set_written(u32 window, u8* written64k) {
  if (window >= 4 && window <= kOwnWindow) machine_->written[window] = written64k;
}

void Core::set_observer(AccessObserver* observer) {
  machine_->observer = observer;
  machine_->drop_program();
}

void Core::set_program(const u8* program16k) {
  machine_->program = program16k;
  machine_->drop_program();
}

void Core::set_core_id(u32 id) {
  machine_->set<u32>(machine_->off_core_id, id);
}

void Core::set_options(const CoreOptions& options) {
  machine_->options = options;
  machine_->hazards.clear();
  machine_->drop_program();
}

void Core::invalidate_program() {
  machine_->drop_program();
}
void Core::reset() {
  machine_->reset_state();
}

void Core::reset(u64 cycle) {
  machine_->reset_state();
  machine_->stalled = cycle;
  machine_->pipe = 0;
}

Stop Core::run(u64 cycle_budget) {
  return machine_->run(cycle_budget);
}
void Core::resume(u64 cycle) {
  machine_->resume(cycle);
}

void Core::resume_word(u64 cycle, u32 word, bool success) {
  if (machine_->waiting == StopReason::kStreamRead) {
    machine_->stream_word = word;
    machine_->stream_success = success;
  } else if (machine_->waiting == StopReason::kStreamWrite) {
    machine_->stream_write_success = success;
  } else {
    machine_->tile_word = word;
  }
  machine_->resume(cycle);
}

void Core::resume_cascade(u64 cycle, const u8* bytes64) {
  std::memcpy(machine_->cascade_word, bytes64, 64);
  machine_->resume(cycle);
}

u64 Core::cycle() const {
  return machine_->time();
}
u32 Core::pc() const {
  return machine_->next_pc;
}
const CoreCounters& Core::counters() const {
  return machine_->counters;
}
const std::vector<Hazard>& Core::hazards() const {
  return machine_->hazards;
}

std::array<u8, 256> Core::read_register(isa::Reg reg) const {
  std::array<u8, 256> out{};
  u32 at = 0;
  for (const isa::RegPart& part : isa::reg_info(reg).parts) {
    const u32 bytes = (part.bits + 7u) / 8;
    std::memcpy(out.data() + at, machine_->regs + part_offset(part), bytes);
    at += bytes;
  }
  return out;
}

void Core::write_register(isa::Reg reg, const std::array<u8, 256>& value) {
  u32 at = 0;
  for (const isa::RegPart& part : isa::reg_info(reg).parts) {
    const u32 bytes = (part.bits + 7u) / 8;
    std::memcpy(machine_->regs + part_offset(part), value.data() + at, bytes);
    at += bytes;
  }
}

u32 Core::read_scalar(isa::Reg reg) const {
  return reg == isa::Reg::kNone ? 0 : machine_->r(register_offset(reg));
}

void Core::write_scalar(isa::Reg reg, u32 value) {
  if (reg == isa::Reg::kNone) return;
  machine_->set<u32>(register_offset(reg), value & write_mask(reg));
}

}  // namespace tegula::emu
