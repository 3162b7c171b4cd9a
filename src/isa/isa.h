// The AIE2P instruction set as tables: every instruction, register, bundle format and operand timing, and
// what derives from them (decode, encode). Generated from src/isa/tables/*.tsv at build time; sources of the
// facts are in NOTICE.
#pragma once

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "base/bytes.h"
#include "base/result.h"
#include "base/types.h"
#include "isa/enums.h"  // generated: enum class Op (record names of instructions.tsv, kCount last),
                        //            enum class Reg (record names of registers.tsv, kNone = 0, kCount last)

namespace tegula::isa {

enum class Slot : u8 { kLda, kLdb, kAlu, kMv, kSt, kVec, kLng, kNop, kCount };

// ---------------------------------------------------------------- registers

// Physical storage. Registers that overlap name parts of the same bank, so aliasing is a comparison of bit
// ranges.
enum class Bank : u8 {
  kR,  // 32 x 32 bit; l_k is bits 64k..64k+63
  kP,  // 8 x 32 bit slots, 20 bits used
  kM,  // 8 x 32 (20 used); likewise kDn, kDj, kDc
  kDn,
  kDj,
  kDc,
  kS,        // 4 x 32
  kX,        // 12 x 512: wl, wh, x, y
  kE,        // 12 x 64: el, eh, e
  kQ,        // 4 x 128
  kAcc,      // 5 x 2048: bm, cm, dm
  kFifo,     // lf0, lf1 (1024 each), sf (1024), lfe (512)
  kSpecial,  // sp, lr, ls, le, lc, core_id (32-bit slots), cntr (64)
  kControl,  // cr*, sr*, *Sign*: one 32-bit slot each
  kCount,
};

struct RegPart {
  Bank bank;
  u16 bit;   // offset inside the bank
  u16 bits;  // width
};

struct RegInfo {
  std::string_view name;           // assembly name, e.g. "bmll0", "r3", "ex5"
  u16 bits;                        // architectural width: p, m, dn, dj, dc, sp.. are 20
  std::span<const RegPart> parts;  // in order from bit 0 of the register
};

const RegInfo& reg_info(Reg reg);
Reg find_reg(std::string_view assembly_name);  // kNone when unknown
bool overlaps(Reg a, Reg b);
u32 bank_bits(Bank bank);  // size of a bank

// ------------------------------------------------------------- instructions

constexpr int kMaxOperands = 10;

enum class OperandKind : u8 { kReg, kImm };

struct OperandInfo {
  std::string_view name;  // as in the table: "dst", "s1", "imm"
  OperandKind kind;
  u16 cls;  // index for reg_class() or imm_class()
  bool is_out;
  // False: implied by the opcode (one-member class), tied, or derived from another operand's field.
  bool has_field;
  i8 tied_to;  // index of the operand whose field it shares (ptr_out -> ptr, dc -> mod, ...), or -1
};

struct InstrInfo {
  std::string_view name;      // record name, as in the table
  std::string_view mnemonic;  // "vmac.f"
  std::string_view syntax;    // operand syntax of the table
  Slot slot;
  bool load, store, side, delay;
  std::span<const OperandInfo> operands;  // outs first, then ins, in table order
  u8 outs;
  std::span<const Reg> implicit_defs;  // attributes "defs="
  std::span<const Reg> implicit_uses;
};

const InstrInfo& info(Op op);
Op find_op(std::string_view record_name);  // Op::kCount when unknown

struct RegClass {
  std::string_view name;
  u8 bits;
  std::span<const Reg> members;
  std::span<const u16> codes;  // code of members[i]
};
const RegClass& reg_class(u16 cls);

struct ImmClass {
  std::string_view name;
  u8 bits;
  i64 step, offset, min, max;
  bool is_signed;
};
const ImmClass& imm_class(u16 cls);

// One instruction with its operands. Register operands hold the Reg as an integer, immediates their value.
struct Instr {
  Op op = Op::kCount;
  std::array<i64, kMaxOperands> operand{};

