// The fast core against the slow one on one program.
#pragma once

#include <string>

#include "emu/core.h"
#include "emu/slow/program.h"

namespace tegula::emu::slow {

struct Difference {
  std::string text;  // empty: none
  u64 traced = 0;    // bundles that ran within traces
};

// Runs the program in the fast core and compares registers, memory and time with the slow core's.
Difference compare(const Start& start, const std::vector<u8>& program, const Core& slow, bool traces);

// The program without what the difference does not need, as text: bundles with addresses, the first cycle
// after which something differs, and both values.
std::string explain(const Start& start, std::vector<u8> program, const std::set<u32>& addresses, bool traces);

}  // namespace tegula::emu::slow
