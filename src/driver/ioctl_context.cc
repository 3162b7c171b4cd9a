// Context ioctls: CREATE_HWCTX, CONFIG_HWCTX, DESTROY_HWCTX.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "driver/costs.h"
#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;

namespace {

constexpr u32 kChainBuffersPerContext = 4;
constexpr u32 kLegacyContexts = 32;  // user contexts that driver 1.0 multiplexes over the firmware's 16
constexpr u32 kHandleLimit = 1024;
constexpr u32 kHandleLimitLegacy = 255;
constexpr auto kDestroyWait = std::chrono::seconds(2);

u32 next_handle(Device& device) {
  const u32 limit = device.generation() == Generation::kLegacy ? kHandleLimitLegacy : kHandleLimit;
  for (;;) {
    device.last_handle = device.last_handle % limit + 1;
    const bool taken = std::any_of(device.contexts.begin(), device.contexts.end(), [&](const auto& context) {
      return context->handle == device.last_handle;
    });
    if (!taken) return device.last_handle;
  }
}

// Whether some clock level reaches the asked operations: 4096 x columns x MHz / 1000 covers 2 x gops x rate.
bool qos_attainable(const QosInfo& qos, u32 columns) {
  const u64 rate = std::max<u64>(qos.fps, qos.latency != 0 ? 1000 / qos.latency : 0);
  if (qos.gops == 0 || rate == 0) return true;
  return u64{4096} * columns * kArrayMhz / 1000 >= u64{2} * qos.gops * rate;
}

// Resource solver and CREATE_CONTEXT.
int firmware_create(Device& device, const HwContext& context) {
  if (!qos_attainable(context.qos, context.columns)) return -EINVAL;
  const int error = device.call_firmware();
  if (error != 0) return error;
  const bool legacy = device.generation() == Generation::kLegacy;
  if (device.take_fault(FaultKind::kContextLimit)) return legacy ? -ENOENT : -EINVAL;
  if (device.contexts.size() >= (legacy ? kLegacyContexts : kMaxContexts)) return legacy ? -ENOENT : -EINVAL;
  return 0;
}

// MAP_HOST_BUFFER: the firmware refuses a heap address that is not a multiple of 64 MiB.
int firmware_map_heap(const ClientState& client) {
  for (const auto& heap : client.heaps) {
    if (heap->vaddr % kHeapGranule != 0) return -EINVAL;
  }
  return 0;
}

}  // namespace

int create_hwctx(Device& device, ClientState& client, CreateHwctx& args) {
  if (args.ext != 0 || args.ext_flags != 0) return -EINVAL;
  if (args.qos_p == 0) return -EFAULT;
  auto context = std::make_shared<HwContext>();
  const bool legacy = device.generation() == Generation::kLegacy;
  std::memcpy(&context->qos, reinterpret_cast<const void*>(args.qos_p), legacy ? kQosSizeLegacy : kQosSize);
  if (client.heaps.empty()) return -ENOENT;
  for (u32 i = 0; i < kChainBuffersPerContext; ++i) {
    std::shared_ptr<Bo> chain;
    const int error = create_dev_bo(device, client, kChainBufferBytes, &chain);
    // Context creation reports an exhausted window as a heap that wants expanding.
    if (error != 0) return error == -ENOSPC ? -EAGAIN : error;
    context->chain_bos.push_back(std::move(chain));
  }
  context->columns = args.num_tiles / kCoreRows;
  if (context->columns == 0 || context->columns > kColumns) return -EINVAL;
  int error = firmware_create(device, *context);
  if (error != 0) return error;
  error = firmware_map_heap(client);
  if (error != 0) return error;
  context->handle = next_handle(device);
  context->firmware_id = context->handle;
  context->client = &client;
  context->timeline = std::make_shared<Timeline>();
  context->syncobj = lowest_free(client.syncobjs);
  client.syncobjs[context->syncobj] = context->timeline;
  client.contexts[context->handle] = context;
  device.contexts.push_back(context);
  args.umq_doorbell = ~u32{0};
  args.handle = context->handle;
  args.syncobj_handle = context->syncobj;
  return 0;
}

