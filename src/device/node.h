// The seam between the client and the world: one open NPU device node, real (/dev/accel/accelN) or emulated.
// Everything above it is the same code for both. Errors of the calls are negative errno values, as the kernel
// gives them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/types.h"

namespace tegula::device {

// What the emulated array did since the node was opened; a real node has no such report.
// All times are modelled, never measured.
struct NodeRunReport {
  u64 submissions = 0;        // jobs run (a chain is one)
  u64 commands = 0;           // streams run (every member of a chain counts)
  u64 context_switches = 0;   // times the array passed to another context
  u64 pdi_loads = 0;          // array configurations loaded
  u64 controller_ops = 0;     // operations of the instruction streams
  u64 ddr_bytes_read = 0;     // by shim DMA
  u64 ddr_bytes_written = 0;  // by shim DMA
  u64 core_cycles = 0;        // cycles in which cores were enabled, summed over cores
  u64 bundles = 0;            // bundles issued, summed over cores
  u64 matrix_ops = 0;         // vector multiply-accumulate instructions issued
  u64 array_cycles = 0;       // modelled length of all runs in array clock cycles
  u64 modelled_ns = 0;        // runs, submission cost, configuration loads and context switches
  u64 unlisted_accesses = 0;  // DMA to buffers that the command did not list (unpinned on silicon)
};

class AccelNode {
 public:
  virtual ~AccelNode() = default;  // closes

  // 0 or -errno. Never repeats on EAGAIN, which this driver uses with a meaning of its own; repeats on EINTR.
  virtual int ioctl(u32 request, void* argument) = 0;
  // Maps `length` bytes of the object at map offset `offset`, at `fixed_at` when that is not null; 0 or
  // -errno.
  virtual int mmap(void* fixed_at, u64 length, u64 offset, void** mapped) = 0;
  virtual int munmap(void* address, u64 length) = 0;
  virtual void close() = 0;

  // CPU writes of this range become visible to the device / device writes become visible to the CPU.
  virtual void flush(const void* address, u64 length) = 0;
  virtual void invalidate(const void* address, u64 length) = 0;

  virtual bool emulated() const = 0;
  virtual std::string name() const = 0;  // "/dev/accel/accel0", "emulated NPU"
  // Optional: only the emulated node knows.
  virtual std::optional<NodeRunReport> run_report() const { return std::nullopt; }
  // Optional: the explanation of the last failed or hung command (who waits for what), empty if unknown.
  virtual std::string last_failure() const { return {}; }
};

enum class NodeChoice { kAuto, kNpu, kEmulated };

struct NodeOptions {
  std::string path;         // real node to open; empty: the first that answers as amdxdna
  bool stale_cache = true;  // emulated: CPU and device see each other's writes only after flush / invalidate
  unsigned threads = 0;     // emulated: host threads for the array, 0 = the emulator's default
  bool watch = false;       // emulated: a run fails when it reads what nothing has written, or has a race
  int driver_minor = 16;    // emulated driver version 0.N (6 or 16), used when driver_major is 0
  int driver_major = 0;     // 1 = the out-of-tree driver 1.0
};

// kAuto takes a usable NPU, else the emulated node. The emulated device is shared by all nodes of the process
// that were opened with the same options, as a real device would be. Errors: kNotFound (no NPU), kDevice
// (node refuses; the message says what to do), kInvalidArgument.
Result<std::unique_ptr<AccelNode>> open_node(NodeChoice choice, const NodeOptions& options = {});

}  // namespace tegula::device
