// GGUF reader. Layout: docs/formats/gguf.md (the specification is docs/gguf.md of the ggml project).
#include "format/gguf.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

namespace tegula::format {
namespace {

constexpr u32 kMagic = 0x46554747;  // "GGUF"
constexpr u64 kMaxDimensions = 4;
constexpr u64 kMinEntryBytes = 8 + 4 + 1;       // empty key, type, one byte of value
constexpr u64 kMinTensorBytes = 8 + 4 + 4 + 8;  // empty name, no dimensions, type, offset

u64 scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
      return 8;
    case GgufType::kString:
    case GgufType::kArray:
      return 0;
  }
  return 0;
}

// The value of a scalar that is not a string; the bytes are there.
GgufScalar load_scalar(GgufType type, const u8* at) {
  switch (type) {
    case GgufType::kU8:
      return u64{*at};
    case GgufType::kI8:
      return i64{load_le<i8>(at)};
    case GgufType::kU16:
      return u64{load_le<u16>(at)};
    case GgufType::kI16:
      return i64{load_le<i16>(at)};
    case GgufType::kU32:
      return u64{load_le<u32>(at)};
    case GgufType::kI32:
      return i64{load_le<i32>(at)};
    case GgufType::kF32:
      return double{load_le<float>(at)};
    case GgufType::kBool:
      return *at != 0;
    case GgufType::kU64:
      return load_le<u64>(at);
    case GgufType::kI64:
      return load_le<i64>(at);
    case GgufType::kF64:
      return load_le<double>(at);
    case GgufType::kString:
    case GgufType::kArray:
      break;
  }
  return u64{0};
}

// Names from the file go into messages: keep them short and on one line.
std::string shown(std::string_view name) {
  std::string out;
  for (char c : name.substr(0, 80)) out += (c >= ' ' && c <= '~') ? c : '?';
  if (name.size() > 80) out += "...";
  return out;
}

}  // namespace

class GgufParser {
 public:
  explicit GgufParser(ByteSpan bytes) : in_(bytes, "GGUF") {}

  Result<Gguf> run() {
    TRY(header());
    for (u64 i = 0; i < entry_count_; ++i) TRY(entry());
    TRY(sort_keys());
    TRY(alignment());
    for (u64 i = 0; i < tensor_count_; ++i) TRY(tensor());
    TRY(sort_tensors());
    TRY(place_tensors());
    return std::move(out_);
  }

 private:
  Result<void> header() {
    TRY_ASSIGN(u32 magic, in_.read<u32>());
    if (magic != kMagic) {
      return fail(Code::kCorrupt,
                  fmt::format("GGUF: magic is 0x{:08X}, expected 0x{:08X} (\"GGUF\"); this is not a GGUF "
                              "file",
                              magic, kMagic));
    }
    TRY_ASSIGN(out_.version, in_.read<u32>());
    if (out_.version != 2 && out_.version != 3) {
      bool swapped = (out_.version & 0xFFFF) == 0;
      return fail(Code::kUnsupported, fmt::format("GGUF: version is {}, expected 2 or 3{}", out_.version,
                                                  swapped ? "; the file is big endian, convert it" : ""));
    }
    TRY_ASSIGN(tensor_count_, in_.read<u64>());
    TRY_ASSIGN(entry_count_, in_.read<u64>());
    TRY(check_count("metadata entries", entry_count_, kMinEntryBytes));
    return check_count("tensors", tensor_count_, kMinTensorBytes);
  }

  // A count that cannot fit the bytes left is refused before anything is allocated for it.
  Result<void> check_count(const char* what, u64 count, u64 minimum_bytes) const {
    if (count <= in_.remaining() / minimum_bytes) return {};
    return fail(Code::kCorrupt,
                fmt::format("GGUF: the header says {} {}, {} bytes are left; the file is truncated or "
                            "damaged",
                            count, what, in_.remaining()));
  }

