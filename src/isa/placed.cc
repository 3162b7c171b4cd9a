#include "isa/placed.h"

#include <algorithm>

#include "base/hex.h"
#include "isa/sweep.h"

namespace tegula::isa {

void PlacedProgram::add(u32 address, u8 bytes, std::span<const Instr> instr) {
  if (blocks_.empty() || used_ + instr.size() > kBlock) {
    blocks_.push_back(std::make_unique<Instr[]>(kBlock));
    used_ = 0;
  }
  Instr* first = blocks_.back().get() + used_;
  std::copy(instr.begin(), instr.end(), first);
  used_ += instr.size();
  bundles_.push_back({address, bytes, {first, instr.size()}});
}

Result<PlacedProgram> place(ByteSpan code, u32 base) {
  PlacedProgram out;
  for (Sweep sweep(code, base); sweep.next();) {
    if (sweep.padding()) continue;
    if (!sweep.valid()) {
      const Error error = decode(code.subspan(sweep.address() - base)).error();
      return fail(error.code, "address " + hex(sweep.address()) + ": " + error.message);
    }
    out.add(sweep.address(), sweep.bundle());
  }
  return out;
}

}  // namespace tegula::isa
