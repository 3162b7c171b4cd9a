// Corners of instructions that random programs against the slow core have found, each in its smallest
// program.
#include "emu/core_testing.h"

namespace tegula::emu::testing {
namespace {

std::vector<u32> lanes(const TestCore& t, std::string_view reg) {
  std::vector<u32> out(64);
  std::memcpy(out.data(), t.wide(reg).data(), 256);
  return out;
}

TEST(CoreCorners, MoveOfARegisterWithMaskAndExponents) {
  TestCore t;
  t.load({"vmov qex0, qex3", "nop*2", "done"});
  const auto bytes = random_bytes(88, 5), before = random_bytes(256, 6);
  t.set_wide("x3", bytes.data(), 64);
  t.set_wide("e3", bytes.data() + 64, 8);
  t.set_wide("q3", bytes.data() + 72, 16);
  t.set_wide("q1", before.data(), 16);
  t.set_wide("dm0", before.data(), 256);
  t.run();
  EXPECT_EQ(t.wide("x0"), t.wide("x3"));
  EXPECT_EQ(t.wide("e0"), t.wide("e3"));
  EXPECT_EQ(t.wide("q0"), t.wide("q3"));
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 16, t.wide("q1").begin()));
  EXPECT_TRUE(std::equal(before.begin(), before.end(), t.wide("dm0").begin()));
}

// 4x8_8x16T takes 16 columns; an ex register holds eight, the others are zero whatever was multiplied before.
TEST(CoreCorners, BlockModeWithAShortSecondOperand) {
  TestCore t;
  t.load({"vmul.f dm0, ex0, ey1, r0", "nop*7", "vmul.f dm1, ex0, ex2, r0", "nop*7", "done"});
  const std::vector<u8> ones(64, 64), exponents(8, 127);
  for (const char* x : {"x0", "x2", "x3"}) t.set_wide(x, ones.data(), 64);
  for (const char* e : {"e0", "e2", "e3"}) t.set_wide(e, exponents.data(), 8);
  t.set("r0", 0xCC);
  t.run();
  const auto both = lanes(t, "dm0"), half = lanes(t, "dm1");
  for (u32 i = 0; i < 64; ++i) {
    EXPECT_EQ(both[i], 0x41000000u) << i;
    EXPECT_EQ(half[i], i % 16 < 8 ? 0x41000000u : 0u) << i;
  }
}

// Rows of A without a product: a NaN in the accumulator still becomes the one NaN of the float accumulator.
TEST(CoreCorners, NanOfARowWithoutAProduct) {
  TestCore t;
  t.load({"vmac.f dm1, dm0, ex0, ex1, r0", "nop*7", "done"});
  std::vector<u32> acc(64, 0x3F800000);
  acc[0] = 0x7FC12345, acc[9] = 0xFF800001, acc[17] = 0xFF800000, acc[25] = 0x00000007;
  t.set_wide("dm0", acc.data(), 256);
  t.set("r0", 0x0C);
  t.run();
  const auto out = lanes(t, "dm1");
  EXPECT_EQ(out[0], 0x7F800001u);
  EXPECT_EQ(out[9], 0x7F800001u);
  EXPECT_EQ(out[17], 0xFF800000u);
  EXPECT_EQ(out[25], 0u);
  EXPECT_EQ(out[1], 0x3F800000u);
}

TEST(CoreCorners, UpsTellsOfOverflowWhereItSaturates) {
  for (const u32 saturation : {0u, 1u}) {
    TestCore t;
    t.load({"vups.2x cml0, x0, s0, upssign1", "nop*4", "done"});
    const std::vector<u16> values(32, 0x7FFF);
    t.set_wide("x0", values.data(), 64);
    t.set("s0", 20);
    t.set("crsat", saturation);
    t.run();
    EXPECT_EQ(lanes(t, "dm0")[0], saturation == 0 ? 0xFFF00000u : 0x7FFFFFFFu);
    EXPECT_EQ(t.r("srups_of"), saturation);
  }
}

