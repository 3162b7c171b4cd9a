// Assembly text of AIE2P bundles: printer, line assembler and disassembler. The syntax is that of the
// vendor's assembler tests: "vlda x0, [p0, #0];vldb x2, [p1, #0]", one instruction per slot, immediates
// decimal with '#'.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"

namespace tegula::isa {

std::string to_text(const Instr& instr);

// Appends the text. Immediate operand `label_operand` (-1: none) is printed as `label`.
void append_text(std::string& out, const Instr& instr, int label_operand = -1, std::string_view label = {});

// ".byte 0x12, 0x34"
void append_data(std::string& out, ByteSpan bytes);

// The instructions of a bundle joined by ';', explicit nops included.
std::string to_text(const Bundle& bundle);

// Parses one bundle; spaces are free, letter case is ignored, immediates may be hexadecimal (0x..). The
// result has the shortest format that holds its slots. Error: the column (from 1) and what was expected
// there.
Result<Bundle> assemble(std::string_view line);

// A number of the source text: digits, or a symbol with an optional offset ("loop+16").
struct Number {
  enum Kind : u8 {
    kNone,
    kKnown,
    kLater,
    kUndefined
  } kind = kNone;  // kLater: some value that is not known yet
  i64 value = 0;
  bool symbolic = false;
};
// The value of a symbol. Without a function there are no symbols.
using Symbols = std::function<Number(std::string_view)>;
// The number at `at`, which moves behind it; kNone when there is none.
Number parse_number(std::string_view text, size_t& at, const Symbols& symbols);

struct SyntaxError {
  size_t column = 0;  // from 1
  std::string text;   // what was expected, what was found
};
// assemble() with symbols as immediates.
std::optional<SyntaxError> assemble(std::string_view line, const Symbols& symbols, Bundle& bundle);

// Of names, mnemonics and numbers.
bool is_word(char c);

// For a message: what stands at a place, at most 24 characters in quotes, or "the end".
std::string shown(std::string_view text, size_t at);

struct DisassembledLine {
  u32 address = 0;
  u8 bytes = 0;        // at least 1
  bool valid = false;  // false: data
  Bundle bundle;       // when valid
  std::string text;
};

// All of a program, in the pieces of Sweep (isa/sweep.h).
std::vector<DisassembledLine> disassemble(ByteSpan code, u32 base = 0);

}  // namespace tegula::isa
