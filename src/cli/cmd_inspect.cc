// tegula inspect: what is in a file.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "format/detect.h"
#include "format/gguf.h"
#include "format/safetensors.h"
#include "format/txn.h"
#include "format/xclbin.h"
#include "program/program.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

json inspect_array(const std::vector<format::CdoCommand>& commands) {
  std::map<std::string, u64> kinds;
  for (const format::CdoCommand& command : commands) ++kinds[format::cdo_kind_name(command.kind)];
  json programs = json::array();
  for (const ProgramGroup& group : group_programs(commands)) {
    programs.push_back({{"cores", group.tiles.size()},
                        {"first", arch::tile_name(group.tiles[0])},
                        {"bytes", group.code.size()},
                        {"sha256", program::sha256_hex(group.code)}});
  }
  return {{"commands", kinds}, {"programs", programs}};
}

Result<json> inspect_xclbin(ByteSpan bytes) {
  TRY_ASSIGN(const format::Xclbin xclbin, format::read_xclbin(bytes));
  json sections = json::array();
  for (const format::XclbinSection& section : xclbin.sections) {
    sections.push_back({{"kind", format::xclbin_kind_name(section.kind)}, {"offset", section.offset}, {"bytes", section.data.size()}});
  }
  json out = {{"sections", sections}, {"columns", xclbin.partition.column_width}};
  if (xclbin.partition.pdis.empty()) return out;
  TRY_ASSIGN(const std::vector<format::CdoCommand> commands, array_commands(bytes));
  out["array"] = inspect_array(commands);
  return out;
}

Result<json> inspect_stream(ByteSpan bytes) {
  TRY_ASSIGN(const format::TxnStream stream, format::read_txn(bytes));
  std::map<std::string, u64> ops;
  for (const format::TxnOp& op : stream.ops) ++ops[format::txn_opcode_name(op.opcode)];
  return json{{"version", stream.compact ? "1.0" : "0.1"}, {"bytes", stream.header.size}, {"ops", ops}};
}

Result<json> inspect_gguf(ByteSpan bytes) {
  TRY_ASSIGN(const format::Gguf gguf, format::read_gguf(bytes));
  json metadata = json::object();
  for (const format::GgufEntry& entry : gguf.metadata) {
    json value = format::gguf_type_name(entry.value.type);
    if (const auto* scalar = std::get_if<format::GgufScalar>(&entry.value.value)) {
      std::visit([&](const auto& v) { value = v; }, *scalar);
    } else {
      value = std::to_string(std::get<format::GgufArray>(entry.value.value).count) + " elements";
    }
    metadata[std::string(entry.key)] = value;
  }
  json tensors = json::array();
  for (const format::GgufTensor& tensor : gguf.tensors) {
    tensors.push_back({{"name", tensor.name}, {"type", format::ggml_type_name(tensor.type)}, {"dims", tensor.dims}});
  }
  return json{{"version", gguf.version}, {"metadata", metadata}, {"tensors", tensors}};
}

Result<json> inspect_safetensors(ByteSpan bytes) {
  TRY_ASSIGN(const format::Safetensors file, format::read_safetensors(bytes));
  json tensors = json::array();
  for (const format::SafetensorsTensor& tensor : file.tensors) {
    tensors.push_back({{"name", tensor.name}, {"type", format::safetensors_type_name(tensor.type)}, {"shape", tensor.shape}});
  }
  return json{{"metadata", file.metadata}, {"tensors", tensors}};
}

Result<json> inspect_bytes(ByteSpan bytes) {
  const format::FileKind kind = format::detect(bytes);
  Result<json> out = json::object();
  switch (kind) {
    case format::FileKind::kXclbin: out = inspect_xclbin(bytes); break;
    case format::FileKind::kPdi:
    case format::FileKind::kCdo: {
      TRY_ASSIGN(const std::vector<format::CdoCommand> commands, array_commands(bytes));
      out = inspect_array(commands);
      break;
    }
    case format::FileKind::kTxn: out = inspect_stream(bytes); break;
    case format::FileKind::kGguf: out = inspect_gguf(bytes); break;
    case format::FileKind::kSafetensors: out = inspect_safetensors(bytes); break;
    case format::FileKind::kElf:
    case format::FileKind::kUnknown:
      return fail(Code::kUnsupported, "content is not recognised (expected xclbin, PDI, CDO, instruction stream, GGUF or safetensors)");
  }
  if (out.ok()) (*out)["kind"] = format::file_kind_name(kind);
  return out;
}

// JSON as indented text without quotes and braces: enough to read, and never another set of facts.
void print_text(const json& value, int indent) {
  const std::string pad(static_cast<size_t>(indent), ' ');
  for (const auto& [key, item] : value.items()) {
    const std::string label = value.is_array() ? "-" : key + ":";
    const bool flat = !item.is_structured() || (item.is_array() && !item.empty() && !item[0].is_structured());
    if (flat) {
      std::printf("%s%s %s\n", pad.c_str(), label.c_str(), item.is_string() ? item.get<std::string>().c_str() : item.dump().c_str());
    } else if (value.is_array()) {
      std::printf("%s- %s\n", pad.c_str(), item.dump().c_str());
    } else {
      std::printf("%s%s\n", pad.c_str(), label.c_str());
      print_text(item, indent + 2);
    }
  }
}

}  // namespace

int cmd_inspect(const InspectCommand& command) {
  json all = json::array();
  int status = 0;
  for (const std::string& path : command.files) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
      status = print_error(file.error());
      continue;
    }
    Result<json> facts = inspect_bytes(file->bytes());
    if (!facts.ok()) {
      status = print_error(fail(facts.error().code, path + ": " + facts.error().message));
      continue;
    }
    (*facts)["file"] = path;
    if (command.json) {
      all.push_back(*facts);
    } else {
      print_text(*facts, 0);
    }
  }
  if (command.json) std::printf("%s\n", json{{"schema", 1}, {"files", all}}.dump(2, ' ', false, json::error_handler_t::replace).c_str());
  return status;
}

}  // namespace tegula::cli
