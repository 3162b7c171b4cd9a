// Facts of artifacts as one page that needs nothing else: inline style, script and SVG.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "cli/inspect/inspect.h"
#include "cli/inspect/page_style.h"
#include "cli/inspect/words.h"

namespace tegula::cli {
namespace {

using arch::Direction;
using arch::PortKind;
using arch::Tile;
using arch::TileKind;

constexpr int kTileWidth = 96, kTileHeight = 96, kGap = 18, kMargin = 14;
constexpr size_t kMaxBars = 20000;  // transfers drawn; a page beyond that is not looked at
constexpr int kLaneHeight = 6;

std::string escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < 0x20 && c != '\n')
      out += '?';
    else
      out += c;
  }
  return out;
}

std::string colour(int program) {
  return program < 0 ? "#f6f8fa"
                     : fmt::format("hsl({},70%,{}%)", (program * 67 + 205) % 360, 82 - 6 * (program / 6 % 3));
}

struct Point {
  int x = 0, y = 0;
};

Point corner(Tile tile) {
  return {kMargin + tile.col * (kTileWidth + kGap),
          kMargin + (arch::kRows - 1 - tile.row) * (kTileHeight + kGap)};
}

// Streams up and right run in one half of a tile's side, streams down and left in the other, so that both
// ends of a link meet.
Point place(Tile tile, arch::Port port, bool master) {
  const Point at = corner(tile);
  const int i = port.index;
  switch (port.kind) {
    case PortKind::kNorth:
      return {at.x + (master ? 8 + 7 * i : 58 + 8 * i), at.y};
    case PortKind::kSouth:
      if (tile.kind() == TileKind::kShim)
        return {at.x + (master ? 58 + 6 * i : 8 + 6 * i), at.y + kTileHeight};
      return {at.x + (master ? 58 + 8 * i : 8 + 7 * i), at.y + kTileHeight};
    case PortKind::kEast:
      return {at.x + kTileWidth, at.y + (master ? 26 + 7 * i : 60 + 8 * i)};
    case PortKind::kWest:
      return {at.x, at.y + (master ? 60 + 8 * i : 26 + 7 * i)};
    case PortKind::kDma:
      return {at.x + 20 + 11 * i, at.y + (master ? 40 : 78)};
    default:
      return {at.x + kTileWidth - 10, at.y + (master ? 44 : 74)};
  }
}

void draw_tiles(std::string& out, const ArrayFacts& array) {
  for (const TileFacts& tile : array.tiles) {
    const Point at = corner(tile.tile);
    out += fmt::format(
        "<rect class=\"tile\" data-tile=\"{},{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" "
        "fill=\"{}\"><title>{}</title></rect>\n",
        tile.tile.col, tile.tile.row, at.x, at.y, kTileWidth, kTileHeight, colour(tile.program),
        escape(tile_text(array, tile)));
    std::string label =
        fmt::format("{} {},{}", arch::kind_name(tile.tile.kind()), tile.tile.col, tile.tile.row);
    if (tile.program >= 0) label += " " + array.programs[static_cast<size_t>(tile.program)].name;
    if (tile.tile.kind() == TileKind::kCore && !tile.enabled) label += " off";
    out += fmt::format("<text class=\"label\" x=\"{}\" y=\"{}\">{}</text>\n", at.x + 4, at.y + 14,
                       escape(label));
  }
}

