// tegula diff: each kind of difference in the artifact's own terms.
#include "cli/inspect/diff.h"

#include <gtest/gtest.h>

#include <random>

#include "cli/worked_examples.h"
#include "format/elf_sample.h"
#include "format/safetensors.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::PortKind;
using arch::TileKind;
using test::Config;

DiffResult diff(const Bytes& a, const Bytes& b) {
  const Result<Artifact> left = inspect_bytes(a, "a"), right = inspect_bytes(b, "b");
  EXPECT_TRUE(left.ok() && right.ok());
  DiffResult out;
  if (left.ok() && right.ok()) out = diff_artifacts(*left, *right);
  return out;
}

Bytes cdo(const Config& config) {
  return format::write_cdo(config.commands());
}

// Every core of the array with two locks, a chain and a program.
Config base_config(const std::vector<std::string>& program = {"mova r9, #47"}) {
  Config config;
  for (int col = 0; col < 8; ++col) {
    for (int row = 2; row < 6; ++row) {
      config.program(col, row, test::program_of(program, 64));
      config.lock(col, row, 0, 2);
      config.lock(col, row, 1, 0);
      config.ring(col, row, Direction::kS2mm, 0, {{0, 1}, {0xA000, 0xA800}, 512, {0}, {1}, {}});
      config.enable(col, row);
    }
  }
  return config;
}

using Differences = std::vector<Difference>;

TEST(Diff, EqualBytesHaveNone) {
  const Bytes bytes = cdo(base_config());
  EXPECT_TRUE(diff(bytes, bytes).equal());
}

TEST(Diff, LockValueOfOneTile) {
  Config changed = base_config();
  changed.lock(3, 4, 0, 5);
  EXPECT_EQ(diff(cdo(base_config()), cdo(changed)).differences,
            (Differences{{"core (3,4) lock 0", "initial value", "2", "5"}}));
}

TEST(Diff, TheSameChangeOfManyTilesIsToldOnce) {
  Config changed = base_config();
  for (int col = 0; col < 8; ++col) changed.lock(col, 3, 1, 1);
  EXPECT_EQ(diff(cdo(base_config()), cdo(changed)).differences,
            (Differences{{"core (0-7,3) lock 1", "initial value", "0", "1"}}));
}

TEST(Diff, LengthAndLockOfABd) {
  Config changed = base_config();
  arch::Bd bd;
  bd.address = 0xA000;
  bd.length = 256;
  bd.use_next = true;
  bd.next = 1;
  bd.acquire = true;
  bd.acquire_value = -2;
  bd.release_lock = 1;
  bd.release_value = 1;
  changed.bd(0, 2, 0, bd);
  EXPECT_EQ(diff(cdo(base_config()), cdo(changed)).differences,
            (Differences{{"core (0,2) BD 0", "length", "512", "256"},
                         {"core (0,2) BD 0", "acquire", "lock 0 by -1", "lock 0 by -2"}}));
}

TEST(Diff, Instruction) {
  const DiffResult result = diff(cdo(base_config()), cdo(base_config({"mova r9, #31"})));
  EXPECT_EQ(result.differences,
            (Differences{{"core (0-7,2-5) program", "instruction at 0x0", "mova r9, #47", "mova r9, #31"}}));
}

TEST(Diff, InsertedInstruction) {
  const Bytes a = cdo(base_config({"mova r9, #47", "nop"})),
              b = cdo(base_config({"mova r1, #3", "mova r9, #47"}));
  const DiffResult result = diff(a, b);
  ASSERT_FALSE(result.differences.empty());
  EXPECT_EQ(result.differences[0],
            (Difference{"core (0-7,2-5) program", "instruction before 0x0", "", "mova r1, #3"}));
}

