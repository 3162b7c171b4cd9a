// The core program of matrix products (docs/matmul.md). One endless loop:
//
//   product: header -> tiles
//     rows mode:    k-chunks { take activations; chunk columns { take weights; row blocks { accumulate in
//     memory } } } column split: k-chunks { take activations; take weights up to its own chunk; accumulate in
//     registers }
//
// Instruction semantics: handbook sections 6.1 (locks), 8 (multiplier), 11 (load FIFOs: one fill and eight
// pops of 576 bits consume nine 64-byte lines and leave the position at 0).
#include "compiler/kernels/matmul_kernel.h"

#include <vector>

#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/gelu.h"

namespace tegula::compiler {
namespace {

using isa::Op;
using isa::Reg;

constexpr u32 kOwnMemory = 0x70000;  // the core's own data memory in its address space
constexpr int kOwnLocks = 48;
constexpr int kControlInt8 = 0x308;  // 8x8x8, both signed, int32 lanes
constexpr int kControlBfp = 0x30C;   // 8x8x8 with B stored [n][k], fp32 lanes
constexpr int kControlBf16 = 0x3C;   // element-wise, fp32 lanes
constexpr int kFillPops = 8;         // pops of 576 bits between two fills

// Memory that different streams own never overlaps.
constexpr Mem kMemA{.tag = 1}, kMemB{.tag = 2}, kMemC{.tag = 3}, kMemConfig{.tag = 4, .local = true};

class MatmulKernel {
 public:
  explicit MatmulKernel(const MatmulConfig& config) : config_(config), map_(config) {}
  Builder build();

 private:
  VReg scalar(const char* name) { return b_.vreg(RegKind::kR, name); }
  VReg immediate(i64 value) {
    const VReg r = scalar("imm");
    b_.move_imm(r, value);
    return r;
  }
  void copy(VReg dst, VReg src) { b_.move(dst, src); }
  void acquire(CoreLock lock, int amount) { b_.acquire(kOwnLocks + lock, immediate(amount)); }
  void release(CoreLock lock, int amount) { b_.release(kOwnLocks + lock, immediate(amount)); }
  // dst = condition (an r register) is zero ? if_zero : otherwise
  void select(VReg dst, VReg condition, VReg if_zero, VReg otherwise) {
    copy(b_.fixed(Reg::r27), condition);
    b_.emit(Op::SEL_EQZ, {dst, if_zero, otherwise});
  }
  VReg difference(VReg a, VReg c) {
    const VReg d = scalar("difference");
    b_.emit(Op::SUB, {d, a, c});
    return d;
  }

  // Moves a ring pointer to the next buffer.
  void advance(VReg pointer, u32 begin, int stride, int count);
  // Moves a ring pointer by `bytes` (at most one turn).
  void advance_by(VReg pointer, VReg bytes, u32 begin, int stride, int count);

  void setup();
  void read_header();
  void tile();
  void k_chunk();
  void chunk_column();
  void share_columns();
  void row_block();
  void clear_sums();
  void load_bias();
  void load_sums();
  void multiply();
  void multiply_bfp16(VReg a, VReg b);
  void multiply_int8(VReg a, VReg b);
  void store_sums();
  void gelu_unit();
  void finish_unit();
  void take_activations();
  void give_activations();
  void take_weights(VReg count);
  void give_weights(VReg count, VReg ahead);
  void rows_tile();
  void split_tile();
  void split_sums();
  void split_idle();

  const MatmulConfig& config_;
  const CoreMap map_;
  Builder b_;

