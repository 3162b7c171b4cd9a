// The emulated amdxdna kernel driver: the same ioctls, refusals and results as /dev/accel/accelN, over an
// emulated array in this process. EmulatedDriver is the device; every open gives a DriverClient.
#pragma once

#include <memory>
#include <string>

#include "base/types.h"
#include "driver/backend.h"

namespace tegula::driver {

struct DriverOptions {
  int major = 0;  // 0.0 to 0.16, or 1.0 for the out-of-tree driver
  int minor = 16;
  bool stale_cache =
      true;  // CPU and device have separate views of every buffer, joined by flush and invalidate only
  bool root = false;  // SET_STATE allowed
  ArrayOptions array;
  ArrayFactory make_array;  // empty: the emulator
};

enum class FaultKind {
  kOpen,            // open returns `error` (SVA bind failed)
  kHeapMmap,        // mapping a heap returns `error` (memlock limit)
  kFirmwareSilent,  // the next firmware call of the management channel gets no answer: ETIME, ENODEV
                    // afterwards
  kContextLimit,    // CREATE_HWCTX finds no firmware context
  kPdiLoad,         // the next PDI load fails: first command ERROR
  kCommandError,    // the next command (member `index` of a chain) ends with this state
  kCommandAbort,
  kCommandTimeout,
  kAsyncError,  // record `async_code` / `async_place` when the next command starts
  kSuspend,     // the device suspends before the next command: array contents are lost
};

struct Fault {
  FaultKind kind;
  int error = 0;  // positive errno
  u32 index = 0;  // member of a chain
  u64 async_code = 0;
  u64 async_place = 0;  // column 7:0, row 15:8
  u32 times = 1;        // how often; all ones = until clear_faults
};

// Sums since the device was made.
struct DriverReport {
  RunCounts counts;
  u64 jobs = 0;
  u64 commands = 0;
  u64 context_switches = 0;
  u64 pdi_loads = 0;
  u64 unlisted_accesses = 0;
};

struct Device;
struct ClientState;

// One open file. All calls return 0 or -errno and may come from several threads.
class DriverClient {
 public:
  ~DriverClient();
  DriverClient(const DriverClient&) = delete;
  DriverClient& operator=(const DriverClient&) = delete;

  int ioctl(u32 request, void* argument);
  // Maps the buffer at `offset`; at `fixed_at` if not null (MAP_FIXED).
  int mmap(void* fixed_at, u64 length, u64 offset, void** mapped);
  int munmap(void* address, u64 length);  // whole mappings only; waits for jobs that use the buffer
  void close();                           // destroys contexts, then buffers; later ioctls give EBADF

  // Whole cache lines of any mapping of this client; other addresses are ignored.
  void flush(const void* address, u64 length);
  void invalidate(const void* address, u64 length);

 private:
  friend class EmulatedDriver;
  DriverClient(std::shared_ptr<Device> device, std::shared_ptr<ClientState> state);
  std::shared_ptr<Device> device_;
  std::shared_ptr<ClientState> state_;
};

class EmulatedDriver {
 public:
  explicit EmulatedDriver(DriverOptions options = {});
  ~EmulatedDriver();

  int open(std::unique_ptr<DriverClient>* client);  // 0 or -errno
  void inject(const Fault& fault);
  void clear_faults();  // also revives a device with silent firmware, as a driver reload does
  DriverReport report() const;
  std::string last_failure() const;  // explanation of the last failed command

 private:
  std::shared_ptr<Device> device_;
};

}  // namespace tegula::driver
