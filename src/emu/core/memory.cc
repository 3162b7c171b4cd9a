// Plain loads and stores, partial-word stores and table look-ups (semantics: memory, address generation).
// Addresses are formed by the bundle before its slots run; here the data moves at its pipeline cycle.
#include "emu/core/binder.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

constexpr u8 kLoadCycle = 5;   // memory cycle of every load
constexpr u8 kLateSource = 7;  // a partial-word store reads its data here

// ---------------------------------------------------------------- loads

template <typename T>
void load_scalar(Machine& m, const Uop& u, const u8* source, u8*, u64 issue) {
  m.commit_value(issue, u.latency, u.dst, Kind::k32, static_cast<u32>(load_le<T>(source)) & u.mask);
}

bool bind_load(Binder& b) {
  Uop u = b.make(nullptr, "dst");
  const u32 size = bytes_of(u.kind);
  return size <= 64 && b.push_load(u, nullptr, size, size);
}

template <typename T>
bool bind_small_load(Binder& b) {
  Uop u = b.make(nullptr, "dst");
  return b.push_load(u, load_scalar<T>, sizeof(T), sizeof(T));
}

// 128 bits into the low half of a w register; the upper half keeps its value. Assumption: not documented.
bool bind_load_128(Binder& b) {
  Uop u = b.make(nullptr, "dst");
  u.kind = Kind::k128;
  return b.push_load(u, nullptr, 16, 16);
}

// ---------------------------------------------------------------- stores

void store_now(Machine& m, const Uop& u, const u8* data) {
  ++m.counters.stores;
  m.store_to(m.memory_of[u.mem], m.eager[u.mem], m.pipe + u.latency - 1, data, u.size);
}

template <u32 size>
void run_store(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  std::memcpy(buf, m.regs + u.a, size);
  store_now(m, u, buf);
}

bool add_store(Binder& b, u32 size, Handler run) {
  Uop u = b.make(run);
  u.flags |= kFlagPlainStore;
  u.a = b.offset("src");
  u.latency = b.timing.memory_last;
  if (!b.add_address(u, size, size, true)) return false;
  b.push(u);
  return true;
}

bool bind_store(Binder& b) {
  switch (kind_of(b.reg("src"))) {
    case Kind::k32:
      return add_store(b, 4, run_store<4>);
    case Kind::k128:
      return add_store(b, 16, run_store<16>);
    case Kind::k256:
      return add_store(b, 32, run_store<32>);
    case Kind::k512:
      return add_store(b, 64, run_store<64>);
    default:
      return false;
  }
}

bool bind_store_128(Binder& b) {
  return add_store(b, 16, run_store<16>);
}

// st.s8 / st.s16 read their word at cycle 5, the data at cycle 7, and write the word at cycle 11
// (MemoryCycles of the schedule): what is stored to the rest of the word in between is lost. Compilers keep
// seven bundles between partial stores to one word, even to different halves of it.
struct PartialStore {
  u8* target;
  u8 word[4];
  u8 shift;  // of the data within the word, in bytes
  bool eager;
};

void store_part(Machine& m, const Uop& u, u8* buf, u64 issue) {
  const PartialStore store = load_le<PartialStore>(buf);
  u8* word = buf + offsetof(PartialStore, word);
  u8 data[4];
  store_le<u32>(data, m.r(u.a));
  std::memcpy(word + store.shift, data, u.size);
  m.store_to(store.target, store.eager, issue + u.latency - 1, word, store.eager ? u.size : 4);
}

