// The builder: records instructions in blocks. See builder.h for the rules; nothing is scheduled here.
#include "compiler/backend/builder.h"

#include <algorithm>

#include "compiler/backend/ir.h"

namespace tegula::compiler {

using backend::Block;
using backend::Effect;
using backend::Inst;
using backend::LoopInfo;
using isa::Op;

const char* kind_name(RegKind kind) {
  static constexpr const char* kNames[] = {"r", "l", "p", "m",  "dn", "dj", "dc", "d",  "d3", "s",  "w",
                                           "x", "y", "e", "ex", "ey", "bm", "cm", "dm", "q",  "qx", "fixed"};
  static_assert(std::size(kNames) == static_cast<size_t>(RegKind::kFixed) + 1);
  return kNames[static_cast<size_t>(kind)];
}

namespace {

struct PartRule {
  RegKind whole, part;
  u16 mask;  // of part 0
  u8 step;   // shift of the mask from one part to the next
  u8 count;
};

// Atoms in order: l {low, high}; d {m, dn, dj, dc}; x {wl, wh}; y {x, x}; ex {wl, wh, el, eh}; ey {ex, ex};
// qx {wl, wh, ql, qh}; dm {bmll, bmlh, bmhl, bmhh}.
constexpr PartRule kParts[] = {
    {RegKind::kL, RegKind::kR, 1, 1, 2},    {RegKind::kD, RegKind::kM, 1, 0, 1},
    {RegKind::kD, RegKind::kDn, 2, 0, 1},   {RegKind::kD, RegKind::kDj, 4, 0, 1},
    {RegKind::kD, RegKind::kDc, 8, 0, 1},   {RegKind::kD3, RegKind::kD, 15, 4, 2},
    {RegKind::kX, RegKind::kW, 1, 1, 2},    {RegKind::kY, RegKind::kX, 3, 2, 2},
    {RegKind::kY, RegKind::kW, 1, 1, 4},    {RegKind::kEx, RegKind::kX, 3, 0, 1},
    {RegKind::kEx, RegKind::kW, 1, 1, 2},   {RegKind::kEx, RegKind::kE, 4, 1, 2},
    {RegKind::kEy, RegKind::kEx, 15, 4, 2}, {RegKind::kEy, RegKind::kX, 3, 4, 2},
    {RegKind::kQx, RegKind::kX, 3, 0, 1},   {RegKind::kQx, RegKind::kQ, 12, 0, 1},
    {RegKind::kDm, RegKind::kBm, 1, 1, 4},  {RegKind::kDm, RegKind::kCm, 3, 2, 2},
    {RegKind::kCm, RegKind::kBm, 1, 1, 2},
};

}  // namespace

VReg sub(VReg whole, RegKind kind, int index) {
  VReg out{whole.var, 0, kind};
  if (whole.mask == 0) return out;
  const int base = __builtin_ctz(whole.mask);
  for (const PartRule& rule : kParts) {
    if (rule.whole != whole.kind || rule.part != kind || index < 0 || index >= rule.count) continue;
    out.mask = static_cast<u16>(rule.mask << (base + index * rule.step));
  }
  // The e halves and w halves of an ey lie in two groups.
  if (whole.kind == RegKind::kEy && (kind == RegKind::kW || kind == RegKind::kE) && index >= 0 && index < 4) {
    return sub(sub(whole, RegKind::kEx, index / 2), kind, index % 2);
  }
  return out;
}

Builder::Builder() : fn_(std::make_unique<backend::Function>()) {
  fn_->cells = backend::atom_count();
  fn_->current = fn_->new_block("entry");
}
Builder::~Builder() = default;
Builder::Builder(Builder&&) noexcept = default;
Builder& Builder::operator=(Builder&&) noexcept = default;

VReg Builder::vreg(RegKind kind, std::string name) {
  if (kind == RegKind::kFixed)
    fn_->set_error(Code::kInvalidArgument, "vreg: use fixed() for a named register");
  return fn_->new_var(kind, std::move(name));
}

VReg Builder::fixed(isa::Reg reg) {
  return fn_->fixed_var(reg);
}

u32 Builder::emitted() const {
  return fn_->sources;
}

void Builder::emit(Op op, std::initializer_list<Arg> args, Mem mem) {
  emit_any({op}, args, mem);
}

void Builder::emit_any(std::initializer_list<Op> ops, std::initializer_list<Arg> args, Mem mem) {
  emit_list(ops, args, mem);
}

void Builder::emit_list(const std::vector<Op>& ops, const std::vector<Arg>& args, Mem mem) {
  if (ops.empty() || isa::info(ops[0]).delay) {
    fn_->set_error(Code::kInvalidArgument,
                   "instruction " + std::to_string(fn_->sources) +
                       ": branches are made by jump, jump_if_zero, jump_if_nonzero and loop");
    return;
  }
  auto inst = backend::make_inst(*fn_, ops, args, mem);
  if (!inst.ok()) {
    fn_->set_error(inst.error().code,
                   "instruction " + std::to_string(fn_->sources) + ": " + inst.error().message);
    ++fn_->sources;
    return;
  }
  inst->source = fn_->sources++;
  fn_->now().insts.push_back(std::move(*inst));
}

void Builder::move_imm(VReg dst, i64 value) {
  const bool small = value >= -1024 && value <= 1023;
  if (!small) return emit(Op::MOVXM, {dst, value > 0x7FFFFFFF ? value - (i64{1} << 32) : value});
  if (dst.kind == RegKind::kFixed) return emit(Op::MOV_alu_mv_mv_mv_cg, {dst, value});
  if (dst.kind == RegKind::kR)
    return emit_any({Op::MOVX_alu_cg, Op::MOVA, Op::MOV_alu_mv_mv_mv_cg}, {dst, value});
  emit_any({Op::MOVA, Op::MOV_alu_mv_mv_mv_cg}, {dst, value});
}

void Builder::move(VReg dst, VReg src) {
  emit(Op::MOV_alu_mv_mv_mv_scl, {dst, src});
}

void Builder::add_imm(VReg dst, VReg src, i64 value) {
  if (value >= -64 && value <= 63 && dst.kind == RegKind::kR) {
    return emit_any({Op::ADD_add_r_ri, Op::ADD_NC_mv_add_ri}, {dst, src, value});
  }
  emit(Op::ADD_NC_mv_add_ri, {dst, src, value});
}

void Builder::acquire(int lock, VReg amount) {
  emit(Op::ACQ_mLockId_imm, {lock, amount});
}
void Builder::release(int lock, VReg amount) {
  emit(Op::REL_mLockId_imm, {lock, amount});
}

// ---------------------------------------------------------------- control flow

Label Builder::label(std::string name) {
  fn_->label_block.push_back(-1);
  fn_->label_name.push_back(name.empty() ? "L" + std::to_string(fn_->label_block.size() - 1)
                                         : std::move(name));
  return {static_cast<u32>(fn_->label_block.size() - 1)};
}

void Builder::bind(Label label) {
  if (label.id >= fn_->label_block.size() || fn_->label_block[label.id] >= 0) {
    return fn_->set_error(Code::kInvalidArgument, "bind: the label is unknown or bound already");
  }
  const int block = fn_->new_block(fn_->label_name[label.id]);
  fn_->label_block[label.id] = block;
  fn_->blocks[static_cast<size_t>(block)].is_target = true;
  fn_->current = block;
}

namespace {

// Targets hold label ids until assemble_program() turns them into blocks.
void branch(backend::Function& fn, Op op, const std::vector<Arg>& args, Label label, bool falls_through) {
  auto inst = backend::make_inst(fn, {op}, args, {});
  if (!inst.ok()) return fn.set_error(inst.error().code, inst.error().message);
  if (label.id >= fn.label_block.size())
    return fn.set_error(Code::kInvalidArgument, "branch to an unknown label");
  inst->target = static_cast<int>(label.id);
  inst->target_operand = static_cast<int>(inst->info().operands.size()) - 1;
  fn.now().insts.push_back(std::move(*inst));
  fn.now().falls_through = falls_through;
  fn.current = fn.new_block("b" + std::to_string(fn.blocks.size()));
}

}  // namespace

void Builder::jump(Label label) {
  branch(*fn_, Op::J_lng, {0}, label, false);
}
void Builder::jump_if_nonzero(VReg r, Label label) {
  branch(*fn_, Op::JNZ, {r, 0}, label, true);
}
void Builder::jump_if_zero(VReg r, Label label) {
  branch(*fn_, Op::JZ, {r, 0}, label, true);
}

void Builder::done() {
  emit(Op::DONE, {});
  fn_->now().falls_through = false;
  fn_->current = fn_->new_block("b" + std::to_string(fn_->blocks.size()));
}

void Builder::loop(VReg trip, const std::function<void()>& body, LoopOptions options) {
  loop_impl(trip, 0, body, std::move(options));
}

void Builder::loop(u32 trip, const std::function<void()>& body, LoopOptions options) {
  if (trip == 0) return;
  if (trip > 0x7FFFFFFF) return fn_->set_error(Code::kInvalidArgument, "loop: trip count over 2^31 - 1");
  options.trip_multiple_of = options.min_trip = trip;
  VReg count = vreg(RegKind::kR, options.name + "trip");
  move_imm(count, trip);
  fn_->now().insts.back().source = kNoSource;
  loop_impl(count, trip, body, std::move(options));
}

// The loop is recorded in its plain form: preheader {counter = trip}, body .. latch {counter -= 1; jnz
// counter, body}, exit. A body of one block is what the modulo scheduler may replace.
void Builder::loop_impl(VReg trip, u32 exact, const std::function<void()>& body, LoopOptions options) {
  const size_t index = fn_->loops.size();
  if (options.name.empty()) options.name = "loop" + std::to_string(index);
  const Label head = label(options.name), exit = label(options.name + ".end");
  LoopInfo info;
  info.trip = trip;
  info.exact = exact;
  info.options = options;
  info.counter = vreg(RegKind::kR, options.name + ".count");
  fn_->loops.push_back(info);
  if (options.min_trip == 0) jump_if_zero(trip, exit);
  info.preheader = fn_->current;
  move(info.counter, trip);
  fn_->now().insts.back().source = kNoSource;
  bind(head);
  const int first = fn_->current;
  body();
  const bool single = fn_->current == first;
  add_imm(info.counter, info.counter, -1);
  fn_->now().insts.back().source = kNoSource;
  jump_if_nonzero(info.counter, head);
  info.exit = fn_->current;
  fn_->now().name = options.name + ".exit";
  if (single) fn_->blocks[static_cast<size_t>(first)].loop = static_cast<int>(index);
  fn_->loops[index] = info;
  bind(exit);
}

}  // namespace tegula::compiler
