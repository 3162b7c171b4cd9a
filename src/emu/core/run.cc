// The execution loop: pipeline cycles, delayed results, memory accesses at their cycle, branches and hardware
// loops (semantics: exposed pipeline without interlocks; five delay bundles; le / ls / lc loops).
#include "emu/core/machine.h"
#include "emu/core/text.h"
#include "emu/core/trace.h"
#include "emu/core/trace_ops.h"

namespace tegula::emu {

namespace {

constexpr u32 kAddressMask = 0xFFFFF;

inline void copy_bytes(u8* to, const u8* from, u32 size) {
  // Constant sizes become straight vector moves.
  switch (size) {
    case 4:
      std::memcpy(to, from, 4);
      break;
    case 32:
      std::memcpy(to, from, 32);
      break;
    case 64:
      std::memcpy(to, from, 64);
      break;
    default:
      std::memcpy(to, from, size);
      break;
  }
}

}  // namespace

void Machine::apply(const Commit& c) {
  u8* to = regs + c.dst;
  switch (c.kind) {
    case Kind::k32:
      store_le<u32>(to, static_cast<u32>(c.value));
      break;
    case Kind::k64:
      store_le<u64>(to, c.value);
      break;
    case Kind::k128:
      std::memcpy(to, c.data, 16);
      break;
    case Kind::k256:
      std::memcpy(to, c.data, 32);
      break;
    case Kind::k512:
      std::memcpy(to, c.data, 64);
      break;
    case Kind::k1024:
      std::memcpy(to, c.data, 128);
      break;
    case Kind::k2048:
      std::memcpy(to, c.data, 256);
      break;
    case Kind::kEx:
      std::memcpy(to, c.data, 64);
      std::memcpy(regs + c.dst2, c.data + 64, 8);
      break;
    case Kind::kQx:
      std::memcpy(to, c.data, 64);
      std::memcpy(regs + c.dst2, c.data + 64, 16);
      break;
    case Kind::kQex:  // x, then e (8 bytes), then q (16 bytes)
      std::memcpy(to, c.data, 64);
      std::memcpy(regs + e_of_x(c.dst), c.data + 64, 8);
      std::memcpy(regs + q_of_x(c.dst), c.data + 72, 16);
      break;
    case Kind::kOr32:
      store_le<u32>(to, load_le<u32>(to) | static_cast<u32>(c.value));
      break;
    case Kind::kNone:
      break;
  }
}

// Fourth cycle of a vec-slot operation: the accumulators are read and the result is computed.
inline void Machine::vec_stage4(VecEntry& entry, u64 issue) {
  const Uop& u = *entry.uop;
  // VEC bypass: the result that becomes visible next cycle (issued two bundles earlier) is seen already.
  const VecEntry* ahead = nullptr;
  if (vec_live & (1u << 5)) {
    const VecEntry& e = vec[(issue - 2) & (kVecRing - 1)];
    if (e.uop->flags & kFlagWritesBypass) ahead = &e;
  }
  const auto source = [&](u16 offset) {
    return ahead != nullptr && ahead->uop->dst == offset ? ahead->result
                                                         : static_cast<const u8*>(regs + offset);
  };
  entry.args.acc1 = u.c != kNoRegister && !conf_zero_acc(entry.args.conf) ? source(u.c) : nullptr;
  entry.args.acc2 = u.d != kNoRegister ? source(u.d) : nullptr;
  u8 expanded[256];
  if (entry.cascade_position >= 0) [[unlikely]] {
    std::memset(expanded, 0, sizeof expanded);
    std::memcpy(expanded + 64 * (entry.cascade_position & 3), entry.cascade, 64);
    entry.args.acc2 = expanded;
  }
  entry.fn(entry.args);
}

// Copies finished loads to their registers.
inline void Machine::finish_loads(u64 issue) {
  const u64 latency = pipe - issue;
  const u32 slot = issue & (kRing - 1);
  for (u32 i = 0; i < load_count[slot]; ++i) {
    const LoadEntry& e = loads[slot][i];
    const Uop& u = *e.uop;
    if (u.load != nullptr || u.latency != latency) continue;
    u8* to = regs + u.dst;
    switch (u.kind) {
      case Kind::k512:
        std::memcpy(to, e.data, 64);
        break;
      case Kind::kEx:
        std::memcpy(to, e.data, 64);
        std::memcpy(regs + u.dst2, e.data + 64, 8);
        break;
      case Kind::k32:
        store_le<u32>(to, load_le<u32>(e.data) & u.mask);
        break;
      case Kind::k256:
        std::memcpy(to, e.data, 32);
        break;
      default:
        std::memcpy(to, e.data, 16);
        break;
    }
  }
}

// Memory cycle of the loads issued four cycles ago.
inline void Machine::access_loads(u64 issue) {
  const u32 slot = issue & (kRing - 1);
  for (u32 i = 0; i < load_count[slot]; ++i) {
    LoadEntry& e = loads[slot][i];
    const Uop& u = *e.uop;
    if (u.load != nullptr) {
      u.load(*this, u, e.source, buffer_at(u.slot, issue), issue);
      continue;
    }
    switch (u.kind) {
      case Kind::k512:
        std::memcpy(e.data, e.source, 64);
        break;
      case Kind::kEx:  // eight blocks of an exponent and eight mantissas
        for (u32 b = 0; b < 8; ++b) {
          store_le<u64>(e.data + 8 * b, load_le<u64>(e.source + 9 * b + 1));
          e.data[64 + b] = e.source[9 * b];
        }
        break;
      case Kind::k32:
        std::memcpy(e.data, e.source, 4);
        break;
      case Kind::k256:
        std::memcpy(e.data, e.source, 32);
        break;
      default:
        std::memcpy(e.data, e.source, 16);
        break;
    }
  }
}

inline void Machine::begin_cycle() {
  CycleSlot& at = ring[pipe & (kRing - 1)];
  for (u32 i = 0; i < at.commits; ++i) apply(at.commit[i]);
  at.commits = 0;
  if (load_live & (1u << 7)) finish_loads(pipe - 7);
  if (load_live & (1u << 8)) finish_loads(pipe - 8);
  if (vec_live & (1u << 6)) {
    const VecEntry& e = vec[(pipe - 6) & (kVecRing - 1)];
    std::memcpy(regs + e.uop->dst, e.result, 256);
  }
  if (at.events != 0) {
    for (u32 i = 0; i < at.events; ++i)
      at.event[i].stage(*this, *at.event[i].uop, at.event[i].buf, at.event[i].issue);
    at.events = 0;
  }
  if (vec_live & (1u << 3)) vec_stage4(vec[(pipe - 3) & (kVecRing - 1)], pipe - 3);
}

inline void Machine::memory_cycle() {
  CycleSlot& at = ring[pipe & (kRing - 1)];
  if (load_live & (1u << 4)) access_loads(pipe - 4);
  for (u32 i = 0; i < at.stores; ++i) copy_bytes(at.store[i].target, at.store[i].data, at.store[i].size);
  at.stores = 0;
}

inline void Machine::end_cycle() {
  memory_cycle();
  vec_live = (vec_live << 1) & 0x7F;
  load_live = (load_live << 1) & 0x1FF;
  ++pipe;
}

void Machine::drain() {
  for (u32 i = 0; i < kRing; ++i) {
    begin_cycle();
    end_cycle();
  }
}

void Machine::form_update(const AddressOp& a, int k) {
  const u32 p = r(a.base);
  switch (a.update) {
    case Update::kNone:
      break;
    case Update::kLinear:
      new_pointer[k] = (p + a.update_imm + r(a.update_index)) & kAddressMask;
      break;
    case Update::k2D: {
      const u16 g = static_cast<u16>(a.generator * 4);
      const u32 count = r(kBankDc + g);
      const bool wrap = count == r(kBankDn + g);
      new_pointer[k] = (p + (wrap ? r(kBankM + g) : r(kBankDj + g))) & kAddressMask;
      new_a[k] = wrap ? 0 : (count + 1) & kAddressMask;
      break;
    }
    case Update::k3D: {
      const u16 lo = static_cast<u16>(a.generator * 4), hi = static_cast<u16>(lo + 16);
      const u32 c1 = r(kBankDc + lo), c2 = r(kBankDc + hi);
      u32 step = r(kBankDj + lo);
      new_a[k] = (c1 + 1) & kAddressMask;
      new_b[k] = c2;
      if (c1 == r(kBankDn + lo)) {
        const bool wrap = c2 == r(kBankDn + hi);
        step = wrap ? r(kBankM + lo) : r(kBankDj + hi);
        new_a[k] = 0;
        new_b[k] = wrap ? 0 : (c2 + 1) & kAddressMask;
      }
      new_pointer[k] = (p + step) & kAddressMask;
      break;
    }
    case Update::kFill:  // the rest of the 64-byte line at p
      new_pointer[k] = ((p & ~u32{63}) + 64) & kAddressMask;
      new_a[k] = r(a.position) + 64 - (p & 63);
      break;
    case Update::kPop:  // one more line from memory, size bytes taken
      new_pointer[k] = (p + 64) & kAddressMask;
      new_a[k] = r(a.position) + 64 - a.size;
      break;
    case Update::kPush: {  // whole lines go to memory
      const u32 filled = r(a.position) + a.size;
      new_pointer[k] = (p + (filled & ~u32{63})) & kAddressMask;
      new_a[k] = filled & 63;
      break;
    }
  }
}

void Machine::write_update(const AddressOp& a, int k) {
  set<u32>(a.base, new_pointer[k]);
  switch (a.update) {
    case Update::k2D:
      set<u32>(static_cast<u16>(kBankDc + a.generator * 4), new_a[k]);
      break;
    case Update::k3D:
      set<u32>(static_cast<u16>(kBankDc + a.generator * 4), new_a[k]);
      set<u32>(static_cast<u16>(kBankDc + a.generator * 4 + 16), new_b[k]);
      break;
    case Update::kFill:
    case Update::kPop:
    case Update::kPush:
      set<u32>(a.position, new_a[k]);
      break;
    case Update::kNone:
    case Update::kLinear:
      break;
  }
}

// Addresses outside the own memory, misaligned ones, and FIFO accesses that the plain check does not cover.
bool Machine::slow_address(const Decoded& d, int k, u32 address, Stop& stop) {
  const AddressOp& a = d.address[k];
  const bool loose = !options.strict_alignment && (a.align_mask == 63 || (a.align_mask == 31 && !a.write));
  if (loose && a.align_mask == 31) address &= ~u32{31};
  const u32 window = address >> 16;
  const u32 offset = address & 0xFFFF;
  const auto refuse = [&](const std::string& why) {
    stop = make_fault(hex_text(address) + " " + why);
    stop.pc = d.pc;
    return false;
  };
  const u32 mask = loose ? 31 : a.align_mask;
  if (address & mask) return refuse("is not aligned to " + std::to_string(mask + 1) + " bytes");
  if (window < 4 || window > kOwnWindow) return refuse("is outside data memory (0x40000..0x7ffff)");
  if (offset + a.size > kCoreDataBytes) return refuse("access runs past the end of its memory");
  if (window == kOwnWindow && loose) {
    memory_of[k] = own + offset;
    return true;
  }
  if (window == kOwnWindow) return refuse("cannot be accessed");
  if (neighbour[window] == nullptr)
    return refuse("lies in a neighbour's memory, and there is no such neighbour");
  if (!neighbour_ok && options.neighbour_stops) {
    stop = make_stop(StopReason::kNeighbour, &d);
    stop.window = window;
    stop.address = address;
    stop.is_write = a.write;
    return false;
  }
  memory_of[k] = neighbour[window] + offset;
  eager[k] = true;
  return true;
}

inline bool Machine::form_addresses(const Decoded& d, Stop& stop) {
  const u32 slot = pipe & (kRing - 1);
  u32 started = 0;
  for (int k = 0; k < d.address_count; ++k) {
    const AddressOp& a = d.address[k];
    if (a.size != 0) {
      const u32 index = r(a.index);
      const u32 address = (r(a.base) + a.imm + (a.negate ? 0u - index : index)) & kAddressMask;
      const u32 offset = address - (kOwnWindow << 16);
      eager[k] = false;
      memory_of[k] = own + offset;
      if ((offset & a.align_mask) != 0 || offset > kCoreDataBytes - u32{a.size}) [[unlikely]] {
        if (!slow_address(d, k, address, stop)) return false;
      }
      if (a.load != 0) {
        LoadEntry& e = loads[slot][started++];
        e.source = memory_of[k];
        e.uop = d.uops + d.uop_count + a.load - 1;
        if (eager[k]) [[unlikely]]
          e.source = snapshot(e);
      }
    }
    if (a.update == Update::kLinear) {
      new_pointer[k] = (r(a.base) + a.update_imm + r(a.update_index)) & kAddressMask;
    } else if (a.update != Update::kNone) {
      form_update(a, k);
      if (a.update == Update::kPop && static_cast<i32>(new_a[k]) < 0) [[unlikely]] {
        stop = make_fault("load FIFO holds " + std::to_string(r(a.position)) +
                          " bytes and one line, pop takes " + std::to_string(a.size));
        stop.pc = d.pc;
        return false;
      }
    }
  }
  if (started != 0) {
    load_count[slot] = static_cast<u8>(started);
    load_live |= 1;
    counters.loads += started;
  }
  return true;
}

// A neighbour's memory is read when the bundle issues, while the array stands still for it.
const u8* Machine::snapshot(const LoadEntry& e) {
  u8* to = buffer(e.uop->slot) + kSnapshotAt;
  std::memcpy(to, e.source, e.uop->size);
  return to;
}

inline void Machine::finish_addresses(const Decoded& d) {
  for (int k = 0; k < d.address_count; ++k) {
    const AddressOp& a = d.address[k];
    if (a.update == Update::kLinear) {
      set<u32>(a.base, new_pointer[k]);
    } else if (a.update != Update::kNone) {
      write_update(a, k);
    }
  }
}

// Executes an mv-slot operation that takes operands through the MV bypass: the result of the bundle before,
// visible to everybody else only next cycle, is put in place while it runs.
void Machine::run_bypassed(const Uop& u) {
  const Uop& p = *bypass_uop;
  u8 saved[256], saved_e[16];
  u32 bytes = 0;
  switch (p.kind) {
    case Kind::k32:
      bytes = 4;
      break;
    case Kind::k64:
      bytes = 8;
      break;
    case Kind::k128:
      bytes = 16;
      break;
    case Kind::k256:
      bytes = 32;
      break;
    case Kind::k1024:
      bytes = 128;
      break;
    case Kind::k2048:
      bytes = 256;
      break;
    default:
      bytes = 64;
      break;
  }
  const bool with_e = p.kind == Kind::kEx || p.kind == Kind::kQex;
  const bool with_q = p.kind == Kind::kQx || p.kind == Kind::kQex;
  u8 saved_q[16];
  const u8* data = bypass_data;
  std::memcpy(saved, regs + p.dst, bytes);
  std::memcpy(regs + p.dst, data, bytes);
  if (with_e) {
    std::memcpy(saved_e, regs + e_of_x(p.dst), 8);
    std::memcpy(regs + e_of_x(p.dst), data + 64, 8);
  }
  if (with_q) {
    std::memcpy(saved_q, regs + q_of_x(p.dst), 16);
    std::memcpy(regs + q_of_x(p.dst), data + (with_e ? 72 : 64), 16);
  }
  u.run(*this, u);
  std::memcpy(regs + p.dst, saved, bytes);
  if (with_e) std::memcpy(regs + e_of_x(p.dst), saved_e, 8);
  if (with_q) std::memcpy(regs + q_of_x(p.dst), saved_q, 16);
}

// Steps of the pipeline model within a trace.
void model_begin_cycle(Machine& m, const TraceOp& op) {
  m.trace_cycle(op.cycle);
  m.begin_cycle();
}

void model_end_cycle(Machine& m, const TraceOp& op) {
  m.trace_cycle(op.cycle);
  m.memory_cycle();
}

void model_issue(Machine& m, const TraceOp& op) {
  m.trace_cycle(op.cycle);
  const Uop& u = *op.uop;
  for (u32 i = 0; i < op.count; ++i) {
    m.memory_of[i] = m.trace_pointers[op.address + i];
    m.eager[i] = false;
  }
  if ((u.flags & kFlagReadsMvBypass) != 0 && m.bypass_cycle == m.pipe) {
    m.run_bypassed(u);
  } else {
    u.run(m, u);
  }
}

// Issues the bundle, or fills in the stop that must be dealt with first.
template <bool kDiagnose>
bool Machine::issue(const Decoded& d, Stop& stop) {
  if constexpr (kDiagnose) show_accesses(pipe);
  if (d.sync_count != 0 && !next_sync(d, stop)) return false;
  if (d.address_count != 0 && !form_addresses(d, stop)) return false;
  if constexpr (kDiagnose) diagnose(d);
  for (u32 i = 0; i < d.uop_count; ++i) {
    const Uop& u = d.uops[i];
    if ((u.flags & kFlagReadsMvBypass) != 0 && bypass_cycle == pipe) {
      run_bypassed(u);
    } else {
      u.run(*this, u);
    }
  }
  if (d.address_count != 0) finish_addresses(d);
  return true;
}

// Deals with what a finished bundle left behind; true when the array must see it.
bool Machine::stops_after(const Decoded& d, Stop& stop) {
  attention = false;
  sync_done = 0;
  neighbour_ok = false;
  show_accesses(pipe);
  if (!fault.empty()) {
    stop = make_fault(fault);
    stop.pc = d.pc;
    return true;
  }
  if (d.flags & kBundleDone) {
    stop = make_stop(StopReason::kDone, &d);
    stop.cycle += 5;  // what is in flight retires before the core reports done
    drain();
    show_accesses(pipe);
    done = true;
    return true;
  }
  if ((d.flags & kBundleRelease) && release_id >= 0) {
    stop = make_stop(StopReason::kRelease, &d);
    stop.cycle -= 1;
    stop.lock_id = release_id;
    stop.amount = release_amount;
    return true;
  }
  return false;
}

template <bool kDiagnose>
Stop Machine::run_loop(u64 end) {
  const Decoded* d = current;
  const u64 last = end - stalled;  // in cycles of the pipeline
  Stop stop;
  while (true) {
    if (d == nullptr) [[unlikely]] {
      d = lookup(next_pc);
    }
    if (pipe >= last) [[unlikely]] {
      stop = make_stop(StopReason::kBudget, d);
      break;
    }
    if constexpr (!kDiagnose) {
      if (pipe == trace_at) [[unlikely]] {
        d = run_trace(d, last);
        if (d == nullptr || pipe >= last) continue;
      }
    }
    if (!begun) {
      begin_cycle();
      begun = true;
    }
    if (!issue<kDiagnose>(*d, stop)) [[unlikely]]
      break;
    end_cycle();
    begun = false;
    ++counters.bundles;
    const u32 flags = d->flags;
    const Decoded* finished = d;
    // Where next: a branch whose delay bundles are done, the hardware loop, or straight on.
    next_pc = d->next_pc;
    if (branch_delay != 0 && --branch_delay == 0) [[unlikely]] {
      next_pc = branch_target;
      d = lookup(next_pc);
      if constexpr (!kDiagnose) land(d);
    } else if (r(off_lc) != 0 && r(off_le) == d->pc) [[unlikely]] {
      const u32 left = r(off_lc) - 1;
      set<u32>(off_lc, left);
      if (left != 0) next_pc = r(off_ls);
      d = lookup(next_pc);
      if constexpr (!kDiagnose) {
        if (left != 0) land(d);
      }
    } else {
      d = d->next != nullptr ? d->next : lookup(next_pc);
    }
    if ((flags != 0 || attention) && stops_after(*finished, stop)) [[unlikely]]
      break;
  }
  current = d;
  return stop;
}

Stop Machine::run(u64 budget) {
  if (done) return make_stop(StopReason::kDone, current);
  if (!fault.empty()) return make_fault(fault);
  if (own == nullptr || program == nullptr) return make_fault("core has no memory or no program");
  const u64 end = budget > ~u64{0} - time() ? ~u64{0} : time() + budget;
  Stop stop = diagnoses() ? run_loop<true>(end) : run_loop<false>(end);
  waiting = stop.reason;
  if (stop.reason == StopReason::kFault) fault = stop.fault;  // stays until reset
  return stop;
}

}  // namespace tegula::emu
