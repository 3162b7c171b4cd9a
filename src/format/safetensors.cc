// safetensors reader and writer. Layout: docs/formats/safetensors.md (the specification is the README of
// huggingface/safetensors): u64 header length, JSON header, data.
#include "format/safetensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "format/plain_types.h"

namespace tegula::format {
namespace {

using Json = nlohmann::json;

constexpr u64 kMaxHeaderBytes = 100'000'000;
constexpr u64 kMaxDimensions = 16;

struct TypeInfo {
  SafetensorsType type;
  const char* name;
  u64 bytes;
};

constexpr TypeInfo kTypes[] = {
    {SafetensorsType::kBool, "BOOL", 1},      {SafetensorsType::kU8, "U8", 1},
    {SafetensorsType::kI8, "I8", 1},          {SafetensorsType::kF8E5m2, "F8_E5M2", 1},
    {SafetensorsType::kF8E4m3, "F8_E4M3", 1}, {SafetensorsType::kU16, "U16", 2},
    {SafetensorsType::kI16, "I16", 2},        {SafetensorsType::kF16, "F16", 2},
    {SafetensorsType::kBf16, "BF16", 2},      {SafetensorsType::kU32, "U32", 4},
    {SafetensorsType::kI32, "I32", 4},        {SafetensorsType::kF32, "F32", 4},
    {SafetensorsType::kU64, "U64", 8},        {SafetensorsType::kI64, "I64", 8},
    {SafetensorsType::kF64, "F64", 8},
};

const TypeInfo& info(SafetensorsType type) {
  for (const TypeInfo& entry : kTypes) {
    if (entry.type == type) return entry;
  }
  return kTypes[0];
}

// Names from the file go into messages: keep them short and on one line.
std::string shown(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 80)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (name.size() > 80) out += "...";
  return out;
}

Error bad_tensor(Code code, std::string_view name, const std::string& what) {
  return fail(code, fmt::format("safetensors: tensor \"{}\": {}", shown(name), what));
}

Result<SafetensorsType> read_type(const std::string& name, const Json& entry) {
  auto found = entry.find("dtype");
  if (found == entry.end() || !found->is_string()) return bad_tensor(Code::kCorrupt, name, "has no dtype");
  const std::string& text = found->get_ref<const std::string&>();
  for (const TypeInfo& type : kTypes) {
    if (text == type.name) return type.type;
  }
  return bad_tensor(Code::kUnsupported, name, fmt::format("dtype {} is not known", shown(text)));
}

// A list of unsigned integers under a key.
Result<std::vector<u64>> read_list(const std::string& name, const Json& entry, const char* key, u64 cap) {
  auto found = entry.find(key);
  if (found == entry.end() || !found->is_array() || found->size() > cap) {
    return bad_tensor(Code::kCorrupt, name, fmt::format("{} is not a list of at most {} numbers", key, cap));
  }
  std::vector<u64> out;
  for (const Json& item : *found) {
    if (!item.is_number_unsigned()) {
      return bad_tensor(Code::kCorrupt, name,
                        fmt::format("{} holds something that is not a whole number", key));
    }
    out.push_back(item.get<u64>());
  }
  return out;
}

Result<SafetensorsTensor> read_tensor(const std::string& name, const Json& entry, ByteSpan data) {
  if (!entry.is_object()) return bad_tensor(Code::kCorrupt, name, "its entry is not a JSON object");
  SafetensorsTensor tensor;
  tensor.name = name;
  TRY_ASSIGN(tensor.type, read_type(name, entry));
  TRY_ASSIGN(tensor.shape, read_list(name, entry, "shape", kMaxDimensions));
  TRY_ASSIGN(std::vector<u64> offsets, read_list(name, entry, "data_offsets", 2));
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    return bad_tensor(Code::kCorrupt, name, "data_offsets is not a pair of rising numbers");
  }
  if (offsets[1] > data.size()) {
    return bad_tensor(Code::kCorrupt, name,
                      fmt::format("data end at {}, the file has {} bytes of data; it is truncated "
                                  "(incomplete download?)",
                                  offsets[1], data.size()));
  }
  tensor.elements = 1;
  u64 bytes = 0;
  bool overflow = false;
  for (u64 size : tensor.shape) overflow |= __builtin_mul_overflow(tensor.elements, size, &tensor.elements);
  overflow |= __builtin_mul_overflow(tensor.elements, info(tensor.type).bytes, &bytes);
  if (overflow || bytes != offsets[1] - offsets[0]) {
    return bad_tensor(Code::kCorrupt, name,
                      fmt::format("{} bytes of data do not fit its shape and dtype {}",
                                  offsets[1] - offsets[0], info(tensor.type).name));
  }
  tensor.data = data.subspan(offsets[0], bytes);
  return tensor;
}

Result<void> read_metadata(const Json& entry, Safetensors& out) {
  if (!entry.is_object()) return fail(Code::kCorrupt, "safetensors: __metadata__ is not a JSON object");
  for (const auto& [key, value] : entry.items()) {
    if (!value.is_string()) {
      return fail(Code::kCorrupt,
                  fmt::format("safetensors: __metadata__ \"{}\" is not a string", shown(key)));
    }
    out.metadata[key] = value.get<std::string>();
  }
  return {};
}

