// tegula inspect: facts of configurations, streams and other artifacts.
#include "cli/inspect/inspect.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/inspect/summary.h"
#include "cli/inspect/words.h"
#include "cli/worked_examples.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/matmul_kernel.h"
#include "format/elf_sample.h"
#include "format/gguf_writer.h"
#include "format/safetensors.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::PortKind;
using arch::TileKind;
using nlohmann::json;
using test::Config;

Artifact read(const Bytes& bytes, const std::string& path = "sample") {
  Result<Artifact> artifact = inspect_bytes(bytes, path);
  EXPECT_TRUE(artifact.ok()) << artifact.error().message;
  return artifact.ok() ? std::move(*artifact) : Artifact();
}

void expect_lines(const std::string& text, const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    EXPECT_NE(text.find("\n" + line + "\n"), std::string::npos) << "missing: " << line << "\nin:\n" << text;
  }
}

std::vector<std::string> lines_of(const RouteMap& map) {
  std::vector<std::string> out;
  for (const RouteLine& line : route_lines(map)) out.push_back(line.text);
  return out;
}

// ------------------------------------------------------------- the worked examples

TEST(Inspect, FirstWorkedExampleArray) {
  const Bytes file = test::xclbin_of(test::example1(test::program_of({"mova r9, #47"}, 2016)).commands());
  const Artifact artifact = read(file);
  ASSERT_EQ(artifact.arrays.size(), 1u);
  const ArrayFacts& array = artifact.arrays[0];
  EXPECT_EQ(array.cores(), 32);
  EXPECT_EQ(array.enabled_cores(), 32);
  ASSERT_EQ(array.programs.size(), 1u);
  EXPECT_EQ(array.programs[0].written, 2016u);
  EXPECT_EQ(array.writes.named, array.writes.commands);
  expect_lines(
      to_text(artifact, {}),
      {"partition: 8 columns wide, may start at column 0, 1 PDI", "PDI: 32 cores with 1 program, 32 enabled",
       "  mem (0-7,1)", "    locks: 0 = 1, 2 = 1, 4 = 1, 6 = 1, 8 = 6, others 0",
       "    S2MM0: BD 0 -> 1 -> 2 -> 3 -> 4 -> 5 -> 0 for ever",
       "      BD 5: receive 2048 words into 0x9a000 (own 0x1a000), take lock 72 (own 8), give lock 73 (own "
       "9), then BD 0",
       "    MM2S1: BD 26 -> 27 -> 28 -> 29 -> 26 for ever",
       "      BD 29: send 4096 words from 0x8c000 (own 0xc000), take lock 71 (own 7), give lock 70 (own 6), "
       "then BD 26",
       "  core (0-7,2-5)", "    program A, 2016 bytes, enabled", "    locks: 0 = 2, 2 = 2, 4 = 1, others 0",
       "    S2MM0: BD 0 -> 1 -> 0 for ever",
       "      BD 0: receive 512 words into 0xa000, take lock 0, give lock 1, then BD 1",
       "      BD 3: receive 2048 words into 0x8000, take lock 2, give lock 3, then BD 2",
       "      BD 4: send 4096 words from 0x2000, take lock 5, give lock 4, then BD 4"});
}

TEST(Inspect, FirstWorkedExampleRoutes) {
  const ArrayFacts array = array_facts(test::example1(test::program_of({}, 16)).commands());
  EXPECT_EQ(
      lines_of(array.routes),
      (std::vector<std::string>{
          "shim (c,0) TileCtrl, packets 15 -> controller of shim (c,0), c = 0-7",
          "shim (0,0) MM2S0 -> S2MM0 of core (0-7,2)", "shim (c,0) MM2S1 -> S2MM0 of mem (c,1), c = 0-3",
          "shim (1,0) MM2S0 -> S2MM0 of core (0-7,3)", "shim (2,0) MM2S0 -> S2MM0 of core (0-7,4)",
          "shim (3,0) MM2S0 -> S2MM0 of core (0-7,5)", "shim (c,0) MM2S0 -> S2MM0 of mem (c,1), c = 4-7",
          "mem (c,1) MM2S0 -> S2MM1 of core (c,2-5), c = 0-7",
          "mem (c,1) MM2S1 -> S2MM0 of shim (c,0), c = 0-7",
          "core (c,2) MM2S0 -> S2MM1 of mem (c,1), c = 0-7",
          "core (c,3) MM2S0 -> S2MM2 of mem (c,1), c = 0-7",
          "core (c,4) MM2S0 -> S2MM3 of mem (c,1), c = 0-7",
          "core (c,5) MM2S0 -> S2MM4 of mem (c,1), c = 0-7"}));
  EXPECT_TRUE(array.routes.unreached.empty());
  EXPECT_EQ(array.routes.broken_links, 0u);
  // The chain that the example spells out, port numbers as in the registers.
  const Route& a0 = array.routes.routes[1];
  const std::vector<std::string> hops = hop_texts(a0);
  ASSERT_GE(hops.size(), 3u);
  EXPECT_EQ(hops[0], "shim (0,0): South3 (5) -> North1 (13)");
  EXPECT_EQ(hops[1], "mem (0,1): South1 (8) -> North1 (12)");
  EXPECT_EQ(hops[2], "core (0,2): South1 (6) -> DMA0 (1)");
}

