// The exposed pipeline: old-value reads, bypasses, accumulator distances, memory ordering.
#include "emu/core_testing.h"

namespace tegula::emu::testing {

// A load result is visible 7 bundles later and not before.
TEST(CoreTiming, LoadLatency) {
  for (int distance = 1; distance <= 8; ++distance) {
    TestCore t;
    std::vector<std::string> lines = {"lda r1, [p0, #0]"};
    if (distance > 1) lines.push_back("nop*" + std::to_string(distance - 1));
    lines.insert(lines.end(), {"add r2, r1, #0", "nop*8", "done"});
    t.load(lines);
    t.set("p0", 0x70000);
    t.set("r1", 1);
    t.memory[0] = 2;
    t.run();
    EXPECT_EQ(t.r("r2"), distance >= 7 ? 2u : 1u) << distance;
    EXPECT_EQ(t.r("r1"), 2u);
  }
}

// Three loads in flight to one register: each value is there for exactly one bundle.
TEST(CoreTiming, SeveralWritesInFlightToOneRegister) {
  TestCore t;
  t.load({"lda r1, [p0], #4*3", "nop*4", "add r2, r1, #0", "add r3, r1, #0", "add r4, r1, #0", "done"});
  t.set("p0", 0x70000);
  t.memory[0] = 10;
  t.memory[4] = 20;
  t.memory[8] = 30;
  t.run();
  EXPECT_EQ(t.r("r2"), 10u);
  EXPECT_EQ(t.r("r3"), 20u);
  EXPECT_EQ(t.r("r4"), 30u);
}

TEST(CoreTiming, MultiplyTakesTwoBundles) {
  TestCore t;
  t.load({"mul r1, r2, r3", "add r4, r1, #0", "add r5, r1, #0", "done"});
  t.set("r1", 9);
  t.set("r2", 6);
  t.set("r3", 7);
  t.run();
  EXPECT_EQ(t.r("r4"), 9u);
  EXPECT_EQ(t.r("r5"), 42u);
}

// mac reads its accumulator at cycle 2, when the mac before has just become visible.
TEST(CoreTiming, BackToBackMultiplyAccumulate) {
  TestCore t;
  t.load({"mac r1, r1, r2, r3*4", "nop", "done"});
  t.set("r1", 1);
  t.set("r2", 3);
  t.set("r3", 5);
  t.run();
  EXPECT_EQ(t.r("r1"), 61u);
}

TEST(CoreTiming, DelayedMoves) {
  for (int n = 1; n <= 6; ++n) {
    TestCore t;
    t.load({"mov.d" + std::to_string(n) + " r1, r2", "nop*" + std::to_string(n), "add r3, r1, #0", "done"});
    t.set("r2", 5);
    t.run();
    EXPECT_EQ(t.r("r3"), 5u) << n;
    TestCore u;
    std::vector<std::string> lines = {"mov.d" + std::to_string(n) + " r1, r2"};
    if (n > 1) lines.push_back("nop*" + std::to_string(n - 1));
    lines.insert(lines.end(), {"add r3, r1, #0", "nop*8", "done"});
    u.load(lines);
    u.set("r2", 5);
    u.run();
    EXPECT_EQ(u.r("r3"), 0u) << n;
  }
}

u32 lane0(const TestCore& t, std::string_view reg) {
  u32 v;
  std::memcpy(&v, t.wide(reg).data(), 4);
  return v;
}

// vadd to vadd: one bundle through the bypass; vadd to vst: two.
TEST(CoreTiming, MvBypass) {
  TestCore t;
  t.load({"vbcst.32 x1, r1", "nop", "vadd.32 x2, x1, x1", "vadd.32 x3, x2, x1", "vadd.32 x4, x3, x2", "nop*2",
          "done"});
  t.set("r1", 1);
  t.run();
  EXPECT_EQ(lane0(t, "x2"), 2u);
  EXPECT_EQ(lane0(t, "x3"), 3u);
  EXPECT_EQ(lane0(t, "x4"), 5u);
}

TEST(CoreTiming, StoreDoesNotSeeTheBypass) {
  TestCore t;
  t.load({"vadd.32 x2, x1, x1", "vst x2, [p0, #0]", "vst x2, [p0, #64]", "nop*6", "done"});
  t.set("p0", 0x70000);
  std::array<u32, 16> one;
  one.fill(1);
  t.set_wide("x1", one.data(), 64);
  t.run();
  EXPECT_EQ(t.memory[0], 0u);
  EXPECT_EQ(t.memory[64], 2u);
}

// A bypassed instruction leaves the register as it was for everyone else in that bundle.
TEST(CoreTiming, BypassDoesNotLeakIntoOtherSlots) {
  TestCore t;
  t.load({"vadd.32 x2, x1, x1", "vadd.32 x3, x2, x2;vst x2, [p0, #0]", "nop*6", "done"});
  t.set("p0", 0x70000);
  std::array<u32, 16> one;
  one.fill(1);
  t.set_wide("x1", one.data(), 64);
  t.run();
  EXPECT_EQ(t.memory[0], 0u);
  EXPECT_EQ(lane0(t, "x3"), 4u);
}

TEST(CoreTiming, CompareMaskTakesTwoBundles) {
  TestCore t;
  t.load({"vge.32 r16, x1, x2, vaddsign1", "vsel.32 x3, x1, x2, r16", "vsel.32 x4, x1, x2, r16", "nop*2",
          "done"});
  std::array<u32, 16> one;
  one.fill(1);
  t.set_wide("x1", one.data(), 64);
  t.run();
  EXPECT_EQ(lane0(t, "x3"), 1u);  // old mask 0: s1
  EXPECT_EQ(lane0(t, "x4"), 0u);  // mask 1: s2
  EXPECT_EQ(t.r("r16"), 0xFFFFu);
}

// Integer vmac to vmac on one accumulator: 2 bundles through the bypass, at 1 it reads the old value.
TEST(CoreTiming, IntegerAccumulatorDistance) {
  for (int distance = 1; distance <= 3; ++distance) {
    TestCore t;
    std::vector<std::string> lines = {"vmac dm0, dm0, x0, x1, r0"};
    if (distance > 1) lines.push_back("nop*" + std::to_string(distance - 1));
    lines.insert(lines.end(), {"vmac dm0, dm0, x0, x1, r0", "nop*6", "done"});
    t.load(lines);
    const std::vector<u8> ones(64, 1);
    t.set_wide("x0", ones.data(), 64);
    t.set_wide("x1", ones.data(), 64);
    t.set("r0", 0x308);
    t.run();
    EXPECT_EQ(lane0(t, "dm0"), distance >= 2 ? 16u : 8u) << distance;
  }
}

// Float accumulators need 3: their results take no bypass.
TEST(CoreTiming, FloatAccumulatorDistance) {
  for (int distance = 2; distance <= 3; ++distance) {
    TestCore t;
    t.load({"vmac.f dm0, dm0, x0, x1, r0", "nop*" + std::to_string(distance - 1),
            "vmac.f dm0, dm0, x0, x1, r0", "nop*6", "done"});
    std::vector<u16> ones(32, 0x3F80);
    t.set_wide("x0", ones.data(), 64);
    t.set_wide("x1", ones.data(), 64);
    t.set("r0", 0x3C);
    t.run();
    EXPECT_EQ(lane0(t, "dm0"), distance >= 3 ? 0x40000000u : 0x3F800000u) << distance;
  }
}

TEST(CoreTiming, MultiplierOperandsAreSampledAtIssue) {
  TestCore t;
  t.load({"vmul dm0, x0, x1, r0", "vmov x0, x2", "nop*6", "done"});
  const std::vector<u8> ones(64, 1), twos(64, 2);
  t.set_wide("x0", ones.data(), 64);
  t.set_wide("x1", ones.data(), 64);
  t.set_wide("x2", twos.data(), 64);
  t.set("r0", 0x308);
  t.run();
  EXPECT_EQ(lane0(t, "dm0"), 8u);
}

// vst of a bm reads at cycle 1: distance 6 from vmul.
TEST(CoreTiming, AccumulatorToStoreDistance) {
  TestCore t;
  t.load({"vmul dm0, x0, x1, r0", "nop*4", "vst bmll0, [p0, #0]", "vst bmll0, [p0, #64]", "nop*6", "done"});
  const std::vector<u8> ones(64, 1);
  t.set_wide("x0", ones.data(), 64);
  t.set_wide("x1", ones.data(), 64);
  t.set("r0", 0x308);
  t.set("p0", 0x70000);
  t.run();
  EXPECT_EQ(t.memory[0], 0u);
  EXPECT_EQ(t.memory[64], 8u);
}

// vups (result at 3) and vadd (accumulators read at 4) may share a bundle.
TEST(CoreTiming, UpshiftFeedsAccumulatorAddInTheSameBundle) {
  TestCore t;
  t.load({"vups.4x dm1, x0, s0, upssign1;vadd dm1, dm1, dm0, r0", "nop*7", "done"});
  const std::vector<u8> fives(64, 5);
  std::array<u32, 64> hundred;
  hundred.fill(100);
  t.set_wide("x0", fives.data(), 64);
  t.set_wide("dm0", hundred.data(), 256);
  t.set("r0", 0);
  t.run();
  EXPECT_EQ(lane0(t, "dm1"), 105u);
}

// ---------------------------------------------------------------- memory ordering

// First issue distance from a store to a load of the same place at which the load sees the store.
int store_to_load_distance(const std::string& store, const std::string& load, u32 expected) {
  for (int distance = 0; distance <= 12; ++distance) {
    TestCore t;
    std::vector<std::string> lines;
    if (distance == 0) {
      lines.push_back(store + ";" + load);
    } else {
      lines.push_back(store);
      if (distance > 1) lines.push_back("nop*" + std::to_string(distance - 1));
      lines.push_back(load);
    }
    lines.insert(lines.end(), {"nop*14", "done"});
    t.load(lines);
    t.set("p0", 0x70000);
    t.set("p2", 0x70000);
    t.set("r26", 0);
    t.set("r1", 0x2A);
    std::array<u32, 64> lanes;
    lanes.fill(0x2A);
    t.set_wide("dm0", lanes.data(), 256);
    const std::vector<u8> bytes(72, 0x2A);
    t.set_wide("ex0", bytes.data(), 72);
    t.run();
    if ((t.r("r2") & 0xFF) == expected) return distance;
  }
  return -1;
}

TEST(CoreTiming, LoadsSeeStoresAfterTheirMemoryCycle) {
  EXPECT_EQ(store_to_load_distance("st r1, [p0, #0]", "lda r2, [p0, #0]", 0x2A), 1);
  EXPECT_EQ(store_to_load_distance("vst bmll0, [p0, #0]", "lda r2, [p0, #0]", 0x2A), 1);
  EXPECT_EQ(store_to_load_distance("vst.push.576 ex0, [p2, sf, r26]", "lda r2, [p0, #0]", 0x2A), 2);
  EXPECT_EQ(store_to_load_distance("vst.srs.4x dm0, s0, srssign1, [p0, #0]", "lda r2, [p0, #0]", 0x2A), 3);
}

TEST(CoreTiming, PartialStoreIsVisibleAfterSeven) {
  for (int distance : {6, 7}) {
    TestCore t;
    t.load(
        {"st.s8 r1, [p0, #0]", "nop*" + std::to_string(distance - 1), "lda r2, [p0, #0]", "nop*14", "done"});
    t.set("p0", 0x70000);
    t.set("r1", 0x2A);
    t.memory[1] = 7;
    t.run();
    EXPECT_EQ(t.r("r2"), distance >= 7 ? 0x072Au : 0x0700u);
  }
}

// Compiled programs keep seven bundles between stores to the halves of a word.
TEST(CoreTiming, PartialStoreWritesTheWordItReadAtCycleFive) {
  for (int distance : {2, 6, 7}) {
    TestCore t;
    t.load({"st.s16 r1, [p0, #0]", "nop*" + std::to_string(distance - 1), "st.s8 r2, [p0, #2]", "nop*14",
            "done"});
    t.set("p0", 0x70000);
    t.set("r1", 0x2A2A);
    t.set("r2", 7);
    t.memory[3] = 9, t.memory[4] = 1;
    t.run();
    EXPECT_EQ(load_le<u32>(t.memory.data()), distance >= 7 ? 0x09072A2Au : 0x09070000u) << distance;
    EXPECT_EQ(t.memory[4], 1u);
  }
}

TEST(CoreTiming, WordStoredBetweenTheCyclesOfAPartialStoreIsLost) {
  TestCore t;
  t.load({"st.s8 r1, [p0, #0]", "nop", "st r2, [p0, #0]", "st r2, [p0, #4]", "nop*14", "done"});
  t.set("p0", 0x70000);
  t.set("r1", 0x2A);
  t.set("r2", 0x11111111);
  t.run();
  EXPECT_EQ(load_le<u32>(t.memory.data()), 0x2Au);
  EXPECT_EQ(load_le<u32>(t.memory.data() + 4), 0x11111111u);
}

// Compiled programs pass values through one half word: each load issues behind the next store, and gets the
// value before. So nothing holds a load back for the sake of a partial store.
TEST(CoreTiming, LoadBehindTheNextPartialStoreGetsTheOneBefore) {
  TestCore t;
  t.load({"st.s16 r1, [p0, #0]", "nop*6", "st.s16 r2, [p0, #0]", "lda.s16 r3, [p0, #0]", "nop*6",
          "lda.s16 r4, [p0, #0]", "nop*7", "done"});
  t.set("p0", 0x70000);
  t.set("r1", 1);
  t.set("r2", 2);
  t.run();
  EXPECT_EQ(t.r("r3"), 1u);
  EXPECT_EQ(t.r("r4"), 2u);
}

// The data of a partial store is read at cycle 7.
TEST(CoreTiming, PartialStoreReadsItsDataLate) {
  TestCore t;
  t.load({"st.s16 r1, [p0, #0]", "nop*4", "movx r1, #5", "movx r1, #6", "nop*6", "done"});
  t.set("p0", 0x70000);
  t.set("r1", 4);
  t.run();
  EXPECT_EQ(t.memory[0], 5u);
}

TEST(CoreTiming, StallsDoNotMoveThePipeline) {
  TestCore t;  // the acquire between load and use changes nothing but time
  t.load({"lda r1, [p0, #0]", "acq #48, r9", "nop*4", "add r2, r1, #0", "add r3, r1, #0", "done"});
  t.set("p0", 0x70000);
  t.set("r1", 1);
  t.memory[0] = 2;
  ASSERT_EQ(t.core.run(100).reason, StopReason::kAcquire);
  t.memory[0] = 3;  // arrives during the stall, before the load's memory cycle
  t.core.resume(500);
  t.run();
  EXPECT_EQ(t.r("r2"), 1u);
  EXPECT_EQ(t.r("r3"), 3u);
}

// ---------------------------------------------------------------- diagnosis

TEST(CoreDiagnosis, EarlyReadIsReported) {
  TestCore t;
  t.core.set_options({.hazards = true});
  t.load({"lda r1, [p0, #0]", "nop*3", "add r2, r1, #0", "nop*8", "done"});
  t.set("p0", 0x70000);
  t.run();
  ASSERT_EQ(t.core.hazards().size(), 1u);
  const Hazard& h = t.core.hazards()[0];
  EXPECT_EQ(h.kind, Hazard::Kind::kEarlyRead);
  EXPECT_EQ(h.producer_pc, 0u);
  EXPECT_EQ(h.reg, TestCore::reg("r1"));
  EXPECT_EQ(h.missing_cycles, 3);
}

TEST(CoreDiagnosis, BypassedReadIsNoHazard) {
  TestCore t;
  t.core.set_options({.hazards = true});
  t.load({"vadd.32 x2, x1, x1", "vadd.32 x3, x2, x1", "nop*3", "done"});
  t.run();
  EXPECT_TRUE(t.core.hazards().empty());
}

TEST(CoreDiagnosis, UninitialisedReadIsReported) {
  TestCore t;
  t.core.set_options({.uninitialised = true});
  t.load({"mova r1, #1", "add r2, r1, r5", "done"});
  t.run();
  ASSERT_EQ(t.core.hazards().size(), 1u);
  EXPECT_EQ(t.core.hazards()[0].reg, TestCore::reg("r5"));
  EXPECT_EQ(t.core.hazards()[0].kind, Hazard::Kind::kUninitialised);
}

}  // namespace tegula::emu::testing
