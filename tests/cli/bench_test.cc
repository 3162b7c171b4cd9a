// tegula bench: the form of what it prints. Speeds are not compared with anything here.
#include <nlohmann/json.hpp>

#include "cli/command_run.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

TEST(BenchCommand, HostFigures) {
  const CommandOutcome outcome = run_command({"bench", "--host", "--threads", "2", "--json"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const json out = json::parse(outcome.out, nullptr, false);
  EXPECT_EQ(out["schema"], 1);
  EXPECT_EQ(out["label"], "measured");
  const json& host = out["host"];
  EXPECT_EQ(host["threads"], 2);
  for (const char* pair : {"bare_int8_per_second", "core_int8_per_second", "product_seconds"}) {
    ASSERT_EQ(host[pair].size(), 2u) << pair;
    for (const json& value : host[pair]) EXPECT_GT(value, 0) << pair;
  }
  EXPECT_GT(host["core_scalar_bundles_per_second"], 0);
  // One of the two executes at least half of them; each of the 786,432 vmac is in a bundle of its own.
  EXPECT_GE(host["busiest_thread_share"], 0.5);
  EXPECT_LE(host["busiest_thread_share"], 1.0);
  EXPECT_GT(host["product_bundles"], 786'432);
}

TEST(BenchCommand, WrongUse) {
  EXPECT_EQ(run_command({"bench", "--host", "512x512x512"}).code, 2);
  EXPECT_EQ(run_command({"bench", "512x512"}).code, 1);
}

}  // namespace
}  // namespace tegula::cli