TEST(Inspect, FirstWorkedExampleStream) {
  const Bytes bytes = test::example1_stream();
  const Artifact artifact = read(bytes);
  ASSERT_EQ(artifact.streams.size(), 1u);
  const StreamFacts& stream = artifact.streams[0];
  EXPECT_EQ(bytes.size(), 95792u);
  EXPECT_EQ(stream.stream.ops.size(), 2920u);
  EXPECT_EQ(stream.bds, 584u);
  EXPECT_EQ(stream.most_in_flight, 60u);
  EXPECT_EQ(stream.unwaited, 0u);
  EXPECT_FALSE(stream.header_damaged);
  ASSERT_EQ(stream.phases.size(), 3u);
  EXPECT_EQ(stream.phases[0].repeat, 9u);
  EXPECT_EQ(stream.phases[0].ops, 300u);
  EXPECT_EQ(stream.phases[0].waits, 60u);
  EXPECT_EQ(stream.phases[1].ops, 180u);
  EXPECT_EQ(stream.phases[1].waits, 36u);
  EXPECT_EQ(stream.phases[2].ops, 40u);
  ASSERT_EQ(stream.arguments.size(), 3u);
  EXPECT_EQ(stream.arguments[0].read_bytes, 128u * 3072);       // A
  EXPECT_EQ(stream.arguments[1].read_bytes, 3072u * 1024);      // B
  EXPECT_EQ(stream.arguments[2].write_bytes, 128u * 1024 * 4);  // C
  EXPECT_EQ(stream.arguments[2].reads, 0u);
  for (const ChannelUse& use : stream.channels) EXPECT_LE(use.most_in_flight, 5u);
  const ArrayFacts array = array_facts(test::example1(test::program_of({}, 16)).commands());
  EXPECT_EQ(op_text(stream.stream, stream.stream.ops[0]),
            "block write shim (0,0) BD 0: 128 words at 0x0 as D0 2 x1, D1 8 x768, D2 x2, moving by 6144 "
            "words at each of 4 loads");
  EXPECT_EQ(op_text(stream.stream, stream.stream.ops[3]),
            "write shim (0,0) DMA_MM2S_0_TASK_QUEUE = 0x80030000: start BD 0 on MM2S0, 4 times, with token");
}

TEST(Inspect, SecondWorkedExample) {
  const ArrayFacts array = array_facts(test::example2(test::program_of({}, 64)).commands());
  const std::vector<std::string> lines = lines_of(array.routes);
  const auto has = [&](const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) != lines.end();
  };
  EXPECT_TRUE(has("shim (c,0) MM2S1 -> S2MM1 of mem (c,1) (no task queued), c = 0-7"));
  EXPECT_TRUE(has("mem (c,1) MM2S3 -> S2MM0 of core (c,5), c = 0-7"));
  EXPECT_TRUE(has("core (c,2) MM2S0 -> S2MM2 of mem (c,1), c = 0-7"));
  EXPECT_TRUE(has("mem (c,1) MM2S5 -> S2MM0 of shim (c,0), c = 0-7"));
  for (const Route& route : array.routes.routes) {
    for (const RouteEnd& end : route.ends)
      EXPECT_EQ(end.tile.col, route.tile.col) << "columns do not talk to each other";
  }
  const Bytes file = test::xclbin_of(test::example2(test::program_of({}, 64)).commands());
  expect_lines(to_text(read(file), {}), {"    S2MM0: BD 0 -> 1 -> 0 for ever",
                                         "      BD 0: receive 5120 words into 0xa0000 (own 0x20000), take "
                                         "lock 69 (own 5), give lock 70 (own 6), then BD 1",
                                         "      BD 26: send 1280 words from 0xa3c00 (own 0x23c00), take lock "
                                         "73 (own 9), give lock 69 (own 5), then BD 27",
                                         "      BD 30: receive 4096 words into 0x8c000 (own 0xc000) as D0 4 "
                                         "x1, D1 8 x128, D2 32 x4, D3 x1024, take lock 67 "
                                         "(own 3), give lock 68 (own 4), then BD 31",
                                         "    locks: 0 = 2, 5 = 2, others 0", "    data at 0x1800, 2 bytes",
                                         "    data at 0x1804, 4 bytes", "    data at 0x1808, 36 bytes"});
}

