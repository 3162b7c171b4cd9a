// Random graphs of DMA channels, locks and core programs that come to an end, and what they must deliver:
// each column takes words from host memory, leads them through rings of buffers in tiles, and brings them
// back. The model of it is plain: a ring keeps the order of the stream, its buffer descriptors permute within
// a block, a core maps word to word.
#pragma once

#include <random>

#include "emu/array_fixture.h"

namespace tegula::emu::slow {

// A ring of buffers in one tile, filled and emptied in blocks.
struct Ring {
  u32 address = 0, block = 0, buffers = 1;  // bytes, words
  int empty = 0, full = 1;                  // locks
  u32 rows_in = 1, rows_out = 1;            // the DMA transposes blocks of so many rows on its way in and out
};

struct Stage {  // a core
  u32 block = 0, multiplier = 1, addend = 0, delay = 0;
  bool vector = false;                         // adds in 16 lanes
  bool shared_in = false, shared_out = false;  // neighbours' memory instead of DMA
  Ring in, out;
};

struct Column {
  bool parallel = false;  // every core gets the whole input; else one after the other
  bool mem_in = false, mem_out = false;
  Ring mem_ring_in, mem_ring_out;
  std::vector<Stage> stages;
  u32 words = 0;
  u32 runs_in = 1, runs_out = 1;  // of the shim's buffer descriptors
  u32 shim_rows_in = 1, shim_rows_out = 1;
  u32 out_words() const { return parallel ? words * static_cast<u32>(stages.size()) : words; }
};

std::vector<Column> random_graph(u32 seed);

// What the run gave, all of it.
struct GraphOutcome {
  std::string end;    // of the run, one line
  std::string trace;  // cycles, every channel and core, every event
  std::vector<u32> words;
  bool operator==(const GraphOutcome&) const = default;
};

GraphOutcome run_graph(const std::vector<Column>& graph, int threads);
// The host memory after it, from the plain model.
std::vector<u32> expected_words(const std::vector<Column>& graph);

}  // namespace tegula::emu::slow
