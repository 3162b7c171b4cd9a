// The device client: contexts, command packets, submission, waiting, and what a failed command means.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>

#include "device/client.h"
#include "device/client_state.h"
#include "device/errors.h"

namespace tegula::device {

using namespace uapi;

namespace {

constexpr u32 kOpsPerCycle = 0x800;        // what clients pass; the driver computes its own
constexpr u32 kNoStartColumn = 0xFF;       // driver 1.0 only
constexpr u32 kSiliconTimeoutMs = 10'000;  // the driver's watchdog acts at 2 s
// CU mask, and a register map with all five buffers: firmware was seen to abort chains whose argument count
// is odd and below 15, so the map always has its 15 words.
constexpr u32 kPacketWords = 1 + kCuMapHeadWords + 2 * kMaxArguments;
// Jobs that may wait for their result before the oldest is looked at.
constexpr size_t kMostPending = 2 * kJobsInFlight;

u32 state_of(const u8* packet) {
  return ert_state(__atomic_load_n(reinterpret_cast<const u32*>(packet), __ATOMIC_ACQUIRE));
}

i64 deadline_ns(u32 timeout_ms) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count() + i64{timeout_ms} * 1'000'000;
}

void write_packet(u8* packet, const Code& code, std::span<const Buffer* const> args) {
  u32 words[1 + kPacketWords] = {};
  words[1] = 1;  // CU 0
  words[2] = kCuOpcodeTxn;
  words[4] = static_cast<u32>(code.device_address);
  words[5] = static_cast<u32>(code.device_address >> 32);
  words[6] = static_cast<u32>(code.size / 4);  // in words, as most public clients write it
  for (size_t i = 0; i < args.size(); ++i) {
    const u64 address = args[i] != nullptr ? args[i]->device_address : 0;
    words[7 + 2 * i] = static_cast<u32>(address);
    words[8 + 2 * i] = static_cast<u32>(address >> 32);
  }
  words[0] = ert_header(kErtStartCu, kPacketWords);
  std::memcpy(packet, words, sizeof(words));
}

Result<void> check_command(const Code& code, std::span<const Buffer* const> args) {
  if (code.data == nullptr) return fail(tegula::Code::kInvalidArgument, "submit: the code is empty");
  if (args.size() > kMaxArguments) {
    return fail(tegula::Code::kInvalidArgument, "submit: " + std::to_string(args.size()) +
                                                    " buffers, a command reaches at most " +
                                                    std::to_string(kMaxArguments));
  }
  return {};
}

}  // namespace