// ------------------------------------------------------------- our own compiler's configuration

TEST(Inspect, CompiledConfigurationIsWhole) {
  compiler::MatmulConfig config;
  config.number = compiler::Number::kInt8;
  config.kc = 8;
  config.nc = 2;
  config.max_row_blocks = 1;
  const auto program = compiler::matmul_kernel(config);
  ASSERT_TRUE(program.ok()) << program.error().message;
  const auto commands = compiler::matmul_array(config, program->code);
  ASSERT_TRUE(commands.ok()) << commands.error().message;
  const ArrayFacts array = array_facts(*commands);
  EXPECT_EQ(array.cores(), 32);
  ASSERT_EQ(array.programs.size(), 1u);
  EXPECT_EQ(array.writes.named, array.writes.commands);
  EXPECT_EQ(array.routes.broken_links, 0u);
  EXPECT_TRUE(array.routes.unreached.empty());
  for (const Route& route : array.routes.routes) EXPECT_TRUE(route.complete()) << route_text(route);
  const compiler::MatmulLayout layout(config, {64, 128});
  const compiler::MatmulPass pass(config, layout, 8);
  const compiler::MatmulRun run{.layout = layout, .pass = pass};
  const auto stream = compiler::matmul_stream(config, std::span(&run, 1));
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  const StreamFacts facts = read(*stream).streams[0];
  EXPECT_EQ(facts.empty_waits, 0u);
  EXPECT_EQ(facts.named_writes, facts.register_writes);
  u64 weights = 0, results = 0;
  for (const ArgumentFacts& argument : facts.arguments) {
    if (argument.argument == compiler::kArgWeights) weights = argument.read_bytes;
    if (argument.argument == compiler::kArgResults) results = argument.write_bytes;
  }
  EXPECT_EQ(weights, static_cast<u64>(layout.weight_bytes));
  EXPECT_EQ(results, static_cast<u64>(pass.c_bytes()));
}

// ------------------------------------------------------------- routes that go wrong

RouteMap trace(const Config& config) {
  ArrayState state;
  state.apply(config.commands());
  return trace_routes(state);
}

TEST(InspectRoutes, DeadEndsAreNamed) {
  Config config;
  config.connect(0, 2, test::port(PortKind::kDma, 0), test::port(PortKind::kNorth, 0));
  const RouteMap map = trace(config);
  ASSERT_EQ(map.routes.size(), 1u);
  ASSERT_EQ(map.routes[0].problems.size(), 1u);
  EXPECT_EQ(map.routes[0].problems[0], "core (0,3) slave South0 is not enabled");
  EXPECT_FALSE(map.routes[0].complete());
  EXPECT_EQ(map.links, 1u);
  EXPECT_EQ(map.broken_links, 1u);
}

// In circuit mode every port has one source, so no stream can enter a circle: its ports are merely unreached.
TEST(InspectRoutes, CircuitCircleIsUnreached) {
  Config config;
  config.connect(0, 2, test::port(PortKind::kEast, 0), test::port(PortKind::kEast, 0));
  config.connect(1, 2, test::port(PortKind::kWest, 0), test::port(PortKind::kWest, 0));
  const RouteMap map = trace(config);
  EXPECT_TRUE(map.routes.empty());
  EXPECT_EQ(map.unreached.size(), 4u);
  EXPECT_EQ(map.broken_links, 0u);
}

