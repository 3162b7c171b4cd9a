// Back end: errors of the builder, limits of the register files, initiation intervals of the product loops,
// and that the symbolic check notices damaged code.
#include <gtest/gtest.h>

#include "compiler/backend/schedule.h"
#include "compiler/backend/verify.h"
#include "compiler/backend_text.h"

namespace tegula::compiler {
namespace {

using isa::Op;
using isa::Reg;

std::string error_of(Builder builder) {
  auto program = assemble_program(std::move(builder));
  return program.ok() ? "" : program.error().message;
}

TEST(BackendBuilder, RejectsWrongOperandCount) {
  Builder b;
  const VReg r = b.vreg(RegKind::kR, "r");
  b.emit(Op::ABS, {r});
  b.done();
  EXPECT_NE(error_of(std::move(b)).find("too few"), std::string::npos);
}

TEST(BackendBuilder, RejectsRegisterOfWrongKind) {
  Builder b;
  const VReg p = b.vreg(RegKind::kP, "p"), r = b.vreg(RegKind::kR, "r");
  b.move_imm(p, 0);
  b.emit(Op::ABS, {r, p});
  b.done();
  EXPECT_NE(error_of(std::move(b)).find("which no register of class"), std::string::npos);
}

TEST(BackendBuilder, RejectsImmediateOutOfRange) {
  Builder b;
  const VReg p = b.vreg(RegKind::kP, "p"), x = b.vreg(RegKind::kX, "x");
  b.move_imm(p, 0);
  b.emit(Op::VLDA_dmx_lda_x_pstm_nrm_imm, {x, p, 65});
  b.done();
  EXPECT_NE(error_of(std::move(b)).find("expected -512..448 in steps of 64"), std::string::npos);
}

TEST(BackendBuilder, RejectsFifoPointerOtherThanP0P1) {
  Builder b;
  const VReg ex = b.vreg(RegKind::kEx, "e");
  b.emit(Op::VLDA_POP_576_normal_pop, {ex, b.vreg(RegKind::kP, "p")});
  b.done();
  EXPECT_NE(error_of(std::move(b)).find("fixed p0 or p1"), std::string::npos);
}

TEST(BackendBuilder, ReportsReadBeforeWrite) {
  Builder b;
  const VReg r = b.vreg(RegKind::kR, "lost"), s = b.vreg(RegKind::kR, "s");
  b.emit(Op::ABS, {s, r});
  b.emit(Op::ST_dms_sts_idx_imm, {s, b.fixed(Reg::p0), 0});
  b.done();
  EXPECT_NE(error_of(std::move(b)).find("read before it is written on some path: lost"), std::string::npos);
}

TEST(BackendBuilder, ReportsMissingEndAndUnboundLabels) {
  Builder open;
  open.move_imm(open.vreg(RegKind::kR), 1);
  EXPECT_NE(error_of(std::move(open)).find("runs past its end"), std::string::npos);
  Builder lost;
  lost.jump(lost.label("nowhere"));
  EXPECT_NE(error_of(std::move(lost)).find("nowhere is jumped to but never bound"), std::string::npos);
}

TEST(BackendAllocation, NamesTheValuesThatDoNotFit) {
  Builder b;
  const VReg p = b.vreg(RegKind::kP, "p"), control = b.vreg(RegKind::kR, "control");
  b.move_imm(p, 0x70000);
  b.move_imm(control, 0x308);
  std::vector<VReg> sums;
  for (int i = 0; i < 6; ++i) {
    sums.push_back(b.vreg(RegKind::kDm, "sum" + std::to_string(i)));
    b.emit(Op::VCLR, {sums.back()});
  }
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < 2; ++k)
      b.emit(Op::VADD_vmac_cm2_add_reg, {sums[static_cast<size_t>(i)], sums[static_cast<size_t>(i)],
                                         sums[static_cast<size_t>((i + 1) % 6)], control});
  }
  for (const VReg& sum : sums) b.emit(Op::VST_dmx_sts_bm_pstm_nrm_imm, {sub(sum, RegKind::kBm, 0), p, 64});
  b.done();
  const std::string message = error_of(std::move(b));
  EXPECT_NE(message.find("out of registers of kind dm"), std::string::npos) << message;
  EXPECT_NE(message.find("sum"), std::string::npos);
}

