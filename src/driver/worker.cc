// The device's worker: picks the context that has the array, runs its first job as the firmware would, and
// completes it as the kernel driver does.
#include <algorithm>
#include <chrono>
#include <cstring>

#include "driver/costs.h"
#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;
using emu::cost::kCommandNs;
using emu::cost::kJobNs;

namespace {

constexpr ErtHealth kNoHealth{1, 0, 0xFFFFFFFF, 0, 0, 0, 0, 0};

ByteSpan cpu_bytes(const Bo& bo) {
  return {bo.storage->cpu(), bo.storage->size()};
}

u32 header_of(const Bo& bo) {
  return load_le<u32>(bo.storage->cpu());
}

// Clients poll the state word, so it is stored atomically.
void store_state(const Bo& bo, u32 state) {
  auto* word = reinterpret_cast<u32*>(bo.storage->cpu());
  __atomic_store_n(word, (*word & ~0xFu) | state, __ATOMIC_RELEASE);
}

// Every failure overwrites the payload: ones, after the health words if there are any.
void poison_payload(const Bo& bo, const ErtHealth* health) {
  const u64 room = bo.storage->size() - 4;
  const u64 bytes = std::min<u64>(4 * u64{ert_count(header_of(bo))}, room);
  std::memset(bo.storage->cpu() + 4, 0xFF, bytes);
  if (health != nullptr) std::memcpy(bo.storage->cpu() + 4, health, sizeof(*health));
}

void record_async_error(Device& device, u64 code, u64 place) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const u64 us = static_cast<u64>(std::chrono::duration_cast<std::chrono::microseconds>(now).count());
  // Two errors never share a time, so that a client can tell a new one from the last.
  device.async_error = AsyncError{code, std::max(us, device.async_error.ts_us + 1), place};
}

// Runs one job: parses, resolves the chain, loads the array, runs each stream.
class JobRunner {
 public:
  JobRunner(Device& device, HwContext& context, Lock& lock)
      : device_(device), context_(context), lock_(lock), job_(context.queue.front()) {}

  JobResult run();

 private:
  JobResult reject(const std::string& why) const { return {kStateNew, 0, kNoHealth, why}; }
  JobResult firmware_error(u32 member, const std::string& why) const {
    return {kStateError, member, kNoHealth, why};
  }
  Result<std::vector<Packet>> read_packets();
  Result<std::vector<Packet>> read_chain(const Packet& chain);
  std::optional<JobResult> injected(u32 member);
  std::optional<JobResult> run_command(const Packet& packet, u32 member);
  std::optional<JobResult> load_array(u32 cu, u32 member);
  std::optional<JobResult> outcome(const RunOutcome& run, u32 member);
  JobResult memory_fault(u32 column, u32 member, const std::string& why);
  bool read_heap(u64 address, u64 size, Bytes* out) const;
  JobMemory map_memory();
  void add_counts(const RunCounts& counts, u64 unlisted);

  Device& device_;
  HwContext& context_;
  Lock& lock_;
  Job& job_;
  std::vector<std::shared_ptr<Storage>> kept_;  // what the device may touch stays alive during the job
};

Result<std::vector<Packet>> JobRunner::read_chain(const Packet& chain) {
  std::vector<Packet> packets;
  u64 slot_bytes = 0;
  for (u32 handle : chain.members) {
    std::shared_ptr<Bo> bo = find_in(context_.client->bos, handle);
    if (bo == nullptr || bo->storage == nullptr) {
      return fail(Code::kNotFound, "chain member " + std::to_string(packets.size()) + ": no command buffer " +
                                       std::to_string(handle));
    }
    TRY_ASSIGN(Packet packet, parse_packet(cpu_bytes(*bo)));
    if (packet.opcode == kErtChain) return fail(Code::kInvalidArgument, "a chain inside a chain");
    if (!packets.empty() && packet.opcode != packets.front().opcode) {
      return fail(Code::kInvalidArgument, "members of a chain have different opcodes");
    }
    slot_bytes += packet.slot_bytes;
    packets.push_back(std::move(packet));
    job_.members.push_back(std::move(bo));
  }
  if (slot_bytes > kChainBufferBytes) {
    return fail(Code::kInvalidArgument, "chain takes " + std::to_string(slot_bytes) + " bytes of slots, " +
                                            std::to_string(kChainBufferBytes) + " are there");
  }
  return packets;
}

