#include "emu/slow/compare.h"

#include <algorithm>

#include "base/hex.h"
#include "isa/text.h"

namespace tegula::emu::slow {

namespace {

constexpr u64 kMostCycles = 20000;

// The fast core with a start loaded.
struct Fast {
  Fast(const Start& start, const std::vector<u8>& code, bool traces) : memory(start.memory), program(code) {
    CoreOptions options;
    options.traces = traces;
    core.set_options(options);
    core.set_memory(memory.data());
    core.set_program(program.data());
    core.reset();
    for (const auto& [reg, value] : start.registers) {
      if (value.size == 4) {
        core.write_scalar(reg, value.get<u32>(0));
      } else {
        core.write_register(reg, value.bytes);
      }
    }
  }
  // Runs on, with the world's answers.
  Stop run(u64 budget) {
    const u64 end = core.cycle() + budget;
    for (;;) {
      const Stop stop = core.run(end - core.cycle());
      if (!meet(stop)) return stop;
    }
  }

  std::vector<u8> memory, program;
  World world;
  emu::Core core;

 private:
  bool meet(const Stop& s) {
    const auto after = [&](World::Kind kind) { return s.cycle + world.wait(kind); };
    switch (s.reason) {
      case StopReason::kAcquire:
        core.resume(after(World::kAcquire));
        world.tell(World::kAcquire, static_cast<u32>(s.lock_id), static_cast<u32>(s.amount));
        return true;
      case StopReason::kRelease:
        world.tell(World::kRelease, static_cast<u32>(s.lock_id), static_cast<u32>(s.amount));
        return true;
      case StopReason::kStreamRead: {
        bool success = true;
        const u64 cycle = after(World::kStreamRead);
        const u32 word = world.stream_word(s.blocking, success);
        core.resume_word(cycle, word, success);
        world.tell(World::kStreamRead, 0, 0);
        return true;
      }
      case StopReason::kStreamWrite: {
        const u64 cycle = after(World::kStreamWrite);
        core.resume_word(cycle, 0, world.stream_accepts(s.blocking));
        world.tell(World::kStreamWrite, s.word, s.tlast);
        return true;
      }
      case StopReason::kCascadeRead: {
        const u64 cycle = after(World::kCascadeRead);
        core.resume_cascade(cycle, world.cascade_word().bytes.data());
        world.tell(World::kCascadeRead, 0, 0);
        return true;
      }
      case StopReason::kCascadeWrite: {
        const u64 cycle = after(World::kCascadeWrite);
        world.tell_word(s.cascade);
        core.resume(cycle);
        return true;
      }
      case StopReason::kTileRegister: {
        const World::Kind kind = s.is_write ? World::kTileWrite : World::kTileRead;
        core.resume_word(after(kind), World::tile_word(s.address));
        world.tell(kind, s.address, s.is_write ? s.word : 0);
        return true;
      }
      default:
        return false;
    }
  }
};

std::string hex_byte(u8 byte) {
  return {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
}

std::string bytes_text(const u8* bytes, u32 count) {
  std::string out;
  for (u32 i = count; i-- > 0;) out += hex_byte(bytes[i]) + (i % 4 == 0 && i != 0 ? "_" : "");
  return out;
}

std::string register_difference(const emu::Core& fast, const Core& slow) {
  std::string out;
  for (const isa::Reg reg : compared_registers()) {
    const Value b = slow.read(reg);
    std::array<u8, 256> a = fast.read_register(reg);
    if (b.size == 4) {
      const u32 word = fast.read_scalar(reg);
      std::memcpy(a.data(), &word, 4);
    }
    if (std::equal(a.begin(), a.begin() + b.size, b.bytes.begin())) continue;
    out += "  " + std::string(isa::reg_info(reg).name) + "\n    fast " + bytes_text(a.data(), b.size) +
           "\n    slow " + bytes_text(b.bytes.data(), b.size) + "\n";
  }
  return out;
}

std::string memory_difference(const std::vector<u8>& fast, const std::vector<u8>& slow) {
  for (u32 i = 0; i < kMemoryBytes; ++i) {
    if (fast[i] == slow[i]) continue;
    const u32 line = i / 16 * 16;
    return "  memory " + hex(kOwnBase + line) + "\n    fast " + bytes_text(fast.data() + line, 16) +
           "\n    slow " + bytes_text(slow.data() + line, 16) + "\n";
  }
  return {};
}

std::unique_ptr<Core> slow_start(const Start& start, const std::vector<u8>& program) {
  auto core = std::make_unique<Core>();
  core->memory = start.memory;
  core->program = program;
  for (const auto& [reg, value] : start.registers) core->write(reg, value);
  return core;
}

// Nothing: the program is no longer one that can be run.
std::optional<Difference> run_both(const Start& start, const std::vector<u8>& program, bool traces) {
  const auto slow = slow_start(start, program);
  for (u64 i = 0; i < kMostCycles; ++i) {
    const Core::Step step = slow->step();
    if (step.status == Core::Status::kDone) return compare(start, program, *slow, traces);
    if (step.status != Core::Status::kRunning) return std::nullopt;
  }
  return std::nullopt;
}

bool is_nop(const isa::Instr& instr) {
  return isa::info(instr.op).mnemonic.starts_with("nop");
}

// One instruction less at an address; false when it cannot be.
bool take_out(std::vector<u8>& program, u32 pc, int which) {
  const auto bundle = isa::decode(ByteSpan(program).subspan(pc));
  if (!bundle || which >= bundle->count || is_nop(bundle->instr[static_cast<size_t>(which)])) return false;
  isa::Bundle less = *bundle;
  less.count = 0;
  for (int i = 0; i < bundle->count; ++i) {
    if (i != which) less.instr[less.count++] = bundle->instr[static_cast<size_t>(i)];
  }
  const auto code = isa::encode(less);
  if (!code) return false;
  std::copy(code->begin(), code->end(), program.begin() + pc);
  return true;
}

std::string text_of(const isa::Bundle& bundle) {
  std::string out;
  for (int i = 0; i < bundle.count; ++i) {
    const isa::Instr& instr = bundle.instr[static_cast<size_t>(i)];
    if (!is_nop(instr)) out += (out.empty() ? "" : " ; ") + isa::to_text(instr);
  }
  return out.empty() ? "nop" : out;
}

// Where the two go different ways, bundle by bundle.
std::string first_difference(const Start& start, const std::vector<u8>& program) {
  const auto slow = slow_start(start, program);
  Fast fast(start, program, false);
  for (u64 i = 0; i < kMostCycles; ++i) {
    const u32 pc = slow->pc;
    if (slow->step().status != Core::Status::kRunning) break;
    const Stop stop = fast.run(1);
    if (stop.reason != StopReason::kBudget)
      return "fast core stops after " + hex(pc) + ": " + stop.fault + "\n";
    if (fast.core.pc() != slow->pc)
      return "after " + hex(pc) + " the fast core goes to " + hex(fast.core.pc()) + "\n";
  }
  return {};
}

}  // namespace

Difference compare(const Start& start, const std::vector<u8>& program, const Core& slow, bool traces) {
  Fast fast(start, program, traces);
  const Stop stop = fast.run(kMostCycles);
  Difference out;
  out.traced = fast.core.counters().traced;
  if (stop.reason != StopReason::kDone) {
    out.text = "  fast core stops at " + hex(stop.pc) + " in cycle " + std::to_string(stop.cycle) + ": " +
               stop.fault + "\n";
    return out;
  }
  const u64 cycles = slow.cycle + slow.world.stalled;
  if (stop.cycle != cycles) {
    out.text += "  cycles: fast " + std::to_string(stop.cycle) + ", slow " + std::to_string(cycles) + "\n";
  }
  if (fast.world.told != slow.world.told) out.text += "  locks, streams, cascade or tile registers differ\n";
  out.text += register_difference(fast.core, slow) + memory_difference(fast.memory, slow.memory);
  return out;
}

std::string explain(const Start& start, std::vector<u8> program, const std::set<u32>& addresses,
                    bool traces) {
  for (bool less = true; less;) {
    less = false;
    for (const u32 pc : addresses) {
      for (int which = 5; which >= 0; --which) {
        std::vector<u8> smaller = program;
        if (!take_out(smaller, pc, which)) continue;
        const auto difference = run_both(start, smaller, traces);
        if (!difference || difference->text.empty()) continue;
        program = smaller;
        less = true;
      }
    }
  }
  std::string out;
  const auto slow = slow_start(start, program);
  // As executed; runs of nops in one line.
  u32 nops = 0;
  for (u64 i = 0; i < kMostCycles; ++i) {
    const u32 pc = slow->pc;
    const auto bundle = isa::decode(ByteSpan(program).subspan(pc));
    const std::string text = bundle ? text_of(*bundle) : "?";
    if (text == "nop") {
      ++nops;
    } else {
      if (nops != 0) out += "  nop*" + std::to_string(nops) + "\n";
      nops = 0;
      out += hex(pc) + "  " + text + "\n";
    }
    if (slow->step().status != Core::Status::kRunning) break;
  }
  const auto difference = run_both(start, program, traces);
  return out + first_difference(start, program) +
         (difference ? difference->text : "no longer reproducible\n");
}

}  // namespace tegula::emu::slow
