// Optional diagnosis: operands read while a write to them is in flight, and registers read before anything
// wrote them.
#include <algorithm>

#include "emu/core/machine.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

bool meet(const Access& a, const Access& b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

constexpr size_t kMaxHazards = 4096;

}  // namespace

std::string Hazard::text() const {
  const std::string name(isa::reg_info(reg).name);
  if (kind == Kind::kUninitialised) {
    return hex_text(consumer_pc) + " reads " + name + ", which nothing has written";
  }
  return hex_text(consumer_pc) + " reads " + name + " " + std::to_string(missing_cycles) +
         " cycles before the result of " + hex_text(producer_pc) + " is visible (it gets the old value)";
}

void Machine::note_hazard(const Hazard& hazard) {
  for (Hazard& h : hazards) {
    if (h.kind == hazard.kind && h.producer_pc == hazard.producer_pc && h.consumer_pc == hazard.consumer_pc &&
        h.reg == hazard.reg) {
      ++h.count;
      return;
    }
  }
  if (hazards.size() < kMaxHazards) hazards.push_back(hazard);
}

void Machine::diagnose(const Decoded& d) {
  if (defined_.empty()) defined_.assign(kRegisterBytes, false);
  std::erase_if(in_flight_, [&](const InFlight& f) { return f.issue + f.access.cycle <= pipe; });
  for (const Access& read : d.detail->reads) {
    for (const InFlight& f : in_flight_) {
      if (!options.hazards || !meet(read, f.access)) continue;
      const int needed = isa::min_distance({f.access.cycle, f.access.bypass}, {read.cycle, read.bypass});
      const int distance = static_cast<int>(pipe - f.issue);
      if (distance >= needed) continue;
      note_hazard({Hazard::Kind::kEarlyRead, f.pc, d.pc, read.reg, needed - distance, 1});
    }
    if (options.uninitialised && read.offset < kBankSpecial) {
      bool defined = true;
      for (u32 i = read.offset; i < u32{read.offset} + read.bytes; ++i) defined &= defined_[i];
      if (!defined) note_hazard({Hazard::Kind::kUninitialised, 0, d.pc, read.reg, 0, 1});
    } else if (options.uninitialised && read.offset >= kBankX) {
      bool defined = true;
      for (u32 i = read.offset; i < u32{read.offset} + read.bytes; ++i) defined &= defined_[i];
      if (!defined) note_hazard({Hazard::Kind::kUninitialised, 0, d.pc, read.reg, 0, 1});
    }
  }
  for (const Access& write : d.detail->writes) {
    for (u32 i = write.offset; i < u32{write.offset} + write.bytes; ++i) defined_[i] = true;
    if (write.cycle > 1) in_flight_.push_back({write, pipe, d.pc});
  }
}

}  // namespace tegula::emu
