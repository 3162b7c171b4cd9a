// Running traces: entry, addresses ahead of time, and the direct operations.
#include <atomic>
#include <mutex>

#include "emu/core/program.h"
#include "emu/core/trace_ops.h"

namespace tegula::emu {

namespace {

constexpr u32 kAddressMask = 0xFFFFF;
constexpr u32 kAddressBanks = kBankControl;  // registers that addresses may change lie below

// ------------------------------------------------------------- direct operations

template <u32 bytes>
inline void copy(u8* to, const u8* from) {
  std::memcpy(to, from, bytes);
}

// Eight blocks of an exponent and eight mantissas.
inline void split_blocks(const u8* from, u8* mantissas, u8* exponents) {
  for (u32 b = 0; b < 8; ++b) {
    store_le<u64>(mantissas + 8 * b, load_le<u64>(from + 9 * b + 1));
    exponents[b] = from[9 * b];
  }
}

template <Kind kind>
inline void fetch(const Uop& u, const u8* from, u8* to, u8* exponents) {
  if constexpr (kind == Kind::kEx) {
    split_blocks(from, to, exponents);
  } else if constexpr (kind == Kind::k32) {
    store_le<u32>(to, load_le<u32>(from) & u.mask);
  } else {
    copy<kind == Kind::k512 ? 64 : kind == Kind::k256 ? 32 : 16>(to, from);
  }
}

template <Kind kind>
void load_whole(Machine& m, const TraceOp& op) {
  u8* to = m.regs + op.dst;
  fetch<kind>(*op.uop, m.trace_pointers[op.address], to, kind == Kind::kEx ? m.regs + op.uop->dst2 : nullptr);
}

template <Kind kind>
void load_memory(Machine& m, const TraceOp& op) {
  u8* to = m.trace_scratch + op.scratch;
  fetch<kind>(*op.uop, m.trace_pointers[op.address], to, to + 64);
}

template <Kind kind>
void load_result(Machine& m, const TraceOp& op) {
  const u8* from = m.trace_scratch + op.scratch;
  if constexpr (kind == Kind::kEx) {
    copy<64>(m.regs + op.dst, from);
    copy<8>(m.regs + op.uop->dst2, from + 64);
  } else if constexpr (kind == Kind::k32) {
    copy<4>(m.regs + op.dst, from);
  } else {
    copy<kind == Kind::k512 ? 64 : kind == Kind::k256 ? 32 : 16>(m.regs + op.dst, from);
  }
}

template <u32 bytes>
void store_whole(Machine& m, const TraceOp& op) {
  copy<bytes>(m.trace_pointers[op.address], m.regs + op.a);
}

template <u32 bytes>
void store_sample(Machine& m, const TraceOp& op) {
  copy<bytes>(m.trace_scratch + op.scratch, m.regs + op.a);
}

template <u32 bytes>
void store_memory(Machine& m, const TraceOp& op) {
  copy<bytes>(m.trace_pointers[op.address], m.trace_scratch + op.scratch);
}

void now(Machine& m, const TraceOp& op) {
  op.uop->run(m, *op.uop);
}

// Scratch of a vec-slot instruction in parts: factors with their exponents, then the result.
constexpr u32 kSecondAt = 128, kExponentsAt = 256, kResultAt = 320;

void sample_factors(Machine& m, const TraceOp& op) {
  const Uop& u = *op.uop;
  if (u.mask != 0 || (u.aux & 1) == 0) return;
  u8* to = m.trace_scratch + op.scratch;
  const u32 s1_bytes = static_cast<u32>(u.imm) & 0xFFFF, s2_bytes = static_cast<u32>(u.imm) >> 16;
  std::memcpy(to, m.regs + u.a, s1_bytes);
  std::memcpy(to + kSecondAt, m.regs + u.b, s2_bytes);
  if (static_cast<MacUnit>(u.mem) == MacUnit::kBlock) {
    copy<16>(to + kExponentsAt, m.regs + e_of_x(u.a));
    copy<16>(to + kExponentsAt + 16, m.regs + e_of_x(u.b));
  }
}

// Accumulator operations without a control word.
inline void plain(Machine& m, const Uop& u, u8* out) {
  if (u.mask == 1) {
    std::memset(out, 0, 256);
  } else {
    std::memmove(out, m.regs + u.c, 256);
  }
}

template <bool sampled>
inline void compute(Machine& m, const TraceOp& op, u8* out, const MacCache& cache) {
  const Uop& u = *op.uop;
  const u32 conf = cache.conf;  // checked at the entry of the trace
  MacArgs args;
  args.conf = conf;
  args.negate_product = ((u.aux & 2) != 0) != conf_sub_mul(conf);
  args.negate_acc1 = ((u.aux & 4) != 0) != conf_sub_acc1(conf);
  args.negate_acc2 = ((u.aux & 8) != 0) != conf_sub_acc2(conf);
  args.acc1 = u.c != kNoRegister && !conf_zero_acc(conf) ? m.regs + u.c : nullptr;
  args.acc2 = u.d != kNoRegister ? m.regs + u.d : nullptr;
  args.s1_bytes = static_cast<u16>(u.imm);
  args.s2_bytes = static_cast<u16>(static_cast<u32>(u.imm) >> 16);
  if constexpr (sampled) {
    args.s1 = m.trace_scratch + op.scratch;
    args.s2 = args.s1 + kSecondAt;
    args.e1 = args.s1 + kExponentsAt;
    args.e2 = args.e1 + 16;
  } else {
    args.s1 = m.regs + u.a;
    args.s2 = m.regs + u.b;
    args.e1 = m.regs + e_of_x(u.a);
    args.e2 = m.regs + e_of_x(u.b);
  }
  if (out != nullptr) {
    args.out = out;
    return cache.fn(args);
  }
  u8* to = m.regs + op.dst;
  if (cache.in_place && args.acc2 == nullptr) {
    args.out = to;
    return cache.fn(args);
  }
  alignas(64) u8 apart[256];
  args.out = apart;
  cache.fn(args);
  copy<256>(to, apart);
}

inline const MacCache& cache_of(Machine& m, const Uop& u) {
  return m.mac_cache[u.mem * 2 + (u.aux & 1)];
}

template <bool sampled>
void vec_to_register(Machine& m, const TraceOp& op) {
  const Uop& u = *op.uop;
  if (u.mask != 0) return plain(m, u, m.regs + op.dst);
  const MacCache& cache = cache_of(m, u);
  if (!sampled && cache.plain_block && u.aux == 1 && u.c != kNoRegister && u.d == kNoRegister) {
    u8* const r = m.regs;
    return avx2::block_8x8x8t_plain(r + op.dst, r + u.c, r + op.a, r + op.b, r + e_of_x(op.a),
                                    r + e_of_x(op.b));
  }
  compute<sampled>(m, op, nullptr, cache);
}

template <bool sampled>
void vec_to_scratch(Machine& m, const TraceOp& op) {
  const Uop& u = *op.uop;
  u8* out = m.trace_scratch + op.scratch + kResultAt;
  if (u.mask != 0) return plain(m, u, out);
  compute<sampled>(m, op, out, cache_of(m, u));
}

void vec_result(Machine& m, const TraceOp& op) {
  copy<256>(m.regs + op.dst, m.trace_scratch + op.scratch + kResultAt);
}

void load_blocks(Machine& m, const TraceOp& op) {
  avx2::split_blocks(m.trace_pointers[op.address], m.regs + op.dst, m.regs + op.uop->dst2);
}

template <Kind kind>
TraceHandler load_handler(u32 parts) {
  if (kind == Kind::kEx && parts == 3 && avx2::available()) return load_blocks;
  return parts == 3 ? load_whole<kind> : parts == 1 ? load_memory<kind> : load_result<kind>;
}

template <u32 bytes>
TraceHandler store_handler(u32 parts) {
  return parts == 3 ? store_whole<bytes> : parts == 1 ? store_sample<bytes> : store_memory<bytes>;
}

TraceHandler vec_handler(u32 parts) {
  switch (parts) {
    case 1:
      return sample_factors;
    case 2:
      return vec_to_scratch<true>;
    case 3:
      return vec_to_scratch<false>;
    case 4:
      return vec_result;
    case 6:
      return vec_to_register<true>;
    default:
      return vec_to_register<false>;
  }
}

// ------------------------------------------------------------- what is known about landings

std::mutex build_mutex;

}  // namespace

TraceHandler direct_handler(DirectForm form, u32 parts, const Uop& uop) {
  switch (form) {
    case DirectForm::kLoad:
      switch (uop.kind) {
        case Kind::k32:
          return load_handler<Kind::k32>(parts);
        case Kind::k256:
          return load_handler<Kind::k256>(parts);
        case Kind::k512:
          return load_handler<Kind::k512>(parts);
        case Kind::kEx:
          return load_handler<Kind::kEx>(parts);
        default:
          return load_handler<Kind::k128>(parts);
      }
    case DirectForm::kStore:
      return uop.size == 4    ? store_handler<4>(parts)
             : uop.size == 16 ? store_handler<16>(parts)
             : uop.size == 32 ? store_handler<32>(parts)
                              : store_handler<64>(parts);
    case DirectForm::kVec:
      return vec_handler(parts);
    case DirectForm::kNow:
      break;
  }
  return now;
}

void model_load(Machine& m, const TraceOp& op) {
  m.trace_cycle(op.cycle);
  const u32 slot = m.pipe & (kRing - 1);
  if ((m.load_live & 1) == 0) m.load_count[slot] = 0;
  LoadEntry& e = m.loads[slot][m.load_count[slot]++];
  e.source = m.trace_pointers[op.address];
  e.uop = op.uop;
  m.load_live |= 1;
  ++m.counters.loads;
}

const TraceSet* DecodedProgram::traces(const Decoded& at, u32 loop_end) const {
  std::atomic_ref<const TraceSet*> published(at.traces);
  const TraceSet* known = published.load(std::memory_order_acquire);
  if (known != nullptr && (loop_end == ~u32{0} || known->loop_end == loop_end)) return known;
  const std::lock_guard lock(build_mutex);
  known = published.load(std::memory_order_acquire);
  if (known != nullptr && (loop_end == ~u32{0} || known->loop_end == loop_end)) return known;
  if (known != nullptr && known->loop_end != ~u32{0})
    return known;  // a second end of the same loop: leave it
  traces_.push_back(build_traces(bytes_.data(), &at, loop_end));
  published.store(traces_.back().get(), std::memory_order_release);
  return traces_.back().get();
}

const Trace* DecodedProgram::expanded(const Trace& straight, u32 loop_start, u32 loop_end, u32 left,
                                      Expansion& cache) const {
  const Decoded* start = at(loop_start);
  if (start == nullptr || loop_start > loop_end) return nullptr;
  // Longer loops do not end within a trace; one with as many iterations as fit serves them all.
  left = std::min(left, kTraceMaxBundles);
  if (cache.straight == &straight && cache.start == loop_start && cache.end == loop_end &&
      cache.left == left) {
    return cache.trace;
  }
  const std::lock_guard lock(build_mutex);
  cache = {&straight, loop_start, loop_end, left, nullptr};
  for (const auto& known : expansions_) {
    if (known.straight == &straight && known.start == loop_start && known.end == loop_end &&
        known.left == left) {
      cache.trace = known.trace;
      return cache.trace;
    }
  }
  if (expansions_.size() >= kTraceExpansions) return nullptr;
  auto made = expand_trace(bytes_.data(), straight, start, loop_end, left);
  cache.trace = made.get();
  if (made != nullptr) expanded_.push_back(std::move(made));
  expansions_.push_back(cache);
  return cache.trace;
}

// A branch or loop leads to d: chooses the trace that may begin kTracePrefix bundles on.
void Machine::land(const Decoded* d) {
  const u32 left = r(off_lc);
  const bool in_loop = left != 0 && d->pc == r(off_ls);
  // The end of an iteration within the bundles before a loop's trace.
  if (in_loop && trace != nullptr && trace_at != ~u64{0} && pipe < trace_at && trace->loop_start == d->pc)
    return;
  trace = nullptr;
  trace_at = ~u64{0};
  if (!options.traces || shared_ == nullptr || shared_->at(d->pc) != d) return;
  const TraceSet* set = shared_->traces(*d, in_loop && r(off_le) >= d->pc ? r(off_le) : ~u32{0});
  if (in_loop && set->loop_end == r(off_le)) {
    for (const auto& loop : set->loops) {
      if (loop->iterations > left) continue;
      trace = loop.get();
      break;
    }
  }
  if (trace == nullptr) trace = set->straight.get();
  if (trace != nullptr) trace_at = pipe + trace->begins_after;
}

// The trace to run here and now: the one that waited for this bundle, or, where a hardware loop is under way
// in it, its form with the loop run as often as is left. Null: none.
const Trace* Machine::trace_here(const Decoded* d, u64 last) {
  const Trace* t = trace;
  if (d != t->entry || begun || attention || branch_delay != 0) return nullptr;
  const u32 left = r(off_lc), end = r(off_le);
  if (t->loops != 0) {
    if (left < t->loops || r(off_ls) != t->loop_start || end != t->loop_end) return nullptr;
  } else if (left != 0 && end >= d->pc && end <= t->last_pc) {
    t = shared_->expanded(*t, r(off_ls), end, left, expansion);
    if (t == nullptr) return nullptr;
  } else if (left != 0 && end >= t->first_pc && end < d->pc) {
    return nullptr;  // passed already, and left behind: lc is wrong for what follows
  }
  return pipe + t->bundles > last ? nullptr : t;
}

// Pointers of a stream with a modifier; false: one lies outside.
bool Machine::form_modified(const AddressStream& s, i64 start) {
  const i64 modifier = static_cast<i32>(r(s.modifier) << 12) >> 12;  // 20 bits, signed
  for (const auto& access : s.accesses) {
    const i64 at = start + access.offset + access.times * modifier;
    if (at < 0 || at + access.size > i64{kCoreDataBytes} || (at & s.align_mask) != 0) return false;
    trace_pointers[access.pointer] = own + at;
  }
  return true;
}

// The trace's addresses by their streams; false: no register has changed.
bool Machine::form_streams(const Trace& t) {
  for (const AddressStream& s : t.streams) {
    if (s.accesses.empty()) continue;
    const u32 base = r(s.base), position = r(s.position);
    const i64 start = i64{(base - position) & kAddressMask} - (kOwnWindow << 16);
    if (s.modifier != kZeroRegister) {
      if (!form_modified(s, start)) return false;
      continue;
    }
    if (start + s.lowest < 0 || start + s.end > i64{kCoreDataBytes} || (start & s.align_mask) != 0)
      return false;
    const i64 behind = s.filled ? base & 63 : 0;
    if (s.fifo && (position > kCoreDataBytes || i64{position} + s.least_before < 0 ||
                   i64{position} + s.least_after - behind < 0)) {
      return false;
    }
    u8* const first = own + start;
    for (const auto& access : s.accesses) trace_pointers[access.pointer] = first + access.offset;
  }
  for (const AddressStream& s : t.streams) {
    const u32 base = r(s.base);
    const u32 behind = s.filled ? base & 63 : 0;
    const u32 modified = static_cast<u32>(s.modified) * r(s.modifier);
    set<u32>(s.base, (base + static_cast<u32>(s.advance) + modified - behind) & kAddressMask);
    if (s.fifo) set<u32>(s.position, r(s.position) + static_cast<u32>(s.position_advance) - behind);
  }
  return true;
}

// Forms and checks every address of the trace; false: nothing has changed.
bool Machine::form_trace_addresses(const Trace& t) {
  if (t.addresses.empty()) return form_streams(t);
  alignas(64) u8 before[kAddressBanks];
  std::memcpy(before, regs, sizeof before);
  u8** out = trace_pointers;
  const TraceAddress* at = t.addresses.data();
  const TraceAddress* const end = at + t.addresses.size();
  bool good = true;
  while (at != end) {
    const int count = at->left_in_bundle;
    for (int k = 0; k < count; ++k) {
      const AddressOp& a = at[k].op;
      const u32 index = r(a.index);
      const u32 address = (r(a.base) + a.imm + (a.negate ? 0u - index : index)) & kAddressMask;
      const u32 offset = address - (kOwnWindow << 16);
      *out++ = own + offset;
      if (a.size != 0) good &= (offset & a.align_mask) == 0 && offset <= kCoreDataBytes - u32{a.size};
      if (a.update == Update::kLinear) {
        new_pointer[k] = (r(a.base) + a.update_imm + r(a.update_index)) & kAddressMask;
      } else if (a.update != Update::kNone) {
        form_update(a, k);
        good &= a.update != Update::kPop || static_cast<i32>(new_a[k]) >= 0;
      }
    }
    if (!good) {
      std::memcpy(regs, before, sizeof before);
      return false;
    }
    for (int k = 0; k < count; ++k) {
      const AddressOp& a = at[k].op;
      if (a.update == Update::kLinear) {
        set<u32>(a.base, new_pointer[k]);
      } else if (a.update != Update::kNone) {
        write_update(a, k);
      }
    }
    at += count;
  }
  return true;
}

// Runs the trace that begins at d, or returns d when it cannot. Otherwise the bundle that follows it.
const Decoded* Machine::run_trace(const Decoded* d, u64 last) {
  thread_local u8* pointers[kTraceMaxAddresses + 3];
  alignas(64) thread_local u8 scratch[kTraceScratch];
  trace_at = ~u64{0};
  const Trace* here = trace_here(d, last);
  if (here == nullptr) return d;
  const Trace& t = *here;
  for (const TraceControl& control : t.controls) {
    MacCache& cache = mac_cache[static_cast<int>(control.unit) * 2 + control.product];
    const u32 conf = r(control.reg);
    if (cache.fn != nullptr && cache.conf == conf) continue;
    std::string why;
    const MacFn fn = select_mac(conf, control.unit, control.product, why);
    if (fn == nullptr) return d;
    cache.set(conf, fn);
  }
  // Two control words of one kind in one trace cannot share the cache.
  for (const TraceControl& control : t.controls) {
    if (mac_cache[static_cast<int>(control.unit) * 2 + control.product].conf != r(control.reg)) return d;
  }
  trace_pointers = pointers;
  trace_scratch = scratch;
  if (!form_trace_addresses(t)) return d;
  trace_base = pipe;
  for (const TraceOp& op : t.ops) op.run(*this, op);
  trace_cycle(t.bundles);
  counters.bundles += t.bundles;
  counters.traced += t.bundles;
  counters.loads += t.loads;
  counters.stores += t.stores;
  counters.matrix_ops += t.matrix_ops;
  counters.accumulator_ops += t.accumulator_ops;
  const Decoded* next = t.exit;
  if (t.loops != 0) {
    const u32 left = r(off_lc) - t.loops;
    set<u32>(off_lc, left);
    if (left != 0 && t.last_pc == t.loop_end) next = lookup(t.loop_start);
  }
  if (next == nullptr) next = lookup(t.exit_pc);
  next_pc = next->pc;
  land(next);
  return next;
}

}  // namespace tegula::emu
