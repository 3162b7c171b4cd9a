#include "cli/disasm/annotate.h"

#include <fmt/core.h>

#include <algorithm>

#include "isa/flow.h"

namespace tegula::cli {
namespace {

using arch::Direction;

constexpr int kLocksPerTile = 16;
constexpr size_t kMaxItems = 4;  // of a list in a comment

std::string join(std::vector<std::string> items) {
  std::vector<std::string> distinct;
  for (std::string& item : items) {
    if (std::find(distinct.begin(), distinct.end(), item) == distinct.end())
      distinct.push_back(std::move(item));
  }
  std::string out;
  for (size_t i = 0; i < distinct.size() && i < kMaxItems; ++i) out += (i ? ", " : "") + distinct[i];
  if (distinct.size() > kMaxItems) out += fmt::format(" and {} more", distinct.size() - kMaxItems);
  return out;
}

// "S2MM0 has put 512 words into 0xa000"
std::string transfer_text(const ChannelFacts& channel, const arch::Bd& bd, bool done) {
  const bool in = channel.direction == Direction::kS2mm;
  const char* verb = in ? (done ? "has put" : "puts") : (done ? "has sent" : "sends");
  return fmt::format("{}{} {} {} words {} {:#x}", in ? "S2MM" : "MM2S", channel.channel, verb, bd.length,
                     in ? "into" : "from", bd.address);
}

const BdFacts* find_bd(const TileFacts& tile, int number) {
  const auto it = std::find_if(tile.bds.begin(), tile.bds.end(),
                               [number](const BdFacts& bd) { return bd.number == number; });
  return it == tile.bds.end() ? nullptr : &*it;
}

// An acquire waits for the BDs that give the lock, a release lets those go on that take it.
std::vector<std::string> partners(const TileFacts& tile, int lock, bool acquire) {
  std::vector<std::string> out;
  for (const ChannelFacts& channel : tile.channels) {
    for (const ChainFacts& chain : channel.chains) {
      for (const int number : chain.bds) {
        const BdFacts* facts = find_bd(tile, number);
        if (facts == nullptr) continue;
        const arch::Bd& bd = facts->bd;
        const bool match = acquire ? bd.release_value != 0 && bd.release_lock == lock
                                   : bd.acquire && bd.acquire_lock == lock;
        if (match) out.push_back(transfer_text(channel, bd, acquire));
      }
    }
  }
  return out;
}

bool defines(const isa::InstrInfo& info, isa::Reg reg) {
  return std::find(info.implicit_defs.begin(), info.implicit_defs.end(), reg) != info.implicit_defs.end();
}

const TileFacts* tile_at(const ArrayFacts& facts, int col, int row) {
  for (const TileFacts& tile : facts.tiles) {
    if (tile.tile.col == col && tile.tile.row == row) return &tile;
  }
  return nullptr;
}

std::string lock_text(const ArrayFacts& facts, arch::Tile core, int number, bool acquire) {
  int col = core.col, row = core.row;
  const int quarter = number / kLocksPerTile * kLocksPerTile;
  if (quarter == arch::kCoreLockSouth) --row;
  if (quarter == arch::kCoreLockWest) --col;
  if (quarter == arch::kCoreLockNorth) ++row;
  const TileFacts* tile = tile_at(facts, col, row);
  const int lock = number % kLocksPerTile;
  std::string out = fmt::format("lock {}", lock);
  if (quarter != arch::kCoreLockOwn) out += fmt::format(" of tile ({},{})", col, row);
  if (tile == nullptr) return out;
  const std::string list = join(partners(*tile, lock, acquire));
  return list.empty() ? out : out + ": " + list;
}

std::string stream_text(const ArrayFacts& facts, arch::Tile core, bool input) {
  std::vector<std::string> items;
  for (const Route& route : facts.routes.routes) {
    const bool own_source = route.tile == core && route.source.starts_with("Core");
    for (const RouteEnd& end : route.ends) {
      if (!input && own_source) items.push_back("to " + end_text(end));
      if (input && end.kind == EndKind::kCore && end.tile == core)
        items.push_back(fmt::format("from {} of {}", route.source, arch::tile_name(route.tile)));
    }
  }
  return join(std::move(items));
}

}  // namespace

void annotate(const ArrayFacts& facts, arch::Tile core, const isa::Instr& instr, std::optional<int> lock,
              std::string& comment) {
  if (lock) {
    comment += lock_text(facts, core, *lock, isa::is_acquire(instr.op));
    return;
  }
  const isa::InstrInfo& info = isa::info(instr.op);
  if (info.implicit_defs.empty()) return;
  if (defines(info, isa::Reg::srSS0)) comment += stream_text(facts, core, true);
  if (defines(info, isa::Reg::srMS0)) comment += stream_text(facts, core, false);
}

}  // namespace tegula::cli