TEST(InspectRoutes, PacketCircleIsFound) {
  Config config;
  const TileKind core = TileKind::kCore;
  const auto slave = [&](int col, arch::Port from) {
    const int number = arch::slave_number(core, from);
    config.write(col, 2, arch::slave_offset(core, number), arch::packet_slave());
    config.write(col, 2, arch::slot_offset(core, number, 0), arch::packet_slot({true, 1, 0x1F, 0, 0}));
  };
  const auto master = [&](int col, arch::Port to) {
    config.write(col, 2, arch::master_offset(core, arch::master_number(core, to)),
                 arch::packet_master({0, 1, false}));
  };
  slave(0, test::port(PortKind::kDma, 0));
  slave(0, test::port(PortKind::kEast, 0));
  slave(1, test::port(PortKind::kWest, 0));
  master(0, test::port(PortKind::kEast, 0));
  master(1, test::port(PortKind::kWest, 0));
  const RouteMap map = trace(config);
  ASSERT_EQ(map.routes.size(), 1u);
  ASSERT_EQ(map.routes[0].problems.size(), 1u);
  EXPECT_EQ(map.routes[0].problems[0], "runs in a circle at core (1,2) slave West0");
}

TEST(InspectRoutes, ShimNeedsItsMultiplexers) {
  Config config;
  config.connect(0, 1, test::port(PortKind::kDma, 0), test::port(PortKind::kSouth, 0));
  config.connect(0, 0, test::port(PortKind::kNorth, 0), test::port(PortKind::kSouth, 2));
  RouteMap map = trace(config);
  ASSERT_EQ(map.routes.size(), 1u);
  ASSERT_EQ(map.routes[0].problems.size(), 1u);
  EXPECT_NE(map.routes[0].problems[0].find("DEMUX_CONFIG"), std::string::npos);
  config.mask(0, 0, arch::kShimDemux, 0x30, 0x10);
  map = trace(config);
  EXPECT_TRUE(map.routes[0].complete());
  EXPECT_EQ(end_text(map.routes[0].ends[0]), "S2MM0 of shim (0,0)");
}

TEST(InspectRoutes, PacketsGoByTheirId) {
  Config config;
  const TileKind core = TileKind::kCore;
  config.write(0, 2, arch::slave_offset(core, 1), arch::packet_slave());
  config.write(0, 2, arch::slot_offset(core, 1, 0), arch::packet_slot({true, 4, 0x1E, 0, 0}));  // ids 4 and 5
  config.write(0, 2, arch::slot_offset(core, 1, 1), arch::packet_slot({true, 9, 0x1F, 1, 2}));
  config.write(0, 2, arch::master_offset(core, 13), arch::packet_master({0, 1, false}));  // North0
  config.write(0, 2, arch::master_offset(core, 1), arch::packet_master({2, 2, true}));    // DMA0
  config.write(0, 3, arch::slave_offset(core, 5), arch::packet_slave());                  // South0
  config.write(0, 3, arch::slot_offset(core, 5, 0), arch::packet_slot({true, 5, 0x1F, 0, 0}));
  config.write(0, 3, arch::master_offset(core, 2), arch::packet_master({0, 1, true}));  // DMA1
  const RouteMap map = trace(config);
  ASSERT_EQ(map.routes.size(), 2u);
  EXPECT_EQ(route_text(map.routes[0]),
            "core (0,2) MM2S0, packets 5 (mask 0x1e) -> S2MM1 of core (0,3) (no task queued)");
  EXPECT_EQ(route_text(map.routes[1]), "core (0,2) MM2S0, packets 9 -> S2MM0 of core (0,2) (no task queued)");
  EXPECT_TRUE(map.routes[0].ends[0].drop_header);
  EXPECT_EQ(map.spare_ids, (std::vector<std::string>{"core (0,2) MM2S0: 4"}));
  // A BD that sends id 4 makes it a stream that goes nowhere.
  arch::Bd bd;
  bd.length = 4;
  bd.packet = true;
  bd.packet_id = 4;
  config.bd(0, 2, 0, bd);
  config.start(0, 2, Direction::kMm2s, 0, 0);
  const RouteMap sent = trace(config);
  EXPECT_TRUE(sent.spare_ids.empty());
  ASSERT_EQ(sent.routes.size(), 3u);
  EXPECT_EQ(sent.routes[0].problems[0], "core (0,3) slave South0 has no slot for packet id 4");
}