  // Live for the whole program.
  VReg row_, a_, b_ptr_, c_, control_;
  // Of the product.
  VReg tiles_, last_tile_, k_chunks_, row_blocks_, mode_, resident_, epilogue_, a_base_, a_step_, a_wait_;
  // Of the tile: its width in chunk columns; in column split also how many of them lie before and after this
  // core's own, and whether it has one.
  VReg c_tile_, width_, before_, use_, after_, skip_;
  // Of the k-chunk and the chunk column.
  VReg k_, a_chunk_, column_, block_;
  std::vector<VReg> sums_;
};

void MatmulKernel::advance(VReg pointer, u32 begin, int stride, int count) {
  if (count == 1) return;
  b_.emit(Op::ADD_alu_r_rr, {pointer, pointer, immediate(stride)});
  const VReg left = difference(pointer, immediate(begin + static_cast<u32>(stride * count)));
  select(pointer, left, immediate(begin), pointer);
}

void MatmulKernel::advance_by(VReg pointer, VReg bytes, u32 begin, int stride, int count) {
  b_.emit(Op::ADD_alu_r_rr, {pointer, pointer, bytes});
  const VReg inside = scalar("inside"), wrapped = scalar("wrapped");
  b_.emit(Op::LT, {inside, pointer, immediate(begin + i64{stride} * count)});
  b_.emit(Op::SUB, {wrapped, pointer, immediate(i64{stride} * count)});
  select(pointer, inside, wrapped, pointer);
}

void MatmulKernel::setup() {
  row_ = scalar("row");
  a_ = scalar("a");
  b_ptr_ = scalar("b");
  c_ = scalar("c");
  control_ = scalar("control");
  for (VReg* r : {&tiles_,  &last_tile_, &k_chunks_, &row_blocks_, &mode_,   &resident_, &epilogue_,
                  &a_base_, &a_step_,    &a_wait_,   &c_tile_,     &width_,  &before_,   &use_,
                  &after_,  &skip_,      &k_,        &a_chunk_,    &column_, &block_}) {
    *r = scalar("state");
  }
  for (int n = 0; n < config_.nc; ++n) sums_.push_back(b_.vreg(RegKind::kDm, "sum"));
  b_.emit(Op::MOVX_mvx_cr_imm, {b_.fixed(Reg::crRnd), 12});
  b_.move_imm(control_, config_.number == Number::kInt8 ? kControlInt8 : kControlBfp);
  const VReg p = b_.vreg(RegKind::kP, "config");
  b_.move_imm(p, kOwnMemory + kCoreRowWord);
  b_.emit(Op::LDA_dms_lda_idx_imm, {row_, p, 0}, kMemConfig);
  b_.move_imm(a_, kOwnMemory + map_.a);
  b_.move_imm(b_ptr_, kOwnMemory + map_.b);
  b_.move_imm(c_, kOwnMemory + map_.c);
  copy(c_tile_, c_);
}

void MatmulKernel::read_header() {
  acquire(kLockAFull, -1);
  const VReg p = b_.vreg(RegKind::kP, "header");
  copy(p, a_);
  const VReg words[kHeaderWords] = {tiles_, last_tile_, k_chunks_, row_blocks_, mode_, resident_, epilogue_};
  for (int i = 0; i < kHeaderWords; ++i) b_.emit(Op::LDA_dms_lda_idx_imm, {words[i], p, 4 * i}, kMemA);
  release(kLockAEmpty, 1);
  advance(a_, kOwnMemory + map_.a, config_.a_stride(), config_.a_ring);
  copy(a_base_, a_);
  b_.emit(Op::MUL, {a_step_, row_blocks_, immediate(config_.a_stride())});
  b_.move_imm(a_wait_, 1);
}

void MatmulKernel::load_bias() {
  const VReg p = b_.vreg(RegKind::kP, "bias");
  const VReg at = scalar("bias");
  b_.emit(Op::ADD_alu_r_rr, {at, b_ptr_, immediate(config_.b_data_bytes())});
  copy(p, at);
  for (int n = 0; n < config_.nc; ++n) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      b_.emit(Op::VLDA_dmx_lda_bm_idx_imm, {sub(sums_[n], RegKind::kBm, quarter), p, 64 * n}, kMemB);
    }
  }
}

void MatmulKernel::clear_sums() {
  for (const VReg& sum : sums_) b_.emit(Op::VCLR, {sum});
}

void MatmulKernel::load_sums() {
  const VReg p = b_.vreg(RegKind::kP, "sums");
  copy(p, c_);
  for (const VReg& sum : sums_) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      b_.emit(Op::VLDA_dmx_lda_bm_pstm_nrm_imm, {sub(sum, RegKind::kBm, quarter), p, 64}, kMemC);
    }
  }
}

void MatmulKernel::store_sums() {
  const VReg p = b_.vreg(RegKind::kP, "sums");
  copy(p, c_);
  for (const VReg& sum : sums_) {
    for (int quarter = 0; quarter < 4; ++quarter) {
      b_.emit(Op::VST_dmx_sts_bm_pstm_nrm_imm, {sub(sum, RegKind::kBm, quarter), p, 64}, kMemC);
    }
  }
}

