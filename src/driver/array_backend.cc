// The emulator behind the driver: PDI commands become register operations, runs become array runs.
#include "driver/array_backend.h"

#include "driver/costs.h"
#include "emu/array.h"
#include "format/pdi.h"

namespace tegula::driver {
namespace {

class HostMemory : public emu::DdrMemory {
 public:
  explicit HostMemory(const JobMemory& memory) : memory_(memory) {}
  Result<u8*> translate(u64 device_address, u64 bytes, bool) override {
    u8* at = memory_.at(device_address, bytes);
    if (at == nullptr) return fail(Code::kOutOfRange, memory_.explain(device_address, bytes));
    return at;
  }

 private:
  const JobMemory& memory_;
};

std::vector<arch::RegisterOp> register_ops(const std::vector<format::CdoCommand>& commands) {
  std::vector<arch::RegisterOp> ops;
  ops.reserve(commands.size());
  for (const format::CdoCommand& command : commands) {
    switch (command.kind) {
      case format::CdoKind::kWrite:
        ops.push_back(arch::RegisterOp::write(command.address, command.value));
        break;
      case format::CdoKind::kMaskWrite:
        ops.push_back(arch::RegisterOp::mask_write(command.address, command.mask, command.value));
        break;
      case format::CdoKind::kBlockWrite:
        ops.push_back(arch::RegisterOp::block_write(command.address, command.words));
        break;
      case format::CdoKind::kNop:
        break;
    }
  }
  return ops;
}

RunEnd translate_end(emu::RunEnd end) {
  switch (end) {
    case emu::RunEnd::kDone:
      return RunEnd::kDone;
    case emu::RunEnd::kStreamError:
      return RunEnd::kStreamError;
    case emu::RunEnd::kArrayError:
      return RunEnd::kArrayError;
    case emu::RunEnd::kMemoryFault:
      return RunEnd::kMemoryFault;
    case emu::RunEnd::kDeadlock:
      break;
  }
  return RunEnd::kDeadlock;
}

class EmulatedArray : public ArrayBackend {
 public:
  explicit EmulatedArray(const ArrayOptions& options) : options_(options) {
    if (options.watch)
      array_.watch({.uninitialised = true, .hazards = true, .races = true, .alignment = true});
  }

  Result<void> load(ByteSpan image) override {
    TRY_ASSIGN(format::Pdi pdi, format::read_pdi(image));
    return array_.apply(register_ops(pdi.commands));
  }

  RunOutcome run(ByteSpan stream, std::span<const u64> arguments, const JobMemory& memory) override {
    HostMemory host(memory);
    emu::RunOptions options;
    options.threads = static_cast<int>(options_.threads);
    const emu::RunResult result = array_.run_stream(stream, arguments, host, options);
    RunOutcome outcome;
    outcome.end = translate_end(result.end);
    outcome.op_index = result.op_index;
    outcome.column = result.tile.col;
    outcome.row = result.tile.row;
    outcome.message = result.message;
    if (result.ok() && result.report.count() != 0) {
      outcome.end = RunEnd::kArrayError;
      outcome.message = result.report.first() + " (" + std::to_string(result.report.count()) + " findings)";
    }
    count(result.report, &outcome.counts);
    return outcome;
  }

 private:
  static void count(const emu::RunReport& report, RunCounts* counts) {
    counts->controller_ops = report.controller_ops;
    counts->ddr_bytes_read = report.ddr_bytes_read;
    counts->ddr_bytes_written = report.ddr_bytes_written;
    for (const emu::CoreReport& core : report.cores) {
      counts->core_cycles += core.cycles;
      counts->bundles += core.bundles;
      counts->matrix_ops += core.matrix_ops;
    }
    counts->array_cycles = report.cycles;
    counts->modelled_ns = report.cycles * 1000 / kArrayMhz;  // the submission is charged by the driver
  }

  ArrayOptions options_;
  emu::Array array_;
};

}  // namespace

std::unique_ptr<ArrayBackend> make_emulated_array(const ArrayOptions& options) {
  return std::make_unique<EmulatedArray>(options);
}

}  // namespace tegula::driver
