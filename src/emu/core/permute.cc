// Moves, shuffles, shifts, broadcasts, extraction and insertion (semantics: moves, extract / insert /
// broadcast, vshift, vshuffle modes).
#include <array>

#include "emu/core/binder.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

// ---------------------------------------------------------------- moves

u32 gather(const Machine& m, u16 from, Kind kind, u8* buf) {
  switch (kind) {
    case Kind::kEx:
      std::memcpy(buf, m.regs + from, 64);
      std::memcpy(buf + 64, m.regs + e_of_x(from), 8);
      break;
    case Kind::kQx:
      std::memcpy(buf, m.regs + from, 64);
      std::memcpy(buf + 64, m.regs + q_of_x(from), 16);
      break;
    case Kind::kQex:
      std::memcpy(buf, m.regs + from, 64);
      std::memcpy(buf + 64, m.regs + e_of_x(from), 8);
      std::memcpy(buf + 72, m.regs + q_of_x(from), 16);
      break;
    default:
      std::memcpy(buf, m.regs + from, bytes_of(kind));
      break;
  }
  return bytes_of(kind);
}

void run_move(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  gather(m, u.a, u.kind2, buf);
  m.commit_mv(u, buf);
}

// q to w clears the upper half of w, w to q takes the lower half.
void run_move_q_to_w(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  std::memcpy(buf, m.regs + u.a, 16);
  std::memset(buf + 16, 0, 16);
  m.commit_mv(u, buf);
}