  Result<std::string_view> text(const char* what) {
    TRY_ASSIGN(u64 length, in_.read<u64>());
    if (length > in_.remaining()) {
      return fail(Code::kCorrupt,
                  fmt::format("GGUF: {} at offset {} says {} bytes, {} are left; the file is truncated or "
                              "damaged",
                              what, in_.position() - 8, length, in_.remaining()));
    }
    TRY_ASSIGN(ByteSpan raw, in_.bytes(length));
    return std::string_view(reinterpret_cast<const char*>(raw.data()), raw.size());
  }

  Result<GgufType> type(std::string_view key) {
    TRY_ASSIGN(u32 raw, in_.read<u32>());
    if (raw <= static_cast<u32>(GgufType::kF64)) return static_cast<GgufType>(raw);
    return fail(Code::kCorrupt,
                fmt::format("GGUF: key \"{}\" has value type {}, expected 0 to 12", shown(key), raw));
  }

  Result<void> entry() {
    GgufEntry entry;
    TRY_ASSIGN(entry.key, text("a key"));
    TRY_ASSIGN(entry.value.type, type(entry.key));
    if (entry.value.type == GgufType::kArray) {
      TRY_ASSIGN(entry.value.value, array(entry.key));
    } else if (entry.value.type == GgufType::kString) {
      TRY_ASSIGN(std::string_view value, text("a string"));
      entry.value.value = GgufScalar(value);
    } else {
      TRY_ASSIGN(ByteSpan raw, in_.bytes(scalar_bytes(entry.value.type)));
      entry.value.value = load_scalar(entry.value.type, raw.data());
    }
    out_.metadata.push_back(std::move(entry));
    return {};
  }

  Result<GgufArray> array(std::string_view key) {
    GgufArray array;
    TRY_ASSIGN(array.element, type(key));
    if (array.element == GgufType::kArray) {
      return fail(Code::kUnsupported, fmt::format("GGUF: key \"{}\" is an array of arrays", shown(key)));
    }
    TRY_ASSIGN(array.count, in_.read<u64>());
    u64 minimum = array.element == GgufType::kString ? 8 : scalar_bytes(array.element);
    if (array.count > in_.remaining() / minimum) {
      return fail(Code::kCorrupt,
                  fmt::format("GGUF: key \"{}\" says {} array elements, {} bytes are left; the file is "
                              "truncated or damaged",
                              shown(key), array.count, in_.remaining()));
    }
    if (array.element != GgufType::kString) {
      TRY_ASSIGN(array.raw, in_.bytes(array.count * minimum));
      return array;
    }
    array.strings.reserve(array.count);
    for (u64 i = 0; i < array.count; ++i) {
      TRY_ASSIGN(std::string_view value, text("a string of an array"));
      array.strings.push_back(value);
    }
    return array;
  }

  Result<void> alignment() {
    if (!out_.find("general.alignment")) return {};
    TRY_ASSIGN(out_.alignment, out_.get_u64("general.alignment"));
    if (out_.alignment >= 8 && out_.alignment <= 1 << 20 && out_.alignment % 8 == 0) return {};
    return fail(
        Code::kCorrupt,
        fmt::format("GGUF: general.alignment is {}, expected a multiple of 8 up to 1048576", out_.alignment));
  }

  Error bad_tensor(Code code, std::string_view name, const std::string& what) const {
    return fail(code, fmt::format("GGUF: tensor \"{}\": {}", shown(name), what));
  }

