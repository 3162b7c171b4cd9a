// Speed of the emulated core: matrix operations per second of the datapath alone (operands in the first-level
// cache), of the emulated core in loops of one vmac per bundle, and bundles per second of scalar code.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "emu/core.h"
#include "emu/core/datapath.h"
#include "isa/text.h"

namespace {

using namespace tegula;

std::vector<u8> program_of(const std::vector<std::string>& lines) {
  std::vector<u8> out;
  for (const std::string& line : lines) {
    const auto bundle = isa::assemble(line);
    const auto bytes = bundle ? isa::encode(*bundle) : Result<Bytes>(bundle.error());
    if (!bytes) {
      std::fprintf(stderr, "%s: %s\n", line.c_str(), bytes.error().message.c_str());
      std::exit(1);
    }
    out.insert(out.end(), bytes->begin(), bytes->end());
  }
  return out;
}

// A core running `body` in a hardware loop of two billion turns.
struct Looping {
  Looping(const std::vector<std::string>& setup, const std::vector<std::string>& body)
      : memory(emu::kCoreDataBytes) {
    // Blocks of 9 bytes with moderate exponents from the start of each 16 KiB window.
    for (size_t i = 0; i < memory.size(); ++i)
      memory[i] = static_cast<u8>(i % 0x4000 % 9 == 0 ? 120 + i % 7 : i * 37);
    const std::vector<u8> code = program_of(body), last = program_of({body.back()});
    const auto prologue = [&](size_t start) {
      std::vector<std::string> lines = setup;
      lines.push_back("movxm ls, #" + std::to_string(start));
      lines.push_back("movxm le, #" + std::to_string(start + code.size() - last.size()));
      lines.push_back("movxm lc, #0x7fffffff");
      lines.insert(lines.end(), 8, "nop");
      return program_of(lines);
    };
    program = prologue(prologue(0).size());
    program.insert(program.end(), code.begin(), code.end());
    program.resize(emu::kCoreProgramBytes);
    core.set_memory(memory.data());
    core.set_program(program.data());
    core.reset();
  }
  void run(benchmark::State& state) {
    for (auto _ : state) {
      const emu::Stop stop = core.run(100000);
      if (stop.reason != emu::StopReason::kBudget) {
        state.SkipWithError(stop.fault.c_str());
        return;
      }
    }
    const auto rate = [](u64 n) {
      return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate);
    };
    state.counters["bundles/s"] = rate(core.counters().bundles);
    state.counters["matrix_ops/s"] = rate(core.counters().matrix_ops);
    state.counters["traced"] =
        static_cast<double>(core.counters().traced) / static_cast<double>(core.counters().bundles);
  }
  std::vector<u8> memory, program;
  emu::Core core;
};

std::vector<std::string> repeat(const std::vector<std::string>& lines, int times) {
  std::vector<std::string> out;
  for (int i = 0; i < times; ++i) out.insert(out.end(), lines.begin(), lines.end());
  return out;
}

