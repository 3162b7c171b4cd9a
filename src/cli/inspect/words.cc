#include "cli/inspect/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

namespace tegula::cli {
namespace {

using arch::Bd;
using arch::Direction;
using arch::Tile;
using arch::TileKind;

std::string address_text(TileKind kind, u64 address) {
  if (kind != TileKind::kMem) return fmt::format("0x{:x}", address);
  if (address < arch::kMemWindowOwn) return fmt::format("0x{:x} (west)", address);
  if (address >= arch::kMemWindowEast)
    return fmt::format("0x{:x} (east 0x{:x})", address, address - arch::kMemWindowEast);
  return fmt::format("0x{:x} (own 0x{:x})", address, address - arch::kMemWindowOwn);
}

std::string lock_text(TileKind kind, int lock, int amount) {
  std::string text = std::to_string(lock);
  if (kind == TileKind::kMem) {
    if (lock < arch::kMemLockOwn)
      text += " (west)";
    else if (lock >= arch::kMemLockEast)
      text += fmt::format(" (east {})", lock - arch::kMemLockEast);
    else
      text += fmt::format(" (own {})", lock - arch::kMemLockOwn);
  }
  if (amount != 1) text += fmt::format(" by {}", amount);
  return text;
}

// Everything behind the transfer itself.
std::string tail_text(TileKind kind, const Bd& bd) {
  std::string text;
  if (const std::string dims = dimensions_text(kind, bd); !dims.empty()) text += " as " + dims;
  if (bd.iteration_wrap > 1) {
    text += fmt::format(", moving by {} words at each of {} loads", bd.iteration_step, bd.iteration_wrap);
    if (bd.iteration_current != 0) text += fmt::format(" from {}", bd.iteration_current);
  }
  if (bd.packet) text += fmt::format(", as packet {} of type {}", bd.packet_id, bd.packet_type);
  if (bd.suppress_tlast) text += ", without TLAST";
  if (bd.compress) text += ", compressed";
  if (bd.pad_before != decltype(bd.pad_before){} || bd.pad_after != decltype(bd.pad_after){}) {
    text += fmt::format(", padded {}+{} words, {}+{} rows, {}+{} blocks", bd.pad_before[0], bd.pad_after[0],
                        bd.pad_before[1], bd.pad_after[1], bd.pad_before[2], bd.pad_after[2]);
  }
  if (bd.acquire && bd.acquire_value < 0)
    text += ", take lock " + lock_text(kind, bd.acquire_lock, -bd.acquire_value);
  if (bd.acquire && bd.acquire_value >= 0) {
    text += fmt::format(", wait for lock {} = {}", lock_text(kind, bd.acquire_lock, 1), bd.acquire_value);
  }
  if (bd.release_value != 0) text += ", give lock " + lock_text(kind, bd.release_lock, bd.release_value);
  if (bd.use_next) text += fmt::format(", then BD {}", bd.next);
  if (!bd.valid) text += ", not valid";
  return text;
}

struct RelativeEnd {
  int dcol;
  u8 row;
  EndKind kind;
  u8 channel;
  bool drop, armed;
  auto operator<=>(const RelativeEnd&) const = default;
};

std::vector<RelativeEnd> relative_ends(const Route& route) {
  std::vector<RelativeEnd> out;
  for (const RouteEnd& end : route.ends) {
    out.push_back(
        {end.tile.col - route.tile.col, end.tile.row, end.kind, end.channel, end.drop_header, end.armed});
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string kind_text(EndKind kind, int channel) {
  switch (kind) {
    case EndKind::kChannel:
      return "S2MM" + std::to_string(channel);
    case EndKind::kCore:
      return "stream input";
    case EndKind::kControl:
      return "control";
    case EndKind::kTokens:
      return "controller";
    case EndKind::kOutside:
      return "South" + std::to_string(channel);
  }
  return {};
}

std::string packet_text(const Route& route) {
  if (route.packet_id < 0) return {};
  std::string text = fmt::format(", packets {}", route.packet_id);
  if (route.packet_mask != 0x1F) text += fmt::format(" (mask 0x{:x})", route.packet_mask);
  return text;
}

// The ends of routes, by kind, channel and what else is told of them, each with its tiles.
std::string ends_text(const Route& route, const std::string& column) {
  std::map<std::tuple<EndKind, u8, bool, bool, TileKind>, std::vector<Tile>> groups;
  for (const RouteEnd& end : route.ends) {
    groups[{end.kind, end.channel, end.drop_header, end.armed, end.tile.kind()}].push_back(end.tile);
  }
  std::string text;
  for (const auto& [key, tiles] : groups) {
    const auto& [kind, channel, drop, armed, tile_kind] = key;
    if (!text.empty()) text += "; ";
    text += kind_text(kind, channel) + " of " + arch::kind_name(tile_kind) + " ";
    if (column.empty()) {
      text += tiles_text(tiles);
    } else {
      std::vector<int> rows;
      for (const Tile tile : tiles) rows.push_back(tile.row);
      std::sort(rows.begin(), rows.end());
      text += "(" + column + "," + ranges_text(rows) + ")";
    }
    if (!armed) text += " (no task queued)";
  }
  if (route.ends.empty()) text = "nowhere";
  for (const std::string& problem : route.problems) text += "; " + problem;
  return text;
}

std::string line_text(const Route& route, std::span<const int> columns) {
  int dcol = 0;
  bool same = columns.size() > 1;
  for (size_t i = 0; i < route.ends.size(); ++i) {
    const int d = route.ends[i].tile.col - route.tile.col;
    if (i == 0) dcol = d;
    same = same && d == dcol;
  }
  if (!same) return route_text(route);
  const std::string column = dcol == 0 ? "c" : fmt::format("c{:+}", dcol);
  return fmt::format("{} (c,{}) {}{} -> {}, c = {}", arch::kind_name(route.tile.kind()), route.tile.row,
                     route.source, packet_text(route), ends_text(route, column), ranges_text(columns));
}

}  // namespace

std::string ranges_text(std::span<const int> sorted) {
  std::string text;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] <= sorted[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(sorted[i]);
    if (sorted[last] != sorted[i]) text += "-" + std::to_string(sorted[last]);
    i = last + 1;
  }
  return text;
}

std::string tiles_text(std::span<const Tile> tiles) {
  std::map<int, std::set<int>> rows;
  for (const Tile tile : tiles) rows[tile.row].insert(tile.col);
  std::map<std::set<int>, std::vector<int>> by_columns;
  std::vector<std::set<int>> order;
  for (const auto& [row, columns] : rows) {
    if (!by_columns.contains(columns)) order.push_back(columns);
    by_columns[columns].push_back(row);
  }
  std::string text;
  for (const std::set<int>& columns : order) {
    const std::vector<int> list(columns.begin(), columns.end());
    if (!text.empty()) text += ", ";
    text += "(" + ranges_text(list) + "," + ranges_text(by_columns[columns]) + ")";
  }
  return text;
}

std::string dimensions_text(TileKind kind, const Bd& bd) {
  const auto last = static_cast<size_t>(arch::traits(kind).dimensions - 1);
  if (bd.dims[0].wrap == 0)
    return bd.dims[0].step == 1 ? std::string() : fmt::format("D0 x{}", bd.dims[0].step);
  std::string text;
  for (size_t d = 0; d <= last; ++d) {
    if (!text.empty()) text += ", ";
    if (d == last || bd.dims[d].wrap == 0) {
      text += fmt::format("D{} x{}", d, bd.dims[d].step);
      break;
    }
    text += fmt::format("D{} {} x{}", d, bd.dims[d].wrap, bd.dims[d].step);
  }
  return text;
}

u64 bd_extent(TileKind kind, const Bd& bd) {
  const auto last = static_cast<size_t>(arch::traits(kind).dimensions - 1);
  u64 left = bd.length, reach = 0;  // words
  for (size_t d = 0; d <= last && left != 0; ++d) {
    const u64 wrap = d == last || bd.dims[d].wrap == 0 ? left : std::min<u64>(bd.dims[d].wrap, left);
    reach += (wrap - 1) * bd.dims[d].step;
    left = (left + wrap - 1) / wrap;
    if (left == 1) break;
  }
  return bd.length == 0 ? 0 : (reach + 1) * 4;
}

std::string bd_text(TileKind kind, Direction direction, const Bd& bd) {
  const char* verb = direction == Direction::kS2mm ? "receive" : "send";
  const char* preposition = direction == Direction::kS2mm ? "into" : "from";
  return fmt::format("{} {} words {} {}{}", verb, bd.length, preposition, address_text(kind, bd.address),
                     tail_text(kind, bd));
}

std::string bd_text(TileKind kind, const Bd& bd) {
  return fmt::format("{} words at {}{}", bd.length, address_text(kind, bd.address), tail_text(kind, bd));
}

std::string route_text(const Route& route) {
  return fmt::format("{} {}{} -> {}", arch::tile_name(route.tile), route.source, packet_text(route),
                     ends_text(route, {}));
}

std::vector<RouteLine> route_lines(const RouteMap& map) {
  using Key = std::tuple<u8, std::string, int, u8, std::vector<RelativeEnd>, bool>;
  std::map<Key, size_t> known;
  std::vector<RouteLine> lines;
  std::vector<std::vector<int>> columns;
  for (size_t i = 0; i < map.routes.size(); ++i) {
    const Route& route = map.routes[i];
    std::vector<RelativeEnd> ends = relative_ends(route);
    // Only streams that stay at one distance read well with a variable column.
    const bool joins = route.problems.empty() && !ends.empty() && ends.front().dcol == ends.back().dcol;
    const Key key{route.tile.row, route.source, route.packet_id, route.packet_mask, std::move(ends), joins};
    const auto at = joins ? known.find(key) : known.end();
    if (at != known.end()) {
      lines[at->second].members.push_back(i);
      columns[at->second].push_back(route.tile.col);
      continue;
    }
    if (joins) known[key] = lines.size();
    lines.push_back({{}, {i}});
    columns.push_back({route.tile.col});
  }
  for (size_t i = 0; i < lines.size(); ++i)
    lines[i].text = line_text(map.routes[lines[i].members[0]], columns[i]);
  return lines;
}

std::vector<std::string> hop_texts(const Route& route) {
  std::vector<std::string> out;
  for (const RouteHop& hop : route.hops) {
    const TileKind kind = hop.tile.kind();
    out.push_back(fmt::format("{}: {} ({}) -> {} ({})", arch::tile_name(hop.tile),
                              arch::port_name(arch::slave_port(kind, hop.slave)), hop.slave,
                              arch::port_name(arch::master_port(kind, hop.master)), hop.master));
  }
  return out;
}

}  // namespace tegula::cli
