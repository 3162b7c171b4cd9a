// Layout of the generated tables (isa/tables.cc, written by tools/gen_isa.py). Internal to src/isa.
#pragma once

#include "isa/isa.h"

namespace tegula::isa::tables {

constexpr int kOps = static_cast<int>(Op::kCount);
constexpr int kRegs = static_cast<int>(Reg::kCount);
constexpr int kSlots = static_cast<int>(Slot::kCount);

// A run of bits: bits [shift, shift + bits) of the slot word are bits [to, to + bits) of the operand's code.
struct Piece {
  u8 shift, bits, to;
};

// Where an operand's code lies in the slot word, and what it means. An operand without a field of its own
// repeats the pieces of the operand that it follows; a register implied by the opcode has code 0. Absent
// pieces have no bits.
struct OperandCode {
  bool is_reg;
  u16 table;  // register: kRegOfCode[table + code], kNone where the code is illegal; immediate: class
  Piece piece[2];
};

struct Encoding {
  u64 mask, value;              // fixed bits of the slot word
  const OperandCode* operands;  // as many as InstrInfo::operands
  u8 count;
};

struct FormatSlot {
  Slot slot;
  u8 shift;  // of bit 0 of the slot word, in the bundle
};

struct Format {
  std::string_view name;
  u8 bytes;
  u8 slot_mask;  // bit per Slot
  u8 count;
  u64 mask[2], value[2];  // constant bits, low word first
  FormatSlot slot[6];     // in the order of Bundle::instr: lda ldb alu mv lng st vec
};

// Decision tree over a slot word. Inner node (bits != 0): the child is kDecodeChildren[at + field]; leaf:
// `count` candidates from kDecodeLeaves[at], those with more fixed bits first.
struct DecodeNode {
  u8 shift, bits;
  u16 count;
  u32 at;
};

// The timing of an op: kTimings[base], or by the groups of the registers of operands a and b: with `a` alone
// (b < 0) kTimings[kTimingVariant[table + group a]], with both kTimings[kTimingVariant[table + group a *
// kTimingGroups + group b]].
struct TimingSelect {
  u16 base;
  i8 a, b;
  u16 table;
};

// A piece of an operand syntax: text to print or match, or (operand >= 0) an operand.
struct SyntaxItem {
  i8 operand;
  std::string_view text;
};

extern const RegInfo kRegInfo[];  // by Reg
extern const u32 kBankBits[];     // by Bank
extern const std::span<const RegClass> kRegClasses;
extern const std::span<const ImmClass> kImmClasses;
extern const InstrInfo kInstrInfo[];  // by Op
extern const Encoding kEncoding[];    // by Op
extern const std::span<const Format> kFormats;
extern const u8 kSlotBits[];     // by Slot
extern const Op kSlotNop[];      // by Slot
extern const u16 kDecodeRoot[];  // by Slot: node index
extern const DecodeNode kDecodeNodes[];
extern const u16 kDecodeChildren[];
extern const Op kDecodeLeaves[];
extern const Reg kRegOfCode[];
extern const std::span<const Timing> kTimings;
extern const TimingSelect kTimingSelect[];  // by Op
extern const u8 kTimingGroup[];             // by Reg; 0: none
extern const int kTimingGroups;
extern const u16 kTimingVariant[];
extern const std::span<const std::string_view> kUnits;
extern const std::span<const SyntaxItem> kSyntax[];  // by Op

}  // namespace tegula::isa::tables
