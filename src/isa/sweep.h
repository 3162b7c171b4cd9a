// One pass over the bytes of a core program, from bundle to bundle, as the disassembler and the lint read it.
#pragma once

#include "isa/isa.h"

namespace tegula::isa {

constexpr u32 kFetchLine = 16;  // bytes; branch targets and return addresses start one
constexpr int kDelaySlots = 5;

// A piece of the program is a bundle, or data: two bytes that start no bundle, or padding that is no code.
// After an unconditional transfer (j, ret) and its delay slots the bytes up to the next line are padding: no
// control flow gets there. Padding that decodes up to exactly the line is given as bundles.
class Sweep {
 public:
  explicit Sweep(ByteSpan code, u32 base = 0) : code_(code), base_(base) {}

  // Goes to the next piece; false behind the last.
  bool next();

  u32 address() const { return base_ + static_cast<u32>(at_); }
  ByteSpan bytes() const { return code_.subspan(at_, bytes_); }
  bool valid() const { return valid_; }  // a bundle
  bool padding() const { return at_ < padding_end_; }
  const Bundle& bundle() const { return bundle_; }  // when valid

 private:
  void enter_padding();

  ByteSpan code_;
  u32 base_;
  size_t at_ = 0, bytes_ = 0, padding_end_ = 0;
  bool valid_ = false, padding_is_code_ = false;
  int delay_left_ = -1;  // bundles left of an unconditional transfer; -1: none
  Bundle bundle_;
};

}  // namespace tegula::isa
