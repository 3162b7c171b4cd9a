// What the emulated driver needs of an array: load a configuration, run an instruction stream. The emulator
// stands behind it; tests of the ioctl layer put a small fake there.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::driver {

// Host memory as the shim DMA of one context sees it during one job: the mapped buffers of the owning client.
// Immutable while the job runs, so that several threads may use it.
class JobMemory {
 public:
  struct Region {
    u64 start = 0;  // virtual address = device address
    u64 size = 0;
    u8* bytes = nullptr;  // the device's view (the shadow in stale-cache mode)
    bool listed = false;  // in the argument list of the command
  };

  explicit JobMemory(std::vector<Region> sorted) : regions_(std::move(sorted)) {}

  // The bytes of a transfer, or nullptr if no single mapped buffer holds the whole of it.
  u8* at(u64 address, u64 size) const;
  u64 unlisted_accesses() const { return unlisted_.load(std::memory_order_relaxed); }
  // Text about the buffer nearest to a faulting address.
  std::string explain(u64 address, u64 size) const;

 private:
  std::vector<Region> regions_;
  mutable std::atomic<u64> unlisted_{0};
};

enum class RunEnd {
  kDone,
  kStreamError,  // the firmware refuses the stream: state ERROR
  kArrayError,   // a tile found an error: state ERROR and an asynchronous error
  kDeadlock,     // no progress: watchdog, state TIMEOUT
  kMemoryFault,  // DMA to an unmapped address: IOMMU fault, then the watchdog
};

struct RunCounts {
  u64 controller_ops = 0;
  u64 ddr_bytes_read = 0;
  u64 ddr_bytes_written = 0;
  u64 core_cycles = 0;
  u64 bundles = 0;
  u64 matrix_ops = 0;
  u64 array_cycles = 0;
  u64 modelled_ns = 0;
};

struct RunOutcome {
  RunEnd end = RunEnd::kDone;
  u32 op_index = 0xFFFFFFFF;  // stream operation at the failure, all ones if none was captured
  u32 column = 0;             // place of a fault
  u32 row = 0;
  std::string message;  // one line, empty when done
  RunCounts counts;
};

// The array of one context. Its state stays between runs; after a failed run the driver makes a new one.
class ArrayBackend {
 public:
  virtual ~ArrayBackend() = default;
  // Applies a PDI to the array. Errors: kCorrupt and others of the PDI reader.
  virtual Result<void> load(ByteSpan pdi) = 0;
  // Runs one stream; argument i is the base of its DDR-patch argument i.
  virtual RunOutcome run(ByteSpan stream, std::span<const u64> arguments, const JobMemory& memory) = 0;
};

struct ArrayOptions {
  unsigned threads = 0;  // 0 = the emulator's default
  bool watch = false;    // a run fails (kArrayError) with what emu::Checks finds
};

using ArrayFactory = std::function<std::unique_ptr<ArrayBackend>(const ArrayOptions&)>;

}  // namespace tegula::driver
