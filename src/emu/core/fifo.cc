// Load and store FIFOs (semantics: load and store FIFOs, the functional model): the next byte of a load
// stream is at pointer - position, the next byte of a store stream at pointer + position. Pushed bytes go to
// memory at once and a flush has nothing left to do; the FIFO registers themselves are not modelled.
#include "emu/core/binder.h"
#include "emu/core/lanes.h"

namespace tegula::emu {

namespace {

constexpr u32 kBlocks = 8;

void join_blocks(const u8* mantissas, const u8* exponents, u8* out) {
  for (u32 i = 0; i < kBlocks; ++i) {
    out[9 * i] = exponents[i];
    store_le<u64>(out + 9 * i + 1, load_le<u64>(mantissas + 8 * i));
  }
}

// ebs16: [E][m0..m15] x 4; in registers each exponent stands twice.
void join_wide_blocks(const u8* mantissas, const u8* exponents, u8* out) {
  for (u32 i = 0; i < kBlocks / 2; ++i) {
    out[17 * i] = exponents[2 * i];
    std::memcpy(out + 17 * i + 1, mantissas + 16 * i, 16);
  }
}

// ---------------------------------------------------------------- load side

bool bind_fill(Binder& b) {
  if (b.form != Form::kNone && b.form != Form::kIndexImm) return false;
  AddressOp a;
  a.base = b.offset("ptr");
  a.position = b.offset("pos");
  a.update = Update::kFill;
  return b.add_address(a, nullptr);
}

void load_544(Machine& m, const Uop& u, const u8* source, u8* buf, u64 issue) {
  for (u32 i = 0; i < kBlocks / 2; ++i) {
    std::memcpy(buf + 16 * i, source + 17 * i + 1, 16);
    buf[64 + 2 * i] = buf[65 + 2 * i] = source[17 * i];
  }
  m.commit_data(u, issue, buf);
}

// arg: bits taken. Forms with a pointer update restart the alignment in a way that is not documented.
bool bind_pop(Binder& b) {
  if (b.has("mod")) return false;
  Uop u = b.make(nullptr, "dst");
  AddressOp a;
  a.base = b.offset("ptr");
  a.index = a.position = b.offset("pos");
  a.negate = true;
  a.size = static_cast<u16>(b.arg / 8);
  a.update = Update::kPop;
  return b.push_load(u, b.arg == 544 ? load_544 : nullptr, a);
}

// ---------------------------------------------------------------- store side

void push_bytes(Machine& m, const Uop& u, u64 issue, u8* target, bool eager, const u8* data) {
  ++m.counters.stores;
  m.store_to(target, eager, issue + u.latency - 1, data, u.size);
}

void push_512(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  std::memcpy(buf, m.regs + u.a, 64);
  push_bytes(m, u, m.pipe, m.memory_of[u.mem], m.eager[u.mem], buf);
}

void push_544(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  join_wide_blocks(m.regs + u.a, m.regs + e_of_x(u.a), buf);
  push_bytes(m, u, m.pipe, m.memory_of[u.mem], m.eager[u.mem], buf);
}

void push_576(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  join_blocks(m.regs + u.a, m.regs + e_of_x(u.a), buf);
  push_bytes(m, u, m.pipe, m.memory_of[u.mem], m.eager[u.mem], buf);
}

enum Push { kPush512, kPush544, kPush576, kPush544Conv, kPush576Conv, kPush544Widen };

struct PushState {
  u8* target;
  bool eager;
};
constexpr u32 kStateAt = 320;  // behind the raw source in the scratch of the slot

// Conversions sample crRnd one cycle after the source.
void push_converted(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  if (u.aux == kPush544Widen) {
    std::memcpy(buf, m.regs + u.a, 64);
    std::memcpy(buf + 64, m.regs + e_of_x(u.a), 8);
  } else {
    std::memcpy(buf, m.regs + u.a, 256);
  }
  store_le(buf + kStateAt, PushState{m.memory_of[u.mem], m.eager[u.mem]});
  m.event_at(m.pipe + 1, u.stage, u, buf, m.pipe);
}

void convert_pushed(Machine& m, const Uop& u, u8* buf, u64 issue) {
  const PushState state = load_le<PushState>(buf + kStateAt);
  const u32 rounding = m.r(u.x1);
  u8 mantissas[64], exponents[8];
  if (u.aux == kPush544Widen) {
    lanes::bfp16_widen(buf, buf + 64, rounding, mantissas, exponents);
  } else {
    lanes::bfp16_of_fp32(buf, u.aux == kPush544Conv, rounding, mantissas, exponents);
  }
  if (u.aux == kPush576Conv) {
    join_blocks(mantissas, exponents, buf);
  } else {
    join_wide_blocks(mantissas, exponents, buf);
  }
  push_bytes(m, u, issue, state.target, state.eager, buf);
}

bool bind_push(Binder& b) {
  static constexpr Handler kHandlers[] = {push_512,       push_544,       push_576,
                                          push_converted, push_converted, push_converted};
  static constexpr u16 kSizes[] = {64, 68, 72, 68, 72, 68};
  Uop u = b.make(kHandlers[b.arg]);
  u.stage = convert_pushed;
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("src");
  u.x1 = register_offset(isa::Reg::crRnd);
  u.latency = b.timing.memory_last;
  u.size = kSizes[b.arg];
  AddressOp a;
  a.base = b.offset("ptr");
  a.index = a.position = b.offset("avail");
  a.size = u.size;
  a.write = true;
  a.update = Update::kPush;
  if (!b.add_address(a, &u)) return false;
  b.push(u);
  return true;
}

bool bind_flush(Binder& b) {
  return !b.has("mod");
}

constexpr Family kFamilies[] = {
    {"vlda.fill.512", bind_fill},
    {"vldb.fill.512", bind_fill},
    {"vlda.pop.512", bind_pop, 512},
    {"vldb.pop.512", bind_pop, 512},
    {"vlda.pop.544", bind_pop, 544},
    {"vldb.pop.544", bind_pop, 544},
    {"vlda.pop.576", bind_pop, 576},
    {"vldb.pop.576", bind_pop, 576},
    {"vst.push.512", bind_push, kPush512},
    {"vst.push.544", bind_push, kPush544},
    {"vst.push.576", bind_push, kPush576},
    {"vst.push.544.conv.bfp16ebs16.fp32", bind_push, kPush544Conv},
    {"vst.push.576.conv.bfp16ebs8.fp32", bind_push, kPush576Conv},
    {"vst.push.544.conv.bfp16ebs16.ebs8", bind_push, kPush544Widen},
    {"vst.flush.512", bind_flush},
    {"vst.flush.512.conv", bind_flush},
};

}  // namespace

std::span<const Family> fifo_families() {
  return kFamilies;
}

}  // namespace tegula::emu
