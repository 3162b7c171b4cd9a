// Damaged artifacts: every prefix of small ones, random prefixes of a large one, and single changed bytes
// give an error or a sound listing, with no allocation larger than a few times the file.
#include <gtest/gtest.h>

#include <random>

#include "cli/allocation_watch.h"
#include "cli/artifact.h"
#include "cli/inspect/diff.h"
#include "cli/inspect/inspect.h"
#include "cli/worked_examples.h"
#include "format/damage.h"
#include "format/elf_sample.h"
#include "format/safetensors.h"
#include "isa/assembler.h"
#include "isa/lint.h"
#include "isa/listing.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using test::Config;

// The model of the array alone takes this, whatever the file.
constexpr size_t kFixedBytes = 512 * 1024;
constexpr size_t kTimesFile = 8;

// Shows whatever can be read. Every route, chain and wait must be inside the array.
void check(const Bytes& bytes) {
  test::g_largest_allocation = 0;
  const Result<Artifact> artifact = inspect_bytes(bytes, "damaged");
  if (!artifact.ok()) {
    test::expect_message(artifact.error());
  } else {
    for (const Error& problem : artifact->problems) test::expect_message(problem);
    for (const ArrayFacts& array : artifact->arrays) {
      EXPECT_LE(array.writes.named, array.writes.commands);
      for (const Route& route : array.routes.routes)
        EXPECT_TRUE(!route.ends.empty() || !route.problems.empty());
    }
    for (const StreamFacts& stream : artifact->streams) {
      EXPECT_LE(stream.stream.header.size, bytes.size());
      EXPECT_LE(stream.unwaited, stream.transfers.size());
    }
  }
  EXPECT_LE(test::g_largest_allocation.load(), kFixedBytes + kTimesFile * bytes.size());
  if (artifact.ok()) (void)to_text(*artifact, {});
}

// One column with a chain in each kind of tile.
Config small_config() {
  Config config;
  config.program(0, 2, test::program_of({"mova r9, #47", "mova r1, #1"}, 64));
  test::example1_core(config, 0, 2);
  test::example1_mem(config, 0);
  test::example1_routes(config, 4);
  config.enable(0, 2);
  return config;
}

Bytes small_stream() {
  format::TxnWriter out;
  for (u32 i = 0; i < 8; ++i) {
    test::put(out, {static_cast<int>(i),
                    Direction::kMm2s,
                    0,
                    3,
                    {128, 0, 0, 0, 0, 0, 0, 0x02000000},
                    i % 3,
                    64 * i,
                    0x80000003});
  }
  for (int i = 0; i < 8; ++i) test::wait(out, i, Direction::kMm2s, 0);
  return out.finish();
}

struct Small {
  const char* name;
  Bytes bytes;
};

constexpr size_t kSmallArtifacts = 9;

std::vector<Small> small_artifacts() {
  std::vector<Small> out;
  const Config config = small_config();
  const Bytes xclbin = test::xclbin_of(config.commands());
  out.push_back({"xclbin", xclbin});
  const auto container = format::read_xclbin(xclbin);
  if (container.ok()) {
    const ByteSpan partition = container->find(format::XclbinKind::kAiePartition)->data;
    out.push_back({"partition", Bytes(partition.begin(), partition.end())});
  }
  out.push_back({"pdi", format::write_pdi(config.commands())});
  out.push_back({"cdo", format::write_cdo(config.commands())});
  out.push_back({"stream", small_stream()});
  out.push_back({"control elf", test::control_elf(small_stream())});
  out.push_back({"core elf", test::core_elf(test::program_of({"mova r9, #47"}, 256))});
  format::SafetensorsWriter tensors;
  const std::vector<u64> shape = {2, 4};
  tensors.add("w", format::SafetensorsType::kI8, shape, Bytes(8, 1));
  out.push_back({"safetensors", tensors.finish()});
  const std::string tokenizer =
      R"({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}, "added_tokens": [{"special": true}]})";
  out.push_back({"tokenizer", Bytes(tokenizer.begin(), tokenizer.end())});
  return out;
}

TEST(InspectDamage, SmallArtifactsAreSmallAndWhole) {
  const std::vector<Small> artifacts = small_artifacts();
  ASSERT_EQ(artifacts.size(), kSmallArtifacts);
  for (const Small& small : artifacts) {
    EXPECT_LE(small.bytes.size(), 8192u) << small.name;
    const Result<Artifact> artifact = inspect_bytes(small.bytes, small.name);
    ASSERT_TRUE(artifact.ok()) << small.name << ": " << artifact.error().message;
    EXPECT_TRUE(artifact->problems.empty()) << small.name;
  }
}

TEST(InspectDamage, EveryPrefixOfSmallArtifacts) {
  for (const Small& small : small_artifacts()) {
    SCOPED_TRACE(small.name);
    test::each_prefix(small.bytes, [](const Bytes& copy) { check(copy); });
  }
}

// One test an artifact, so that they run side by side.
class InspectMutations : public testing::TestWithParam<size_t> {};

TEST_P(InspectMutations, GiveAnErrorOrASoundListing) {
  const Small small = small_artifacts().at(GetParam());
  SCOPED_TRACE(small.name);
  test::each_mutation(small.bytes, test::kMutations, [](const Bytes& copy, u64) { check(copy); });
}

INSTANTIATE_TEST_SUITE_P(SmallArtifacts, InspectMutations, testing::Range(size_t{0}, kSmallArtifacts));