bool bind_partial_store(Binder& b) {
  Uop u = b.make([](Machine& m, const Uop& v) {
    ++m.counters.stores;
    PartialStore store{m.memory_of[v.mem], {}, 0, m.eager[v.mem]};
    if (!store.eager) {
      store.shift = static_cast<u8>((store.target - m.own) & 3);
      store.target -= store.shift;
    }
    u8* buf = m.buffer(v.slot);
    store_le(buf, store);
    m.event_at(m.pipe + kLoadCycle - 1, v.stage, v, buf, m.pipe);
  });
  u.stage = [](Machine& m, const Uop& v, u8* buf, u64 issue) {
    const PartialStore store = load_le<PartialStore>(buf);
    if (!store.eager) std::memcpy(buf + offsetof(PartialStore, word), store.target, 4);
    m.event_at(issue + kLateSource - 1, store_part, v, buf, issue);
  };
  u.a = b.offset("src");
  u.latency = b.timing.memory_last;
  if (!b.add_address(u, static_cast<u32>(b.arg), static_cast<u32>(b.arg), true)) return false;
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- table look-ups

constexpr int kHigh = 256;  // lanes 4..7 of the source

// Four 64-bit reads at addresses taken from a w register. A table holds each 32 bytes twice, so that two
// reads find different banks; its addresses count both: entries of 16, 32, 64 bits are 4, 8, 16 bytes apart,
// and odd reads go to the second copy. (The tables that compiled programs carry are so laid out; AIE2 does it
// with 16.)
constexpr u32 kTableRow = 64;

u32 lookup_address(u32 lane, u32 mask, bool second) {
  const u32 offset = lane & (kTableRow - 1) & ~mask;
  return ((lane & ~(kTableRow - 1)) + (second ? kTableRow / 2 : 0) + offset / 2) & 0xFFFFF;
}

bool bind_lookup(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        ++m.counters.loads;
        u8* buf = m.buffer(v.slot);
        for (u32 i = 0; i < 4; ++i) {
          const u32 lane = m.r(static_cast<u16>(v.a + 4 * i));
          const u32 address = lookup_address(lane, v.mask, (i & 1) != 0);
          const u32 window = address >> 16;
          const u8* memory = window == kOwnWindow        ? m.own
                             : window >= 4 && window < 7 ? m.neighbour[window]
                                                         : nullptr;
          if (memory == nullptr || (address & 0xFFFF) > kCoreDataBytes - 8) {
            m.raise("table look-up at " + hex_text(address) + " is outside data memory");
            return;
          }
          store_le<const u8*>(buf + 64 + 8 * i, memory + (address & 0xFFFF));
          if (window == kOwnWindow) m.observe_read(address, 8, m.pipe + kLoadCycle - 1);
        }
        m.event_at(m.pipe + kLoadCycle - 1, v.stage, v, buf, m.pipe);
      },
      "dst");
  u.stage = [](Machine& m, const Uop& v, u8* buf, u64 issue) {
    for (u32 i = 0; i < 4; ++i) std::memcpy(buf + 8 * i, load_le<const u8*>(buf + 64 + 8 * i), 8);
    m.commit_data(v, issue, buf);
  };
  u.a = static_cast<u16>(b.offset("src") + (b.arg & kHigh ? 16 : 0));
  u.mask = static_cast<u32>(b.arg & 0xFF);
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"lda", bind_load},
    {"vlda", bind_load},
    {"vldb", bind_load},
    {"lda.s8", bind_small_load<i8>},
    {"lda.u8", bind_small_load<u8>},
    {"lda.s16", bind_small_load<i16>},
    {"lda.u16", bind_small_load<u16>},
    {"vlda.128", bind_load_128},
    {"vldb.128", bind_load_128},
    {"st", bind_store},
    {"vst", bind_store},
    {"vst.128", bind_store_128},
    {"st.s8", bind_partial_store, 1},
    {"st.s16", bind_partial_store, 2},
    {"vldb.4x16.lo", bind_lookup, 3},
    {"vldb.4x16.hi", bind_lookup, 3 | kHigh},
    {"vldb.4x32.lo", bind_lookup, 7},
    {"vldb.4x32.hi", bind_lookup, 7 | kHigh},
    {"vldb.4x64.lo", bind_lookup, 15},
    {"vldb.4x64.hi", bind_lookup, 15 | kHigh},
};

}  // namespace

std::span<const Family> memory_families() {
  return kFamilies;
}

}  // namespace tegula::emu