TEST(InspectRoutes, PortsWithoutASourceAreListed) {
  Config config;
  config.connect(3, 4, test::port(PortKind::kSouth, 2), test::port(PortKind::kDma, 1));
  const RouteMap map = trace(config);
  EXPECT_TRUE(map.routes.empty());
  EXPECT_EQ(map.unreached, (std::vector<std::string>{"core (3,4) slave South2", "core (3,4) master DMA1"}));
}

// ------------------------------------------------------------- register writes

TEST(InspectWrites, UnknownRegistersAreCounted) {
  Config config;
  config.write(0, 2, 0x1F000, 1);
  config.write(0, 2, 0x1C000, 1);       // nothing there
  config.write(0, 9, 0x1F000, 1);       // no such row
  config.block(0, 2, 0x1DFF8, {1, 2});  // a hole
  const ArrayFacts array = array_facts(config.commands());
  EXPECT_EQ(array.writes.commands, 4u);
  EXPECT_EQ(array.writes.named, 1u);
  EXPECT_EQ(array.writes.unnamed.size(), 3u);
}

TEST(InspectWrites, LastWriteWinsAndMasksReachInto) {
  Config config;
  config.block(0, 2, 0x100, {0x11111111, 0x22222222});
  config.write(0, 2, 0x104, 0x33333333);
  config.mask(0, 2, 0x108, 0xFFFF, 0xABCD);
  const ArrayFacts array = array_facts(config.commands());
  ASSERT_EQ(array.tiles.size(), 1u);
  ASSERT_EQ(array.tiles[0].data.size(), 1u);
  EXPECT_EQ(array.tiles[0].data[0].bytes,
            (Bytes{0x11, 0x11, 0x11, 0x11, 0x33, 0x33, 0x33, 0x33, 0xCD, 0xAB}));
}

// ------------------------------------------------------------- streams

TEST(InspectStream, WaitCoversEarlierTasksOfItsChannel) {
  format::TxnWriter out;
  const u32 queue = arch::tile_address(2, 0, arch::channel_queue(TileKind::kShim, Direction::kMm2s, 1));
  out.write32(queue, arch::encode_task({3, 1, false}));
  out.write32(queue, arch::encode_task({4, 2, true}));
  out.write32(queue, arch::encode_task({5, 1, false}));
  test::wait(out, 2, Direction::kMm2s, 1);
  test::wait(out, 2, Direction::kMm2s, 1);
  const StreamFacts facts = read(out.finish()).streams[0];
  EXPECT_EQ(facts.most_in_flight, 3u);
  EXPECT_EQ(facts.unwaited, 1u);
  EXPECT_EQ(facts.empty_waits, 1u);
  EXPECT_EQ(facts.transfers[0].waited, 3);
  EXPECT_EQ(facts.transfers[2].waited, -1);
  EXPECT_FALSE(facts.transfers[0].known);
  EXPECT_EQ(facts.waits[0].transfers, 2u);
}

TEST(InspectStream, DamagedVersionBytesAreToldAndTolerated) {
  Bytes bytes = test::example1_stream();
  bytes[0] = 0x1D;
  bytes[1] = 0x57;
  const StreamFacts facts = read(bytes).streams[0];
  EXPECT_TRUE(facts.header_damaged);
  EXPECT_EQ(facts.stream.ops.size(), 2920u);
}

TEST(InspectStream, CompactVersionIsRead) {
  ByteWriter out;
  for (u8 byte : {1, 0, 4, 6, 8, 1, 0, 0}) out.write<u8>(byte);
  out.write<u32>(1);
  out.write<u32>(28);
  out.write<u32>(0);
  out.write<u32>(arch::tile_address(1, 2, 0x1F010));
  out.write<u32>(7);
  const Artifact artifact = read(out.data());
  EXPECT_TRUE(artifact.streams[0].stream.compact);
  EXPECT_EQ(op_text(artifact.streams[0].stream, artifact.streams[0].stream.ops[0]),
            "write core (1,2) LOCK1_VALUE = 0x7");
}

// ------------------------------------------------------------- other artifacts

