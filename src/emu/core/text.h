// Small texts of fault messages.
#pragma once

#include <string>

#include "base/types.h"

namespace tegula::emu {

inline std::string hex_text(u64 value) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  do {
    out.insert(out.begin(), kDigits[value & 15]);
    value >>= 4;
  } while (value != 0);
  return "0x" + out;
}

}  // namespace tegula::emu
