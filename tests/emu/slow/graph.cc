#include "emu/slow/graph.h"

#include <algorithm>
#include <numeric>

#include "emu/core_testing.h"

namespace tegula::emu::slow {

namespace {

constexpr u32 kUnit = 96;  // words; every block divides it
constexpr u32 kBlocks[] = {4, 8, 12, 16, 24, 32, 48};
constexpr u32 kInAddress = 0x1000, kOutAddress = 0x5000, kBufferBytes = 0x400;

class GraphMaker {
 public:
  explicit GraphMaker(u32 seed) : random_(seed) {}

  std::vector<Column> make() {
    std::vector<Column> out(1 + pick(8));
    for (Column& c : out) column(c);
    return out;
  }

 private:
  u32 pick(u32 n) { return static_cast<u32>(random_() % n); }
  u32 block() { return kBlocks[pick(std::size(kBlocks))]; }
  // A number of rows that divides the block, or one: as it is.
  u32 rows(u32 words) {
    if (pick(2) == 0) return 1;
    const u32 n = 2 + pick(3);
    return words % n == 0 && words / n > 1 ? n : 1;
  }
  Ring ring(u32 address, u32 words, int first_lock) {
    Ring r;
    r.address = address;
    r.block = words;
    r.buffers = 1 + pick(3);
    r.empty = first_lock + static_cast<int>(pick(2));
    r.full = 2 * first_lock + 1 - r.empty;
    r.rows_in = rows(words);
    r.rows_out = rows(words);
    return r;
  }

  Stage stage() {
    Stage s;
    s.block = block();
    s.multiplier = 1 + 2 * pick(50);
    s.addend = pick(100000);
    s.delay = pick(60);
    s.vector = s.block % 16 == 0 && pick(2) == 0;
    if (s.vector) s.multiplier = 1;
    s.in = ring(kInAddress, s.block, 2 * static_cast<int>(pick(4)));
    s.out = ring(kOutAddress, s.block, 8 + 2 * static_cast<int>(pick(4)));
    return s;
  }

  void column(Column& c) {
    c.words = kUnit * (1 + pick(4));
    c.parallel = pick(3) == 0;
    c.mem_in = !c.parallel && pick(2) == 0;
    c.mem_out = c.parallel || pick(2) == 0;
    c.mem_ring_in = ring(0, block(), 0);
    c.mem_ring_out = ring(0x10000, block(), 2);
    const u32 cores = 1 + pick(4);
    for (u32 i = 0; i < cores; ++i) {
      Stage s = stage();
      if (c.parallel && i > 0) s.block = s.in.block = s.out.block = c.stages[0].block;
      if (c.parallel) {
        s.in.rows_in = s.out.rows_out = 1;
        s.vector = s.vector && s.block % 16 == 0;
      } else if (i > 0 && pick(3) == 0) {
        share(c.stages.back(), s);
      }
      c.stages.push_back(s);
    }
    constexpr u32 kRuns[] = {1, 2, 3, 4};
    c.runs_in = kRuns[pick(4)];
    c.runs_out = kRuns[pick(4)];
    c.shim_rows_in = rows(c.words / c.runs_in);
    c.shim_rows_out = rows(c.out_words() / c.runs_out);
  }

  // The upper core reads the lower one's output where it is.
  static void share(Stage& low, Stage& high) {
    low.shared_out = high.shared_in = true;
    high.block = high.out.block = low.block;
    high.in = low.out;
    high.out.rows_out = 1;
    if (high.block % 16 != 0) high.vector = false;
  }