bool bind_move(Binder& b) {
  if (b.info.slot != isa::Slot::kMv) return bind_cascade_move(b);
  Uop u = b.make(run_move, "dst");
  const Kind source = kind_of(b.reg("src"));
  u.a = b.offset("src");
  u.kind2 = u.kind;
  if (source == Kind::k128 && u.kind == Kind::k256) u.run = run_move_q_to_w;
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- shuffle

constexpr u32 kModes = 56, kExponentModes = 12;

// Transpose of an R x C matrix of W-bit elements: the low or high half of the result, or every block of 64
// bytes.
struct ShuffleShape {
  u8 bits_log2;  // 3: 8 bit ... 9: 512 bit
  u8 rows, columns;
  bool high;
};

constexpr ShuffleShape kShapes[54] = {
    {3, 64, 2, false}, {3, 64, 2, true},  {4, 32, 2, false}, {4, 32, 2, true},  {5, 16, 2, false},
    {5, 16, 2, true},  {6, 8, 2, false},  {6, 8, 2, true},   {7, 4, 2, false},  {7, 4, 2, true},
    {8, 2, 2, false},  {8, 2, 2, true},   {7, 2, 4, false},  {7, 2, 4, true},   {6, 2, 8, false},
    {6, 2, 8, true},   {5, 2, 16, false}, {5, 2, 16, true},  {4, 2, 32, false}, {4, 2, 32, true},
    {3, 2, 64, false}, {3, 2, 64, true},  {9, 1, 2, false},  {9, 1, 2, true},   {4, 16, 4, false},
    {4, 16, 4, true},  {4, 4, 16, false}, {4, 4, 16, true},  {4, 8, 4, false},  {4, 4, 8, false},
    {5, 8, 4, false},  {5, 8, 4, true},   {5, 4, 8, false},  {5, 4, 8, true},   {5, 4, 4, false},
    {3, 8, 8, false},  {3, 16, 4, false}, {3, 4, 16, false}, {4, 0, 0, false},  {4, 4, 4, false},
    {4, 4, 2, false},  {4, 2, 4, false},  {4, 8, 2, false},  {4, 2, 8, false},  {4, 16, 2, false},
    {4, 2, 16, false}, {3, 8, 4, false},  {3, 4, 8, false},  {5, 8, 2, false},  {5, 2, 8, false},
    {6, 4, 2, false},  {6, 2, 4, false},  {4, 8, 8, false},  {4, 8, 8, true},
};

constexpr u32 kFlip16 = 38, kFlip32 = 54, kFlip8 = 55;

// Source byte of every output byte.
u8 shuffle_source(u32 mode, u32 byte) {
  if (mode == kFlip16) return static_cast<u8>(byte ^ 2);
  if (mode == kFlip32) return static_cast<u8>((15 - byte / 4) * 4 + byte % 4);
  if (mode == kFlip8) return static_cast<u8>(byte ^ 3);
  const ShuffleShape& s = kShapes[mode];
  const u32 width = (1u << s.bits_log2) / 8;
  const u32 block = width * s.rows * s.columns;
  const u32 at = byte + (s.high ? 64 : 0);
  const u32 base = block > 64 ? 0 : at / block * block;
  const u32 element = (at - base) / width;
  const u32 column = element / s.rows, row = element % s.rows;
  return static_cast<u8>(base + (row * s.columns + column) * width + at % width);
}

using ShuffleTable = std::array<std::array<u8, 64>, kModes>;

const ShuffleTable& shuffle_table() {
  static const ShuffleTable table = [] {
    ShuffleTable t{};
    for (u32 mode = 0; mode < kModes; ++mode) {
      for (u32 i = 0; i < 64; ++i) t[mode][i] = shuffle_source(mode, i);
    }
    return t;
  }();
  return table;
}

bool shuffle(Machine& m, u32 mode, const u8* both, u8* out) {
  if (mode >= kModes) {
    m.raise("vshuffle mode " + std::to_string(mode) + " is not known (0..55 are)");
    return false;
  }
  const auto& source = shuffle_table()[mode];
  const u32 bits = mode < kFlip32 ? kShapes[mode].bits_log2 : mode == kFlip32 ? 5 : 3;
  if (bits >= 5) {
    for (u32 i = 0; i < 64; i += 4) std::memcpy(out + i, both + source[i], 4);
  } else if (bits == 4) {
    for (u32 i = 0; i < 64; i += 2) std::memcpy(out + i, both + source[i], 2);
  } else {
    for (u32 i = 0; i < 64; ++i) out[i] = both[source[i]];
  }
  return true;
}

void run_shuffle(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  u8 both[128];
  std::memcpy(both, m.regs + u.a, 64);
  std::memcpy(both + 64, m.regs + u.b, 64);
  if (shuffle(m, m.r(u.c), both, buf)) m.commit_mv(u, buf);
}

// The e parts follow bits 11..8 of the mode by the same rule over 16 bytes.
void run_shuffle_ex(Machine& m, const Uop& u) {
  constexpr u8 kRows[] = {1, 2, 4, 8, 2, 2}, kColumns[] = {2, 2, 2, 2, 4, 8}, kWidth[] = {8, 4, 2, 1, 2, 1};
  u8* buf = m.buffer(u.slot);
  const u32 mode = m.r(u.c);
  u8 both[128], e[16];
  std::memcpy(both, m.regs + u.a, 64);
  std::memcpy(both + 64, m.regs + u.b, 64);
  std::memcpy(e, m.regs + e_of_x(u.a), 8);
  std::memcpy(e + 8, m.regs + e_of_x(u.b), 8);
  const u32 e_mode = (mode >> 8) & 15;
  if (e_mode >= kExponentModes) {
    m.raise("vshuffle exponent mode " + std::to_string(e_mode) + " is not known (0..11 are)");
    return;
  }
  if (!shuffle(m, mode & 0xFF, both, buf)) return;
  const u32 shape = e_mode / 2, width = kWidth[shape];
  for (u32 i = 0; i < 8; ++i) {
    const u32 at = i + (e_mode & 1 ? 8 : 0), element = at / width;
    const u32 column = element / kRows[shape], row = element % kRows[shape];
    buf[64 + i] = e[(row * kColumns[shape] + column) * width + at % width];
  }
  m.commit_mv(u, buf);
}

bool bind_shuffle(Binder& b) {
  Uop u = b.make(run_shuffle, "dst");
  if (u.kind == Kind::kEx) u.run = run_shuffle_ex;
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  u.c = b.offset("mod");
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- shift

void shift_bytes(const u8* s1, const u8* s2, u32 by, u8* out) {
  u8 both[128];
  std::memcpy(both, s1, 64);
  std::memcpy(both + 64, s2, 64);
  if (by <= 64) {
    std::memcpy(out, both + by, 64);
  } else {
    for (u32 i = 0; i < 64; ++i) out[i] = both[64 + (i + by) % 64];
  }
}

bool bind_shift(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        shift_bytes(m.regs + v.a, m.regs + v.b, m.r(v.c), buf);
        m.commit_mv(v, buf);
      },
      "d");
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  u.c = b.offset("shift");
  b.push(u);
  return true;
}