TEST(Diff, RouteAndWay) {
  Config a, b;
  a.connect(0, 2, test::port(PortKind::kDma, 0), test::port(PortKind::kNorth, 0));
  a.connect(0, 3, test::port(PortKind::kSouth, 0), test::port(PortKind::kDma, 0));
  b.connect(0, 2, test::port(PortKind::kDma, 0), test::port(PortKind::kNorth, 0));
  b.connect(0, 3, test::port(PortKind::kSouth, 0), test::port(PortKind::kDma, 1));
  EXPECT_EQ(diff(cdo(a), cdo(b)).differences, (Differences{{"stream of core (0,2) MM2S0", "route to",
                                                            "S2MM0 of core (0,3)", "S2MM1 of core (0,3)"}}));
  Config c;
  c.connect(0, 2, test::port(PortKind::kDma, 0), test::port(PortKind::kNorth, 1));
  c.connect(0, 3, test::port(PortKind::kSouth, 1), test::port(PortKind::kDma, 0));
  const DiffResult way = diff(cdo(a), cdo(c));
  ASSERT_EQ(way.differences.size(), 1u);
  EXPECT_EQ(way.differences[0].what, "way");
}

TEST(Diff, TaskEnableDataAndMux) {
  Config a, b;
  a.start(0, 2, Direction::kMm2s, 0, 1);
  b.start(0, 2, Direction::kMm2s, 0, 2);
  b.enable(0, 2);
  a.write(0, 2, 0x1800, 1);
  b.write(0, 2, 0x1800, 0x201);
  b.mask(0, 0, arch::kShimMux, 0xC00, 0x400);
  const DiffResult result = diff(cdo(a), cdo(b));
  const auto has = [&](const Difference& d) {
    return std::find(result.differences.begin(), result.differences.end(), d) != result.differences.end();
  };
  EXPECT_TRUE(has({"core (0,2) MM2S0", "tasks", "BD 1, 1 times", "BD 2, 1 times"}));
  EXPECT_TRUE(has({"core (0,2)", "enabled", "no", "yes"}));
  EXPECT_TRUE(has({"core (0,2) data at 0x1801", "bytes", "00 00 00", "02 00 00"}));
  EXPECT_TRUE(has({"shim (0,0) MUX_CONFIG", "value", "", "0x400"}));
}

TEST(Diff, PatchTableOfAStream) {
  const auto stream = [](u32 length, u64 offset, u32 lock) {
    format::TxnWriter out;
    test::put(out,
              {2, Direction::kMm2s, 0, 3, {length, 0, 0, 0, 0, 0, 0, 0x02000000}, 1, offset, 0x80000003});
    out.write32(arch::tile_address(1, 2, arch::lock_offset(TileKind::kCore, 6)), lock);
    test::wait(out, 2, Direction::kMm2s, 0);
    return out.finish();
  };
  const DiffResult result = diff(stream(128, 0, 1), stream(256, 64, 2));
  EXPECT_EQ(
      result.differences,
      (Differences{{"stream op 0 at 0x10", "length of BD 3 of shim (2,0)", "0x80", "0x100"},
                   {"stream op 1 at 0x40", "offset into argument 1 for BD 3 of shim (2,0)", "0x0", "0x40"},
                   {"stream op 4 at 0xa4", "value of core (1,2) LOCK6_VALUE", "0x1", "0x2"}}));
  EXPECT_TRUE(result.patchable);
  ASSERT_EQ(result.patches.size(), 3u);
  // The table does what it says.
  Bytes patched = stream(128, 0, 1);
  for (const PatchWord& patch : result.patches) {
    EXPECT_EQ(load_le<u32>(patched.data() + patch.offset), patch.a);
    store_le<u32>(patched.data() + patch.offset, patch.b);
  }
  EXPECT_EQ(patched, stream(256, 64, 2));
}

TEST(Diff, OpsAddedAndRemoved) {
  format::TxnWriter a, b;
  for (u32 i = 0; i < 5; ++i) a.write32(arch::tile_address(0, 2, 0x100 + 4 * i), i);
  for (u32 i = 0; i < 5; ++i) {
    if (i != 1) b.write32(arch::tile_address(0, 2, 0x100 + 4 * i), i);
    if (i == 3) b.write32(arch::tile_address(0, 2, 0x200), 9);
  }
  const DiffResult result = diff(a.finish(), b.finish());
  EXPECT_FALSE(result.patchable);
  EXPECT_EQ(result.differences,
            (Differences{{"stream op 1", "op", "write core (0,2) DATAMEMORY+0x104 = 0x1", ""},
                         {"stream before op 4", "op", "", "write core (0,2) DATAMEMORY+0x200 = 0x9"}}));
}