namespace {

int config_cu(ClientState& client, HwContext& context, const ConfigHwctx& args) {
  if (args.param_val == 0) return -EFAULT;
  const u8* blob = reinterpret_cast<const u8*>(args.param_val);
  ConfigCuHead head;
  if (args.param_val_size < sizeof(head)) return -EINVAL;
  std::memcpy(&head, blob, sizeof(head));
  if (context.configured || head.num_cus == 0 || head.num_cus > kMaxCus) return -EINVAL;
  if (head.pad[0] != 0 || head.pad[1] != 0 || head.pad[2] != 0) return -EINVAL;
  if (args.param_val_size < sizeof(head) + head.num_cus * sizeof(CuConfig)) return -EINVAL;
  std::vector<Cu> cus;
  for (u32 i = 0; i < head.num_cus; ++i) {
    CuConfig cu;
    std::memcpy(&cu, blob + sizeof(head) + i * sizeof(cu), sizeof(cu));
    if (cu.pad[0] != 0 || cu.pad[1] != 0 || cu.pad[2] != 0) return -EINVAL;
    std::shared_ptr<Bo> pdi = find_in(client.bos, cu.cu_bo);
    if (pdi == nullptr || pdi->type != kBoDev) return -EINVAL;
    cus.push_back(Cu{std::move(pdi), cu.cu_func});
  }
  context.cus = std::move(cus);
  context.configured = true;
  return 0;
}

int assign_debug_bo(ClientState& client, HwContext& context, u64 handle) {
  std::shared_ptr<Bo> bo = find_in(client.bos, static_cast<u32>(handle));
  if (bo == nullptr || bo->type != kBoDev) return -EINVAL;
  if (context.debug_bo != nullptr) return -EBUSY;
  context.debug_bo = std::move(bo);
  return 0;
}

int remove_debug_bo(ClientState& client, HwContext& context, u64 handle) {
  std::shared_ptr<Bo> bo = find_in(client.bos, static_cast<u32>(handle));
  if (bo == nullptr || context.debug_bo != bo) return -EINVAL;
  context.debug_bo = nullptr;
  return 0;
}

}  // namespace

int config_hwctx(Device& device, ClientState& client, ConfigHwctx& args) {
  if (args.pad != 0) return -EINVAL;
  if (args.param_type == kConfigCu && args.param_val_size > kPage) return -E2BIG;
  if (args.param_type > kRemoveDebugBo) return -EINVAL;
  std::shared_ptr<HwContext> context = find_in(client.contexts, args.handle);
  if (context == nullptr) return -EINVAL;
  const int error = device.call_firmware();
  if (error != 0) return error;
  switch (args.param_type) {
    case kConfigCu:
      return config_cu(client, *context, args);
    case kAssignDebugBo:
      return assign_debug_bo(client, *context, args.param_val);
    default:
      return remove_debug_bo(client, *context, args.param_val);
  }
}

int destroy_hwctx(Device& device, ClientState& client, Lock& lock, DestroyHwctx& args) {
  if (args.pad != 0) return -EINVAL;
  std::shared_ptr<HwContext> context = find_in(client.contexts, args.handle);
  if (context == nullptr) return -EINVAL;
  remove_context(device, client, lock, context);
  return 0;
}

void remove_context(Device& device, ClientState& client, Lock& lock, std::shared_ptr<HwContext> context) {
  client.contexts.erase(context->handle);  // no new submissions from here on
  device.done.wait_for(lock, kDestroyWait, [&] { return context->queue.empty(); });
  context->client = nullptr;
  std::erase(device.contexts, context);
  // A running job ends by itself, as it keeps what it uses alive; the worker then cancels the others.
  if (!context->running) abort_jobs(device, *context);
  device.done.notify_all();
}

}  // namespace tegula::driver
