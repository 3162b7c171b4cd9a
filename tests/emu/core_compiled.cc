// Instructions that public compiled programs use and core_vector.cc does not reach, each against a lane model
// written here. Timing is taken care of with nops; core_timing.cc is about that.
#include <bit>
#include <cmath>

#include "base/hex.h"
#include "emu/core_testing.h"

namespace tegula::emu::testing {

namespace {

template <typename T>
T element(const std::array<u8, 256>& v, size_t i) {
  T out;
  std::memcpy(&out, v.data() + i * sizeof(T), sizeof(T));
  return out;
}
template <typename T>
T element(const std::vector<u8>& v, size_t i) {
  T out;
  std::memcpy(&out, v.data() + i * sizeof(T), sizeof(T));
  return out;
}

float of_bf16(u16 bits) {
  return std::bit_cast<float>(u32{bits} << 16);
}
u16 to_bf16(float exact) {
  return static_cast<u16>(std::bit_cast<u32>(exact) >> 16);
}

// One instruction, then `done` after every latency; x1, x2 hold random bytes.
struct OneInstruction {
  TestCore core;
  std::vector<u8> x1 = random_bytes(64, 41), x2 = random_bytes(64, 42);
  explicit OneInstruction(const std::string& line) {
    core.load({line, "nop*11", "done"});
    core.set_wide("x1", x1.data(), 64);
    core.set_wide("x2", x2.data(), 64);
    core.set("p0", 0x70000);
  }
  std::array<u8, 256> result(std::string_view reg) {
    core.run();
    return core.wide(reg);
  }
};

}  // namespace

TEST(CoreCompiled, BroadcastsOfScalarsAndElements) {
  OneInstruction scalar("vbcst.16 x3, r5");
  scalar.core.set("r5", 0xABCD1234);
  auto x3 = scalar.result("x3");
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(element<u16>(x3, i), 0x1234);
  OneInstruction e16("vextbcst.16 x3, x1, #7");
  x3 = e16.result("x3");
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(element<u16>(x3, i), element<u16>(e16.x1, 7));
  OneInstruction e32("vextbcst.32 x3, x1, r5");
  e32.core.set("r5", 13);
  x3 = e32.result("x3");
  for (size_t i = 0; i < 16; ++i) ASSERT_EQ(element<u32>(x3, i), element<u32>(e32.x1, 13));
  OneInstruction e128("vextbcst.128 x3, x1, #3");
  x3 = e128.result("x3");
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(x3[i], e128.x1[48 + i % 16]);
}

// Mode 28, T16_8x4: an 8 x 4 matrix of 16 bits transposed. The broadcast repeats every 4 or 8 elements.
TEST(CoreCompiled, ExtractBroadcastShuffle) {
  for (const size_t bytes : {size_t{8}, size_t{16}}) {
    OneInstruction run("vextbcstshfl." + std::to_string(8 * bytes) + " x3, x1, r5, r29");
    run.core.set("r5", 2);
    run.core.set("r29", 28);
    const auto x3 = run.result("x3");
    for (size_t row = 0; row < 8; ++row) {
      for (size_t column = 0; column < 4; ++column) {
        const size_t in_broadcast = (row * 4 + column) * 2 % bytes;
        ASSERT_EQ(element<u16>(x3, column * 8 + row), element<u16>(run.x1, (2 * bytes + in_broadcast) / 2))
            << bytes << " " << row << " " << column;
      }
    }
  }
}

TEST(CoreCompiled, ExtractAndInsert) {
  OneInstruction extract("vextract.32 r4, x1, #9, vaddsign0");
  extract.core.run();
  EXPECT_EQ(extract.core.r("r4"), element<u32>(extract.x1, 9));
  OneInstruction first("vinsert.16 x3, x1, #0, r7");
  first.core.set("r7", 0xFFFF5678);
  auto x3 = first.result("x3");
  for (size_t i = 0; i < 32; ++i) ASSERT_EQ(element<u16>(x3, i), i == 0 ? 0x5678 : element<u16>(first.x1, i));
  OneInstruction any("vinsert.32 x3, x1, r29, r7");
  any.core.set("r29", 11);
  any.core.set("r7", 0x9ABCDEF0);
  x3 = any.result("x3");
  for (size_t i = 0; i < 16; ++i)
    ASSERT_EQ(element<u32>(x3, i), i == 11 ? 0x9ABCDEF0 : element<u32>(any.x1, i));
  OneInstruction push("vpush.lo.16 x3, r7, x2");
  push.core.set("r7", 0xFFFF4321);
  x3 = push.result("x3");
  for (size_t i = 0; i < 32; ++i)
    ASSERT_EQ(element<u16>(x3, i), i == 0 ? 0x4321 : element<u16>(push.x2, i - 1));
}

// Sign-magnitude order with -0 below +0; with a NaN both comparisons are false.
TEST(CoreCompiled, Bf16Comparisons) {
  const u16 values[] = {0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80,
                        0x7FC0, 0xFFC1, 0x0001, 0x8001, 0x4049, 0xC2F7};
  const auto below = [](u16 x, u16 y) {
    if (x == y) return false;
    if ((x | y) == 0x8000 && (x & y) == 0) return x == 0x8000;  // the two zeros
    return of_bf16(x) < of_bf16(y);
  };
  const std::pair<const char*, bool> operations[] = {{"vlt.bf16 r16, x1, x2", true},
                                                     {"vge.bf16 r16, x1, x2", false},
                                                     {"vmin_ge.bf16 x3, r16, x1, x2", false}};
  for (const auto& [line, less] : operations) {
    for (u32 round = 0; round < 12; ++round) {
      std::array<u16, 32> x, y;
      for (u32 i = 0; i < 32; ++i) x[i] = values[i % 12], y[i] = values[(i + round) % 12];
      OneInstruction run(line);
      run.core.set_wide("x1", x.data(), 64);
      run.core.set_wide("x2", y.data(), 64);
      const auto x3 = run.result("x3");
      for (u32 i = 0; i < 32; ++i) {
        const bool nan = std::isnan(of_bf16(x[i])) || std::isnan(of_bf16(y[i]));
        const bool bit = !nan && below(x[i], y[i]) == less;
        ASSERT_EQ((run.core.r("r16") >> i) & 1, bit) << line << std::hex << " " << x[i] << " " << y[i];
        if (line[1] == 'm') {
          ASSERT_EQ(element<u16>(x3, i), bit ? y[i] : x[i]);
        }
      }
    }
  }
}

// 64 products of small integers in bf16 are exact, so plain arithmetic is the model. Control word 0x3C.
TEST(CoreCompiled, FloatProductsAndSums) {
  std::mt19937 random(43);
  std::array<u16, 64> a, b;
  std::array<float, 64> acc, other;
  const auto small = [&] { return static_cast<float>(static_cast<int>(random() % 201) - 100); };
  for (size_t i = 0; i < 64; ++i) {
    a[i] = to_bf16(small());
    b[i] = to_bf16(small());
    acc[i] = small() * 8;
    other[i] = small() / 4;
  }
  struct Case {
    const char* line;
    float acc_sign, product_sign, other_sign;
  };
  for (const Case& c :
       {Case{"vmul.f dm2, y1, y2, r1", 0, 1, 0}, Case{"vnegmul.f dm2, y1, y2, r1", 0, -1, 0},
        Case{"vmac.f dm2, dm0, y1, y2, r1", 1, 1, 0}, Case{"vmsc.f dm2, dm0, y1, y2, r1", 1, -1, 0},
        Case{"vadd.f dm2, dm0, dm1, r1", 1, 0, 1}, Case{"vsub.f dm2, dm0, dm1, r1", 1, 0, -1}}) {
    OneInstruction run(c.line);
    run.core.set_wide("y1", a.data(), 128);
    run.core.set_wide("y2", b.data(), 128);
    run.core.set_wide("dm0", acc.data(), 256);
    run.core.set_wide("dm1", other.data(), 256);
    run.core.set("r1", 0x3C);
    const auto dm2 = run.result("dm2");
    for (size_t i = 0; i < 64; ++i) {
      const float expected =
          c.acc_sign * acc[i] + c.product_sign * of_bf16(a[i]) * of_bf16(b[i]) + c.other_sign * other[i];
      ASSERT_EQ(element<float>(dm2, i), expected) << c.line << " lane " << i;
    }
  }
}

// The form with x operands feeds 32 products; the lanes above keep the accumulator (vmac) or are zero (vmul).
TEST(CoreCompiled, FloatProductsOfHalfTheLanes) {
  std::array<u16, 32> a, b;
  std::array<float, 64> acc;
  for (size_t i = 0; i < 64; ++i) acc[i] = static_cast<float>(i) * 3 - 50;
  for (size_t i = 0; i < 32; ++i)
    a[i] = to_bf16(static_cast<float>(i) - 9), b[i] = to_bf16(5 - static_cast<float>(i));
  for (const bool accumulate : {false, true}) {
    OneInstruction run(accumulate ? "vmac.f dm2, dm0, x1, x2, r1" : "vmul.f dm2, x1, x2, r1");
    run.core.set_wide("x1", a.data(), 64);
    run.core.set_wide("x2", b.data(), 64);
    run.core.set_wide("dm0", acc.data(), 256);
    run.core.set("r1", 0x3C);
    const auto dm2 = run.result("dm2");
    for (size_t i = 0; i < 64; ++i) {
      const float product = i < 32 ? of_bf16(a[i]) * of_bf16(b[i]) : 0;
      ASSERT_EQ(element<float>(dm2, i), product + (accumulate ? acc[i] : 0)) << i;
    }
  }
}

// Integer accumulators wrap.
TEST(CoreCompiled, IntegerAccumulatorDifference) {
  const auto a = random_bytes(256, 44), b = random_bytes(256, 45);
  for (const bool wide : {false, true}) {
    OneInstruction run("vsub dm2, dm0, dm1, r3");
    run.core.set_wide("dm0", a.data(), 256);
    run.core.set_wide("dm1", b.data(), 256);
    run.core.set("r3", wide ? 2 : 0);  // accumulator mode int64, int32
    const auto dm2 = run.result("dm2");
    for (size_t i = 0; wide && i < 32; ++i)
      ASSERT_EQ(element<u64>(dm2, i), element<u64>(a, i) - element<u64>(b, i)) << i;
    for (size_t i = 0; !wide && i < 64; ++i)
      ASSERT_EQ(element<u32>(dm2, i), element<u32>(a, i) - element<u32>(b, i)) << i;
  }
}

// Floor and nearest even of the 16 dropped bits, by arithmetic on the value in units of the last kept bit.
TEST(CoreCompiled, Bf16OfAccumulator) {
  std::mt19937 random(46);
  for (const u32 rounding : {0u, 12u}) {
    std::array<float, 16> values;
    for (float& v : values) {
      v = std::ldexp(static_cast<float>(static_cast<i32>(random() % 2000001) - 1000000),
                     static_cast<int>(random() % 9));
    }
    values[0] = 257.0f / 256;  // a tie: down to 1
    values[1] = 259.0f / 256;  // a tie: up
    OneInstruction run("vconv.bf16.fp32 wl3, bmll1");
    run.core.set_wide("bmll1", values.data(), 64);
    run.core.set("crrnd", rounding);
    const auto x3 = run.result("x3");
    for (size_t i = 0; i < 16; ++i) {
      int e = 0;
      std::frexp(values[i], &e);
      const double unit = std::ldexp(1.0, e - 8);
      const double n = rounding == 0 ? std::floor(values[i] / unit) : std::nearbyint(values[i] / unit);
      ASSERT_EQ(static_cast<double>(of_bf16(element<u16>(x3, i))), n * unit) << rounding << " " << values[i];
    }
  }
}

TEST(CoreCompiled, FloorOfBf16) {
  std::array<u16, 32> values;
  for (size_t i = 0; i < 32; ++i) values[i] = to_bf16((static_cast<float>(i) - 15) * 0.375f);
  for (const int shift : {0, 3, -1}) {
    OneInstruction run("vfloor.s32.bf16 x3, wl1, s0");
    run.core.set_wide("x1", values.data(), 64);
    run.core.set("s0", static_cast<u32>(shift));
    const auto x3 = run.result("x3");
    for (size_t i = 0; i < 16; ++i) {
      ASSERT_EQ(element<i32>(x3, i), static_cast<i32>(std::floor(std::ldexp(of_bf16(values[i]), shift))))
          << i;
    }
  }
}

// Within half a unit of the last place of bf16: 2^-9 of the value.
TEST(CoreCompiled, Exp2AndTanh) {
  std::array<float, 16> values;
  for (size_t i = 0; i < 16; ++i) values[i] = (static_cast<float>(i) - 7.5f) * 0.83f;
  for (const bool tanh : {false, true}) {
    OneInstruction run(tanh ? "vtanh wh3, bmlh1" : "vexp2 wh3, bmlh1");
    run.core.set_wide("bmlh1", values.data(), 64);
    const auto x3 = run.result("x3");
    for (size_t i = 0; i < 16; ++i) {
      const double exact =
          tanh ? std::tanh(static_cast<double>(values[i])) : std::exp2(static_cast<double>(values[i]));
      EXPECT_NEAR(of_bf16(element<u16>(x3, 16 + i)), exact, std::fabs(exact) / 256) << values[i];
      EXPECT_NE(of_bf16(element<u16>(x3, 16 + i)), 0);
    }
  }
}

// ---------------------------------------------------------------- memory

// 16 bytes into the lower half of w; that the upper half stays is an assumption.
TEST(CoreCompiled, QuarterLoadsAndStores) {
  TestCore t;
  const auto data = random_bytes(256, 47), before = random_bytes(64, 48);
  std::copy(data.begin(), data.end(), t.memory.begin());
  t.load({"vlda.128 wl3, [p0, dj0]", "vldb.128 wh3, [p0], m0", "nop*8", "vst.128 wh3, [p1], m0", "nop*8",
          "done"});
  t.set_wide("x3", before.data(), 64);
  t.set("p0", 0x70000);
  t.set("p1", 0x70800);
  t.set("dj0", 0x30);
  t.set("m0", 0x50);
  t.run();
  const auto x3 = t.wide("x3");
  for (size_t i = 0; i < 16; ++i) {
    ASSERT_EQ(x3[i], data[0x30 + i]);
    ASSERT_EQ(x3[16 + i], before[16 + i]);
    ASSERT_EQ(x3[32 + i], data[i]);
    ASSERT_EQ(t.memory[0x800 + i], data[i]);
    ASSERT_EQ(t.memory[0x810 + i], 0);
  }
  EXPECT_EQ(t.r("p0"), 0x70050u);
  EXPECT_EQ(t.r("p1"), 0x70850u);
}

// Three rows of two: the pointer steps by dj, and after each row by m.
TEST(CoreCompiled, VectorsInTwoDimensions) {
  TestCore t;
  const auto data = random_bytes(4096, 49);
  std::copy(data.begin(), data.end(), t.memory.begin());
  t.load({"vlda.2d wl0, [p3], d0", "vlda.2d wh0, [p3], d0", "vlda.2d wl1, [p3], d0", "vlda.2d wh1, [p3], d0",
          "nop*8", "vst.2d wl0, [p4], d1", "vst.2d wh0, [p4], d1", "vst.2d wl1, [p4], d1", "nop*8", "done"});
  t.set("p3", 0x70000);
  t.set("dn0", 1);
  t.set("dj0", 64);
  t.set("m0", 512);
  t.set("p4", 0x72000);
  t.set("dn1", 1);
  t.set("dj1", 32);
  t.set("m1", 256);
  t.run();
  const size_t from[] = {0, 64, 576, 640}, to[] = {0x2000, 0x2020, 0x2120};
  const auto x0 = t.wide("x0"), x1 = t.wide("x1");
  EXPECT_EQ(std::memcmp(x0.data(), data.data() + from[0], 32), 0);
  EXPECT_EQ(std::memcmp(x0.data() + 32, data.data() + from[1], 32), 0);
  EXPECT_EQ(std::memcmp(x1.data(), data.data() + from[2], 32), 0);
  EXPECT_EQ(std::memcmp(x1.data() + 32, data.data() + from[3], 32), 0);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(std::memcmp(t.memory.data() + to[i], data.data() + from[i], 32), 0) << i;
  EXPECT_EQ(t.r("p3"), 0x70000u + 2 * (64 + 512));
}

TEST(CoreCompiled, UpshiftedLoad) {
  OneInstruction run("vlda.ups.4x dm1, s0, upssign0, [p0], #64");
  std::copy(run.x1.begin(), run.x1.end(), run.core.memory.begin());
  run.core.set("s0", 3);
  auto dm1 = run.result("dm1");
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(element<i32>(dm1, i), run.x1[i] * 8);
  EXPECT_EQ(run.core.r("p0"), 0x70040u);
  // The register of the suffix says whether elements are signed.
  OneInstruction sign("vlda.ups.4x dm1, s0, upssign0, [p0], #64");
  std::copy(sign.x1.begin(), sign.x1.end(), sign.core.memory.begin());
  sign.core.set("upssign0", 1);
  dm1 = sign.result("dm1");
  for (size_t i = 0; i < 64; ++i) ASSERT_EQ(element<i32>(dm1, i), static_cast<i8>(sign.x1[i]));
}

// Blocks of nine bytes, exponent first, one after the other; values that the format holds exactly.
TEST(CoreCompiled, ConvertedPushes) {
  TestCore t;
  t.load({"vst.push.576.conv.bfp16ebs8.fp32 dm1, [p2, sf, r26]", "nop*8", "vst.flush.512.conv [p2, sf, r26]",
          "nop*8", "vst.push.576.conv.bfp16ebs8.fp32 dm2, [p2, sf, r26]", "nop*8",
          "vst.flush.512.conv [p2, sf, r26]", "nop*8", "done"});
  std::mt19937 random(51);
  std::array<float, 128> values;
  for (size_t i = 0; i < 128; ++i) {
    values[i] =
        std::ldexp(static_cast<float>(static_cast<int>(random() % 127) - 63), static_cast<int>(i / 8) - 6);
  }
  t.set_wide("dm1", values.data(), 256);
  t.set_wide("dm2", values.data() + 64, 256);
  t.set("crrnd", 12);
  t.set("p2", 0x70100);
  t.run();
  for (size_t i = 0; i < 128; ++i) {
    const u8* block = t.memory.data() + 0x100 + i / 8 * 9;
    const float decoded = std::ldexp(static_cast<float>(static_cast<i8>(block[1 + i % 8])), block[0] - 133);
    ASSERT_EQ(decoded, values[i]) << i;
  }
}

// What compilers make of an unaligned load of 32 bytes.
TEST(CoreCompiled, UnalignedLoadsByTwoAlignedOnes) {
  const std::vector<std::string> lines = {"mov r2, p2",
                                          "movx r1, #31",
                                          "and r3, r1, r2",
                                          "vldb wl0, [p2], #32",
                                          "vldb wh0, [p2, #0]",
                                          "nop*8",
                                          "vshift x1, x0, x0, r3",
                                          "nop*3",
                                          "done"};
  const auto data = random_bytes(256, 52);
  std::vector<u8> south(kCoreDataBytes);
  for (const u32 base : {0x70000u, 0x40000u}) {
    for (const u32 at : {0u, 4u, 30u, 67u}) {
      TestCore t;
      t.core.set_neighbour(4, south.data());
      t.core.set_options({.neighbour_stops = false});
      std::copy(data.begin(), data.end(), base == 0x70000 ? t.memory.begin() : south.begin());
      t.load(lines);
      t.set("p2", base + at);
      t.run();
      EXPECT_EQ(std::memcmp(t.wide("wl1").data(), data.data() + at, 32), 0) << at;
      EXPECT_EQ(t.r("p2"), base + at + 32);
    }
  }
}

// 64 bytes at a multiple of 32, in the own memory and in a neighbour's.
TEST(CoreCompiled, WideAccessesAtMultiplesOf32) {
  const auto data = random_bytes(256, 53);
  std::vector<u8> south(kCoreDataBytes);
  for (const u32 base : {0x70000u, 0x40000u}) {
    TestCore t;
    t.core.set_neighbour(4, south.data());
    t.core.set_options({.neighbour_stops = false});
    u8* memory = base == 0x70000 ? t.memory.data() : south.data();
    std::copy(data.begin(), data.end(), memory);
    t.load({"vlda x0, [p2], #64", "vldb x1, [p2, #0]", "nop*8", "vst x0, [p3, #0]", "vst bmll0, [p4, #0]",
            "nop*8", "done"});
    t.set("p2", base + 0x20);
    t.set("p3", base + 0x420);
    t.set("p4", base + 0x460);
    const auto quarter = random_bytes(64, 54);
    t.set_wide("bmll0", quarter.data(), 64);
    t.run();
    EXPECT_EQ(std::memcmp(t.wide("x0").data(), data.data() + 0x20, 64), 0);
    EXPECT_EQ(std::memcmp(t.wide("x1").data(), data.data() + 0x60, 64), 0);
    EXPECT_EQ(std::memcmp(memory + 0x420, data.data() + 0x20, 64), 0);
    EXPECT_EQ(std::memcmp(memory + 0x460, quarter.data(), 64), 0);
  }
}

// With strict alignment, and for what nothing public shows in use, a misaligned address stays a fault.
TEST(CoreCompiled, OtherMisalignedAccessesAreFaults) {
  const std::tuple<const char*, bool, u32> cases[] = {
      {"vldb wl0, [p2, #0]", true, 0x70022},  {"vlda x0, [p2, #0]", true, 0x70020},
      {"vst bmll0, [p2, #0]", true, 0x70020}, {"vlda x0, [p2, #0]", false, 0x70022},
      {"vst wl0, [p2, #0]", false, 0x70022},  {"vst bmll0, [p2, #0]", false, 0x70022},
      {"lda r1, [p2, #0]", false, 0x70022},   {"vlda.128 wl0, [p2, #0]", false, 0x70022}};
  for (const auto& [line, strict, at] : cases) {
    TestCore t;
    t.core.set_options({.strict_alignment = strict});
    t.load({line, "nop*8", "done"});
    t.set("p2", at);
    const Stop stop = t.core.run(100);
    EXPECT_EQ(stop.reason, StopReason::kFault) << line;
    EXPECT_NE(stop.fault.find(hex(at) + " is not aligned to"), std::string::npos) << stop.fault;
  }
}

TEST(CoreCompiled, PointerMoves) {
  TestCore t;
  t.load({"movs p1, p0", "padds [p1], #-512", "paddxm [sp], #128", "movs p2, p1;paddxm [sp], #-64", "done"});
  t.set("p0", 0x70400);
  t.set("sp", 0x70000);
  t.run();
  EXPECT_EQ(t.r("p1"), 0x70200u);
  EXPECT_EQ(t.r("p2"), 0x70200u);
  EXPECT_EQ(t.r("p0"), 0x70400u);
  EXPECT_EQ(t.r("sp"), 0x70040u);
}

}  // namespace tegula::emu::testing
