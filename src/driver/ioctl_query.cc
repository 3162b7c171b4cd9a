// VERSION, GET_INFO, GET_ARRAY and SET_STATE.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "driver/costs.h"
#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;

namespace {

constexpr FirmwareVersion kFirmware{1, 1, 2, 64};  // a release of the npu4 folder with protocol 7
constexpr u64 kTopsMax = u64{4096} * kColumns * kArrayMhz / 1'000'000;

void copy_text(u64 pointer, u64* length, std::string_view text) {
  if (pointer != 0)
    std::memcpy(reinterpret_cast<void*>(pointer), text.data(), std::min<u64>(*length, text.size()));
  *length = text.size();
}

// Answers are cut to the smaller of the caller's buffer and the structure.
template <typename T>
int answer(GetInfo& args, const T& value) {
  if (args.buffer == 0) return -EFAULT;
  const u32 size = std::min<u32>(args.buffer_size, sizeof(T));
  std::memcpy(reinterpret_cast<void*>(args.buffer), &value, size);
  args.buffer_size = size;
  return 0;
}

AieMetadata metadata() {
  AieMetadata data{};
  data.cols = kColumns;
  data.rows = kRows;
  data.core = {4, 2, 2, 16, 0, {}};
  data.mem = {1, 1, 6, 64, 0, {}};
  data.shim = {1, 0, 2, 16, 0, {}};
  return data;
}

ClockMetadata clocks() {
  ClockMetadata data{};
  std::strncpy(data.mp_npu.name, "MP-NPU Clock", sizeof(data.mp_npu.name) - 1);
  data.mp_npu.freq_mhz = 1267;
  std::strncpy(data.h.name, "H Clock", sizeof(data.h.name) - 1);
  data.h.freq_mhz = kArrayMhz;
  return data;
}

int hw_contexts(const ClientState& client, GetInfo& args) {
  if (args.buffer == 0) return -EFAULT;
  u8* out = reinterpret_cast<u8*>(args.buffer);
  u32 filled = 0;
  for (const auto& [handle, context] : client.contexts) {
    if (args.buffer_size - filled < sizeof(QueryHwctx)) return -EINVAL;
    QueryHwctx entry{};
    entry.context_id = handle;
    entry.num_col = kColumns;
    entry.pid = static_cast<u64>(getpid());
    entry.command_submissions = context->submissions;
    entry.command_completions = context->completions;
    entry.errors = context->errors;
    std::memcpy(out + filled, &entry, sizeof(entry));
    filled += sizeof(entry);
  }
  args.buffer_size = filled;
  return 0;
}

HwctxEntry entry_of(const HwContext& context) {
  HwctxEntry entry{};
  entry.context_id = context.handle;
  entry.num_col = kColumns;  // temporal sharing: every context has the whole array
  entry.hwctx_id = context.firmware_id;
  entry.pid = static_cast<u64>(getpid());
  entry.command_submissions = context.submissions;
  entry.command_completions = context.completions;
  entry.errors = context.errors;
  entry.priority = context.qos.priority;
  entry.suspensions = context.suspensions;
  entry.state = context.queue.empty() ? 0 : 1;
  entry.gops = context.qos.gops;
  entry.fps = context.qos.fps;
  entry.dma_bandwidth = context.qos.dma_bandwidth;
  entry.latency = context.qos.latency;
  entry.frame_exec_time = context.qos.frame_exec_time;
  entry.txn_op_idx = context.health.txn_op_idx;
  entry.ctx_pc = context.health.ctx_pc;
  entry.fatal_error_type = context.health.fatal_error_type;
  std::strncpy(entry.name, "tegula", sizeof(entry.name) - 1);
  return entry;
}

// Copies one element, cut to the caller's element size, to place `index` of the caller's array.
template <typename T>
void put_element(const GetArray& args, u32 index, const T& value) {
  u8* out = reinterpret_cast<u8*>(args.buffer) + u64{index} * args.element_size;
  std::memcpy(out, &value, std::min<u64>(args.element_size, sizeof(T)));
}

int context_array(Device& device, GetArray& args) {
  u32 filled = 0;
  for (const auto& context : device.contexts) {
    if (filled == args.num_element) break;
    put_element(args, filled++, entry_of(*context));
  }
  args.num_element = filled;
  args.element_size = sizeof(HwctxEntry);
  return 0;
}

int context_by_id(Device& device, GetArray& args) {
  HwctxEntry wanted{};
  if (args.num_element != 1 || args.element_size < 24) return -EINVAL;
  std::memcpy(&wanted, reinterpret_cast<const void*>(args.buffer),
              std::min<u64>(args.element_size, sizeof(wanted)));
  if (wanted.context_id == 0 || wanted.pid == 0) return -EINVAL;
  for (const auto& context : device.contexts) {
    if (context->handle != wanted.context_id || wanted.pid != static_cast<u64>(getpid())) continue;
    put_element(args, 0, entry_of(*context));
    args.element_size = sizeof(HwctxEntry);
    return 0;
  }
  return -ENOENT;
}

int last_async_error(Device& device, GetArray& args) {
  const bool any = device.async_error.err_code != 0;
  if (any) put_element(args, 0, device.async_error);
  args.num_element = any ? 1 : 0;
  args.element_size = sizeof(AsyncError);
  return 0;
}

int bo_usage(const ClientState& client, GetArray& args) {
  BoUsage usage{};
  if (args.element_size < sizeof(usage.pid)) return -EINVAL;
  usage.pid = getpid();
  for (const auto& [handle, bo] : client.bos) {
    if (bo->type == kBoDev) {
      usage.heap_usage += bo->size;
      continue;
    }
    usage.total_usage += bo->size;
    if (bo->type != kBoShare) usage.internal_usage += bo->size;
  }
  put_element(args, 0, usage);
  args.num_element = 1;
  args.element_size = sizeof(BoUsage);
  return 0;
}

}  // namespace

