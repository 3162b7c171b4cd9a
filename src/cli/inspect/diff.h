// What differs between two artifacts, in their own terms: a lock value, a field of a buffer descriptor, a
// route, an instruction, a word of a stream.
#pragma once

#include <string>
#include <vector>

#include "cli/inspect/inspect.h"

namespace tegula::cli {

struct Difference {
  std::string place;  // "core (0-7,2-5) BD 3", "stream op 12"
  std::string what;   // "length", "value of DMA_BD3_2"
  std::string a, b;   // "" where one side has nothing
  bool operator==(const Difference&) const = default;
};

// A 32-bit word that a patch table would have to change to make the first stream the second.
struct PatchWord {
  u64 offset = 0;  // bytes from the start of the stream
  u32 a = 0, b = 0;
  std::string meaning;
};

struct DiffResult {
  std::vector<Difference> differences;
  // Words of the first stream of each file, when both have the same ops at the same places.
  bool patchable = false;
  std::vector<PatchWord> patches;

  void add(std::string place, std::string what, std::string a, std::string b);
  template <typename T>
  void compare(const std::string& place, const std::string& what, const T& a, const T& b);
  bool equal() const { return differences.empty(); }
};

// Empty exactly when the bytes are equal.
DiffResult diff_artifacts(const Artifact& a, const Artifact& b);

// One difference on a line, "place: what: a -> b"; a count instead of what goes beyond `limit` lines.
std::string diff_text(const DiffResult& result, size_t limit);
std::string diff_json(const DiffResult& result, const std::string& a, const std::string& b);

// The parts of diff_artifacts.
void diff_arrays(const ArrayFacts& a, const ArrayFacts& b, DiffResult& out);
void diff_programs(const std::string& place, ByteSpan a, ByteSpan b, DiffResult& out);
void diff_streams(const StreamFacts& a, const StreamFacts& b, bool first, DiffResult& out);

// An edit script between two sequences of keys: pairs of indices that match (in order); what is missing on a
// side was added or removed. Exact up to `most` edits, after which everything between the common beginning
// and end counts as changed.
std::vector<std::pair<size_t, size_t>> align(std::span<const u64> a, std::span<const u64> b, size_t most);

inline constexpr int kDiffSchema = 1;

}  // namespace tegula::cli
