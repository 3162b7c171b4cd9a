// Scalar operations, moves, control flow and locks of the core.
#include "emu/core_testing.h"

namespace tegula::emu::testing {

TEST(CoreBasic, RunsToDone) {
  TestCore t;
  t.load({"movxm r1, #5", "add r2, r1, #3", "done", "nop*8"});
  const Stop stop = t.run();
  EXPECT_EQ(t.r("r1"), 5u);
  EXPECT_EQ(t.r("r2"), 8u);
  EXPECT_EQ(stop.cycle, 3u + 5u);
  EXPECT_EQ(t.core.counters().bundles, 3u);
}

TEST(CoreBasic, TimeGoesOnAfterReset) {
  TestCore t;
  t.load({"done"});
  t.core.reset(1000);
  EXPECT_EQ(t.run().cycle, 1006u);
}

TEST(CoreBasic, BudgetStopsAndContinues) {
  TestCore t;
  t.load({"add r1, r1, #1", "add r1, r1, #1", "add r1, r1, #1", "done"});
  Stop stop = t.core.run(2);
  EXPECT_EQ(stop.reason, StopReason::kBudget);
  EXPECT_EQ(stop.cycle, 2u);
  EXPECT_EQ(t.r("r1"), 2u);
  t.run();
  EXPECT_EQ(t.r("r1"), 3u);
}

struct ScalarCase {
  const char* text;
  u32 a, b, expected;
};

class CoreScalar : public ::testing::TestWithParam<ScalarCase> {};

TEST_P(CoreScalar, Computes) {
  const ScalarCase& c = GetParam();
  TestCore t;
  t.load({c.text, "nop*4", "done"});
  t.set("r1", c.a);
  t.set("r2", c.b);
  t.set("r3", 1000);
  t.set("s2", c.b);
  t.set("s3", c.b);
  t.run();
  EXPECT_EQ(t.r("r3"), c.expected) << c.text;
}

INSTANTIATE_TEST_SUITE_P(
    All, CoreScalar,
    ::testing::Values(
        ScalarCase{"add r3, r1, r2", 0xFFFFFFFF, 2, 1}, ScalarCase{"add r3, r1, #-3", 1, 0, 0xFFFFFFFE},
        ScalarCase{"sub r3, r1, r2", 5, 7, 0xFFFFFFFE}, ScalarCase{"and r3, r1, r2", 0xF0F0, 0xFF00, 0xF000},
        ScalarCase{"or r3, r1, r2", 0xF0F0, 0xFF00, 0xFFF0},
        ScalarCase{"xor r3, r1, r2", 0xF0F0, 0xFF00, 0x0FF0},
        ScalarCase{"lshl r3, r1, r2", 0x80000001, 4, 0x10},
        ScalarCase{"lshl r3, r1, r2", 0x80000001, ~0u, 0x40000000},
        ScalarCase{"ashl r3, r1, r2", 0x80000000, static_cast<u32>(-4), 0xF8000000},
        ScalarCase{"clz r3, r1", 0x00FFFFFF, 0, 8}, ScalarCase{"clz r3, r1", 0, 0, 32},
        ScalarCase{"clb r3, r1", 0, 0, 32}, ScalarCase{"clb r3, r1", ~0u, 0, 32},
        ScalarCase{"clb r3, r1", 1, 0, 31}, ScalarCase{"clb r3, r1", 0x00FFFFFF, 0, 8},
        ScalarCase{"popcount r3, r1", 0xF0F0F0F0, 0, 16},
        ScalarCase{"extend.s8 r3, r1", 0x180, 0, 0xFFFFFF80}, ScalarCase{"extend.u8 r3, r1", 0x180, 0, 0x80},
        ScalarCase{"extend.s16 r3, r1", 0x18000, 0, 0xFFFF8000},
        ScalarCase{"extend.u16 r3, r1", 0x18000, 0, 0x8000},
        ScalarCase{"abs r3, r1", static_cast<u32>(-9), 0, 9},
        ScalarCase{"abs r3, r1", 0x80000000, 0, 0x80000000}, ScalarCase{"lt r3, r1, r2", ~0u, 0, 1},
        ScalarCase{"ltu r3, r1, r2", ~0u, 0, 0}, ScalarCase{"ge r3, r1, r2", 3, 3, 1},
        ScalarCase{"geu r3, r1, r2", 2, ~0u, 0}, ScalarCase{"eq r3, r1, r2", 4, 4, 1},
        ScalarCase{"ne r3, r1, r2", 4, 4, 0}, ScalarCase{"eqz r3, r1", 0, 0, 1},
        ScalarCase{"nez r3, r1", 8, 0, 1}, ScalarCase{"mul r3, r1, r2", 0x10001, 0x10001, 0x20001},
        ScalarCase{"mac r3, r3, r1, r2", 7, 6, 1042}, ScalarCase{"msc r3, r3, r1, r2", 7, 6, 958},
        ScalarCase{"add.nc r3, r1, #100", 5, 0, 105}, ScalarCase{"mov r3, r1", 17, 0, 17},
        ScalarCase{"mova r3, #-1000", 0, 0, static_cast<u32>(-1000)},
        ScalarCase{"movx r3, #1000", 0, 0, 1000},
        ScalarCase{"mov r3, r1.fx2flt, s2", 3, 1, 0x3FC00000},  // 3 * 2^-1 = 1.5
        ScalarCase{"mov r3, r1.flt2fx, s3", 0x3FC00000, 2, 6},  // 1.5 * 2^2
        ScalarCase{"inv r3, r1", 0x40800000, 0, 0x3E800000},    // 1/4
        ScalarCase{"sqrt r3, r1", 0x41100000, 0, 0x40400000},   // sqrt 9
        ScalarCase{"invsqrt r3, r1", 0x40800000, 0, 0x3F000000}));

TEST(CoreBasic, CarryChain) {
  TestCore t;  // 0x1_FFFFFFFF + 1, then minus 1 again
  t.load({"add r4, r0, r2", "adc r5, r1, r3", "sub r6, r4, r2", "sbc r7, r5, r3", "mov r8, srcarry", "done"});
  t.set("r0", 0xFFFFFFFF);
  t.set("r1", 1);
  t.set("r2", 1);
  t.set("r3", 0);
  t.run();
  EXPECT_EQ(t.r("r4"), 0u);
  EXPECT_EQ(t.r("r5"), 2u);
  EXPECT_EQ(t.r("r6"), 0xFFFFFFFFu);
  EXPECT_EQ(t.r("r7"), 1u);
  EXPECT_EQ(t.r("r8"), 1u);  // no borrow out
}

TEST(CoreBasic, DivisionBySteps) {
  TestCore t;
  t.load({"divs r5, r31, r5, r6*32", "done"});
  t.set("r31", 1000003);
  t.set("r5", 0);
  t.set("r6", 1009);
  t.run();
  EXPECT_EQ(t.r("r31"), 1000003u / 1009u);
  EXPECT_EQ(t.r("r5"), 1000003u % 1009u);
}

TEST(CoreBasic, SlotsReadBeforeAnyWrites) {
  TestCore t;  // exchanges r1 and r2 in one bundle
  t.load({"add r1, r2, #0;mov r2, r1", "done"});
  t.set("r1", 11);
  t.set("r2", 22);
  t.run();
  EXPECT_EQ(t.r("r1"), 22u);
  EXPECT_EQ(t.r("r2"), 11u);
}

TEST(CoreBasic, PointerRegistersKeepTwentyBits) {
  TestCore t;
  t.load({"movxm p3, #-1", "mov r1, p3", "padda [p3], #64", "mov r2, p3", "done"});
  t.run();
  EXPECT_EQ(t.r("r1"), 0xFFFFFu);
  EXPECT_EQ(t.r("r2"), 63u);
}

TEST(CoreBasic, ControlRegistersKeepTheirWidth) {
  TestCore t;
  t.load({"movx crsat, #31", "movx crrnd, #31", "movx crsrsmode, #31", "mov r1, crsat", "mov r2, crrnd",
          "mov r3, crsrsmode", "done"});
  t.run();
  EXPECT_EQ(t.r("r1"), 3u);
  EXPECT_EQ(t.r("r2"), 15u);
  EXPECT_EQ(t.r("r3"), 1u);
}

TEST(CoreBasic, SelectOnR27) {
  TestCore t;
  t.load({"sel.eqz r3, r1, r2, r27", "sel.nez r4, r1, r2, r27", "done"});
  t.set("r1", 1);
  t.set("r2", 2);
  t.set("r27", 0);
  t.run();
  EXPECT_EQ(t.r("r3"), 1u);
  EXPECT_EQ(t.r("r4"), 2u);
}

// ---------------------------------------------------------------- control flow

TEST(CoreControl, FiveDelayBundlesExecute) {
  TestCore t;
  t.load({"j #target", "add r1, r1, #1", "add r1, r1, #1", "add r1, r1, #1", "add r1, r1, #1",
          "add r1, r1, #1", "add r2, r2, #1", "add r2, r2, #1", "target:", "done"});
  t.run();
  EXPECT_EQ(t.r("r1"), 5u);
  EXPECT_EQ(t.r("r2"), 0u);
}

TEST(CoreControl, ConditionsAreReadAtIssue) {
  TestCore u;
  u.load({"mova r1, #0;mov r5, #1", "jnz r1, #target", "mova r1, #1", "nop*4", "done",
          "target:", "mova r9, #1", "done"});
  u.run();
  EXPECT_EQ(u.r("r9"), 0u);
  TestCore v;
  v.load({"jz r1, #target", "nop*5", "done", "target:", "mova r9, #1", "done"});
  v.run();
  EXPECT_EQ(v.r("r9"), 1u);
}

TEST(CoreControl, CallAndReturn) {
  TestCore t;
  t.load({"jl #callee", "nop*5", "add r2, r2, #1", "done", "callee:", "mova r1, #7", "ret lr",
          "add r3, r3, #1*5", "add r4, r4, #1"});
  t.run();
  EXPECT_EQ(t.r("r1"), 7u);
  EXPECT_EQ(t.r("r2"), 1u);
  EXPECT_EQ(t.r("r3"), 5u);
  EXPECT_EQ(t.r("r4"), 0u);
}

TEST(CoreControl, DecrementingLoopRunsTripCountTimes) {
  TestCore t;
  t.load({"mova r0, #6", "movxm p0, #loop", "loop:", "add r1, r1, #1", "jnzd r0, r0, p0", "nop*5", "done"});
  t.run();
  EXPECT_EQ(t.r("r1"), 7u);  // taken while the value before the decrement is not zero
  EXPECT_EQ(t.r("r0"), ~0u);
}

TEST(CoreControl, HardwareLoopRunsLcTimes) {
  TestCore t;
  t.load({"movxm ls, #first", "movxm le, #last", "movx lc, #9", "nop*20", "first:", "add r1, r1, #1",
          "add r2, r2, #2", "last:", "add r3, r3, #3", "add r4, r4, #1", "done"});
  t.run();
  EXPECT_EQ(t.r("r1"), 9u);
  EXPECT_EQ(t.r("r2"), 18u);
  EXPECT_EQ(t.r("r3"), 27u);
  EXPECT_EQ(t.r("r4"), 1u);
  EXPECT_EQ(t.r("lc"), 0u);
}

TEST(CoreControl, OneBundleHardwareLoop) {
  TestCore t;
  t.load({"movxm ls, #body", "movxm le, #body", "add.nc lc, r9, #0", "nop*20", "body:", "add r1, r1, #1",
          "done"});
  t.set("r9", 5);
  t.run();
  EXPECT_EQ(t.r("r1"), 5u);
}

TEST(CoreControl, BranchInDelayBundleIsAFault) {
  TestCore t;
  t.load({"j #target", "j #target", "nop*8", "target:", "done"});
  const Stop stop = t.core.run(100);
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_NE(stop.fault.find("delay"), std::string::npos);
}

TEST(CoreControl, RunningOutOfProgramMemoryIsAFault) {
  TestCore t;
  t.load({"movxm p0, #16384", "j p0", "nop*5"});
  const Stop stop = t.core.run(100);
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_NE(stop.fault.find("0x4000"), std::string::npos) << stop.fault;
}

TEST(CoreControl, EventsAreCounted) {
  TestCore t;
  t.load({"event #0", "event #1", "event #1", "done"});
  t.run();
  EXPECT_EQ(t.core.counters().events[0], 1u);
  EXPECT_EQ(t.core.counters().events[1], 2u);
}

// ---------------------------------------------------------------- locks, streams, tile registers

TEST(CoreSync, AcquireStopsBeforeTheBundle) {
  TestCore t;
  t.load({"mova r1, #-1", "acq #49, r1;mova r2, #5", "add r3, r2, #1", "done"});
  Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kAcquire);
  EXPECT_EQ(stop.cycle, 1u);
  EXPECT_EQ(stop.lock_id, 49);
  EXPECT_EQ(stop.amount, -1);
  EXPECT_EQ(t.r("r2"), 0u);
  t.core.resume(41);
  stop = t.run();
  EXPECT_EQ(t.r("r3"), 6u);
  EXPECT_EQ(stop.cycle, 4u + 40u + 5u);
  EXPECT_EQ(t.core.counters().stall_cycles[static_cast<int>(StopReason::kAcquire)], 40u);
}

