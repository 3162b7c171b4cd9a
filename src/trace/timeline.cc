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

// The slices that are whole, in the order of their start; of two that start together the longer comes first.
std::vector<u32> ordered(const Timeline& timeline) {
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
  return order;
}

// Writes one timeline as trace events: a group is a process, a lane of a track is a thread.
class PerfettoWriter {
 public:
  explicit PerfettoWriter(const Timeline& timeline)
      : timeline_(timeline), order_(ordered(timeline)), lane_(lanes(timeline, order_)) {
    for (const Track& track : timeline.tracks) {
      group_.push_back(find_or_add(
          groups_, [&](const std::string& g) { return g == track.group; }, [&] { return track.group; }));
    }
  }

  std::string write() {
    out_ = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
    names();
    slices();
    arrows();
    if (out_.ends_with(",\n")) out_.resize(out_.size() - 2);
    return out_ + "\n]}\n";
  }

 private:
  void names() {
    for (size_t g = 0; g < groups_.size(); ++g) {
      const std::string pid = std::to_string(g + 1);
      out_ += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + pid +
              ",\"args\":{\"name\":" + json_string(groups_[g]) + "}},\n";
      out_ += "{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":" + pid +
              ",\"args\":{\"sort_index\":" + std::to_string(g) + "}},\n";
    }
    std::vector<u32> most(timeline_.tracks.size(), 0);
    for (const u32 i : order_) {
      u32& last = most[timeline_.slices[i].track];
      last = std::max(last, std::min(lane_[i], kLanes - 1));
    }
    for (u32 t = 0; t < timeline_.tracks.size(); ++t) {
      for (u32 l = 0; l <= most[t]; ++l) {
        out_ += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + std::to_string(group_[t] + 1) +
                ",\"tid\":" + thread(t, l) + ",\"args\":{\"name\":" + json_string(timeline_.tracks[t].name) +
                "}},\n";
      }
    }
  }

  void slices() {
    for (const u32 i : order_) {
      const Slice& slice = timeline_.slices[i];
      out_ += "{\"ph\":\"X\",\"name\":" + json_string(timeline_.names[slice.name]) + "," + place(i) +
              ",\"ts\":" + time(slice.start) + ",\"dur\":" + time(slice.end - slice.start) +
              ",\"args\":{\"cycles\":" + std::to_string(slice.end - slice.start);
      for (const auto& [key, value] : slice.details)
        out_ += "," + json_string(key) + ":" + json_string(value);
      out_ += "}},\n";
    }
  }

  void arrows() {
    u64 id = 0;
    for (const Arrow& arrow : timeline_.arrows) {
      if (arrow.from >= timeline_.slices.size() || arrow.to >= timeline_.slices.size()) continue;
      const Slice &from = timeline_.slices[arrow.from], &to = timeline_.slices[arrow.to];
      if (from.track >= timeline_.tracks.size() || to.track >= timeline_.tracks.size()) continue;
      // An arrow binds to the slice that is open at its time: just before the end of the first one.
      const u64 leaves = from.end > from.start ? from.end - 1 : from.end;
      const std::string head = ",\"cat\":\"lock\",\"name\":\"lock\",\"id\":" + std::to_string(++id) + ",";
      out_ += "{\"ph\":\"s\"" + head + place(arrow.from) + ",\"ts\":" + time(leaves) + "},\n";
      out_ += "{\"ph\":\"f\",\"bp\":\"e\"" + head + place(arrow.to) + ",\"ts\":" + time(to.start) + "},\n";
    }
  }

  // Lane 0 of track t is thread t * 16 + 1; more than 16 lanes share the last.
  static std::string thread(u32 track, u32 lane) {
    return std::to_string(track * kLanes + 1 + std::min(lane, kLanes - 1));
  }
  std::string place(u32 slice) const {
    const u32 track = timeline_.slices[slice].track;
    return "\"pid\":" + std::to_string(group_[track] + 1) + ",\"tid\":" + thread(track, lane_[slice]);
  }
  std::string time(u64 cycle) const {
    return number(static_cast<double>(cycle) / timeline_.cycles_per_microsecond);
  }

  static constexpr u32 kLanes = 16;
  const Timeline& timeline_;
  std::vector<u32> order_, lane_, group_;
  std::vector<std::string> groups_;
  std::string out_;
};

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
  return PerfettoWriter(timeline).write();
}

}  // namespace tegula::trace