namespace internal {

ContextState::~ContextState() {
  if (client == nullptr) return;
  // After a hang that nothing has healed, teardown messages to a dead firmware may block; closing the node
  // does it.
  if (healthy) {
    DestroyHwctx destroy{handle, 0};
    client->call("DESTROY_HWCTX", kReqDestroyHwctx, &destroy);
  }
  DrmSyncobjDestroy syncobj_args{syncobj, 0};
  client->call("SYNCOBJ_DESTROY", kReqSyncobjDestroy, &syncobj_args);
  for (const CommandSlot& slot : all_slots) {
    client->node->munmap(slot.data, kPage);
    client->close_handle(slot.handle);
  }
}

Result<CommandSlot> ContextState::take_slot() {
  if (!slots.empty()) {
    const CommandSlot slot = slots.back();
    slots.pop_back();
    return slot;
  }
  CreateBo create{0, 0, kPage, kBoCmd, 0};
  int error = client->call("CREATE_BO", kReqCreateBo, &create);
  if (error != 0) return call_error(client->info.node + ": command buffer", error);
  TRY_ASSIGN(GetBoInfo bo, client->bo_info(create.handle));
  void* mapped = nullptr;
  error = client->node->mmap(nullptr, kPage, bo.map_offset, &mapped);
  if (error != 0) {
    client->close_handle(create.handle);
    return call_error(client->info.node + ": mapping a command buffer", error);
  }
  all_slots.push_back({create.handle, static_cast<u8*>(mapped)});
  return all_slots.back();
}

Result<u64> ContextState::submit(const CommandSlot& command, std::vector<CommandSlot> members,
                                 std::vector<u32> handles) {
  std::sort(handles.begin(), handles.end());
  handles.erase(std::unique(handles.begin(), handles.end()), handles.end());  // a handle twice is EALREADY
  // Point 0 of the timeline means "the newest", so command 0 is waited for before command 1 exists.
  if (!pending.empty() && (pending.front().sequence == 0 || pending.size() >= kMostPending)) {
    TRY(finish(pending.front().sequence, 0));
  }
  ExecCmd exec{};
  exec.hwctx = handle;
  exec.cmd_handles = command.handle;
  exec.args = reinterpret_cast<u64>(handles.data());
  exec.cmd_count = 1;
  exec.arg_count = static_cast<u32>(handles.size());
  const int error = client->call("EXEC_CMD", kReqExecCmd, &exec);
  const u64 commands = std::max<size_t>(members.size(), 1);
  pending.push_back({exec.seq, command, std::move(members)});
  if (error != 0) {
    retire(pending.back());
    pending.pop_back();
    return call_error(client->info.node + ": submission to context " + std::to_string(handle), error,
                      "command buffer " + std::to_string(command.handle) + ", " +
                          std::to_string(handles.size()) + " buffers");
  }
  std::lock_guard<std::mutex> lock(client->mutex);
  ++client->counters.submissions;
  client->counters.commands += commands;
  return exec.seq;
}

void ContextState::retire(const PendingJob& job) {
  slots.push_back(job.command);
  slots.insert(slots.end(), job.members.begin(), job.members.end());
}

Result<void> ContextState::finish(u64 sequence, u32 timeout_ms) {
  if (pending.empty() || pending.front().sequence > sequence) return {};
  if (timeout_ms == 0 && !client->info.emulated) timeout_ms = kSiliconTimeoutMs;
  DrmSyncobjTimelineWait args{};
  args.handles = reinterpret_cast<u64>(&syncobj);
  args.points = reinterpret_cast<u64>(&sequence);
  args.timeout_nsec = timeout_ms == 0 ? i64{1} << 61 : deadline_ns(timeout_ms);
  args.count_handles = 1;
  args.flags = kWaitAll | kWaitForSubmit;
  const int error = client->call("SYNCOBJ_TIMELINE_WAIT", kReqSyncobjTimelineWait, &args);
  if (error == -ETIME) {
    return fail(tegula::Code::kDevice,
                client->info.node + ": command " + std::to_string(sequence) + " not finished after " +
                    std::to_string(timeout_ms) +
                    " ms; the driver resets contexts after 2 s without progress, so wait again or give up");
  }
  if (error != 0)
    return call_error(client->info.node + ": waiting for command " + std::to_string(sequence), error);
  while (!pending.empty() && pending.front().sequence <= sequence) {
    const PendingJob& job = pending.front();
    const u32 state = state_of(job.command.data);
    if (state != kStateCompleted) failures.emplace(job.sequence, failure_of(job, state));
    healthy = state != kStateTimeout && state != kStateAbort;
    retire(job);
    pending.pop_front();
  }
  return {};
}

namespace {

std::string health_text(const u8* packet) {
  ErtHealth health;
  std::memcpy(&health, packet + 4, sizeof(health));
  if (health.version != 1) return "no health data";
  const std::string op = health.txn_op_idx == 0xFFFFFFFF ? "unknown" : std::to_string(health.txn_op_idx);
  return "control-code operation " + op + ", firmware pc " + hex(health.ctx_pc) + ", fatal type " +
         std::to_string(health.fatal_error_type);
}

}  // namespace

Error ContextState::failure_of(const PendingJob& job, u32 state) {
  const u8* packet = job.command.data;
  std::string text = client->info.node + ": command " + std::to_string(job.sequence);
  const u8* first = packet;
  if (!job.members.empty()) {
    first = job.members.front().data;
    ErtChainData chain;
    std::memcpy(&chain, packet + 4, sizeof(chain));
    if (state != kStateNew) text += ", member " + std::to_string(chain.error_index) + " of the chain,";
  }
  switch (state) {
    case kStateNew:
      text +=
          " was rejected by the driver before execution (NEW): check opcode, count, CU mask and argument "
          "limit";
      break;
    case kStateError:
      text += " failed (ERROR): bad stream operation, bad PDI or array error; dmesg has the firmware status";
      break;
    case kStateAbort:
      text += " was aborted (ABORT): another command hung, or NPU firmware " + client->info.firmware +
              " does not match driver " + std::to_string(client->info.driver_major) + "." +
              std::to_string(client->info.driver_minor) + " (update linux-firmware and driver together)";
      break;
    case kStateTimeout:
      text += " hung (TIMEOUT): " + health_text(first) + "; the context was reset, array state is lost";
      break;
    default:
      text += " ended in unknown state " + std::to_string(state);
      break;
  }
  const std::string array_error = client->new_async_error();
  if (!array_error.empty()) text += "; array error: " + array_error;
  const std::string explanation = client->node->last_failure();
  if (!explanation.empty()) text += "; emulator: " + explanation;
  return fail(tegula::Code::kDevice, std::move(text));
}

}  // namespace internal

u32 Context::handle() const {
  return state_ != nullptr ? state_->handle : 0;
}