void draw_route(std::string& out, const Route& route, size_t id, size_t line) {
  const std::string stroke = fmt::format("hsl({},65%,40%)", line * 47 % 360);
  std::string path;
  for (const RouteHop& hop : route.hops) {
    const TileKind kind = hop.tile.kind();
    const Point from = place(hop.tile, arch::slave_port(kind, hop.slave), false);
    const Point to = place(hop.tile, arch::master_port(kind, hop.master), true);
    path += fmt::format("M{} {}L{} {}", from.x, from.y, to.x, to.y);
    const arch::Link link = arch::link_of(hop.tile, hop.master);
    if (!link.exists) continue;
    const Point next = place(link.tile, arch::slave_port(link.tile.kind(), link.slave), false);
    path += fmt::format("L{} {}", next.x, next.y);
  }
  out += fmt::format(
      "<path class=\"route\" data-stream=\"{}\" d=\"{}\" stroke=\"{}\" marker-end=\"url(#arrow)\"/>\n", id,
      path, stroke);
  for (const RouteEnd& end : route.ends) {
    const arch::Port port =
        end.kind == EndKind::kChannel && end.tile.kind() != TileKind::kShim
            ? arch::Port{PortKind::kDma, end.channel}
        : end.kind == EndKind::kChannel
            ? arch::Port{PortKind::kSouth, static_cast<u8>(arch::shim_s2mm_south(end.channel))}
        : end.kind == EndKind::kTokens ? arch::Port{PortKind::kSouth, 0}
                                       : arch::Port{PortKind::kTileCtrl, 0};
    const Point at = place(end.tile, port, true);
    out += fmt::format(
        "<circle class=\"route\" data-stream=\"{}\" cx=\"{}\" cy=\"{}\" r=\"3\" stroke=\"{}\"/>\n", id, at.x,
        at.y, stroke);
  }
}

void draw_streams(std::string& out, const ArrayFacts& array, const std::vector<RouteLine>& lines) {
  out += "<div class=\"side\"><h2>Streams</h2>\n";
  for (const RouteLine& line : lines) {
    std::string ids;
    for (const size_t member : line.members) ids += (ids.empty() ? "" : " ") + std::to_string(member);
    out += fmt::format("<button class=\"stream\" data-streams=\"{}\">{}</button>\n", ids, escape(line.text));
  }
  for (const std::string& port : array.routes.unreached)
    out += "<p class=\"note\">no stream reaches " + escape(port) + "</p>\n";
  out += "</div>\n";
}

// One memory as a bar with what lies in it.
struct Span {
  u64 first, bytes;
  std::string name, fill;
};

void draw_memory(std::string& out, const std::string& title, u64 size, std::vector<Span> spans) {
  constexpr int kWidth = 1000, kRow = 14;
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.first < b.first; });
  std::vector<u64> ends;  // of the rows, so that overlapping spans lie below each other
  std::string bars;
  for (const Span& span : spans) {
    size_t row = 0;
    while (row < ends.size() && ends[row] > span.first) ++row;
    if (row == ends.size()) ends.push_back(0);
    ends[row] = span.first + span.bytes;
    const double x = static_cast<double>(span.first) * kWidth / static_cast<double>(size);
    const double width = std::max(1.5, static_cast<double>(span.bytes) * kWidth / static_cast<double>(size));
    bars += fmt::format(
        "<rect class=\"span\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" fill=\"{}\" "
        "stroke=\"#57606a\"><title>{}</title></rect>\n",
        x, 18 + static_cast<int>(row) * kRow, width, kRow - 2, span.fill, escape(span.name));
  }
  const int height = 18 + kRow * static_cast<int>(std::max<size_t>(1, ends.size()));
  out += fmt::format(
      "<svg class=\"memory\" width=\"{}\" height=\"{}\"><text class=\"label\" x=\"0\" y=\"12\">{}</text>"
      "<rect x=\"0\" y=\"16\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#d0d7de\"/>\n{}</svg>\n",
      kWidth + 2, height + 2, escape(title), kWidth, height - 16, bars);
}

void draw_memories(std::string& out, const ArrayFacts& array) {
  for (const TileGroup& group : array.groups) {
    const TileFacts& tile = array.tiles[group.members[0]];
    const TileKind kind = tile.tile.kind();
    if (kind == TileKind::kShim) continue;
    const std::string name = group_text(array, group);
    if (tile.program >= 0) {
      std::vector<Span> spans;
      const ProgramFacts& program = array.programs[static_cast<size_t>(tile.program)];
      for (const auto& [address, bytes] : program.pieces) {
        spans.push_back({address, bytes,
                         fmt::format("program {}: {} bytes at 0x{:x}", program.name, bytes, address),
                         colour(tile.program)});
      }
      draw_memory(out, name + ": program memory, 16 KiB", arch::kCoreProgramBytes, std::move(spans));
    }
    std::vector<Span> spans;
    for (const DataFacts& data : tile.data) {
      spans.push_back({data.offset, data.bytes.size(),
                       fmt::format("data: {} bytes at 0x{:x}", data.bytes.size(), data.offset), "#fff8c5"});
    }
    for (const BdFacts& bd : tile.bds) {
      const u64 window = kind == TileKind::kMem ? arch::kMemWindowOwn : 0;
      const u64 size = arch::traits(kind).data_bytes;
      if (bd.bd.address < window || bd.bd.address >= window + size) continue;
      const u64 first = bd.bd.address - window;
      const u64 bytes = std::min(bd_extent(kind, bd.bd), size - first);
      spans.push_back({first, bytes, fmt::format("BD {}: {}", bd.number, bd.text),
                       bd.direction == Direction::kS2mm ? "#dafbe1" : "#ddf4ff"});
    }
    draw_memory(out, fmt::format("{}: data memory, {} KiB", name, arch::traits(kind).data_bytes / 1024),
                arch::traits(kind).data_bytes, std::move(spans));
  }
}

