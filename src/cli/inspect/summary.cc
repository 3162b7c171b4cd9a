#include "cli/inspect/summary.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "isa/listing.h"
#include "isa/sweep.h"
#include "isa/text.h"
#include "program/program.h"

namespace tegula::cli {
namespace {

constexpr size_t kMaxExceptions = 200;  // lines kept

}  // namespace

void Summary::exception(const Artifact& artifact, const std::string& text) {
  ++exception_count_;
  if (exceptions_.size() < kMaxExceptions) exceptions_.push_back(artifact.path + ": " + text);
}

void Summary::add_unreadable(const std::string& path, const Error& error) {
  ++files_;
  ++unreadable_;
  ++exception_count_;
  if (exceptions_.size() < kMaxExceptions) exceptions_.push_back(path + ": " + error.message);
}

void Summary::add(const Artifact& artifact) {
  ++files_;
  ++kinds_[format::file_kind_name(artifact.kind)];
  parts_unreadable_ += artifact.problems.size();
  for (const Error& problem : artifact.problems) exception(artifact, problem.message);
  for (const ArrayFacts& array : artifact.arrays) add_array(artifact, array);
  for (const StreamFacts& stream : artifact.streams) add_stream(artifact, stream);
  if (artifact.partition) {
    for (const format::PdiRecord& pdi : artifact.partition->pdis)
      configurations_.insert(program::sha256_hex(pdi.image));
  }
}

void Summary::add_array(const Artifact& artifact, const ArrayFacts& array) {
  ++arrays_;
  cores_ += static_cast<u64>(array.cores());
  file_programs_ += array.programs.size();
  for (const ProgramFacts& program : array.programs) add_program(artifact, program);
  commands_ += array.writes.commands;
  named_ += array.writes.named;
  words_ += array.writes.words;
  for (const u32 address : array.writes.unnamed) exception(artifact, "no register: " + address_name(address));
  links_ += array.routes.links;
  broken_links_ += array.routes.broken_links;
  if (array.routes.broken_links != 0)
    exception(artifact, fmt::format("{} links without an equal partner", array.routes.broken_links));
  for (const Route& route : array.routes.routes) {
    ++routes_;
    complete_routes_ += route.complete() ? 1 : 0;
    for (const std::string& problem : route.problems) {
      exception(artifact,
                fmt::format("stream of {} {}: {}", arch::tile_name(route.tile), route.source, problem));
    }
  }
  spare_ += array.routes.spare_ids.size();
  unreached_ += array.routes.unreached.size();
  for (const std::string& port : array.routes.unreached) exception(artifact, "no stream reaches " + port);
}

void Summary::add_program(const Artifact& artifact, const ProgramFacts& program) {
  programs_.insert(program.sha256);
  const isa::ListingTotals totals = isa::count(program.image);
  bundles_ += totals.bundles;
  undecodable_ += totals.undecodable;
  padding_ += totals.padding;
  noncanonical_ += totals.noncanonical;
  if (totals.undecodable + totals.noncanonical != 0) describe(artifact, program);
}

// The pieces that are no bundle, and the bundles with bits that mean nothing.
void Summary::describe(const Artifact& artifact, const ProgramFacts& program) {
  for (isa::Sweep sweep(program.image); sweep.next();) {
    if (!sweep.valid()) {
      if (sweep.padding()) continue;
      exception(artifact, fmt::format("program {}: no bundle at {:#x}", program.name, sweep.address()));
      continue;
    }
    if (isa::is_canonical(sweep.bytes(), sweep.bundle())) continue;
    const Result<Bytes> plain = isa::encode(sweep.bundle());
    if (!plain.ok()) {
      exception(artifact, plain.error().message);
      continue;
    }
    std::string what = isa::to_text(sweep.bundle()) + ", bits";
    for (size_t i = 0; i < plain->size(); ++i) {
      for (u32 bit = 0; bit < 8; ++bit) {
        if ((((*plain)[i] ^ sweep.bytes()[i]) >> bit & 1) != 0) what += fmt::format(" {}", 8 * i + bit);
      }
    }
    ++meaningless_[what];
  }
}

void Summary::add_stream(const Artifact& artifact, const StreamFacts& stream) {
  ++streams_;
  ops_ += stream.stream.ops.size();
  stream_bytes_ += stream.stream.header.size;
  stream_writes_ += stream.register_writes;
  stream_named_ += stream.named_writes;
  damaged_ += stream.header_damaged ? 1 : 0;
  if (stream.trailing != 0) exception(artifact, fmt::format("{} bytes behind the stream", stream.trailing));
  if (stream.register_writes != stream.named_writes) {
    exception(artifact, fmt::format("{} stream writes without a register",
                                    stream.register_writes - stream.named_writes));
  }
  if (stream.empty_waits != 0)
    exception(artifact, fmt::format("{} waits without a task with a token before them", stream.empty_waits));
}

std::vector<std::pair<std::string, u64>> Summary::totals() const {
  std::vector<std::pair<std::string, u64>> out = {{"files", files_}};
  for (const auto& [kind, count] : kinds_) out.push_back({"files: " + kind, count});
  const std::vector<std::pair<std::string, u64>> rest = {
      {"files that could not be read", unreadable_},
      {"parts that could not be read", parts_unreadable_},
      {"array configurations", arrays_},
      {"different array configurations", configurations_.size()},
      {"cores with a program", cores_},
      {"programs, each once per file", file_programs_},
      {"different programs", programs_.size()},
      {"bundles in these", bundles_},
      {"pieces that are no bundle", undecodable_},
      {"pieces of padding, behind a jump or return", padding_},
      {"bundles that encode to other bytes", noncanonical_},
      {"register writes of configurations", commands_},
      {"of these named", named_},
      {"words written", words_},
      {"stream routes", routes_},
      {"of these ending at every branch", complete_routes_},
      {"links between tiles", links_},
      {"of these without an equal partner", broken_links_},
      {"enabled ports that no stream reaches", unreached_},
      {"sources whose mask lets in ids that no switch takes", spare_},
      {"instruction streams, parsed to the last word", streams_},
      {"of these with damaged version bytes", damaged_},
      {"ops", ops_},
      {"bytes of streams", stream_bytes_},
      {"register writes of streams", stream_writes_},
      {"of these named by stream", stream_named_},
      {"exceptions", exception_count_}};
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

std::string Summary::text() const {
  std::string out;
  for (const auto& [name, count] : totals()) out += fmt::format("{:>10}  {}\n", count, name);
  for (const auto& [what, count] : meaningless_) out += fmt::format("  {} times {}\n", count, what);
  for (const std::string& line : exceptions_) out += "  " + line + "\n";
  if (exception_count_ > exceptions_.size())
    out += fmt::format("  and {} more\n", exception_count_ - exceptions_.size());
  return out;
}

std::string Summary::json() const {
  nlohmann::ordered_json out = {{"schema", kInspectSchema}};
  for (const auto& [name, count] : totals()) out["totals"][name] = count;
  out["encode_otherwise"] = meaningless_;
  out["exceptions"] = exceptions_;
  return out.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace tegula::cli