// Straight code for the whole chunk: a few hundred bundles that the scheduler packs to about one matrix
// operation each. Every pop and fill may use either load port.
void MatmulKernel::multiply_bfp16(VReg a, VReg b) {
  const VReg p0 = b_.fixed(Reg::p0), p1 = b_.fixed(Reg::p1);
  copy(p0, a);
  copy(p1, b);
  b_.move_imm(b_.fixed(Reg::r24), 0);
  b_.move_imm(b_.fixed(Reg::r25), 0);
  int popped[2] = {0, 0};
  const auto pop = [&](int stream) {
    const VReg p = stream == 0 ? p0 : p1;
    if (popped[stream]++ % kFillPops == 0) {
      b_.emit_any({Op::VLDA_FILL_512, Op::VLDB_FILL_512}, {p}, stream == 0 ? kMemA : kMemB);
    }
    const VReg block = b_.vreg(RegKind::kEx, stream == 0 ? "a" : "b");
    b_.emit_any({Op::VLDA_POP_576_normal_pop, Op::VLDB_POP_576_normal_pop}, {block, p},
                stream == 0 ? kMemA : kMemB);
    return block;
  };
  const auto mac = [&](VReg sum, VReg x, VReg y) {
    b_.emit(Op::VMAC_f_vmac_bfp_vmul_bfp_core_EX_EX, {sum, sum, x, y, control_});
  };
  for (int k = 0; k < config_.kc; ++k) {
    const VReg a_high = pop(0);
    const VReg a_low = config_.parts == 2 ? pop(0) : VReg{};
    std::vector<VReg> b_high(sums_.size()), b_low(sums_.size());
    for (size_t n = 0; n < sums_.size(); ++n) {
      b_high[n] = pop(1);
      if (config_.parts == 2) b_low[n] = pop(1);
    }
    if (config_.parts == 2) {  // small terms first
      for (size_t n = 0; n < sums_.size(); ++n) mac(sums_[n], a_low, b_high[n]);
      for (size_t n = 0; n < sums_.size(); ++n) mac(sums_[n], a_high, b_low[n]);
    }
    for (size_t n = 0; n < sums_.size(); ++n) mac(sums_[n], a_high, b_high[n]);
  }
}

void MatmulKernel::multiply_int8(VReg a, VReg b) {
  const VReg pa = b_.vreg(RegKind::kP, "pa"), pb = b_.vreg(RegKind::kP, "pb");
  copy(pa, a);
  copy(pb, b);
  for (int k = 0; k < config_.kc; ++k) {
    const VReg left = b_.vreg(RegKind::kX, "a");
    b_.emit_any({Op::VLDA_dmx_lda_x_pstm_nrm_imm, Op::VLDB_dmx_ldb_x_pstm_nrm_imm}, {left, pa, 64}, kMemA);
    for (const VReg& sum : sums_) {
      const VReg right = b_.vreg(RegKind::kX, "b");
      b_.emit_any({Op::VLDA_dmx_lda_x_pstm_nrm_imm, Op::VLDB_dmx_ldb_x_pstm_nrm_imm}, {right, pb, 64}, kMemB);
      b_.emit(Op::VMAC_vmul_cm_core_X_X, {sum, sum, left, right, control_});
    }
  }
}

void MatmulKernel::multiply() {
  if (config_.number == Number::kInt8) {
    multiply_int8(a_, b_ptr_);
  } else {
    multiply_bfp16(a_, b_ptr_);
  }
}

// Applies GELU to a finished result unit in memory, one accumulator after the other.
void MatmulKernel::gelu_unit() {
  const VReg control = immediate(kControlBf16);
  const VReg in = b_.vreg(RegKind::kP, "in"), out = b_.vreg(RegKind::kP, "out");
  copy(in, c_);
  copy(out, c_);
  for (int n = 0; n < config_.nc; ++n) {
    const VReg x = b_.vreg(RegKind::kDm, "x");
    for (int quarter = 0; quarter < 4; ++quarter) {
      b_.emit(Op::VLDA_dmx_lda_bm_pstm_nrm_imm, {sub(x, RegKind::kBm, quarter), in, 64}, kMemC);
    }
    emit_gelu(b_, x, control);
    for (int quarter = 0; quarter < 4; ++quarter) {
      b_.emit(Op::VST_dmx_sts_bm_pstm_nrm_imm, {sub(x, RegKind::kBm, quarter), out, 64}, kMemC);
    }
  }
}

