// Operand cycles, units and memory cycles against the values of the handbook (scheduling model of the
// vendor's compiler).
#include <gtest/gtest.h>

#include "isa/text.h"
#include "isa_test_util.h"

namespace tegula::isa {
namespace {

// Timing of an operand of the first instruction of a line that is not a nop.
const Instr& only(const Bundle& bundle) {
  return bundle.instr[0];
}

OperandTiming operand(const std::string& line, std::string_view name) {
  const auto bundle = assemble(line);
  EXPECT_TRUE(bundle.ok()) << line << ": " << bundle.error().message;
  const Instr& instr = only(*bundle);
  const InstrInfo& in = info(instr.op);
  for (size_t i = 0; i < in.operands.size(); ++i) {
    if (in.operands[i].name == name) return timing(instr).operand[i];
  }
  ADD_FAILURE() << line << " has no operand " << name;
  return {};
}

std::string units(const std::string& line) {
  const auto bundle = assemble(line);
  EXPECT_TRUE(bundle.ok()) << line;
  std::string text;
  for (const UnitUse& use : timing(only(*bundle)).units) {
    text += std::string(unit_name(use.unit)) + "@" + std::to_string(use.start) + "+" +
            std::to_string(use.cycles) + (use.weak ? "w " : " ");
  }
  return text;
}

TEST(Timing, HandbookTable) {
  EXPECT_EQ(operand("add r0, r1, r2", "d0").cycle, 1);
  EXPECT_EQ(operand("movx r0, #3", "dst").cycle, 1);
  EXPECT_EQ(operand("movxm p0, #3", "dst").cycle, 1);
  EXPECT_EQ(operand("mova r0, #3", "dst").cycle, 1);
  EXPECT_EQ(operand("mul r0, r1, r2", "d0").cycle, 2);
  EXPECT_EQ(operand("inv r0, r1", "d0").cycle, 4);
  EXPECT_EQ(operand("lda r0, [p0, #0]", "dst").cycle, 7);
  EXPECT_EQ(operand("lda.s8 r0, [p0, #0]", "dst").cycle, 7);
  EXPECT_EQ(operand("vlda x0, [p0, #0]", "dst").cycle, 7);
  EXPECT_EQ(operand("vldb x0, [p0, #0]", "dst").cycle, 7);
  EXPECT_EQ(operand("vlda x0, [p0], #64", "ptr_out").cycle, 1);
  EXPECT_EQ(operand("vlda.pop.576 ex0, [p0, lf0, r24]", "dst").cycle, 8);
  EXPECT_EQ(operand("vlda.pop.576 ex0, [p0, lf0, r24]", "fifo_reg").cycle, 7);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "dst").cycle, 6);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "dst").bypass, Bypass::kNone);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "acc1").cycle, 4);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "acc1").bypass, Bypass::kVec);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "s1").cycle, 1);
  EXPECT_EQ(operand("vmac.f dm0, dm1, x0, x1, r0", "s2").cycle, 1);
  EXPECT_EQ(operand("vmac dm0, dm1, x0, x1, r0", "dst").cycle, 6);
  EXPECT_EQ(operand("vmac dm0, dm1, x0, x1, r0", "dst").bypass, Bypass::kVec);
  EXPECT_EQ(operand("vups.4x dm0, x0, s0, upssign0", "dst").cycle, 3);
  EXPECT_EQ(operand("vsrs.4x x0, dm0, s0, srssign0", "dst").cycle, 4);
  EXPECT_EQ(operand("vadd.32 x0, x1, x2", "d").cycle, 2);
  EXPECT_EQ(operand("vadd.32 x0, x1, x2", "d").bypass, Bypass::kMv);
  EXPECT_EQ(operand("vmov x0, scd", "dst").cycle, 7);
  EXPECT_EQ(operand("mov r0, ss", "dst").cycle, 7);
  EXPECT_EQ(operand("mov.d1 r0, r1", "dst").cycle, 2);
  EXPECT_EQ(operand("mov.d6 r0, r1", "dst").cycle, 7);
  EXPECT_EQ(operand("st.s8 r0, [p0, #0]", "src").cycle, 7);
  EXPECT_EQ(operand("vunpack x0, wl1, unpacksign0", "src").cycle, 7);
}