Result<std::vector<Packet>> JobRunner::read_packets() {
  TRY_ASSIGN(Packet packet, parse_packet(cpu_bytes(*job_.command)));
  if (packet.opcode == kErtChain) return read_chain(packet);
  std::vector<Packet> packets;
  packets.push_back(std::move(packet));
  return packets;
}

std::optional<JobResult> JobRunner::injected(u32 member) {
  if (auto fault = device_.take_fault(FaultKind::kAsyncError)) {
    record_async_error(device_, fault->async_code, fault->async_place);
  }
  const std::string where = "injected failure in command " + std::to_string(member);
  if (device_.take_fault(FaultKind::kCommandError, member))
    return JobResult{kStateError, member, kNoHealth, where};
  if (device_.take_fault(FaultKind::kCommandAbort, member))
    return JobResult{kStateAbort, member, kNoHealth, where};
  if (device_.take_fault(FaultKind::kCommandTimeout, member)) {
    return JobResult{kStateTimeout, member, kNoHealth, where};
  }
  return std::nullopt;
}

bool JobRunner::read_heap(u64 address, u64 size, Bytes* out) const {
  if (context_.client == nullptr || address < kHeapBase || size > kHeapLimit) return false;
  u64 offset = address - kHeapBase;
  out->resize(size);
  u64 done = 0;
  for (const auto& heap : context_.client->heaps) {
    if (done == size) break;
    if (offset < heap->heap_offset || offset - heap->heap_offset >= heap->size) continue;
    const u64 inside = offset - heap->heap_offset;
    const u64 bytes = std::min(size - done, heap->size - inside);
    std::memcpy(out->data() + done, heap->storage->device() + inside, bytes);
    done += bytes;
    offset += bytes;
  }
  return done == size;
}

JobMemory JobRunner::map_memory() {
  std::vector<JobMemory::Region> regions;
  if (context_.client != nullptr) {
    for (const auto& [address, mapping] : context_.client->mappings) {
      if (mapping.bo->type == kBoDevHeap) continue;  // whether the shim reaches the heap window is not known
      const bool listed = std::find(job_.args.begin(), job_.args.end(), mapping.bo) != job_.args.end();
      regions.push_back({address, mapping.length, mapping.bo->storage->device(), listed});
      kept_.push_back(mapping.bo->storage);
    }
  }
  return JobMemory(std::move(regions));
}

// Configures the array for a CU: a fresh one after creation, suspend or reset, else the PDI over what is
// there.
std::optional<JobResult> JobRunner::load_array(u32 cu, u32 member) {
  if (cu >= context_.cus.size()) {
    return firmware_error(member, "CU " + std::to_string(cu) + " is not configured (" +
                                      std::to_string(context_.cus.size()) + " are)");
  }
  if (context_.array != nullptr && context_.loaded_cu == cu) return std::nullopt;
  if (device_.take_fault(FaultKind::kPdiLoad))
    return firmware_error(member, "injected failure of the PDI load");
  const Bo& pdi = *context_.cus[cu].pdi;
  Bytes image;
  if (!read_heap(pdi.device_address, pdi.size, &image))
    return memory_fault(0, member, "PDI lies outside the heap");
  if (context_.array == nullptr) context_.array = device_.options.make_array(device_.options.array);
  ArrayBackend& array = *context_.array;
  lock_.unlock();
  Result<void> loaded = array.load(image);
  lock_.lock();
  ++device_.report.pdi_loads;
  device_.report.counts.modelled_ns += kConfigurationNs;
  if (!loaded.ok()) {
    context_.array = nullptr;
    return firmware_error(member, "load PDI failed: " + loaded.error().message);
  }
  context_.loaded_cu = cu;
  return std::nullopt;
}

