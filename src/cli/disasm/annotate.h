// What the configuration around a core program tells about its lock and stream instructions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/inspect/array_facts.h"
#include "isa/isa.h"

namespace tegula::cli {

// Knows one tile of one configuration, which must outlive it.
class Annotator {
 public:
  Annotator(const ArrayFacts& facts, arch::Tile tile);

  // Appends "lock 1: S2MM0 has put 512 words into 0xa000", "from MM2S0 of mem (0,1)", or nothing.
  void annotate(const isa::Instr& instr, std::optional<int> lock, std::string& comment) const;

 private:
  std::string lock_text(int number, bool acquire) const;
  std::string stream_text(bool input) const;
  const TileFacts* tile_at(int col, int row) const;

  const ArrayFacts& facts_;
  arch::Tile tile_;
  // By the number in the instruction; acquire, release.
  std::vector<std::string> acquired_, released_;
  std::string input_, output_;
};

}  // namespace tegula::cli
