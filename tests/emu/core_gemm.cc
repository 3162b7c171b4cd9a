// Whole kernels: int8 and bfp16 matrix products, hand-scheduled, that must come out exact.
#include <bit>
#include <cmath>

#include "emu/core_testing.h"

namespace tegula::emu::testing {

// C[8x8] = A[8 x 8K] B[8K x 8] for int8 in a hardware-free loop: two loads and one vmac per bundle, two
// accumulators in turn, then bias (dm2), shift-round-saturate and store.
TEST(CoreGemm, Int8) {
  constexpr u32 kBlocks = 24;  // K = 192
  TestCore t;
  const auto a = random_bytes(kBlocks * 64, 1), b = random_bytes(kBlocks * 64, 2);
  std::mt19937 random(3);
  std::array<i32, 64> bias;
  for (i32& v : bias) v = static_cast<i32>(random() % 20000) - 10000;
  std::copy(a.begin(), a.end(), t.memory.begin());
  std::copy(b.begin(), b.end(), t.memory.begin() + 0x4000);
  std::memcpy(t.memory.data() + 0x8000, bias.data(), 256);

  std::vector<std::string> lines = {"movxm p0, #0x70000",
                                    "movxm p1, #0x74000",
                                    "movxm p2, #0x78000",
                                    "movxm p3, #0x7c000",
                                    "movxm r0, #0x308",
                                    "movxm s0, #9",
                                    "movx crsat, #1",
                                    "movx crrnd, #12",
                                    "vclr dm0",
                                    "vclr dm1",
                                    "vlda bmll2, [p2], #64",
                                    "vlda bmlh2, [p2], #64",
                                    "vlda bmhl2, [p2], #64",
                                    "vlda bmhh2, [p2], #64"};
  // Software pipeline: block i is loaded 7 bundles before its vmac.
  for (u32 i = 0; i < kBlocks + 7; ++i) {
    std::string line;
    if (i < kBlocks) {
      line =
          "vlda x" + std::to_string(i % 2) + ", [p0], #64;vldb x" + std::to_string(2 + i % 2) + ", [p1], #64";
    }
    if (i >= 7) {
      const u32 k = i - 7;
      const std::string d = "dm" + std::to_string(k % 2);
      if (!line.empty()) line += ";";
      line +=
          "vmac " + d + ", " + d + ", x" + std::to_string(k % 2) + ", x" + std::to_string(2 + k % 2) + ", r0";
    }
    lines.push_back(line);
  }
  lines.insert(lines.end(), {"mova r1, #0", "nop", "vadd dm0, dm0, dm1, r1", "nop", "vadd dm0, dm0, dm2, r1",
                             "nop*5", "vst.srs.4x dm0, s0, srssign1, [p3], #64", "nop*8", "done"});
  t.load(lines);
  t.run();
  for (u32 r = 0; r < 8; ++r) {
    for (u32 c = 0; c < 8; ++c) {
      i32 sum = bias[r * 8 + c];
      for (u32 k = 0; k < kBlocks * 8; ++k) {
        sum +=
            static_cast<i8>(a[k / 8 * 64 + r * 8 + k % 8]) * static_cast<i8>(b[k / 8 * 64 + k % 8 * 8 + c]);
      }
      const double scaled = std::nearbyint(sum / 512.0);
      ASSERT_EQ(static_cast<i8>(t.memory[0xC000 + r * 8 + c]),
                static_cast<i8>(std::clamp(scaled, -128.0, 127.0)))
          << r << "," << c;
    }
  }
  EXPECT_EQ(t.core.counters().matrix_ops, kBlocks);
}

// bfp16: streams of 72-byte blocks through both load FIFOs, three accumulators in turn, result stored as
// fp32. The data are small integers in one exponent, so the sum is exact whatever the order.
TEST(CoreGemm, Bfp16) {
  constexpr u32 kBlocks = 21;  // K = 168
  TestCore t;
  std::mt19937 random(4);
  const auto block = [&](u32 at, u32 exponent) {
    for (u32 row = 0; row < 8; ++row) {
      t.memory[at + 9 * row] = static_cast<u8>(exponent + row % 3);
      for (u32 k = 0; k < 8; ++k) t.memory[at + 9 * row + 1 + k] = static_cast<u8>(random() % 61 - 30);
    }
  };
  for (u32 i = 0; i < kBlocks; ++i) {
    block(72 * i, 130);
    block(0x4000 + 72 * i, 131);
  }
  std::vector<std::string> lines = {
      "movxm p0, #0x70000",        "movxm p1, #0x74000", "movxm p3, #0x7c000", "movxm r0, #0x30c",
      "movx r24, #0;mova r25, #0", "vclr dm0",           "vclr dm1",           "vclr dm2"};
  // One block at a time keeps the schedule simple: pop, wait, multiply.
  for (u32 i = 0; i < kBlocks; ++i) {
    if (i % 8 == 0) lines.push_back("vlda.fill.512 [p0, lf0, r24];vldb.fill.512 [p1, lf1, r25]");
    lines.push_back("vlda.pop.576 ex0, [p0, lf0, r24];vldb.pop.576 ex2, [p1, lf1, r25]");
    lines.push_back("nop*7");
    const std::string d = "dm" + std::to_string(i % 3);
    lines.push_back("vmac.f " + d + ", " + d + ", ex0, ex2, r0");
  }
  lines.insert(lines.end(),
               {"movx r1, #0x3c", "nop*2", "vadd.f dm0, dm0, dm1, r1", "nop*2", "vadd.f dm0, dm0, dm2, r1",
                "nop*5", "vst bmll0, [p3], #64", "vst bmlh0, [p3], #64", "vst bmhl0, [p3], #64",
                "vst bmhh0, [p3], #64", "nop*5", "done"});
  t.load(lines);
  t.run();
  EXPECT_EQ(t.r("r24"), 24u);  // 21 blocks after fills at 0, 8, 16: 64 - 5 * 8 left
  for (u32 r = 0; r < 8; ++r) {
    for (u32 c = 0; c < 8; ++c) {
      double sum = 0;
      for (u32 i = 0; i < kBlocks; ++i) {
        const u8* pa = t.memory.data() + 72 * i + 9 * r;
        const u8* pb = t.memory.data() + 0x4000 + 72 * i + 9 * c;
        i32 dot = 0;
        for (u32 k = 0; k < 8; ++k) dot += static_cast<i8>(pa[1 + k]) * static_cast<i8>(pb[1 + k]);
        sum += std::ldexp(dot, pa[0] + pb[0] - 266);
      }
      float got;
      std::memcpy(&got, t.memory.data() + 0xC000 + 4 * (r * 8 + c), 4);
      ASSERT_EQ(got, static_cast<float>(sum)) << r << "," << c;
    }
  }
}

// The same vmac rate with pops in every bundle: 8 pops per fill, results visible 8 bundles later.
TEST(CoreGemm, Bfp16PopsEveryBundle) {
  TestCore t;
  const auto bytes = random_bytes(72 * 8, 9);
  std::copy(bytes.begin(), bytes.end(), t.memory.begin());
  std::vector<std::string> lines = {"movxm p0, #0x70000", "movx r24, #0", "vlda.fill.512 [p0, lf0, r24]"};
  for (int i = 0; i < 8; ++i) lines.push_back("vlda.pop.576 ex" + std::to_string(i) + ", [p0, lf0, r24]");
  lines.insert(lines.end(), {"nop*8", "done"});
  t.load(lines);
  t.run();
  EXPECT_EQ(t.r("r24"), 0u);
  EXPECT_EQ(t.r("p0"), 0x70000u + 9 * 64);
  for (u32 i = 0; i < 8; ++i) {
    const auto ex = t.wide("ex" + std::to_string(i));
    for (u32 b = 0; b < 8; ++b) {
      ASSERT_EQ(ex[64 + b], bytes[72 * i + 9 * b]);
      ASSERT_EQ(std::memcmp(ex.data() + 8 * b, bytes.data() + 72 * i + 9 * b + 1, 8), 0);
    }
  }
}

TEST(CoreGemm, PushedBlocksAreContiguous) {
  TestCore t;
  const auto bytes = random_bytes(72 * 3, 10);
  std::vector<std::string> lines = {"movxm p2, #0x70100", "movx r26, #0"};
  for (int i = 0; i < 3; ++i) {
    lines.push_back("vst.push.576 ex" + std::to_string(i) + ", [p2, sf, r26]");
    lines.push_back("vst.flush.512 [p2, sf, r26]");
  }
  lines.insert(lines.end(), {"nop*8", "done"});
  t.load(lines);
  for (u32 i = 0; i < 3; ++i) {
    u8 ex[72];
    for (u32 b = 0; b < 8; ++b) {
      ex[64 + b] = bytes[72 * i + 9 * b];
      std::memcpy(ex + 8 * b, bytes.data() + 72 * i + 9 * b + 1, 8);
    }
    t.set_wide("ex" + std::to_string(i), ex, 72);
  }
  t.run();
  EXPECT_EQ(std::memcmp(t.memory.data() + 0x100, bytes.data(), bytes.size()), 0);
  EXPECT_EQ(t.r("p2"), 0x70100u + 3 * 64);
  EXPECT_EQ(t.r("r26"), 24u);
}

TEST(CoreGemm, PopWithoutDataIsAFault) {
  TestCore t;
  t.load({"vlda.pop.576 ex0, [p0, lf0, r24]", "done"});
  t.set("p0", 0x70000);
  t.set("r24", 0);
  EXPECT_EQ(t.core.run(10).reason, StopReason::kFault);
}

}  // namespace tegula::emu::testing