void draw_array(std::string& out, const ArrayFacts& array) {
  out +=
      fmt::format("<section class=\"configuration\"><h2>{}: {} cores, {} programs</h2>\n<p class=\"note\">",
                  escape(array.name), array.cores(), array.programs.size());
  for (size_t i = 0; i < array.programs.size(); ++i) {
    const ProgramFacts& program = array.programs[i];
    out += fmt::format("<span class=\"swatch\" style=\"background:{}\"></span>{}: {} bytes, {} cores",
                       colour(static_cast<int>(i)), program.name, program.written, program.tiles.size());
  }
  const int width = 2 * kMargin + arch::kColumns * (kTileWidth + kGap) - kGap;
  const int height = 2 * kMargin + arch::kRows * (kTileHeight + kGap) - kGap;
  out += fmt::format(
      "</p>\n<div class=\"array\"><svg class=\"grid\" width=\"{}\" height=\"{}\" viewBox=\"0 0 {} {}\">"
      "<defs><marker id=\"arrow\" markerWidth=\"7\" markerHeight=\"7\" refX=\"6\" refY=\"3.5\" "
      "orient=\"auto\">"
      "<path d=\"M0 0L7 3.5L0 7z\" fill=\"context-stroke\"/></marker></defs>\n",
      width, height, width, height);
  draw_tiles(out, array);
  const std::vector<RouteLine> lines = route_lines(array.routes);
  for (size_t i = 0; i < lines.size(); ++i) {
    for (const size_t member : lines[i].members) draw_route(out, array.routes.routes[member], member, i);
  }
  out += "</svg>\n";
  draw_streams(out, array, lines);
  out += "</div>\n<p class=\"note\">Click a stream to follow it, a tile to read its setup.</p>\n";
  for (const TileFacts& tile : array.tiles) {
    out += fmt::format("<pre class=\"setup\" data-tile=\"{},{}\" hidden>{}</pre>\n", tile.tile.col,
                       tile.tile.row, escape(tile_text(array, tile)));
  }
  out += "<h2>Memories</h2>\n";
  draw_memories(out, array);
  out += "</section>\n";
}

// Lanes: one for each channel, with a row for each task that may be in flight at once.
struct Lane {
  int y = 0;
  std::vector<u32> ends;  // op at which the row is free
};