TEST(BackendAllocation, TwelveVectorsAndFiveAccumulatorsFit) {
  Builder b;
  const VReg in = b.vreg(RegKind::kP, "in"), out = b.vreg(RegKind::kP, "out");
  b.move_imm(in, 0x70000);
  b.move_imm(out, 0x74000);
  std::vector<VReg> x(12), d(5);
  for (VReg& v : x) {
    v = b.vreg(RegKind::kX, "x");
    b.emit(Op::VLDA_dmx_lda_x_pstm_nrm_imm, {v, in, 64}, {1});
  }
  for (VReg& v : d) {
    v = b.vreg(RegKind::kDm, "d");
    b.emit(Op::VCLR, {v});
  }
  for (size_t i = x.size(); i-- > 0;) b.emit(Op::VST_dmx_sts_x_pstm_nrm_imm, {x[i], out, 64}, {2});
  for (const VReg& v : d) b.emit(Op::VST_dmx_sts_bm_pstm_nrm_imm, {sub(v, RegKind::kBm, 3), out, 64}, {2});
  b.done();
  auto program = assemble_program(std::move(b));
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_LE(program->stats.used_x, 12u);
}

// Text of the product loop: n accumulators, pops on both ports.
std::string product(int n, const std::string& trip) {
  std::string text =
      "r count, control\np q\nex a\nimm q, 0x70000\nLDA_dms_lda_idx_imm count, q, 0\nimm control, 0x30c\nimm "
      "$p0, 0\nimm $p1, 0\n"
      "imm $r24, 0\nimm $r25, 0\nVLDA_FILL_512 $p0 !1\nVLDB_FILL_512 $p1 !2\n";
  for (int i = 0; i < n; ++i)
    text += "dm s" + std::to_string(i) + "\nex b" + std::to_string(i) + "\nVCLR s" + std::to_string(i) + "\n";
  text += "loop " + trip + " {\nVLDA_POP_576_normal_pop a, $p0 !1\n";
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    text += "VLDB_POP_576_normal_pop b" + k + ", $p1 !2\nVMAC_f_vmac_bfp_vmul_bfp_core_EX_EX s" + k + ", s" +
            k + ", a, b" + k + ", control\n";
  }
  text += "}\np c\nimm c, 0x78000\n";
  for (int i = 0; i < n; ++i)
    text += "VST_dmx_sts_bm_pstm_nrm_imm s" + std::to_string(i) + ".bm1, c, 64 !3\n";
  return text + "done\n";
}

TEST(BackendModulo, ProductLoopsReachTheirBounds) {
  const u32 expected[] = {3, 3, 3, 4};  // float sums: three bundles between uses
  for (int n = 1; n <= 4; ++n) {
    auto builder = parse_backend_text(product(n, "count multiple=8 min=8"));
    ASSERT_TRUE(builder.ok()) << builder.error().message;
    auto program = assemble_program(std::move(*builder));
    ASSERT_TRUE(program.ok()) << program.error().message;
    ASSERT_EQ(program->stats.loops.size(), 1u);
    EXPECT_TRUE(program->stats.loops[0].pipelined);
    EXPECT_EQ(program->stats.loops[0].ii, expected[n - 1]) << n;
  }
}

TEST(BackendModulo, EveryConstantTripCountIsRight) {
  for (int trip = 1; trip <= 40; ++trip) {
    auto builder = parse_backend_text(product(3, std::to_string(trip)));
    ASSERT_TRUE(builder.ok()) << builder.error().message;
    auto program = assemble_program(std::move(*builder));
    ASSERT_TRUE(program.ok()) << "trip " << trip << ": " << program.error().message;
  }
}

