// Finds added tokens in a text: leftmost first, the longest at each place.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace tegula::text {

// A part of a text: an added token (id >= 0) or the text between two of them (id < 0).
struct Segment {
  std::string_view text;
  i32 id = -1;
};

class AddedTokens {
 public:
  // Empty contents are ignored; of two equal contents the later one counts.
  explicit AddedTokens(std::vector<AddedToken> tokens);
  AddedTokens() = default;

  // Empty segments are left out. The views point into `text`.
  std::vector<Segment> split(std::string_view text) const;

 private:
  struct Node {
    std::vector<std::pair<u8, u32>> children;  // sorted by byte
    i32 token = -1;                            // index into tokens_ where a content ends
  };
  struct Match {
    i32 token = -1;
    u64 end = 0;
  };

  u32 child(u32 node, u8 byte) const;  // 0: none
  Match longest_at(std::string_view text, u64 at) const;

  std::vector<AddedToken> tokens_;
  std::vector<Node> nodes_;
};

}  // namespace tegula::text
