// The events and the report of a run as a timeline for Perfetto and as a page.
#pragma once

#include <string>

#include "emu/array.h"
#include "trace/heatmap.h"
#include "trace/timeline.h"

namespace tegula::cli {

// One track per core, DMA channel and the controller; arrows from a BD to the core work that its lock let
// begin, and from core work to the BD that it let begin.
trace::Timeline make_timeline(const std::vector<emu::TimelineEvent>& events);

trace::Heatmap make_heatmap(const emu::RunResult& result, const std::string& title);

}  // namespace tegula::cli
