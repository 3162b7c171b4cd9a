// The device client: identification, heap, buffers, control code, cache maintenance, statistics.
#include "device/client.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/client_state.h"
#include "device/errors.h"

namespace tegula::device {

using namespace uapi;

namespace internal {

namespace {

constexpr u64 kReservation = kHeapLimit + kHeapGranule;

u64 page_up(u64 bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::string heap_advice(const AccelNode& node, int error) {
  if (error == -EAGAIN || error == -ENOMEM || error == -EPERM) {
    return "the locked-memory limit may be too low for the 64 MiB heap: set memlock unlimited (limits.d; "
           "Fedora: also "
           "the systemd user manager; containers: --ulimit memlock=-1:-1)";
  }
  return node.emulated() ? "" : "see dmesg";
}

}  // namespace

ClientState::~ClientState() {
  if (node == nullptr) return;
  for (u64 at = 0; at < heap_size; at += kHeapGranule) node->munmap(heap_base + at, kHeapGranule);
  node->close();
  if (heap_reservation != nullptr) ::munmap(heap_reservation, kReservation);
}

int ClientState::call(const char* name, u32 request, void* argument) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    ++counters.ioctls[name];
  }
  return node->ioctl(request, argument);
}

Result<void> ClientState::identify() {
  info.node = node->name();
  info.emulated = node->emulated();
  char name[64] = {};
  DrmVersion version{};
  version.name = reinterpret_cast<u64>(name);
  version.name_len = sizeof(name) - 1;
  int error = call("VERSION", kReqVersion, &version);
  if (error != 0) return call_error(info.node + ": VERSION", error, "this is no DRM device");
  if (std::string(name) != kDriverName) {
    return fail(tegula::Code::kDevice, info.node + ": driver is '" + name + "', expected '" + kDriverName +
                                           "'; choose another node");
  }
  info.driver_major = static_cast<u32>(version.major);
  info.driver_minor = static_cast<u32>(version.minor);
  FirmwareVersion firmware{};
  GetInfo query{kInfoFirmwareVersion, sizeof(firmware), reinterpret_cast<u64>(&firmware)};
  error = call("GET_INFO", kReqGetInfo, &query);
  if (error != 0) return call_error(info.node + ": GET_INFO firmware version", error, "see dmesg");
  info.firmware = std::to_string(firmware.major) + "." + std::to_string(firmware.minor) + "." +
                  std::to_string(firmware.patch) + "." + std::to_string(firmware.build);
  AieMetadata metadata{};
  query = {kInfoAieMetadata, sizeof(metadata), reinterpret_cast<u64>(&metadata)};
  error = call("GET_INFO", kReqGetInfo, &query);
  if (error != 0) return call_error(info.node + ": GET_INFO array metadata", error, "see dmesg");
  info.columns = metadata.cols;
  info.rows = metadata.rows;
  info.core_rows = metadata.core.row_count;
  if (metadata.cols != kColumns || metadata.rows != kRows) {
    return fail(tegula::Code::kDevice, info.node + ": array is " + std::to_string(metadata.cols) + " x " +
                                           std::to_string(metadata.rows) +
                                           ", expected 8 x 6 (Strix, Strix Halo, Krackan)");
  }
  return {};
}

// Room for the largest heap at a 64 MiB boundary, chunks mapped one behind the other.
Result<void> ClientState::open_heap() {
  void* at = ::mmap(nullptr, kReservation, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return call_error("reserving 576 MiB of addresses for the heap", errno, "raise ulimit -v");
  heap_reservation = static_cast<u8*>(at);
  const u64 up = (reinterpret_cast<u64>(at) + kHeapGranule - 1) / kHeapGranule * kHeapGranule;
  heap_base = reinterpret_cast<u8*>(up);
  return add_heap_chunk();
}

Result<void> ClientState::add_heap_chunk() {
  if (heap_size == kHeapLimit) {
    return fail(tegula::Code::kDevice,
                info.node + ": the 512 MiB heap window is full; tensors belong in shared buffers");
  }
  CreateBo create{0, 0, kHeapGranule, kBoDevHeap, 0};
  int error = call("CREATE_BO", kReqCreateBo, &create);
  if (error != 0) {
    return call_error(info.node + ": heap chunk at " + std::to_string(heap_size >> 20) + " MiB", error,
                      error == -EBUSY || error == -EOPNOTSUPP
                          ? "this driver allows one heap of 64 MiB only, and it is full"
                          : heap_advice(*node, error));
  }
  TRY_ASSIGN(GetBoInfo bo, bo_info(create.handle));
  void* mapped = nullptr;
  error = node->mmap(heap_base + heap_size, kHeapGranule, bo.map_offset, &mapped);
  if (error != 0) {
    close_handle(create.handle);
    return call_error(info.node + ": mapping the 64 MiB heap", error, heap_advice(*node, error));
  }
  heap_size += kHeapGranule;
  return {};
}

Result<GetBoInfo> ClientState::bo_info(u32 handle) {
  GetBoInfo args{};
  args.handle = handle;
  const int error = call("GET_BO_INFO", kReqGetBoInfo, &args);
  if (error != 0) return call_error(info.node + ": GET_BO_INFO of buffer " + std::to_string(handle), error);
  return args;
}

void ClientState::close_handle(u32 handle) {
  DrmGemClose args{handle, 0};
  call("GEM_CLOSE", kReqGemClose, &args);
}

Result<std::shared_ptr<CodeState>> ClientState::create_code(const std::shared_ptr<ClientState>& self,
                                                            u64 size) {
  std::lock_guard<std::mutex> lock(heap_mutex);
  CreateBo create{0, 0, size, kBoDev, 0};
  int error = call("CREATE_BO", kReqCreateBo, &create);
  while (error == -EAGAIN) {  // the heap is full: make it longer
    TRY(add_heap_chunk());
    error = call("CREATE_BO", kReqCreateBo, &create);
  }
  if (error != 0) {
    return call_error(info.node + ": device memory for " + std::to_string(size) + " bytes of code", error,
                      "heap unmapped or exhausted (" + std::to_string(heap_size >> 20) + " MiB)");
  }
  auto code = std::make_shared<CodeState>();
  code->client = self;
  code->handle = create.handle;
  code->size = size;
  TRY_ASSIGN(GetBoInfo bo, bo_info(create.handle));
  code->data = reinterpret_cast<u8*>(bo.vaddr);
  code->device_address = bo.xdna_addr;
  return code;
}

std::string ClientState::new_async_error() {
  AsyncError error{};
  GetArray query{kArrayLastAsyncError, sizeof(error), 1, 0, reinterpret_cast<u64>(&error)};
  if (call("GET_ARRAY", kReqGetArray, &query) != 0 || query.num_element == 0) return {};
  std::lock_guard<std::mutex> lock(mutex);
  if (error.ts_us <= last_async_us) return {};
  last_async_us = error.ts_us;
  return async_error_text(error.err_code, error.ex_err_code);
}

CodeState::~CodeState() {
  if (client != nullptr) client->close_handle(handle);
}

}  // namespace internal

Client::Client(std::shared_ptr<internal::ClientState> state) : state_(std::move(state)) {}
Client::~Client() = default;

Result<std::unique_ptr<Client>> Client::open(std::unique_ptr<AccelNode> node) {
  auto state = std::make_shared<internal::ClientState>();
  state->node = std::move(node);
  TRY(state->identify());
  TRY(state->open_heap());
  state->new_async_error();  // what is older than this client is not its business
  return std::unique_ptr<Client>(new Client(std::move(state)));
}

const DeviceInfo& Client::info() const {
  return state_->info;
}

Result<Buffer> Client::alloc(u64 bytes) {
  if (bytes == 0 || bytes > u64{1} << 40) {
    return fail(tegula::Code::kInvalidArgument,
                "buffer of " + std::to_string(bytes) + " bytes: must be 1 byte to 1 TiB");
  }
  CreateBo create{0, 0, internal::page_up(bytes), kBoShare, 0};
  int error = state_->call("CREATE_BO", kReqCreateBo, &create);
  if (error != 0) {
    return call_error(state_->info.node + ": shared buffer of " + std::to_string(create.size) + " bytes",
                      error, "is there enough memory?");
  }
  Result<GetBoInfo> bo = state_->bo_info(create.handle);
  void* mapped = nullptr;
  if (bo.ok()) error = state_->node->mmap(nullptr, create.size, bo->map_offset, &mapped);
  if (!bo.ok() || error != 0) {
    state_->close_handle(create.handle);
    if (!bo.ok()) return bo.error();
    return call_error(state_->info.node + ": mapping a buffer of " + std::to_string(create.size) + " bytes",
                      error, "see ulimit -l and ulimit -v");
  }
  Buffer buffer;
  buffer.client_ = state_;
  buffer.data = static_cast<u8*>(mapped);
  buffer.size = create.size;
  buffer.handle = create.handle;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->counters.bytes_allocated += buffer.size;
  }
  // The driver learns the address at the first mapping; where it does not tell, it is the virtual address.
  TRY_ASSIGN(GetBoInfo after, state_->bo_info(create.handle));
  buffer.device_address = after.xdna_addr != kAllOnes ? after.xdna_addr : reinterpret_cast<u64>(mapped);
  return buffer;
}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data, other.data);
  std::swap(size, other.size);
  std::swap(device_address, other.device_address);
  std::swap(handle, other.handle);
  std::swap(client_, other.client_);
  return *this;
}

