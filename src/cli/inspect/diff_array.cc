// Differences between two array configurations, tile by tile; those that many tiles share are told once.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "cli/inspect/diff.h"
#include "cli/inspect/words.h"
#include "isa/text.h"

namespace tegula::cli {
namespace {

using arch::Bd;
using arch::Tile;
using arch::TileKind;

constexpr size_t kMostEdits = 2000;

u64 hash(std::string_view text) {
  u64 h = 14695981039346656037ull;  // FNV-1a
  for (const char c : text) h = (h ^ static_cast<u8>(c)) * 1099511628211ull;
  return h;
}

// Differences of single tiles, to be joined when they are the same for several.
class Joined {
 public:
  void add(Tile tile, const std::string& part, const std::string& what, const std::string& a,
           const std::string& b) {
    if (a == b) return;
    const Key key{tile.kind(), part, what, a, b};
    const auto at = places_.find(key);
    if (at != places_.end()) {
      lines_[at->second].second.push_back(tile);
      return;
    }
    places_[key] = lines_.size();
    lines_.push_back({key, {tile}});
  }
  void flush(DiffResult& out) {
    for (const auto& [key, tiles] : lines_) {
      const auto& [kind, part, what, a, b] = key;
      std::string place = std::string(arch::kind_name(kind)) + " " + tiles_text(tiles);
      if (!part.empty()) place += " " + part;
      out.add(place, what, a, b);
    }
  }