TEST(Timing, DistancesOfTheHandbook) {
  const OperandTiming mac = operand("vmac dm0, dm1, x0, x1, r0", "dst");
  const OperandTiming acc = operand("vmac dm0, dm1, x0, x1, r0", "acc1");
  const OperandTiming mac_f = operand("vmac.f dm0, dm1, x0, x1, r0", "dst");
  EXPECT_EQ(min_distance(mac, acc), 2);
  EXPECT_EQ(min_distance(mac_f, acc), 3);
  EXPECT_EQ(min_distance(mac, operand("vst bmll0, [p0, #0]", "src")), 6);
  EXPECT_EQ(min_distance(operand("vups.4x dm1, x0, s0, upssign0", "dst"), acc), 0);
  const OperandTiming add = operand("vadd.32 x0, x1, x2", "d");
  EXPECT_EQ(min_distance(add, operand("vadd.32 x0, x1, x2", "s1")), 1);
  EXPECT_EQ(min_distance(add, operand("vst x0, [p0, #0]", "src")), 2);
  EXPECT_EQ(min_distance(operand("vlda x0, [p0, #0]", "dst"), operand("vmac dm0, dm1, x0, x1, r0", "s1")), 7);
}

TEST(Timing, VariantsFollowTheRegisterClass) {
  EXPECT_EQ(units("add.nc p1, r2, #3"), "L_RM_PORT@0+1 P_WM_PORT@0+1 RSRC_EXECUTION_TRACE@0+1 ");
  EXPECT_EQ(units("add.nc r1, r2, #3"), "L_RM_PORT@0+1 L_WM_PORT@0+1 RSRC_EXECUTION_TRACE@0+1 ");
  EXPECT_EQ(units("mov dj1, r2"), "COL@0+1 DJ_WM_PORT@0+1 L_RM_PORT@0+1 RSRC_EXECUTION_TRACE@0+1 ");
  EXPECT_EQ(units("mov r1, dj2"), "AGU_RM_PORT@0+1 COL@0+1 L_WM_PORT@0+1 RSRC_EXECUTION_TRACE@0+1 ");
  EXPECT_EQ(units("movs m1, r2"), "M_WM_PORT@0+1 R_RS_PORT@0+1 ");
  EXPECT_EQ(units("lda p1, [p0, #0]"), "PART_WORD_STORE@0+1w AGUA__AGI_I@0+1 DM_ADA@1+1 P_WM_PORT@6+1 ");
  EXPECT_EQ(units("lda lr, [p0, #0]"), "PART_WORD_STORE@0+1w AGUA__AGI_I@0+1 DM_ADA@1+1 ");
  // The bypass of a vector move exists between vector registers only.
  EXPECT_EQ(operand("vmov x0, x1", "dst").bypass, Bypass::kMv);
  EXPECT_EQ(operand("vmov bmll0, x1", "dst").bypass, Bypass::kNone);
  EXPECT_EQ(operand("vmov bmll0, x1", "src").bypass, Bypass::kMv);
  EXPECT_EQ(operand("vmov x0, bmll1", "src").bypass, Bypass::kNone);
}