// Stores the final sums of a unit and hands it over.
void MatmulKernel::finish_unit() {
  store_sums();
  if (config_.bias) {
    const Label plain = b_.label("plain");
    b_.jump_if_zero(epilogue_, plain);
    gelu_unit();
    b_.bind(plain);
  }
  release(kLockCFull, 1);
}

// One row block of one weight chunk.
void MatmulKernel::row_block() {
  const Label compute = b_.label("compute"), resume = b_.label("resume"), last = b_.label("last");
  const Label stored = b_.label("stored");
  b_.jump_if_nonzero(difference(k_, k_chunks_), resume);
  acquire(kLockCEmpty, -1);  // the unit that the sums will go to
  if (config_.bias) {
    load_bias();
  } else {
    clear_sums();
  }
  b_.jump(compute);
  b_.bind(resume);
  load_sums();
  b_.bind(compute);
  multiply();
  const VReg one = immediate(1);
  b_.jump_if_zero(difference(k_, one), last);
  store_sums();
  b_.jump(stored);
  b_.bind(last);
  finish_unit();
  b_.bind(stored);
  advance(c_, kOwnMemory + map_.c, config_.c_stride(), config_.c_ring);
  advance(a_, kOwnMemory + map_.a, config_.a_stride(), config_.a_ring);
}

void MatmulKernel::chunk_column() {
  const Label blocks = b_.label("blocks");
  acquire(kLockBFull, -1);
  copy(block_, row_blocks_);
  copy(a_, a_chunk_);
  b_.bind(blocks);
  row_block();
  b_.add_imm(block_, block_, -1);
  b_.jump_if_nonzero(block_, blocks);
  release(kLockBEmpty, 1);
  advance(b_ptr_, kOwnMemory + map_.b, config_.b_stride(), config_.b_ring);
}

// The next k-chunk's activation units, unless they are there since the first tile.
void MatmulKernel::take_activations() {
  const Label have = b_.label("have");
  b_.jump_if_zero(a_wait_, have);
  b_.acquire(kOwnLocks + kLockAFull, difference(immediate(0), row_blocks_));
  b_.bind(have);
}

void MatmulKernel::give_activations() {
  const Label keep = b_.label("keep");
  b_.jump_if_nonzero(resident_, keep);
  b_.release(kOwnLocks + kLockAEmpty, row_blocks_);
  b_.bind(keep);
}

void MatmulKernel::rows_tile() {
  const Label chunks = b_.label("chunks"), columns = b_.label("columns");
  b_.bind(chunks);
  take_activations();
  copy(a_chunk_, a_);
  copy(c_, c_tile_);
  copy(column_, width_);
  b_.bind(columns);
  chunk_column();
  b_.add_imm(column_, column_, -1);
  b_.jump_if_nonzero(column_, columns);
  copy(a_, a_chunk_);
  advance_by(a_, a_step_, kOwnMemory + map_.a, config_.a_stride(), config_.a_ring);
  give_activations();
  b_.add_imm(k_, k_, -1);
  b_.jump_if_nonzero(k_, chunks);
}

// In column split a core uses the chunk column of its own row, if the tile has it.
void MatmulKernel::share_columns() {
  const VReg zero = immediate(0);
  const VReg rest = scalar("rest");
  b_.emit(Op::LT, {use_, row_, width_});
  select(before_, use_, width_, row_);
  b_.emit(Op::SUB, {rest, width_, row_});
  b_.add_imm(rest, rest, -1);
  select(after_, use_, zero, rest);
}

void MatmulKernel::take_weights(VReg count) {
  b_.acquire(kOwnLocks + kLockBFull, difference(immediate(0), count));
}

