// The public face of the engine.
#include "emu/array.h"

#include "emu/engine.h"

namespace tegula::emu {

const char* run_end_name(RunEnd end) {
  switch (end) {
    case RunEnd::kDone:
      return "done";
    case RunEnd::kStreamError:
      return "stream error";
    case RunEnd::kArrayError:
      return "array error";
    case RunEnd::kDeadlock:
      return "deadlock";
    case RunEnd::kMemoryFault:
      return "memory fault";
  }
  return "unknown";
}

std::string Findings::first() const {
  if (!poison.empty()) return poison.front();
  if (!races.empty()) return races.front().text();
  return hazards.empty() ? std::string() : hazards.front().text();
}

Array::Array(const CoreFactory& factory) : engine_(std::make_unique<Engine>(factory)) {}
Array::~Array() = default;
Array::Array(Array&&) noexcept = default;
Array& Array::operator=(Array&&) noexcept = default;

void Array::reset() {
  engine_->reset();
}

void Array::watch(const Checks& checks) {
  engine_->watch(checks);
}

Result<void> Array::write32(u32 address, u32 value) {
  return engine_->write(address, value);
}
Result<void> Array::mask_write32(u32 address, u32 mask, u32 value) {
  return engine_->mask_write(address, mask, value);
}
Result<void> Array::block_write(u32 address, std::span<const u32> words) {
  return engine_->block_write(address, words);
}
Result<u32> Array::read32(u32 address) {
  return engine_->read(address);
}

Result<void> Array::apply(std::span<const arch::RegisterOp> ops) {
  for (const arch::RegisterOp& op : ops) {
    switch (op.kind) {
      case arch::RegisterOp::Kind::kWrite:
        TRY(engine_->write(op.address, op.value));
        break;
      case arch::RegisterOp::Kind::kMaskWrite:
        TRY(engine_->mask_write(op.address, op.mask, op.value));
        break;
      case arch::RegisterOp::Kind::kBlockWrite:
        TRY(engine_->block_write(op.address, op.data));
        break;
    }
    TRY(engine_->refused());
  }
  return {};
}

RunResult Array::run_stream(ByteSpan stream, std::span<const u64> argument_addresses, DdrMemory& ddr,
                            const RunOptions& options) {
  return engine_->run_stream(stream, argument_addresses, ddr, options);
}
RunResult Array::settle(DdrMemory& ddr, u64 cycles, const RunOptions& options) {
  return engine_->settle(ddr, cycles, options);
}

std::span<u8> Array::data_memory(arch::Tile tile) {
  return {engine_->at(tile).data, arch::traits(tile.kind()).data_bytes};
}
int Array::lock_value(arch::Tile tile, int lock) const {
  return engine_->at(tile).locks[lock].value;
}
u64 Array::tokens(arch::Tile tile, arch::Direction direction, int channel) const {
  return engine_->at(tile).channels[static_cast<int>(direction)][channel].tokens;
}
const CoreModel& Array::core(arch::Tile tile) const {
  return *engine_->at(tile).core->model;
}
CoreState Array::core_state(arch::Tile tile) const {
  return engine_->core_state(*engine_->at(tile).core);
}
std::vector<std::string> Array::routes() {
  return engine_->routes();
}
std::vector<u64> Array::thread_bundles() const {
  return engine_->thread_bundles();
}

std::vector<std::string> Array::explain() const {
  return engine_->explain();
}

}  // namespace tegula::emu
