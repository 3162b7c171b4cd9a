// The device and its open files: opening, dispatch of ioctls as DRM core does it, mapping, cache maintenance.
#include "driver/node.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "driver/array_backend.h"
#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;

Device::Device(DriverOptions given) : options(std::move(given)) {
  if (!options.make_array) options.make_array = make_emulated_array;
}

Device::~Device() {
  {
    Lock lock(mutex);
    stopping = true;
    work.notify_all();
  }
  if (worker.joinable()) worker.join();
}

Generation Device::generation() const {
  if (options.major >= 1) return Generation::kLegacy;
  return options.minor < 8 ? Generation::kOldInTree : Generation::kNew;
}

std::optional<Fault> Device::take_fault(FaultKind kind, std::optional<u32> member) {
  for (auto it = faults.begin(); it != faults.end(); ++it) {
    if (it->kind != kind || (member.has_value() && it->index != *member)) continue;
    const Fault fault = *it;
    if (it->times != 0xFFFFFFFF && --it->times == 0) faults.erase(it);
    return fault;
  }
  return std::nullopt;
}

int Device::call_firmware() {
  if (dead) return -ENODEV;
  if (!take_fault(FaultKind::kFirmwareSilent)) return 0;
  dead = true;
  return -ETIME;
}

void Device::start_worker() {
  if (!worker.joinable()) worker = std::thread([this] { work_loop(*this); });
}

EmulatedDriver::EmulatedDriver(DriverOptions options)
    : device_(std::make_shared<Device>(std::move(options))) {}
EmulatedDriver::~EmulatedDriver() = default;

int EmulatedDriver::open(std::unique_ptr<DriverClient>* client) {
  Lock lock(device_->mutex);
  if (auto fault = device_->take_fault(FaultKind::kOpen)) return -fault->error;
  client->reset(new DriverClient(device_, std::make_shared<ClientState>()));
  return 0;
}

void EmulatedDriver::inject(const Fault& fault) {
  Lock lock(device_->mutex);
  device_->faults.push_back(fault);
}

void EmulatedDriver::clear_faults() {
  Lock lock(device_->mutex);
  device_->faults.clear();
  device_->dead = false;
}

DriverReport EmulatedDriver::report() const {
  Lock lock(device_->mutex);
  return device_->report;
}

std::string EmulatedDriver::last_failure() const {
  Lock lock(device_->mutex);
  return device_->last_failure;
}

DriverClient::DriverClient(std::shared_ptr<Device> device, std::shared_ptr<ClientState> state)
    : device_(std::move(device)), state_(std::move(state)) {}

DriverClient::~DriverClient() {
  close();
}

namespace {

// DRM core dispatches on the number alone, copies the caller's size in, zero-extends it to the kernel's
// structure, and copies back whatever the handler says.
template <typename T, typename Handler>
int with_struct(u32 request, void* argument, u32 kernel_direction, Handler handler) {
  T args{};
  const u32 direction = (request >> 30) & kernel_direction;
  const size_t size = std::min<size_t>(request_size(request), sizeof(T));
  if ((direction & kWrite) != 0) std::memcpy(&args, argument, size);
  const int result = handler(args);
  if ((direction & kRead) != 0) std::memcpy(argument, &args, size);
  return result;
}

int dispatch_bo(Device& device, ClientState& client, u32 request, void* argument) {
  switch (request_number(request)) {
    case kCreateBo:
      return with_struct<CreateBo>(request, argument, kWrite | kRead,
                                   [&](CreateBo& a) { return create_bo(device, client, a); });
    case kGetBoInfo:
      return with_struct<GetBoInfo>(request, argument, kWrite | kRead,
                                    [&](GetBoInfo& a) { return get_bo_info(device, client, a); });
    case kSyncBo:
      return with_struct<SyncBo>(request, argument, kWrite | kRead,
                                 [&](SyncBo& a) { return sync_bo(device, client, a); });
    case kDrmGemClose:
      return with_struct<DrmGemClose>(request, argument, kWrite,
                                      [&](DrmGemClose& a) { return gem_close(client, a); });
    case kDrmPrimeHandleToFd:
    case kDrmPrimeFdToHandle:
      return -ENOSYS;  // sharing between devices is not emulated
    default:
      return -EINVAL;
  }
}

int dispatch_context(Device& device, ClientState& client, Lock& lock, u32 request, void* argument) {
  const u32 both = kWrite | kRead;
  switch (request_number(request)) {
    case kCreateHwctx:
      return with_struct<CreateHwctx>(request, argument, both,
                                      [&](CreateHwctx& a) { return create_hwctx(device, client, a); });
    case kDestroyHwctx:
      return with_struct<DestroyHwctx>(
          request, argument, both, [&](DestroyHwctx& a) { return destroy_hwctx(device, client, lock, a); });
    case kConfigHwctx:
      return with_struct<ConfigHwctx>(request, argument, both,
                                      [&](ConfigHwctx& a) { return config_hwctx(device, client, a); });
    case kExecCmd:
      return with_struct<ExecCmd>(request, argument, both,
                                  [&](ExecCmd& a) { return exec_cmd(device, client, lock, a); });
    case kWaitCmd:
      return with_struct<WaitCmd>(request, argument, kWrite,
                                  [&](WaitCmd& a) { return wait_cmd(device, client, lock, a); });
    case kDrmSyncobjTimelineWait:
      return with_struct<DrmSyncobjTimelineWait>(request, argument, both, [&](DrmSyncobjTimelineWait& a) {
        return timeline_wait(device, client, lock, a);
      });
    case kDrmSyncobjQuery:
      return with_struct<DrmSyncobjTimelineArray>(
          request, argument, both, [&](DrmSyncobjTimelineArray& a) { return syncobj_query(client, a); });
    case kDrmSyncobjCreate:
      return with_struct<DrmSyncobjCreate>(request, argument, both,
                                           [&](DrmSyncobjCreate& a) { return syncobj_create(client, a); });
    case kDrmSyncobjDestroy:
      return with_struct<DrmSyncobjDestroy>(request, argument, both,
                                            [&](DrmSyncobjDestroy& a) { return syncobj_destroy(client, a); });
    default:
      return dispatch_bo(device, client, request, argument);
  }
}

}  // namespace

