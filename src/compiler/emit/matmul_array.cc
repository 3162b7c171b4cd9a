// Array configuration and streams of a matrix program. Register layouts: array handbook sections 4-8 through
// src/arch; command order: section 8, "CDO order inside one PDI".
//
// Streams per column c: weights shim MM2S0 -> cores' S2MM1; results core MM2S0 -> mem tile S2MM r -> mem
// MM2S0 -> shim S2MM0. Activations of core row j: shim (j) MM2S1 -> S2MM0 of the eight cores of row 2+j.
#include "compiler/emit/matmul_array.h"

#include <algorithm>
#include <string>

#include "arch/dma.h"
#include "arch/grid.h"
#include "arch/stream_switch.h"
#include "format/txn.h"

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

// Collects configuration commands; the first error sticks.
class ArrayWriter {
 public:
  void write(int col, int row, u32 offset, u32 value) {
    cdo_.write(arch::tile_address(col, row, offset), value);
  }
  void mask(int col, int row, u32 offset, u32 mask, u32 value) {
    cdo_.mask_write(arch::tile_address(col, row, offset), mask, value);
  }
  void block(int col, int row, u32 offset, std::span<const u32> words) {
    cdo_.block_write(arch::tile_address(col, row, offset), words);
  }
  void bd(int col, int row, int number, const Bd& bd) {
    const TileKind kind = arch::tile_kind(row);
    auto words = arch::encode(kind, bd);
    if (!words.ok()) {
      if (status_.ok()) status_ = words.error();
      return;
    }
    block(col, row, arch::bd_offset(kind, number), std::span(words->data(), arch::traits(kind).bd_words));
  }
  void start(int col, int row, Direction direction, int channel, int first_bd) {
    const TileKind kind = arch::tile_kind(row);
    write(col, row, arch::channel_queue(kind, direction, channel),
          arch::encode_task({.first_bd = static_cast<u8>(first_bd)}));
    mask(col, row, arch::channel_ctrl(kind, direction, channel), 0, 0);
  }
  void connect(int col, int row, arch::Port slave, arch::Port master) {
    const TileKind kind = arch::tile_kind(row);
    const int s = arch::slave_number(kind, slave);
    const int m = arch::master_number(kind, master);
    write(col, row, arch::slave_offset(kind, s), arch::circuit_slave());
    write(col, row, arch::master_offset(kind, m), arch::circuit_master(s));
  }
  Result<std::vector<format::CdoCommand>> finish() const {
    TRY(status_);
    return cdo_.commands();
  }

 private:
  format::CdoWriter cdo_;
  Result<void> status_;
};

arch::Port port(PortKind kind, int index) {
  return {kind, static_cast<u8>(index)};
}

std::vector<u32> to_words(ByteSpan bytes) {
  std::vector<u32> words((bytes.size() + 3) / 4, 0);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<u8*>(words.data()));
  return words;
}

void load_core(ArrayWriter& out, int col, int row, ByteSpan program) {
  out.mask(col, row, arch::kCoreControl, arch::kCoreEnable, 0);
  for (Direction direction : {Direction::kMm2s, Direction::kS2mm}) {
    for (int channel = 0; channel < 2; ++channel) {
      out.mask(col, row, arch::channel_ctrl(TileKind::kCore, direction, channel), arch::kCtrlReset,
               arch::kCtrlReset);
    }
  }
  const u32 row_word = static_cast<u32>(row - arch::kFirstCoreRow);
  out.write(col, row, kCoreRowWord, row_word);
  out.block(col, row, arch::kCoreProgramOffset, to_words(program));
  for (Direction direction : {Direction::kMm2s, Direction::kS2mm}) {
    for (int channel = 0; channel < 2; ++channel) {
      out.mask(col, row, arch::channel_ctrl(TileKind::kCore, direction, channel), arch::kCtrlReset, 0);
    }
  }
}

void reset_core(ArrayWriter& out, int col, int row, const MatmulConfig& config) {
  out.mask(col, row, arch::kCoreControl, arch::kCoreReset, arch::kCoreReset);
  out.mask(col, row, arch::kCoreControl, arch::kCoreReset, 0);
  u32 start[16] = {};
  start[kLockAEmpty] = config.a_ring;
  start[kLockBEmpty] = config.b_ring;
  start[kLockCEmpty] = config.c_ring;
  for (int lock = 0; lock < 16; ++lock)
    out.write(col, row, arch::lock_offset(TileKind::kCore, lock), start[lock]);
}