TEST(InspectFile, BarePartition) {
  const Bytes file = test::xclbin_of(test::example1(test::program_of({}, 16)).commands());
  const auto xclbin = format::read_xclbin(file);
  ASSERT_TRUE(xclbin.ok());
  const ByteSpan section = xclbin->find(format::XclbinKind::kAiePartition)->data;
  const Bytes alone(section.begin(), section.end());
  const Artifact artifact = read(alone);
  EXPECT_EQ(artifact.kind, format::FileKind::kAiePartition);
  ASSERT_EQ(artifact.arrays.size(), 1u);
  EXPECT_EQ(artifact.arrays[0].cores(), 32);
}

TEST(InspectFile, ControlCodeElf) {
  const Bytes stream = test::example1_stream();
  const Bytes bytes = test::control_elf(stream);
  const Artifact artifact = read(bytes);
  ASSERT_TRUE(artifact.elf.has_value());
  EXPECT_EQ(artifact.elf->use, "control code");
  ASSERT_EQ(artifact.streams.size(), 1u);
  EXPECT_EQ(artifact.streams[0].name, ".ctrltext");
  EXPECT_EQ(artifact.streams[0].stream.ops.size(), 2920u);
  ASSERT_EQ(artifact.elf->patches.size(), 1u);
  expect_lines(to_text(artifact, {}), {"  .ctrltext at 0x20: argument 4, shim BD, 48 bits, addend 64"});
}

TEST(InspectFile, CoreElf) {
  const Bytes code = test::program_of({"mova r9, #47"}, 64);
  for (const bool wide : {false, true}) {
    const Bytes bytes = test::core_elf(code, wide);
    const Artifact artifact = read(bytes);
    ASSERT_TRUE(artifact.elf.has_value());
    EXPECT_EQ(artifact.elf->use, "core program");
    EXPECT_EQ(artifact.elf->program, code);
    EXPECT_TRUE(artifact.streams.empty());
  }
}

TEST(InspectFile, DamagedPdiLeavesTheRestOfTheXclbin) {
  Bytes file = test::xclbin_of(test::example1(test::program_of({}, 16)).commands());
  const auto xclbin = format::read_xclbin(file);
  ASSERT_TRUE(xclbin.ok());
  const u64 place = static_cast<u64>(xclbin->partition.pdis[0].image.data() - file.data());
  file[place + 0x8C] ^= 1;
  const Artifact artifact = read(file);
  EXPECT_TRUE(artifact.arrays.empty());
  ASSERT_EQ(artifact.problems.size(), 1u);
  EXPECT_NE(artifact.problems[0].message.find("checksum"), std::string::npos);
  EXPECT_EQ(artifact.xclbin->sections.size(), 7u);
}

TEST(InspectFile, ModelsAndQ4nx) {
  format::SafetensorsWriter writer;
  const std::vector<u64> packed = {3, 5120}, plain = {2, 4};
  writer.add("layer.weight", format::SafetensorsType::kI8, packed, Bytes(3 * 5120, 1));
  writer.add("layer.norm", format::SafetensorsType::kBf16, plain, Bytes(16, 0));
  const Bytes bytes = writer.finish();
  const Artifact artifact = read(bytes);
  ASSERT_TRUE(artifact.model.has_value());
  EXPECT_EQ(artifact.model->q4nx, 1u);
  expect_lines(to_text(artifact, {}),
               {"  layer.weight: I8 3 x 5120, Q4NX, 3 tiles of 32 x 256", "  layer.norm: BF16 2 x 4"});
  EXPECT_EQ(read(format::GgufWriter().finish()).model->tensors.size(), 0u);
}

TEST(InspectFile, Tokenizer) {
  const std::string text =
      R"({"version": "1.0", "added_tokens": [{"id": 0, "content": "<s>", "special": true}, {"id": 1, "special": false}],
    "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}]}, "pre_tokenizer": null, "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "": 1, "ab": 2}, "merges": [["a", "b"], "a c"]}})";
  const Bytes bytes(text.begin(), text.end());
  const Artifact artifact = read(bytes);
  ASSERT_TRUE(artifact.tokenizer.has_value());
  EXPECT_EQ(artifact.tokenizer->model, "BPE");
  EXPECT_EQ(artifact.tokenizer->vocabulary, 3u);
  EXPECT_EQ(artifact.tokenizer->merges, 2u);
  EXPECT_EQ(artifact.tokenizer->added_tokens, 2u);
  EXPECT_EQ(artifact.tokenizer->special_tokens, 1u);
  EXPECT_EQ(artifact.tokenizer->normalizer, "Sequence NFC");
  EXPECT_EQ(artifact.tokenizer->pre_tokenizer, "");
  EXPECT_EQ(artifact.tokenizer->decoder, "ByteLevel");
}

