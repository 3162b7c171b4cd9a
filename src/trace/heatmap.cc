// See heatmap.h. SVG by hand; titles are the tooltips.
#include "trace/heatmap.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "trace/text.h"

namespace tegula::trace {

namespace {

constexpr int kTileWidth = 96, kTileHeight = 64, kGap = 36, kMargin = 24;
constexpr int kBins = 480;
constexpr int kBinWidth = 2, kRowHeight = 13, kLabelWidth = 190;

template <typename... Args>
void print(std::string& out, const char* format, Args... args) {
  char text[400];
  std::snprintf(text, sizeof(text), format, args...);
  out += text;
}

double clamp(double share) {
  return std::clamp(share, 0.0, 1.0);
}

// White to green for work, over white to red for waiting.
std::string color(double work, double waiting) {
  const double green = clamp(work), red = clamp(waiting) * (1 - clamp(work));
  char text[16];
  std::snprintf(text, sizeof(text), "#%02x%02x%02x", static_cast<int>(245 - 190 * green),
                static_cast<int>(245 - 140 * red - 60 * green),
                static_cast<int>(245 - 170 * red - 170 * green));
  return text;
}

int tile_x(arch::Tile tile) {
  return kMargin + tile.col * (kTileWidth + kGap);
}
int tile_y(arch::Tile tile) {
  return kMargin + (arch::kRows - 1 - tile.row) * (kTileHeight + kGap);
}

void draw_tile(std::string& out, arch::Tile tile, const TileHeat* heat) {
  const std::string fill = heat == nullptr ? "#f6f6f6" : color(heat->work, heat->waiting);
  print(out, "<g><rect x='%d' y='%d' width='%d' height='%d' rx='5' fill='%s' stroke='#888'/>", tile_x(tile),
        tile_y(tile), kTileWidth, kTileHeight, fill.c_str());
  print(out, "<text x='%d' y='%d'>%s</text>", tile_x(tile) + 6, tile_y(tile) + 16,
        arch::tile_name(tile).c_str());
  if (heat != nullptr) {
    print(out, "<text x='%d' y='%d'>%.0f%% %s</text>", tile_x(tile) + 6, tile_y(tile) + 34,
          100 * clamp(heat->work), tile.kind() == arch::TileKind::kCore ? "multiplier" : "moving");
    print(out, "<text x='%d' y='%d'>%.0f%% waiting</text>", tile_x(tile) + 6, tile_y(tile) + 50,
          100 * clamp(heat->waiting));
    out += "<title>" + html_text(arch::tile_name(tile));
    for (const std::string& line : heat->details) out += "\n" + html_text(line);
    out += "</title>";
  }
  out += "</g>\n";
}

// From the middle of one side to the other tile, moved aside so that both directions show.
void draw_link(std::string& out, const LinkHeat& link) {
  const int dx = link.to.col - link.from.col, dy = link.from.row - link.to.row;  // y points down
  const int side = dx != 0 ? 0 : (dy > 0 ? 10 : -10);
  const int lift = dx == 0 ? 0 : (dx > 0 ? 10 : -10);
  const int x = tile_x(link.from) + kTileWidth / 2 + dx * kTileWidth / 2 + side;
  const int y = tile_y(link.from) + kTileHeight / 2 + dy * kTileHeight / 2 + lift;
  const double share = clamp(link.share);
  print(out, "<line x1='%d' y1='%d' x2='%d' y2='%d' stroke='#%02x4488' stroke-width='%.1f'>", x, y,
        x + dx * kGap, y + dy * kGap, static_cast<int>(60 + 190 * share), 1 + 9 * share);
  print(out, "<title>%s to %s: %llu words, busiest link %.1f%%</title></line>\n",
        arch::tile_name(link.from).c_str(), arch::tile_name(link.to).c_str(),
        static_cast<unsigned long long>(link.words), 100 * share);
}

// Share of each bin of time that slices of a track cover; waiting slices apart.
struct Row {
  std::array<double, kBins> busy{}, waiting{};
};

bool is_wait(const std::string& name) {
  return name.starts_with("wait");
}

void add_slice(Row& row, const Slice& slice, bool wait, u64 cycles) {
  const double per_bin = static_cast<double>(std::max<u64>(cycles, 1)) / kBins;
  const double start = static_cast<double>(slice.start) / per_bin,
               end = static_cast<double>(slice.end) / per_bin;
  auto& bins = wait ? row.waiting : row.busy;
  for (int bin = std::max(0, static_cast<int>(start)); bin < kBins && bin < end; ++bin) {
    bins[bin] += std::max(0.0, std::min<double>(end, bin + 1) - std::max<double>(start, bin));
  }
}

void draw_rows(std::string& out, const Timeline& timeline, u64 cycles) {
  std::vector<Row> rows(timeline.tracks.size());
  std::vector<bool> used(timeline.tracks.size(), false);
  for (const Slice& slice : timeline.slices) {
    if (slice.track >= rows.size() || slice.name >= timeline.names.size()) continue;
    used[slice.track] = true;
    add_slice(rows[slice.track], slice, is_wait(timeline.names[slice.name]), cycles);
  }
  const auto count = std::count(used.begin(), used.end(), true);
  print(out, "<svg width='%d' height='%d' font-size='10'>\n", kLabelWidth + kBins * kBinWidth + 10,
        static_cast<int>(count) * kRowHeight + 24);
  int y = 0;
  for (size_t t = 0; t < rows.size(); ++t) {
    if (!used[t]) continue;
    out += "<text x='0' y='" + std::to_string(y + 10) + "'>" +
           html_text(timeline.tracks[t].group + " " + timeline.tracks[t].name) + "</text>\n";
    for (int bin = 0; bin < kBins;) {
      const auto shade = [&](int at) {
        return color(rows[t].busy[at] - rows[t].waiting[at], rows[t].waiting[at]);
      };
      int end = bin + 1;
      while (end < kBins && shade(end) == shade(bin)) ++end;
      if (rows[t].busy[bin] + rows[t].waiting[bin] > 0) {
        print(out, "<rect x='%d' y='%d' width='%d' height='%d' fill='%s'/>", kLabelWidth + bin * kBinWidth, y,
              (end - bin) * kBinWidth, kRowHeight - 2, shade(bin).c_str());
      }
      bin = end;
    }
    out += "\n";
    y += kRowHeight;
  }
  for (int tenth = 0; tenth <= 10; tenth += 2) {
    print(out, "<text x='%d' y='%d'>%.1f us</text>",
          kLabelWidth + tenth * kBins * kBinWidth / 10 - (tenth == 10 ? 40 : 0), y + 14,
          static_cast<double>(cycles) * tenth / 10 / timeline.cycles_per_microsecond);
  }
  out += "</svg>\n";
}

}  // namespace

std::string heatmap_html(const Heatmap& heatmap, const Timeline& timeline) {
  std::string out = "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>" +
                    html_text(heatmap.title) +
                    "</title>\n<style>body{font-family:sans-serif;margin:24px;color:#222}svg text{fill:#222}"
                    "h1{font-size:20px}h2{font-size:16px}p{margin:2px 0}</style></head><body>\n<h1>" +
                    html_text(heatmap.title) + "</h1>\n";
  for (const std::string& line : heatmap.summary) out += "<p>" + html_text(line) + "</p>\n";
  out +=
      "<h2>Array</h2>\n<p>Green: the multiplier works (cores), words move (others). Red: waiting. Lines: "
      "words "
      "between tiles, thicker for a busier link. Rest the pointer on a tile or line for numbers.</p>\n";
  print(out, "<svg width='%d' height='%d' font-size='11'>\n",
        2 * kMargin + arch::kColumns * (kTileWidth + kGap), 2 * kMargin + arch::kRows * (kTileHeight + kGap));
  for (const LinkHeat& link : heatmap.links) draw_link(out, link);
  for (int i = 0; i < arch::kTiles; ++i) {
    const arch::Tile tile = arch::tile_at(i);
    const auto found = std::find_if(heatmap.tiles.begin(), heatmap.tiles.end(),
                                    [&](const TileHeat& heat) { return heat.tile == tile; });
    draw_tile(out, tile, found == heatmap.tiles.end() ? nullptr : &*found);
  }
  out += "</svg>\n<h2>Timeline</h2>\n<p>Green: at work. Red: waiting. Times are modelled.</p>\n";
  draw_rows(out, timeline, heatmap.cycles);
  return out + "</body></html>\n";
}

}  // namespace tegula::trace
