// Inside of the device client.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <vector>

#include "base/amdxdna_uapi.h"
#include "device/client.h"

namespace tegula::device::internal {

struct ClientState {
  ~ClientState();
  // Counts and makes one ioctl: 0 or -errno.
  int call(const char* name, u32 request, void* argument);

  Result<void> identify();
  Result<void> open_heap();
  Result<void> add_heap_chunk();
  // One buffer of the heap window; grows the heap when it is full.
  Result<std::shared_ptr<CodeState>> create_code(const std::shared_ptr<ClientState>& self, u64 size);
  Result<uapi::GetBoInfo> bo_info(u32 handle);
  void close_handle(u32 handle);
  // Text about an asynchronous array error that is newer than the last one seen; empty if there is none.
  std::string new_async_error();

  std::unique_ptr<AccelNode> node;
  DeviceInfo info;
  u8* heap_reservation = nullptr;
  u8* heap_base = nullptr;  // 64 MiB aligned
  u64 heap_size = 0;        // mapped so far
  std::mutex heap_mutex;
  mutable std::mutex mutex;  // of what follows
  Stats counters;
  u64 last_async_us = 0;
};

// A DEV buffer: control code or a PDI.
struct CodeState {
  ~CodeState();
  std::shared_ptr<ClientState> client;
  u32 handle = 0;
  u8* data = nullptr;
  u64 device_address = 0;
  u64 size = 0;
};

// A command packet's buffer, used again and again.
struct CommandSlot {
  u32 handle = 0;
  u8* data = nullptr;
};

struct PendingJob {
  u64 sequence = 0;
  CommandSlot command;               // what was submitted
  std::vector<CommandSlot> members;  // of a chain
};

struct ContextState {
  ~ContextState();
  Result<CommandSlot> take_slot();
  Result<u64> submit(const CommandSlot& command, std::vector<CommandSlot> members, std::vector<u32> handles);
  // Waits for the oldest jobs up to `sequence`; failures go to `failures`.
  Result<void> finish(u64 sequence, u32 timeout_ms);
  void retire(const PendingJob& job);
  Error failure_of(const PendingJob& job, u32 state);

  std::shared_ptr<ClientState> client;
  std::shared_ptr<CodeState> pdi;
  u32 handle = 0;
  u32 syncobj = 0;
  bool healthy = true;             // the last finished command did not hang
  std::vector<CommandSlot> slots;  // free ones
  std::vector<CommandSlot> all_slots;
  std::deque<PendingJob> pending;  // in order
  std::map<u64, Error> failures;   // of finished jobs that nobody has asked for yet
};

}  // namespace tegula::device::internal
