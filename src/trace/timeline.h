// A timeline: tracks in groups, slices of time on them, and arrows from one slice to a later one. Written as
// the trace event format (JSON) that Perfetto and Chrome open.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/types.h"

namespace tegula::trace {

struct Track {
  std::string group;  // tracks of equal group stand together: "core (0,2)"
  std::string name;
};

struct Slice {
  u32 track = 0;           // index into Timeline::tracks
  u32 name = 0;            // index into Timeline::names
  u64 start = 0, end = 0;  // cycles
  std::vector<std::pair<std::string, std::string>> details;
};

// From the end of one slice to the beginning of another; indices into Timeline::slices.
struct Arrow {
  u32 from = 0, to = 0;
};

struct Timeline {
  double cycles_per_microsecond = 1800;
  std::vector<Track> tracks;
  std::vector<std::string> names;
  std::vector<Slice> slices;
  std::vector<Arrow> arrows;

  u32 track(const std::string& group, const std::string& name);  // found or added
  u32 name(const std::string& text);                             // found or added
};

// Slices that overlap on one track without one holding the other are drawn wrongly by viewers; they are moved
// to a second track of the same name. Indices that do not exist are left out.
std::string perfetto_json(const Timeline& timeline);

}  // namespace tegula::trace