TEST(InspectFile, BrokenTokenizerIsOneLine) {
  const std::string text = R"({"model": {"vocab": {"a": 0, )";
  const Bytes bytes(text.begin(), text.end());
  const Result<Artifact> artifact = inspect_bytes(bytes, "x");
  ASSERT_FALSE(artifact.ok());
  EXPECT_NE(artifact.error().message.find("tokenizer.json: at byte"), std::string::npos)
      << artifact.error().message;
}

// ------------------------------------------------------------- depth, tile, JSON, totals

TEST(InspectShow, DepthAndTile) {
  const Bytes file = test::xclbin_of(test::example1(test::program_of({}, 16)).commands());
  const Artifact artifact = read(file);
  size_t before = 0;
  for (int depth = 0; depth <= 3; ++depth) {
    ShowOptions options;
    options.depth = depth;
    const std::string text = to_text(artifact, options);
    EXPECT_GT(text.size(), before);
    before = text.size();
  }
  ShowOptions one;
  one.tile = arch::Tile{3, 4};
  const std::string text = to_text(artifact, one);
  EXPECT_NE(text.find("core (3,4)\n"), std::string::npos);
  EXPECT_EQ(text.find("  mem (0-7,1)\n"), std::string::npos);
}

TEST(InspectShow, JsonFollowsItsSchema) {
  const Bytes file = test::xclbin_of(test::example1(test::program_of({}, 16)).commands());
  const Bytes stream = test::example1_stream();
  std::vector<Artifact> artifacts;
  artifacts.push_back(read(file, "a.xclbin"));
  artifacts.push_back(read(stream, "b.bin"));
  ShowOptions options;
  options.depth = 3;
  const json out = json::parse(to_json(artifacts, options));
  EXPECT_EQ(out["schema"], kInspectSchema);
  ASSERT_EQ(out["files"].size(), 2u);
  EXPECT_EQ(out["files"][0]["kind"], "xclbin");
  EXPECT_EQ(out["files"][0]["file"], "a.xclbin");
  const json& array = out["files"][0]["arrays"][0];
  EXPECT_EQ(array["cores"], 32);
  EXPECT_EQ(array["programs"][0]["cores"], 32);
  EXPECT_EQ(array["tiles"].size(), 48u);
  EXPECT_EQ(array["routes"].size(), 68u);
  EXPECT_EQ(array["register_writes"]["commands"], array["register_writes"]["named"]);
  const json* core = nullptr;
  for (const json& tile : array["tiles"]) {
    if (tile["col"] == 5 && tile["row"] == 3) core = &tile;
  }
  ASSERT_NE(core, nullptr);
  EXPECT_EQ((*core)["locks"]["2"], 2);
  EXPECT_EQ((*core)["bds"][0]["acquire"]["value"], -1);
  EXPECT_EQ((*core)["channels"][0]["tasks"][0]["bds"], json({0, 1}));
  const json& ops = out["files"][1]["streams"][0];
  EXPECT_EQ(ops["op_count"], 2920);
  EXPECT_EQ(ops["listing"].size(), 2920u);
  EXPECT_EQ(ops["transfers"][0]["bytes"], 128 * 4 * 4);
}

TEST(InspectShow, Summary) {
  Summary summary;
  const Bytes file = test::xclbin_of(test::example1(test::program_of({}, 16)).commands());
  const Bytes stream = test::example1_stream();
  summary.add(read(file));
  summary.add(read(stream));
  summary.add_unreadable("nothing", fail(Code::kIo, "is not there"));
  const json out = json::parse(summary.json());
  EXPECT_EQ(out["totals"]["files"], 3);
  EXPECT_EQ(out["totals"]["cores with a program"], 32);
  EXPECT_EQ(out["totals"]["different programs"], 1);
  EXPECT_EQ(out["totals"]["stream routes"], 68);
  EXPECT_EQ(out["totals"]["of these ending at every branch"], 68);
  EXPECT_EQ(out["totals"]["ops"], 2920);
  EXPECT_EQ(out["exceptions"], json({"nothing: is not there"}));
}

}  // namespace
}  // namespace tegula::cli