TEST(CoreSync, AcquireAgainInALoopStopsEachTime) {
  TestCore t;
  t.load({"mova r1, #-1", "acq #50, r1", "nop*4", "acq #50, r1", "done"});
  for (int i = 0; i < 2; ++i) {
    const Stop stop = t.core.run(100);
    ASSERT_EQ(stop.reason, StopReason::kAcquire);
    t.core.resume(stop.cycle);
  }
  t.run();
}

TEST(CoreSync, ReleaseStopsAfterItsBundleWithTheStoreDone) {
  TestCore t;  // the memory cycle of a store is 4 after its issue
  t.load({"st r1, [p0, #0]", "nop*3", "rel #51, r2;mova r3, #9", "done"});
  t.set("r1", 77);
  t.set("r2", 1);
  t.set("p0", 0x70040);
  const Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kRelease);
  EXPECT_EQ(stop.cycle, 4u);
  EXPECT_EQ(stop.lock_id, 51);
  EXPECT_EQ(stop.amount, 1);
  EXPECT_EQ(t.memory[0x40], 77u);
  EXPECT_EQ(t.r("r3"), 9u);
  t.run();
}

TEST(CoreSync, StoreTooCloseToReleaseIsNotYetInMemory) {
  TestCore t;
  t.load({"st r1, [p0, #0]", "nop*2", "rel #51, r2", "done"});
  t.set("r1", 77);
  t.set("r2", 1);
  t.set("p0", 0x70040);
  ASSERT_EQ(t.core.run(100).reason, StopReason::kRelease);
  EXPECT_EQ(t.memory[0x40], 0u);
}