TEST(BackendModulo, EveryPromiseOnTheTripCountIsRight) {
  for (const char* trip :
       {"count min=0", "count min=1", "count min=3", "count multiple=2 min=2", "count multiple=2 min=0",
        "count multiple=3 min=3", "count multiple=4 min=4", "count multiple=16 min=16", "count edge=jnzd",
        "count edge=jnzd multiple=4 min=8", "count modulo=0"}) {
    auto builder = parse_backend_text(product(2, trip));
    ASSERT_TRUE(builder.ok()) << builder.error().message;
    auto program = assemble_program(std::move(*builder));
    ASSERT_TRUE(program.ok()) << trip << ": " << program.error().message;
  }
}

TEST(BackendLayout, TargetsAreAligned) {
  auto builder = parse_backend_text(product(4, "count"));
  ASSERT_TRUE(builder.ok());
  auto program = assemble_program(std::move(*builder), {.base = 0x40});
  ASSERT_TRUE(program.ok()) << program.error().message;
  EXPECT_EQ(program->bundles[0].address, 0x40u);
  u32 targets = 0;
  for (const PlacedBundle& bundle : program->bundles) {
    for (int i = 0; i < bundle.bundle.count; ++i) {
      const isa::Instr& instr = bundle.bundle.instr[static_cast<size_t>(i)];
      if (instr.op != Op::JNZ && instr.op != Op::JZ) continue;
      EXPECT_EQ(instr.operand[1] % 16, 0);
      ++targets;
    }
  }
  EXPECT_GE(targets, 3u);
}

TEST(BackendLayout, ProgramMemoryIsALimit) {
  auto builder = parse_backend_text(product(4, "count"));
  ASSERT_TRUE(builder.ok());
  auto program = assemble_program(std::move(*builder), {.max_bytes = 128});
  ASSERT_FALSE(program.ok());
  EXPECT_NE(program.error().message.find("program memory has 128"), std::string::npos);
}

// ------------------------------------------------------------- the check itself

struct Pair {
  backend::Function source;
  CoreProgram program;
};

Pair assembled(const std::string& text) {
  auto builder = parse_backend_text(text);
  EXPECT_TRUE(builder.ok());
  Pair pair;
  pair.source = builder->function();
  EXPECT_TRUE(backend::finish_control_flow(pair.source).ok());
  backend::resolve_all(pair.source);
  auto program = assemble_program(std::move(*builder));
  EXPECT_TRUE(program.ok()) << program.error().message;
  pair.program = std::move(*program);
  return pair;
}

// The code with one bundle replaced; nothing when the bundle no longer has its length.
std::optional<CoreProgram> with_bundle(const CoreProgram& program, size_t index, isa::Bundle bundle) {
  const u32 length = bundle.bytes;
  bundle.bytes = 0;
  const auto code = isa::encode(bundle);
  if (!code.ok() || code->size() != length) return {};
  CoreProgram out = program;
  std::copy(code->begin(), code->end(),
            out.code.begin() + (program.bundles[index].address - program.bundles[0].address));
  return out;
}