JobResult JobRunner::memory_fault(u32 column, u32 member, const std::string& why) {
  record_async_error(device_, async_code(kErrDma, kModuleShim), column);
  return {kStateTimeout, member, kNoHealth, why};
}

void JobRunner::add_counts(const RunCounts& counts, u64 unlisted) {
  RunCounts& sum = device_.report.counts;
  sum.controller_ops += counts.controller_ops;
  sum.ddr_bytes_read += counts.ddr_bytes_read;
  sum.ddr_bytes_written += counts.ddr_bytes_written;
  sum.core_cycles += counts.core_cycles;
  sum.bundles += counts.bundles;
  sum.matrix_ops += counts.matrix_ops;
  sum.array_cycles += counts.array_cycles;
  sum.modelled_ns += counts.modelled_ns + kCommandNs;
  device_.report.unlisted_accesses += unlisted;
  ++device_.report.commands;
  device_.quantum_ns += counts.modelled_ns + kCommandNs;
}

std::optional<JobResult> JobRunner::outcome(const RunOutcome& run, u32 member) {
  ErtHealth health = kNoHealth;
  switch (run.end) {
    case RunEnd::kDone:
      return std::nullopt;
    case RunEnd::kStreamError:
      return firmware_error(member, run.message);
    case RunEnd::kArrayError:
      record_async_error(device_, async_code(kErrInstruction, kModuleCore), run.column | run.row << 8);
      return firmware_error(member, run.message);
    case RunEnd::kMemoryFault:
      return memory_fault(run.column, member, run.message);
    case RunEnd::kDeadlock:
      break;
  }
  health.txn_op_idx = run.op_index;
  return JobResult{kStateTimeout, member, health, run.message};
}

// nullopt: completed.
std::optional<JobResult> JobRunner::run_command(const Packet& packet, u32 member) {
  if (auto result = injected(member)) return result;
  if (packet.opcode == kErtStartNpuPreemptElf) {
    return firmware_error(member, "configuration by control code (opcode 22) is not emulated; use CONFIG_CU");
  }
  if (packet.map_opcode != kCuOpcodeTxn) {
    return firmware_error(member, "kernel opcode " + std::to_string(packet.map_opcode) + ", expected 3");
  }
  if (auto result = load_array(packet.cu_index, member)) return result;
  constexpr u64 kTxnHeaderBytes = 16;
  Bytes stream;
  if (!read_heap(packet.stream_address, kTxnHeaderBytes, &stream)) {
    return memory_fault(0, member, "instruction stream lies outside the heap");
  }
  const u64 size = load_le<u32>(stream.data() + 12);
  // START_CU: words or bytes, sources disagree and both work; anything else is a client's bug.
  const bool words_fit = packet.opcode == kErtStartCu && u64{packet.stream_size} * 4 == size;
  if (packet.stream_size != size && !words_fit) {
    return firmware_error(member, "stream header says " + std::to_string(size) + " bytes, packet says " +
                                      std::to_string(packet.stream_size) + "; was the stream flushed?");
  }
  if (!read_heap(packet.stream_address, size, &stream)) {
    return memory_fault(0, member, "instruction stream reaches outside the heap");
  }
  JobMemory memory = map_memory();
  ArrayBackend& array = *context_.array;
  lock_.unlock();
  RunOutcome run = array.run(stream, packet.arguments, memory);
  lock_.lock();
  add_counts(run.counts, memory.unlisted_accesses());
  return outcome(run, member);
}