TEST(CoreSync, ConditionalLocksAreSkipped) {
  TestCore t;
  t.load({"acq.cond #48, r1, r26", "rel.cond #48, r1, r26", "done"});
  t.set("r26", 0);
  t.run();
  TestCore u;
  u.load({"acq.cond #48, r1, r26", "rel.cond #48, r1, r26", "done"});
  u.set("r26", 1);
  EXPECT_EQ(u.core.run(10).reason, StopReason::kAcquire);
}

TEST(CoreSync, StreamWords) {
  TestCore t;
  t.load({"mov r1, ss", "nop*6", "add r2, r1, #1", "mov.tlast ms, r2", "done"});
  Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kStreamRead);
  EXPECT_TRUE(stop.blocking);
  t.core.resume_word(stop.cycle + 3, 41);
  stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kStreamWrite);
  EXPECT_EQ(stop.word, 42u);
  EXPECT_TRUE(stop.tlast);
  t.core.resume(stop.cycle);
  t.run();
}

TEST(CoreSync, TileRegisters) {
  TestCore t;
  t.load({"st.tm r1, [p0, #4]", "lda.tm r2, [p0], #4", "nop*6", "mov r3, p0", "done"});
  t.set("p0", 0x9D000);
  t.set("r1", 123);
  Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kTileRegister);
  EXPECT_TRUE(stop.is_write);
  EXPECT_EQ(stop.address, 0x1D004u);
  EXPECT_EQ(stop.word, 123u);
  t.core.resume(stop.cycle);
  stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kTileRegister);
  EXPECT_FALSE(stop.is_write);
  EXPECT_EQ(stop.address, 0x1D000u);
  t.core.resume_word(stop.cycle, 55);
  t.run();
  EXPECT_EQ(t.r("r2"), 55u);
  EXPECT_EQ(t.r("r3"), 0x9D004u);
}

