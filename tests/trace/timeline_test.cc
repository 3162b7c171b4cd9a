// The trace file and the page, checked as text and as JSON.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "trace/heatmap.h"
#include "trace/timeline.h"

namespace tegula::trace {
namespace {

using nlohmann::json;

Timeline example() {
  Timeline out;
  out.cycles_per_microsecond = 1000;
  const u32 dma = out.track("core (0,2)", "S2MM0"), core = out.track("core (0,2)", "core");
  out.slices.push_back({dma, out.name("BD 0"), 0, 1000, {}});
  out.slices.push_back({dma, out.name("waits for words"), 200, 400, {}});
  out.slices.push_back({core, out.name("runs \"fast\""), 1000, 3000, {{"pc", "0x10"}}});
  out.arrows.push_back({0, 2});
  return out;
}

TEST(Perfetto, TracksSlicesAndFlows) {
  const json parsed = json::parse(perfetto_json(example()));
  int slices = 0, starts = 0, ends = 0, threads = 0;
  for (const json& event : parsed.at("traceEvents")) {
    const std::string kind = event.at("ph");
    if (kind == "X") {
      ++slices;
      if (event.at("name") == "runs \"fast\"") {
        EXPECT_DOUBLE_EQ(event.at("ts").get<double>(), 1.0);
        EXPECT_DOUBLE_EQ(event.at("dur").get<double>(), 2.0);
        EXPECT_EQ(event.at("args").at("pc"), "0x10");
        EXPECT_EQ(event.at("args").at("cycles"), 2000);
      }
    }
    starts += kind == "s";
    ends += kind == "f";
    threads += event.at("name") == "thread_name";
    if (kind == "s") {
      EXPECT_LT(event.at("ts").get<double>(), 1.0);
    }
  }
  EXPECT_EQ(slices, 3);
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(threads, 2);
}

TEST(Perfetto, OverlappingSlicesGetTheirOwnLane) {
  Timeline timeline;
  const u32 track = timeline.track("a", "b"), name = timeline.name("n");
  timeline.slices = {{track, name, 0, 100, {}}, {track, name, 50, 150, {}}, {track, name, 100, 120, {}}};
  const json parsed = json::parse(perfetto_json(timeline));
  std::map<std::string, u64> lane;
  for (const json& event : parsed.at("traceEvents")) {
    if (event.at("ph") == "X") lane[event.at("ts").dump()] = event.at("tid");
  }
  EXPECT_EQ(lane.size(), 3u);
  EXPECT_NE(lane.begin()->second, std::next(lane.begin())->second);
}

TEST(Perfetto, WrongIndicesAreLeftOut) {
  Timeline timeline = example();
  timeline.slices.push_back({99, 0, 0, 1, {}});
  timeline.slices.push_back({0, 99, 0, 1, {}});
  timeline.arrows.push_back({0, 99});
  timeline.arrows.push_back({3, 0});
  const json parsed = json::parse(perfetto_json(timeline));
  int events = 0;
  for (const json& event : parsed.at("traceEvents")) events += event.at("ph") == "X" || event.at("ph") == "s";
  EXPECT_EQ(events, 4);
  EXPECT_TRUE(json::parse(perfetto_json({})).at("traceEvents").empty());
}

TEST(HeatmapPage, TilesLinksAndRows) {
  Heatmap heatmap;
  heatmap.title = "a <b> & c";
  heatmap.cycles = 3000;
  heatmap.tiles = {{{0, 2}, 0.5, 0.25, {"lock 1: 3 cycles"}}};
  heatmap.links = {{{0, 0}, {0, 1}, 0.75, 1234}};
  const std::string page = heatmap_html(heatmap, example());
  for (const char* part :
       {"a &lt;b&gt; &amp; c", "50% multiplier", "25% waiting", "lock 1: 3 cycles",
        "shim (0,0) to mem (0,1): 1234 words, busiest link 75.0%", "core (0,2) S2MM0", "3.0 us"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos) << "self-contained";
}

}  // namespace
}  // namespace tegula::trace
