// Builder: how a kernel writes AIE2P core code with virtual registers. assemble_program() then schedules
// (list scheduling for straight code, modulo scheduling for loops), allocates registers and packs bundles.
//
// Virtual registers are variables: they may be written several times. An instruction is given by its record
// name (isa::Op) and the operands that have a field of their own in its encoding, outs first, in table order.
// Left out are operands implied by the opcode (r16 of a compare), tied to another operand (ptr_out) or
// derived from one (the lf0 and r24 of a pop follow from p0, which has to be fixed(isa::Reg::p0)).
//
// Mistakes (wrong operand count, register of the wrong kind) are recorded and returned by assemble_program.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "isa/isa.h"

namespace tegula::compiler {

enum class RegKind : u8 {
  kR,  // 32 bit, r0..r31
  kL,  // pair of r
  kP,  // pointer
  kM,  // m, dn, dj, dc: parts of a 2D address generator
  kDn,
  kDj,
  kDc,
  kD,      // 2D address generator {m, dn, dj, dc}
  kD3,     // 3D address generator {d_k, d_k+4}
  kS,      // shift amount
  kW,      // 256 bit, either half of an x
  kX,      // 512 bit
  kY,      // 1024 bit, pair of x
  kE,      // 32 bit of exponents, either half of an e
  kEx,     // 576 bit: x and its exponents
  kEy,     // pair of ex
  kBm,     // 512 bit, any quarter of a dm
  kCm,     // 1024 bit, either half of a dm
  kDm,     // 2048 bit
  kQ,      // sparsity mask
  kQx,     // 640 bit: x and its mask
  kFixed,  // a named register
};
const char* kind_name(RegKind kind);

// A virtual register or a part of one. Bit i of mask: the i-th atom (smallest addressable part) belongs to
// it.
struct VReg {
  u32 var = ~u32{0};
  u16 mask = 0;
  RegKind kind = RegKind::kFixed;
};

// Part `index` of a virtual register: kR of kL (2), kM/kDn/kDj/kDc of kD, kD of kD3 (2), kW of kX (2), kY
// (4), kEx (2), kEy (4), kX of kY (2), kEx (1), kEy (2), kQx (1), kE of kEx (2), kEy (4), kEx of kEy (2), kQ
// of kQx (1), kBm of kDm (4), kCm (2), kCm of kDm (2). Any other request gives an empty part, which emit()
// rejects.
VReg sub(VReg whole, RegKind kind, int index = 0);

struct Label {
  u32 id = ~u32{0};
};

// Operand of emit(): a register or an immediate.
struct Arg {
  Arg(VReg reg) : is_reg(true), reg(reg) {}  // NOLINT: implicit on purpose
  Arg(int value) : imm(value) {}             // NOLINT
  Arg(i64 value) : imm(value) {}             // NOLINT

  bool is_reg = false;
  VReg reg;
  i64 imm = 0;
};

// What a load or store may touch. Accesses with different tags never overlap; tag 0 may overlap with
// everything. `local`: memory that nobody else reads or writes, so the access may move across lock
// operations.
struct Mem {
  u16 tag = 0;
  bool local = false;
};

enum class BackEdge : u8 { kAuto, kJnz, kJnzd };

struct LoopOptions {
  bool modulo = true;        // overlap iterations (body must be free of branches, labels and locks)
  u32 trip_multiple_of = 1;  // promise: the trip count is a multiple of this
  u32 min_trip = 1;          // promise: the trip count is at least this (0: may be skipped)
  bool disjoint_iterations =
      false;  // promise: accesses of different iterations never overlap unless they are both tag 0
  BackEdge back_edge = BackEdge::kAuto;
  std::string name;
};

struct Options {
  u32 max_bytes = 16 * 1024;  // program memory
  u32 base = 0;               // address of the first byte, multiple of 16
  bool verify = true;         // replay the bundles symbolically against the source order (verify.h)
};

constexpr u32 kNoSource = ~u32{0};

// Where an instruction comes from: the index of its emit() call (kNoSource: code of the back end) and, in a
// loop that became straight code, which turn it is of how many.
struct Origin {
  u32 source = kNoSource;
  u32 turn = 0, turns = 1;
};

struct PlacedBundle {
  u32 address = 0;
  isa::Bundle bundle;          // as encoded
  std::vector<Origin> origin;  // per instruction of the bundle
  u32 block = 0;               // index into CoreProgram::blocks
};

struct LoopStats {
  std::string name;
  bool pipelined = false;
  u32 ii = 0;      // bundles per iteration in the steady state
  u32 min_ii = 0;  // bound by resources and recurrences
  u32 stages = 0;
  u32 unroll = 1;        // iterations per pass of the kernel
  u32 peeled = 0;        // iterations begun before the kernel
  bool guarded = false;  // a remainder loop was generated
  BackEdge back_edge = BackEdge::kJnz;
};

struct BlockInfo {
  std::string name;
  u32 address = 0;
  u32 bundles = 0;
};

struct Stats {
  u32 bundles = 0;
  std::vector<LoopStats> loops;
  // Registers that the allocation used: r, p, m, dn, dj, dc, s, x (as wholes), dm (as wholes).
  u32 used_r = 0, used_p = 0, used_x = 0, used_dm = 0;
};

struct CoreProgram {
  Bytes code;
  std::vector<PlacedBundle> bundles;
  std::vector<BlockInfo> blocks;
  std::string listing;
  Stats stats;
};

namespace backend {
struct Function;
}

class Builder {
 public:
  Builder();
  ~Builder();
  Builder(Builder&&) noexcept;
  Builder& operator=(Builder&&) noexcept;

  VReg vreg(RegKind kind, std::string name = {});
  VReg fixed(isa::Reg reg);

  void emit(isa::Op op, std::initializer_list<Arg> args, Mem mem = {});
  // One of several opcodes that do the same with the same operands (other slot): the scheduler chooses.
  void emit_any(std::initializer_list<isa::Op> ops, std::initializer_list<Arg> args, Mem mem = {});

  void emit_list(const std::vector<isa::Op>& ops, const std::vector<Arg>& args, Mem mem = {});

  // Shorthands that choose an opcode.
  void move_imm(VReg dst, i64 value);           // r, p, m, dn, dj, dc, s, control registers; 32 bit
  void move(VReg dst, VReg src);                // between scalar registers
  void add_imm(VReg dst, VReg src, i64 value);  // r; -128..127; carry is unspecified afterwards
  void acquire(int lock, VReg amount);          // lock ids as the core sees them, 0..63
  void release(int lock, VReg amount);

  Label label(std::string name = {});
  void bind(Label label);  // what follows is reached by jumps to `label` and by falling through
  void jump(Label label);
  void jump_if_nonzero(VReg r, Label label);
  void jump_if_zero(VReg r, Label label);
  void done();  // halts the core

  // Runs body `trip` times. The carry flag is unspecified at the start of the body and after the loop.
  // The first form reads the trip count from an r register (which it leaves alone).
  void loop(VReg trip, const std::function<void()>& body, LoopOptions options = {});
  void loop(u32 trip, const std::function<void()>& body, LoopOptions options = {});

  u32 emitted() const;  // number of instructions so far: the source index of the next one

  backend::Function& function() { return *fn_; }

 private:
  void loop_impl(VReg trip, u32 exact, const std::function<void()>& body, LoopOptions options);

  std::unique_ptr<backend::Function> fn_;
};

Result<CoreProgram> assemble_program(Builder builder, const Options& options = {});

}  // namespace tegula::compiler
