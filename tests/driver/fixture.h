// A client of the emulated driver as close to raw ioctls as possible, and a fake array whose "streams" are
// one instruction long: header of 16 bytes (size at +12), then op, argument.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <vector>

#include "base/amdxdna_uapi.h"
#include "base/bytes.h"
#include "driver/node.h"

namespace tegula::driver {

enum FakeOp : u32 {
  kFakeNothing,
  kFakeCopy,
  kFakeBadOp,
  kFakeHang,
  kFakeWild,
  kFakeGate,
  kFakeCount,
  kFakeArrayError
};

// Lets tests hold the array in the middle of a command.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;
  u32 entered = 0;

  void pass() {
    std::unique_lock<std::mutex> lock(mutex);
    ++entered;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  }
  void wait_entered(u32 count) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return entered >= count; });
  }
  void release() {
    std::lock_guard<std::mutex> lock(mutex);
    open = true;
    changed.notify_all();
  }
};

class FakeArray : public ArrayBackend {
 public:
  explicit FakeArray(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {}
  Result<void> load(ByteSpan pdi) override {
    if (pdi.size() < 4 || std::memcmp(pdi.data(), "good", 4) != 0) return fail(Code::kCorrupt, "not a PDI");
    return {};
  }
  RunOutcome run(ByteSpan stream, std::span<const u64> arguments, const JobMemory& memory) override {
    const u32 op = load_le<u32>(stream.data() + 16);
    const u32 value = load_le<u32>(stream.data() + 20);
    RunOutcome outcome;
    outcome.counts.controller_ops = 1;
    if (op == kFakeBadOp) outcome.end = RunEnd::kStreamError;
    if (op == kFakeArrayError) return {RunEnd::kArrayError, 1, 3, 2, "core (3,2) fault", {}};
    if (op == kFakeHang) return {RunEnd::kDeadlock, value, 0, 0, "nobody releases lock 3", {}};
    if (op == kFakeGate) gate_->pass();
    if (op == kFakeWild && memory.at(value, 64) == nullptr) {
      return {RunEnd::kMemoryFault, 0, 4, 0, memory.explain(value, 64), {}};
    }
    if (op == kFakeCopy) {
      const u8* from = memory.at(arguments[0], value);
      u8* to = memory.at(arguments[1], value);
      if (from == nullptr || to == nullptr) return {RunEnd::kMemoryFault, 0, 0, 0, "copy fault", {}};
      std::memcpy(to, from, value);
      outcome.counts.ddr_bytes_read = outcome.counts.ddr_bytes_written = value;
    }
    if (op == kFakeCount) {  // array state: how many runs since the configuration
      u8* to = memory.at(arguments[0], 4);
      if (to != nullptr) store_le<u32>(to, ++runs_);
    }
    return outcome;
  }

 private:
  std::shared_ptr<Gate> gate_;
  u32 runs_ = 0;
};

struct TestBo {
  u32 handle = 0;
  u8* data = nullptr;
  u64 size = 0;
  u64 address = 0;
};

class Driver : public ::testing::Test {
 protected:
  void start(DriverOptions options = {}) {
    auto gate = gate_;
    options.make_array = [gate](const ArrayOptions&) { return std::make_unique<FakeArray>(gate); };
    device_ = std::make_unique<EmulatedDriver>(options);
    ASSERT_EQ(device_->open(&client_), 0);
  }
  void TearDown() override {
    gate_->release();
    client_.reset();
    device_.reset();
    for (auto [at, size] : reservations_) ::munmap(at, size);
  }

  template <typename T>
  int call(u32 request, T& args) {
    return client_->ioctl(request, &args);
  }

