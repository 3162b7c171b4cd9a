#include "cli/inspect/array_facts.h"

#include <algorithm>
#include <map>
#include <set>

#include "arch/registers.h"
#include "cli/inspect/words.h"
#include "program/program.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

std::string letter_name(size_t index) {
  std::string name;
  for (++index; index != 0; index = (index - 1) / 26)
    name.insert(name.begin(), static_cast<char>('A' + (index - 1) % 26));
  return name;
}

ChainFacts follow(const TileState& tile, const arch::Task& task) {
  ChainFacts chain;
  chain.task = task;
  const TileKind kind = tile.tile.kind();
  const int count = arch::traits(kind).bds;
  for (int bd = task.first_bd; bd < count;) {
    if (std::find(chain.bds.begin(), chain.bds.end(), bd) != chain.bds.end()) {
      chain.loops = true;
      chain.loop_to = bd;
      break;
    }
    chain.bds.push_back(bd);
    const arch::Bd decoded = arch::decode(kind, tile.bds[static_cast<size_t>(bd)].words);
    if (!decoded.use_next) break;
    bd = decoded.next;
  }
  return chain;
}

void add_channels(const TileState& state, TileFacts& facts) {
  const int count = arch::traits(state.tile.kind()).channels;
  for (const Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
    for (int c = 0; c < count; ++c) {
      const ChannelState& channel = state.channel(direction, c);
      if (channel.tasks.empty() && !channel.ctrl_written) continue;
      ChannelFacts out{direction, c, channel.ctrl_written, channel.ctrl, {}};
      for (const arch::Task& task : channel.tasks) out.chains.push_back(follow(state, task));
      facts.channels.push_back(std::move(out));
    }
  }
}

void add_bds(const TileState& state, TileFacts& facts) {
  const TileKind kind = state.tile.kind();
  std::map<int, Direction> runs;
  for (const ChannelFacts& channel : facts.channels) {
    for (const ChainFacts& chain : channel.chains) {
      for (const int bd : chain.bds) runs.emplace(bd, channel.direction);
    }
  }
  for (int i = 0; i < arch::traits(kind).bds; ++i) {
    const BdState& bd = state.bds[static_cast<size_t>(i)];
    const auto run = runs.find(i);
    if (!bd.written && run == runs.end()) continue;
    BdFacts out;
    out.number = i;
    out.words = bd.words;
    out.bd = arch::decode(kind, bd.words);
    out.chained = run != runs.end();
    if (out.chained) out.direction = run->second;
    out.text = out.chained ? bd_text(kind, out.direction, out.bd) : bd_text(kind, out.bd);
    if (!bd.written) out.text = "never written";
    facts.bds.push_back(std::move(out));
  }
}

int program_of(const TileState& state, ArrayFacts& facts, std::map<Bytes, size_t>& known) {
  if (state.program_log.empty()) return -1;
  const std::vector<MemoryPiece> pieces = state.program_log.pieces();
  Bytes image = memory_image(pieces, arch::kCoreProgramBytes);
  const auto at = known.find(image);
  if (at != known.end()) {
    facts.programs[at->second].tiles.push_back(state.tile);
    return static_cast<int>(at->second);
  }
  ProgramFacts program;
  program.name = letter_name(facts.programs.size());
  for (const MemoryPiece& piece : pieces) {
    program.pieces.push_back({piece.offset, piece.bytes.size()});
    program.written += piece.bytes.size();
  }
  program.sha256 = program::sha256_hex(image);
  program.tiles.push_back(state.tile);
  known[image] = facts.programs.size();
  program.image = std::move(image);
  facts.programs.push_back(std::move(program));
  return static_cast<int>(facts.programs.size() - 1);
}

TileFacts tile_facts(const TileState& state) {
  TileFacts facts;
  facts.tile = state.tile;
  facts.enabled = state.enabled();
  for (int i = 0; i < arch::traits(state.tile.kind()).locks; ++i) {
    const i16 value = state.locks[static_cast<size_t>(i)];
    if (value >= 0) facts.locks.push_back({i, value});
  }
  add_channels(state, facts);
  add_bds(state, facts);
  for (MemoryPiece& piece : state.data_log.pieces())
    facts.data.push_back({piece.offset, std::move(piece.bytes)});
  if (state.mux != 0) facts.registers.push_back({"MUX_CONFIG", state.mux});
  if (state.demux != 0) facts.registers.push_back({"DEMUX_CONFIG", state.demux});
  for (const auto& [offset, value] : state.others) {
    facts.registers.push_back({arch::register_name(state.tile.kind(), offset), value});
  }
  return facts;
}

bool same_chains(const TileFacts& a, const TileFacts& b) {
  return std::equal(
      a.channels.begin(), a.channels.end(), b.channels.begin(), b.channels.end(),
      [](const ChannelFacts& x, const ChannelFacts& y) {
        const auto tasks = [](const ChainFacts& s, const ChainFacts& t) { return s.task == t.task; };
        return x.direction == y.direction && x.channel == y.channel && x.ctrl == y.ctrl &&
               std::equal(x.chains.begin(), x.chains.end(), y.chains.begin(), y.chains.end(), tasks);
      });
}

