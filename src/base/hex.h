// Hexadecimal numbers for messages.
#pragma once

#include <cstdio>
#include <string>

#include "base/types.h"

namespace tegula {

// "0x1d000"
inline std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace tegula
