// The trace event format: docs of the Trace Event Format by the Chromium project; Perfetto reads it.
#include "trace/timeline.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include "trace/text.h"

namespace tegula::trace {

namespace {

template <typename Items, typename Match, typename Make>
u32 find_or_add(Items& items, Match match, Make make) {
  const auto found = std::find_if(items.rbegin(), items.rend(), match);
  if (found != items.rend()) return static_cast<u32>(items.rend() - found) - 1;
  items.push_back(make());
  return static_cast<u32>(items.size()) - 1;
}

std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof(text), "%.4f", value);
  return text;
}

// For each slice the lane of its track, so that slices of one lane nest.
std::vector<u32> lanes(const Timeline& timeline, const std::vector<u32>& order) {
  std::vector<u32> lane(timeline.slices.size(), 0);
  // Per track and lane: ends of the open slices, outermost first.
  std::vector<std::vector<std::vector<u64>>> open(timeline.tracks.size());
  for (const u32 i : order) {
    const Slice& slice = timeline.slices[i];
    auto& mine = open[slice.track];
    for (u32 at = 0;; ++at) {
      if (at == mine.size()) mine.emplace_back();
      auto& ends = mine[at];
      while (!ends.empty() && ends.back() <= slice.start) ends.pop_back();
      if (!ends.empty() && ends.back() < slice.end) continue;
      ends.push_back(slice.end);
      lane[i] = at;
      break;
    }
  }
  return lane;
}

}  // namespace

u32 Timeline::track(const std::string& group, const std::string& name) {
  return find_or_add(
      tracks, [&](const Track& t) { return t.group == group && t.name == name; },
      [&] {
        return Track{group, name};
      });
}

u32 Timeline::name(const std::string& text) {
  return find_or_add(
      names, [&](const std::string& n) { return n == text; }, [&] { return text; });
}

std::string perfetto_json(const Timeline& timeline) {
  std::vector<u32> order;
  for (u32 i = 0; i < timeline.slices.size(); ++i) {
    const Slice& slice = timeline.slices[i];
    if (slice.track < timeline.tracks.size() && slice.name < timeline.names.size() &&
        slice.end >= slice.start) {
      order.push_back(i);
    }
  }
  std::stable_sort(order.begin(), order.end(), [&](u32 a, u32 b) {
    const Slice &x = timeline.slices[a], &y = timeline.slices[b];
    return x.start != y.start ? x.start < y.start : x.end > y.end;
  });
  const std::vector<u32> lane = lanes(timeline, order);
  std::vector<u32> group(timeline.tracks.size());
  std::vector<std::string> groups;
  for (size_t t = 0; t < timeline.tracks.size(); ++t) {
    group[t] = find_or_add(
        groups, [&](const std::string& g) { return g == timeline.tracks[t].group; },
        [&] { return timeline.tracks[t].group; });
  }
  // Lane 0 of track t is thread t * 16 + 1; more than 16 lanes share the last.
  const auto thread = [&](u32 track, u32 at) { return std::to_string(track * 16 + 1 + std::min(at, 15u)); };
  const auto place = [&](u32 slice) {
    const u32 track = timeline.slices[slice].track;
    return "\"pid\":" + std::to_string(group[track] + 1) + ",\"tid\":" + thread(track, lane[slice]);
  };
  const auto time = [&](u64 cycle) {
    return number(static_cast<double>(cycle) / timeline.cycles_per_microsecond);
  };
  std::string out = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t g = 0; g < groups.size(); ++g) {
    out += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + std::to_string(g + 1) +
           ",\"args\":{\"name\":" + json_string(groups[g]) + "}},\n";
    out += "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" + std::to_string(g + 1) +
           ",\"args\":{\"sort_index\":" + std::to_string(g) + "}},\n";
  }
  std::vector<u32> most(timeline.tracks.size(), 0);
  for (const u32 i : order)
    most[timeline.slices[i].track] = std::max(most[timeline.slices[i].track], std::min(lane[i], 15u));
  for (u32 t = 0; t < timeline.tracks.size(); ++t) {
    for (u32 l = 0; l <= most[t]; ++l) {
      out += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + std::to_string(group[t] + 1) +
             ",\"tid\":" + thread(t, l) + ",\"args\":{\"name\":" + json_string(timeline.tracks[t].name) +
             "}},\n";
    }
  }
  for (const u32 i : order) {
    const Slice& slice = timeline.slices[i];
    out += "{\"ph\":\"X\",\"name\":" + json_string(timeline.names[slice.name]) + "," + place(i) +
           ",\"ts\":" + time(slice.start) + ",\"dur\":" + time(slice.end - slice.start) +
           ",\"args\":{\"cycles\":" + std::to_string(slice.end - slice.start);
    for (const auto& [key, value] : slice.details) out += "," + json_string(key) + ":" + json_string(value);
    out += "}},\n";
  }
  u64 id = 0;
  for (const Arrow& arrow : timeline.arrows) {
    if (arrow.from >= timeline.slices.size() || arrow.to >= timeline.slices.size()) continue;
    const Slice &from = timeline.slices[arrow.from], &to = timeline.slices[arrow.to];
    if (from.track >= timeline.tracks.size() || to.track >= timeline.tracks.size()) continue;
    // An arrow binds to the slice that is open at its time: just before the end of the first one.
    const u64 leaves = from.end > from.start ? from.end - 1 : from.end;
    const std::string head = ",\"cat\":\"lock\",\"name\":\"lock\",\"id\":" + std::to_string(++id) + ",";
    out += "{\"ph\":\"s\"" + head + place(arrow.from) + ",\"ts\":" + time(leaves) + "},\n";
    out += "{\"ph\":\"f\",\"bp\":\"e\"" + head + place(arrow.to) + ",\"ts\":" + time(to.start) + "},\n";
  }
  if (out.ends_with(",\n")) out.resize(out.size() - 2);
  return out + "\n]}\n";
}

}  // namespace tegula::trace