void draw_timeline(std::string& out, const StreamFacts& facts) {
  using Key = std::tuple<Tile, Direction, u8>;
  std::map<Key, Lane> lanes;
  const auto ops = static_cast<u32>(facts.stream.ops.size());
  const double width = std::clamp(static_cast<double>(ops) * 0.6, 1000.0, 6000.0);
  const auto x = [&](double op) { return 130 + op * width / std::max<u32>(1, ops); };
  std::string bars;
  int y = 24;
  for (const ChannelUse& use : facts.channels) {
    Lane& lane = lanes[{use.tile, use.direction, use.channel}];
    lane.y = y;
    lane.ends.assign(std::min<u64>(std::max<u64>(1, use.most_in_flight), 64), 0);
    bars += fmt::format("<text class=\"label\" x=\"2\" y=\"{}\">{} {}{}</text>\n", y + 8,
                        escape(arch::tile_name(use.tile)), arch::direction_name(use.direction), use.channel);
    y += std::max(12, kLaneHeight * static_cast<int>(lane.ends.size()) + 3);
  }
  const size_t shown = std::min(facts.transfers.size(), kMaxBars);
  for (size_t i = 0; i < shown; ++i) {
    const TransferFacts& t = facts.transfers[i];
    Lane& lane = lanes[{t.tile, t.direction, t.channel}];
    const u32 end = t.waited < 0 ? ops : static_cast<u32>(t.waited);
    size_t row = 0;
    while (row + 1 < lane.ends.size() && lane.ends[row] > t.op) ++row;
    lane.ends[row] = end;
    const std::string text = fmt::format(
        "op {}: {}; argument {}, offset 0x{:x}, {} bytes; {}", t.op,
        bd_text(t.tile.kind(), t.direction, arch::decode(t.tile.kind(), t.bd)), t.argument, t.offset,
        4 * t.words,
        t.waited < 0 ? std::string("not waited for") : fmt::format("waited for by op {}", t.waited));
    bars += fmt::format(
        "<rect class=\"bd\" x=\"{:.1f}\" y=\"{}\" width=\"{:.1f}\" height=\"{}\" "
        "fill=\"{}\"><title>{}</title></rect>\n",
        x(t.op), lane.y + static_cast<int>(row) * kLaneHeight, std::max(1.0, x(end) - x(t.op)),
        kLaneHeight - 1, t.argument < 0 ? "#8c959f" : fmt::format("hsl({},60%,55%)", t.argument * 67 % 360),
        escape(text));
  }
  for (size_t i = 0; i < std::min(facts.waits.size(), kMaxBars); ++i) {
    const u32 op = facts.waits[i].op;
    bars += fmt::format(
        "<line class=\"wait\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"4\" y2=\"18\" stroke=\"#cf222e\"><title>op "
        "{1}: {2}</title></line>\n",
        x(op), op, escape(op_text(facts.stream, facts.stream.ops[op])));
  }
  if (shown < facts.transfers.size())
    out +=
        fmt::format("<p class=\"note\">The first {} of {} transfers.</p>\n", shown, facts.transfers.size());
  out += fmt::format(
      "<div class=\"scroll\"><svg class=\"timeline\" width=\"{:.0f}\" height=\"{}\"><text class=\"label\" "
      "x=\"2\" y=\"14\">waits</text>\n{}</svg></div>\n",
      width + 140, y + 4, bars);
}

void draw_stream(std::string& out, const StreamFacts& facts) {
  out += fmt::format(
      "<section class=\"controller\"><h2>{}: {} ops, {} BDs, {} waits, at most {} in flight</h2>\n",
      escape(facts.name), facts.stream.ops.size(), facts.bds, facts.waits.size(), facts.most_in_flight);
  draw_timeline(out, facts);
  out +=
      "<h2>Phases</h2><table class=\"phases\"><tr><th>from "
      "op</th><th>times</th><th>ops</th><th>what</th></tr>\n";
  for (size_t i = 0; i < std::min<size_t>(facts.phases.size(), 500); ++i) {
    const PhaseFacts& phase = facts.phases[i];
    out += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", phase.first_op,
                       phase.repeat, phase.ops, escape(phase.text));
  }
  out += "</table></section>\n";
}

}  // namespace

std::string to_html(const std::vector<Artifact>& artifacts) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>tegula "
      "inspect</title>\n<style>";
  out += kPageStyle;
  out += "</style></head>\n<body>\n";
  for (const Artifact& artifact : artifacts) {
    out += fmt::format("<h1>{}</h1>\n<p class=\"note\">{}, {} bytes</p>\n", escape(artifact.path),
                       format::file_kind_name(artifact.kind), artifact.bytes.size());
    for (const Error& problem : artifact.problems)
      out += "<p class=\"problem\">" + escape(problem.message) + "</p>\n";
    for (const ArrayFacts& array : artifact.arrays) draw_array(out, array);
    for (const StreamFacts& stream : artifact.streams) draw_stream(out, stream);
    if (!artifact.arrays.empty() || !artifact.streams.empty()) continue;
    out += "<pre>" + escape(to_text(artifact, {})) + "</pre>\n";
  }
  out += "<script>";
  out += kPageScript;
  return out + "</script>\n</body></html>\n";
}

}  // namespace tegula::cli
