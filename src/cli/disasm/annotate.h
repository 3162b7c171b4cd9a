// What the configuration around a core program tells about its lock and stream instructions.
#pragma once

#include <optional>
#include <string>

#include "cli/inspect/array_facts.h"
#include "isa/isa.h"

namespace tegula::cli {

// Appends, for an instruction of the program of `core`, "lock 1: S2MM0 has put 512 words into 0xa000", "from
// MM2S0 of mem (0,1)", or nothing. `lock` is the number in the instruction, 0 to 63, when it is known.
void annotate(const ArrayFacts& facts, arch::Tile core, const isa::Instr& instr, std::optional<int> lock,
              std::string& comment);

}  // namespace tegula::cli