  Result<void> tensor() {
    GgufTensor tensor;
    TRY_ASSIGN(tensor.name, text("a tensor name"));
    TRY_ASSIGN(u64 dimensions, in_.read<u32>());
    if (dimensions > kMaxDimensions) {
      return bad_tensor(Code::kCorrupt, tensor.name,
                        fmt::format("has {} dimensions, at most 4 are possible", dimensions));
    }
    tensor.elements = 1;
    for (u64 i = 0; i < dimensions; ++i) {
      TRY_ASSIGN(u64 size, in_.read<u64>());
      if (size == 0 || __builtin_mul_overflow(tensor.elements, size, &tensor.elements)) {
        return bad_tensor(
            Code::kCorrupt, tensor.name,
            fmt::format("dimension {} is {}, which is zero or makes the tensor too large", i, size));
      }
      tensor.dims.push_back(size);
    }
    TRY_ASSIGN(u32 type, in_.read<u32>());
    tensor.type = static_cast<GgmlType>(type);
    TRY_ASSIGN(u64 offset, in_.read<u64>());
    offsets_.push_back(offset);
    out_.tensors.push_back(std::move(tensor));
    return {};
  }

  // Sorted index of names; two equal ones are an error.
  template <typename Items, typename Name>
  Result<std::vector<u32>> sorted(const Items& items, Name name, const char* what) const {
    std::vector<u32> order(items.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return name(items[a]) < name(items[b]); });
    for (u64 i = 1; i < order.size(); ++i) {
      std::string_view here = name(items[order[i]]);
      if (here == name(items[order[i - 1]])) {
        return fail(Code::kCorrupt, fmt::format("GGUF: {} \"{}\" is there twice", what, shown(here)));
      }
    }
    return order;
  }

  Result<void> sort_keys() {
    TRY_ASSIGN(out_.keys_sorted_, sorted(
                                      out_.metadata, [](const GgufEntry& e) { return e.key; }, "key"));
    return {};
  }

  Result<void> sort_tensors() {
    TRY_ASSIGN(out_.tensors_sorted_, sorted(
                                         out_.tensors, [](const GgufTensor& t) { return t.name; }, "tensor"));
    return {};
  }

  // Data begin at the next multiple of the alignment; offsets count from there.
  Result<void> place_tensors() {
    u64 start = (in_.position() + out_.alignment - 1) / out_.alignment * out_.alignment;
    u64 there = start < in_.data().size() ? in_.data().size() - start : 0;
    for (u64 i = 0; i < out_.tensors.size(); ++i) {
      GgufTensor& tensor = out_.tensors[i];
      TRY_ASSIGN(u64 size, tensor_bytes(tensor));
      if (offsets_[i] % out_.alignment != 0) {
        return bad_tensor(
            Code::kCorrupt, tensor.name,
            fmt::format("data offset {} is not a multiple of the alignment {}", offsets_[i], out_.alignment));
      }
      if (offsets_[i] > there || size > there - offsets_[i]) {
        return bad_tensor(
            Code::kCorrupt, tensor.name,
            fmt::format("needs {} bytes at data offset {}, the file has {} bytes of data; it is truncated "
                        "(incomplete download?)",
                        size, offsets_[i], there));
      }
      tensor.data = in_.data().subspan(start + offsets_[i], size);
    }
    return check_overlap();
  }

  Result<u64> tensor_bytes(const GgufTensor& tensor) const {
    const GgmlTypeInfo* info = ggml_type_info(tensor.type);
    if (!info) {
      return bad_tensor(Code::kUnsupported, tensor.name,
                        fmt::format("type {} is not known", static_cast<u32>(tensor.type)));
    }
    if (tensor.row_elements() % info->block_elements != 0) {
      return bad_tensor(Code::kCorrupt, tensor.name,
                        fmt::format("rows of {} elements are not whole {} blocks of {}",
                                    tensor.row_elements(), info->name, info->block_elements));
    }
    Result<u64> bytes = ggml_row_bytes(tensor.type, tensor.elements);
    if (!bytes.ok()) return bad_tensor(Code::kCorrupt, tensor.name, bytes.error().message);
    return bytes;
  }

  Result<void> check_overlap() const {
    std::vector<u32> order(out_.tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    std::sort(order.begin(), order.end(), [&](u32 a, u32 b) { return offsets_[a] < offsets_[b]; });
    for (u64 i = 1; i < order.size(); ++i) {
      const GgufTensor& before = out_.tensors[order[i - 1]];
      if (offsets_[order[i - 1]] + before.data.size() <= offsets_[order[i]]) continue;
      return bad_tensor(Code::kCorrupt, out_.tensors[order[i]].name,
                        fmt::format("its data overlap those of \"{}\"", shown(before.name)));
    }
    return {};
  }

  ByteReader in_;
  Gguf out_;
  u64 tensor_count_ = 0;
  u64 entry_count_ = 0;
  std::vector<u64> offsets_;  // of the tensors, in the data section
};

