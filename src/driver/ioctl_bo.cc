// Buffer ioctls: CREATE_BO, GET_BO_INFO, SYNC_BO, GEM_CLOSE, and the copies of the stale-cache mode.
#include <cerrno>
#include <cstring>

#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;

namespace {

int create_host_bo(Device& device, ClientState& client, const CreateBo& args, std::shared_ptr<Bo>* out) {
  if (args.vaddr != 0)
    return -EOPNOTSUPP;  // user pointers and dma-buf import, as in the first driver releases
  if (args.size == 0 || args.size > u64{1} << 40) return -EINVAL;
  auto bo = std::make_shared<Bo>();
  bo->type = args.type;
  bo->size = args.size;
  const u64 bytes = round_up(args.size, kPage);
  bo->storage = Storage::create(bytes, device.options.stale_cache);
  if (bo->storage == nullptr) return -ENOMEM;
  bo->map_offset = client.next_map_offset;
  client.next_map_offset += bytes;
  *out = std::move(bo);
  return 0;
}

u64 heap_total(const ClientState& client) {
  u64 total = 0;
  for (const auto& heap : client.heaps) total += heap->size;
  return total;
}

int create_heap(Device& device, ClientState& client, const CreateBo& args, std::shared_ptr<Bo>* out) {
  if (args.size == 0 || args.size % kHeapGranule != 0) return -EINVAL;
  if (!client.heaps.empty() && device.generation() != Generation::kNew) return -EBUSY;
  const u64 total = heap_total(client);
  if (args.size > kHeapLimit || total + args.size > kHeapLimit) return -ENOSPC;
  const int error = create_host_bo(device, client, args, out);
  if (error != 0) return error;
  (*out)->heap_offset = total;
  (*out)->device_address = kHeapBase + total;
  client.heaps.push_back(*out);
  return 0;
}

// The heap chunk that holds this offset of the window, or nullptr.
std::shared_ptr<Bo> chunk_of(const ClientState& client, u64 offset) {
  for (const auto& heap : client.heaps) {
    if (offset >= heap->heap_offset && offset - heap->heap_offset < heap->size) return heap;
  }
  return nullptr;
}

// Whether the chunks under [offset, offset + size) are mapped, and one behind the other: 0, -EAGAIN, -EINVAL.
int check_chunks(const ClientState& client, u64 offset, u64 size) {
  std::shared_ptr<Bo> first = chunk_of(client, offset);
  std::shared_ptr<Bo> last = chunk_of(client, offset + size - 1);
  if (first == nullptr || last == nullptr) return -EAGAIN;
  for (const auto& heap : client.heaps) {
    if (heap->heap_offset < first->heap_offset || heap->heap_offset > last->heap_offset) continue;
    if (heap->vaddr == kAllOnes) return -EAGAIN;
    if (heap->vaddr - first->vaddr != heap->heap_offset - first->heap_offset) return -EINVAL;
  }
  return 0;
}

}  // namespace

int create_dev_bo(Device& device, ClientState& client, u64 size, std::shared_ptr<Bo>* out) {
  const int not_ready = device.generation() == Generation::kNew ? -EAGAIN : -EINVAL;
  if (size == 0 || size > kHeapLimit) return -EINVAL;
  if (client.heaps.empty() || client.heaps.front()->vaddr == kAllOnes) return not_ready;
  const u64 bytes = round_up(size, kPage);
  const std::optional<u64> offset = client.heap_space->allocate(bytes);
  if (!offset.has_value()) return -ENOSPC;
  auto bo = std::make_shared<Bo>();
  bo->type = kBoDev;
  bo->size = size;
  bo->heap_offset = *offset;
  bo->heap_space = client.heap_space;  // from here on the destructor gives the range back
  bo->device_address = kHeapBase + *offset;
  const int error = check_chunks(client, *offset, bytes);
  if (error != 0) return error == -EAGAIN ? not_ready : error;
  std::shared_ptr<Bo> chunk = chunk_of(client, *offset);
  bo->vaddr = chunk->vaddr + (*offset - chunk->heap_offset);
  *out = std::move(bo);
  return 0;
}

int create_bo(Device& device, ClientState& client, CreateBo& args) {
  if (args.flags != 0) return -EINVAL;
  std::shared_ptr<Bo> bo;
  int error = -EINVAL;
  switch (args.type) {
    case kBoShare:
    case kBoCmd:
      error = create_host_bo(device, client, args, &bo);
      break;
    case kBoDevHeap:
      error = create_heap(device, client, args, &bo);
      break;
    case kBoDev:
      error = create_dev_bo(device, client, args.size, &bo);
      break;
    default:
      break;
  }
  if (error != 0) return error;
  args.handle = lowest_free(client.bos);
  client.bos[args.handle] = std::move(bo);
  return 0;
}

int get_bo_info(Device&, ClientState& client, GetBoInfo& args) {
  if (args.ext != 0 || args.ext_flags != 0 || args.pad != 0) return -EINVAL;
  std::shared_ptr<Bo> bo = find_in(client.bos, args.handle);
  if (bo == nullptr) return -ENOENT;
  args.map_offset = bo->map_offset;
  args.vaddr = bo->vaddr;
  args.xdna_addr = bo->device_address;
  return 0;
}

int sync_bo(Device& device, ClientState& client, SyncBo& args) {
  std::shared_ptr<Bo> bo = find_in(client.bos, args.handle);
  if (bo == nullptr) return -ENOENT;
  if (args.offset >= bo->size) return -EINVAL;
  const u64 size = std::min(args.size, bo->size - args.offset);
  // The kernel flushes CPU lines whatever the direction: dirty lines are written back, clean ones fetched
  // again.
  if (bo->vaddr != kAllOnes) {
    sync_range(device, client, bo->vaddr + args.offset, size,
               args.direction == 0 ? Sync::kToDevice : Sync::kFromDevice);
  }
  if (args.direction == 0 || device.generation() == Generation::kLegacy) return 0;
  for (const auto& [handle, context] : client.contexts) {
    if (context->debug_bo == bo) return 0;
  }
  return -EINVAL;
}

int gem_close(ClientState& client, DrmGemClose& args) {
  auto it = client.bos.find(args.handle);
  if (it == client.bos.end()) return -EINVAL;
  client.bos.erase(it);  // a heap stays in ClientState::heaps: device addresses are never reused
  return 0;
}

void sync_range(Device& device, ClientState& client, u64 at, u64 size, Sync direction) {
  if (!device.options.stale_cache || size == 0) return;
  u64 begin = at / kCacheLine * kCacheLine;
  const u64 end = round_up(at + size, kCacheLine);
  while (begin < end) {
    auto it = client.mappings.upper_bound(begin);
    if (it == client.mappings.begin()) return;
    --it;
    const u64 offset = begin - it->first;
    if (offset >= it->second.length) return;
    const u64 bytes = std::min(end - begin, it->second.length - offset);
    const Storage& storage = *it->second.bo->storage;
    if (direction == Sync::kToDevice) {
      std::memcpy(storage.device() + offset, storage.cpu() + offset, bytes);
    } else {
      std::memcpy(storage.cpu() + offset, storage.device() + offset, bytes);
    }
    begin += bytes;
  }
}

}  // namespace tegula::driver
