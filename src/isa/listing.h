// A core program as assembly text that the assembler takes back to the same bytes: labels for functions,
// branch targets and loops, bytes, and what a reader wants to know in comments. The format is that of
// docs/assembly.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "isa/isa.h"

namespace tegula::isa {

struct ListingOptions {
  bool bytes = false;  // a column with the bytes
  bool cycles =
      false;     // in comments: the issue cycle within the block, and from which cycle results are seen
  u32 base = 0;  // address of the first byte
  // Adds to the comment of an instruction what is known about it; may be empty. `lock` is the number of the
  // lock that an acq or rel is about, when it is a constant.
  std::function<void(const Instr&, std::optional<int> lock, std::string& comment)> annotate;
};

struct ListingTotals {
  u64 bundles = 0;
  u64 undecodable = 0;   // pieces outside padding that are no bundle
  u64 padding = 0;       // pieces of padding, bundles or not
  u64 noncanonical = 0;  // bundles whose bytes the encoder would not write: see is_canonical()
};

// A function: address 0, a call target, or what follows padding and nothing branches to.
struct ListedFunction {
  std::string name;  // "fn_1a0"
  u32 address = 0;
  u32 bytes = 0;  // up to the next function
};

class Listing {
 public:
  // code must outlive the listing.
  explicit Listing(ByteSpan code, ListingOptions options = {});
  ~Listing();

  const ListingTotals& totals() const;
  const std::vector<ListedFunction>& functions() const;
  void append_text(std::string& out) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The totals alone, without a list of the program's bundles.
ListingTotals count(ByteSpan code);

}  // namespace tegula::isa