const char* gguf_type_name(GgufType type) {
  constexpr const char* kNames[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                    "bool", "string", "array", "u64", "i64", "f64"};
  u32 index = static_cast<u32>(type);
  return index < std::size(kNames) ? kNames[index] : "?";
}

const GgufValue* Gguf::find(std::string_view key) const {
  auto at = std::lower_bound(keys_sorted_.begin(), keys_sorted_.end(), key,
                             [this](u32 i, std::string_view k) { return metadata[i].key < k; });
  return at != keys_sorted_.end() && metadata[*at].key == key ? &metadata[*at].value : nullptr;
}

const GgufTensor* Gguf::find_tensor(std::string_view name) const {
  auto at = std::lower_bound(tensors_sorted_.begin(), tensors_sorted_.end(), name,
                             [this](u32 i, std::string_view k) { return tensors[i].name < k; });
  return at != tensors_sorted_.end() && tensors[*at].name == name ? &tensors[*at] : nullptr;
}

namespace {

Error wrong_type(std::string_view key, const GgufValue& value, const char* expected) {
  return fail(Code::kInvalidArgument, fmt::format("GGUF: key \"{}\" has type {}, expected {}", shown(key),
                                                  gguf_type_name(value.type), expected));
}

const GgufScalar* scalar(const GgufValue& value) {
  return std::get_if<GgufScalar>(&value.value);
}

}  // namespace

Result<const GgufValue*> Gguf::need(std::string_view key) const {
  if (const GgufValue* value = find(key)) return value;
  return fail(Code::kNotFound, fmt::format("GGUF: key \"{}\" is missing", shown(key)));
}

Result<u64> Gguf::get_u64(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufScalar* s = scalar(*value)) {
    if (const u64* u = std::get_if<u64>(s)) return *u;
    if (const i64* i = std::get_if<i64>(s)) {
      if (*i >= 0) return static_cast<u64>(*i);
      return fail(Code::kInvalidArgument,
                  fmt::format("GGUF: key \"{}\" is {}, expected no negative number", shown(key), *i));
    }
  }
  return wrong_type(key, *value, "an integer");
}

Result<i64> Gguf::get_i64(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufScalar* s = scalar(*value)) {
    if (const i64* i = std::get_if<i64>(s)) return *i;
    if (const u64* u = std::get_if<u64>(s)) {
      if (*u <= INT64_MAX) return static_cast<i64>(*u);
      return fail(Code::kInvalidArgument,
                  fmt::format("GGUF: key \"{}\" is {}, which is too large", shown(key), *u));
    }
  }
  return wrong_type(key, *value, "an integer");
}

Result<double> Gguf::get_float(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufScalar* s = scalar(*value)) {
    if (const double* d = std::get_if<double>(s)) return *d;
    if (const u64* u = std::get_if<u64>(s)) return static_cast<double>(*u);
    if (const i64* i = std::get_if<i64>(s)) return static_cast<double>(*i);
  }
  return wrong_type(key, *value, "a number");
}

Result<bool> Gguf::get_bool(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufScalar* s = scalar(*value)) {
    if (const bool* b = std::get_if<bool>(s)) return *b;
  }
  return wrong_type(key, *value, "bool");
}