int DriverClient::ioctl(u32 request, void* argument) {
  if ((request >> 8 & 0xFF) != 'd') return -ENOTTY;
  if (argument == nullptr) return -EFAULT;
  Lock lock(device_->mutex);
  if (state_->closed) return -EBADF;
  if (device_->dead) return -ENODEV;
  const u32 both = kWrite | kRead;
  switch (request_number(request)) {
    case kDrmVersion:
      return with_struct<DrmVersion>(request, argument, both,
                                     [&](DrmVersion& a) { return version(*device_, a); });
    case kGetInfo:
      return with_struct<GetInfo>(request, argument, both,
                                  [&](GetInfo& a) { return get_info(*device_, *state_, a); });
    case kGetArray:
      return with_struct<GetArray>(request, argument, both,
                                   [&](GetArray& a) { return get_array(*device_, *state_, a); });
    case kSetState:
      return with_struct<SetState>(request, argument, both,
                                   [&](SetState& a) { return set_state(*device_, a); });
    default:
      return dispatch_context(*device_, *state_, lock, request, argument);
  }
}

int DriverClient::mmap(void* fixed_at, u64 length, u64 offset, void** mapped) {
  Lock lock(device_->mutex);
  if (state_->closed) return -EBADF;
  std::shared_ptr<Bo> bo;
  for (const auto& [handle, candidate] : state_->bos) {
    if (candidate->storage != nullptr && candidate->map_offset == offset) bo = candidate;
  }
  if (bo == nullptr || length == 0 || length > bo->storage->size()) return -EINVAL;
  if (bo->type == kBoDevHeap) {
    if (auto fault = device_->take_fault(FaultKind::kHeapMmap)) return -fault->error;
  }
  const int flags = MAP_SHARED | (fixed_at != nullptr ? MAP_FIXED : 0);
  void* at = ::mmap(fixed_at, length, PROT_READ | PROT_WRITE, flags, bo->storage->fd(), 0);
  if (at == MAP_FAILED) return -errno;
  const u64 address = reinterpret_cast<u64>(at);
  if (bo->vaddr == kAllOnes) {
    bo->vaddr = address;
    if (bo->type != kBoDevHeap) bo->device_address = address;  // PASID mode
  }
  ++bo->mappings;
  state_->mappings[address] = Mapping{length, bo};
  *mapped = at;
  return 0;
}

int DriverClient::munmap(void* address, u64 length) {
  Lock lock(device_->mutex);
  auto it = state_->mappings.find(reinterpret_cast<u64>(address));
  if (it == state_->mappings.end() || it->second.length != length) return -EINVAL;
  std::shared_ptr<Bo> bo = it->second.bo;
  device_->done.wait(lock, [&] { return bo->jobs == 0; });
  if (--bo->mappings == 0) bo->vaddr = kAllOnes;
  state_->mappings.erase(reinterpret_cast<u64>(address));
  return ::munmap(address, length) == 0 ? 0 : -errno;
}

void DriverClient::close() {
  Lock lock(device_->mutex);
  if (state_->closed) return;
  state_->closed = true;
  while (!state_->contexts.empty()) {
    remove_context(*device_, *state_, lock, state_->contexts.begin()->second);
  }
  state_->syncobjs.clear();
  state_->heaps.clear();
  state_->bos.clear();
}

void DriverClient::flush(const void* address, u64 length) {
  Lock lock(device_->mutex);
  sync_range(*device_, *state_, reinterpret_cast<u64>(address), length, Sync::kToDevice);
}

void DriverClient::invalidate(const void* address, u64 length) {
  Lock lock(device_->mutex);
  sync_range(*device_, *state_, reinterpret_cast<u64>(address), length, Sync::kFromDevice);
}

}  // namespace tegula::driver
