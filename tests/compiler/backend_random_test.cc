// Random programs through the whole back end: nested loops with every kind of promise, branches, locks,
// sub-registers, fifo and 2D accesses. The symbolic check inside assemble_program compares them with the
// source; the lint has no findings.
#include <gtest/gtest.h>

#include <random>

#include "compiler/backend/builder.h"
#include "isa/lint.h"

namespace tegula::compiler {
namespace {

using isa::Op;
using isa::Reg;

class Generator {
 public:
  explicit Generator(u32 seed) : random_(seed) {}

  Builder run() {
    setup();
    sequence(3, 4 + pick(6));
    for (const VReg& r : r_) b_.emit(Op::ST_dms_sts_idx_imm, {r, any(p_), 4});
    for (const VReg& x : x_) b_.emit(Op::VST_dmx_sts_x_pstm_nrm_imm, {x, any(p_), 64}, tag());
    for (const VReg& d : d_)
      b_.emit(Op::VST_dmx_sts_bm_pstm_nrm_imm, {sub(d, RegKind::kBm, pick(4)), any(p_), 64}, tag());
    b_.done();
    return std::move(b_);
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<u32>(n)); }
  VReg any(const std::vector<VReg>& from) {
    return from[static_cast<size_t>(pick(static_cast<int>(from.size())))];
  }
  Mem tag() { return {static_cast<u16>(pick(4)), pick(8) == 0}; }

  void setup() {
    const auto fill = [&](std::vector<VReg>& into, RegKind kind, int count) {
      for (int i = 0; i < count; ++i) into.push_back(b_.vreg(kind, kind_name(kind) + std::to_string(i)));
    };
    fill(r_, RegKind::kR, 5);
    fill(x_, RegKind::kX, 4);
    fill(e_, RegKind::kEx, 2);
    fill(d_, RegKind::kDm, 3);
    fill(p_, RegKind::kP, 3);
    for (size_t i = 0; i < p_.size(); ++i) b_.move_imm(p_[i], 0x70000 + 0x1000 * static_cast<i64>(i));
    for (size_t i = 0; i < r_.size(); ++i)
      b_.emit(Op::LDA_dms_lda_idx_imm, {r_[i], p_[0], static_cast<i64>(4 * i)});
    for (const VReg& x : x_)
      b_.emit_any({Op::VLDA_dmx_lda_x_pstm_nrm_imm, Op::VLDB_dmx_ldb_x_pstm_nrm_imm}, {x, p_[1], 64}, {1});
    for (const VReg& d : d_) b_.emit(Op::VCLR, {d});
    for (const auto& [reg, value] : {std::pair(Reg::p0, 0x70000),
                                     {Reg::p1, 0x71000},
                                     {Reg::r24, 0},
                                     {Reg::r25, 0},
                                     {Reg::r31, 3},
                                     {Reg::s1, 4},
                                     {Reg::crRnd, 12}}) {
      b_.emit(Op::MOVXM, {b_.fixed(reg), value});
    }
    b_.emit(Op::VLDA_FILL_512, {b_.fixed(Reg::p0)}, {3});
    b_.emit(Op::VLDB_FILL_512, {b_.fixed(Reg::p1)}, {3});
    for (const VReg& e : e_) b_.emit(Op::VLDA_POP_576_normal_pop, {e, b_.fixed(Reg::p0)}, {3});
    grid_ = b_.vreg(RegKind::kD, "grid");
    for (const RegKind part : {RegKind::kM, RegKind::kDn, RegKind::kDj, RegKind::kDc})
      b_.move_imm(sub(grid_, part), 64);
  }

  void sequence(int depth, int count) {
    for (int i = 0; i < count; ++i) {
      const int kind = pick(20);
      if (depth > 0 && kind < 3)
        loop(depth);
      else if (depth > 0 && kind == 3)
        branch(depth);
      else if (depth > 0 && kind == 4)
        lock();
      else
        straight(1 + pick(8));
    }
  }