  std::mt19937 random_;
};

// Word number of each word of a block that is read by columns: rows x (words / rows), transposed.
u32 transposed(u32 n, u32 words, u32 rows) {
  const u32 columns = words / rows;
  return n % columns * rows + n / columns;
}

void set_rows(Bd& bd, u32 rows) {
  if (rows == 1) return;
  bd.dims[0].step = rows;
  bd.dims[0].wrap = bd.length / rows;
  bd.dims[1].step = 1;
}

// A stream through a memory: written by one rule, read by another, block by block.
void through(std::vector<u32>& stream, u32 words, u32 rows_in, u32 rows_out) {
  std::vector<u32> block(words);
  for (size_t at = 0; at < stream.size(); at += words) {
    for (u32 n = 0; n < words; ++n) block[transposed(n, words, rows_in)] = stream[at + n];
    for (u32 n = 0; n < words; ++n) stream[at + n] = block[transposed(n, words, rows_out)];
  }
}

// ---------------------------------------------------------------- core programs

std::vector<std::string> core_program(const Stage& s, u32 turns) {
  const auto number = [](u32 n) { return std::to_string(n); };
  const u32 in = (s.shared_in ? 0x40000 : 0x70000) + s.in.address, out = 0x70000 + s.out.address;
  const int in_locks = s.shared_in ? arch::kCoreLockSouth : arch::kCoreLockOwn;
  const auto set = [&](int r, u32 value) { return "movxm r" + std::to_string(r) + ", #" + number(value); };
  std::vector<std::string> lines = {set(20, in),
                                    set(22, kBufferBytes),
                                    set(23, in + s.in.buffers * kBufferBytes),
                                    set(24, in),
                                    set(16, out),
                                    set(17, kBufferBytes),
                                    set(18, out + s.out.buffers * kBufferBytes),
                                    set(19, out),
                                    set(0, 1),
                                    "movxm r1, #-1",
                                    set(2, s.multiplier),
                                    set(3, s.addend),
                                    set(15, turns),
                                    "vbcst.32 x1, r3",
                                    "top:"};
  const auto lock = [&](const char* what, int id, int reg) {
    lines.push_back(std::string(what) + " #" + std::to_string(id) + ", r" + std::to_string(reg));
    lines.push_back("nop*4");
  };
  lock("acq", in_locks + s.in.full, 1);
  lock("acq", arch::kCoreLockOwn + s.out.empty, 1);
  lines.insert(lines.end(), {"mov p0, r20", "mov p1, r16"});
  lines.push_back(set(5, s.vector ? s.block / 16 : s.block));
  lines.push_back("inner:");
  if (s.vector) {
    lines.insert(lines.end(),
                 {"vlda x0, [p0], #64", "nop*6", "vadd.32 x2, x0, x1", "nop", "vst x2, [p1], #64"});
  } else {
    lines.insert(lines.end(),
                 {"lda r6, [p0], #4", "nop*6", "mul r7, r6, r2", "nop", "add r7, r7, r3", "st r7, [p1], #4"});
  }
  lines.insert(lines.end(), {"add r5, r5, #-1", "jnz r5, #inner", "nop*5", "nop*" + number(6 + s.delay)});
  lock("rel", in_locks + s.in.empty, 0);
  lock("rel", arch::kCoreLockOwn + s.out.full, 0);
  // The next buffers of both rings.
  lines.insert(lines.end(), {"add r20, r20, r22", "sub r27, r20, r23", "sel.eqz r20, r24, r20, r27",
                             "add r16, r16, r17", "sub r27, r16, r18", "sel.eqz r16, r19, r16, r27",
                             "add r15, r15, #-1", "jnz r15, #top", "nop*5", "done"});
  return lines;
}

// ---------------------------------------------------------------- configuration

class GraphBench {
 public:
  explicit GraphBench(const std::vector<Column>& graph) : bench_(Bench::RealCores{}) {
    for (size_t i = 0; i < graph.size(); ++i) column(static_cast<u8>(i), graph[i]);
  }
  Bench& bench() { return bench_; }

 private:
  // The descriptors of one side of a ring, chained; `into` fills it.
  void ring(Tile tile, const Ring& r, bool into, int channel, int first_bd) {
    const bool mem = tile.kind() == TileKind::kMem;
    const int locks = mem ? arch::kMemLockOwn : 0;
    for (u32 i = 0; i < r.buffers; ++i) {
      Bd bd = linear((mem ? arch::kMemWindowOwn : 0) + r.address + i * kBufferBytes, r.block);
      set_rows(bd, into ? r.rows_in : r.rows_out);
      bd = with_locks(bd, locks + (into ? r.empty : r.full), locks + (into ? r.full : r.empty));
      bench_.bd(tile, first_bd + static_cast<int>(i),
                then(bd, first_bd + static_cast<int>((i + 1) % r.buffers)));
    }
    bench_.push(tile, into ? Direction::kS2mm : Direction::kMm2s, channel,
                {static_cast<u8>(first_bd), 1, false});
  }
  void locks(Tile tile, const Ring& r) {
    bench_.lock(tile, r.empty, r.buffers);
    bench_.lock(tile, r.full, 0);
  }

  void core(Tile tile, const Stage& s, u32 turns) {
    testing::TestCore text;
    text.load(core_program(s, turns));
    std::vector<u32> words(arch::kCoreProgramBytes / 4);
    std::memcpy(words.data(), text.program.data(), text.program.size());
    words.resize((text.end + 3) / 4);
    const auto done = bench_.array.block_write(arch::tile_address(tile, arch::kCoreProgramOffset), words);
    ASSERT_TRUE(done.ok()) << done.error().message;
    if (!s.shared_in) locks(tile, s.in), ring(tile, s.in, true, 0, 0);
    locks(tile, s.out);
    if (!s.shared_out) ring(tile, s.out, false, 0, 8);
    bench_.enable(tile);
  }

