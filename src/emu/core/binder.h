// Turning one decoded instruction into micro-operations. Each family of instructions is a row (mnemonic, bind
// function, argument); everything else comes from the operand names and timings of the instruction tables.
// Internal to emu/core.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "emu/core/machine.h"

namespace tegula::emu {

enum class Form : u8 { kNone, kIndexImm, kIndex, kPostImm, kPost, k2D, k3D, kSpill };

struct Binder {
  Binder(const isa::Instr& instr, Decoded& decoded);

  int find(std::string_view operand) const;  // -1 when the instruction has no such operand
  bool has(std::string_view operand) const { return find(operand) >= 0; }
  isa::Reg reg(std::string_view operand) const;
  u16 offset(std::string_view operand) const { return register_offset(reg(operand)); }
  u32 bits(std::string_view operand) const { return isa::reg_info(reg(operand)).bits; }
  i64 imm(std::string_view operand) const { return in.operand[find(operand)]; }
  u8 cycle(std::string_view operand) const;  // read or write cycle, at least 1

  // A micro-operation in this slot whose result is operand `dst`, with its latency, shape and bypass.
  Uop make(Handler run, std::string_view dst = {}) const;
  void push(const Uop& u) { uops.push_back(u); }

  // Adds the address of a memory access (size 0: pointer addition only); false with `error` set when there
  // are too many.
  bool add_address(Uop& u, u32 size, u32 align, bool write);
  bool add_address(const AddressOp& a, Uop* u);

  // A load: no operation of its own at issue; it starts with its address. load: nullptr for a plain copy.
  bool push_load(Uop& u, LoadStage load, u32 size, u32 align);
  bool push_load(Uop& u, LoadStage load, const AddressOp& a);

  // A point where the array comes in before the bundle issues; false with `error` set when it cannot be.
  bool add_sync(const SyncOp& s);

  // The sign register named by the opcode suffix: instruction names end in Sign0 / Sign1.
  u16 sign_register() const;

  const isa::Instr& in;
  const isa::InstrInfo& info;
  const isa::Timing& timing;
  Decoded& out;
  std::vector<Uop> uops;
  std::vector<Uop> loads;
  std::string mnemonic;  // without .2d / .3d
  Form form = Form::kNone;
  int arg = 0;
  std::string error;
};

using BindFn = bool (*)(Binder&);
struct Family {
  std::string_view mnemonic;
  BindFn bind;
  int arg = 0;
};

std::span<const Family> scalar_families();
std::span<const Family> control_families();
std::span<const Family> memory_families();
std::span<const Family> fifo_families();
std::span<const Family> vector_families();
std::span<const Family> permute_families();
std::span<const Family> convert_families();
std::span<const Family> matrix_families();
std::span<const Family> stream_families();

// "mov" and "vmov" also name stream and cascade moves in the lda and st slots.
bool bind_stream_move(Binder& b);
bool bind_cascade_move(Binder& b);

const Family* find_family(const isa::InstrInfo& info);
Kind kind_of(isa::Reg reg);      // shape of a delayed write to this register
u32 bytes_of(Kind kind);         // bytes of the contiguous part, ex: 64 + 8
u8 buffer_slot(isa::Slot slot);  // scratch ring of a slot

}  // namespace tegula::emu
