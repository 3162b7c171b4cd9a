// See gelu.h. Instructions: semantics handbook 8.3 (0x3C, element-wise bf16), 10.2 (vconv), 12 (vtanh).
#include "compiler/kernels/gelu.h"

namespace tegula::compiler {
namespace {

using isa::Op;

// bf16 patterns. c0 is split so that high + low carries 16 bits.
constexpr int kOne = 0x3F80;
constexpr int kHalf = 0x3F00;
constexpr int kC0High = 0x3F4C;  // 0.796875
constexpr int kC0Low = 0x3A84;   // 0.00100708
constexpr int kC1 = 0x3D12;      // 0.035645

// 64 equal bf16 lanes.
VReg constant(Builder& b, int bits) {
  const VReg scalar = b.vreg(RegKind::kR, "bf16");
  const VReg lanes = b.vreg(RegKind::kY, "lanes");
  b.move_imm(scalar, bits);
  b.emit(Op::VBCST_16, {sub(lanes, RegKind::kX, 0), scalar});
  b.emit(Op::VBCST_16, {sub(lanes, RegKind::kX, 1), scalar});
  return lanes;
}

// bf16 of 64 fp32 lanes.
VReg to_bf16(Builder& b, VReg wide) {
  const VReg narrow = b.vreg(RegKind::kY, "bf16");
  for (int half = 0; half < 2; ++half) {
    b.emit(Op::VCONV_bf16_fp32_mv_x_srs_bf, {sub(narrow, RegKind::kX, half), sub(wide, RegKind::kCm, half)});
  }
  return narrow;
}

}  // namespace

void emit_gelu(Builder& b, VReg x, VReg control) {
  const auto multiply = [&](VReg a, VReg c) {
    const VReg out = b.vreg(RegKind::kDm, "product");
    b.emit(Op::VMUL_f_vmul_bf_vmul_bf_core_Y_Y, {out, a, c, control});
    return out;
  };
  const auto accumulate = [&](VReg acc, VReg a, VReg c) {
    b.emit(Op::VMAC_f_vmac_bf_vmul_bf_core_Y_Y, {acc, acc, a, c, control});
  };
  const VReg one = constant(b, kOne);
  const VReg high = to_bf16(b, x);
  b.emit(Op::VMSC_f_vmac_bf_vmul_bf_core_Y_Y, {x, x, high, one, control});
  const VReg low = to_bf16(b, x);

  const VReg square = to_bf16(b, multiply(high, high));
  const VReg slope = multiply(square, constant(b, kC1));
  accumulate(slope, constant(b, kOne), constant(b, kC0Low));
  accumulate(slope, constant(b, kOne), constant(b, kC0High));
  const VReg slope16 = to_bf16(b, slope);
  const VReg argument = multiply(low, slope16);
  accumulate(argument, high, slope16);

  const VReg tanh = b.vreg(RegKind::kY, "tanh");
  for (int quarter = 0; quarter < 4; ++quarter) {
    b.emit(Op::VTANH, {sub(tanh, RegKind::kW, quarter), sub(argument, RegKind::kBm, quarter)});
  }
  const VReg half_tanh = to_bf16(b, multiply(tanh, constant(b, kHalf)));
  b.emit(Op::VMUL_f_vmul_bf_vmul_bf_core_Y_Y, {x, low, half_tanh, control});
  accumulate(x, high, half_tanh);
  accumulate(x, low, constant(b, kHalf));
  accumulate(x, high, constant(b, kHalf));
}

}  // namespace tegula::compiler
