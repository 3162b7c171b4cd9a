// Traces against the pipeline model: random straight code and loops must leave the same registers, memory,
// time and counters.
#include "emu/core_testing.h"

namespace tegula::emu::testing {
namespace {

class RandomCode {
 public:
  explicit RandomCode(u32 seed) : random_(seed) {}

  std::string bundle() {
    for (;;) {
      std::string text;
      for (const auto& slot : {load_a(), load_b(), store(), alu(), move(), vec()}) {
        if (slot.empty() || random_() % 2 == 0) continue;
        text += (text.empty() ? "" : ";") + slot;
      }
      if (text.empty()) return "nop";
      const auto parsed = isa::assemble(text);
      if (parsed.ok() && isa::encode(*parsed).ok()) return text;
    }
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<u32>(n)); }
  std::string n(const char* name, int count) { return name + std::to_string(pick(count)); }
  std::string one(std::initializer_list<std::string> choices) {
    return *(choices.begin() + pick(static_cast<int>(choices.size())));
  }
  std::string accumulator() { return n("bmll", 5); }

  std::string load_a() {
    return one({"", "lda " + n("r", 16) + ", [p0], #4", "vlda " + n("x", 12) + ", [p1], #64",
                "vlda " + n("wl", 12) + ", [p1, #32]", "vlda " + accumulator() + ", [p1], #-64",
                "vlda.pop.576 " + n("ex", 12) + ", [p2, lf0, r24]", "vlda.fill.512 [p2, lf0, r24]",
                "mova " + n("r", 16) + ", #" + std::to_string(pick(100)),
                "lda.s8 " + n("r", 16) + ", [p0, #1]", "padda [p1], #64"});
  }
  std::string load_b() {
    return one({"", "vldb " + n("x", 12) + ", [p3], #64", "vldb " + n("x", 12) + ", [p3], m0",
                "vldb.pop.576 " + n("ex", 12) + ", [p4, lf1, r25]", "vldb.fill.512 [p4, lf1, r25]"});
  }
  std::string store() {
    return one({"", "vst " + n("x", 12) + ", [p5], #64", "st " + n("r", 16) + ", [p6], #4",
                "vst " + accumulator() + ", [p5, #64]", "vst " + n("wl", 12) + ", [p5, #0]",
                "st.s8 " + n("r", 16) + ", [p6, #2]", "st.s16 " + n("r", 16) + ", [p6, #0]"});
  }
  std::string alu() {
    return one({"", "add " + n("r", 16) + ", " + n("r", 16) + ", " + n("r", 16),
                "mul " + n("r", 16) + ", " + n("r", 16) + ", " + n("r", 16),
                "xor " + n("r", 16) + ", " + n("r", 16) + ", " + n("r", 16),
                "sel.eqz " + n("r", 16) + ", " + n("r", 16) + ", " + n("r", 16) + ", r27"});
  }
  std::string move() {
    return one({"", "mov " + n("r", 16) + ", " + n("r", 16), "vmov " + n("x", 12) + ", " + n("x", 12),
                "vadd.16 " + n("x", 12) + ", " + n("x", 12) + ", " + n("x", 12),
                "vbor " + n("x", 12) + ", " + n("x", 12) + ", " + n("x", 12),
                "vmov " + accumulator() + ", " + accumulator()});
  }
  std::string vec() {
    const std::string a = n("dm", 5), b = n("dm", 5), x = n("x", 12), y = n("x", 12);
    return one({"", "vmac " + a + ", " + a + ", " + x + ", " + y + ", r16",
                "vmac " + a + ", " + b + ", " + x + ", " + y + ", r16",
                "vmac.f " + a + ", " + b + ", " + x + ", " + y + ", r17", "vclr " + a,
                "vmac.f " + a + ", " + a + ", " + n("ex", 12) + ", " + n("ex", 12) + ", r18",
                "vadd " + a + ", " + a + ", " + b + ", r16", "vmul " + a + ", " + x + ", " + y + ", r16",
                "vmov.d " + a + ", " + b});
  }