Result<std::string_view> Gguf::get_string(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufScalar* s = scalar(*value)) {
    if (const std::string_view* text = std::get_if<std::string_view>(s)) return *text;
  }
  return wrong_type(key, *value, "a string");
}

Result<const GgufArray*> Gguf::need_array(std::string_view key) const {
  TRY_ASSIGN(const GgufValue* value, need(key));
  if (const GgufArray* array = std::get_if<GgufArray>(&value->value)) return array;
  return wrong_type(key, *value, "an array");
}

Result<std::vector<std::string_view>> Gguf::get_strings(std::string_view key) const {
  TRY_ASSIGN(const GgufArray* array, need_array(key));
  if (array->element == GgufType::kString) return array->strings;
  return fail(Code::kInvalidArgument, fmt::format("GGUF: key \"{}\" is an array of {}, expected strings",
                                                  shown(key), gguf_type_name(array->element)));
}

Result<std::vector<i64>> Gguf::get_integers(std::string_view key) const {
  TRY_ASSIGN(const GgufArray* array, need_array(key));
  std::vector<i64> out;
  out.reserve(array->count);
  u64 size = scalar_bytes(array->element);
  for (u64 i = 0; i < array->count; ++i) {
    if (size == 0) break;
    GgufScalar s = load_scalar(array->element, array->raw.data() + i * size);
    if (const i64* v = std::get_if<i64>(&s)) out.push_back(*v);
    if (const bool* v = std::get_if<bool>(&s)) out.push_back(*v);
    if (const u64* v = std::get_if<u64>(&s); v && *v <= INT64_MAX) out.push_back(static_cast<i64>(*v));
  }
  if (out.size() == array->count) return out;
  return fail(Code::kInvalidArgument,
              fmt::format("GGUF: key \"{}\" is an array of {}, expected integers below 2^63", shown(key),
                          gguf_type_name(array->element)));
}

Result<std::vector<float>> Gguf::get_floats(std::string_view key) const {
  TRY_ASSIGN(const GgufArray* array, need_array(key));
  bool wide = array->element == GgufType::kF64;
  if (!wide && array->element != GgufType::kF32) {
    return fail(Code::kInvalidArgument, fmt::format("GGUF: key \"{}\" is an array of {}, expected floats",
                                                    shown(key), gguf_type_name(array->element)));
  }
  std::vector<float> out(array->count);
  for (u64 i = 0; i < array->count; ++i) {
    const u8* at = array->raw.data() + i * (wide ? 8 : 4);
    out[i] = wide ? static_cast<float>(load_le<double>(at)) : load_le<float>(at);
  }
  return out;
}

Result<const GgufTensor*> Gguf::get_tensor(std::string_view name) const {
  if (const GgufTensor* tensor = find_tensor(name)) return tensor;
  return fail(Code::kNotFound, fmt::format("GGUF: tensor \"{}\" is missing", shown(name)));
}

Result<Gguf> read_gguf(ByteSpan bytes) {
  return GgufParser(bytes).run();
}

Result<void> read_rows(const GgufTensor& tensor, u64 first, u64 count, std::span<float> out) {
  if (first > tensor.rows() || count > tensor.rows() - first) {
    return fail(Code::kOutOfRange, fmt::format("GGUF: tensor \"{}\" has {} rows, asked for {} from row {}",
                                               shown(tensor.name), tensor.rows(), count, first));
  }
  u64 row_bytes = tensor.data.size() / tensor.rows();
  if (out.size() != count * tensor.row_elements()) {
    return fail(Code::kInvalidArgument,
                fmt::format("GGUF: tensor \"{}\": room for {} values, {} rows need {}", shown(tensor.name),
                            out.size(), count, count * tensor.row_elements()));
  }
  return dequantize(tensor.type, tensor.data.subspan(first * row_bytes, count * row_bytes), out);
}

}  // namespace tegula::format
