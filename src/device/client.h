// The device client: buffers, contexts, control code, submission and waiting over an accel node. It speaks
// the amdxdna ioctl interface and does not know whether the node is silicon or the emulated driver.
//
//   TRY_ASSIGN(auto node, open_node(NodeChoice::kAuto));
//   TRY_ASSIGN(auto client, Client::open(std::move(node)));
//   TRY_ASSIGN(Context context, client->create_context(pdi));
//   TRY_ASSIGN(Code code, client->load_stream(txn));
//   TRY_ASSIGN(Buffer in, client->alloc(bytes));  ... fill in.data ...
//   client->flush(in, 0, in.size);
//   const Buffer* args[] = {&in, &out};
//   TRY_ASSIGN(u64 seq, client->submit(context, code, args));
//   TRY(client->wait(context, seq));
//   client->invalidate(out, 0, out.size);
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "device/node.h"

namespace tegula::device {

// A command reaches at most this many buffers (driver.md 9.3).
inline constexpr unsigned kMaxArguments = 5;
// Members of a chain: a START_CU slot with five buffers takes 112 bytes of the kernel's 4 KiB buffer
// (driver.md 9.5).
inline constexpr unsigned kMaxChain = 36;

struct DeviceInfo {
  std::string node;  // path or "emulated NPU"
  bool emulated = false;
  u32 driver_major = 0;
  u32 driver_minor = 0;
  std::string firmware;  // "1.1.2.64"
  u32 columns = 0;
  u32 rows = 0;  // all rows: shim, mem tiles, cores
  u32 core_rows = 0;
};

struct Stats {
  std::map<std::string, u64> ioctls;  // calls by name
  u64 submissions = 0;                // EXEC_CMD calls (a chain is one)
  u64 commands = 0;                   // streams submitted
  u64 bytes_flushed = 0;
  u64 bytes_invalidated = 0;
  u64 bytes_allocated = 0;           // SHARE buffers alive
  std::optional<NodeRunReport> run;  // emulated node only
};

namespace internal {
struct ClientState;
struct ContextState;
struct CodeState;
void release_buffer(ClientState& client, u32 handle, u8* data, u64 size);
}  // namespace internal

// Memory that the CPU and the device share: page aligned, zero at first, mapped for its whole life. Frees
// itself.
struct Buffer {
  u8* data = nullptr;
  u64 size = 0;  // bytes, multiple of 4096
  u64 device_address = 0;
  u32 handle = 0;

  Buffer() = default;
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

 private:
  friend class Client;
  std::shared_ptr<internal::ClientState> client_;
};

// One array configuration (PDI) with its queue. Destroying it waits for running commands (2 s at most).
class Context {
 public:
  Context() = default;
  Context(Context&&) noexcept = default;
  Context& operator=(Context&&) noexcept = default;
  u32 handle() const;

 private:
  friend class Client;
  std::shared_ptr<internal::ContextState> state_;
};

// An instruction stream in device-visible memory. `data` may be patched in place between runs; then call
// Client::flush on the patched range.
struct Code {
  u8* data = nullptr;
  u64 size = 0;  // bytes of the stream
  u64 device_address = 0;

  Code() = default;
  Code(Code&& other) noexcept = default;
  Code& operator=(Code&& other) noexcept = default;

 private:
  friend class Client;
  std::shared_ptr<internal::CodeState> state_;
};

struct Command {
  const Code* code = nullptr;
  std::vector<const Buffer*> args;  // at most kMaxArguments; may repeat, may hold nullptr (address 0)
};

// All functions may be called from several threads; one Context by one thread at a time.
class Client {
 public:
  // Errors: kDevice with the advice of the failure (wrong driver, no heap, memlock, ...).
  static Result<std::unique_ptr<Client>> open(std::unique_ptr<AccelNode> node);
  ~Client();

  const DeviceInfo& info() const;
  Result<Buffer> alloc(u64 bytes);
  Result<Context> create_context(ByteSpan pdi);
  Result<Code> load_stream(ByteSpan txn);

  // Queues one run of `code` on `context`; argument i is the stream's DDR-patch argument i. Returns the
  // sequence number. May block while four jobs of the context are in flight. Code and buffers must live until
  // the wait.
  Result<u64> submit(Context& context, const Code& code, std::span<const Buffer* const> args);
  // Several runs as one job (one interrupt, one wait); 1..kMaxChain commands.
  Result<u64> submit_chain(Context& context, std::span<const Command> commands);
  // Waits for the job; timeout 0 = 10 s on silicon, no limit on the emulated node (where time is simulated).
  // Errors: kDevice, and the message names the state (ERROR, ABORT, TIMEOUT, rejected), the cause and the
  // next step.
  Result<void> wait(Context& context, u64 sequence, u32 timeout_ms = 0);

  // Cache maintenance; ranges are clamped to the buffer.
  void flush(const Buffer& buffer, u64 offset, u64 size);
  void flush(const Code& code, u64 offset, u64 size);
  void invalidate(const Buffer& buffer, u64 offset, u64 size);

  Stats stats() const;

 private:
  explicit Client(std::shared_ptr<internal::ClientState> state);
  std::shared_ptr<internal::ClientState> state_;
};

}  // namespace tegula::device