  std::mt19937 random_;
};

// Memory of the size of the core's, pointers into its middle, random vector registers.
void prepare(TestCore& t, u32 seed) {
  std::mt19937 random(seed);
  for (u8& byte : t.memory) byte = static_cast<u8>(random());
  for (size_t i = 0; i < t.memory.size(); i += 9) t.memory[i] = static_cast<u8>(110 + random() % 20);
  for (int p = 0; p < 7; ++p) t.set("p" + std::to_string(p), 0x74000 + static_cast<u32>(p) * 0x1000);
  t.set("m0", 128);
  for (int i = 0; i < 16; ++i) t.set("r" + std::to_string(i), static_cast<u32>(random() % 1000));
  t.set("r16", 0x308);
  t.set("r17", 0x3C);
  t.set("r18", 0x30C);
  t.set("r24", 0);
  t.set("r25", 0);
}

struct Outcome {
  std::vector<u8> memory;
  std::vector<std::array<u8, 256>> registers;
  u64 cycle;
  StopReason reason;
  u64 bundles, loads, stores, matrix, accumulator;
  bool operator==(const Outcome&) const = default;
};

u64 traced_bundles = 0, all_bundles = 0;

Outcome run(const std::vector<std::string>& lines, u32 seed, bool traces) {
  TestCore t;
  CoreOptions options;
  options.traces = traces;
  t.core.set_options(options);
  t.load(lines);
  prepare(t, seed);
  const Stop stop = t.core.run(100000);
  Outcome out{t.memory, {}, stop.cycle, stop.reason, 0, 0, 0, 0, 0};
  for (const char* bank : {"r", "p", "x", "dm", "e"}) {
    const int count = std::string(bank) == "r"    ? 32
                      : std::string(bank) == "p"  ? 8
                      : std::string(bank) == "dm" ? 5
                                                  : 12;
    for (int i = 0; i < count; ++i) out.registers.push_back(t.wide(bank + std::to_string(i)));
  }
  const CoreCounters& c = t.core.counters();
  traced_bundles += c.traced;
  if (traces) all_bundles += c.bundles;
  out.bundles = c.bundles, out.loads = c.loads, out.stores = c.stores;
  out.matrix = c.matrix_ops, out.accumulator = c.accumulator_ops;
  return out;
}

void compare(const std::vector<std::string>& lines, u32 seed) {
  const Outcome with = run(lines, seed, true), without = run(lines, seed, false);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  ASSERT_EQ(with.reason, without.reason) << seed << "\n" << text;
  ASSERT_EQ(with.cycle, without.cycle) << seed << "\n" << text;
  for (size_t i = 0; i < with.registers.size(); ++i) {
    ASSERT_EQ(with.registers[i], without.registers[i]) << "register " << i << " of seed " << seed << "\n"
                                                       << text;
  }
  ASSERT_TRUE(with == without) << seed << "\n" << text;
}

TEST(CoreTrace, StraightCodeIsTheSame) {
  traced_bundles = all_bundles = 0;
  for (u32 seed = 1; seed <= 150; ++seed) {
    RandomCode code(seed);
    std::vector<std::string> lines = {"j #start", "nop*5", "start:"};
    for (u32 i = 0; i < 20 + seed % 90; ++i) lines.push_back(code.bundle());
    lines.insert(lines.end(), {"nop*3", "done"});
    ASSERT_NO_FATAL_FAILURE(compare(lines, seed));
  }
  EXPECT_GT(traced_bundles, all_bundles / 4) << "of " << all_bundles;
}

TEST(CoreTrace, StretchesAroundLoopsAreTheSame) {
  traced_bundles = all_bundles = 0;
  for (u32 seed = 1; seed <= 100; ++seed) {
    RandomCode code(1000 + seed);
    std::vector<std::string> lines = {
        "movxm ls, #body", "movxm le, #last", "movxm lc, #" + std::to_string(1 + seed % 23),
        "j #start",        "nop*5",           "start:"};
    for (u32 i = 0; i < 12 + seed % 11; ++i) lines.push_back(code.bundle());
    lines.push_back("body:");
    for (u32 i = 0; i < 1 + seed % 7; ++i) lines.push_back(code.bundle());
    lines.insert(lines.end(), {"last:", code.bundle()});
    for (u32 i = 0; i < 10 + seed % 40; ++i) lines.push_back(code.bundle());
    lines.insert(lines.end(), {"nop*12", "done"});
    ASSERT_NO_FATAL_FAILURE(compare(lines, seed));
  }
  EXPECT_GT(traced_bundles, all_bundles / 4) << "of " << all_bundles;
}

TEST(CoreTrace, LoopsAreTheSame) {
  traced_bundles = all_bundles = 0;
  for (u32 seed = 1; seed <= 100; ++seed) {
    RandomCode code(seed);
    const u32 length = 4 + seed % 30;
    std::vector<std::string> lines = {"movxm ls, #body", "movxm le, #last",
                                      "movxm lc, #" + std::to_string(1 + seed % 41), "nop*8", "body:"};
    for (u32 i = 0; i + 1 < length; ++i) lines.push_back(code.bundle());
    lines.insert(lines.end(), {"last:", "nop", "nop*12", "done"});
    ASSERT_NO_FATAL_FAILURE(compare(lines, seed));
  }
  EXPECT_GT(traced_bundles, all_bundles / 4) << "of " << all_bundles;
}

}  // namespace
}  // namespace tegula::emu::testing