// The tensors must tile the data.
Result<void> check_tiling(const Safetensors& file, ByteSpan data) {
  std::vector<const SafetensorsTensor*> order;
  for (const SafetensorsTensor& tensor : file.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) {
    return std::pair(a->data.data(), a->data.size()) < std::pair(b->data.data(), b->data.size());
  });
  u64 end = 0;
  for (const SafetensorsTensor* tensor : order) {
    u64 begin = static_cast<u64>(tensor->data.data() - data.data());
    if (begin < end)
      return bad_tensor(Code::kCorrupt, tensor->name, "its data overlap those of another tensor");
    if (begin > end) {
      return bad_tensor(Code::kCorrupt, tensor->name,
                        fmt::format("{} unused bytes lie before its data", begin - end));
    }
    end = begin + tensor->data.size();
  }
  if (end == data.size()) return {};
  return fail(Code::kCorrupt,
              fmt::format("safetensors: tensors end at {}, the file has {} bytes of data; it is damaged", end,
                          data.size()));
}

// Parses the header; a name that occurs twice on one level is an error (the JSON library would keep the last
// one).
Result<Json> parse_header(ByteSpan text) {
  std::vector<std::set<std::string>> open;
  std::string twice;
  auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) open.emplace_back();
    if (event == Json::parse_event_t::object_end) open.pop_back();
    if (event == Json::parse_event_t::key && !open.back().insert(parsed.get<std::string>()).second) {
      twice = parsed.get<std::string>();
    }
    return true;
  };
  Json header = Json::parse(text.begin(), text.end(), watch, false);
  if (header.is_discarded() || !header.is_object()) {
    return fail(Code::kCorrupt,
                "safetensors: the header is not a JSON object; this is not a safetensors file or it is "
                "damaged");
  }
  if (!twice.empty())
    return fail(Code::kCorrupt, fmt::format("safetensors: name \"{}\" is there twice", shown(twice)));
  return header;
}

}  // namespace

const char* safetensors_type_name(SafetensorsType type) {
  return info(type).name;
}

u64 safetensors_type_bytes(SafetensorsType type) {
  return info(type).bytes;
}

const SafetensorsTensor* Safetensors::find(std::string_view name) const {
  auto at = std::lower_bound(tensors.begin(), tensors.end(), name,
                             [](const SafetensorsTensor& t, std::string_view n) { return t.name < n; });
  return at != tensors.end() && at->name == name ? &*at : nullptr;
}

Result<const SafetensorsTensor*> Safetensors::get(std::string_view name) const {
  if (const SafetensorsTensor* tensor = find(name)) return tensor;
  return fail(Code::kNotFound, fmt::format("safetensors: tensor \"{}\" is missing", shown(name)));
}

Result<Safetensors> read_safetensors(ByteSpan bytes) {
  if (bytes.size() < 8) {
    return fail(Code::kCorrupt,
                fmt::format("safetensors: {} bytes, the header length alone needs 8; the file is "
                            "truncated",
                            bytes.size()));
  }
  u64 length = load_le<u64>(bytes.data());
  if (length > kMaxHeaderBytes || length > bytes.size() - 8) {
    return fail(Code::kCorrupt,
                fmt::format("safetensors: the header says {} bytes, {} are there and at most {} are "
                            "allowed; the file is truncated or no safetensors file",
                            length, bytes.size() - 8, kMaxHeaderBytes));
  }
  TRY_ASSIGN(Json header, parse_header(bytes.subspan(8, length)));
  ByteSpan data = bytes.subspan(8 + length);
  Safetensors out;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      TRY(read_metadata(entry, out));
      continue;
    }
    TRY_ASSIGN(SafetensorsTensor tensor, read_tensor(name, entry, data));
    out.tensors.push_back(std::move(tensor));
  }
  std::sort(out.tensors.begin(), out.tensors.end(), [](auto& a, auto& b) { return a.name < b.name; });
  TRY(check_tiling(out, data));
  return out;
}

Result<void> to_float(SafetensorsType type, ByteSpan raw, std::span<float> out) {
  bool known =
      type == SafetensorsType::kF32 || type == SafetensorsType::kF16 || type == SafetensorsType::kBf16;
  if (!known) {
    return fail(Code::kUnsupported,
                fmt::format("safetensors: dtype {} cannot be read as fp32; supported are F32, F16 and "
                            "BF16",
                            info(type).name));
  }
  if (raw.size() != out.size() * info(type).bytes) {
    return fail(Code::kInvalidArgument,
                fmt::format("safetensors: {} values of {} need {} bytes, {} were given", out.size(),
                            info(type).name, out.size() * info(type).bytes, raw.size()));
  }
  if (type == SafetensorsType::kF32) expand_f32(raw, out);
  if (type == SafetensorsType::kF16) expand_f16(raw, out);
  if (type == SafetensorsType::kBf16) expand_bf16(raw, out);
  return {};
}

void SafetensorsWriter::add(std::string_view name, SafetensorsType type, std::span<const u64> shape,
                            ByteSpan data) {
  u64 begin = data_.size();
  data_.bytes(data);
  entries_.push_back({std::string(name), type, {shape.begin(), shape.end()}, begin, data_.size()});
}

void SafetensorsWriter::add_f32(std::string_view name, std::span<const u64> shape,
                                std::span<const float> values) {
  add(name, SafetensorsType::kF32, shape, {reinterpret_cast<const u8*>(values.data()), values.size_bytes()});
}

void SafetensorsWriter::add_metadata(std::string_view key, std::string_view value) {
  metadata_[std::string(key)] = value;
}

Bytes SafetensorsWriter::finish() {
  Json header = Json::object();
  if (!metadata_.empty()) header["__metadata__"] = metadata_;
  for (const Entry& entry : entries_) {
    header[entry.name] = {
        {"dtype", info(entry.type).name}, {"shape", entry.shape}, {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text = header.dump(-1, ' ', false, Json::error_handler_t::replace);
  while (text.size() % 8 != 0) text += ' ';  // so that the data are aligned
  ByteWriter out;
  out.write<u64>(text.size());
  out.text(text);
  out.bytes(data_.data());
  return out.take();
}

}  // namespace tegula::format