TEST(BackendVerify, NoticesEveryWrongRegister) {
  const Pair pair = assembled(product(4, "count multiple=8 min=8"));
  ASSERT_TRUE(backend::verify_program(pair.source, pair.program).ok());
  int mutants = 0;
  for (size_t b = 0; b < pair.program.bundles.size(); ++b) {
    const isa::Bundle& bundle = pair.program.bundles[b].bundle;
    for (int i = 0; i < bundle.count; ++i) {
      const isa::InstrInfo& info = isa::info(bundle.instr[static_cast<size_t>(i)].op);
      if (pair.program.bundles[b].origin[static_cast<size_t>(i)].source == kNoSource) continue;
      for (size_t o = 0; o < info.operands.size(); ++o) {
        if (info.operands[o].kind != isa::OperandKind::kReg || !info.operands[o].has_field) continue;
        const auto& members = isa::reg_class(info.operands[o].cls).members;
        if (members.size() < 3) continue;
        isa::Bundle changed = bundle;
        i64& operand = changed.instr[static_cast<size_t>(i)].operand[o];
        const auto at =
            std::find(members.begin(), members.end(), static_cast<Reg>(operand)) - members.begin();
        const Reg other = members[(static_cast<size_t>(at) + 1) % members.size()];
        // Operands that repeat the field change with it.
        for (size_t t = 0; t < info.operands.size(); ++t) {
          if (info.operands[t].tied_to == static_cast<int>(o))
            changed.instr[static_cast<size_t>(i)].operand[t] = static_cast<i64>(other);
        }
        operand = static_cast<i64>(other);
        const auto mutant = with_bundle(pair.program, b, changed);
        if (!mutant) continue;
        ++mutants;
        EXPECT_FALSE(backend::verify_program(pair.source, *mutant).ok())
            << "bundle " << b << " " << info.name << " operand " << o;
      }
    }
  }
  EXPECT_GT(mutants, 100);
}

TEST(BackendVerify, NoticesExchangedBundles) {
  const Pair pair = assembled(product(4, "count multiple=8 min=8"));
  // In the kernel every bundle has its own pop and vmac: exchanging neighbours breaks the order of the sums.
  int mutants = 0;
  for (size_t b = 0; b + 1 < pair.program.bundles.size(); ++b) {
    const PlacedBundle &one = pair.program.bundles[b], &two = pair.program.bundles[b + 1];
    const auto macs = [](const PlacedBundle& p) {
      return std::any_of(p.bundle.instr.begin(), p.bundle.instr.begin() + p.bundle.count,
                         [](const isa::Instr& i) { return isa::info(i.op).mnemonic == "vmac.f"; });
    };
    if (!macs(one) || !macs(two) || one.bundle.bytes != two.bundle.bytes) continue;
    auto first = with_bundle(pair.program, b, two.bundle);
    ASSERT_TRUE(first.has_value());
    auto second = with_bundle(*first, b + 1, one.bundle);
    ASSERT_TRUE(second.has_value());
    std::swap(second->bundles[b].origin, second->bundles[b + 1].origin);
    ++mutants;
    // In the epilogue sums are independent; there an exchange is no error unless it is too close to the
    // store.
    if (pair.program.blocks[one.block].name.find("exit") != std::string::npos) continue;
    EXPECT_FALSE(backend::verify_program(pair.source, *second).ok()) << "bundle " << b;
  }
  EXPECT_GT(mutants, 3);
}

TEST(BackendVerify, NoticesAStoreBehindARelease) {
  const std::string text =
      "p a\nr v, one\nimm a, 0x70000\nimm one, 1\nimm v, 7\nST_dms_sts_idx_imm v, a, 0\nrelease 48, "
      "one\ndone\n";
  const Pair pair = assembled(text);
  size_t store = 0, release = 0;
  for (size_t b = 0; b < pair.program.bundles.size(); ++b) {
    for (int i = 0; i < pair.program.bundles[b].bundle.count; ++i) {
      const isa::InstrInfo& info = isa::info(pair.program.bundles[b].bundle.instr[static_cast<size_t>(i)].op);
      if (info.mnemonic == "st") store = b;
      if (info.mnemonic == "rel") release = b;
    }
  }
  EXPECT_GE(release, store + 6);
  auto moved = with_bundle(pair.program, store, pair.program.bundles[release].bundle);
  ASSERT_TRUE(moved.has_value());
  moved = with_bundle(*moved, release, pair.program.bundles[store].bundle);
  ASSERT_TRUE(moved.has_value());
  std::swap(moved->bundles[store].origin, moved->bundles[release].origin);
  EXPECT_FALSE(backend::verify_program(pair.source, *moved).ok());
}

}  // namespace
}  // namespace tegula::compiler