TEST(CoreSync, CascadeNeedsItsEnableBit) {
  TestCore t;
  t.load({"movx crscden, #1", "vmov x1, scd", "nop*7", "movx crmcden, #1", "vmov mcd, x1", "done"});
  Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kCascadeRead);
  const auto data = random_bytes(64, 5);
  t.core.resume_cascade(stop.cycle, data.data());
  stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kCascadeWrite);
  EXPECT_EQ(std::memcmp(stop.cascade, data.data(), 64), 0);
  TestCore off;
  off.load({"vmov x1, scd", "vmov mcd, x1", "done"});
  off.run();
}

TEST(CoreSync, NeighbourAccessStopsBeforeTheBundle) {
  TestCore t;
  std::vector<u8> south(kCoreDataBytes);
  south[0x100] = 99;
  t.core.set_neighbour(4, south.data());
  t.load({"lda r1, [p0], #4;add r2, r2, #1", "nop*6", "st r2, [p0, #0]", "nop*5", "done"});
  t.set("p0", 0x40100);
  Stop stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kNeighbour);
  EXPECT_EQ(stop.window, 4u);
  EXPECT_EQ(stop.address, 0x40100u);
  EXPECT_FALSE(stop.is_write);
  EXPECT_EQ(t.r("r2"), 0u);
  t.core.resume(stop.cycle);
  stop = t.core.run(100);
  ASSERT_EQ(stop.reason, StopReason::kNeighbour);
  EXPECT_TRUE(stop.is_write);
  t.core.resume(stop.cycle);
  t.run();
  EXPECT_EQ(t.r("r1"), 99u);
  EXPECT_EQ(south[0x104], 1u);
}