void datapath(benchmark::State& state, u32 conf, emu::MacUnit unit) {
  std::vector<u8> s(256), e(32), acc(512);
  for (size_t i = 0; i < s.size(); ++i) s[i] = static_cast<u8>(i * 37);
  if (unit == emu::MacUnit::kBf16) {
    for (size_t i = 1; i < s.size(); i += 2) s[i] = static_cast<u8>(0x3C + i % 8);
  }
  for (size_t i = 0; i < e.size(); ++i) e[i] = static_cast<u8>(120 + i % 7);
  std::string why;
  const emu::MacFn fn = emu::select_mac(conf, unit, true, why);
  emu::MacArgs args;
  args.s1 = s.data();
  args.s2 = s.data() + 128;
  args.e1 = e.data();
  args.e2 = e.data() + 16;
  args.s1_bytes = args.s2_bytes = 64;
  args.conf = conf;
  u8* from = acc.data();
  u8* to = acc.data() + 256;
  for (auto _ : state) {
    args.acc1 = from;
    args.out = to;
    fn(args);
    std::swap(from, to);
    benchmark::ClobberMemory();
  }
  state.counters["matrix_ops/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void DatapathInt8(benchmark::State& state) {
  datapath(state, 0x308, emu::MacUnit::kInteger);
}
void DatapathBfp16(benchmark::State& state) {
  datapath(state, 0x30C, emu::MacUnit::kBlock);
}
void DatapathBf16(benchmark::State& state) {
  datapath(state, 0x3C, emu::MacUnit::kBf16);
}
BENCHMARK(DatapathInt8);
BENCHMARK(DatapathBfp16);
BENCHMARK(DatapathBf16);

// One vmac and two vector loads in every bundle, four accumulators; the address registers go round in a
// window.
void CoreInt8(benchmark::State& state) {
  std::vector<std::string> body;
  for (int i = 0; i < 64; ++i) {
    const std::string d = "dm" + std::to_string(i % 4);
    const std::string post = i % 8 == 7 ? ", #-448" : ", #64";
    body.push_back("vlda x" + std::to_string(i % 4) + ", [p0]" + post + ";vldb x" +
                   std::to_string(4 + i % 4) + ", [p1]" + post + ";vmac " + d + ", " + d + ", x" +
                   std::to_string(i % 4) + ", x" + std::to_string(4 + i % 4) + ", r0");
  }
  Looping loop({"movxm p0, #0x70000", "movxm p1, #0x74000", "movxm r0, #0x308"}, body);
  loop.run(state);
}
BENCHMARK(CoreInt8);

// One vmac.f and two pops in every bundle; every eighth bundle a fill of both streams comes instead.
void CoreBfp16(benchmark::State& state) {
  std::vector<std::string> body;
  for (int g = 0; g < 8; ++g) {
    body.push_back("vlda.fill.512 [p0, lf0, r24];vldb.fill.512 [p1, lf1, r25]");
    for (int i = 0; i < 8; ++i) {
      const std::string d = "dm" + std::to_string(i % 4);
      body.push_back("vlda.pop.576 ex" + std::to_string(i % 4) + ", [p0, lf0, r24];vldb.pop.576 ex" +
                     std::to_string(4 + i % 4) + ", [p1, lf1, r25];vmac.f " + d + ", " + d + ", ex" +
                     std::to_string(i % 4) + ", ex" + std::to_string(4 + i % 4) + ", r0");
    }
  }
  for (int g = 0; g < 9; ++g) body.push_back("padda [p0], #-512;paddb [p1], #-512");
  Looping loop({"movxm p0, #0x70000", "movxm p1, #0x74000", "movxm r0, #0x30c", "movx r24, #0;mova r25, #0"},
               body);
  loop.run(state);
}
BENCHMARK(CoreBfp16);

void CoreScalar(benchmark::State& state) {
  Looping loop({"movxm p0, #0x70000"},
               repeat({"add r1, r1, #1", "lda r2, [p0, #4];add r3, r1, r2", "xor r4, r3, r1;mov r5, r4",
                       "st r4, [p0, #8];lshl r6, r5, r1", "nop", "mul r7, r1, r6"},
                      12));
  loop.run(state);
}
BENCHMARK(CoreScalar);

// Element-wise bf16 in the style of an activation: load and convert, multiply, add, convert and store.
void CoreElementwise(benchmark::State& state) {
  Looping loop(
      {"movxm p0, #0x70000", "movxm p1, #0x74000", "movx r0, #0x3c"},
      repeat({"vlda x0, [p0, #0];vmac.f dm0, dm0, x0, x1, r0", "vconv.bf16.fp32 wl2, bmll1;vmov x3, x2",
              "vst x2, [p1, #0];vadd.16 x4, x3, x2", "vmul.f dm1, x0, x1, r0;vshuffle x5, x4, x3, r1"},
             12));
  loop.run(state);
}
BENCHMARK(CoreElementwise);

}  // namespace