bool same_setup(const TileFacts& a, const TileFacts& b) {
  const auto bds = [](const BdFacts& x, const BdFacts& y) {
    return x.number == y.number && x.words == y.words;
  };
  return a.tile.kind() == b.tile.kind() && a.program == b.program && a.enabled == b.enabled &&
         a.locks == b.locks && std::equal(a.bds.begin(), a.bds.end(), b.bds.begin(), b.bds.end(), bds) &&
         same_chains(a, b);
}

bool same_data(const TileFacts& a, const TileFacts& b) {
  const auto equal = [](const DataFacts& x, const DataFacts& y) {
    return x.offset == y.offset && x.bytes == y.bytes;
  };
  return std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end(), equal);
}

void add_groups(ArrayFacts& facts) {
  for (size_t i = 0; i < facts.tiles.size(); ++i) {
    bool known = false;
    for (TileGroup& group : facts.groups) {
      const TileFacts& first = facts.tiles[group.members[0]];
      if (!same_setup(first, facts.tiles[i])) continue;
      group.same_data = group.same_data && same_data(first, facts.tiles[i]);
      group.members.push_back(i);
      known = true;
      break;
    }
    if (!known) facts.groups.push_back({{i}, true});
  }
}

std::string channel_name(Direction direction, int channel) {
  return arch::direction_name(direction) + std::to_string(channel);
}

// Core and mem channels count when a task is queued; shim channels when the switch connects them.
void add_columns(ArrayFacts& facts) {
  std::array<std::set<std::string>, arch::kColumns> shim, mem, core, programs;
  std::array<int, arch::kColumns> cores{};
  for (const TileFacts& tile : facts.tiles) {
    std::set<std::string>* use =
        tile.tile.kind() == TileKind::kMem ? &mem[tile.tile.col] : &core[tile.tile.col];
    if (tile.program >= 0) {
      ++cores[tile.tile.col];
      programs[tile.tile.col].insert(facts.programs[static_cast<size_t>(tile.program)].name);
    }
    if (tile.tile.kind() == TileKind::kShim) continue;
    for (const ChannelFacts& channel : tile.channels) {
      if (!channel.chains.empty()) use->insert(channel_name(channel.direction, channel.channel));
    }
  }
  for (const Route& route : facts.routes.routes) {
    if (route.tile.kind() == TileKind::kShim)
      shim[route.tile.col].insert(route.source == "TileCtrl" ? "tokens" : route.source);
    for (const RouteEnd& end : route.ends) {
      if (end.tile.kind() != TileKind::kShim || end.kind != EndKind::kChannel) continue;
      shim[end.tile.col].insert(channel_name(Direction::kS2mm, end.channel));
    }
  }
  for (int col = 0; col < arch::kColumns; ++col) {
    const auto list = [col](const auto& sets) {
      return std::vector<std::string>(sets[static_cast<size_t>(col)].begin(),
                                      sets[static_cast<size_t>(col)].end());
    };
    ColumnFacts out{col, cores[static_cast<size_t>(col)], list(programs), list(shim), list(mem), list(core)};
    if (out.cores != 0 || !out.shim.empty() || !out.mem.empty() || !out.core.empty())
      facts.columns.push_back(std::move(out));
  }
}

}  // namespace

int ArrayFacts::cores() const {
  return static_cast<int>(
      std::count_if(tiles.begin(), tiles.end(), [](const TileFacts& t) { return t.program >= 0; }));
}

int ArrayFacts::enabled_cores() const {
  return static_cast<int>(
      std::count_if(tiles.begin(), tiles.end(), [](const TileFacts& t) { return t.enabled; }));
}

ArrayFacts array_facts(const ArrayState& state) {
  ArrayFacts facts;
  facts.writes = state.counts();
  std::map<Bytes, size_t> known;
  for (const TileState& tile : state.tiles()) {
    if (!tile.touched) continue;
    TileFacts out = tile_facts(tile);
    out.program = program_of(tile, facts, known);
    facts.tiles.push_back(std::move(out));
  }
  facts.routes = trace_routes(state);
  add_groups(facts);
  add_columns(facts);
  return facts;
}

ArrayFacts array_facts(std::span<const format::CdoCommand> commands) {
  ArrayState state;
  state.apply(commands);
  return array_facts(state);
}

std::string group_text(const ArrayFacts& facts, const TileGroup& group) {
  std::vector<Tile> tiles;
  for (const size_t member : group.members) tiles.push_back(facts.tiles[member].tile);
  return std::string(arch::kind_name(tiles[0].kind())) + " " + tiles_text(tiles);
}

}  // namespace tegula::cli
