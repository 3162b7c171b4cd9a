// The fast core against the slow core, on programs made at random.
#include <gtest/gtest.h>

#include <cstdlib>

#include "emu/slow/compare.h"

namespace tegula::emu::slow {
namespace {

// Bundles to issue in all. More of them, or others:
//   TEGULA_SLOW_BUNDLES=1000000 TEGULA_SLOW_SEED=7 test_emu --gtest_filter='SlowCore.*'
u64 setting(const char* name, u64 otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

class Coverage {
 public:
  void add(const std::map<isa::Op, u64>& executed) {
    for (const auto& [op, count] : executed) counts_[op] += count;
  }
  // Instructions that only one of the two cores knows, and those that have not come up.
  void print() const {
    u32 known = 0, covered = 0;
    std::string missing;
    for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
      const auto op = static_cast<isa::Op>(i);
      if (!core_implements(op)) continue;
      ++known;
      const bool ran = counts_.count(op) != 0;
      covered += ran;
      if (!ran)
        missing += " " + std::string(isa::info(op).name) + (rule_of(op) == nullptr ? "(no rule)" : "");
    }
    std::printf("%u of %u instructions covered; not:%s\n", covered, known, missing.c_str());
  }

 private:
  std::map<isa::Op, u64> counts_;
};

TEST(SlowCore, RandomProgramsAreTheSame) {
  const u64 bundles = setting("TEGULA_SLOW_BUNDLES", 20000), first = setting("TEGULA_SLOW_SEED", 1);
  const char* focus = std::getenv("TEGULA_SLOW_FOCUS");
  Coverage coverage;
  u64 issued = 0, programs = 0, given_up = 0, different = 0, traced = 0;
  for (u64 seed = first; issued < bundles; ++seed) {
    ProgramOptions options;
    options.bundles = 60 + seed % 7 * 30;
    options.calm = seed % 2 == 1;  // of these more runs in traces
    if (focus != nullptr) options.focus = focus;
    ProgramMaker maker(static_cast<u32>(seed), options);
    ASSERT_LT(given_up, 100 + 3 * programs) << "hardly a program comes to an end";
    if (!maker.make()) {
      ++given_up;
      continue;
    }
    ++programs;
    issued += maker.issued();
    coverage.add(maker.executed());
    for (const bool traces : {false, true}) {
      const Difference difference = compare(maker.start(), maker.program(), maker.result(), traces);
      traced += difference.traced;
      if (difference.text.empty()) continue;
      ADD_FAILURE() << "seed " << seed << (traces ? ", traces\n" : "\n")
                    << explain(maker.start(), maker.program(), maker.addresses(), traces);
      if (++different >= setting("TEGULA_SLOW_DIFFERENCES", 1)) {
        coverage.print();
        return;
      }
      break;
    }
  }
  const auto number = [](u64 n) { return static_cast<unsigned long long>(n); };
  std::printf("%llu bundles in %llu programs, %llu of them in traces; %llu programs given up\n",
              number(issued), number(programs), number(traced), number(given_up));
  coverage.print();
}

}  // namespace
}  // namespace tegula::emu::slow