 private:
  using Key = std::tuple<TileKind, std::string, std::string, std::string, std::string>;
  std::map<Key, size_t> places_;
  std::vector<std::pair<Key, std::vector<Tile>>> lines_;
};

std::string number(i64 value) {
  return std::to_string(value);
}

// A BD as named values, so that only the fields that differ are told.
std::vector<std::pair<std::string, std::string>> bd_fields(TileKind kind, const Bd& bd) {
  std::vector<std::pair<std::string, std::string>> out = {
      {"address", fmt::format("0x{:x}", bd.address)},
      {"length", number(bd.length)},
      {"next BD", bd.use_next ? number(bd.next) : "none"},
      {"acquire", bd.acquire ? fmt::format("lock {} by {}", bd.acquire_lock, bd.acquire_value) : "none"},
      {"release",
       bd.release_value != 0 ? fmt::format("lock {} by {}", bd.release_lock, bd.release_value) : "none"},
      {"packet", bd.packet ? fmt::format("id {} type {}", bd.packet_id, bd.packet_type) : "none"},
      {"iteration", fmt::format("{} x{} at {}", bd.iteration_wrap, bd.iteration_step, bd.iteration_current)},
      {"valid", bd.valid ? "yes" : "no"},
      {"TLAST", bd.suppress_tlast ? "suppressed" : "sent"},
      {"compression", bd.compress ? "on" : "off"},
      {"padding", fmt::format("{} {} {} before, {} {} {} after", bd.pad_before[0], bd.pad_before[1],
                              bd.pad_before[2], bd.pad_after[0], bd.pad_after[1], bd.pad_after[2])},
      {"shim settings", fmt::format("burst {} smid {} cache {} qos {} secure {}", bd.burst, bd.smid,
                                    bd.ax_cache, bd.ax_qos, bd.secure)}};
  for (int d = 0; d < arch::traits(kind).dimensions; ++d) {
    out.push_back({fmt::format("D{} step", d), number(bd.dims[static_cast<size_t>(d)].step)});
    out.push_back({fmt::format("D{} wrap", d), number(bd.dims[static_cast<size_t>(d)].wrap)});
  }
  return out;
}

template <typename T, typename Key>
std::map<int, std::pair<const T*, const T*>> paired(const std::vector<T>& a, const std::vector<T>& b,
                                                    Key key) {
  std::map<int, std::pair<const T*, const T*>> out;
  for (const T& x : a) out[key(x)].first = &x;
  for (const T& x : b) out[key(x)].second = &x;
  return out;
}

void diff_bds(const TileFacts& a, const TileFacts& b, Joined& out) {
  const TileKind kind = a.tile.kind();
  for (const auto& [id, pair] : paired(a.bds, b.bds, [](const BdFacts& bd) { return bd.number; })) {
    const auto& [x, y] = pair;
    const std::string part = "BD " + number(id);
    if (x == nullptr || y == nullptr) {
      out.add(a.tile, part, "BD", x == nullptr ? "" : x->text, y == nullptr ? "" : y->text);
      continue;
    }
    if (x->words == y->words) continue;
    const auto left = bd_fields(kind, x->bd), right = bd_fields(kind, y->bd);
    bool named = false;
    for (size_t i = 0; i < left.size(); ++i) {
      named = named || left[i].second != right[i].second;
      out.add(a.tile, part, left[i].first, left[i].second, right[i].second);
    }
    for (int w = 0; w < arch::traits(kind).bd_words && !named; ++w) {
      const auto at = static_cast<size_t>(w);
      out.add(a.tile, part, fmt::format("unused bits of word {}", w), fmt::format("0x{:x}", x->words[at]),
              fmt::format("0x{:x}", y->words[at]));
    }
  }
}

std::string tasks_text(const ChannelFacts* channel) {
  std::string text;
  if (channel == nullptr) return text;
  for (const ChainFacts& chain : channel->chains) {
    text += fmt::format("{}BD {}, {} times{}", text.empty() ? "" : "; ", chain.task.first_bd,
                        chain.task.repeat, chain.task.token ? ", token" : "");
  }
  return text;
}

void diff_channels(const TileFacts& a, const TileFacts& b, Joined& out) {
  const auto key = [](const ChannelFacts& c) { return static_cast<int>(c.direction) * 16 + c.channel; };
  for (const auto& [id, pair] : paired(a.channels, b.channels, key)) {
    const auto& [x, y] = pair;
    const std::string part = arch::direction_name(static_cast<arch::Direction>(id / 16)) + number(id % 16);
    out.add(a.tile, part, "tasks", tasks_text(x), tasks_text(y));
    out.add(a.tile, part, "control", fmt::format("0x{:x}", x == nullptr ? 0 : x->ctrl),
            fmt::format("0x{:x}", y == nullptr ? 0 : y->ctrl));
  }
}

std::string bytes_text(const Bytes& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size() && i < 16; ++i)
    text += fmt::format("{}{:02x}", i == 0 ? "" : " ", bytes[i]);
  if (bytes.size() > 16) text += fmt::format(" ... ({} bytes)", bytes.size());
  return text;
}

void diff_data(const TileFacts& a, const TileFacts& b, Joined& out) {
  for (const auto& [offset, pair] :
       paired(a.data, b.data, [](const DataFacts& d) { return static_cast<int>(d.offset); })) {
    const auto& [x, y] = pair;
    const std::string part = fmt::format("data at 0x{:x}", offset);
    if (x == nullptr || y == nullptr || x->bytes.size() != y->bytes.size()) {
      out.add(a.tile, part, "bytes", x == nullptr ? "" : bytes_text(x->bytes),
              y == nullptr ? "" : bytes_text(y->bytes));
      continue;
    }
    const auto at = std::mismatch(x->bytes.begin(), x->bytes.end(), y->bytes.begin());
    if (at.first == x->bytes.end()) continue;
    const auto first = at.first - x->bytes.begin();
    out.add(a.tile, fmt::format("data at 0x{:x}", offset + first), "bytes",
            bytes_text({at.first, x->bytes.end()}), bytes_text({at.second, y->bytes.end()}));
  }
}

void diff_tile(const TileFacts& a, const TileFacts& b, Joined& out) {
  out.add(a.tile, "", "enabled", a.enabled ? "yes" : "no", b.enabled ? "yes" : "no");
  std::map<int, std::pair<std::string, std::string>> locks;
  for (const auto& [lock, value] : a.locks) locks[lock].first = number(value);
  for (const auto& [lock, value] : b.locks) locks[lock].second = number(value);
  for (const auto& [lock, pair] : locks)
    out.add(a.tile, "lock " + number(lock), "initial value", pair.first, pair.second);
  diff_bds(a, b, out);
  diff_channels(a, b, out);
  diff_data(a, b, out);
  std::map<std::string, std::pair<std::string, std::string>> registers;
  for (const auto& [name, value] : a.registers) registers[name].first = fmt::format("0x{:x}", value);
  for (const auto& [name, value] : b.registers) registers[name].second = fmt::format("0x{:x}", value);
  for (const auto& [name, pair] : registers) out.add(a.tile, name, "value", pair.first, pair.second);
}

// Tiles with the same pair of programs are compared once.
void diff_tile_programs(const ArrayFacts& a, const ArrayFacts& b,
                        const std::map<int, std::pair<const TileFacts*, const TileFacts*>>& tiles,
                        DiffResult& out) {
  std::map<std::pair<int, int>, std::vector<Tile>> pairs;
  for (const auto& [index, pair] : tiles) {
    const int left = pair.first == nullptr ? -1 : pair.first->program,
              right = pair.second == nullptr ? -1 : pair.second->program;
    pairs[{left, right}].push_back(arch::tile_at(index));
  }
  for (const auto& [programs, where] : pairs) {
    const Bytes none;
    const Bytes& left = programs.first < 0 ? none : a.programs[static_cast<size_t>(programs.first)].image;
    const Bytes& right = programs.second < 0 ? none : b.programs[static_cast<size_t>(programs.second)].image;
    if (left != right) diff_programs("core " + tiles_text(where) + " program", left, right, out);
  }
}

std::string source_text(const Route& route) {
  std::string text = arch::tile_name(route.tile) + " " + route.source;
  if (route.packet_id >= 0) text += fmt::format(" packet {}", route.packet_id);
  return text;
}

std::string ends_text(const Route* route) {
  if (route == nullptr) return {};
  std::vector<std::string> ends;
  for (const RouteEnd& end : route->ends)
    ends.push_back(end_text(end) + (end.drop_header ? " without header" : ""));
  std::sort(ends.begin(), ends.end());
  std::string text;
  for (const std::string& end : ends) text += (text.empty() ? "" : ", ") + end;
  for (const std::string& problem : route->problems) text += "; " + problem;
  return text.empty() ? "nowhere" : text;
}

std::string hops_text(const Route& route) {
  std::string text;
  for (const std::string& hop : hop_texts(route)) text += (text.empty() ? "" : "; ") + hop;
  return text;
}

void diff_routes(const RouteMap& a, const RouteMap& b, DiffResult& out) {
  std::map<std::string, std::pair<const Route*, const Route*>> routes;
  std::vector<std::string> order;
  const auto note = [&](const Route& route) -> auto& {
    const std::string key = source_text(route);
    if (!routes.contains(key)) order.push_back(key);
    return routes[key];
  };
  for (const Route& route : a.routes) note(route).first = &route;
  for (const Route& route : b.routes) note(route).second = &route;
  for (const std::string& source : order) {
    const auto& [x, y] = routes[source];
    const std::string left = ends_text(x), right = ends_text(y);
    if (left != right) {
      out.add("stream of " + source, "route to", left, right);
    } else if (x->hops != y->hops) {
      out.add("stream of " + source, "way", hops_text(*x), hops_text(*y));
    }
  }
  const auto list = [](const std::vector<std::string>& ports) {
    std::string text;
    for (const std::string& port : ports) text += (text.empty() ? "" : ", ") + port;
    return text;
  };
  if (a.unreached != b.unreached)
    out.add("switches", "enabled ports that no stream reaches", list(a.unreached), list(b.unreached));
}

}  // namespace

