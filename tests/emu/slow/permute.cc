// vshift and vshuffle.
#include "emu/slow/core.h"

namespace tegula::emu::slow {

namespace {

using F = Flight&;

std::array<u8, 128> joined(const Value& low, const Value& high) {
  std::array<u8, 128> s;
  std::copy_n(low.bytes.begin(), 64, s.begin());
  std::copy_n(high.bytes.begin(), 64, s.begin() + 64);
  return s;
}

Value shifted(const std::array<u8, 128>& s, u32 by) {
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) {
    // Beyond 64 the bytes of the second source rotate.
    d.bytes[i] = by <= 64 ? s[by + i] : s[64 + (by + i) % 64];
  }
  return d;
}

void shift(F f) {
  f.out("d", shifted(joined(f.in("s1"), f.in("s2")), f.word("shift")));
}

void shift_align(F f) {
  const u32 k = f.word("pre") & 7;
  if (k > 4) f.illegal("unknown pre-shift");
  if (k == 0) return shift(f);
  const u32 by = 4u << (k - 1);
  Value s1 = Value::zeros(64);
  for (u32 i = 0; i + by < 64; ++i) s1.bytes[i] = f.in("s1").bytes[i + by];
  f.out("d", shifted(joined(s1, f.in("s2")), f.word("shift")));
}

// A mode: elements of `bits`, rows x columns transposed; `high` takes the second half of the result.
struct Mode {
  u32 bits, rows, columns;
  bool high;
};
enum : u32 { kFlip = 0 };

constexpr Mode kModes[] = {
    {8, 64, 2, false},      {8, 64, 2, true},      // 0
    {16, 32, 2, false},     {16, 32, 2, true},     // 2
    {32, 16, 2, false},     {32, 16, 2, true},     // 4
    {64, 8, 2, false},      {64, 8, 2, true},      // 6
    {128, 4, 2, false},     {128, 4, 2, true},     // 8
    {256, 2, 2, false},     {256, 2, 2, true},     // 10
    {128, 2, 4, false},     {128, 2, 4, true},     // 12
    {64, 2, 8, false},      {64, 2, 8, true},      // 14
    {32, 2, 16, false},     {32, 2, 16, true},     // 16
    {16, 2, 32, false},     {16, 2, 32, true},     // 18
    {8, 2, 64, false},      {8, 2, 64, true},      // 20
    {512, 1, 2, false},     {512, 1, 2, true},     // 22
    {16, 16, 4, false},     {16, 16, 4, true},     // 24
    {16, 4, 16, false},     {16, 4, 16, true},     // 26
    {16, 8, 4, false},      {16, 4, 8, false},     // 28
    {32, 8, 4, false},      {32, 8, 4, true},      // 30
    {32, 4, 8, false},      {32, 4, 8, true},      // 32
    {32, 4, 4, false},      {8, 8, 8, false},      // 34
    {8, 16, 4, false},      {8, 4, 16, false},     // 36
    {16, kFlip, 2, false},  {16, 4, 4, false},     // 38
    {16, 4, 2, false},      {16, 2, 4, false},     // 40
    {16, 8, 2, false},      {16, 2, 8, false},     // 42
    {16, 16, 2, false},     {16, 2, 16, false},    // 44
    {8, 8, 4, false},       {8, 4, 8, false},      // 46
    {32, 8, 2, false},      {32, 2, 8, false},     // 48
    {64, 4, 2, false},      {64, 2, 4, false},     // 50
    {16, 8, 8, false},      {16, 8, 8, true},      // 52
    {32, kFlip, 16, false}, {8, kFlip, 4, false},  // 54
};

// Where byte i of the transposed matrices comes from; matrices smaller than the source follow each other.
u32 source_of(const Mode& m, u32 i) {
  const u32 width = m.bits / 8;
  const u32 element = i / width, within = i % width;
  if (m.rows == kFlip) {
    return (element / m.columns * m.columns + (m.columns - 1 - element % m.columns)) * width + within;
  }
  const u32 size = m.rows * m.columns;
  const u32 block = element / size, at = element % size;
  const u32 column = at / m.rows, row = at % m.rows;
  return (block * size + row * m.columns + column) * width + within;
}

Value shuffled(F f, const Value& s1, const Value& s2, u32 mode) {
  if (mode >= std::size(kModes)) f.illegal("unknown shuffle mode");
  const Mode& m = kModes[mode];
  const auto s = joined(s1, s2);
  Value d = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) d.bytes[i] = s[source_of(m, i + (m.high ? 64 : 0))];
  return d;
}

void shuffle(F f) {
  f.out("dst", shuffled(f, f.in("s1"), f.in("s2"), f.word("mod")));
}

constexpr Mode kExponentModes[] = {
    {64, 1, 2, false}, {64, 1, 2, true}, {32, 2, 2, false}, {32, 2, 2, true},
    {16, 4, 2, false}, {16, 4, 2, true}, {8, 8, 2, false},  {8, 8, 2, true},
    {16, 2, 4, false}, {16, 2, 4, true}, {8, 2, 8, false},  {8, 2, 8, true},
};

void shuffle_blocks(F f) {
  const u32 word = f.word("mod");
  if (word >> 12 != 0) f.illegal("unknown shuffle mode");
  const u32 e_mode = word >> 8 & 15;
  if (e_mode >= std::size(kExponentModes)) f.illegal("unknown exponent mode");
  Value d = shuffled(f, f.in("s1"), f.in("s2"), word & 0xFF);
  d.size = 72;
  const Mode& m = kExponentModes[e_mode];
  for (u32 i = 0; i < 8; ++i) {
    const u32 from = source_of(m, i + (m.high ? 8 : 0));
    d.bytes[64 + i] = from < 8 ? f.in("s1").bytes[64 + from] : f.in("s2").bytes[64 + from - 8];
  }
  f.out("dst", d);
}

u32 lane_bytes(F f) {
  const std::string_view end = f.mnemonic.substr(f.mnemonic.rfind('.') + 1);
  return end == "8" ? 1 : end == "16" ? 2 : end == "32" ? 4 : end == "64" ? 8 : 16;
}

void broadcast_shuffle(F f) {
  const u32 n = lane_bytes(f);
  const bool extracts = f.has("s1");
  const u32 element = extracts ? f.word("idx") % (64 / n) : 0;
  Value all = Value::zeros(64);
  for (u32 i = 0; i < 64; ++i) all.bytes[i] = f.in(extracts ? "s1" : "src").bytes[element * n + i % n];
  f.out("dst", shuffled(f, all, all, f.word("mod")));
}

}  // namespace

void add_permute(Rules& r) {
  r["vshift"] = {shift};
  r["vshift.align"] = {shift_align};
  r["vshuffle"] = {shuffle};
  r["=VSHUFFLE_vec_shuffle_ex"] = {shuffle_blocks};
  for (const char* w : {".8", ".16", ".32", ".64", ".128"}) {
    r["vbcstshfl" + std::string(w)] = r["vextbcstshfl" + std::string(w)] = {broadcast_shuffle};
  }
}

}  // namespace tegula::emu::slow