  void loop(int depth) {
    LoopOptions options;
    static constexpr u32 kMultiples[] = {1, 1, 2, 3, 4, 8};
    options.trip_multiple_of = kMultiples[pick(6)];
    options.min_trip = static_cast<u32>(pick(4)) * options.trip_multiple_of;
    options.modulo = pick(5) != 0;
    options.disjoint_iterations = pick(2) == 0;
    if (pick(4) == 0) options.back_edge = pick(2) == 0 ? BackEdge::kJnz : BackEdge::kJnzd;
    options.name = "loop" + std::to_string(names_++);
    const bool simple = pick(3) != 0;
    const auto body = [&] {
      if (simple)
        straight(2 + pick(8));
      else
        sequence(depth - 1, 1 + pick(3));
    };
    if (pick(3) == 0) return b_.loop(static_cast<u32>(1 + pick(20)), body, options);
    const VReg trip = b_.vreg(RegKind::kR, "trip");
    b_.emit(Op::LDA_dms_lda_idx_imm, {trip, any(p_), 8});
    b_.loop(trip, body, options);
  }

  void branch(int depth) {
    const Label other = b_.label(), end = b_.label();
    const VReg cond = b_.vreg(RegKind::kR, "cond");
    b_.emit(Op::LDA_dms_lda_idx_imm, {cond, any(p_), 12});
    if (pick(2) == 0)
      b_.jump_if_zero(cond, other);
    else
      b_.jump_if_nonzero(cond, other);
    sequence(depth - 1, 1 + pick(2));
    b_.jump(end);
    b_.bind(other);
    sequence(depth - 1, 1 + pick(2));
    b_.bind(end);
  }

  void lock() {
    const VReg amount = b_.vreg(RegKind::kR, "amount");
    b_.move_imm(amount, pick(2) == 0 ? -1 : 1);
    if (pick(2) == 0)
      b_.acquire(48 + pick(4), amount);
    else
      b_.release(48 + pick(4), amount);
  }

  void straight(int count) {
    for (int i = 0; i < count; ++i) {
      switch (pick(3)) {
        case 0:
          scalar();
          break;
        case 1:
          vector();
          break;
        default:
          memory();
          break;
      }
    }
  }

  void scalar() {
    static constexpr Op kBinary[] = {Op::ADD_alu_r_rr, Op::SUB,  Op::MUL,
                                     Op::XOR,          Op::ADC,  Op::LSHL,
                                     Op::MAC,          Op::DIVS, Op::ADD_NC_mv_add_rr};
    switch (pick(6)) {
      case 0:
        b_.add_imm(any(r_), any(r_), pick(100) - 50);
        break;
      case 1:
        b_.emit(Op::INV_mRx, {any(r_), any(r_)});
        break;
      case 2:
        b_.move(b_.fixed(Reg::r27), any(r_));
        b_.emit(Op::SEL_EQZ, {any(r_), any(r_), any(r_)});
        break;
      case 3:
        b_.move_imm(any(r_), pick(2) == 0 ? pick(1000) : 1000000 + pick(1000));
        break;
      default:
        b_.emit(kBinary[pick(9)], {any(r_), any(r_), any(r_)});
        break;
    }
  }

  void vector() {
    const VReg control = any(r_);
    const VReg temp = b_.vreg(RegKind::kX, "temp");
    switch (pick(12)) {
      case 0:
        b_.emit(Op::VADD_32, {any(x_), any(x_), any(x_)});
        break;
      case 1:
        b_.emit(Op::VSHUFFLE_vec_shuffle_x, {any(x_), any(x_), any(x_), control});
        break;
      case 2:
        b_.emit(Op::VMAC_vmul_cm_core_X_X, {any(d_), any(d_), any(x_), any(x_), control});
        break;
      case 3:
        b_.emit(Op::VMAC_f_vmac_bfp_vmul_bfp_core_EX_EX, {any(d_), any(d_), any(e_), any(e_), control});
        break;
      case 4:
        b_.emit(Op::VADD_vmac_cm2_add_reg, {any(d_), any(d_), any(d_), control});
        break;
      case 5:
        b_.emit(Op::VCONV_bfp16ebs8_fp32, {any(e_), any(d_)});
        break;
      case 6:
        b_.emit(Op::VUPS_4x_mv_ups_w2c_upsSign1,
                {sub(any(d_), RegKind::kCm, pick(2)), sub(any(x_), RegKind::kW, pick(2)), b_.fixed(Reg::s1)});
        break;
      case 7:
        b_.emit(Op::VBCST_32, {any(x_), any(r_)});
        break;
      case 8: {
        const VReg mask = b_.vreg(RegKind::kR, "mask");
        b_.emit(Op::VGE_32_vaddSign1, {mask, any(x_), any(x_)});
        b_.emit(Op::VSEL_32, {any(x_), any(x_), any(x_), mask});
        break;
      }
      case 9:
        b_.emit(Op::VEXTRACT_16_vec_extract_imm_vaddSign1, {any(r_), any(x_), pick(32)});
        break;
      default:
        b_.emit(Op::VADD_16, {temp, any(x_), any(x_)});
        b_.emit(Op::VADD_16, {any(x_), temp, any(x_)});
        break;
    }
  }

