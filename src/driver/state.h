// Inside of the emulated driver: device, clients, contexts, jobs. Everything is guarded by Device::mutex
// except the array while a job runs (only the worker thread touches it then).
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/amdxdna_uapi.h"
#include "driver/bo.h"
#include "driver/node.h"
#include "driver/packet.h"

namespace tegula::driver {

using Lock = std::unique_lock<std::mutex>;

// Timeline syncobj: command n of a context signals point n.
struct Timeline {
  u64 submitted = 0;  // points handed out: 0..submitted-1
  u64 signalled = 0;  // points signalled, in order
};

struct Job {
  u64 sequence = 0;
  std::shared_ptr<Bo> command;
  std::vector<std::shared_ptr<Bo>> args;
  std::vector<std::shared_ptr<Bo>> members;  // of a chain, known once it runs
};

struct Cu {
  std::shared_ptr<Bo> pdi;
  u8 function = 0;
};

struct HwContext {
  u32 handle = 0;
  u32 firmware_id = 0;
  u32 columns = 0;
  u32 syncobj = 0;
  uapi::QosInfo qos{};
  ClientState* client = nullptr;  // null once destroyed
  std::vector<Cu> cus;
  bool configured = false;
  std::shared_ptr<Bo> debug_bo;
  std::vector<std::shared_ptr<Bo>> chain_bos;  // the kernel's own buffers in the heap
  std::shared_ptr<Timeline> timeline;
  std::deque<Job> queue;  // in flight, the first may be running
  u32 waiting = 0;        // EXEC_CMD calls that wait for a slot
  bool running = false;
  std::unique_ptr<ArrayBackend> array;  // null: created and configured at the next command
  std::optional<u32> loaded_cu;
  uapi::ErtHealth health{1, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0};
  u64 submissions = 0;
  u64 completions = 0;
  u64 errors = 0;
  u64 suspensions = 0;
};

struct Mapping {
  u64 length = 0;
  std::shared_ptr<Bo> bo;
};

struct ClientState {
  bool closed = false;
  std::map<u32, std::shared_ptr<Bo>> bos;
  std::map<u32, std::shared_ptr<HwContext>> contexts;
  std::map<u32, std::shared_ptr<Timeline>> syncobjs;
  std::map<u64, Mapping> mappings;  // by virtual address
  std::vector<std::shared_ptr<Bo>> heaps;
  std::shared_ptr<HeapSpace> heap_space = std::make_shared<HeapSpace>();
  u64 next_map_offset = u64{1} << 32;
};

enum class Generation { kOldInTree, kNew, kLegacy };

struct Device {
  explicit Device(DriverOptions options);
  ~Device();

  Generation generation() const;
  // Takes one shot of an injected fault, if there is one of this kind. For command faults `member` must
  // match.
  std::optional<Fault> take_fault(FaultKind kind, std::optional<u32> member = std::nullopt);
  // A call to the firmware's management channel: 0, -ETIME, -ENODEV.
  int call_firmware();
  void start_worker();  // on first use

  DriverOptions options;
  mutable std::mutex mutex;
  std::condition_variable work;  // a job was queued, or the device stops
  std::condition_variable done;  // a job ended, a point was signalled or submitted
  std::thread worker;
  bool stopping = false;
  bool dead = false;  // management channel lost
  std::vector<Fault> faults;
  std::vector<std::shared_ptr<HwContext>> contexts;  // all live ones, in creation order
  u32 last_handle = 0;
  u32 last_ran = 0;    // context handle that has the array
  u64 quantum_ns = 0;  // modelled time that it has used of its turn
  uapi::AsyncError async_error{};
  u8 power_mode = 0;
  u8 force_preempt = 0;
  u8 frame_preempt = 0;
  DriverReport report;
  std::string last_failure;
};

// Handlers of the ioctls; each gets a structure of the kernel's size and returns 0 or -errno.
int create_bo(Device& device, ClientState& client, uapi::CreateBo& args);
int get_bo_info(Device& device, ClientState& client, uapi::GetBoInfo& args);
int sync_bo(Device& device, ClientState& client, uapi::SyncBo& args);
int gem_close(ClientState& client, uapi::DrmGemClose& args);
int create_hwctx(Device& device, ClientState& client, uapi::CreateHwctx& args);
int config_hwctx(Device& device, ClientState& client, uapi::ConfigHwctx& args);
int destroy_hwctx(Device& device, ClientState& client, Lock& lock, uapi::DestroyHwctx& args);
int exec_cmd(Device& device, ClientState& client, Lock& lock, uapi::ExecCmd& args);
int wait_cmd(Device& device, ClientState& client, Lock& lock, uapi::WaitCmd& args);
int timeline_wait(Device& device, ClientState& client, Lock& lock, uapi::DrmSyncobjTimelineWait& args);
int syncobj_query(ClientState& client, uapi::DrmSyncobjTimelineArray& args);
int syncobj_create(ClientState& client, uapi::DrmSyncobjCreate& args);
int syncobj_destroy(ClientState& client, uapi::DrmSyncobjDestroy& args);
int version(Device& device, uapi::DrmVersion& args);
int get_info(Device& device, ClientState& client, uapi::GetInfo& args);
int get_array(Device& device, ClientState& client, uapi::GetArray& args);
int set_state(Device& device, uapi::SetState& args);

// Waits up to 2 s for the context's jobs, cancels the rest (ABORT) and removes it.
void remove_context(Device& device, ClientState& client, Lock& lock, std::shared_ptr<HwContext> context);
// Allocates `size` bytes of the heap window: 0 or -errno.
int create_dev_bo(Device& device, ClientState& client, u64 size, std::shared_ptr<Bo>* out);
// Copies between the CPU's and the device's view of [at, at + size) of a mapped buffer, whole cache lines.
enum class Sync { kToDevice, kFromDevice };
void sync_range(Device& device, ClientState& client, u64 at, u64 size, Sync direction);

// Ends the first job of a context: state word first, then payload, counters, timeline point.
struct JobResult {
  u32 state = uapi::kStateNew;  // kStateNew: rejected by the driver, the packet is left as it is
  u32 failed_member = 0;        // chain: the failing command
  uapi::ErtHealth health{1, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0};
  std::string message;
};
void complete_job(Device& device, HwContext& context, const JobResult& result);
// Ends all jobs of a context that are still queued with state ABORT.
void abort_jobs(Device& device, HwContext& context);
// Body of the device's worker thread.
void work_loop(Device& device);

template <typename Map>
u32 lowest_free(const Map& table) {
  u32 handle = 1;
  for (const auto& entry : table) {
    if (entry.first != handle) break;
    ++handle;
  }
  return handle;
}

template <typename T>
std::shared_ptr<T> find_in(const std::map<u32, std::shared_ptr<T>>& table, u32 handle) {
  auto it = table.find(handle);
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tegula::driver
