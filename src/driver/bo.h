// Buffer objects of the emulated driver: their storage, the mappings of them, and the allocator of the heap
// window.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/amdxdna_uapi.h"
#include "base/types.h"

namespace tegula::driver {

// Zeroed pages that may be mapped at more than one address. `cpu` is the driver's own mapping of what the CPU
// sees; `device` is what the device sees: the same bytes, or a shadow in stale-cache mode.
class Storage {
 public:
  static std::shared_ptr<Storage> create(u64 size, bool shadow);  // nullptr: out of memory
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  u8* cpu() const { return cpu_; }
  u8* device() const { return shadow_ != nullptr ? shadow_ : cpu_; }
  bool stale() const { return shadow_ != nullptr; }
  u64 size() const { return size_; }
  int fd() const { return fd_; }

 private:
  Storage() = default;
  int fd_ = -1;
  u8* cpu_ = nullptr;
  u8* shadow_ = nullptr;
  u64 size_ = 0;
};

// Best-fit allocator of offsets inside the 512 MiB heap window, in steps of 32 KiB.
class HeapSpace {
 public:
  std::optional<u64> allocate(u64 size);  // nullopt: the window is full
  void release(u64 offset);
  u64 used() const;  // bytes, without alignment loss

 private:
  std::map<u64, u64> taken_;  // offset -> size
};

struct Bo {
  u32 type = uapi::kBoInvalid;
  u64 size = 0;                      // as requested, for SHARE, CMD, DEV; a page multiple for heaps
  std::shared_ptr<Storage> storage;  // all but DEV
  u64 map_offset = uapi::kAllOnes;
  u64 vaddr = uapi::kAllOnes;  // of the first mapping
  u64 device_address = uapi::kAllOnes;
  u32 jobs = 0;  // in flight
  u32 mappings = 0;
  u64 heap_offset = 0;                    // DEV, DEV_HEAP: offset in the window
  std::shared_ptr<HeapSpace> heap_space;  // DEV: where to give the range back

  Bo() = default;
  Bo(const Bo&) = delete;
  Bo& operator=(const Bo&) = delete;
  ~Bo();
};

constexpr u64 round_up(u64 value, u64 to) {
  return (value + to - 1) / to * to;
}

}  // namespace tegula::driver