  void memory() {
    const VReg p = any(p_);
    switch (pick(11)) {
      case 0:
        b_.emit(Op::LDA_dms_lda_idx_imm, {any(r_), p, 4 * (pick(15) - 8)}, tag());
        break;
      case 1:
        b_.emit(Op::ST_dms_sts_idx_imm, {any(r_), p, 4 * (pick(15) - 8)}, tag());
        break;
      case 2:
        b_.emit(Op::ST_s8_idx_imm, {any(r_), p, pick(15) - 8}, tag());
        break;
      case 3:
        b_.emit_any({Op::VLDA_dmx_lda_x_pstm_nrm_imm, Op::VLDB_dmx_ldb_x_pstm_nrm_imm}, {any(x_), p, 64},
                    tag());
        break;
      case 4:
        b_.emit(Op::VST_dmx_sts_x_pstm_nrm_imm, {any(x_), p, 64}, tag());
        break;
      case 5:
        b_.emit(Op::VLDA_dmw_lda_w_pstm_nrm_imm, {sub(any(x_), RegKind::kW, pick(2)), p, 32}, tag());
        break;
      case 6:
        b_.emit(Op::VLDA_dmx_lda_bm_pstm_nrm_imm, {sub(any(d_), RegKind::kBm, pick(4)), p, 64}, tag());
        break;
      case 7:
        b_.emit(Op::VST_SRS_4x_dmx_sts_srs_dm_pstm_nrm_imm_srsSign0, {any(d_), b_.fixed(Reg::s1), p, 64},
                tag());
        break;
      case 8:
        b_.emit(Op::VLDA_2D_dmx_lda_x, {any(x_), p, grid_}, tag());
        break;
      case 9:
        b_.emit(Op::VLDB_POP_576_normal_pop, {any(e_), b_.fixed(Reg::p1)}, {3});
        break;
      default:
        b_.emit(Op::VLDA_POP_576_normal_pop, {any(e_), b_.fixed(Reg::p0)}, {3});
        break;
    }
  }

  std::mt19937 random_;
  Builder b_;
  std::vector<VReg> r_, x_, e_, d_, p_;
  VReg grid_;
  int names_ = 0;
};

TEST(BackendRandom, ProgramsDoWhatTheirSourceSays) {
  int pipelined = 0, guarded = 0;
  for (u32 seed = 1; seed <= 300; ++seed) {
    auto program = assemble_program(Generator(seed).run(), {.max_bytes = 1 << 20});
    ASSERT_TRUE(program.ok()) << "seed " << seed << ": " << program.error().message;
    for (const LoopStats& loop : program->stats.loops) {
      pipelined += loop.pipelined;
      guarded += loop.guarded;
    }
    isa::PlacedProgram placed;
    for (const PlacedBundle& bundle : program->bundles) placed.add(bundle.address, bundle.bundle);
    for (const isa::Finding& finding :
         isa::lint(placed, {.allow_old_value_reads = true, .program_bytes = 1 << 20})) {
      ADD_FAILURE() << "seed " << seed << ": " << finding.rule << ": " << finding.text;
    }
  }
  EXPECT_GT(pipelined, 40);
  EXPECT_GT(guarded, 10);
}

}  // namespace
}  // namespace tegula::compiler
