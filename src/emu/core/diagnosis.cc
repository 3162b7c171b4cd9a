// Optional diagnosis: operands read while a write to them is in flight, and registers and memory read before
// anything wrote them.
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
  if (kind == Kind::kUnwrittenMemory) {
    return hex_text(consumer_pc) + " reads memory at " + hex_text(address) + ", which nothing has written";
  }
  if (kind == Kind::kUninitialised) {
    return hex_text(consumer_pc) + " reads " + name + ", which nothing has written";
  }
  return hex_text(consumer_pc) + " reads " + name + " " + std::to_string(missing_cycles) +
         " cycles before the result of " + hex_text(producer_pc) + " is visible (it gets the old value)" +
         (results_used == 0 ? ", and nobody reads that result later" : "");
}

size_t Machine::note_hazard(const Hazard& hazard) {
  for (size_t i = 0; i < hazards.size(); ++i) {
    Hazard& h = hazards[i];
    if (h.kind == hazard.kind && h.producer_pc == hazard.producer_pc && h.consumer_pc == hazard.consumer_pc &&
        h.reg == hazard.reg) {
      ++h.count;
      return i;
    }
  }
  if (hazards.size() < kMaxHazards) hazards.push_back(hazard);
  return hazards.size() - 1;
}

void Machine::note_early_read(const Access& read, const InFlight& write, u32 pc) {
  const int needed = isa::min_distance({write.access.cycle, write.access.bypass}, {read.cycle, read.bypass});
  const int distance = static_cast<int>(pipe - write.issue);
  if (distance >= needed || shows_newer(read, write)) return;
  const size_t hazard = note_hazard({.kind = Hazard::Kind::kEarlyRead,
                                     .producer_pc = write.pc,
                                     .consumer_pc = pc,
                                     .reg = read.reg,
                                     .missing_cycles = needed - distance,
                                     .count = 1});
  // One part may be all that is wanted of a result: it counts as used when any part is.
  for (const InFlight& part : in_flight_) {
    if (part.issue == write.issue && part.access.reg == write.access.reg) watch_result(part, hazard);
  }
}

void Machine::watch_result(const InFlight& write, size_t hazard) {
  constexpr u16 kPiece = 32;  // bytes of the smallest vector register
  for (u16 at = 0; at < write.access.bytes; at += kPiece) {
    InFlight piece = write;
    piece.access.offset = static_cast<u16>(write.access.offset + at);
    piece.access.bytes = std::min<u16>(kPiece, static_cast<u16>(write.access.bytes - at));
    auto late = std::find_if(late_.begin(), late_.end(), [&](const LateResult& one) {
      return one.write.issue == write.issue && one.write.access.offset == piece.access.offset;
    });
    if (late == late_.end()) late = late_.insert(late, {piece, {}});
    late->hazards.push_back(hazard);
  }
}

void Machine::use_late_results(const Access& read) {
  const u64 sampled = pipe + read.cycle - 1;
  const auto uses = [&](const LateResult& late) {
    const Access& write = late.write.access;
    const int needed = isa::min_distance({write.cycle, write.bypass}, {read.cycle, read.bypass});
    const bool early = static_cast<int>(pipe - late.write.issue) < needed;
    return !early && sampled < late.end && meet(read, write);
  };
  for (auto used = late_.begin(); (used = std::find_if(late_.begin(), late_.end(), uses)) != late_.end();) {
    const InFlight write = used->write;
    for (const size_t hazard : used->hazards) ++hazards[hazard].results_used;
    std::erase_if(late_, [&](const LateResult& late) {
      return late.write.issue == write.issue && late.write.access.reg == write.access.reg;
    });
  }
}

// What has become visible is in flight no more.
void Machine::retire_writes() {
  std::erase_if(in_flight_, [&](const InFlight& f) {
    if (f.issue + f.access.cycle > pipe) return false;
    std::fill_n(issued_.begin() + f.access.offset, f.access.bytes, f.issue + 1);
    return true;
  });
  std::erase_if(late_, [&](const LateResult& late) { return late.end <= pipe; });
}

// A write that was issued with the one in flight or after it is there already: the read is meant for that.
bool Machine::shows_newer(const Access& read, const InFlight& write) const {
  const u32 first = std::max(read.offset, write.access.offset);
  const u32 last = std::min<u32>(read.offset + read.bytes, write.access.offset + write.access.bytes);
  for (u32 i = first; i < last; ++i) {
    if (issued_[i] <= write.issue) return false;
  }
  return true;
}

