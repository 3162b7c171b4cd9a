// Random graphs of DMA, locks and cores against the plain model of what they deliver, and against themselves
// with other numbers of threads.
#include <algorithm>
#include <cstdlib>

#include "emu/slow/graph.h"

namespace tegula::emu::slow {
namespace {

// Graphs to run, each with three numbers of threads. More of them:
//   TEGULA_SLOW_GRAPHS=1000 test_emu --gtest_filter='RandomGraphs.*'
u32 graphs() {
  const char* text = std::getenv("TEGULA_SLOW_GRAPHS");
  return text == nullptr ? 34 : static_cast<u32>(std::strtoul(text, nullptr, 10));
}

TEST(RandomGraphs, DeliverWhatTheyMustForAnyNumberOfThreads) {
  u32 runs = 0, cores = 0, parallel = 0, shared = 0;
  for (u32 seed = 1; seed <= graphs(); ++seed) {
    const std::vector<Column> graph = random_graph(seed);
    for (const Column& c : graph) {
      parallel += c.parallel;
      cores += static_cast<u32>(c.stages.size());
      for (const Stage& s : c.stages) shared += s.shared_in;
    }
    const GraphOutcome one = run_graph(graph, 1);
    ASSERT_EQ(one.end, "done ") << "seed " << seed;
    const std::vector<u32> expected = expected_words(graph);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_EQ(one.words[i], expected[i]) << "seed " << seed << ", word " << i;
    for (const int threads : {2, 7}) {
      const GraphOutcome many = run_graph(graph, threads);
      ASSERT_EQ(many.end, one.end) << "seed " << seed << ", threads " << threads;
      ASSERT_EQ(many.words, one.words) << "seed " << seed << ", threads " << threads;
      ASSERT_TRUE(many.trace == one.trace) << "seed " << seed << ", threads " << threads;
    }
    runs += 3;
  }
  std::printf(
      "%u runs of %u graphs with %u cores; %u columns side by side, %u links through a neighbour's memory\n",
      runs, graphs(), cores, parallel, shared);
  EXPECT_GT(parallel, 0u);
  EXPECT_GT(shared, 0u);
}

// Threads meet in another order each time; nothing of it may show.
TEST(RandomGraphs, AHundredRunsOfOneAreTheSame) {
  std::vector<Column> graph;
  size_t most = 0;
  for (u32 seed = 1; seed <= 40; ++seed) {
    const std::vector<Column> other = random_graph(seed);
    size_t cores = 0;
    for (const Column& c : other) cores += c.stages.size();
    if (cores > most) graph = other, most = cores;
  }
  const GraphOutcome first = run_graph(graph, 1);
  ASSERT_EQ(first.end, "done ");
  EXPECT_GT(std::count(first.trace.begin(), first.trace.end(), '\n'), 1000);
  constexpr int kThreads[] = {2, 7, 1};
  for (int run = 1; run < 100; ++run) {
    ASSERT_TRUE(run_graph(graph, kThreads[run % 3]) == first) << "run " << run << " of " << most << " cores";
  }
}

}  // namespace
}  // namespace tegula::emu::slow
