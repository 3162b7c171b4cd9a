// Core streams, cascade moves and tile registers: the array moves the words, these operations place them
// (semantics: streams, cascade, lda.tm / st.tm).
#include "emu/core/binder.h"

namespace tegula::emu {

namespace {

bool has_word(std::string_view mnemonic, std::string_view word) {
  return mnemonic.find(word) != std::string_view::npos;
}

// mov r, ss and mov.nb r, ss. The scalar moves of the same mnemonic in the lda slot do not exist.
bool bind_stream_read(Binder& b) {
  SyncOp s{SyncKind::kStreamRead};
  s.blocking = !has_word(b.info.mnemonic, ".nb");
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        m.commit_value(m.pipe, v.latency, v.dst, Kind::k32, m.stream_word);
        m.commit_value(m.pipe, v.latency2, v.dst2, Kind::k32, m.stream_success ? 1 : 0);
      },
      "dst");
  u.dst2 = register_offset(isa::Reg::srSS0);
  u.latency2 = 8;
  b.push(u);
  return b.add_sync(s);
}

void stream_written(Machine& m, const Uop& u) {
  m.commit_value(m.pipe, u.latency2, u.dst2, Kind::k32, m.stream_write_success ? 1 : 0);
  m.stream_write_success = true;
}

// mov ms, src with tlast 0, 1 or r28.
bool bind_stream_write(Binder& b) {
  SyncOp s{SyncKind::kStreamWrite};
  s.blocking = !has_word(b.info.mnemonic, ".nb");
  s.value = b.offset("src");
  s.tlast = has_word(b.info.mnemonic, ".tlast") ? 1 : 0;
  if (b.has("dst")) {
    s.tlast = 2;
    s.condition = b.offset("dst");
  }
  Uop u = b.make(stream_written);
  u.dst2 = register_offset(isa::Reg::srMS0);
  u.latency2 = 3;
  b.push(u);
  return b.add_sync(s);
}

constexpr u32 kCascadeAt = 256;   // the word, in the scratch of the slot
constexpr u8 kPositionCycle = 5;  // in which r31 is read and written

void place_cascade_word(Machine& m, const Uop& u, u8* buf, u64 issue) {
  const u32 position = (u.a == kZeroRegister ? static_cast<u32>(u.imm) : m.r(u.a)) & 3;
  std::memset(buf, 0, 256);
  const u32 at = u.kind == Kind::k512 ? 0 : u.kind == Kind::k1024 ? 64 * (position & 1) : 64 * position;
  std::memcpy(buf + at, buf + kCascadeAt, 64);
  m.commit_data(u, issue, buf);
  if (u.dst2 != kNoRegister) m.commit_value(issue, kPositionCycle, u.dst2, Kind::k32, m.r(u.a) + 1);
}

// vmov x|bm|cm|dm, scd: arg is the position of the 512 bits, -1: the register is 512 bits, -2: r31 says
// where.
bool bind_cascade_read(Binder& b) {
  SyncOp s{SyncKind::kCascadeRead};
  s.condition = register_offset(isa::Reg::crSCDEn);
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        std::memcpy(buf + kCascadeAt, m.cascade_word, 64);
        m.event_at(m.pipe + kPositionCycle - 1, place_cascade_word, v, buf, m.pipe);
      },
      "dst");
  u.imm = b.arg;
  if (b.has("c")) u.a = b.offset("c");
  if (b.has("r")) {
    u.a = b.offset("r");
    u.dst2 = u.a;
  }
  b.push(u);
  return b.add_sync(s);
}

bool bind_cascade_write(Binder& b) {
  SyncOp s{SyncKind::kCascadeWrite};
  s.condition = register_offset(isa::Reg::crMCDEn);
  s.value = b.offset("src");
  return b.add_sync(s);
}

bool bind_tile_register(Binder& b) {
  SyncOp s{b.arg == 0 ? SyncKind::kTileRead : SyncKind::kTileWrite};
  s.id = b.offset("ptr");
  s.condition = kZeroRegister;
  if (b.form == Form::kIndexImm) s.imm = static_cast<i32>(b.imm("imm"));
  if (b.form == Form::kIndex) s.condition = b.offset("dj");
  if (b.arg == 0) {
    Uop u = b.make(
        [](Machine& m, const Uop& v) { m.commit_value(m.pipe, v.latency, v.dst, Kind::k32, m.tile_word); },
        "dst");
    b.push(u);
  } else {
    s.value = b.offset("src");
  }
  Uop unused;
  if (b.form != Form::kIndexImm && b.form != Form::kIndex && !b.add_address(unused, 0, 1, false))
    return false;
  return b.add_sync(s);
}

// mov and vmov are also names of plain moves in other slots.
bool bind_lda_mov(Binder& b) {
  return b.info.slot == isa::Slot::kLda && bind_stream_read(b);
}
bool bind_st_mov(Binder& b) {
  return b.info.slot == isa::Slot::kSt && b.has("src") && bind_stream_write(b);
}
bool bind_mov(Binder& b) {
  return b.info.slot == isa::Slot::kLda ? bind_lda_mov(b) : bind_st_mov(b);
}

constexpr Family kFamilies[] = {
    {"mov.nb", bind_mov},
    {"mov.nb.tlast", bind_st_mov},
    {"mov.tlast", bind_st_mov},
    {"vmov.0", bind_cascade_read, 0},
    {"vmov.1", bind_cascade_read, 1},
    {"vmov.2", bind_cascade_read, 2},
    {"vmov.3", bind_cascade_read, 3},
    {"lda.tm", bind_tile_register, 0},
    {"st.tm", bind_tile_register, 1},
};

}  // namespace

bool bind_stream_move(Binder& b) {
  return bind_mov(b);
}
bool bind_cascade_move(Binder& b) {
  return b.info.slot == isa::Slot::kLda ? bind_cascade_read(b) : bind_cascade_write(b);
}

std::span<const Family> stream_families() {
  return kFamilies;
}

}  // namespace tegula::emu
