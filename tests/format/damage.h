// Ways to damage a small artifact for reader tests: every prefix, and many single-byte changes.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::test {

// A message is one line with something in it.
inline void expect_message(const Error& error) {
  EXPECT_FALSE(error.message.empty());
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

// The whole of `part` lies in `whole`.
inline bool lies_in(ByteSpan part, ByteSpan whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

// Calls read(copy) for every prefix shorter than the artifact. Each copy is on its own heap block, so that a
// sanitizer sees a read past the end.
template <typename Read>
void each_prefix(ByteSpan artifact, Read read) {
  for (u64 size = 0; size < artifact.size(); ++size) {
    Bytes copy(artifact.begin(), artifact.begin() + static_cast<std::ptrdiff_t>(size));
    read(copy);
  }
}

// Calls read(copy, place) for `count` copies with one byte changed, from a fixed seed.
template <typename Read>
void each_mutation(ByteSpan artifact, int count, Read read) {
  std::mt19937 random(20240817);
  for (int i = 0; i < count; ++i) {
    Bytes copy(artifact.begin(), artifact.end());
    u64 place = random() % copy.size();
    copy[place] ^= static_cast<u8>(1 + random() % 255);
    read(copy, place);
  }
}

inline constexpr int kMutations = 10000;

}  // namespace tegula::test