TEST(Diff, ContainerAndUnnamedBytes) {
  const Bytes pdi = format::write_pdi(base_config().commands());
  format::XclbinContent content;
  content.pdi = pdi;
  const Bytes a = format::write_xclbin(content);
  content.version_patch = 80;
  const DiffResult versions = diff(a, format::write_xclbin(content));
  ASSERT_FALSE(versions.differences.empty());
  EXPECT_EQ(versions.differences[0], (Difference{"xclbin", "version", "2.21.75", "2.21.80"}));
  Bytes key = a;
  key[0x30] ^= 0xFF;  // key block
  const DiffResult rest = diff(a, key);
  ASSERT_EQ(rest.differences.size(), 1u);
  EXPECT_EQ(rest.differences[0].place, "file");
  EXPECT_NE(rest.differences[0].what.find("byte 0x30"), std::string::npos);
}

TEST(Diff, XclbinAgainstItsPdiDiffersInKindOnly) {
  const Bytes pdi = format::write_pdi(base_config().commands());
  EXPECT_EQ(diff(test::xclbin_of(base_config().commands()), pdi).differences,
            (Differences{{"file", "kind", "xclbin", "PDI"}}));
}

TEST(Diff, Tensors) {
  const auto file = [](u8 value, u64 rows) {
    format::SafetensorsWriter writer;
    const std::vector<u64> shape = {rows, 4};
    writer.add("w", format::SafetensorsType::kI8, shape, Bytes(rows * 4, value));
    return writer.finish();
  };
  EXPECT_EQ(diff(file(1, 2), file(2, 2)).differences,
            (Differences{{"tensor w", "data", "", "8 of 8 bytes differ, the first at byte 0"}}));
  const DiffResult shapes = diff(file(1, 2), file(1, 3));
  ASSERT_FALSE(shapes.differences.empty());
  EXPECT_EQ(shapes.differences[0], (Difference{"tensor w", "type and shape", "I8 [2 4]", "I8 [3 4]"}));
}

TEST(Diff, ElfProgramAndPatches) {
  const DiffResult core = diff(test::core_elf(test::program_of({"mova r9, #47"}, 32)),
                               test::core_elf(test::program_of({"mova r9, #31"}, 32)));
  EXPECT_EQ(core.differences,
            (Differences{{"section .text", "content", "", "differs"},
                         {"program", "instruction at 0x0", "mova r9, #47", "mova r9, #31"}}));
}

// The alignment is a longest common subsequence; compare with the quadratic table on random sequences.
TEST(DiffAlign, FindsALongestCommonSubsequence) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    std::vector<u64> a(random() % 30), b(random() % 30);
    for (u64& x : a) x = random() % 4;
    for (u64& x : b) x = random() % 4;
    std::vector<std::vector<size_t>> longest(a.size() + 1, std::vector<size_t>(b.size() + 1, 0));
    for (size_t i = 1; i <= a.size(); ++i) {
      for (size_t j = 1; j <= b.size(); ++j) {
        longest[i][j] =
            a[i - 1] == b[j - 1] ? longest[i - 1][j - 1] + 1 : std::max(longest[i - 1][j], longest[i][j - 1]);
      }
    }
    const auto matches = align(a, b, 100);
    EXPECT_EQ(matches.size(), longest[a.size()][b.size()]);
    for (size_t i = 0; i < matches.size(); ++i) {
      EXPECT_EQ(a[matches[i].first], b[matches[i].second]);
      if (i == 0) continue;
      EXPECT_TRUE(matches[i].first > matches[i - 1].first && matches[i].second > matches[i - 1].second);
    }
  }
}

TEST(DiffAlign, GivesUpOnTheMiddleOnly) {
  std::vector<u64> a, b;
  for (u64 i = 0; i < 100; ++i) a.push_back(i), b.push_back(i < 10 || i >= 90 ? i : 1000 + i);
  EXPECT_EQ(align(a, b, 5).size(), 20u);
}

}  // namespace
}  // namespace tegula::cli
