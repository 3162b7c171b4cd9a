// Loops that measure the emulated core on this host, and the bare matrix product of its datapath beside them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "emu/core.h"
#include "emu/core/datapath.h"

namespace tegula::cli {

// A core that runs a body in a hardware loop of two billion turns.
class CoreLoop {
 public:
  // Lines of assembly, a bundle each. Error: one that does not assemble, too long a program.
  static Result<CoreLoop> make(const std::vector<std::string>& setup, const std::vector<std::string>& body);

  // Cycles of the core. Error: it stopped.
  Result<void> run(u64 cycles);
  const emu::CoreCounters& counters() const { return core_->counters(); }

 private:
  std::unique_ptr<std::vector<u8>> memory_, program_;
  std::unique_ptr<emu::Core> core_;
};

Result<CoreLoop> int8_loop();    // one vmac and two vector loads in every bundle, four accumulators
Result<CoreLoop> bfp16_loop();   // one vmac.f and two pops in every bundle, every ninth fills both streams
Result<CoreLoop> scalar_loop();  // no vectors
Result<CoreLoop>
elementwise_loop();  // bf16 in the style of an activation: load, multiply, add, convert, store

// The datapath's function for a control word on operands in the first-level cache.
class DatapathLoop {
 public:
  DatapathLoop(u32 conf, emu::MacUnit unit);
  void run(u64 times);

 private:
  std::vector<u8> elements_, exponents_, accumulators_;
  emu::MacArgs args_;
  emu::MacFn fn_;
};

constexpr u32 kConfInt8 = 0x308, kConfBfp16 = 0x30C, kConfBf16 = 0x3C;  // 8x8x8, 8x8x8, 64 lanes

}  // namespace tegula::cli