TEST(CoreSync, MissingNeighbourAndBadAddressesAreFaults) {
  for (const u32 address : {0x40000u, 0x30000u, 0x70002u, 0x80000u}) {
    TestCore t;
    t.load({"lda r1, [p0, #0]", "done"});
    t.set("p0", address);
    const Stop stop = t.core.run(10);
    EXPECT_EQ(stop.reason, StopReason::kFault) << address;
    EXPECT_FALSE(stop.fault.empty());
  }
}

TEST(CoreCoverage, MostInstructionsAreEmulated) {
  int count = 0;
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i)
    count += core_implements(static_cast<isa::Op>(i));
  EXPECT_GE(count, 730);
  EXPECT_FALSE(core_implements(isa::find_op("VLDB_POPX_512")));
  EXPECT_TRUE(core_implements(isa::find_op("VMAC_f_vmac_bfp_vmul_bfp_core_EX_EX")));
}

TEST(CoreCoverage, UnknownInstructionNamesItself) {
  TestCore t;
  t.load({"vldb.popx.512 x1, [p0, lf0, r24]", "done"});
  const Stop stop = t.core.run(10);
  ASSERT_EQ(stop.reason, StopReason::kFault);
  EXPECT_NE(stop.fault.find("VLDB_POPX_512"), std::string::npos) << stop.fault;
  EXPECT_NE(stop.fault.find("0x0"), std::string::npos) << stop.fault;
}

}  // namespace tegula::emu::testing
