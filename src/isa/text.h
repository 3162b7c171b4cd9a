// Assembly text of AIE2P bundles: printer, line assembler and disassembler. The syntax is that of the
// vendor's assembler tests: "vlda x0, [p0, #0];vldb x2, [p1, #0]", one instruction per slot, immediates
// decimal with '#'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"

namespace tegula::isa {

std::string to_text(const Instr& instr);

// The instructions of a bundle joined by ';', explicit nops included.
std::string to_text(const Bundle& bundle);

// Parses one bundle; spaces are free, letter case is ignored, immediates may be hexadecimal (0x..). The
// result has the shortest format that holds its slots. Error: the column (from 1) and what was expected
// there.
Result<Bundle> assemble(std::string_view line);

struct DisassembledLine {
  u32 address = 0;
  u8 bytes = 0;        // at least 1
  bool valid = false;  // false: no bundle here; text is ".byte 0x12, 0x34"
  Bundle bundle;       // when valid
  std::string text;
};

// All of a program. Bytes that are no bundle become ".byte" lines of two bytes, after which decoding goes on.
std::vector<DisassembledLine> disassemble(ByteSpan code, u32 base = 0);

}  // namespace tegula::isa