Buffer::~Buffer() {
  if (client_ == nullptr) return;
  client_->node->munmap(data, size);
  client_->close_handle(handle);
  std::lock_guard<std::mutex> lock(client_->mutex);
  client_->counters.bytes_allocated -= size;
}

Result<Code> Client::load_stream(ByteSpan txn) {
  constexpr u64 kHeader = 16;
  if (txn.size() < kHeader || txn.size() % 4 != 0 || load_le<u32>(txn.data() + 12) != txn.size()) {
    return fail(tegula::Code::kInvalidArgument,
                "instruction stream of " + std::to_string(txn.size()) +
                    " bytes: its header must state this size, a multiple of 4");
  }
  TRY_ASSIGN(std::shared_ptr<internal::CodeState> memory, state_->create_code(state_, txn.size()));
  std::memcpy(memory->data, txn.data(), txn.size());
  Code code;
  code.data = memory->data;
  code.size = memory->size;
  code.device_address = memory->device_address;
  code.state_ = std::move(memory);
  flush(code, 0, code.size);
  return code;
}

namespace {

// Clamps a range to its buffer; returns the bytes left.
u64 clamp(u64 whole, u64 offset, u64 size) {
  return offset >= whole ? 0 : std::min(size, whole - offset);
}

void flush_range(internal::ClientState& state, const u8* data, u64 whole, u64 offset, u64 size) {
  const u64 bytes = clamp(whole, offset, size);
  if (bytes == 0) return;
  state.node->flush(data + offset, bytes);
  std::lock_guard<std::mutex> lock(state.mutex);
  state.counters.bytes_flushed += bytes;
}

}  // namespace

void Client::flush(const Buffer& buffer, u64 offset, u64 size) {
  flush_range(*state_, buffer.data, buffer.size, offset, size);
}

void Client::flush(const Code& code, u64 offset, u64 size) {
  flush_range(*state_, code.data, code.size, offset, size);
}

void Client::invalidate(const Buffer& buffer, u64 offset, u64 size) {
  const u64 bytes = clamp(buffer.size, offset, size);
  if (bytes == 0) return;
  state_->node->invalidate(buffer.data + offset, bytes);
  std::lock_guard<std::mutex> lock(state_->mutex);
  state_->counters.bytes_invalidated += bytes;
}

Stats Client::stats() const {
  Stats stats;
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    stats = state_->counters;
  }
  stats.run = state_->node->run_report();
  return stats;
}

}  // namespace tegula::device