void init_mem_locks(ArrayWriter& out, int col) {
  for (int lock = 0; lock < 2 * kCoreRows; ++lock) {
    out.write(col, arch::kMemRow, arch::lock_offset(TileKind::kMem, lock), lock % 2 == 0 ? kJoinDepth : 0);
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

// Tokens: packets of id 15 from the shim's TileCtrl to the controller, with the values of every public file.
void token_route(ArrayWriter& out, int col) {
  const int slave = arch::slave_number(TileKind::kShim, port(PortKind::kTileCtrl, 0));
  const int master = arch::master_number(TileKind::kShim, port(PortKind::kSouth, arch::kShimTokenSouth));
  constexpr u8 kArbiter = 5, kMsel = 3;
  out.write(col, 0, arch::slave_offset(TileKind::kShim, slave), arch::packet_slave());
  out.write(
      col, 0, arch::slot_offset(TileKind::kShim, slave, 0),
      arch::packet_slot({.id = arch::kTokenPacketId, .mask = 0x1F, .msel = kMsel, .arbiter = kArbiter}));
  out.write(col, 0, arch::master_offset(TileKind::kShim, master),
            arch::packet_master({.arbiter = kArbiter, .select = 1 << kMsel}));
}

void shim_mux(ArrayWriter& out, int col) {
  const int channels = col < kCoreRows ? 2 : 1;  // activations enter at the first four columns only
  for (int channel = 0; channel < channels; ++channel) {
    out.mask(col, 0, arch::kShimMux, arch::shim_mux_mask(channel), arch::shim_mux_value(channel));
  }
  out.mask(col, 0, arch::kShimDemux, arch::shim_demux_mask(kResultsChannel),
           arch::shim_demux_value(kResultsChannel));
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
    token_route(out, col);
  }
  for (int core_row = 0; core_row < kCoreRows; ++core_row) activation_routes(out, core_row);
  for (int col = 0; col < arch::kColumns; ++col) shim_mux(out, col);
  each_core([&](int col, int row) {
    out.mask(col, row, arch::kCoreControl, arch::kCoreEnable, arch::kCoreEnable);
  });
  return out.finish();
}

namespace {

// Emits one shim transfer: the BD, the patch of its address and the start of its task.
class StreamWriter {
 public:
  struct Transfer {
    int col;
    Direction direction;
    int channel;
    int bd;
    u32 argument;
    u64 offset;      // bytes into the argument
    u64 bytes;       // of one run
    i64 repeat = 1;  // runs of the task
    u64 stride = 0;  // bytes between the runs; 0: the same bytes again
    bool token = false;
  };

  Result<void> transfer(const Transfer& t) {
    if (t.repeat < 1 || t.repeat > arch::kMaxRepeat) {
      return fail(Code::kOutOfRange,
                  "a shim task runs 1..256 times, " + std::to_string(t.repeat) + " wanted");
    }
    Bd bd;
    bd.address = t.offset & arch::kDeviceAddressMask;
    bd.length = static_cast<u32>(t.bytes / 4);
    bd.burst = 3;
    bd.ax_cache = 2;
    if (t.stride != 0 && t.repeat > 1) {
      if (t.repeat > 64)
        return fail(Code::kOutOfRange,
                    "a BD iterates at most 64 times, " + std::to_string(t.repeat) + " wanted");
      bd.iteration_step = static_cast<u32>(t.stride / 4);
      bd.iteration_wrap = static_cast<u32>(t.repeat);
    }
    TRY_ASSIGN(const arch::BdWords words, arch::encode(TileKind::kShim, bd));
    const u32 bd_address = arch::tile_address(t.col, 0, arch::bd_offset(TileKind::kShim, t.bd));
    txn_.block_write(bd_address, std::span(words.data(), 8));
    txn_.ddr_patch(bd_address + 4, t.argument, t.offset);
    txn_.write32(arch::tile_address(t.col, 0, arch::channel_queue(TileKind::kShim, t.direction, t.channel)),
                 arch::encode_task({static_cast<u8>(t.bd), static_cast<u16>(t.repeat), t.token}));
    return {};
  }
  void wait_results() { txn_.token_wait(0, 0, 1, kColumns, format::TxnDirection::kS2mm, kResultsChannel); }
  Bytes finish() { return txn_.finish(); }

 private:
  format::TxnWriter txn_;
};

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
    if (i > 0) out.wait_results();
  }
  if (!runs.empty()) out.wait_results();
  return out.finish();
}

Bytes token_setup_stream() {
  format::TxnWriter txn;
  for (int col = 0; col < kColumns; ++col) {
    txn.mask_write(
        arch::tile_address(col, 0, arch::channel_ctrl(TileKind::kShim, Direction::kS2mm, kResultsChannel)),
        u32{arch::kTokenPacketId} << arch::kCtrlControllerShift, 0x1Fu << arch::kCtrlControllerShift);
  }
  return txn.finish();
}

}  // namespace tegula::compiler
