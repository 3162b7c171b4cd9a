// A core program as its bundles with their addresses, for the lint and the listing.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "isa/isa.h"

namespace tegula::isa {

struct PlacedBundle {
  u32 address = 0;  // byte address in program memory
  u8 bytes = 0;
  std::span<const Instr> instr;  // absent slots have none, as in Bundle
};

// Bundles in order of address. Takes memory for the instructions that are there, in blocks: a Bundle has room
// for six, most bundles of two and four bytes hold one.
class PlacedProgram {
 public:
  void add(u32 address, u8 bytes, std::span<const Instr> instr);  // copies the instructions
  void add(u32 address, const Bundle& bundle) {
    add(address, bundle.bytes, std::span(bundle.instr).first(bundle.count));
  }

  int size() const { return static_cast<int>(bundles_.size()); }
  const PlacedBundle& operator[](int i) const { return bundles_[static_cast<size_t>(i)]; }
  auto begin() const { return bundles_.begin(); }
  auto end() const { return bundles_.end(); }

 private:
  static constexpr size_t kBlock = 64;  // instructions

  std::vector<PlacedBundle> bundles_;
  std::vector<std::unique_ptr<Instr[]>> blocks_;
  size_t used_ = 0;  // of the last block
};

// Decodes a program. After an unconditional transfer and its five delay bundles, bytes up to the next 16-byte
// line are padding and may be anything. Error: a bundle elsewhere that does not decode, with its address.
Result<PlacedProgram> place(ByteSpan code, u32 base = 0);

}  // namespace tegula::isa
