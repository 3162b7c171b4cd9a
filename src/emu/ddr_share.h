// How transfers through shim channels share DDR: all that are under way progress at one rate, the smaller of
// a stream's (4 bytes per cycle) and an equal part of DDR's. So n equal transfers that start together end
// together, as with an interleaving memory controller. Virtual time (bytes per transfer) advances at that
// rate.
#pragma once

#include <functional>
#include <queue>
#include <vector>

#include "base/types.h"

namespace tegula::emu {

struct Flow;

class DdrShare {
 public:
  // A transfer of `bytes` starts at `now`. Order of components breaks ties.
  void start(u64 now, u64 bytes, u32 component, Flow* flow);
  // The cycle at which the next transfer ends; ~0: none is under way.
  u64 next_end() const;
  // The next transfer that has ended by `now`; null: none.
  Flow* take_ended(u64 now);
  void clear();

 private:
  struct Transfer {
    u64 end;  // in virtual time
    u32 component;
    Flow* flow;
    bool operator>(const Transfer& o) const { return end != o.end ? end > o.end : component > o.component; }
  };
  void advance(u64 now);
  u64 rate() const;  // virtual time per cycle

  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> transfers_;
  u64 virtual_ = 0;  // 1/kUnit bytes
  u64 at_ = 0;       // cycle of virtual_
};

}  // namespace tegula::emu