// Gives chunks back and moves on by `ahead` of them.
void MatmulKernel::give_weights(VReg count, VReg ahead) {
  b_.release(kOwnLocks + kLockBEmpty, count);
  const VReg bytes = scalar("bytes");
  b_.emit(Op::MUL, {bytes, ahead, immediate(config_.b_stride())});
  advance_by(b_ptr_, bytes, kOwnMemory + map_.b, config_.b_stride(), config_.b_ring);
}

// The sums of the core's own chunk column, over all k-chunks. Chunks of other rows are taken together with
// the own one that follows them.
void MatmulKernel::split_sums() {
  const Label chunks = b_.label("own_chunks"), ready = b_.label("ready"), none = b_.label("none_after");
  const VReg own = scalar("own"), count = scalar("count"), bytes = scalar("bytes");
  acquire(kLockCEmpty, -1);
  copy(c_, c_tile_);
  copy(skip_, before_);
  clear_sums();
  b_.bind(chunks);
  take_activations();
  b_.add_imm(count, skip_, 1);
  take_weights(count);
  b_.emit(Op::MUL, {bytes, skip_, immediate(config_.b_stride())});
  advance_by(b_ptr_, bytes, kOwnMemory + map_.b, config_.b_stride(), config_.b_ring);
  if (config_.bias) {
    b_.jump_if_nonzero(difference(k_, k_chunks_), ready);
    load_bias();
    b_.bind(ready);
  }
  multiply();
  b_.move_imm(own, 1);
  give_weights(count, own);
  b_.emit(Op::ADD_alu_r_rr, {skip_, before_, after_});
  advance(a_, kOwnMemory + map_.a, config_.a_stride(), config_.a_ring);
  give_activations();
  b_.add_imm(k_, k_, -1);
  b_.jump_if_nonzero(k_, chunks);
  b_.jump_if_zero(after_, none);
  take_weights(after_);
  give_weights(after_, after_);
  b_.bind(none);
  finish_unit();
}

// A core without a chunk column in this tile lets all pass. It still sends a unit (of zeros), because the mem
// tile takes one of each core in turn.
void MatmulKernel::split_idle() {
  const Label chunks = b_.label("idle_chunks");
  b_.bind(chunks);
  take_activations();
  take_weights(width_);
  give_weights(width_, width_);
  advance(a_, kOwnMemory + map_.a, config_.a_stride(), config_.a_ring);
  give_activations();
  b_.add_imm(k_, k_, -1);
  b_.jump_if_nonzero(k_, chunks);
  acquire(kLockCEmpty, -1);
  copy(c_, c_tile_);
  clear_sums();
  store_sums();
  release(kLockCFull, 1);
}

void MatmulKernel::split_tile() {
  const Label idle = b_.label("idle"), done = b_.label("split_done");
  share_columns();
  b_.jump_if_zero(use_, idle);
  split_sums();
  b_.jump(done);
  b_.bind(idle);
  split_idle();
  b_.bind(done);
  advance(c_, kOwnMemory + map_.c, config_.c_stride(), config_.c_ring);
}

void MatmulKernel::tile() {
  const Label split = b_.label("split"), done = b_.label("tile_done");
  const VReg more = difference(tiles_, immediate(1));
  select(width_, more, last_tile_, immediate(kTileChunks));
  copy(k_, k_chunks_);
  select(a_, resident_, a_, a_base_);
  b_.jump_if_nonzero(mode_, split);
  rows_tile();
  b_.jump(done);
  b_.bind(split);
  split_tile();
  b_.bind(done);
  copy(c_tile_, c_);
  b_.emit(Op::EQZ, {a_wait_, resident_});
  b_.add_imm(tiles_, tiles_, -1);
}

Builder MatmulKernel::build() {
  const Label product = b_.label("product"), tiles = b_.label("tile");
  setup();
  b_.bind(product);
  read_header();
  b_.bind(tiles);
  tile();
  b_.jump_if_nonzero(tiles_, tiles);
  b_.jump_if_zero(resident_, product);
  const VReg units = scalar("units");
  b_.emit(Op::MUL, {units, row_blocks_, k_chunks_});
  b_.release(kOwnLocks + kLockAEmpty, units);
  b_.jump(product);
  return std::move(b_);
}

}  // namespace

Result<CoreProgram> matmul_kernel(const MatmulConfig& config) {
  TRY(validate(config));
  return assemble_program(MatmulKernel(config).build());
}

}  // namespace tegula::compiler
