// Bundle decoder and encoder, both driven by the generated tables. The bundle formats are those of
// src/isa/tables/formats.tsv, the encoding of an instruction in its slot that of instructions.tsv; register
// codes come from registers.tsv, immediates from immediates.tsv.
#include <bit>
#include <string>
#include <vector>

#include "base/hex.h"
#include "isa/isa.h"
#include "isa/tables.h"

namespace tegula::isa {

namespace {

using tables::Encoding;
using tables::Format;
using tables::OperandCode;

// A bundle as a 128-bit number, low word first.
struct Word128 {
  u64 lo = 0, hi = 0;
};

u64 field(const Word128& word, int shift, int bits) {
  u64 value;
  if (shift >= 64) {
    value = word.hi >> (shift - 64);
  } else {
    value = word.lo >> shift;
    if (shift != 0) value |= word.hi << (64 - shift);
  }
  return value & ((u64{1} << bits) - 1);
}

// Slot words have at most 42 bits.
void put_field(Word128& word, int shift, u64 value) {
  if (shift >= 64) {
    word.hi |= value << (shift - 64);
    return;
  }
  word.lo |= value << shift;
  if (shift != 0) word.hi |= value >> (64 - shift);
}

// An absent piece has no bits, so that both are always taken: no branch to mispredict.
u64 gather(u64 word, const OperandCode& code) {
  const auto part = [word](const tables::Piece& piece) {
    return ((word >> piece.shift) & ((u64{1} << piece.bits) - 1)) << piece.to;
  };
  return part(code.piece[0]) | part(code.piece[1]);
}

u64 scatter(u64 value, const OperandCode& code) {
  const auto part = [value](const tables::Piece& piece) {
    return ((value >> piece.to) & ((u64{1} << piece.bits) - 1)) << piece.shift;
  };
  return part(code.piece[0]) | part(code.piece[1]);
}

i64 immediate_value(const ImmClass& cls, u64 code) {
  const u64 sign = cls.is_signed ? u64{1} << (cls.bits - 1) : 0;
  return static_cast<i64>((code ^ sign) - sign) * cls.step + cls.offset;
}

std::string hex_bytes(ByteSpan bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (u8 byte : bytes) {
    if (!text.empty()) text += ' ';
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

constexpr const char* kSlotName[] = {"lda", "ldb", "alu", "mv", "st", "vec", "lng", "nop"};

// Fills in the operands of op from the slot word; false when a register code is illegal.
bool decode_operands(Op op, u64 word, Instr& instr) {
  const Encoding& encoding = tables::kEncoding[static_cast<size_t>(op)];
  for (int i = 0; i < encoding.count; ++i) {
    const OperandCode& operand = encoding.operands[i];
    const u64 code = gather(word, operand);
    if (operand.is_reg) {
      const Reg reg = tables::kRegOfCode[operand.table + code];
      if (reg == Reg::kNone) {
        instr.operand = {};
        return false;
      }
      instr.operand[i] = static_cast<i64>(reg);
    } else {
      instr.operand[i] = immediate_value(tables::kImmClasses[operand.table], code);
    }
  }
  instr.op = op;
  return true;
}

bool decode_slot(Slot slot, u64 word, Instr& instr) {
  const tables::DecodeNode* node = &tables::kDecodeNodes[tables::kDecodeRoot[static_cast<size_t>(slot)]];
  while (node->bits != 0) {
    const u64 code = (word >> node->shift) & ((u64{1} << node->bits) - 1);
    node = &tables::kDecodeNodes[tables::kDecodeChildren[node->at + code]];
  }
  for (u32 i = 0; i < node->count; ++i) {
    const Op op = tables::kDecodeLeaves[node->at + i];
    const Encoding& encoding = tables::kEncoding[static_cast<size_t>(op)];
    if ((word & encoding.mask) == encoding.value && decode_operands(op, word, instr)) return true;
  }
  return false;
}

// Rows of formats.tsv are grouped by length, shortest first: [begin, end) per length / 2.
struct FormatRanges {
  u8 begin[9] = {}, end[9] = {};
};

FormatRanges make_format_ranges() {
  FormatRanges ranges;
  for (size_t i = 0; i < tables::kFormats.size(); ++i) {
    const int half = tables::kFormats[i].bytes / 2;
    if (ranges.end[half] == 0) ranges.begin[half] = static_cast<u8>(i);
    ranges.end[half] = static_cast<u8>(i + 1);
  }
  return ranges;
}

int find_format(const Word128& word, int bytes) {
  static const FormatRanges ranges = make_format_ranges();
  for (int i = ranges.begin[bytes / 2]; i < ranges.end[bytes / 2]; ++i) {
    const Format& format = tables::kFormats[i];
    if ((word.lo & format.mask[0]) == format.value[0] && (word.hi & format.mask[1]) == format.value[1])
      return i;
  }
  return -1;
}

struct BestFormats {
  i8 of[256];
};

BestFormats make_best_formats() {
  BestFormats best;
  for (u32 mask = 0; mask < 256; ++mask) {
    best.of[mask] = -1;
    for (size_t i = 0; i < tables::kFormats.size(); ++i) {
      const Format& format = tables::kFormats[i];
      if ((mask & ~u32{format.slot_mask}) != 0) continue;
      const int now = best.of[mask];
      const auto better = [&](const Format& other) {
        return format.bytes < other.bytes || (format.bytes == other.bytes && format.count < other.count);
      };
      if (now < 0 || better(tables::kFormats[now])) best.of[mask] = static_cast<i8>(i);
    }
  }
  return best;
}

std::string operand_text(const InstrInfo& in, size_t i) {
  return std::string(in.name) + ": operand " + std::to_string(i) + " (" + std::string(in.operands[i].name) +
         ")";
}

// The code of an operand's value in its class.
Result<u64> operand_code(const InstrInfo& in, size_t i, i64 value) {
  const OperandInfo& operand = in.operands[i];
  if (operand.kind == OperandKind::kReg) {
    const RegClass& cls = tables::kRegClasses[operand.cls];
    for (size_t k = 0; k < cls.members.size(); ++k) {
      if (static_cast<i64>(cls.members[k]) == value) return u64{cls.codes[k]};
    }
    const bool known = value >= 0 && value < tables::kRegs;
    const std::string found =
        known ? std::string(reg_info(static_cast<Reg>(value)).name) : std::to_string(value);
    return fail(Code::kInvalidArgument, operand_text(in, i) + " is register '" + found +
                                            "', which is not in its class " + std::string(cls.name));
  }
  const ImmClass& cls = tables::kImmClasses[operand.cls];
  if (value < cls.min || value > cls.max || (value - cls.offset) % cls.step != 0) {
    return fail(Code::kInvalidArgument, operand_text(in, i) + " is " + std::to_string(value) + ", expected " +
                                            std::to_string(cls.min) + ".." + std::to_string(cls.max) +
                                            " in steps of " + std::to_string(cls.step));
  }
  return static_cast<u64>((value - cls.offset) / cls.step) & ((u64{1} << cls.bits) - 1);
}

// A register without a field must be what the fields imply; kNone stands for "whatever they imply".
Result<u64> encode_slot(const Instr& instr) {
  if (static_cast<size_t>(instr.op) >= static_cast<size_t>(tables::kOps)) {
    return fail(Code::kInvalidArgument, "instruction has no valid op");
  }
  const InstrInfo& in = info(instr.op);
  const Encoding& encoding = tables::kEncoding[static_cast<size_t>(instr.op)];
  u64 word = encoding.value;
  for (size_t i = 0; i < in.operands.size(); ++i) {
    if (!in.operands[i].has_field) continue;
    TRY_ASSIGN(const u64 code, operand_code(in, i, instr.operand[i]));
    word |= scatter(code, encoding.operands[i]);
  }
  for (size_t i = 0; i < in.operands.size(); ++i) {
    const OperandInfo& operand = in.operands[i];
    if (operand.has_field || instr.operand[i] == static_cast<i64>(Reg::kNone)) continue;
    const u64 code = gather(word, encoding.operands[i]);
    const Reg implied = tables::kRegOfCode[encoding.operands[i].table + code];
    if (static_cast<i64>(implied) != instr.operand[i]) {
      return fail(Code::kInvalidArgument, operand_text(in, i) + " must be " +
                                              std::string(reg_info(implied).name) +
                                              ": it has no field of its own");
    }
  }
  return word;
}

enum class Failure : u8 { kNone, kEmpty, kCut, kFormat, kSlot };

// What stopped a decoding.
struct Stop {
  Failure failure = Failure::kNone;
  u8 format = 0;
  u8 slot = 0;  // of the format
  u64 slot_word = 0;
};

Word128 load_word(ByteSpan code, int bytes) {
  u8 raw[16] = {};
  std::memcpy(raw, code.data(), static_cast<size_t>(bytes));
  return {load_le<u64>(raw), load_le<u64>(raw + 8)};
}

// Overwrites all of bundle.
Stop decode_into(ByteSpan code, Bundle& bundle) {
  if (code.size() < 2) return {.failure = Failure::kEmpty};
  const int bytes = bundle_length(code[0]);
  if (static_cast<size_t>(bytes) > code.size()) return {.failure = Failure::kCut};
  const Word128 word = load_word(code, bytes);
  const int index = find_format(word, bytes);
  if (index < 0) return {.failure = Failure::kFormat};
  const Format& format = tables::kFormats[index];
  bundle.bytes = static_cast<u8>(bytes);
  bundle.format = static_cast<u8>(index);
  bundle.count = format.count;
  for (Instr& instr : bundle.instr) instr = Instr{};
  for (u8 i = 0; i < format.count; ++i) {
    const tables::FormatSlot& place = format.slot[i];
    const u64 slot_word = field(word, place.shift, tables::kSlotBits[static_cast<size_t>(place.slot)]);
    if (!decode_slot(place.slot, slot_word, bundle.instr[i]))
      return {Failure::kSlot, static_cast<u8>(index), i, slot_word};
  }
  return {};
}

Error decode_error(const Stop& stop, ByteSpan code) {
  const auto left = std::to_string(code.size());
  if (stop.failure == Failure::kEmpty)
    return fail(Code::kCorrupt, "bundle: " + left + " bytes left, at least 2 expected");
  const int bytes = bundle_length(code[0]);
  if (stop.failure == Failure::kCut) {
    return fail(Code::kCorrupt, "bundle: first byte " + hex(code[0]) + " asks for " + std::to_string(bytes) +
                                    " bytes, " + left + " are left");
  }
  const std::string shown = "bundle " + hex_bytes(code.first(static_cast<size_t>(bytes)));
  if (stop.failure == Failure::kFormat) {
    return fail(Code::kCorrupt,
                shown + ": no bundle format of " + std::to_string(bytes) + " bytes has these constant bits");
  }
  const Format& format = tables::kFormats[stop.format];
  return fail(Code::kCorrupt, shown + " (" + std::string(format.name) + "): " + hex(stop.slot_word) +
                                  " is no instruction of slot " +
                                  kSlotName[static_cast<size_t>(format.slot[stop.slot].slot)]);
}

// Per op: the bits of the slot word that mean something, and whether some register has several codes.
struct OpCare {
  u64 bits = 0;
  bool aliases = false;
};

std::array<OpCare, tables::kOps> make_care() {
  std::array<OpCare, tables::kOps> care;
  for (int op = 0; op < tables::kOps; ++op) {
    const Encoding& encoding = tables::kEncoding[op];
    care[op].bits = encoding.mask;
    for (int i = 0; i < encoding.count; ++i) {
      const OperandCode& operand = encoding.operands[i];
      for (const tables::Piece& piece : operand.piece)
        care[op].bits |= ((u64{1} << piece.bits) - 1) << piece.shift;
      const OperandInfo& in = tables::kInstrInfo[op].operands[static_cast<size_t>(i)];
      if (!operand.is_reg || !in.has_field) continue;
      std::vector<bool> seen(tables::kRegs);
      for (size_t code = 0; code < size_t{1} << tables::kRegClasses[in.cls].bits; ++code) {
        const Reg reg = tables::kRegOfCode[operand.table + code];
        care[op].aliases |= reg != Reg::kNone && seen[static_cast<size_t>(reg)];
        seen[static_cast<size_t>(reg)] = true;
      }
    }
  }
  return care;
}

}  // namespace

Result<void> complete(Instr& instr) {
  TRY_ASSIGN(const u64 word, encode_slot(instr));
  const Op op = instr.op;
  if (!decode_operands(op, word, instr)) {
    return fail(Code::kInvalidArgument, std::string(info(op).name) + ": its fields imply no legal register");
  }
  return {};
}

int best_format(u32 slot_mask) {
  static const BestFormats best = make_best_formats();
  return slot_mask < 256 ? best.of[slot_mask] : -1;
}

std::string_view format_name(u8 format) {
  return format < tables::kFormats.size() ? tables::kFormats[format].name : std::string_view("?");
}

u32 format_slots(u8 format) {
  return format < tables::kFormats.size() ? tables::kFormats[format].slot_mask : 0;
}

u8 format_bytes(u8 format) {
  return format < tables::kFormats.size() ? tables::kFormats[format].bytes : 0;
}

int format_count() {
  return static_cast<int>(tables::kFormats.size());
}

Result<Bundle> decode(ByteSpan code) {
  Result<Bundle> result{Bundle{}};  // filled in place: a bundle is half a kilobyte
  const Stop stop = decode_into(code, *result);
  if (stop.failure != Failure::kNone) result = decode_error(stop, code);
  return result;
}

bool try_decode(ByteSpan code, Bundle& bundle) {
  return decode_into(code, bundle).failure == Failure::kNone;
}

bool is_canonical(ByteSpan code, const Bundle& bundle) {
  static const std::array<OpCare, tables::kOps> care = make_care();
  const Word128 word = load_word(code, bundle.bytes);
  const Format& format = tables::kFormats[bundle.format];
  Word128 known{format.mask[0], format.mask[1]};
  for (int i = 0; i < bundle.count; ++i) {
    const OpCare& op = care[static_cast<size_t>(bundle.instr[i].op)];
    put_field(known, format.slot[i].shift, op.bits);
    if (!op.aliases) continue;
    const auto slot = static_cast<size_t>(format.slot[i].slot);
    const Result<u64> again = encode_slot(bundle.instr[i]);
    if (!again.ok() || *again != field(word, format.slot[i].shift, tables::kSlotBits[slot])) return false;
  }
  return (word.lo & ~known.lo) == 0 && (word.hi & ~known.hi) == 0;
}

Result<Bytes> encode(const Bundle& bundle) {
  u64 words[tables::kSlots];
  u32 mask = 0;
  if (bundle.count > bundle.instr.size()) {
    return fail(Code::kInvalidArgument,
                "bundle has " + std::to_string(bundle.count) + " instructions, at most 6 fit");
  }
  for (int i = 0; i < bundle.count; ++i) {
    TRY_ASSIGN(const u64 word, encode_slot(bundle.instr[i]));
    const InstrInfo& in = info(bundle.instr[i].op);
    const u32 bit = u32{1} << static_cast<u32>(in.slot);
    if ((mask & bit) != 0) {
      return fail(Code::kInvalidArgument, "bundle has two instructions in slot " +
                                              std::string(kSlotName[static_cast<size_t>(in.slot)]) +
                                              ", the second is " + std::string(in.name));
    }
    mask |= bit;
    words[static_cast<size_t>(in.slot)] = word;
  }
  const int index = bundle.bytes != 0 ? bundle.format : best_format(mask);
  if (index < 0 || index >= format_count() || (mask & ~format_slots(static_cast<u8>(index))) != 0) {
    return fail(Code::kInvalidArgument, "bundle: no format holds the slot set " + hex(mask) +
                                            " (bits lda ldb alu mv st vec lng nop from 0); split the bundle");
  }
  const Format& format = tables::kFormats[index];
  if (bundle.bytes != 0 && bundle.bytes != format.bytes) {
    return fail(Code::kInvalidArgument, "bundle: format " + std::string(format.name) + " has " +
                                            std::to_string(format.bytes) + " bytes, the bundle says " +
                                            std::to_string(bundle.bytes));
  }
  Word128 word{format.value[0], format.value[1]};
  for (int i = 0; i < format.count; ++i) {
    const auto slot = static_cast<size_t>(format.slot[i].slot);
    const bool present = (mask >> slot & 1) != 0;
    const u64 nop = tables::kEncoding[static_cast<size_t>(tables::kSlotNop[slot])].value;
    put_field(word, format.slot[i].shift, present ? words[slot] : nop);
  }
  Bytes out(16);
  store_le(out.data(), word.lo);
  store_le(out.data() + 8, word.hi);
  out.resize(format.bytes);
  return out;
}

}  // namespace tegula::isa
