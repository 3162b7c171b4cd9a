// Storage and heap window of the emulated driver's buffer objects.
#include "driver/bo.h"

#include <sys/mman.h>
#include <unistd.h>

namespace tegula::driver {

std::shared_ptr<Storage> Storage::create(u64 size, bool shadow) {
  std::shared_ptr<Storage> storage(new Storage);
  storage->size_ = size;
  storage->fd_ = memfd_create("amdxdna-bo", MFD_CLOEXEC);
  if (storage->fd_ < 0 || ftruncate(storage->fd_, static_cast<off_t>(size)) != 0) return nullptr;
  void* cpu = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, storage->fd_, 0);
  if (cpu == MAP_FAILED) return nullptr;
  storage->cpu_ = static_cast<u8*>(cpu);
  if (shadow) {
    void* copy =
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (copy == MAP_FAILED) return nullptr;
    storage->shadow_ = static_cast<u8*>(copy);
  }
  return storage;
}

Storage::~Storage() {
  if (shadow_ != nullptr) ::munmap(shadow_, size_);
  if (cpu_ != nullptr) ::munmap(cpu_, size_);
  if (fd_ >= 0) ::close(fd_);
}

std::optional<u64> HeapSpace::allocate(u64 size) {
  std::optional<u64> best;
  u64 best_gap = 0;
  u64 start = 0;
  auto consider = [&](u64 end) {
    if (start > end || end - start < size) return;
    if (best.has_value() && best_gap <= end - start) return;
    best = start;
    best_gap = end - start;
  };
  for (const auto& [offset, length] : taken_) {
    consider(offset);
    start = round_up(offset + length, uapi::kDevAlignment);
  }
  consider(uapi::kHeapLimit);
  if (best.has_value()) taken_[*best] = size;
  return best;
}

void HeapSpace::release(u64 offset) {
  taken_.erase(offset);
}

u64 HeapSpace::used() const {
  u64 sum = 0;
  for (const auto& [offset, length] : taken_) sum += length;
  return sum;
}

Bo::~Bo() {
  if (heap_space != nullptr) heap_space->release(heap_offset);
}

}  // namespace tegula::driver
