// Assembly source to the bytes of a core program. The language is that of docs/assembly.md: bundles as
// isa/text.h has them, labels, directives, comments, and the columns of a listing, which are passed over.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::isa {

// Addresses of the program memory have 20 bits in the instructions.
constexpr u32 kMaxProgramBytes = 1u << 20;

struct Assembled {
  Bytes code;
  std::vector<std::pair<std::string, u32>> labels;  // with their addresses, in the order of the source
};

// Error: kInvalidArgument, "NAME:LINE:COLUMN: expected .., found ..", with columns in bytes from 1;
// kOutOfRange for a program larger than kMaxProgramBytes.
Result<Assembled> assemble_program(std::string_view source, std::string_view name);

}  // namespace tegula::isa