JobResult JobRunner::run() {
  store_state(*job_.command, kStateNew);
  if (device_.take_fault(FaultKind::kSuspend)) {
    context_.array = nullptr;
    context_.loaded_cu.reset();
    ++context_.suspensions;
  }
  Result<std::vector<Packet>> packets = read_packets();
  if (!packets.ok()) return reject(packets.error().message);
  device_.report.counts.modelled_ns += kJobNs;
  device_.quantum_ns += kJobNs;
  for (u32 i = 0; i < packets->size(); ++i) {
    if (auto failure = run_command((*packets)[i], i)) return *failure;
  }
  return {kStateCompleted, 0, kNoHealth, ""};
}

// The context that runs next: the one that has the array while its quantum lasts, else the next in turn.
std::shared_ptr<HwContext> pick(Device& device) {
  std::shared_ptr<HwContext> current;
  std::shared_ptr<HwContext> first;
  std::shared_ptr<HwContext> next;
  for (const auto& context : device.contexts) {
    if (context->queue.empty()) continue;
    if (context->handle == device.last_ran) current = context;
    if (first == nullptr) first = context;
    if (next == nullptr && context->handle > device.last_ran) next = context;
  }
  const bool alone = first == current && next == nullptr;
  if (current != nullptr && (alone || device.quantum_ns < kQuantumNs)) return current;
  return next != nullptr ? next : first;
}

void switch_to(Device& device, const HwContext& context) {
  if (device.last_ran == context.handle) return;
  if (device.last_ran != 0) {
    ++device.report.context_switches;
    device.report.counts.modelled_ns += kConfigurationNs;
  }
  device.last_ran = context.handle;
  device.quantum_ns = 0;
}

}  // namespace

void complete_job(Device& device, HwContext& context, const JobResult& result) {
  Job& job = context.queue.front();
  const Bo& command = *job.command;
  const bool failed = result.state != kStateCompleted && result.state != kStateNew;
  store_state(command, result.state);
  if (failed) {
    const ErtHealth* health = result.state == kStateTimeout ? &result.health : nullptr;
    const bool chain = ert_opcode(header_of(command)) == kErtChain;
    if (chain) {
      store_le<u32>(command.storage->cpu() + 4 + offsetof(ErtChainData, error_index), result.failed_member);
      if (!job.members.empty()) poison_payload(*job.members.front(), health);
    } else {
      poison_payload(command, health);
    }
  }
  if (result.state == kStateCompleted) {
    ++context.completions;
  } else {
    ++context.errors;
    device.last_failure = result.message;
  }
  ++device.report.jobs;
  --job.command->jobs;
  for (const auto& bo : job.args) --bo->jobs;
  context.timeline->signalled = job.sequence + 1;
  context.queue.pop_front();
  device.done.notify_all();
}

void abort_jobs(Device& device, HwContext& context) {
  const std::string reason = device.last_failure;
  while (!context.queue.empty()) complete_job(device, context, {kStateAbort, 0, kNoHealth, reason});
}

void work_loop(Device& device) {
  Lock lock(device.mutex);
  for (;;) {
    std::shared_ptr<HwContext> context;
    device.work.wait(lock, [&] { return device.stopping || (context = pick(device)) != nullptr; });
    if (device.stopping) return;
    switch_to(device, *context);
    context->running = true;
    const JobResult result = JobRunner(device, *context, lock).run();
    context->running = false;
    // Recovery after a timeout: the context is made anew in the firmware, its other jobs are lost, its
    // handles stay valid. After other failures, too, what the array holds is not worth keeping.
    if (result.state != kStateCompleted && result.state != kStateNew) {
      context->array = nullptr;
      context->loaded_cu.reset();
    }
    if (result.state == kStateTimeout) context->health = result.health;
    complete_job(device, *context, result);
    if (result.state == kStateTimeout || context->client == nullptr) abort_jobs(device, *context);
  }
}

}  // namespace tegula::driver
