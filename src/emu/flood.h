// A configuration without its stream: random data on every input, everything taken from every output, and
// every lock that nobody on the array would give given from outside. Shows what a foreign program executes
// before anything is known of its arguments.
#pragma once

#include <string>
#include <vector>

#include "emu/session.h"

namespace tegula::emu {

struct FloodOptions {
  u64 cycles = 8'000'000;  // of the array, at most
  u64 seed = 1;
  Bytes
      data;  // what inputs get, over and over, instead of random bytes: for programs that take counts from it
  u64 enough_bundles = 10'000;  // a core that has executed so many counts as run
  int kicks = 100'000;          // how often locks are given from outside to cores that stand
  int threads = 0;
};

struct FloodCore {
  arch::Tile tile;
  u64 bundles = 0;
  bool done = false;              // executed `done`
  std::string fault;              // what it could not execute; empty: nothing
  std::string waits;              // what it waits for at the end; empty: it runs
  bool enough(u64 wanted) const;  // executed so many bundles, or its whole program, without a fault
};

struct FloodReport {
  std::vector<FloodCore> cores;  // those that the configuration enables
  std::string failure;           // of the array as a whole, or no core is enabled; empty: none
  u64 cycles = 0;
  int kicks = 0;
  Findings findings;               // of the session's checks
  bool enough(u64 bundles) const;  // every core, and no failure
};

// The session's array is used up by it.
FloodReport flood(Session& session, const FloodOptions& options = {});

}  // namespace tegula::emu
