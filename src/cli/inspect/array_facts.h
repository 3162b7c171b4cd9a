// What an array configuration says, ready to be shown: programs, locks, DMA chains and routes of every tile,
// with equal tiles grouped.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/inspect/array_state.h"
#include "cli/inspect/routes.h"

namespace tegula::cli {

struct ProgramFacts {
  std::string name;                         // "A", "B", ... "Z", "AA"
  Bytes image;                              // from address 0 to the last byte written
  u64 written = 0;                          // bytes written; less than the image where there are gaps
  std::vector<std::pair<u32, u64>> pieces;  // address, bytes
  std::string sha256;                       // of the image
  std::vector<arch::Tile> tiles;
};

struct BdFacts {
  int number = 0;
  arch::BdWords words{};
  arch::Bd bd;
  bool chained = false;                                // part of a queued chain
  arch::Direction direction = arch::Direction::kS2mm;  // of the channel that runs it, when chained
  std::string text;
};

struct ChainFacts {
  arch::Task task;
  std::vector<int> bds;  // in order, each once
  bool loops = false;    // the last one leads back to loop_to
  int loop_to = 0;
};

struct ChannelFacts {
  arch::Direction direction = arch::Direction::kS2mm;
  int channel = 0;
  bool ctrl_written = false;
  u32 ctrl = 0;
  std::vector<ChainFacts> chains;  // one for each task queued
};

struct DataFacts {
  u32 offset = 0;
  Bytes bytes;
};

struct TileFacts {
  arch::Tile tile;
  int program = -1;  // index of ArrayFacts::programs
  bool enabled = false;
  std::vector<std::pair<int, int>> locks;  // number, value; those that were written
  std::vector<BdFacts> bds;
  std::vector<ChannelFacts> channels;  // those that have a task or a control word
  std::vector<DataFacts> data;
  std::vector<std::pair<std::string, u32>> registers;  // others, by name
};

// Tiles of one kind with the same program, locks, BDs, channels and enable. Data memory and routes may
// differ.
struct TileGroup {
  std::vector<size_t> members;  // indices of ArrayFacts::tiles
  bool same_data = true;
};

struct ColumnFacts {
  int col = 0;
  int cores = 0;
  std::vector<std::string> programs;         // names
  std::vector<std::string> shim, mem, core;  // channels in use: "MM2S0", ...
};

struct ArrayFacts {
  std::string name;
  WriteCounts writes;
  std::vector<ProgramFacts> programs;
  std::vector<TileFacts> tiles;  // those that anything was written to, row by row
  std::vector<TileGroup> groups;
  std::vector<ColumnFacts> columns;
  RouteMap routes;
  int cores() const;
  int enabled_cores() const;
};

ArrayFacts array_facts(const ArrayState& state);
ArrayFacts array_facts(std::span<const format::CdoCommand> commands);

// "core (0-7,2-5)".
std::string group_text(const ArrayFacts& facts, const TileGroup& group);

}  // namespace tegula::cli
