// Facts of an artifact as JSON. The schema is docs/json/inspect.md; its version is kInspectSchema.
#include <nlohmann/json.hpp>

#include "cli/inspect/inspect.h"
#include "cli/inspect/words.h"
#include "program/program.h"

namespace tegula::cli {
namespace {

using json = nlohmann::ordered_json;
using arch::Tile;
using arch::TileKind;

json tile_json(Tile tile) {
  return json{{"col", tile.col}, {"row", tile.row}};
}

json tiles_json(std::span<const Tile> tiles) {
  json out = json::array();
  for (const Tile tile : tiles) out.push_back(json::array({tile.col, tile.row}));
  return out;
}

bool wanted(const ShowOptions& options, Tile tile) {
  return !options.tile || *options.tile == tile;
}

json writes_json(const WriteCounts& writes) {
  json unnamed = json::array();
  for (const u32 address : writes.unnamed) unnamed.push_back(address_name(address));
  return {{"commands", writes.commands},
          {"write", writes.writes},
          {"mask_write", writes.mask_writes},
          {"block_write", writes.block_writes},
          {"noop", writes.noops},
          {"words", writes.words},
          {"named", writes.named},
          {"unnamed", unnamed}};
}

json program_json(const ProgramFacts& program) {
  json pieces = json::array();
  for (const auto& [address, bytes] : program.pieces)
    pieces.push_back({{"address", address}, {"bytes", bytes}});
  return {{"name", program.name},
          {"bytes", program.image.size()},
          {"written", program.written},
          {"entry", 0},
          {"sha256", program.sha256},
          {"cores", program.tiles.size()},
          {"tiles", tiles_json(program.tiles)},
          {"pieces", pieces}};
}

json bd_json(TileKind kind, const BdFacts& facts) {
  const arch::Bd& bd = facts.bd;
  json dims = json::array();
  for (int d = 0; d < arch::traits(kind).dimensions; ++d) {
    const arch::BdDimension& dim = bd.dims[static_cast<size_t>(d)];
    dims.push_back({{"step", dim.step}, {"wrap", dim.wrap}});
  }
  json words = json::array();
  for (int w = 0; w < arch::traits(kind).bd_words; ++w) words.push_back(facts.words[static_cast<size_t>(w)]);
  json out = {{"bd", facts.number},  {"text", facts.text},    {"chained", facts.chained},
              {"length", bd.length}, {"address", bd.address}, {"dimensions", dims}};
  if (bd.acquire) out["acquire"] = {{"lock", bd.acquire_lock}, {"value", bd.acquire_value}};
  if (bd.release_value != 0) out["release"] = {{"lock", bd.release_lock}, {"value", bd.release_value}};
  if (bd.use_next) out["next"] = bd.next;
  if (bd.packet) out["packet"] = {{"id", bd.packet_id}, {"type", bd.packet_type}};
  if (bd.iteration_wrap > 1) out["iteration"] = {{"step", bd.iteration_step}, {"wrap", bd.iteration_wrap}};
  out["words"] = words;
  return out;
}

json channel_json(const ChannelFacts& channel) {
  json chains = json::array();
  for (const ChainFacts& chain : channel.chains) {
    json out = {{"bds", chain.bds}, {"repeat", chain.task.repeat}, {"token", chain.task.token}};
    out["loops_to"] = chain.loops ? json(chain.loop_to) : json();
    chains.push_back(out);
  }
  return {{"direction", arch::direction_name(channel.direction)},
          {"channel", channel.channel},
          {"ctrl", channel.ctrl},
          {"tasks", chains}};
}

json tile_facts_json(const ArrayFacts& array, const TileFacts& tile) {
  json out = tile_json(tile.tile);
  out["kind"] = arch::kind_name(tile.tile.kind());
  if (tile.tile.kind() == TileKind::kCore) {
    out["program"] = tile.program < 0 ? json() : json(array.programs[static_cast<size_t>(tile.program)].name);
    out["enabled"] = tile.enabled;
  }
  json locks = json::object();
  for (const auto& [number, value] : tile.locks) locks[std::to_string(number)] = value;
  out["locks"] = locks;
  out["channels"] = json::array();
  for (const ChannelFacts& channel : tile.channels) out["channels"].push_back(channel_json(channel));
  out["bds"] = json::array();
  for (const BdFacts& bd : tile.bds) out["bds"].push_back(bd_json(tile.tile.kind(), bd));
  out["data"] = json::array();
  for (const DataFacts& data : tile.data) {
    out["data"].push_back({{"address", data.offset},
                           {"bytes", data.bytes.size()},
                           {"sha256", program::sha256_hex(data.bytes)}});
  }
  json registers = json::array();
  for (const auto& [name, value] : tile.registers) registers.push_back({{"name", name}, {"value", value}});
  out["registers"] = registers;
  return out;
}

const char* end_kind(EndKind kind) {
  switch (kind) {
    case EndKind::kChannel:
      return "S2MM";
    case EndKind::kCore:
      return "core";
    case EndKind::kControl:
      return "control";
    case EndKind::kTokens:
      return "tokens";
    case EndKind::kOutside:
      return "outside";
  }
  return "?";
}

json route_json(const Route& route, size_t id) {
  json out = {{"id", id}, {"text", route_text(route)}};
  out["source"] = tile_json(route.tile);
  out["source"]["port"] = route.source;
  out["source"]["slave"] = route.slave;
  if (route.packet_id >= 0) out["packet"] = {{"id", route.packet_id}, {"mask", route.packet_mask}};
  out["ends"] = json::array();
  for (const RouteEnd& end : route.ends) {
    json e = tile_json(end.tile);
    e["kind"] = end_kind(end.kind);
    if (end.kind == EndKind::kChannel || end.kind == EndKind::kOutside) e["channel"] = end.channel;
    if (route.packet_id >= 0) e["drop_header"] = end.drop_header;
    e["armed"] = end.armed;
    out["ends"].push_back(e);
  }
  out["hops"] = json::array();
  for (const RouteHop& hop : route.hops) {
    const TileKind kind = hop.tile.kind();
    json h = tile_json(hop.tile);
    h["from"] = arch::port_name(arch::slave_port(kind, hop.slave));
    h["to"] = arch::port_name(arch::master_port(kind, hop.master));
    out["hops"].push_back(h);
  }
  out["problems"] = route.problems;
  return out;
}

json array_json(const ArrayFacts& array, const ShowOptions& options) {
  json out = {{"name", array.name}, {"cores", array.cores()}, {"enabled_cores", array.enabled_cores()}};
  out["register_writes"] = writes_json(array.writes);
  out["programs"] = json::array();
  for (const ProgramFacts& program : array.programs) out["programs"].push_back(program_json(program));
  if (options.depth < 1) return out;
  out["groups"] = json::array();
  for (const TileGroup& group : array.groups) {
    std::vector<Tile> tiles;
    for (const size_t member : group.members) tiles.push_back(array.tiles[member].tile);
    out["groups"].push_back(
        {{"text", group_text(array, group)}, {"tiles", tiles_json(tiles)}, {"same_data", group.same_data}});
  }
  out["columns"] = json::array();
  for (const ColumnFacts& column : array.columns) {
    out["columns"].push_back({{"col", column.col},
                              {"cores", column.cores},
                              {"programs", column.programs},
                              {"shim", column.shim},
                              {"mem", column.mem},
                              {"core", column.core}});
  }
  out["links"] = {{"enabled", array.routes.links}, {"broken", array.routes.broken_links}};
  out["unreached"] = array.routes.unreached;
  out["spare_ids"] = array.routes.spare_ids;
  if (options.depth < 2) return out;
  out["tiles"] = json::array();
  for (const TileFacts& tile : array.tiles) {
    if (wanted(options, tile.tile)) out["tiles"].push_back(tile_facts_json(array, tile));
  }
  out["routes"] = json::array();
  for (size_t i = 0; i < array.routes.routes.size(); ++i) {
    if (wanted(options, array.routes.routes[i].tile))
      out["routes"].push_back(route_json(array.routes.routes[i], i));
  }
  return out;
}

json transfer_json(const TransferFacts& transfer) {
  json out = {{"op", transfer.op}};
  out.update(tile_json(transfer.tile));
  out["direction"] = arch::direction_name(transfer.direction);
  out["channel"] = transfer.channel;
  out["bd"] = transfer.task.first_bd;
  out["repeat"] = transfer.task.repeat;
  out["token"] = transfer.task.token;
  out["argument"] = transfer.argument < 0 ? json() : json(transfer.argument);
  out["offset"] = transfer.offset;
  out["bytes"] = transfer.known ? json(4 * transfer.words) : json();
  out["waited_by"] = transfer.waited < 0 ? json() : json(transfer.waited);
  return out;
}

json phase_json(const PhaseFacts& phase) {
  json transfers = json::array();
  for (const auto& [key, value] : phase.transfers) {
    transfers.push_back({{"argument", key.first < 0 ? json() : json(key.first)},
                         {"direction", arch::direction_name(key.second)},
                         {"count", value.first},
                         {"bytes", value.second}});
  }
  return {{"first_op", phase.first_op},
          {"repeat", phase.repeat},
          {"ops", phase.ops},
          {"waits", phase.waits},
          {"other_writes", phase.other_writes},
          {"transfers", transfers},
          {"text", phase.text}};
}

json stream_usage_json(const StreamFacts& facts) {
  json arguments = json::array(), channels = json::array(), phases = json::array();
  for (const ArgumentFacts& a : facts.arguments) {
    arguments.push_back({{"argument", a.argument < 0 ? json() : json(a.argument)},
                         {"reads", a.reads},
                         {"read_bytes", a.read_bytes},
                         {"writes", a.writes},
                         {"write_bytes", a.write_bytes},
                         {"first_offset", a.first},
                         {"last_offset", a.last}});
  }
  for (const ChannelUse& use : facts.channels) {
    json c = tile_json(use.tile);
    c.update({{"direction", arch::direction_name(use.direction)},
              {"channel", use.channel},
              {"tasks", use.tasks},
              {"runs", use.runs},
              {"tokens", use.tokens},
              {"waits", use.waits},
              {"bytes", 4 * use.words},
              {"most_in_flight", use.most_in_flight}});
    channels.push_back(c);
  }
  for (const PhaseFacts& phase : facts.phases) phases.push_back(phase_json(phase));
  return {{"arguments", arguments}, {"channels", channels}, {"phases", phases}};
}

json stream_json(const StreamFacts& facts, const ShowOptions& options) {
  const format::TxnHeader& header = facts.stream.header;
  json ops = json::object();
  for (const auto& [name, count] : facts.ops) ops[name] = count;
  json out = {{"name", facts.name},
              {"version", facts.stream.compact ? "1.0" : "0.1"},
              {"header_damaged", facts.header_damaged},
              {"bytes", header.size},
              {"trailing_bytes", facts.trailing},
              {"op_count", header.op_count},
              {"ops", ops},
              {"bds", facts.bds},
              {"tasks", facts.transfers.size()},
              {"waits", facts.waits.size()},
              {"most_in_flight", facts.most_in_flight},
              {"unwaited_tasks", facts.unwaited},
              {"waits_without_task", facts.empty_waits},
              {"register_writes", {{"commands", facts.register_writes}, {"named", facts.named_writes}}}};
  if (options.depth >= 1) out.update(stream_usage_json(facts));
  if (options.depth < 2) return out;
  out["transfers"] = json::array();
  for (const TransferFacts& transfer : facts.transfers) {
    if (wanted(options, transfer.tile)) out["transfers"].push_back(transfer_json(transfer));
  }
  out["other_writes"] = json::array();
  for (const WordWrite& w : facts.others) {
    out["other_writes"].push_back(
        {{"op", w.op}, {"register", address_name(w.address)}, {"mask", w.mask}, {"value", w.value}});
  }
  if (options.depth < 3) return out;
  out["listing"] = json::array();
  for (const format::TxnOp& op : facts.stream.ops) {
    out["listing"].push_back(
        {{"offset", op.offset}, {"bytes", op.size}, {"text", op_text(facts.stream, op)}});
  }
  return out;
}

std::string uuid_text(const format::Uuid& uuid) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const u8 byte : uuid) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

json xclbin_json(const format::Xclbin& xclbin) {
  json sections = json::array(), ips = json::array(), memories = json::array(), connections = json::array();
  for (const format::XclbinSection& s : xclbin.sections) {
    sections.push_back({{"kind", s.kind},
                        {"type", format::xclbin_kind_name(s.kind)},
                        {"name", s.name},
                        {"offset", s.offset},
                        {"bytes", s.data.size()}});
  }
  for (const format::IpRecord& ip : xclbin.ips) {
    ips.push_back(
        {{"name", ip.name}, {"type", ip.type}, {"subtype", ip.subtype}, {"kernel_id", ip.kernel_id}});
  }
  for (const format::MemRecord& memory : xclbin.memories) {
    memories.push_back({{"tag", memory.tag},
                        {"type", memory.type},
                        {"used", memory.used != 0},
                        {"kib", memory.size_kib},
                        {"base", memory.base_address}});
  }
  for (const format::Connection& c : xclbin.connections)
    connections.push_back({{"argument", c.argument}, {"ip", c.ip}, {"memory", c.memory}});
  return {{"version", std::to_string(xclbin.version_major) + "." + std::to_string(xclbin.version_minor) +
                          "." + std::to_string(xclbin.version_patch)},
          {"uuid", uuid_text(xclbin.uuid)},
          {"time_stamp", xclbin.time_stamp},
          {"sections", sections},
          {"kernels", ips},
          {"memories", memories},
          {"connections", connections},
          {"metadata_bytes", xclbin.metadata.size()}};
}

json partition_json(const format::AiePartition& partition) {
  json pdis = json::array();
  for (const format::PdiRecord& pdi : partition.pdis) {
    json groups = json::array();
    for (const format::CdoGroup& group : pdi.groups) {
      groups.push_back({{"name", group.name},
                        {"type", group.type},
                        {"pdi_id", group.pdi_id},
                        {"kernel_ids", group.kernel_ids},
                        {"pre_groups", group.pre_groups}});
    }
    pdis.push_back({{"uuid", uuid_text(pdi.uuid)}, {"bytes", pdi.image.size()}, {"groups", groups}});
  }
  return {{"columns", partition.column_width},
          {"start_columns", partition.start_columns},
          {"operations_per_cycle", partition.operations_per_cycle},
          {"pdis", pdis}};
}

json elf_json(const ElfFacts& facts) {
  json sections = json::array(), segments = json::array(), symbols = json::array(), patches = json::array();
  for (const format::ElfSection& s : facts.elf.sections) {
    sections.push_back({{"name", std::string(s.name)},
                        {"type", s.type},
                        {"flags", s.flags},
                        {"address", s.address},
                        {"offset", s.offset},
                        {"bytes", s.size}});
  }
  for (const format::ElfSegment& s : facts.elf.segments) {
    segments.push_back({{"type", s.type},
                        {"flags", s.flags},
                        {"address", s.address},
                        {"bytes", s.data.size()},
                        {"memory_bytes", s.memory_bytes}});
  }
  for (const format::ElfSymbol& s : facts.symbols) {
    symbols.push_back({{"name", std::string(s.name)}, {"value", s.value}, {"bytes", s.size}});
  }
  for (const ElfFacts::Patch& p : facts.patches) {
    patches.push_back({{"section", p.section},
                       {"offset", p.relocation.offset},
                       {"argument", p.argument},
                       {"scheme", p.relocation.type},
                       {"scheme_name", p.scheme},
                       {"addend", p.relocation.addend}});
  }
  json out = {
      {"use", facts.use},           {"bits", facts.elf.wide ? 64 : 32},     {"machine", facts.elf.machine},
      {"os_abi", facts.elf.os_abi}, {"abi_version", facts.elf.abi_version}, {"entry", facts.elf.entry}};
  out.update({{"sections", sections}, {"segments", segments}, {"symbols", symbols}, {"patches", patches}});
  if (!facts.program.empty())
    out["program"] = {{"bytes", facts.program.size()}, {"sha256", program::sha256_hex(facts.program)}};
  return out;
}

json model_json(const ModelFacts& facts, const ShowOptions& options) {
  json metadata = json::array(), tensors = json::array();
  for (const auto& [key, value] : facts.metadata) metadata.push_back({{"key", key}, {"value", value}});
  json out = {{"version", facts.version},
              {"tensor_count", facts.tensors.size()},
              {"q4nx_tensors", facts.q4nx},
              {"metadata", metadata}};
  if (options.depth < 1) return out;
  for (const TensorFacts& t : facts.tensors) {
    json tensor = {{"name", t.name},
                   {"type", t.type},
                   {"shape", t.shape},
                   {"offset", t.offset},
                   {"bytes", t.data.size()}};
    if (!t.meaning.empty()) tensor["meaning"] = t.meaning;
    tensors.push_back(tensor);
  }
  out["tensors"] = tensors;
  return out;
}

json tokenizer_json(const TokenizerFacts& facts) {
  return {{"version", facts.version},
          {"model", facts.model},
          {"vocabulary", facts.vocabulary},
          {"merges", facts.merges},
          {"added_tokens", facts.added_tokens},
          {"special_tokens", facts.special_tokens},
          {"normalizer", facts.normalizer},
          {"pre_tokenizer", facts.pre_tokenizer},
          {"post_processor", facts.post_processor},
          {"decoder", facts.decoder}};
}

json artifact_json(const Artifact& artifact, const ShowOptions& options) {
  json out = {{"file", artifact.path},
              {"kind", format::file_kind_name(artifact.kind)},
              {"bytes", artifact.bytes.size()}};
  json problems = json::array();
  for (const Error& error : artifact.problems) problems.push_back(error.message);
  out["problems"] = problems;
  if (artifact.xclbin) out["xclbin"] = xclbin_json(*artifact.xclbin);
  if (artifact.partition) out["partition"] = partition_json(*artifact.partition);
  if (artifact.elf) out["elf"] = elf_json(*artifact.elf);
  if (!artifact.pdis.empty()) {
    out["pdis"] = json::array();
    for (const auto& [bytes, header] : artifact.pdis)
      out["pdis"].push_back({{"bytes", bytes}, {"id_code", header.id_code}});
  }
  if (!artifact.arrays.empty()) {
    out["arrays"] = json::array();
    for (const ArrayFacts& array : artifact.arrays) out["arrays"].push_back(array_json(array, options));
  }
  if (!artifact.streams.empty()) {
    out["streams"] = json::array();
    for (const StreamFacts& stream : artifact.streams) out["streams"].push_back(stream_json(stream, options));
  }
  if (artifact.model) out["model"] = model_json(*artifact.model, options);
  if (artifact.tokenizer) out["tokenizer"] = tokenizer_json(*artifact.tokenizer);
  return out;
}

}  // namespace

std::string to_json(const std::vector<Artifact>& artifacts, const ShowOptions& options) {
  json files = json::array();
  for (const Artifact& artifact : artifacts) files.push_back(artifact_json(artifact, options));
  return json{{"schema", kInspectSchema}, {"files", std::move(files)}}.dump(1, ' ', false,
                                                                            json::error_handler_t::replace);
}

}  // namespace tegula::cli