// s1 first moves down by 4, 8, 16 or 32 bytes when the s register holds 1..4.
bool bind_shift_align(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        const u32 k = m.r(v.d) & 7;
        if (k > 4) {
          m.raise("vshift.align pre-shift " + std::to_string(k) + " is not known (0..4 are)");
          return;
        }
        u8* buf = m.buffer(v.slot);
        u8 first[64] = {};
        const u32 by = k == 0 ? 0 : 4u << (k - 1);
        std::memcpy(first, m.regs + v.a + by, 64 - by);
        shift_bytes(first, m.regs + v.b, m.r(v.c), buf);
        m.commit_mv(v, buf);
      },
      "d");
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  u.c = b.offset("shift");
  u.d = b.offset("pre");
  b.push(u);
  return true;
}

// ------------------------------------------------- broadcast, extract, insert, push. aux: element bytes.

void broadcast(const u8* element, u32 bytes, u8* out) {
  for (u32 i = 0; i < 64; i += bytes) std::memcpy(out + i, element, bytes);
}

// Byte offset of element `index` (taken modulo the number of elements).
u32 element_at(u32 index, u32 bytes) {
  return index % (64 / bytes) * bytes;
}

u32 index_of(const Machine& m, const Uop& u) {
  return m.r(u.b) + static_cast<u32>(u.imm);
}

void set_index(Binder& b, Uop& u) {
  const int at = b.find("idx");
  if (at < 0) return;
  if (b.info.operands[at].kind == isa::OperandKind::kImm) {
    u.imm = static_cast<i32>(b.imm("idx"));
  } else {
    u.b = b.offset("idx");
  }
}

bool bind_broadcast(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        broadcast(m.regs + v.a, v.aux, buf);
        m.commit_mv(v, buf);
      },
      "dst");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("src");
  b.push(u);
  return true;
}

// Broadcast of a scalar, or of an element of x, then a shuffle of the broadcast with itself.
bool bind_broadcast_shuffle(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        u8 both[128];
        const u32 at = v.mem != 0 ? element_at(index_of(m, v), v.aux) : 0;
        broadcast(m.regs + v.a + at, v.aux, both);
        std::memcpy(both + 64, both, 64);
        if (shuffle(m, m.r(v.c), both, buf)) m.commit_mv(v, buf);
      },
      "dst");
  u.aux = static_cast<u8>(b.arg);
  u.mem = b.has("s1") ? 1 : 0;
  u.a = b.offset(b.has("s1") ? "s1" : "src");
  u.c = b.offset("mod");
  set_index(b, u);
  b.push(u);
  return true;
}

bool bind_extract_broadcast(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        broadcast(m.regs + v.a + element_at(index_of(m, v), v.aux), v.aux, buf);
        m.commit_mv(v, buf);
      },
      "dst");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("s1");
  set_index(b, u);
  b.push(u);
  return true;
}