  Reg reg(int i) const { return static_cast<Reg>(operand[i]); }
  bool operator==(const Instr&) const = default;
};

// One VLIW bundle; absent slots are nops. Explicit slot nops are kept as instructions so that
// encode(decode(b)) == b.
struct Bundle {
  u8 bytes = 0;  // encoded length: 2, 4, .. 16
  u8 count = 0;
  u8 format = 0;  // row of formats.tsv
  std::array<Instr, 6> instr{};
};

// Decodes the bundle at the front of code. Error: truncated, no such format, no such instruction (with
// bytes).
Result<Bundle> decode(ByteSpan code);

// The same without an error to tell, over a bundle that may have been used before; false leaves it in an
// unspecified state.
bool try_decode(ByteSpan code, Bundle& bundle);

// Whether `code`, which decoded to bundle, is what encode(bundle) writes. It is not where bits without a
// meaning are set or a register is named by the second of its codes.
bool is_canonical(ByteSpan code, const Bundle& bundle);

// Encodes the bundle. format/bytes of the argument are honoured when set (bytes != 0), else the shortest
// format that holds all its slots is used. Operands without a field may be Reg::kNone (see complete()).
// Error: an operand not encodable in its class, slots that no format holds.
Result<Bytes> encode(const Bundle& bundle);

// Length in bytes from the low four bits of the first byte.
constexpr int bundle_length(u8 first) {
  if (first & 1) return 16;
  switch (first & 0xF) {
    case 0x0:
      return 2;
    case 0x8:
      return 4;
    case 0x4:
    case 0xC:
      return 6;
    case 0x2:
      return 8;
    case 0xA:
      return 10;
    case 0x6:
      return 12;
    default:
      return 14;
  }
}

// Fills in the operands that have no field of their own (implied, tied, derived registers; kNone on entry)
// and checks the others. Error: an operand not encodable in its class, or a derived one that contradicts the
// fields.
Result<void> complete(Instr& instr);

// The rows of formats.tsv: "I128_LDA_LDB_ST_ALU_MV_VEC", a bit per Slot, length.
int format_count();
std::string_view format_name(u8 format);
u32 format_slots(u8 format);
u8 format_bytes(u8 format);

// The shortest format holding exactly these slots (a bit per Slot), with nops filled in where needed; -1 when
// none does.
int best_format(u32 slot_mask);

// ------------------------------------------------------------------- timing

enum class Bypass : u8 { kNone, kMv, kVec };

struct OperandTiming {
  u8 cycle = 0;  // counted from 1 at issue; 0: not listed
  Bypass bypass = Bypass::kNone;
};

struct UnitUse {
  u8 unit;   // index into unit_name()
  u8 start;  // cycles after issue
  u8 cycles;
  bool weak;  // "Reserved": blocks only against a strong use
};

struct Timing {
  std::array<OperandTiming, kMaxOperands> operand;
  std::span<const std::pair<Reg, OperandTiming>> implicit_defs;
  std::span<const std::pair<Reg, OperandTiming>> implicit_uses;
  u8 memory_first = 0, memory_last = 0;  // MemoryCycles; 0 when the instruction does not touch memory
  std::span<const UnitUse> units;
};

// Timing of this instruction; the itinerary can depend on the register class of an operand (e.g.
// ADD_NC..._eP).
const Timing& timing(const Instr& instr);
std::string_view unit_name(u8 unit);

// The rule of the exposed pipeline: smallest issue distance at which a consumer sees the producer's value.
constexpr int min_distance(OperandTiming def, OperandTiming use) {
  const int d = int{def.cycle} - int{use.cycle} + 1;
  return def.bypass != Bypass::kNone && def.bypass == use.bypass ? d - 1 : d;
}

}  // namespace tegula::isa