  int create(u32 type, u64 size, u32* handle = nullptr) {
    uapi::CreateBo args{0, 0, size, type, 0};
    const int error = call(uapi::kReqCreateBo, args);
    if (handle != nullptr) *handle = args.handle;
    return error;
  }
  uapi::GetBoInfo info(u32 handle) {
    uapi::GetBoInfo args{};
    args.handle = handle;
    EXPECT_EQ(call(uapi::kReqGetBoInfo, args), 0);
    return args;
  }
  u8* reserve(u64 bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    EXPECT_NE(at, MAP_FAILED);
    reservations_.push_back({at, bytes});
    return static_cast<u8*>(at);
  }
  u8* aligned_window(u64 bytes) {
    u8* at = reserve(bytes + uapi::kHeapGranule);
    const u64 up =
        (reinterpret_cast<u64>(at) + uapi::kHeapGranule - 1) / uapi::kHeapGranule * uapi::kHeapGranule;
    return reinterpret_cast<u8*>(up);
  }
  // A heap at this address (a fresh aligned one by default).
  u32 heap(u8* at = nullptr, u64 size = uapi::kHeapGranule) {
    if (at == nullptr) at = aligned_window(size);
    u32 handle = 0;
    EXPECT_EQ(create(uapi::kBoDevHeap, size, &handle), 0);
    void* mapped = nullptr;
    EXPECT_EQ(client_->mmap(at, size, info(handle).map_offset, &mapped), 0);
    return handle;
  }
  TestBo bo(u32 type, u64 size) {
    TestBo out;
    out.size = size;
    EXPECT_EQ(create(type, size, &out.handle), 0);
    if (type == uapi::kBoDev) {
      out.data = reinterpret_cast<u8*>(info(out.handle).vaddr);
    } else {
      void* mapped = nullptr;
      EXPECT_EQ(client_->mmap(nullptr, size, info(out.handle).map_offset, &mapped), 0);
      out.data = static_cast<u8*>(mapped);
    }
    out.address = info(out.handle).xdna_addr;
    return out;
  }
  int context(uapi::CreateHwctx* out, u32 tiles = 32, uapi::QosInfo qos = {}) {
    *out = {};
    out->qos_p = reinterpret_cast<u64>(&qos);
    out->num_tiles = tiles;
    return call(uapi::kReqCreateHwctx, *out);
  }
  int config_cu(u32 context, std::vector<u32> pdis) {
    std::vector<u64> blob(1 + pdis.size());
    blob[0] = pdis.size();
    for (size_t i = 0; i < pdis.size(); ++i) blob[1 + i] = pdis[i];
    uapi::ConfigHwctx args{context, uapi::kConfigCu, reinterpret_cast<u64>(blob.data()),
                           static_cast<u32>(8 * blob.size()), 0};
    return call(uapi::kReqConfigHwctx, args);
  }
  TestBo pdi(const char* text = "good") {
    TestBo out = bo(uapi::kBoDev, 4096);
    std::strcpy(reinterpret_cast<char*>(out.data), text);
    client_->flush(out.data, 4096);
    return out;
  }
  TestBo stream(FakeOp op, u32 value = 0, bool flush = true) {
    TestBo out = bo(uapi::kBoDev, 24);
    store_le<u32>(out.data + 12, 24);
    store_le<u32>(out.data + 16, op);
    store_le<u32>(out.data + 20, value);
    if (flush) client_->flush(out.data, 24);
    return out;
  }
  // Heap, context, one CU.
  void ready(uapi::CreateHwctx* out) {
    heap();
    ASSERT_EQ(context(out), 0);
    ASSERT_EQ(config_cu(out->handle, {pdi().handle}), 0);
  }
  // Writes a START_CU packet into the command buffer.
  static void start_cu(const TestBo& command, const TestBo& code, std::vector<u64> buffers) {
    u32 words[64] = {};
    u32 n = 1;
    words[n++] = 1;  // CU mask
    words[n++] = 3;
    words[n++] = 0;
    words[n++] = static_cast<u32>(code.address);
    words[n++] = static_cast<u32>(code.address >> 32);
    words[n++] = 6;  // stream words
    for (u64 buffer : buffers) {
      words[n++] = static_cast<u32>(buffer);
      words[n++] = static_cast<u32>(buffer >> 32);
    }
    words[0] = uapi::ert_header(uapi::kErtStartCu, n - 1);
    std::memcpy(command.data, words, 4 * n);
  }
  static void chain(const TestBo& command, const std::vector<TestBo>& members) {
    u32* words = reinterpret_cast<u32*>(command.data);
    std::memset(words, 0, 28);
    words[0] = uapi::ert_header(uapi::kErtChain, static_cast<u32>(6 + 2 * members.size()));
    words[1] = static_cast<u32>(members.size());
    for (size_t i = 0; i < members.size(); ++i) {
      words[7 + 2 * i] = members[i].handle;
      words[8 + 2 * i] = 0;
    }
  }
  int exec(u32 context, u32 command, std::vector<u32> args, u64* seq = nullptr) {
    uapi::ExecCmd exec{};
    exec.hwctx = context;
    exec.cmd_handles = command;
    exec.args = reinterpret_cast<u64>(args.data());
    exec.cmd_count = 1;
    exec.arg_count = static_cast<u32>(args.size());
    const int error = call(uapi::kReqExecCmd, exec);
    if (seq != nullptr) *seq = exec.seq;
    return error;
  }
  int wait(u32 syncobj, u64 point, i64 timeout_ns = i64{1} << 62,
           u32 flags = uapi::kWaitForSubmit | uapi::kWaitAll) {
    uapi::DrmSyncobjTimelineWait args{};
    args.handles = reinterpret_cast<u64>(&syncobj);
    args.points = reinterpret_cast<u64>(&point);
    args.timeout_nsec = timeout_ns;
    args.count_handles = 1;
    args.flags = flags;
    return call(uapi::kReqSyncobjTimelineWait, args);
  }
  static u32 state(const TestBo& command) { return uapi::ert_state(load_le<u32>(command.data)); }
  static u32 word(const TestBo& command, u32 index) { return load_le<u32>(command.data + 4 * index); }
  // Runs one command to its end and returns its state.
  u32 run(const uapi::CreateHwctx& context, const TestBo& command, const std::vector<u32>& args) {
    u64 seq = 0;
    EXPECT_EQ(exec(context.handle, command.handle, args, &seq), 0);
    EXPECT_EQ(wait(context.syncobj_handle, seq), 0);
    return state(command);
  }

  std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  std::unique_ptr<EmulatedDriver> device_;
  std::unique_ptr<DriverClient> client_;
  std::vector<std::pair<void*, u64>> reservations_;
};

}  // namespace tegula::driver
