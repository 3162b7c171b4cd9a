// tegula isa: what of the instruction set the emulator executes, whole and as it occurs in core programs.
// The answer comes from binding each instruction as a program that holds it would be bound.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "emu/core.h"
#include "isa/sweep.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

constexpr int kOps = static_cast<int>(isa::Op::kCount);

// A row of the instruction table; the nop of two bytes is a bundle without instructions.
bool in_table(isa::Op op) {
  return isa::info(op).slot != isa::Slot::kNop;
}

// Words of a mnemonic that choose an address form, a number format or a part, not an operation.
bool is_variant(std::string_view word) {
  static constexpr std::string_view kWords[] = {"s8", "u8",   "s16",       "u16", "s32",  "bf16",      "lo",
                                                "hi", "fp32", "bfp16ebs8", "d1",  "d2",   "d3",        "d4",
                                                "d5", "d6",   "2d",        "3d",  "ebs8", "bfp16ebs16"};
  return std::find(std::begin(kWords), std::end(kWords), word) != std::end(kWords) ||
         (!word.empty() && word[0] >= '0' && word[0] <= '9');
}

// "vlda.ups.4x.2d" -> "vlda.ups"
std::string family_of(std::string_view mnemonic) {
  std::string out;
  while (!mnemonic.empty()) {
    const size_t dot = std::min(mnemonic.find('.'), mnemonic.size());
    const std::string_view word = mnemonic.substr(0, dot);
    if (out.empty() || !is_variant(word)) out += (out.empty() ? "" : ".") + std::string(word);
    mnemonic.remove_prefix(std::min(dot + 1, mnemonic.size()));
  }
  return out;
}

struct FamilyCount {
  int executed = 0;
  std::vector<std::string_view> missing;
};

// Of one instruction in the programs of files.
struct Occurrence {
  u64 count = 0, programs = 0;
  bool executed = true;  // with all operands that occur
};

struct Corpus {
  u64 files = 0, programs = 0, bundles = 0, undecodable = 0;
  bool failed = false;  // a file could not be read
  std::set<Bytes> seen;
  std::map<isa::Op, Occurrence> found;
};

std::map<std::string, FamilyCount> count_families() {
  std::map<std::string, FamilyCount> families;
  for (int i = 0; i < kOps; ++i) {
    const isa::Op op = static_cast<isa::Op>(i);
    if (!in_table(op)) continue;
    FamilyCount& family = families[family_of(isa::info(op).mnemonic)];
    if (emu::core_implements(op)) {
      ++family.executed;
    } else {
      family.missing.push_back(isa::info(op).name);
    }
  }
  return families;
}

void add_program(Corpus& corpus, const Bytes& code) {
  if (!corpus.seen.insert(code).second) return;
  ++corpus.programs;
  std::set<isa::Op> here;
  isa::Sweep sweep(code);
  while (sweep.next()) {
    if (sweep.padding()) continue;
    if (!sweep.valid()) {
      ++corpus.undecodable;
      continue;
    }
    ++corpus.bundles;
    for (int i = 0; i < sweep.bundle().count; ++i) {
      const isa::Instr& instr = sweep.bundle().instr[i];
      if (!in_table(instr.op)) continue;
      Occurrence& found = corpus.found[instr.op];
      ++found.count;
      here.insert(instr.op);
      if (found.executed) found.executed = emu::core_implements(instr);
    }
  }
  for (const isa::Op op : here) ++corpus.found[op].programs;
}

Result<void> add_file(Corpus& corpus, const std::string& path) {
  TRY_ASSIGN(const MappedFile file, MappedFile::open(path));
  const Result<std::vector<TileProgram>> programs = choose_programs(file.bytes(), {}, false);
  if (!programs.ok()) return in_file(path, programs.error());
  ++corpus.files;
  for (const TileProgram& program : *programs) add_program(corpus, program.code);
  return {};
}

json families_json(const std::map<std::string, FamilyCount>& families) {
  json out = json::array();
  for (const auto& [name, family] : families) {
    out.push_back({{"family", name}, {"executed", family.executed}, {"missing", family.missing}});
  }
  return out;
}

json corpus_json(const Corpus& corpus) {
  json missing = json::array();
  for (const auto& [op, found] : corpus.found) {
    if (found.executed) continue;
    missing.push_back({{"name", isa::info(op).name},
                       {"mnemonic", isa::info(op).mnemonic},
                       {"count", found.count},
                       {"programs", found.programs}});
  }
  return {{"files", corpus.files},
          {"programs", corpus.programs},
          {"bundles", corpus.bundles},
          {"undecodable", corpus.undecodable},
          {"instructions", corpus.found.size()},
          {"executed", corpus.found.size() - missing.size()},
          {"missing", missing}};
}

void print_families(const json& families, int executed, int total) {
  std::printf("%-20s %8s %8s\n", "family", "executed", "missing");
  for (const json& family : families) {
    std::printf("%-20s %8d %8zu\n", family["family"].get<std::string>().c_str(),
                family["executed"].get<int>(), family["missing"].size());
  }
  std::printf("executed: %d of %d instructions\n", executed, total);
}

void print_corpus(const json& corpus) {
  std::printf("in %d files, %d distinct core programs, %d bundles: %d distinct instructions, %d executed\n",
              corpus["files"].get<int>(), corpus["programs"].get<int>(), corpus["bundles"].get<int>(),
              corpus["instructions"].get<int>(), corpus["executed"].get<int>());
  if (corpus["undecodable"] != 0) std::printf("undecodable pieces: %d\n", corpus["undecodable"].get<int>());
  for (const json& one : corpus["missing"]) {
    std::printf("not executed: %s (%s), %d times in %d programs\n", one["name"].get<std::string>().c_str(),
                one["mnemonic"].get<std::string>().c_str(), one["count"].get<int>(),
                one["programs"].get<int>());
  }
}

}  // namespace

int cmd_isa(const IsaCommand& command) {
  const std::map<std::string, FamilyCount> families = count_families();
  int executed = 0, total = 0;
  for (const auto& [name, family] : families) {
    executed += family.executed;
    total += family.executed + static_cast<int>(family.missing.size());
  }
  Corpus corpus;
  for (const std::string& path : command.files) {
    if (const Result<void> added = add_file(corpus, path); !added.ok()) {
      print_error(added.error());
      corpus.failed = true;
    }
  }
  json out = {
      {"schema", 1}, {"instructions", total}, {"executed", executed}, {"families", families_json(families)}};
  if (!command.files.empty()) out["corpus"] = corpus_json(corpus);
  if (command.json) {
    std::printf("%s\n", out.dump(2).c_str());
  } else {
    print_families(out["families"], executed, total);
    if (!command.files.empty()) print_corpus(out["corpus"]);
  }
  const bool all = command.files.empty() || (out["corpus"]["missing"].empty() && corpus.undecodable == 0);
  return all && !corpus.failed ? 0 : 1;
}

}  // namespace tegula::cli
