// Locks, streams, the cascade, registers of the tile.
#include "emu/slow/core.h"

namespace tegula::emu::slow {

u32 World::answer(Kind kind) {
  u32 x = ++asked_[kind] * 0x9E3779B1u + kind * 0x85EBCA6Bu;
  x ^= x >> 15;
  return x * 0x2C1B3C6Du;
}

u32 World::wait(Kind kind) {
  const u32 cycles = told[kind].size() % 3 == 0 ? 1 + static_cast<u32>(told[kind].size() % 7) : 0;
  stalled += cycles;
  return cycles;
}

u32 World::stream_word(bool blocking, bool& success) {
  const u32 word = answer(kStreamRead);
  success = blocking || word % 4 != 0;
  return success ? word : 0;
}

bool World::stream_accepts(bool blocking) {
  const u32 word = answer(kStreamWrite);
  return blocking || word % 4 != 0;
}

Value World::cascade_word() {
  Value v = Value::zeros(64);
  for (u32 i = 0; i < 16; ++i) {
    const u32 x = answer(kCascadeRead);
    v.set<u32>(i, i % 3 == 0 ? x : (x & 0x807FFFFF) | (112 + (x >> 23 & 31)) << 23);
  }
  return v;
}

void World::tell_word(const u8* bytes64) {
  for (u32 i = 0; i < 64; i += 16) {
    u64 words[2];
    std::memcpy(words, bytes64 + i, 16);
    tell(kCascadeWrite, words[0], words[1]);
  }
}

namespace {

using F = Flight&;
using R = isa::Reg;

u32 lock_id(F f) {
  const auto& o = f.info->operands[static_cast<size_t>(f.find("id"))];
  return o.kind == isa::OperandKind::kImm ? static_cast<u32>(f.imm("id")) : f.word("id") & 63;
}

template <World::Kind kKind>
void lock(F f, World& world) {
  if (f.has("s2") && f.word("s2") == 0) return;
  if (kKind == World::kAcquire) world.wait(kKind);
  world.tell(kKind, lock_id(f), f.word("s1"));
}

bool blocking(F f) {
  return f.mnemonic.find(".nb") == std::string_view::npos;
}

void read_stream(F f, World& world) {
  world.wait(World::kStreamRead);
  f.received = Value::of<u32>(world.stream_word(blocking(f), f.success));
  world.tell(World::kStreamRead, 0, 0);
}

void place_word(F f) {
  f.out("dst", f.received);
  f.out_implicit(R::srSS0, f.success);
}

void write_stream(F f, World& world) {
  world.wait(World::kStreamWrite);
  f.success = world.stream_accepts(blocking(f));
  const bool last =
      f.has("dst") ? (f.word("dst") & 1) != 0 : f.mnemonic.find(".tlast") != std::string_view::npos;
  world.tell(World::kStreamWrite, f.word("src"), last);
}

void read_cascade(F f, World& world) {
  world.wait(World::kCascadeRead);
  f.received = world.cascade_word();
  world.tell(World::kCascadeRead, 0, 0);
}

void write_cascade(F f, World& world) {
  world.wait(World::kCascadeWrite);
  world.tell_word(f.in("src").bytes.data());
}

// The word in one part of the register, the rest zero.
void place_cascade(F f) {
  const u32 size = isa::reg_info(f.reg("dst")).bits / 8;
  u32 part = 0;
  if (f.has("c") || f.has("r")) {
    part = f.word(f.has("r") ? "r" : "c") % 4;
  } else if (size > 64) {
    part = static_cast<u32>(f.mnemonic.back() - '0');
  }
  Value v = Value::zeros(size);
  std::copy_n(f.received.bytes.begin(), 64, v.bytes.begin() + 64 * part);
  f.out("dst", v);
  if (f.has("r_out")) f.out_word("r_out", f.word("r") + 1);
}

void read_tile(F f, World& world) {
  world.wait(World::kTileRead);
  f.received = Value::of<u32>(World::tile_word(f.address - 0x80000));
  world.tell(World::kTileRead, f.address - 0x80000, 0);
}

void write_tile(F f, World& world) {
  world.wait(World::kTileWrite);
  world.tell(World::kTileWrite, f.address - 0x80000, f.word("src"));
}

void nothing(F) {}

}  // namespace

void add_outside(Rules& r) {
  r["acq"] = r["acq.cond"] = {nothing, 0, lock<World::kAcquire>};
  r["rel"] = r["rel.cond"] = {nothing, 0, lock<World::kRelease>};
  r["lda.tm"] = {[](F f) { f.out("dst", f.received); }, 0, read_tile};
  r["st.tm"] = {nothing, 0, write_tile};
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    const std::string key = "=" + std::string(info.name);
    const bool cascade = info.syntax.find("scd") != std::string_view::npos;
    if (info.syntax.find(", ss") != std::string_view::npos) r[key] = {place_word, 0, read_stream};
    if (info.syntax.starts_with("ms, $src")) {
      r[key] = {[](F f) { f.out_implicit(R::srMS0, f.success); }, 0, write_stream};
    }
    if (info.syntax.starts_with("mcd")) r[key] = {nothing, 0, write_cascade};
    if (cascade && info.slot == isa::Slot::kLda) r[key] = {place_cascade, 0, read_cascade};
    if (cascade && info.slot == isa::Slot::kVec && info.name.find("_Q") == std::string_view::npos) {
      Rule rule = r.at(plain_mnemonic(info));
      rule.meet = read_cascade;
      if (info.syntax.find("r31++") != std::string_view::npos) {
        rule.early = [](F f) { f.out_word("r_out", f.word("r") + 1); };
      }
      r[key] = rule;
    }
  }
}

}  // namespace tegula::emu::slow
