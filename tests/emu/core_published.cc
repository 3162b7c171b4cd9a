// Expected values published with the instruction set's own open simulator tests (llvm-aie,
// llvm/test/tools/llvm-aie-run): an independent reading of the same machine. Programs are our own; operands
// and results are facts from there.
#include "emu/core_testing.h"

namespace tegula::emu::testing {

std::vector<u32> words(const TestCore& t, std::string_view reg) {
  std::vector<u32> out(64);
  std::memcpy(out.data(), t.wide(reg).data(), 256);
  return out;
}

// aie2p-mac-bfp16-matrix.s: B is indexed [column][k].
TEST(CorePublished, BlockMatrixIsTransposed) {
  TestCore t;
  std::vector<u8> a(72), b(72);
  a[3] = 0x40, a[8] = 0x20, a[9] = 0x40, a[34] = 0x40;
  b[16] = 0x40, b[17] = 0xF8, b[29] = 0x70, b[43] = 0x60, b[58] = 0x50;
  a[64] = 0x80, a[65] = 0x80, a[68] = 0x7F;
  b[66] = 0x81, b[67] = 0x81, b[69] = 0x80, b[71] = 0x81;
  t.load({"vmac.f dm2, dm2, ex0, ex1, r6", "nop*6", "done"});
  t.set_wide("ex0", a.data(), 72);
  t.set_wide("ex1", b.data(), 72);
  t.set("r6", 0x30D);
  t.run();
  const auto lanes = words(t, "dm2");
  for (size_t i = 0; i < 64; ++i) {
    const u32 expected = i == 5 ? 0x40C00000 : i == 10 ? 0x40400000 : i == 39 ? 0x40A00000 : 0;
    EXPECT_EQ(lanes[i], expected) << i;
  }
}

// aie2p-mac-conf-negation.s: bit 11 negates the product, bit 12 the accumulator.
TEST(CorePublished, NegationBitsOfTheControlWord) {
  TestCore t;
  t.load({"vbcst.32 x0, r0", "vbcst.32 x1, r1", "vbcst.32 x2, r2", "nop*2", "vmul dm0, x1, x2, r9", "nop*7",
          "vmul dm1, x1, x2, r10", "vmac dm2, dm0, x1, x0, r11", "nop*7", "done"});
  t.set("r0", 0x03FF0002);
  t.set("r1", 0x04030201);
  t.set("r2", 0x00030001);
  t.set("r9", 776);
  t.set("r10", 2824);
  t.set("r11", 4872);
  t.run();
  const i32 plain[] = {20, 0, 60, 0}, negated[] = {-20, 0, -60, 0}, both[] = {20, 0, -80, 60};
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(static_cast<i32>(words(t, "dm0")[i]), plain[i % 4]);
    EXPECT_EQ(static_cast<i32>(words(t, "dm1")[i]), negated[i % 4]);
    EXPECT_EQ(static_cast<i32>(words(t, "dm2")[i]), both[i % 4]);
  }
}

// aie2p-conv-bfp16ebs8.s: floor of two's-complement mantissas, exponents apart in el and eh.
TEST(CorePublished, BlockConversionFloors) {
  TestCore t;
  const u16 low[8] = {0x3F80, 0xBF80, 0x4000, 0x3F00, 0xBF81, 0x3F81, 0x3A80, 0xBA80},
            high[4] = {0x3F00, 0xBF00, 0x3E80, 0xBE80};
  t.load({"vconv.fp32.bf16 cml0, x2", "vconv.fp32.bf16 cmh0, x3", "nop*2", "vconv.bfp16ebs8.fp32 ex0, dm0",
          "nop*4", "done"});
  t.set_wide("x2", low, sizeof low);
  t.set_wide("x3", high, sizeof high);
  t.run();
  const auto ex = t.wide("ex0");
  const u8 first[8] = {0x20, 0xE0, 0x40, 0x10, 0xDF, 0x20, 0x00, 0xFF}, fifth[4] = {0x40, 0xC0, 0x20, 0xE0};
  EXPECT_EQ(std::memcmp(ex.data(), first, 8), 0);
  EXPECT_EQ(std::memcmp(ex.data() + 32, fifth, 4), 0);
  EXPECT_EQ(ex[64], 0x80);
  EXPECT_EQ(ex[68], 0x7E);
}

// aie2p-srs-saturate.s: +-65536 to 16 bits.
TEST(CorePublished, SaturationModes) {
  TestCore t;
  t.load({"vups.2x bmll0, wl0, s1, upssign1", "nop*3", "vsrs.2x wl1, bmll0, s0, srssign1", "movx crsat, #1",
          "vsrs.2x wl3, bmll0, s0, srssign1", "vsrs.2x wl4, bmll0, s0, srssign0", "movx crsat, #3",
          "vsrs.2x wl7, bmll0, s0, srssign1", "nop*5", "done"});
  std::vector<u32> pairs(16, 0xFFFF0001);
  t.set_wide("x0", pairs.data(), 64);
  t.set("s1", 16);
  t.run();
  EXPECT_EQ(words(t, "wl1")[0], 0u);
  EXPECT_EQ(words(t, "wl3")[0], 0x80007FFFu);
  EXPECT_EQ(words(t, "wl4")[0], 0x0000FFFFu);
  EXPECT_EQ(words(t, "wl7")[0], 0x80017FFFu);
}

}  // namespace tegula::emu::testing
