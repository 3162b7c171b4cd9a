// Array configuration and streams of a matrix program. Register layouts: array handbook sections 4-8 through
// src/arch; command order: section 8, "CDO order inside one PDI".
//
// Streams per column c: weights shim MM2S0 -> cores' S2MM1; results core MM2S0 -> mem tile S2MM r -> mem
// MM2S0 -> shim S2MM0. Activations of core row j: shim (j) MM2S1 -> S2MM0 of the eight cores of row 2+j.
#include "compiler/emit/matmul_array.h"

#include <algorithm>
#include <string>

#include "compiler/emit/array_writer.h"

namespace tegula::compiler {
namespace {

using arch::Bd;
using arch::Direction;
using arch::PortKind;
using arch::TileKind;

// BD numbers of a core: one per ring, walking it by iteration.
constexpr int kBdA = 0, kBdB = 1, kBdC = 2;
// Shim channels.
constexpr int kWeightsChannel = 0, kActivationsChannel = 1, kResultsChannel = 0;
// Shim BDs of a column, in two sets: a product is queued while its predecessor still runs.
constexpr int kBdSets = 2;
constexpr int kActivationBds =
    3;  // of a set: header unit, then the units of all tiles in tasks of at most 256 runs
struct ShimBds {
  int weights, activations, results;
  explicit ShimBds(size_t run)
      : weights(static_cast<int>(run % kBdSets)),
        activations(kBdSets + static_cast<int>(run % kBdSets) * kActivationBds),
        results(kBdSets + kBdSets * kActivationBds + static_cast<int>(run % kBdSets)) {}
};

void load_core(ArrayWriter& out, int col, int row, ByteSpan program) {
  out.stop_core(col, row);
  out.write(col, row, kCoreRowWord, static_cast<u32>(row - arch::kFirstCoreRow));
  out.program(col, row, program);
  out.release_dma(col, row);
}

void reset_core(ArrayWriter& out, int col, int row, const MatmulConfig& config) {
  out.reset_core(col, row);
  u32 start[16] = {};
  start[kLockAEmpty] = config.a_ring;
  start[kLockBEmpty] = config.b_ring;
  start[kLockCEmpty] = config.c_ring;
  for (int lock = 0; lock < 16; ++lock) out.lock(col, row, lock, start[lock]);
}

void init_mem_locks(ArrayWriter& out, int col) {
  for (int lock = 0; lock < 2 * kCoreRows; ++lock) {
    out.lock(col, arch::kMemRow, lock, lock % 2 == 0 ? kJoinDepth : 0);
  }
}

// A BD that walks a ring of `count` buffers, one per load, and follows itself for ever.
Bd ring_bd(int self, u32 address, int bytes, int stride, int count, int acquire, int release) {
  Bd bd;
  bd.address = address;
  bd.length = bytes / 4;
  bd.iteration_step = stride / 4;
  bd.iteration_wrap = count;
  bd.use_next = true;
  bd.next = static_cast<u8>(self);
  bd.acquire = true;
  bd.acquire_lock = static_cast<u8>(acquire);
  bd.acquire_value = -1;
  bd.release_lock = static_cast<u8>(release);
  bd.release_value = 1;
  return bd;
}

void core_dma(ArrayWriter& out, int col, int row, const MatmulConfig& config) {
  const CoreMap map(config);
  out.bd(
      col, row, kBdA,
      ring_bd(kBdA, map.a, config.a_unit_bytes(), config.a_stride(), config.a_ring, kLockAEmpty, kLockAFull));
  out.bd(col, row, kBdB,
         ring_bd(kBdB, map.b, config.b_chunk_bytes(), config.b_stride(), config.b_ring, kLockBEmpty,
                 kLockBFull));
  out.bd(
      col, row, kBdC,
      ring_bd(kBdC, map.c, config.c_unit_bytes(), config.c_stride(), config.c_ring, kLockCFull, kLockCEmpty));
  out.start(col, row, Direction::kS2mm, 0, kBdA);
  out.start(col, row, Direction::kS2mm, 1, kBdB);
  out.start(col, row, Direction::kMm2s, 0, kBdC);
}

// Join of the four result streams of a column: S2MM r fills kJoinDepth buffers of row r, MM2S 0 sends row 0,
// 1, 2, 3 in turn. Lock 2r counts empty buffers of row r, lock 2r+1 full ones.
void mem_dma(ArrayWriter& out, int col, const MatmulConfig& config) {
  const auto buffer = [&](int row, int slot) {
    return arch::kMemWindowOwn + static_cast<u32>((row * kJoinDepth + slot) * config.c_unit_bytes());
  };
  const auto base = [&](int row, int slot) {
    Bd bd;
    bd.address = buffer(row, slot);
    bd.length = config.c_unit_bytes() / 4;
    bd.use_next = true;
    bd.acquire = true;
    bd.acquire_value = -1;
    bd.release_value = 1;
    return bd;
  };
  for (int row = 0; row < kCoreRows; ++row) {
    const int first =
        (row % 2 == 0 ? 8 : 24) + row / 2 * kJoinDepth;  // even channels own BDs 0-23, odd ones 24-47
    for (int slot = 0; slot < kJoinDepth; ++slot) {
      Bd in = base(row, slot);
      in.next = static_cast<u8>(first + (slot + 1) % kJoinDepth);
      in.acquire_lock = static_cast<u8>(arch::kMemLockOwn + 2 * row);
      in.release_lock = static_cast<u8>(arch::kMemLockOwn + 2 * row + 1);
      out.bd(col, arch::kMemRow, first + slot, in);
    }
    out.start(col, arch::kMemRow, Direction::kS2mm, row, first);
  }
  constexpr int kSends = kCoreRows * kJoinDepth;
  for (int i = 0; i < kSends; ++i) {
    const int row = i % kCoreRows;
    Bd send = base(row, i / kCoreRows);
    send.next = static_cast<u8>((i + 1) % kSends);
    send.acquire_lock = static_cast<u8>(arch::kMemLockOwn + 2 * row + 1);
    send.release_lock = static_cast<u8>(arch::kMemLockOwn + 2 * row);
    out.bd(col, arch::kMemRow, i, send);
  }
  out.start(col, arch::kMemRow, Direction::kMm2s, 0, 0);
}

void weight_routes(ArrayWriter& out, int col) {
  out.connect(col, 0, port(PortKind::kSouth, arch::shim_mm2s_south(kWeightsChannel)),
              port(PortKind::kNorth, 0));
  out.connect(col, 1, port(PortKind::kSouth, 0), port(PortKind::kNorth, 0));
  for (int row = arch::kFirstCoreRow; row < arch::kRows; ++row) {
    out.connect(col, row, port(PortKind::kSouth, 0), port(PortKind::kDma, 1));
    if (row + 1 < arch::kRows) out.connect(col, row, port(PortKind::kSouth, 0), port(PortKind::kNorth, 0));
  }
}

void activation_routes(ArrayWriter& out, int core_row) {
  const int col = core_row;
  const int row = arch::kFirstCoreRow + core_row;
  out.connect(col, 0, port(PortKind::kSouth, arch::shim_mm2s_south(kActivationsChannel)),
              port(PortKind::kNorth, 1));
  for (int r = arch::kMemRow; r < row; ++r)
    out.connect(col, r, port(PortKind::kSouth, 1), port(PortKind::kNorth, 1));
  out.connect(col, row, port(PortKind::kSouth, 1), port(PortKind::kDma, 0));
  if (col + 1 < arch::kColumns) out.connect(col, row, port(PortKind::kSouth, 1), port(PortKind::kEast, 0));
  if (col > 0) out.connect(col, row, port(PortKind::kSouth, 1), port(PortKind::kWest, 0));
  for (int c = col + 1; c < arch::kColumns; ++c) {
    out.connect(c, row, port(PortKind::kWest, 0), port(PortKind::kDma, 0));
    if (c + 1 < arch::kColumns) out.connect(c, row, port(PortKind::kWest, 0), port(PortKind::kEast, 0));
  }
  for (int c = col - 1; c >= 0; --c) {
    out.connect(c, row, port(PortKind::kEast, 0), port(PortKind::kDma, 0));
    if (c > 0) out.connect(c, row, port(PortKind::kEast, 0), port(PortKind::kWest, 0));
  }
}

void result_routes(ArrayWriter& out, int col) {
  for (int core_row = 0; core_row < kCoreRows; ++core_row) {
    const int row = arch::kFirstCoreRow + core_row;
    out.connect(col, row, port(PortKind::kDma, 0), port(PortKind::kSouth, core_row));
    for (int r = row - 1; r >= arch::kFirstCoreRow; --r) {
      out.connect(col, r, port(PortKind::kNorth, core_row), port(PortKind::kSouth, core_row));
    }
    out.connect(col, 1, port(PortKind::kNorth, core_row), port(PortKind::kDma, core_row));
  }
  out.connect(col, 1, port(PortKind::kDma, 0), port(PortKind::kSouth, 0));
  out.connect(col, 0, port(PortKind::kNorth, 0),
              port(PortKind::kSouth, arch::shim_s2mm_south(kResultsChannel)));
}

void shim_mux(ArrayWriter& out, int col) {
  const int channels = col < kCoreRows ? 2 : 1;  // activations enter at the first four columns only
  for (int channel = 0; channel < channels; ++channel) out.shim_channel(col, Direction::kMm2s, channel);
  out.shim_channel(col, Direction::kS2mm, kResultsChannel);
}

template <typename F>
void each_core(F&& f) {
  for (int col = 0; col < arch::kColumns; ++col) {
    for (int row = arch::kFirstCoreRow; row < arch::kRows; ++row) f(col, row);
  }
}

}  // namespace

CoreMap::CoreMap(const MatmulConfig& config) {
  a = 64;
  b = a + config.a_ring * config.a_stride();
  c = b + config.b_ring * config.b_stride();
}

Result<std::vector<format::CdoCommand>> matmul_array(const MatmulConfig& config, ByteSpan program) {
  TRY(validate(config));
  if (program.empty() || program.size() > arch::kCoreProgramBytes) {
    return fail(Code::kOutOfRange,
                "core program has " + std::to_string(program.size()) + " bytes, 1..16384 fit");
  }
  ArrayWriter out;
  each_core([&](int col, int row) { load_core(out, col, row, program); });
  each_core([&](int col, int row) { reset_core(out, col, row, config); });
  for (int col = 0; col < arch::kColumns; ++col) init_mem_locks(out, col);
  each_core([&](int col, int row) { core_dma(out, col, row, config); });
  for (int col = 0; col < arch::kColumns; ++col) mem_dma(out, col, config);
  for (int col = 0; col < arch::kColumns; ++col) {
    weight_routes(out, col);
    result_routes(out, col);
    out.token_route(col);
  }
  for (int core_row = 0; core_row < kCoreRows; ++core_row) activation_routes(out, core_row);
  for (int col = 0; col < arch::kColumns; ++col) shim_mux(out, col);
  each_core([&](int col, int row) { out.enable_core(col, row); });
  return out.finish();
}

namespace {

void wait_results(StreamWriter& out) {
  out.wait(0, Direction::kS2mm, kResultsChannel, kColumns);
}

Result<void> activations(StreamWriter& out, const MatmulConfig& config, const MatmulRun& run, int first_bd) {
  const MatmulPass& pass = run.pass;
  const bool streamed = !pass.resident && run.layout.tiles > 1;
  if (streamed && run.repeat != 1)
    return fail(Code::kOutOfRange, "repeated products need resident activations");
  const u64 header = config.a_unit_bytes();
  for (int row = 0; row < kCoreRows; ++row) {
    StreamWriter::Transfer t{.col = row,
                             .direction = Direction::kMm2s,
                             .channel = kActivationsChannel,
                             .bd = first_bd,
                             .argument = kArgActivations,
                             .offset = run.activations + row * pass.a_row_bytes,
                             .bytes = static_cast<u64>(pass.a_row_bytes)};
    if (!streamed) {
      t.repeat = run.repeat;
      t.stride = pass.a_bytes();
      TRY(out.transfer(t));
      continue;
    }
    t.bytes = header;
    TRY(out.transfer(t));
    t.offset += header;
    t.bytes = pass.a_row_bytes - header;
    for (i64 left = run.layout.tiles, bd = first_bd + 1; left > 0; left -= t.repeat, ++bd) {
      if (bd == first_bd + kActivationBds)
        return fail(Code::kOutOfRange, "product has too many tiles for one stream");
      t.bd = static_cast<int>(bd);
      t.repeat = std::min<i64>(left, arch::kMaxRepeat);
      TRY(out.transfer(t));
    }
  }
  return {};
}

}  // namespace

Result<Bytes> matmul_stream(const MatmulConfig& config, std::span<const MatmulRun> runs) {
  StreamWriter out;
  for (size_t i = 0; i < runs.size(); ++i) {
    const MatmulRun& run = runs[i];
    const ShimBds bds(i);
    const u64 weights = run.layout.column_bytes * run.repeat;
    const u64 results = run.pass.c_column_bytes * run.repeat;
    // Weights flow into the cores' rings while the rest is set up; activations come last and start all
    // columns at once.
    for (int col = 0; col < kColumns; ++col) {
      TRY(out.transfer({.col = col,
                        .direction = Direction::kMm2s,
                        .channel = kWeightsChannel,
                        .bd = bds.weights,
                        .argument = kArgWeights,
                        .offset = run.weights + col * weights,
                        .bytes = weights}));
    }
    for (int col = 0; col < kColumns; ++col) {
      TRY(out.transfer({.col = col,
                        .direction = Direction::kS2mm,
                        .channel = kResultsChannel,
                        .bd = bds.results,
                        .argument = kArgResults,
                        .offset = run.results + col * results,
                        .bytes = results,
                        .token = true}));
    }
    TRY(activations(out, config, run, bds.activations));
    if (i > 0) wait_results(out);
  }
  if (!runs.empty()) wait_results(out);
  return out.finish();
}

Bytes token_setup_stream() {
  StreamWriter out;
  for (int col = 0; col < kColumns; ++col) out.token_id(col, Direction::kS2mm, kResultsChannel);
  return out.finish();
}

}  // namespace tegula::compiler
