// Facts of an artifact as text for people.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "cli/inspect/inspect.h"
#include "cli/inspect/words.h"
#include "program/program.h"

namespace tegula::cli {
namespace {

using arch::Tile;
using arch::TileKind;

constexpr size_t kMaxPhases = 40;  // lines shown below depth 3
constexpr size_t kMaxTensors = 20;

class Text {
 public:
  explicit Text(const ShowOptions& options) : options_(options) {}

  std::string take() { return std::move(out_); }
  bool deep(int depth) const { return options_.depth >= depth; }
  bool wanted(Tile tile) const { return !options_.tile || *options_.tile == tile; }
  bool one_tile() const { return options_.tile.has_value(); }

  template <typename... T>
  void line(int indent, fmt::format_string<const T&...> format, const T&... values) {
    out_.append(static_cast<size_t>(indent), ' ');
    out_ += fmt::format(format, values...);
    out_ += '\n';
  }

 private:
  const ShowOptions& options_;
  std::string out_;
};

std::string lock_list(const TileFacts& tile) {
  std::string text;
  int zero = 0;
  for (const auto& [number, value] : tile.locks) {
    if (value == 0) {
      ++zero;
    } else {
      text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", number, value);
    }
  }
  if (text.empty()) return zero == 0 ? "not set" : "all 0";
  return text + (zero == 0 ? "" : ", others 0");
}

std::string chain_text(const ChainFacts& chain) {
  std::string text;
  for (const int bd : chain.bds) text += (text.empty() ? "" : " -> ") + std::to_string(bd);
  if (chain.loops) text += " -> " + std::to_string(chain.loop_to) + " for ever";
  if (chain.task.repeat > 1) text += fmt::format(", {} times", chain.task.repeat);
  if (chain.task.token) text += ", with token";
  return text;
}

void show_bds(Text& text, const TileFacts& tile, const std::vector<int>& numbers) {
  for (const int number : numbers) {
    for (const BdFacts& bd : tile.bds) {
      if (bd.number == number) text.line(6, "BD {}: {}", number, bd.text);
    }
  }
}

void show_setup(Text& text, const ArrayFacts& array, const TileFacts& tile, bool same_data) {
  if (tile.program >= 0) {
    const ProgramFacts& program = array.programs[static_cast<size_t>(tile.program)];
    text.line(4, "program {}, {} bytes, {}", program.name, program.written,
              tile.enabled ? "enabled" : "not enabled");
  } else if (tile.tile.kind() == TileKind::kCore) {
    text.line(4, "no program, {}", tile.enabled ? "enabled" : "not enabled");
  }
  if (!tile.locks.empty()) text.line(4, "locks: {}", lock_list(tile));
  std::vector<int> shown;
  for (const ChannelFacts& channel : tile.channels) {
    for (const ChainFacts& chain : channel.chains) {
      text.line(4, "{}{}: BD {}", arch::direction_name(channel.direction), channel.channel,
                chain_text(chain));
      show_bds(text, tile, chain.bds);
    }
  }
  for (const BdFacts& bd : tile.bds) {
    if (!bd.chained) text.line(4, "BD {}, not queued: {}", bd.number, bd.text);
  }
  for (const DataFacts& data : tile.data) {
    text.line(4, "data at 0x{:x}, {} bytes{}", data.offset, data.bytes.size(),
              same_data ? "" : " (differ between tiles)");
  }
  for (const auto& [name, value] : tile.registers) text.line(4, "{} = 0x{:x}", name, value);
}

void show_groups(Text& text, const ArrayFacts& array) {
  for (const TileGroup& group : array.groups) {
    text.line(2, "{}", group_text(array, group));
    if (text.deep(2)) show_setup(text, array, array.tiles[group.members[0]], group.same_data);
  }
}

void show_tiles(Text& text, const ArrayFacts& array) {
  for (const TileFacts& tile : array.tiles) {
    if (!text.wanted(tile.tile)) continue;
    text.line(2, "{}", arch::tile_name(tile.tile));
    show_setup(text, array, tile, true);
  }
}

void show_route(Text& text, const Route& route) {
  text.line(2, "{}", route_text(route));
  for (const std::string& hop : hop_texts(route)) text.line(4, "{}", hop);
}

bool passes(const Route& route, Tile tile) {
  return std::any_of(route.hops.begin(), route.hops.end(),
                     [tile](const RouteHop& hop) { return hop.tile == tile; });
}

void show_routes(Text& text, const ArrayFacts& array, const ShowOptions& options) {
  const RouteMap& map = array.routes;
  size_t complete = 0;
  for (const Route& route : map.routes) complete += route.complete() ? 1 : 0;
  text.line(0,
            "routes: {}, {} of them end at every branch; {} links between tiles, {} without an equal partner",
            map.routes.size(), complete, map.links, map.broken_links);
  for (const std::string& port : map.unreached) text.line(2, "enabled, but no stream reaches it: {}", port);
  for (const std::string& ids : map.spare_ids)
    text.line(2, "packet ids that a mask lets in and no switch takes: {}", ids);
  if (!text.deep(2)) return;
  if (options.depth < 3 && !options.tile) {
    for (const RouteLine& line : route_lines(map)) text.line(2, "{}", line.text);
    return;
  }
  for (const Route& route : map.routes) {
    if (!options.tile || passes(route, *options.tile)) show_route(text, route);
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text.empty() ? "-" : text;
}

// Columns with the same use share a line.
void show_columns(Text& text, const ArrayFacts& array) {
  std::map<std::string, std::vector<int>> lines;
  std::vector<std::string> order;
  for (const ColumnFacts& column : array.columns) {
    const std::string use =
        fmt::format("{} cores ({}); shim {}; mem {}; core {}", column.cores, joined(column.programs),
                    joined(column.shim), joined(column.mem), joined(column.core));
    if (!lines.contains(use)) order.push_back(use);
    lines[use].push_back(column.col);
  }
  text.line(0, "columns:");
  for (const std::string& use : order) text.line(2, "{}: {}", ranges_text(lines[use]), use);
}

void show_array(Text& text, const ArrayFacts& array, const ShowOptions& options) {
  const WriteCounts& w = array.writes;
  text.line(0, "{}: {} cores with {} program{}, {} enabled", array.name, array.cores(), array.programs.size(),
            array.programs.size() == 1 ? "" : "s", array.enabled_cores());
  if (!text.deep(1)) return;
  text.line(0, "register writes: {} ({} writes, {} mask writes, {} block writes), {} words, {} named",
            w.commands, w.writes, w.mask_writes, w.block_writes, w.words, w.named);
  for (const u32 address : w.unnamed) text.line(2, "no register: {}", address_name(address));
  text.line(0, "programs:");
  for (const ProgramFacts& p : array.programs) {
    text.line(2, "{}: {} bytes in {} piece{} up to 0x{:x}, entry 0x0, on {} core{} {}, SHA-256 {}", p.name,
              p.written, p.pieces.size(), p.pieces.size() == 1 ? "" : "s", p.image.size(), p.tiles.size(),
              p.tiles.size() == 1 ? "" : "s", tiles_text(p.tiles), p.sha256);
    if (p.pieces.size() > 1 && text.deep(2)) {
      for (const auto& [address, bytes] : p.pieces) text.line(4, "{} bytes at 0x{:x}", bytes, address);
    }
  }
  show_columns(text, array);
  text.line(0, "tiles:");
  if (options.depth >= 3 || text.one_tile()) {
    show_tiles(text, array);
  } else {
    show_groups(text, array);
  }
  show_routes(text, array, options);
}

void show_stream_use(Text& text, const StreamFacts& facts) {
  text.line(0, "arguments:");
  for (const ArgumentFacts& a : facts.arguments) {
    const std::string name = a.argument < 0 ? "none" : std::to_string(a.argument);
    text.line(2, "{}: {} bytes read by {} transfers, {} bytes written by {}, offsets 0x{:x} to 0x{:x}", name,
              a.read_bytes, a.reads, a.write_bytes, a.writes, a.first, a.last);
  }
  text.line(0, "channels:");
  std::map<std::string, std::vector<Tile>> lines;
  std::vector<std::string> order;
  for (const ChannelUse& use : facts.channels) {
    const std::string line =
        fmt::format("{}{}: {} tasks, {} runs, {} tokens, {} waits, {} bytes, at most {} in flight",
                    arch::direction_name(use.direction), use.channel, use.tasks, use.runs, use.tokens,
                    use.waits, 4 * use.words, use.most_in_flight);
    if (!lines.contains(line)) order.push_back(line);
    lines[line].push_back(use.tile);
  }
  for (const std::string& line : order) text.line(2, "{} {}", tiles_text(lines[line]), line);
}

void show_phases(Text& text, const StreamFacts& facts) {
  text.line(0, "phases:");
  size_t shown = 0;
  for (const PhaseFacts& phase : facts.phases) {
    if (shown++ == kMaxPhases && !text.deep(3)) {
      text.line(2, "and {} more (--depth 3 shows all)", facts.phases.size() - kMaxPhases);
      break;
    }
    text.line(2, "from op {}: {}{} ops: {}", phase.first_op,
              phase.repeat > 1 ? fmt::format("{} x ", phase.repeat) : "", phase.ops, phase.text);
  }
}

// Writes outside BDs and channels, by register.
void show_others(Text& text, const StreamFacts& facts) {
  if (facts.others.empty()) return;
  std::map<u32, u64> counts;
  for (const WordWrite& w : facts.others) ++counts[w.address];
  text.line(0, "other writes: {} words to {} registers", facts.others.size(), counts.size());
  size_t shown = 0;
  for (const auto& [address, count] : counts) {
    if (shown++ == kMaxPhases && !text.deep(3))
      return text.line(2, "and {} more", counts.size() - kMaxPhases);
    text.line(2, "{}: {}", address_name(address), count);
  }
}

void show_stream(Text& text, const StreamFacts& facts) {
  const format::TxnHeader& header = facts.stream.header;
  text.line(0, "{}: TXN {}, {} ops, {} bytes{}{}", facts.name, facts.stream.compact ? "1.0" : "0.1",
            header.op_count, header.size, facts.header_damaged ? ", version bytes damaged" : "",
            facts.trailing == 0 ? "" : fmt::format(", {} bytes behind it", facts.trailing));
  if (!text.deep(1)) return;
  for (const auto& [name, count] : facts.ops) text.line(2, "{}: {}", name, count);
  text.line(0, "{} BDs written, {} tasks started, {} waits; at most {} tasks in flight, {} never waited for",
            facts.bds, facts.transfers.size(), facts.waits.size(), facts.most_in_flight, facts.unwaited);
  if (facts.empty_waits != 0)
    text.line(0, "{} waits have no task with a token before them", facts.empty_waits);
  text.line(0, "register writes: {}, {} named", facts.register_writes, facts.named_writes);
  show_stream_use(text, facts);
  if (!text.deep(2)) return;
  show_phases(text, facts);
  show_others(text, facts);
  if (!text.deep(3)) return;
  text.line(0, "ops:");
  for (const format::TxnOp& op : facts.stream.ops)
    text.line(2, "{:6x}: {}", op.offset, op_text(facts.stream, op));
}

void show_xclbin(Text& text, const format::Xclbin& xclbin) {
  text.line(0, "version {}.{}.{}, {} sections", xclbin.version_major, xclbin.version_minor,
            xclbin.version_patch, xclbin.sections.size());
  if (!text.deep(1)) return;
  for (const format::XclbinSection& s : xclbin.sections) {
    text.line(2, "{} at 0x{:x}, {} bytes{}", format::xclbin_kind_name(s.kind), s.offset, s.data.size(),
              s.name.empty() ? "" : ", \"" + s.name + "\"");
  }
  for (const format::IpRecord& ip : xclbin.ips) text.line(2, "kernel {}, id 0x{:x}", ip.name, ip.kernel_id);
}

void show_partition(Text& text, const format::AiePartition& partition) {
  std::vector<int> starts(partition.start_columns.begin(), partition.start_columns.end());
  text.line(0, "partition: {} columns wide, may start at column {}, {} PDI{}", partition.column_width,
            ranges_text(starts), partition.pdis.size(), partition.pdis.size() == 1 ? "" : "s");
}

void show_elf(Text& text, const ElfFacts& facts) {
  text.line(0, "{}: {} bits, machine {}, OS ABI 0x{:x}, {} sections, {} segments", facts.use,
            facts.elf.wide ? 64 : 32, facts.elf.machine, facts.elf.os_abi, facts.elf.sections.size(),
            facts.elf.segments.size());
  if (!facts.program.empty()) {
    text.line(0, "program: {} bytes, entry 0x{:x}, SHA-256 {}", facts.program.size(), facts.elf.entry,
              program::sha256_hex(facts.program));
  }
  if (!text.deep(1)) return;
  for (const format::ElfSection& s : facts.elf.sections) {
    if (s.type != 0)
      text.line(2, "section {}: type {}, {} bytes at 0x{:x}", s.name, s.type, s.size, s.offset);
  }
  if (!facts.patches.empty()) text.line(0, "patches: {}", facts.patches.size());
  for (const ElfFacts::Patch& p : facts.patches) {
    if (text.deep(2)) {
      text.line(2, "{} at 0x{:x}: argument {}, {}, addend {}", p.section, p.relocation.offset, p.argument,
                p.scheme, p.relocation.addend);
    }
  }
}

std::string shape_text(const std::vector<u64>& shape) {
  std::string text;
  for (const u64 dim : shape) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

void show_model(Text& text, const ModelFacts& facts) {
  std::map<std::string, std::pair<u64, u64>> types;
  for (const TensorFacts& t : facts.tensors) {
    auto& [count, bytes] = types[t.meaning.empty() ? t.type : t.type + " (Q4NX)"];
    ++count;
    bytes += t.data.size();
  }
  text.line(0, "{} tensors{}", facts.tensors.size(),
            facts.version.empty() ? "" : ", version " + facts.version);
  for (const auto& [type, use] : types) text.line(2, "{}: {} tensors, {} bytes", type, use.first, use.second);
  if (!text.deep(1)) return;
  text.line(0, "metadata:");
  for (const auto& [key, value] : facts.metadata) text.line(2, "{}: {}", key, value);
  text.line(0, "tensors:");
  size_t shown = 0;
  for (const TensorFacts& t : facts.tensors) {
    if (shown++ == kMaxTensors && !text.deep(3))
      return text.line(2, "and {} more (--depth 3 shows all)", facts.tensors.size() - kMaxTensors);
    text.line(2, "{}: {} {}{}", t.name, t.type, shape_text(t.shape),
              t.meaning.empty() ? "" : ", " + t.meaning);
  }
}

void show_tokenizer(Text& text, const TokenizerFacts& facts) {
  text.line(0, "{} model, {} entries, {} merges, {} added tokens ({} special)",
            facts.model.empty() ? "unnamed" : facts.model, facts.vocabulary, facts.merges, facts.added_tokens,
            facts.special_tokens);
  if (!text.deep(1)) return;
  text.line(2, "normalizer: {}", facts.normalizer.empty() ? "none" : facts.normalizer);
  text.line(2, "pre-tokenizer: {}", facts.pre_tokenizer.empty() ? "none" : facts.pre_tokenizer);
  text.line(2, "post-processor: {}", facts.post_processor.empty() ? "none" : facts.post_processor);
  text.line(2, "decoder: {}", facts.decoder.empty() ? "none" : facts.decoder);
}

// Text of files goes to terminals: no control characters, one line each.
std::string printable(std::string text) {
  for (char& c : text) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n') || c == 0x7F) c = '?';
  }
  return text;
}

}  // namespace

std::string tile_text(const ArrayFacts& array, const TileFacts& tile) {
  const ShowOptions options;
  Text text(options);
  text.line(0, "{}", arch::tile_name(tile.tile));
  show_setup(text, array, tile, true);
  return printable(text.take());
}

std::string to_text(const Artifact& artifact, const ShowOptions& options) {
  Text text(options);
  text.line(0, "{}: {}, {} bytes", artifact.path, format::file_kind_name(artifact.kind),
            artifact.bytes.size());
  if (artifact.xclbin) show_xclbin(text, *artifact.xclbin);
  if (artifact.partition) show_partition(text, *artifact.partition);
  if (artifact.elf) show_elf(text, *artifact.elf);
  for (const ArrayFacts& array : artifact.arrays) show_array(text, array, options);
  for (const StreamFacts& stream : artifact.streams) show_stream(text, stream);
  if (artifact.model) show_model(text, *artifact.model);
  if (artifact.tokenizer) show_tokenizer(text, *artifact.tokenizer);
  for (const Error& problem : artifact.problems) text.line(0, "problem: {}", problem.message);
  return printable(text.take());
}

}  // namespace tegula::cli