TEST(InspectDamage, RandomPrefixesOfALargeOne) {
  const Bytes bytes = test::xclbin_of(test::example1(test::program_of({"mova r9, #47"}, 2016)).commands());
  std::mt19937 random(5);
  for (int i = 0; i < 500; ++i) {
    Bytes copy(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(random() % bytes.size()));
    check(copy);
    // With the length made to fit, sections and PDI are looked into.
    if (copy.size() >= 0x138) store_le<u64>(copy.data() + 0x130, copy.size());
    check(copy);
  }
}

// Listing, assembler and lint of whatever programs are found. The listing assembles back to the program.
void check_programs(const Bytes& bytes, bool raw) {
  test::g_largest_allocation = 0;
  size_t size = bytes.size();
  ProgramOptions options;
  options.raw = raw;
  const auto programs = choose_programs(bytes, options, false);
  if (!programs.ok()) {
    test::expect_message(programs.error());
    return;
  }
  for (const TileProgram& program : *programs) {
    const isa::Listing listing(program.code);
    std::string text;
    listing.append_text(text);
    const auto back = isa::assemble_program(text, "listing");
    ASSERT_TRUE(back.ok()) << back.error().message;
    EXPECT_EQ(back->code, program.code);
    const auto placed = isa::place(program.code);
    if (placed.ok()) (void)isa::lint(*placed, {});
    size = std::max(size, program.code.size());  // a small file can write to the end of the program memory
  }
  EXPECT_LE(test::g_largest_allocation.load(), kFixedBytes + kTimesFile * size);
}

Bytes small_program() {
  return test::program_of(
      {"mova r0, #49", "acq r0, r1", "vlda x0, [p0, #0];vldb x2, [p1, #0]", "jl #64", "nop", "nop", "nop",
       "nop", "add r1, r2, r3", "ret lr", "nop", "nop", "nop", "nop", "nop"},
      96);
}

TEST(ProgramDamage, EveryPrefix) {
  test::each_prefix(small_program(), [](const Bytes& copy) { check_programs(copy, true); });
  test::each_prefix(test::xclbin_of(small_config().commands()),
                    [](const Bytes& copy) { check_programs(copy, false); });
}

TEST(ProgramDamage, Mutations) {
  test::each_mutation(small_program(), test::kMutations,
                      [](const Bytes& copy, u64) { check_programs(copy, true); });
  test::each_mutation(format::write_cdo(small_config().commands()), test::kMutations,
                      [](const Bytes& copy, u64) { check_programs(copy, false); });
}

TEST(ProgramDamage, RandomPrefixesOfALargeOne) {
  std::mt19937 random(6);
  Bytes large;
  while (large.size() < arch::kCoreProgramBytes) {
    const Bytes part = small_program();
    large.insert(large.end(), part.begin(), part.end());
    if (random() % 2 == 0) large.push_back(static_cast<u8>(random()));
  }
  for (int i = 0; i < 1000; ++i) {
    const Bytes copy(large.begin(), large.begin() + static_cast<std::ptrdiff_t>(random() % large.size()));
    check_programs(copy, true);
  }
}

// Source text that was damaged: an error with a place, or a program.
TEST(ProgramDamage, Source) {
  std::string text = ".tile 0,2\n.set n, 5\n";
  isa::Listing(small_program(), {.bytes = true}).append_text(text);
  text += ".align 16\n.word n, 0x10\nmova r1, #n+1\n";
  const Bytes source(text.begin(), text.end());
  const auto check_source = [](const Bytes& copy) {
    const std::string_view view(reinterpret_cast<const char*>(copy.data()), copy.size());
    const auto program = isa::assemble_program(view, "t.s");
    if (program.ok()) {
      EXPECT_LE(program->code.size(), isa::kMaxProgramBytes);
    } else {
      EXPECT_EQ(program.error().message.rfind("t.s:", 0), 0u) << program.error().message;
    }
  };
  test::each_prefix(source, check_source);
  test::each_mutation(source, test::kMutations, [&](const Bytes& copy, u64) { check_source(copy); });
}

// A JSON of brackets is refused before it grows anything.
TEST(InspectDamage, NestingWithoutEnd) {
  std::string text = R"({"model": {"vocab": )";
  text.append(1000000, '[');
  check(Bytes(text.begin(), text.end()));
}

// Waits over 255 x 255 tiles, a million times: bounded by the array, not by the numbers.
TEST(InspectDamage, HugeRectanglesOfWaits) {
  format::TxnWriter out;
  for (int i = 0; i < 20000; ++i) out.token_wait(0, 0, 255, 255, format::TxnDirection::kMm2s, 0);
  check(out.finish());
}

TEST(InspectDamage, DiffOfDamagedConfigurations) {
  const Bytes cdo = format::write_cdo(small_config().commands());
  const Result<Artifact> whole = inspect_bytes(cdo, "whole");
  ASSERT_TRUE(whole.ok());
  int different = 0;
  test::each_mutation(cdo, 500, [&](const Bytes& copy, u64) {
    const Result<Artifact> damaged = inspect_bytes(copy, "damaged");
    if (!damaged.ok()) return;
    EXPECT_FALSE(diff_artifacts(*whole, *damaged).equal());
    ++different;
  });
  EXPECT_GT(different, 100);
}

}  // namespace
}  // namespace tegula::cli