TEST(Timing, StagesAndMemoryCycles) {
  EXPECT_EQ(units("acq #49, r1"), "LCKREQ@0+4 ");
  EXPECT_EQ(units("done"), "DONE_FU@3+3 ");
  const auto load = assemble("lda r0, [p0, #0]");
  EXPECT_EQ(timing(only(*load)).memory_first, 5);
  EXPECT_EQ(timing(only(*load)).memory_last, 5);
  const auto part = assemble("st.s8 r0, [p0, #0]");
  EXPECT_EQ(timing(only(*part)).memory_first, 5);
  EXPECT_EQ(timing(only(*part)).memory_last, 11);
  const auto add = assemble("add r0, r1, r2");
  EXPECT_EQ(timing(only(*add)).memory_first, 0);
  const auto call = assemble("jl #32");
  ASSERT_EQ(timing(only(*call)).implicit_defs.size(), 1u);
  EXPECT_EQ(timing(only(*call)).implicit_defs[0].first, Reg::lr);
  EXPECT_EQ(timing(only(*call)).implicit_defs[0].second.cycle, 4);
}

TEST(Timing, EveryInstructionHasATimingForAllOperands) {
  std::mt19937_64 rng(5);
  for (int i = 0; i < static_cast<int>(Op::kCount); ++i) {
    const Instr instr = random_instr(static_cast<Op>(i), rng);
    const InstrInfo& in = info(instr.op);
    const Timing& t = timing(instr);
    for (size_t n = 0; n < in.operands.size(); ++n) EXPECT_GT(t.operand[n].cycle, 0) << in.name << " " << n;
    EXPECT_EQ(t.implicit_defs.size(), in.implicit_defs.size()) << in.name;
    EXPECT_EQ(t.implicit_uses.size(), in.implicit_uses.size()) << in.name;
    EXPECT_EQ(t.memory_first != 0, in.load || in.store) << in.name;
  }
}

TEST(Registers, StorageAndAliases) {
  EXPECT_EQ(reg_info(Reg::p3).bits, 20);
  EXPECT_EQ(reg_info(Reg::l3).name, "r7:r6");
  ASSERT_EQ(reg_info(Reg::l3).parts.size(), 1u);
  EXPECT_EQ(reg_info(Reg::l3).parts[0].bit, 192);
  EXPECT_EQ(reg_info(Reg::l3).parts[0].bits, 64);
  ASSERT_EQ(reg_info(Reg::dm2).parts.size(), 1u);
  EXPECT_EQ(reg_info(Reg::dm2).parts[0].bit, 4096);
  EXPECT_EQ(reg_info(Reg::bmhl2).parts[0].bit, 4096 + 1024);
  ASSERT_EQ(reg_info(Reg::ex5).parts.size(), 2u);
  EXPECT_EQ(reg_info(Reg::ex5).parts[1].bank, Bank::kE);
  EXPECT_EQ(bank_bits(Bank::kAcc), 10240u);
  EXPECT_TRUE(overlaps(Reg::y1, Reg::wh3));
  EXPECT_FALSE(overlaps(Reg::y1, Reg::wh4));
  EXPECT_TRUE(overlaps(Reg::plfr0, Reg::r24));
  EXPECT_TRUE(overlaps(Reg::d1_3d, Reg::dc5));
  EXPECT_FALSE(overlaps(Reg::d1_3d, Reg::dc6));
  EXPECT_TRUE(overlaps(Reg::qex1, Reg::q1));
  EXPECT_FALSE(overlaps(Reg::crSat, Reg::crRnd));
  EXPECT_EQ(find_reg("bmll0"), Reg::bmll0);
  EXPECT_EQ(find_reg("d0"), Reg::d0);
  EXPECT_EQ(find_reg("r7:r6"), Reg::l3);
  EXPECT_EQ(find_reg("crsrsmode"), Reg::crSRSMode);
  EXPECT_EQ(find_reg("zz"), Reg::kNone);
  for (int i = 1; i < static_cast<int>(Reg::kCount); ++i) {
    for (const RegPart& part : reg_info(static_cast<Reg>(i)).parts) {
      EXPECT_LE(part.bit + part.bits, bank_bits(part.bank)) << reg_info(static_cast<Reg>(i)).name;
    }
  }
}

}  // namespace
}  // namespace tegula::isa
