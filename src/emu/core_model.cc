// emu::Core behind the engine's interface.
#include "emu/core_model.h"

#include "emu/array.h"

namespace tegula::emu {
namespace {

class RealCore final : public CoreModel {
 public:
  void connect(u8* data, const std::array<u8*, 3>& neighbours, const u8* program, u32 id) override {
    core_.set_memory(data);
    for (u32 i = 0; i < 3; ++i) core_.set_neighbour(4 + i, neighbours[i]);
    core_.set_program(program);
    core_.set_core_id(id);
  }
  void watch(const CoreWatch& watch) override {
    for (u32 i = 0; i < watch.written.size(); ++i) core_.set_written(4 + i, watch.written[i]);
    core_.set_observer(watch.observer);
    core_.set_options({.hazards = watch.hazards,
                       .uninitialised = watch.uninitialised,
                       .strict_alignment = watch.strict_alignment});
  }
  std::span<const Hazard> hazards() const override { return core_.hazards(); }
  void invalidate_program() override { core_.invalidate_program(); }
  void reset(u64 cycle) override { core_.reset(cycle); }
  Stop run(u64 cycle_budget) override { return core_.run(cycle_budget); }
  void resume(u64 cycle) override { core_.resume(cycle); }
  void resume_word(u64 cycle, u32 word, bool success) override { core_.resume_word(cycle, word, success); }
  void resume_cascade(u64 cycle, const u8* bytes64) override { core_.resume_cascade(cycle, bytes64); }
  u64 cycle() const override { return core_.cycle(); }
  u32 pc() const override { return core_.pc(); }
  const CoreCounters& counters() const override { return core_.counters(); }

 private:
  Core core_;
};

}  // namespace

std::unique_ptr<CoreModel> make_real_core() {
  return std::make_unique<RealCore>();
}

// Here and not in array.cc, so that the engine alone does not need the core.
Array::Array() : Array([](arch::Tile) { return make_real_core(); }) {}

}  // namespace tegula::emu