  void column(u8 c, const Column& column) {
    const Tile shim{c, 0}, mem{c, 1};
    bench_.token_route(c);
    bench_.circuit(shim, {PortKind::kSouth, 3}, {PortKind::kNorth, 1});
    if (column.mem_in) {
      bench_.circuit(mem, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
      bench_.circuit(mem, {PortKind::kDma, 0}, {PortKind::kNorth, 1});
      locks(mem, column.mem_ring_in);
      ring(mem, column.mem_ring_in, true, 0, 0);
      ring(mem, column.mem_ring_in, false, 0, 4);
    } else {
      bench_.circuit(mem, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
    }
    column.parallel ? side_by_side(c, column) : in_a_row(c, column);
    bench_.circuit(shim, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
  }

  void in_a_row(u8 c, const Column& column) {
    const Tile mem{c, 1};
    const u8 top = static_cast<u8>(1 + column.stages.size());
    for (u8 r = 2; r <= top; ++r) {
      const Tile tile{c, r};
      const Stage& s = column.stages[r - 2u];
      if (!s.shared_in) {
        bench_.circuit(tile, {PortKind::kSouth, static_cast<u8>(r == 2 ? 1 : 0)}, {PortKind::kDma, 0});
      }
      if (r == top) {
        bench_.circuit(tile, {PortKind::kDma, 0}, {PortKind::kSouth, 2});
      } else {
        if (!s.shared_out) bench_.circuit(tile, {PortKind::kDma, 0}, {PortKind::kNorth, 0});
        bench_.circuit(tile, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
      }
      core(tile, s, column.words / s.block);
    }
    if (column.mem_out) {
      bench_.circuit(mem, {PortKind::kNorth, 2}, {PortKind::kDma, 1});
      bench_.circuit(mem, {PortKind::kDma, 1}, {PortKind::kSouth, 2});
      locks(mem, column.mem_ring_out);
      ring(mem, column.mem_ring_out, true, 1, 24);
      ring(mem, column.mem_ring_out, false, 1, 28);
    } else {
      bench_.circuit(mem, {PortKind::kNorth, 2}, {PortKind::kSouth, 2});
    }
  }

  // Core r sends down wire r - 2; the mem tile puts their blocks one behind the other.
  void side_by_side(u8 c, const Column& column) {
    const Tile mem{c, 1};
    const u8 count = static_cast<u8>(column.stages.size());
    for (u8 wire = 0; wire < count; ++wire) {
      const u8 row = static_cast<u8>(2 + wire);
      const Tile tile{c, row};
      const Stage& s = column.stages[wire];
      bench_.circuit(tile, {PortKind::kSouth, 1}, {PortKind::kDma, 0});
      if (wire + 1 < count) bench_.circuit(tile, {PortKind::kSouth, 1}, {PortKind::kNorth, 1});
      bench_.circuit(tile, {PortKind::kDma, 0}, {PortKind::kSouth, wire});
      for (u8 below = 2; below < row; ++below) {
        bench_.circuit({c, below}, {PortKind::kNorth, wire}, {PortKind::kSouth, wire});
      }
      bench_.circuit(mem, {PortKind::kNorth, wire}, {PortKind::kDma, wire});
      core(tile, s, column.words / s.block);
      const u8 in = static_cast<u8>(wire % 2 == 0 ? wire : 24 + wire), out = static_cast<u8>(10 + wire);
      const u64 place = arch::kMemWindowOwn + wire * kBufferBytes;
      const int empty = arch::kMemLockOwn + 2 * wire;
      bench_.bd(mem, in, then(with_locks(linear(place, s.block), empty, empty + 1), in));
      bench_.bd(mem, out,
                then(with_locks(linear(place, s.block), empty + 1, empty), wire + 1 == count ? 10 : out + 1));
      bench_.lock(mem, 2 * wire, 1);
      bench_.lock(mem, 2 * wire + 1, 0);
      bench_.push(mem, Direction::kS2mm, wire, {in, 1, false});
    }
    bench_.circuit(mem, {PortKind::kDma, 4}, {PortKind::kSouth, 2});
    bench_.push(mem, Direction::kMm2s, 4, {10, 1, false});
  }

  Bench bench_;
};

u32 total_in(const std::vector<Column>& graph) {
  return std::accumulate(graph.begin(), graph.end(), 0u, [](u32 n, const Column& c) { return n + c.words; });
}
u32 total_out(const std::vector<Column>& graph) {
  return std::accumulate(graph.begin(), graph.end(), 0u,
                         [](u32 n, const Column& c) { return n + c.out_words(); });
}

Bd shim_bd(u32 words, u32 runs, u32 rows) {
  Bd bd = linear(0, words / runs);
  set_rows(bd, rows);
  if (runs > 1) {
    bd.iteration_step = words / runs;
    bd.iteration_wrap = runs;
  }
  return bd;
}

std::string trace_of(const RunResult& result, const std::vector<TimelineEvent>& timeline) {
  std::string out = "cycles " + std::to_string(result.report.cycles) + " events " +
                    std::to_string(result.report.events) + " segments " +
                    std::to_string(result.report.segments);
  const auto add = [&](auto... n) { ((out += " " + std::to_string(n)), ...); };
  for (const CoreReport& c : result.report.cores) {
    out += "\ncore";
    add(c.tile.index(), c.cycles, c.bundles, c.stall_cycles, c.lock_cycles, c.stream_cycles);
    for (const LockWaitReport& l : c.locks) add(l.tile.index(), l.lock, l.cycles, l.waits);
  }
  for (const ChannelReport& c : result.report.channels) {
    out += "\nchannel";
    add(c.tile.index(), static_cast<int>(c.direction), c.channel, c.words, c.busy_cycles, c.lock_cycles,
        c.stream_cycles, c.bds, c.tasks);
  }
  for (const LinkReport& l : result.report.links) {
    out += "\nlink";
    add(l.tile.index(), l.master, l.words);
  }
  for (const TimelineEvent& e : timeline) {
    out += "\nevent";
    add(static_cast<int>(e.kind), e.tile.index(), static_cast<int>(e.direction), e.channel, e.start, e.end,
        e.words, e.lock, e.feeds, e.fed_by);
  }
  return out;
}

}  // namespace

std::vector<Column> random_graph(u32 seed) {
  return GraphMaker(seed).make();
}

GraphOutcome run_graph(const std::vector<Column>& graph, int threads) {
  GraphBench configured(graph);
  FakeDdr ddr(total_in(graph) + total_out(graph));
  ddr.count_up(5);
  format::TxnWriter txn;
  u64 in = 0, out = total_in(graph);
  for (size_t i = 0; i < graph.size(); ++i) {
    const Column& c = graph[i];
    const auto runs = [](u32 n) { return static_cast<u16>(n); };
    transfer(txn, static_cast<int>(i), Direction::kMm2s, 0, 0, shim_bd(c.words, c.runs_in, c.shim_rows_in), 0,
             in * 4, {0, runs(c.runs_in), false});
    transfer(txn, static_cast<int>(i), Direction::kS2mm, 0, 1,
             shim_bd(c.out_words(), c.runs_out, c.shim_rows_out), 0, out * 4, {1, runs(c.runs_out), true});
    in += c.words;
    out += c.out_words();
  }
  wait(txn, 0, Direction::kS2mm, 0, static_cast<int>(graph.size()));
  const u64 arguments[] = {ddr.base()};
  RunOptions options;
  options.threads = threads;
  std::vector<TimelineEvent> timeline;
  options.timeline = &timeline;
  const RunResult result = configured.bench().array.run_stream(txn.finish(), arguments, ddr, options);
  return {std::string(run_end_name(result.end)) + " " + result.message, trace_of(result, timeline),
          ddr.words()};
}

std::vector<u32> expected_words(const std::vector<Column>& graph) {
  std::vector<u32> memory(total_in(graph) + total_out(graph));
  std::iota(memory.begin(), memory.end(), 5u);
  size_t in = 0, out = total_in(graph);
  for (const Column& c : graph) {
    std::vector<u32> stream(memory.begin() + static_cast<i64>(in),
                            memory.begin() + static_cast<i64>(in + c.words));
    through(stream, c.words / c.runs_in, 1, c.shim_rows_in);
    if (c.mem_in) through(stream, c.mem_ring_in.block, c.mem_ring_in.rows_in, c.mem_ring_in.rows_out);
    const auto compute = [&](std::vector<u32>& words, const Stage& s) {
      if (!s.shared_in) through(words, s.in.block, s.in.rows_in, 1);
      for (u32& word : words) word = word * s.multiplier + s.addend;
      if (!s.shared_out) through(words, s.out.block, 1, s.out.rows_out);
    };
    if (c.parallel) {
      std::vector<u32> joined;
      for (size_t at = 0; at < stream.size(); at += c.stages[0].block) {
        for (const Stage& s : c.stages) {
          std::vector<u32> part(stream.begin() + static_cast<i64>(at),
                                stream.begin() + static_cast<i64>(at + s.block));
          compute(part, s);
          joined.insert(joined.end(), part.begin(), part.end());
        }
      }
      stream = joined;
    } else {
      for (const Stage& s : c.stages) compute(stream, s);
      if (c.mem_out) through(stream, c.mem_ring_out.block, c.mem_ring_out.rows_in, c.mem_ring_out.rows_out);
    }
    through(stream, c.out_words() / c.runs_out, c.shim_rows_out, 1);
    std::copy(stream.begin(), stream.end(), memory.begin() + static_cast<i64>(out));
    in += c.words;
    out += c.out_words();
  }
  return memory;
}

}  // namespace tegula::emu::slow
