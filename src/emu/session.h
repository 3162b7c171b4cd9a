// A configuration and its streams on an emulated array, with plain host buffers as arguments: what
// `tegula emu` does, as a call. It knows nothing of who made the files.
//
//   TRY_ASSIGN(Session session, Session::open(xclbin_bytes));
//   TRY_ASSIGN(const Bytes stream, stream_bytes(file_bytes));
//   std::vector<std::span<u8>> buffers = {a, b, c};   // argument 0, 1, 2
//   const RunResult result = session.run(stream, buffers);
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "emu/array.h"
#include "format/cdo.h"
#include "format/txn.h"

namespace tegula::emu {

// The register operations of configuration commands, in order; fillers are left out.
std::vector<arch::RegisterOp> register_ops(std::span<const format::CdoCommand> commands);

// The commands of an xclbin, a PDI or a CDO. Errors: those of the readers; kUnsupported for other kinds.
Result<std::vector<format::CdoCommand>> configuration(ByteSpan file);

// The bytes of a controller stream: a file of raw bytes as it is, or text with one hexadecimal 32-bit word a
// line (0x may lead, '#' and '//' start comments). Error: kCorrupt with the line.
Result<Bytes> stream_bytes(ByteSpan file);

// How far a stream reads and writes into an argument, in bytes from its start; 0: not at all.
struct ArgumentExtent {
  u64 read_end = 0;
  u64 write_end = 0;
};
// By argument number, from the shim BDs that the stream itself writes, patches and queues. Chains are
// followed inside the stream. Error: kUnsupported when a patched BD is queued without having been written.
Result<std::vector<ArgumentExtent>> argument_extents(const format::TxnStream& stream);

// Device address of argument i of a session.
constexpr u64 session_address(size_t argument) {
  return (static_cast<u64>(argument) + 1) << 36;
}
constexpr size_t kMaxArguments = 64;

class Session {
 public:
  // Loads the configuration into a fresh array.
  static Result<Session> open(ByteSpan file, const Checks& checks = {});
  static Result<Session> open(ByteSpan file, const CoreFactory& factory);

  // Runs a stream (raw bytes) to its end; argument i of the stream is buffers[i]. The array keeps its state
  // for the next run. Accesses outside the buffers end the run with kMemoryFault, which says how far outside.
  RunResult run(ByteSpan stream, std::span<const std::span<u8>> buffers, const RunOptions& options = {});

  Array& array() { return *array_; }

 private:
  explicit Session(std::unique_ptr<Array> array) : array_(std::move(array)) {}
  static Result<Session> load(std::unique_ptr<Array> array, ByteSpan file);

  std::unique_ptr<Array> array_;
};

}  // namespace tegula::emu
