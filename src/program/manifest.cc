// The manifest of a program as JSON: format number, names, and size and SHA-256 of each file.
#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <set>

#include "program/program.h"

namespace tegula::program {
namespace {

using Json = nlohmann::json;

constexpr u64 kFormat = 1;
constexpr u64 kMaxManifestBytes = 64 << 20;
constexpr char kXclbinFile[] = "config.xclbin";
constexpr char kWeightsFile[] = "weights.bin";

constexpr int kMaxDepth = 64;  // of nesting; the JSON library's printer recurses

Error bad(const std::string& what) {
  return fail(Code::kCorrupt, "manifest: " + what);
}

// A discarded value for text that is not JSON or nests too deeply.
template <typename Text>
Json parse_json(const Text& text) {
  bool deep = false;
  auto watch = [&deep](int depth, Json::parse_event_t, Json&) {
    deep |= depth > kMaxDepth;
    return !deep;
  };
  Json parsed = Json::parse(text.begin(), text.end(), watch, false);
  return deep ? Json(Json::value_t::discarded) : parsed;
}

// A name that can be a file name on its own.
bool plain_name(std::string_view name) {
  if (name.empty() || name.size() > 128 || name.front() == '.') return false;
  for (char c : name) {
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && c != '_' && c != '-' && c != '.') return false;
  }
  return true;
}

bool hex_hash(std::string_view text) {
  if (text.size() != 64) return false;
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// Typed access to members, with the place in the message.
Result<std::string> get_text(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return bad(fmt::format("\"{}\" is missing or no string", key));
  return found->get<std::string>();
}

Result<u64> get_number(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned()) {
    return bad(fmt::format("\"{}\" is missing or no whole number", key));
  }
  return found->get<u64>();
}

Result<const Json*> get_list(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_array())
    return bad(fmt::format("\"{}\" is missing or no list", key));
  for (const Json& item : *found) {
    if (!item.is_object()) return bad(fmt::format("\"{}\" holds something that is no object", key));
  }
  return &*found;
}

Json file_json(const std::string& file, const Bytes& bytes) {
  return {{"file", file}, {"size", bytes.size()}, {"sha256", sha256_hex(bytes)}};
}

Result<FileRecord> read_file_record(const Json& object) {
  FileRecord record;
  TRY_ASSIGN(record.file, get_text(object, "file"));
  TRY_ASSIGN(record.size, get_number(object, "size"));
  TRY_ASSIGN(record.sha256, get_text(object, "sha256"));
  if (!plain_name(record.file)) return bad("a file name holds characters that are not allowed");
  if (!hex_hash(record.sha256)) return bad(record.file + ": sha256 is not 64 hexadecimal digits");
  return record;
}

Result<Json> streams_json(const Program& program) {
  Json out = Json::array();
  std::set<std::string> names;
  for (const StreamEntry& stream : program.streams) {
    if (!plain_name(stream.name) || !names.insert(stream.name).second) {
      return fail(Code::kInvalidArgument,
                  fmt::format("program: stream name \"{}\" is not a plain file name or is there "
                              "twice",
                              stream.name));
    }
    Json entry = file_json(stream.name + ".txn", stream.bytes);
    entry["name"] = stream.name;
    entry["patches"] = Json::array();
    for (const Patch& patch : stream.patches) {
      if (patch.offset % 4 != 0 || patch.offset > stream.bytes.size() ||
          stream.bytes.size() - patch.offset < 4) {
        return fail(Code::kInvalidArgument,
                    fmt::format("program: stream {}: patch \"{}\" at byte {} is not a word of its "
                                "{} bytes",
                                stream.name, patch.meaning, patch.offset, stream.bytes.size()));
      }
      entry["patches"].push_back({{"offset", patch.offset}, {"meaning", patch.meaning}});
    }
    out.push_back(std::move(entry));
  }
  return out;
}

Result<Json> layout_json(const Program& program) {
  Json out = Json::array();
  for (const WeightEntry& entry : program.weight_layout) {
    if (entry.offset > program.weights.size() || entry.size > program.weights.size() - entry.offset) {
      return fail(Code::kInvalidArgument, fmt::format("program: weight {} lies outside the blob of {} bytes",
                                                      entry.name, program.weights.size()));
    }
    out.push_back(
        {{"name", entry.name}, {"layout", entry.layout}, {"offset", entry.offset}, {"size", entry.size}});
  }
  return out;
}