bool bind_extract(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        const u16 at = static_cast<u16>(v.a + element_at(index_of(m, v), v.aux));
        const bool is_signed = m.r(v.d) & 1;
        u64 value = m.get<u64>(at);
        if (v.aux == 1) value = is_signed ? static_cast<u64>(static_cast<i8>(value)) : value & 0xFF;
        if (v.aux == 2) value = is_signed ? static_cast<u64>(static_cast<i16>(value)) : value & 0xFFFF;
        m.commit_value(m.pipe, v.latency, v.dst, v.kind, value);
      },
      "dst");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("s1");
  u.d = b.sign_register();
  set_index(b, u);
  b.push(u);
  return true;
}

bool bind_insert(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        std::memcpy(buf, m.regs + v.a, 64);
        std::memcpy(buf + element_at(index_of(m, v), v.aux), m.regs + v.c, v.aux);
        m.commit_mv(v, buf);
      },
      "dst");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("s1");
  u.c = b.offset("src");
  set_index(b, u);
  b.push(u);
  return true;
}

// vpush.hi: everything moves down one element, the scalar enters at the top.
bool bind_push_high(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        std::memcpy(buf, m.regs + v.a + v.aux, 64 - v.aux);
        std::memcpy(buf + 64 - v.aux, m.regs + v.b, v.aux);
        m.commit_mv(v, buf);
      },
      "d");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  b.push(u);
  return true;
}

bool bind_push_low(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        std::memcpy(buf + v.aux, m.regs + v.b, 64 - v.aux);
        std::memcpy(buf, m.regs + v.a, v.aux);
        m.commit_mv(v, buf);
      },
      "d");
  u.aux = static_cast<u8>(b.arg);
  u.a = b.offset("s1");
  u.b = b.offset("s2");
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"vmov", bind_move},
    {"vshuffle", bind_shuffle},
    {"vshift", bind_shift},
    {"vshift.align", bind_shift_align},
    {"vbcst.8", bind_broadcast, 1},
    {"vbcst.16", bind_broadcast, 2},
    {"vbcst.32", bind_broadcast, 4},
    {"vbcst.64", bind_broadcast, 8},
    {"vbcstshfl.8", bind_broadcast_shuffle, 1},
    {"vbcstshfl.16", bind_broadcast_shuffle, 2},
    {"vbcstshfl.32", bind_broadcast_shuffle, 4},
    {"vbcstshfl.64", bind_broadcast_shuffle, 8},
    {"vextbcstshfl.16", bind_broadcast_shuffle, 2},
    {"vextbcstshfl.32", bind_broadcast_shuffle, 4},
    {"vextbcstshfl.64", bind_broadcast_shuffle, 8},
    {"vextbcstshfl.128", bind_broadcast_shuffle, 16},
    {"vextbcst.8", bind_extract_broadcast, 1},
    {"vextbcst.16", bind_extract_broadcast, 2},
    {"vextbcst.32", bind_extract_broadcast, 4},
    {"vextbcst.64", bind_extract_broadcast, 8},
    {"vextbcst.128", bind_extract_broadcast, 16},
    {"vextract.8", bind_extract, 1},
    {"vextract.16", bind_extract, 2},
    {"vextract.32", bind_extract, 4},
    {"vextract.64", bind_extract, 8},
    {"vinsert.8", bind_insert, 1},
    {"vinsert.16", bind_insert, 2},
    {"vinsert.32", bind_insert, 4},
    {"vinsert.64", bind_insert, 8},
    {"vpush.hi.8", bind_push_high, 1},
    {"vpush.hi.16", bind_push_high, 2},
    {"vpush.hi.32", bind_push_high, 4},
    {"vpush.hi.64", bind_push_high, 8},
    {"vpush.lo.8", bind_push_low, 1},
    {"vpush.lo.16", bind_push_low, 2},
    {"vpush.lo.32", bind_push_low, 4},
    {"vpush.lo.64", bind_push_low, 8},
};

}  // namespace

std::span<const Family> permute_families() {
  return kFamilies;
}

}  // namespace tegula::emu
