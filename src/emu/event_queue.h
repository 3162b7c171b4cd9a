// Time-ordered events. Equal times are ordered by component, then by order of entry, so a run is the same
// every time.
#pragma once

#include <queue>
#include <vector>

#include "base/types.h"

namespace tegula::emu {

struct Event {
  u64 time = 0;
  u32 component = 0;
  u32 epoch = 0;  // the component's: an event of an older epoch is void
  u64 sequence = 0;
};

class EventQueue {
 public:
  void push(u64 time, u32 component, u32 epoch) { heap_.push({time, component, epoch, sequence_++}); }
  bool empty() const { return heap_.empty(); }
  u64 next_time() const { return heap_.empty() ? ~0ull : heap_.top().time; }
  Event pop() {
    Event event = heap_.top();
    heap_.pop();
    return event;
  }
  void clear() { heap_ = {}; }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      if (a.time != b.time) return a.time > b.time;
      if (a.component != b.component) return a.component > b.component;
      return a.sequence > b.sequence;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> heap_;
  u64 sequence_ = 0;
};

}  // namespace tegula::emu
