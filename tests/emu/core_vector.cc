// Vector operations of the mv and st slots, memory forms and conversions, each against a lane model written
// here.
#include <bit>
#include <cmath>
#include <functional>

#include "emu/core/lanes.h"
#include "emu/core_testing.h"

namespace tegula::emu::testing {

template <typename T>
T lane(const std::vector<u8>& v, size_t i) {
  T out;
  std::memcpy(&out, v.data() + i * sizeof(T), sizeof(T));
  return out;
}

// Runs one bundle with random x1, x2 and returns x3 and the masks r16, r17.
struct VectorRun {
  std::vector<u8> a, b, d;
  u64 mask = 0;
  VectorRun(const std::string& line, u32 seed, const std::function<void(TestCore&)>& setup = {}) {
    a = random_bytes(64, seed);
    b = random_bytes(64, seed + 1000);
    // Equal, zero and extreme lanes in between.
    for (size_t i = 0; i < 64; i += 12) {
      for (size_t k = 0; k < 4 && i + k < 64; ++k) b[i + k] = a[i + k];
    }
    std::fill(b.begin() + 16, b.begin() + 20, u8{0});
    a[23] = 0x80;
    std::fill(a.begin() + 20, a.begin() + 23, u8{0});
    TestCore t;
    t.load({line, "nop*4", "done"});
    t.set_wide("x1", a.data(), 64);
    t.set_wide("x2", b.data(), 64);
    if (setup) setup(t);
    t.run();
    const auto x3 = t.wide("x3");
    d.assign(x3.begin(), x3.begin() + 64);
    mask = t.r("r16") | u64{t.r("r17")} << 32;
  }
};

template <typename T>
void check_lanes(const std::string& line, const std::function<T(T, T)>& value,
                 const std::function<bool(T, T)>& bit) {
  for (u32 seed = 1; seed < 6; ++seed) {
    const VectorRun run(line, seed);
    for (size_t i = 0; i < 64 / sizeof(T); ++i) {
      const T x = lane<T>(run.a, i), y = lane<T>(run.b, i);
      if (value) {
        ASSERT_EQ(lane<T>(run.d, i), value(x, y)) << line << " lane " << i;
      }
      if (bit) {
        ASSERT_EQ((run.mask >> i) & 1, bit(x, y)) << line << " lane " << i;
      }
    }
    if (bit && sizeof(T) == 4) {
      ASSERT_EQ(run.mask >> 16, 0u);
    }
  }
}

template <typename S>
void check_family(const std::string& width) {
  using U = std::make_unsigned_t<S>;
  const std::string masks = width == "8" ? "r17:r16" : "r16";
  const auto minus = [](auto x, auto y) {
    return static_cast<decltype(x)>(static_cast<U>(x) - static_cast<U>(y));
  };
  check_lanes<S>("vadd." + width + " x3, x1, x2",
                 [](S x, S y) { return static_cast<S>(static_cast<U>(x) + static_cast<U>(y)); }, {});
  check_lanes<S>("vsub." + width + " x3, x1, x2", [&](S x, S y) { return minus(x, y); }, {});
  check_lanes<S>("vlt." + width + " " + masks + ", x1, x2, vaddsign1", {}, [](S x, S y) { return x < y; });
  check_lanes<U>("vlt." + width + " " + masks + ", x1, x2, vaddsign0", {}, [](U x, U y) { return x < y; });
  check_lanes<S>("vge." + width + " " + masks + ", x1, x2, vaddsign1", {}, [](S x, S y) { return x >= y; });
  check_lanes<S>("veqz." + width + " " + masks + ", x2", {}, [](S, S y) { return y == 0; });
  check_lanes<S>(
      "vmax_lt." + width + " x3, " + masks + ", x1, x2, vaddsign1", [](S x, S y) { return std::max(x, y); },
      [](S x, S y) { return x < y; });
  check_lanes<U>(
      "vmin_ge." + width + " x3, " + masks + ", x1, x2, vaddsign0", [](U x, U y) { return std::min(x, y); },
      [](U x, U y) { return x >= y; });
  check_lanes<S>(
      "vsub_lt." + width + " x3, " + masks + ", x1, x2, vaddsign1", [&](S x, S y) { return minus(x, y); },
      [](S x, S y) { return x < y; });
  check_lanes<U>(
      "vsub_ge." + width + " x3, " + masks + ", x1, x2, vaddsign0", [&](U x, U y) { return minus(x, y); },
      [](U x, U y) { return x >= y; });
  check_lanes<U>(
      "vmaxdiff_lt." + width + " x3, " + masks + ", x1, x2, vaddsign0",
      [&](U x, U y) { return x < y ? U{0} : minus(x, y); }, [](U x, U y) { return x < y; });
  check_lanes<S>(
      "vabs_gtz." + width + " x3, " + masks + ", x2, vaddsign1",
      [&](S, S y) { return y < 0 ? minus(S{0}, y) : y; }, [](S, S y) { return y > 0; });
  check_lanes<S>(
      "vneg_gtz." + width + " x3, " + masks + ", x2", [&](S, S y) { return minus(S{0}, y); },
      [](S, S y) { return y > 0; });
  check_lanes<S>(
      "vbneg_ltz.s" + width + " x3, " + masks + ", x2", [](S, S y) { return static_cast<S>(~y); },
      [](S, S y) { return y < 0; });
}

TEST(CoreVector, IntegerLanes8) {
  check_family<i8>("8");
}
TEST(CoreVector, IntegerLanes16) {
  check_family<i16>("16");
}
TEST(CoreVector, IntegerLanes32) {
  check_family<i32>("32");
}

// The sign comes from the register that the suffix names, not from the suffix.
TEST(CoreVector, SignRegistersAreState) {
  const VectorRun run("vlt.16 r16, x1, x2, vaddsign0", 3, [](TestCore& t) { t.set("vaddsign0", 1); });
  for (size_t i = 0; i < 32; ++i)
    ASSERT_EQ((run.mask >> i) & 1, lane<i16>(run.a, i) < lane<i16>(run.b, i)) << i;
}

TEST(CoreVector, SelectAndAddSub) {
  for (const char* op : {"vsel.16", "vaddsub.16"}) {
    const VectorRun run(std::string(op) + " x3, x1, x2, r18", 4,
                        [](TestCore& t) { t.set("r18", 0xA5C3F00F); });
    for (size_t i = 0; i < 32; ++i) {
      const bool bit = (0xA5C3F00Fu >> i) & 1;
      const u16 x = lane<u16>(run.a, i), y = lane<u16>(run.b, i);
      const u16 expected = op[1] == 's' ? (bit ? y : x) : static_cast<u16>(bit ? x - y : x + y);
      ASSERT_EQ(lane<u16>(run.d, i), expected) << op << i;
    }
  }
}

TEST(CoreVector, Bf16OrderAndNan) {
  const auto number = [](u16 v) { return static_cast<double>(std::bit_cast<float>(u32{v} << 16)); };
  const VectorRun run("vmax_lt.bf16 x3, r16, x1, x2", 5);
  for (size_t i = 0; i < 32; ++i) {
    const u16 x = lane<u16>(run.a, i), y = lane<u16>(run.b, i);
    const bool less = number(x) < number(y) || (x == 0x8000 && y == 0);
    ASSERT_EQ((run.mask >> i) & 1, less) << i;
    ASSERT_EQ(lane<u16>(run.d, i), less ? y : x) << i;
  }
}

TEST(CoreVector, Bitwise) {
  check_lanes<u32>("vband x3, x1, x2", [](u32 x, u32 y) { return x & y; }, {});
  check_lanes<u32>("vbor x3, x1, x2", [](u32 x, u32 y) { return x | y; }, {});
}

// ---------------------------------------------------------------- permutations

std::vector<u8> shuffle_model(const std::vector<u8>& s, u32 width, u32 rows, u32 columns, bool high) {
  std::vector<u8> out(128, 0);
  const u32 block = width * rows * columns;
  for (u32 base = 0; base + block <= s.size(); base += block) {
    u32 at = base;
    for (u32 c = 0; c < columns; ++c) {
      for (u32 r = 0; r < rows; ++r, at += width)
        std::memcpy(out.data() + at, s.data() + base + (r * columns + c) * width, width);
    }
  }
  return {out.begin() + (high ? 64 : 0), out.begin() + (high ? 128 : 64)};
}

TEST(CoreVector, ShuffleModes) {
  struct Mode {
    u32 mode, width, rows, columns;
    bool high, both;
  };
  for (const Mode& m :
       {Mode{0, 1, 64, 2, false, true},   Mode{1, 1, 64, 2, true, true},   Mode{2, 2, 32, 2, false, true},
        Mode{9, 16, 4, 2, true, true},    Mode{12, 16, 2, 4, false, true}, Mode{18, 2, 2, 32, false, true},
        Mode{21, 1, 2, 64, true, true},   Mode{23, 64, 1, 2, true, true},  Mode{25, 2, 16, 4, true, true},
        Mode{26, 2, 4, 16, false, true},  Mode{28, 2, 8, 4, false, false}, Mode{31, 4, 8, 4, true, true},
        Mode{32, 4, 4, 8, false, true},   Mode{34, 4, 4, 4, false, false}, Mode{35, 1, 8, 8, false, false},
        Mode{36, 1, 16, 4, false, false}, Mode{40, 2, 4, 2, false, false}, Mode{47, 1, 4, 8, false, false},
        Mode{50, 8, 4, 2, false, false},  Mode{52, 2, 8, 8, false, true},  Mode{53, 2, 8, 8, true, true}}) {
    const VectorRun run("vshuffle x3, x1, x2, r5", 6, [&](TestCore& t) { t.set("r5", m.mode); });
    std::vector<u8> s = run.a;
    if (m.both) s.insert(s.end(), run.b.begin(), run.b.end());
    ASSERT_EQ(run.d, shuffle_model(s, m.width, m.rows, m.columns, m.high)) << m.mode;
  }
}

TEST(CoreVector, UnknownShuffleModeIsAFault) {
  TestCore t;
  t.load({"vshuffle x3, x1, x2, r5", "done"});
  t.set("r5", 60);
  EXPECT_EQ(t.core.run(5).reason, StopReason::kFault);
}

TEST(CoreVector, ShiftPushBroadcastExtractInsert) {
  const VectorRun shift("vshift x3, x1, x2, r5", 7, [](TestCore& t) { t.set("r5", 20); });
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(shift.d[i], i + 20 < 64 ? shift.a[i + 20] : shift.b[i - 44]);
  const VectorRun high("vpush.hi.16 x3, x1, r5", 8, [](TestCore& t) { t.set("r5", 0x1234); });
  for (size_t i = 0; i < 31; ++i) ASSERT_EQ(lane<u16>(high.d, i), lane<u16>(high.a, i + 1));
  ASSERT_EQ(lane<u16>(high.d, 31), 0x1234);
  const VectorRun low("vpush.lo.32 x3, r5, x2", 9, [](TestCore& t) { t.set("r5", 77); });
  for (size_t i = 1; i < 16; ++i) ASSERT_EQ(lane<u32>(low.d, i), lane<u32>(low.b, i - 1));
  ASSERT_EQ(lane<u32>(low.d, 0), 77u);
  const VectorRun cast("vextbcst.64 x3, x1, #3", 10);
  for (size_t i = 0; i < 8; ++i) ASSERT_EQ(lane<u64>(cast.d, i), lane<u64>(cast.a, 3));
  const VectorRun insert("vinsert.8 x3, x1, r29, r5", 11, [](TestCore& t) {
    t.set("r5", 0xAB);
    t.set("r29", 40);
  });
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(insert.d[i], i == 40 ? 0xAB : insert.a[i]);
  TestCore t;
  t.load({"vextract.16 r4, x1, #31, vaddsign1", "nop", "vextract.8 r6, x1, r5, vaddsign0", "nop*3", "done"});
  const auto x = random_bytes(64, 12);
  t.set_wide("x1", x.data(), 64);
  t.set("r5", 69);  // 5 of 64
  t.run();
  EXPECT_EQ(t.r("r4"), static_cast<u32>(lane<i16>(x, 31)));
  EXPECT_EQ(t.r("r6"), x[5]);
}

TEST(CoreVector, MovesBetweenFiles) {
  TestCore t;
  const auto data = random_bytes(128, 13);
  t.load({"vmov bmlh2, x1", "vmov ex4, ex1", "vmov wh5, wl1", "vmov cmh1, cml2", "nop*4", "done"});
  t.set_wide("ex1", data.data(), 72);
  t.set_wide("cml2", data.data(), 128);
  t.run();
  EXPECT_EQ(std::memcmp(t.wide("cmh1").data(), data.data(), 64), 0);
  EXPECT_EQ(std::memcmp(t.wide("ex4").data(), data.data(), 72), 0);
  EXPECT_EQ(std::memcmp(t.wide("wh5").data(), data.data(), 32), 0);
  EXPECT_EQ(std::memcmp(t.wide("bmlh2").data(), data.data(), 64), 0);
}

// ---------------------------------------------------------------- conversions

i64 srs_model(i64 v, u32 shift, u32 rounding) {
  const long double x = std::ldexp(static_cast<long double>(v), -static_cast<int>(shift)), f = std::floor(x),
                    c = std::ceil(x);
  const long double half = f + 0.5L;
  const bool tie = x == half;
  const auto nearest = [&](long double on_tie) { return tie ? on_tie : (x < half ? f : c); };
  const bool even = std::fmod(f, 2.0L) == 0;
  switch (rounding) {
    case 0:
      return static_cast<i64>(f);
    case 1:
      return static_cast<i64>(c);
    case 2:
      return static_cast<i64>(std::trunc(x));
    case 3:
      return static_cast<i64>(x < 0 ? f : c);
    case 8:
      return static_cast<i64>(nearest(f));
    case 9:
      return static_cast<i64>(nearest(c));
    case 10:
      return static_cast<i64>(nearest(x < 0 ? c : f));
    case 11:
      return static_cast<i64>(nearest(x < 0 ? f : c));
    case 12:
      return static_cast<i64>(nearest(even ? f : c));
    default:
      return static_cast<i64>(nearest(even ? c : f));
  }
}

TEST(CoreVector, ShiftRoundSaturate) {
  for (const u32 rounding : {0u, 1u, 2u, 3u, 8u, 9u, 10u, 11u, 12u, 13u}) {
    for (const u32 saturation : {0u, 1u, 3u}) {
      TestCore t;
      t.load({"vsrs.4x x0, dm0, s1, srssign1", "vst.srs.2x cml0, s1, srssign1, [p0, #0]", "nop*8", "done"});
      std::mt19937 random(rounding * 7 + saturation);
      std::array<i32, 64> acc;
      for (i32& v : acc)
        v = static_cast<i32>(random() % 4096) * (random() % 2 ? 1 : -1) * (random() % 8 ? 1 : 100);
      t.set_wide("dm0", acc.data(), 256);
      t.set("crrnd", rounding);
      t.set("crsat", saturation);
      t.set("s1", 4);
      t.set("p0", 0x70000);
      t.run();
      const auto x0 = t.wide("x0");
      for (size_t i = 0; i < 64; ++i) {
        i64 e = srs_model(acc[i], 4, rounding);
        if (saturation != 0) e = std::clamp<i64>(e, saturation == 3 ? -127 : -128, 127);
        ASSERT_EQ(static_cast<i8>(x0[i]), static_cast<i8>(e))
            << rounding << " lane " << i << " of " << acc[i];
      }
      for (size_t i = 0; i < 32; ++i) {
        i64 e = srs_model(acc[i], 4, rounding);
        if (saturation != 0) e = std::clamp<i64>(e, saturation == 3 ? -32767 : -32768, 32767);
        ASSERT_EQ(lane<i16>(t.memory, i), static_cast<i16>(e)) << i;
      }
    }
  }
}

TEST(CoreVector, SrsOf64BitLanesAndUnsigned) {
  TestCore t;
  t.load({"vsrs.4x x0, dm0, s1, srssign0", "nop*4", "mov r1, srsrs_of", "done"});
  std::array<i64, 32> acc;
  for (size_t i = 0; i < 32; ++i) acc[i] = (static_cast<i64>(i) - 8) * 1234567890;
  t.set_wide("dm0", acc.data(), 256);
  t.set("crsrsmode", 1);
  t.set("crsat", 1);
  t.set("s1", 16);
  t.run();
  std::vector<u8> x0(64);
  std::memcpy(x0.data(), t.wide("x0").data(), 64);
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(lane<u16>(x0, i), std::clamp<i64>(acc[i] >> 16, 0, 65535)) << i;
  EXPECT_EQ(t.r("r1"), 1u);
}

// The shift is a field of 6 bits: 60..63 shift to the left by 4..1.
TEST(CoreVector, SrsShiftsLeft) {
  const std::array<i64, 16> values = {
      0,          1,          -1,         255,        -256,       65535,      0x1234567,    -0x1234567,
      0x0FFFFFFF, 0x10000000, 0x3FFFFFFF, 0x40000000, -(1 << 28), -(1 << 30), i64{1} << 40, -(i64{1} << 61)};
  for (u32 by = 1; by <= 4; ++by) {
    for (u32 saturation : {0u, 1u}) {
      TestCore t;
      t.load({"vsrs.2x x1, cml0, s1, srssign0", "nop*4", "mov r1, srsrs_of", "done"});
      t.set_wide("cml0", values.data(), 128);
      t.set("crsrsmode", 1);
      t.set("srssign0", 1);
      t.set("crsat", saturation);
      t.set("s1", 64 - by);
      t.run();
      const auto x1 = t.wide("x1");
      for (size_t i = 0; i < 16; ++i) {
        const __int128 exact = static_cast<__int128>(values[i]) << by;
        const __int128 clamped = std::clamp<__int128>(exact, INT32_MIN, INT32_MAX);
        const u32 expected = static_cast<u32>(saturation != 0 ? clamped : exact);
        ASSERT_EQ(load_le<u32>(x1.data() + 4 * i), expected) << values[i] << " << " << by;
      }
      EXPECT_EQ(t.r("r1"), 1u);
    }
  }
}

TEST(CoreVector, UpshiftFromRegisterAndMemory) {
  const auto data = random_bytes(64, 20);
  TestCore t;
  t.load({"vups.4x dm0, x1, s0, upssign1", "vlda.ups.2x cml1, s0, upssign0, [p0], #64", "nop*9", "done"});
  t.set_wide("x1", data.data(), 64);
  std::copy(data.begin(), data.end(), t.memory.begin());
  t.set("p0", 0x70000);
  t.set("s0", 7);
  t.run();
  std::vector<u8> dm0(256), cml1(128);
  std::memcpy(dm0.data(), t.wide("dm0").data(), 256);
  std::memcpy(cml1.data(), t.wide("cml1").data(), 128);
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(lane<i32>(dm0, i), static_cast<i8>(data[i]) * 128);
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(lane<i32>(cml1, i), lane<u16>(data, i) * 128);
  EXPECT_EQ(t.r("p0"), 0x70040u);
}

TEST(CoreVector, UnpackAndPack) {
  const auto data = random_bytes(64, 21);
  TestCore t;
  t.load({"vldb.unpack y1, unpacksign1, [p0, #0]", "vunpack x8, wl0, unpacksign0", "nop*8",
          "vpack wl5, x8, packsign0", "nop*3", "done"});
  std::copy(data.begin(), data.end(), t.memory.begin());
  t.set_wide("x0", data.data(), 64);
  t.set("p0", 0x70000);
  t.run();
  const auto y1 = t.wide("y1"), x8 = t.wide("x8");
  for (size_t i = 0; i < 128; ++i) {
    const i8 nibble = static_cast<i8>((i % 2 ? data[i / 2] >> 4 : data[i / 2]) << 4);
    ASSERT_EQ(static_cast<i8>(y1[i]), nibble >> 4) << i;
  }
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(x8[i], i % 2 ? data[i / 2] >> 4 : data[i / 2] & 15);
  EXPECT_EQ(std::memcmp(t.wide("wl5").data(), data.data(), 32), 0);
}

TEST(CoreVector, Bf16Conversion) {
  const struct {
    u32 bits, rounding;
    u16 expected;
  } cases[] = {{0x3F808000, 12, 0x3F80}, {0x3F818000, 12, 0x3F82}, {0x3F808001, 12, 0x3F81},
               {0xBF800001, 0, 0xBF81},  {0x3F80FFFF, 0, 0x3F80},  {0xBF80FFFF, 2, 0xBF80},
               {0x7F7FFFFF, 12, 0x7F80}, {0x7F800001, 12, 0x7F81}, {0xFF800000, 0, 0xFF80},
               {0x00008000, 11, 0x0001}, {0x3F808000, 13, 0x3F81}};
  for (const auto& c : cases) {
    u8 out[2];
    lanes::bf16_of_fp32(reinterpret_cast<const u8*>(&c.bits), 1, c.rounding, out);
    EXPECT_EQ(out[0] | out[1] << 8, c.expected) << std::hex << c.bits;
    EXPECT_EQ(lanes::bf16_of_fp32(c.bits, c.rounding), c.expected) << std::hex << c.bits;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100000; ++i) {
    const u32 bits = static_cast<u32>(random());
    for (const u32 rounding : {0u, 12u}) {
      u8 out[2];
      lanes::bf16_of_fp32(reinterpret_cast<const u8*>(&bits), 1, rounding, out);
      ASSERT_EQ(out[0] | out[1] << 8, lanes::bf16_of_fp32(bits, rounding)) << std::hex << bits;
    }
  }
}

TEST(CoreVector, BlockFloatConversionRoundTrip) {
  TestCore t;
  t.load({"vconv.bfp16ebs8.fp32 ex0, dm0", "nop*4", "done"});
  std::mt19937 random(2);
  std::array<float, 64> values;
  for (size_t i = 0; i < 64; ++i) {
    values[i] = std::ldexp(static_cast<float>(static_cast<i32>(random() % 2001) - 1000),
                           static_cast<int>(i / 8) - 12);
  }
  t.set_wide("dm0", values.data(), 256);
  t.set("crrnd", 12);
  t.run();
  const auto ex = t.wide("ex0");
  for (size_t b = 0; b < 8; ++b) {
    float top = 0;
    for (size_t i = 0; i < 8; ++i) top = std::max(top, std::fabs(values[8 * b + i]));
    const double unit = std::ldexp(1.0, ex[64 + b] - 133);
    for (size_t i = 0; i < 8; ++i) {
      const double decoded = static_cast<i8>(ex[8 * b + i]) * unit;
      EXPECT_LE(std::fabs(decoded - values[8 * b + i]), unit / 2);
    }
    EXPECT_LE(top, 128 * unit);
    EXPECT_GE(top, 63 * unit);
  }
}

TEST(CoreVector, FloorTanhExp2) {
  EXPECT_EQ(lanes::floor_of_bf16(0xC020, 0), -3);  // -2.5
  EXPECT_EQ(lanes::floor_of_bf16(0x8001, 4), -1);  // tiny negative
  EXPECT_EQ(lanes::floor_of_bf16(0x7F80, 0), 2147483647);
  EXPECT_EQ(lanes::exp2_bf16(std::bit_cast<u32>(3.0f)), 0x4100);
  EXPECT_EQ(lanes::exp2_bf16(std::bit_cast<u32>(200.0f)), 0x7F80);
  EXPECT_EQ(lanes::exp2_bf16(std::bit_cast<u32>(-140.0f)), 0);
  EXPECT_EQ(lanes::tanh_bf16(std::bit_cast<u32>(50.0f)), 0x3F80);
  EXPECT_EQ(lanes::tanh_bf16(std::bit_cast<u32>(-0.0f)), 0x8000);
  for (float x = -4; x < 4; x += 0.37f) {
    const float y = std::bit_cast<float>(u32{lanes::tanh_bf16(std::bit_cast<u32>(x))} << 16);
    EXPECT_NEAR(y, std::tanh(x), std::fabs(std::tanh(x)) / 256 + 1e-9);
  }
}

// ---------------------------------------------------------------- memory forms

TEST(CoreMemory, AddressForms) {
  TestCore t;
  for (u32 i = 0; i < 64; ++i) std::memcpy(t.memory.data() + 4 * i, &i, 4);
  t.load({"lda r1, [p0, #-8]", "lda r2, [p0, dj1]", "lda r3, [p0], m2", "lda r4, [p0], #4", "paddb [p0], #64",
          "lda r5, [p0, #0]", "lda r6, [sp, #-4]", "nop*7", "done"});
  t.set("p0", 0x70020);
  t.set("dj1", 12);
  t.set("m2", 16);
  t.set("sp", 0x70010);
  t.run();
  EXPECT_EQ(t.r("r1"), 6u);
  EXPECT_EQ(t.r("r2"), 11u);
  EXPECT_EQ(t.r("r3"), 8u);
  EXPECT_EQ(t.r("r4"), 12u);
  EXPECT_EQ(t.r("r5"), 29u);
  EXPECT_EQ(t.r("r6"), 3u);
}

TEST(CoreMemory, TwoAndThreeDimensions) {
  TestCore t;  // 2D: 3 steps of 4, then wrap; 3D: 2 x 3
  t.load({"padda.2d [p0], d1", "mov r1, p0", "padda.2d [p0], d1", "mov r2, p0", "padda.2d [p0], d1",
          "mov r3, p0", "padda.2d [p0], d1", "mov r4, p0", "padds.3d [p1], d0*2", "mov r5, p1",
          "padds.3d [p1], d0*4", "mov r6, p1", "done"});
  t.set("p0", 0x70000);
  t.set("dn1", 2);
  t.set("dj1", 4);
  t.set("m1", 100);
  t.set("p1", 0x70000);
  t.set("dn0", 1);
  t.set("dj0", 8);
  t.set("dn4", 2);
  t.set("dj4", 64);
  t.set("m0", 1000);
  t.run();
  EXPECT_EQ(t.r("r1"), 0x70004u);
  EXPECT_EQ(t.r("r2"), 0x70008u);
  EXPECT_EQ(t.r("r3"), 0x70008u + 100);
  EXPECT_EQ(t.r("r4"), 0x7000Cu + 100);
  EXPECT_EQ(t.r("r5"), 0x70000u + 8 + 64);
  EXPECT_EQ(t.r("r6"), 0x70000u + 3 * 8 + 2 * 64 + 1000);
  EXPECT_EQ(t.r("dc0"), 0u);
  EXPECT_EQ(t.r("dc4"), 0u);
}

TEST(CoreMemory, WidthsAndSigns) {
  TestCore t;
  const auto data = random_bytes(256, 30);
  std::copy(data.begin(), data.end(), t.memory.begin());
  t.load({"lda.s8 r1, [p0, #3]", "lda.u8 r2, [p0, #3]", "lda.s16 r3, [p0, #6]", "lda.u16 r4, [p0, #6]",
          "vlda wl1, [p0, #32]", "vldb wh1, [p0, #64]", "vlda bmhl2, [p0, #64]", "lda q1, [p0, #16]",
          "vlda.conv.fp32.bf16 bmll3, [p0, #32]", "nop*8", "vst wl1, [p1, #0]", "vst bmhl2, [p1, #64]",
          "vst.conv.bf16.fp32 bmll3, [p1, #32]", "nop*6", "done"});
  t.set("p0", 0x70000);
  t.set("p1", 0x71000);
  t.run();
  EXPECT_EQ(t.r("r1"), static_cast<u32>(static_cast<i8>(data[3])));
  EXPECT_EQ(t.r("r2"), data[3]);
  EXPECT_EQ(t.r("r3"), static_cast<u32>(lane<i16>(data, 3)));
  EXPECT_EQ(t.r("r4"), lane<u16>(data, 3));
  EXPECT_EQ(std::memcmp(t.memory.data() + 0x1000, data.data() + 32, 32), 0);
  EXPECT_EQ(std::memcmp(t.memory.data() + 0x1040, data.data() + 64, 64), 0);
  EXPECT_EQ(std::memcmp(t.wide("wh1").data(), data.data() + 64, 32), 0);
  EXPECT_EQ(std::memcmp(t.wide("q1").data(), data.data() + 16, 16), 0);
  EXPECT_EQ(std::memcmp(t.memory.data() + 0x1020, data.data() + 32, 32), 0);
}

// A table of 64 entries as programs lay it out: each 32 bytes twice. Entries of 16, 32 and 64 bits are 4, 8
// and 16 bytes apart for the addresses, which may have low bits set.
TEST(CoreMemory, TableLookup) {
  const std::pair<const char*, u32> widths[] = {{"16", 2}, {"32", 4}, {"64", 8}};
  for (const auto& [name, bytes] : widths) {
    const auto entries = random_bytes(64 * bytes, 31);
    for (const bool high : {false, true}) {
      TestCore t;
      for (u32 i = 0; i < 64 * bytes; i += 32) {
        std::copy_n(entries.begin() + i, 32, t.memory.begin() + 0x440 + 2 * i);
        std::copy_n(entries.begin() + i, 32, t.memory.begin() + 0x440 + 2 * i + 32);
      }
      t.load({std::string("vldb.4x") + name + (high ? ".hi" : ".lo") + " wl2, wl1", "nop*8", "done"});
      std::array<u32, 8> index{}, addresses{};
      for (u32 i = 0; i < 8; ++i) {
        index[i] = (i * 23 + 15) % 64;
        addresses[i] = 0x70440 + index[i] * 2 * bytes + i % (2 * bytes);
      }
      t.set_wide("wl1", addresses.data(), 32);
      t.run();
      const auto w = t.wide("wl2");
      for (u32 i = 0; i < 4; ++i) {
        const u8* entry = entries.data() + index[i + (high ? 4 : 0)] * bytes;
        EXPECT_EQ(std::memcmp(w.data() + 8 * i, entry, bytes), 0) << name << " lane " << i;
      }
    }
  }
}

}  // namespace tegula::emu::testing
