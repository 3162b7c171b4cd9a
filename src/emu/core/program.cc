// See program.h. The walk stops where only the fill pattern of unwritten memory is left.
#include "emu/core/program.h"

#include <cstring>
#include <mutex>

#include "isa/isa.h"

namespace tegula::emu {
namespace {

// Bytes up to the last word that differs from the one before the end of memory (zero or the poison of the
// array).
u32 used_bytes(const u8* program) {
  const u32 fill = load_le<u32>(program + kCoreProgramBytes - 4);
  u32 end = kCoreProgramBytes;
  while (end >= 4 && load_le<u32>(program + end - 4) == fill) end -= 4;
  return end;
}

std::mutex store_mutex;
std::vector<std::weak_ptr<const DecodedProgram>>& store() {
  static std::vector<std::weak_ptr<const DecodedProgram>> programs;
  return programs;
}

}  // namespace

DecodedProgram::DecodedProgram(const u8* program, bool diagnose)
    : bytes_(program, program + kCoreProgramBytes),
      diagnose_(diagnose),
      index_(kCoreProgramBytes / 2, nullptr) {
  const u32 end = used_bytes(bytes_.data());
  u32 count = 0;
  for (u32 pc = 0; pc < end; pc += isa::bundle_length(bytes_[pc])) ++count;
  bundles_.resize(count);
  u32 i = 0;
  for (u32 pc = 0; pc < end; pc += isa::bundle_length(bytes_[pc]), ++i) {
    Decoded& d = bundles_[i];
    d.detail = &details_.emplace_back();
    predecode(bytes_.data(), pc, diagnose, d, uops_);
    index_[pc / 2] = &d;
  }
  for (Decoded& d : bundles_) d.next = const_cast<Decoded*>(at(d.next_pc));
}

std::shared_ptr<const DecodedProgram> DecodedProgram::share(const u8* program, bool diagnose) {
  const std::lock_guard lock(store_mutex);
  std::erase_if(store(), [](const auto& entry) { return entry.expired(); });
  for (const auto& entry : store()) {
    std::shared_ptr<const DecodedProgram> known = entry.lock();
    if (known != nullptr && known->diagnose_ == diagnose &&
        std::memcmp(known->bytes_.data(), program, kCoreProgramBytes) == 0) {
      return known;
    }
  }
  std::shared_ptr<const DecodedProgram> made(new DecodedProgram(program, diagnose));
  store().push_back(made);
  return made;
}

}  // namespace tegula::emu