// r31 is read in the second cycle of an accumulation and in the fifth of a move, not at issue.
TEST(CoreCorners, PositionOfACascadeWord) {
  for (const bool move : {false, true}) {
    TestCore t;
    t.load({move ? "vmov dm0, scd, r31" : "vadd dm0, dm1, scd[r31], r0", "mova r31, #2", "nop*8", "done"});
    std::array<u8, 64> word;
    word.fill(1);
    t.set("crscden", 1);
    t.set("r31", 0);
    Stop stop = t.core.run(100);
    ASSERT_EQ(stop.reason, StopReason::kCascadeRead);
    t.core.resume_cascade(stop.cycle, word.data());
    t.run();
    // The new value is there one cycle after its bundle: in the second cycle it is still the old one.
    for (u32 quarter = 0; quarter < 4; ++quarter) {
      EXPECT_EQ(lanes(t, "dm0")[16 * quarter], quarter == (move ? 2u : 0u) ? 0x01010101u : 0u) << quarter;
    }
  }
}

TEST(CoreCorners, FourSynchronisingOperationsInABundle) {
  TestCore t;
  t.load({"mov r1, ss; acq r2, r3; mov ms, r4; vadd dm0, dm1, scd[r31], r0", "nop*8", "done"});
  t.set("crscden", 1);
  t.set("r4", 77);
  std::array<u8, 64> word;
  word.fill(2);
  std::string order;
  for (;;) {
    const Stop stop = t.core.run(100);
    if (stop.reason == StopReason::kDone) break;
    ASSERT_NE(stop.reason, StopReason::kFault) << stop.fault;
    if (stop.reason == StopReason::kStreamRead) t.core.resume_word(stop.cycle, 5);
    if (stop.reason == StopReason::kAcquire) t.core.resume(stop.cycle);
    if (stop.reason == StopReason::kStreamWrite) t.core.resume_word(stop.cycle, 0);
    if (stop.reason == StopReason::kCascadeRead) t.core.resume_cascade(stop.cycle, word.data());
    order += std::to_string(static_cast<int>(stop.reason));
    ASSERT_LE(order.size(), 4u);
  }
  EXPECT_EQ(order.size(), 4u);
  EXPECT_EQ(t.r("r1"), 5u);
  EXPECT_EQ(lanes(t, "dm0")[0], 0x02020202u);
}

TEST(CoreCorners, TwoReadsOfTheCascadeInABundleAreRefused) {
  TestCore t;
  t.load({"vmov.0 dm1, scd; vadd dm0, dm2, scd[r31], r0", "done"});
  t.set("crscden", 1);
  const Stop stop = t.core.run(10);
  EXPECT_EQ(stop.reason, StopReason::kFault);
  EXPECT_NE(stop.fault.find("two reads of the cascade"), std::string::npos) << stop.fault;
}

// A line of a FIFO is a register like others: a store after a load to it, before that has landed, gets the
// old one, in a trace too.
TEST(CoreCorners, FifoLinesInATrace) {
  for (const bool traces : {false, true}) {
    TestCore t;
    CoreOptions options;
    options.traces = traces;
    t.core.set_options(options);
    t.load({"movxm ls, #body", "movxm le, #last", "movxm lc, #4", "nop*16", "body:", "vlda sfh, [p4], #64",
            "nop*4", "vst sfh, [p5], #64", "nop*8", "last:", "nop", "nop*12", "done"});
    for (size_t i = 0; i < 512; ++i) t.memory[i] = static_cast<u8>(1 + i / 64);
    t.set("p4", 0x70000);
    t.set("p5", 0x71000);
    t.run();
    for (u32 i = 0; i < 4; ++i) EXPECT_EQ(t.memory[0x1000 + 64 * i], i) << traces;
    EXPECT_EQ(t.core.counters().traced != 0, traces);
  }
}

}  // namespace
}  // namespace tegula::emu::testing