void Machine::diagnose(const Decoded& d) {
  if (defined_.empty()) {
    defined_.assign(kRegisterBytes, false);
    issued_.assign(kRegisterBytes, 0);
  }
  // The first fill of a load FIFO moves lines on that nobody has loaded and nobody will pop: its position
  // says so.
  bool fills = false;
  for (int k = 0; k < d.address_count; ++k) fills |= d.address[k].update == Update::kFill;
  retire_writes();
  for (const Access& read : d.detail->reads) {
    for (const InFlight& f : in_flight_) {
      if (options.hazards && meet(read, f.access)) note_early_read(read, f, d.pc);
    }
    if (!late_.empty()) use_late_results(read);
    const bool checked =
        read.offset < kBankSpecial || (read.offset >= kBankX && !(fills && read.offset >= kBankFifo));
    if (options.uninitialised && checked) {
      bool defined = true;
      for (u32 i = read.offset; i < u32{read.offset} + read.bytes; ++i) defined &= defined_[i];
      if (!defined) {
        note_hazard({.kind = Hazard::Kind::kUninitialised, .consumer_pc = d.pc, .reg = read.reg, .count = 1});
      }
    }
  }
  if (options.uninitialised || observer != nullptr) diagnose_memory(d);
  for (const Access& write : d.detail->writes) {
    for (u32 i = write.offset; i < u32{write.offset} + write.bytes; ++i) defined_[i] = true;
    for (LateResult& late : late_) {
      // A shorter operation may be there before.
      const bool later = pipe + write.cycle > late.write.issue + late.write.access.cycle;
      if (later && meet(write, late.write.access)) late.end = std::min(late.end, pipe + write.cycle);
    }
    in_flight_.push_back({write, pipe, d.pc});
  }
}

// Loads first: a store of the same bundle comes later. Addresses are formed, pointers not yet updated.
void Machine::diagnose_memory(const Decoded& d) {
  for (const bool writes : {false, true}) {
    for (int k = 0; k < d.address_count; ++k) {
      const AddressOp& a = d.address[k];
      if (a.size == 0 || a.write != writes) continue;
      for (u32 window = 4; window <= kOwnWindow; ++window) {
        const u8* memory = window == kOwnWindow ? own : neighbour[window];
        if (memory == nullptr || memory_of[k] < memory || memory_of[k] >= memory + kCoreDataBytes) continue;
        if (options.uninitialised) diagnose_unwritten(memory, window, a, k, d.pc);
        if (observer != nullptr) observe(d, k, window << 16 | static_cast<u32>(memory_of[k] - memory));
      }
    }
  }
}

void Machine::diagnose_unwritten(const u8* memory, u32 window, const AddressOp& a, int k, u32 pc) {
  if (written[window] == nullptr) return;
  u8* marks = written[window] + (memory_of[k] - memory);
  if (a.write) {
    std::fill_n(marks, a.size, u8{1});
    return;
  }
  const u8* unwritten = std::find(marks, marks + a.size, u8{0});
  if (unwritten == marks + a.size) return;
  note_hazard({.kind = Hazard::Kind::kUnwrittenMemory,
               .consumer_pc = pc,
               .address = window << 16 | static_cast<u32>(unwritten - written[window]),
               .count = 1});
}

void Machine::observe(const Decoded& d, int k, u32 address) {
  const AddressOp& a = d.address[k];
  if (eager[k]) {  // a neighbour's memory, at once
    observer->accessed(address, a.size, a.write, d.pc, time());
    return;
  }
  const u32 cycle = d.detail->memory_cycle[k] == 0 ? 1 : d.detail->memory_cycle[k];
  unseen_.push_back({pipe + cycle - 1, address, a.size, d.pc, a.write});
}

void Machine::observe_read(u32 address, u32 bytes, u64 at) {
  if (observer != nullptr) unseen_.push_back({at, address, bytes, next_pc, false});
}

// What happens in memory before this cycle of the pipeline.
void Machine::show_accesses(u64 before) {
  if (unseen_.empty()) return;
  std::erase_if(unseen_, [&](const UnseenAccess& access) {
    if (access.at >= before) return false;
    observer->accessed(access.address, access.bytes, access.write, access.pc, access.at + stalled);
    return true;
  });
}

}  // namespace tegula::emu