Result<void> read_streams(const Json& root, Manifest& out) {
  TRY_ASSIGN(const Json* streams, get_list(root, "streams"));
  std::set<std::string> names;
  for (const Json& item : *streams) {
    StreamEntry stream;
    TRY_ASSIGN(stream.name, get_text(item, "name"));
    if (!names.insert(stream.name).second) return bad("a stream name is there twice");
    TRY_ASSIGN(FileRecord record, read_file_record(item));
    TRY_ASSIGN(const Json* patches, get_list(item, "patches"));
    for (const Json& entry : *patches) {
      Patch patch;
      TRY_ASSIGN(patch.offset, get_number(entry, "offset"));
      TRY_ASSIGN(patch.meaning, get_text(entry, "meaning"));
      if (patch.offset % 4 != 0 || patch.offset > record.size || record.size - patch.offset < 4) {
        return bad(fmt::format("{}: patch at byte {} is not a word of {} bytes", record.file, patch.offset,
                               record.size));
      }
      stream.patches.push_back(std::move(patch));
    }
    out.files.push_back(std::move(record));
    out.program.streams.push_back(std::move(stream));
  }
  return {};
}

Result<void> read_weights(const Json& root, Manifest& out) {
  u64 size = 0;
  if (auto found = root.find("weights"); found != root.end()) {
    if (!found->is_object()) return bad("\"weights\" is no object");
    TRY_ASSIGN(FileRecord record, read_file_record(*found));
    size = record.size;
    out.files.push_back(std::move(record));
  }
  TRY_ASSIGN(const Json* layout, get_list(root, "weight_layout"));
  for (const Json& item : *layout) {
    WeightEntry entry;
    TRY_ASSIGN(entry.name, get_text(item, "name"));
    TRY_ASSIGN(entry.layout, get_text(item, "layout"));
    TRY_ASSIGN(entry.offset, get_number(item, "offset"));
    TRY_ASSIGN(entry.size, get_number(item, "size"));
    if (entry.offset > size || entry.size > size - entry.offset) {
      return bad(fmt::format("a weight of {} bytes at {} lies outside the blob of {} bytes", entry.size,
                             entry.offset, size));
    }
    out.program.weight_layout.push_back(std::move(entry));
  }
  return {};
}

}  // namespace

Result<std::string> manifest_text(const Program& program) {
  Json extra = Json::object();
  if (!program.manifest_json_extra.empty()) extra = parse_json(program.manifest_json_extra);
  if (!extra.is_object())
    return fail(Code::kInvalidArgument, "program: manifest_json_extra is not a JSON object");
  Json root;
  root["format"] = kFormat;
  root["name"] = program.name;
  root["model_sha256"] = program.model_hash;
  root["xclbin"] = file_json(kXclbinFile, program.xclbin);
  TRY_ASSIGN(root["streams"], streams_json(program));
  if (!program.weights.empty()) root["weights"] = file_json(kWeightsFile, program.weights);
  TRY_ASSIGN(root["weight_layout"], layout_json(program));
  root["extra"] = std::move(extra);
  return root.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Manifest> read_manifest(ByteSpan text) {
  if (text.size() > kMaxManifestBytes) return bad(fmt::format("{} bytes are too many", text.size()));
  Json root = parse_json(text);
  if (!root.is_object()) return bad("is not a JSON object");
  TRY_ASSIGN(u64 format, get_number(root, "format"));
  if (format != kFormat) {
    return fail(
        Code::kUnsupported,
        fmt::format("manifest: format is {}, expected {}; compile the program again", format, kFormat));
  }
  Manifest out;
  TRY_ASSIGN(out.program.name, get_text(root, "name"));
  TRY_ASSIGN(out.program.model_hash, get_text(root, "model_sha256"));
  auto xclbin = root.find("xclbin");
  if (xclbin == root.end() || !xclbin->is_object()) return bad("\"xclbin\" is missing or no object");
  TRY_ASSIGN(FileRecord record, read_file_record(*xclbin));
  out.files.push_back(std::move(record));
  TRY(read_streams(root, out));
  TRY(read_weights(root, out));
  auto extra = root.find("extra");
  if (extra == root.end() || !extra->is_object()) return bad("\"extra\" is missing or no object");
  if (!extra->empty())
    out.program.manifest_json_extra = extra->dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace tegula::program