void diff_programs(const std::string& place, ByteSpan a, ByteSpan b, DiffResult& out) {
  if (a.size() != b.size())
    out.add(place, "bytes", number(static_cast<i64>(a.size())), number(static_cast<i64>(b.size())));
  if (a.empty() || b.empty()) return;
  const std::vector<isa::DisassembledLine> left = isa::disassemble(a), right = isa::disassemble(b);
  std::vector<u64> keys_a, keys_b;
  for (const isa::DisassembledLine& line : left) keys_a.push_back(hash(line.text));
  for (const isa::DisassembledLine& line : right) keys_b.push_back(hash(line.text));
  std::vector<std::pair<size_t, size_t>> matches = align(keys_a, keys_b, kMostEdits);
  matches.push_back({left.size(), right.size()});
  size_t x = 0, y = 0;
  for (const auto& [to_x, to_y] : matches) {
    // What lies between two matches is told pair by pair.
    for (; x < to_x || y < to_y;) {
      const bool has_a = x < to_x, has_b = y < to_y;
      const std::string what =
          has_a ? fmt::format("instruction at 0x{:x}", left[x].address)
                : fmt::format("instruction before 0x{:x}",
                              x < left.size() ? left[x].address : static_cast<u32>(a.size()));
      out.add(place, what, has_a ? left[x].text : "", has_b ? right[y].text : "");
      x += has_a ? 1 : 0;
      y += has_b ? 1 : 0;
    }
    if (to_x < left.size() && to_y < right.size()) {
      const isa::DisassembledLine &l = left[to_x], &r = right[to_y];
      const bool same =
          l.bytes == r.bytes &&
          std::equal(a.begin() + l.address, a.begin() + l.address + l.bytes, b.begin() + r.address);
      if (!same)
        out.add(place, fmt::format("encoding of the instruction at 0x{:x}", l.address),
                fmt::format("{} bytes", l.bytes), fmt::format("{} bytes", r.bytes));
    }
    x = to_x + 1;
    y = to_y + 1;
  }
}

void diff_arrays(const ArrayFacts& a, const ArrayFacts& b, DiffResult& out) {
  const auto tiles = paired(a.tiles, b.tiles, [](const TileFacts& t) { return t.tile.index(); });
  diff_tile_programs(a, b, tiles, out);
  Joined joined;
  for (const auto& [index, pair] : tiles) {
    TileFacts none;
    none.tile = arch::tile_at(index);
    diff_tile(pair.first == nullptr ? none : *pair.first, pair.second == nullptr ? none : *pair.second,
              joined);
  }
  joined.flush(out);
  diff_routes(a.routes, b.routes, out);
}

}  // namespace tegula::cli
