// Totals over many artifacts, as `tegula inspect --summary` prints them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "cli/inspect/inspect.h"

namespace tegula::cli {

class Summary {
 public:
  void add(const Artifact& artifact);
  void add_unreadable(const std::string& path, const Error& error);

  std::string text() const;
  std::string json() const;

 private:
  std::vector<std::pair<std::string, u64>> totals() const;
  void add_array(const Artifact& artifact, const ArrayFacts& array);
  void add_program(const Artifact& artifact, const ProgramFacts& program);
  void describe(const Artifact& artifact, const ProgramFacts& program);
  void add_stream(const Artifact& artifact, const StreamFacts& stream);
  void exception(const Artifact& artifact, const std::string& text);

  std::map<std::string, u64> kinds_;
  u64 files_ = 0, unreadable_ = 0, parts_unreadable_ = 0;
  u64 arrays_ = 0, cores_ = 0, file_programs_ = 0, commands_ = 0, named_ = 0, words_ = 0;
  std::set<std::string> programs_, configurations_;  // hashes
  u64 bundles_ = 0, undecodable_ = 0, padding_ = 0, noncanonical_ = 0;
  std::map<std::string, u64> meaningless_;  // text of the bundles with such bits -> how often
  u64 routes_ = 0, complete_routes_ = 0, links_ = 0, broken_links_ = 0, unreached_ = 0, spare_ = 0;
  u64 streams_ = 0, ops_ = 0, stream_bytes_ = 0, stream_writes_ = 0, stream_named_ = 0, damaged_ = 0;
  std::vector<std::string> exceptions_;
  u64 exception_count_ = 0;
};

}  // namespace tegula::cli
