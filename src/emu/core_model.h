// The core as the array engine drives it. Array uses emu::Core through this interface; tests put scripted
// cores there.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "emu/core.h"

namespace tegula::emu {

struct CoreWatch {
  bool hazards = false, uninitialised = false, strict_alignment = false;  // as in CoreOptions
  std::array<u8*, 4> written{};        // south, west, north, own; see Core::set_written
  AccessObserver* observer = nullptr;  // see Core::set_observer
};

class CoreModel {
 public:
  virtual ~CoreModel() = default;

  // Memories outlive the core. neighbours[0..2]: south, west, north data memory, nullptr where there is none.
  virtual void connect(u8* data, const std::array<u8*, 3>& neighbours, const u8* program, u32 id) = 0;
  // Checks from the next reset on and forgets what was found. Cores that do not check report nothing.
  virtual void watch(const CoreWatch& watch) { (void)watch; }
  virtual std::span<const Hazard> hazards() const { return {}; }
  virtual void invalidate_program() = 0;
  virtual void reset(u64 cycle) = 0;
  // See emu/core.h. run() may be called in another thread than the last time, never in two at once.
  virtual Stop run(u64 cycle_budget) = 0;
  virtual void resume(u64 cycle) = 0;
  virtual void resume_word(u64 cycle, u32 word, bool success) = 0;
  virtual void resume_cascade(u64 cycle, const u8* bytes64) = 0;
  virtual u64 cycle() const = 0;
  virtual u32 pc() const = 0;
  virtual const CoreCounters& counters() const = 0;
};

std::unique_ptr<CoreModel> make_real_core();

}  // namespace tegula::emu