int version(Device& device, DrmVersion& args) {
  args.major = device.options.major;
  args.minor = device.options.minor;
  args.patchlevel = 0;
  copy_text(args.name, &args.name_len, kDriverName);
  copy_text(args.date, &args.date_len, "0");
  copy_text(args.desc, &args.desc_len, "Emulated AMD XDNA DRM driver");
  return 0;
}

int get_info(Device& device, ClientState& client, GetInfo& args) {
  const bool legacy = device.generation() == Generation::kLegacy;
  auto since = [&](int minor) { return legacy || device.options.minor >= minor; };
  switch (args.param) {
    case kInfoAieMetadata:
      return answer(args, metadata());
    case kInfoAieVersion:
      return answer(args, AieVersion{2, 0});
    case kInfoClock:
      return answer(args, clocks());
    case kInfoHwContexts:
      return hw_contexts(client, args);
    case kInfoFirmwareVersion:
      return answer(args, kFirmware);
    case kInfoPowerMode:
      return answer(args, PowerMode{device.power_mode, {}});
    case kInfoForcePreempt:
      return since(6) ? answer(args, AttributeState{device.force_preempt, {}}) : -EOPNOTSUPP;
    case kInfoFramePreempt:
      return since(6) ? answer(args, AttributeState{device.frame_preempt, {}}) : -EOPNOTSUPP;
    case kInfoResource:
      if (!since(4)) return -EOPNOTSUPP;
      return answer(args, ResourceInfo{kArrayMhz, kTopsMax, kMaxContexts, kTopsMax, device.contexts.size()});
    default:
      return -EOPNOTSUPP;
  }
}

int get_array(Device& device, ClientState& client, GetArray& args) {
  const bool legacy = device.generation() == Generation::kLegacy;
  auto since = [&](int minor) { return legacy || device.options.minor >= minor; };
  if (!since(1)) return -EINVAL;  // no such ioctl yet
  if (args.pad != 0 || args.element_size == 0 || args.num_element == 0) return -EINVAL;
  if (args.buffer == 0) return -EFAULT;
  switch (args.param) {
    case kArrayHwContextAll:
      return context_array(device, args);
    case kArrayHwContextById:
      return context_by_id(device, args);
    case kArrayLastAsyncError:
      return since(2) ? last_async_error(device, args) : -EOPNOTSUPP;
    case kArrayBoUsage:
      return since(8) ? bo_usage(client, args) : -EOPNOTSUPP;
    default:
      return -EOPNOTSUPP;
  }
}

int set_state(Device& device, SetState& args) {
  constexpr u32 kSetPowerMode = 0, kSetForcePreempt = 3, kSetFramePreempt = 4;
  if (!device.options.root) return -EACCES;
  PowerMode mode{};  // same layout as the preemption switches
  if (args.param != kSetPowerMode && args.param != kSetForcePreempt && args.param != kSetFramePreempt) {
    return -EOPNOTSUPP;
  }
  if (args.buffer == 0) return -EFAULT;
  if (args.buffer_size < sizeof(mode)) return -EINVAL;
  std::memcpy(&mode, reinterpret_cast<const void*>(args.buffer), sizeof(mode));
  if (std::any_of(std::begin(mode.pad), std::end(mode.pad), [](u8 pad) { return pad != 0; })) return -EINVAL;
  const u8 highest = args.param == kSetPowerMode ? 4 : 1;
  if (mode.power_mode > highest) return -EINVAL;
  if (args.param == kSetPowerMode) device.power_mode = mode.power_mode;
  if (args.param == kSetForcePreempt) device.force_preempt = mode.power_mode;
  if (args.param == kSetFramePreempt) device.frame_preempt = mode.power_mode;
  return 0;
}

}  // namespace tegula::driver