namespace {

// Every member is optional to the driver's 0.x releases; 1.0 reads the start column.
QosInfo default_qos() {
  QosInfo qos{};
  qos.priority = kPriorityNormal;
  qos.user_start_col = kNoStartColumn;
  return qos;
}

std::string context_advice(const internal::ClientState& client, int error) {
  switch (error) {
    case -ENOENT:
      return "no heap, or the driver's limit of contexts is reached";
    case -EAGAIN:
      return "the heap is exhausted";
    case -ETIME:
      return "NPU firmware " + client.info.firmware +
             " does not answer: reload the amdxdna driver; if it persists, reboot";
    default:
      return "context refused: heap at " + hex(reinterpret_cast<u64>(client.heap_base)) +
             " (must be 64 MiB aligned), columns 8, firmware has 16 contexts for all processes; see dmesg";
  }
}

}  // namespace

Result<Context> Client::create_context(ByteSpan pdi) {
  if (pdi.empty()) return fail(tegula::Code::kInvalidArgument, "create_context: the PDI is empty");
  auto context = std::make_shared<internal::ContextState>();
  QosInfo qos = default_qos();
  CreateHwctx create{};
  create.qos_p = reinterpret_cast<u64>(&qos);
  create.max_opc = kOpsPerCycle;
  create.num_tiles = kColumns * state_->info.core_rows;
  const int error = state_->call("CREATE_HWCTX", kReqCreateHwctx, &create);
  if (error != 0) {
    return call_error(state_->info.node + ": CREATE_HWCTX", error, context_advice(*state_, error));
  }
  context->client = state_;  // from here on it destroys itself
  context->handle = create.handle;
  context->syncobj = create.syncobj_handle;
  TRY_ASSIGN(context->pdi, state_->create_code(state_, pdi.size()));
  std::memcpy(context->pdi->data, pdi.data(), pdi.size());
  state_->node->flush(context->pdi->data, pdi.size());
  struct {
    ConfigCuHead head{1, {}};
    CuConfig cu{};
  } blob;
  blob.cu.cu_bo = context->pdi->handle;
  ConfigHwctx config{context->handle, kConfigCu, reinterpret_cast<u64>(&blob), sizeof(blob), 0};
  const int refused = state_->call("CONFIG_HWCTX", kReqConfigHwctx, &config);
  if (refused != 0)
    return call_error(state_->info.node + ": CONFIG_HWCTX", refused, context_advice(*state_, refused));
  Context result;
  result.state_ = std::move(context);
  return result;
}

Result<u64> Client::submit(Context& context, const Code& code, std::span<const Buffer* const> args) {
  TRY(check_command(code, args));
  internal::ContextState& state = *context.state_;
  TRY_ASSIGN(internal::CommandSlot slot, state.take_slot());
  write_packet(slot.data, code, args);
  std::vector<u32> handles{code.state_->handle};
  for (const Buffer* buffer : args) {
    if (buffer != nullptr) handles.push_back(buffer->handle);
  }
  return state.submit(slot, {}, std::move(handles));
}

Result<u64> Client::submit_chain(Context& context, std::span<const Command> commands) {
  if (commands.empty() || commands.size() > kMaxChain) {
    return fail(tegula::Code::kInvalidArgument, "submit_chain: " + std::to_string(commands.size()) +
                                                    " commands, a chain takes 1 to " +
                                                    std::to_string(kMaxChain));
  }
  for (const Command& command : commands) {
    if (command.code == nullptr)
      return fail(tegula::Code::kInvalidArgument, "submit_chain: a command has no code");
    TRY(check_command(*command.code, command.args));
  }
  internal::ContextState& state = *context.state_;
  TRY_ASSIGN(internal::CommandSlot whole, state.take_slot());
  std::vector<internal::CommandSlot> members;
  std::vector<u32> handles;
  for (const Command& command : commands) {
    TRY_ASSIGN(internal::CommandSlot slot, state.take_slot());
    write_packet(slot.data, *command.code, command.args);
    members.push_back(slot);
    handles.push_back(slot.handle);
    handles.push_back(command.code->state_->handle);
    for (const Buffer* buffer : command.args) {
      if (buffer != nullptr) handles.push_back(buffer->handle);
    }
  }
  ErtChainData chain{static_cast<u32>(members.size()), 0, 0, {}};
  std::memcpy(whole.data + 4, &chain, sizeof(chain));
  for (size_t i = 0; i < members.size(); ++i) {
    store_le<u64>(whole.data + 4 + sizeof(chain) + 8 * i, members[i].handle);
  }
  store_le<u32>(whole.data, ert_header(kErtChain, 6 + 2 * chain.command_count));
  return state.submit(whole, std::move(members), std::move(handles));
}

Result<void> Client::wait(Context& context, u64 sequence, u32 timeout_ms) {
  internal::ContextState& state = *context.state_;
  TRY(state.finish(sequence, timeout_ms));
  auto failed = state.failures.begin();
  if (failed == state.failures.end() || failed->first > sequence) return {};
  Error error = std::move(failed->second);
  // The first failure tells the story; those behind it up to this command are its consequence.
  state.failures.erase(failed, state.failures.upper_bound(sequence));
  return error;
}

}  // namespace tegula::device
