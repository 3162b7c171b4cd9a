// Directories as the transformers library writes them: config.json, tokenizer.json, one or more safetensors
// files.
#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "engine/hf_config.h"
#include "engine/loader.h"
#include "engine/weight_names.h"
#include "format/safetensors.h"
#include "text/tokenizer_json.h"

namespace tegula::engine {
namespace {

struct OpenFile {
  MappedFile file;
  format::Safetensors tensors;
};

i64 rows_of(const format::SafetensorsTensor& tensor) {
  return tensor.shape.size() == 2 ? static_cast<i64>(tensor.shape[0]) : 1;
}
i64 cols_of(const format::SafetensorsTensor& tensor) {
  return tensor.shape.empty() ? 1 : static_cast<i64>(tensor.shape.back());
}

class DirectoryWeights : public WeightSource {
 public:
  DirectoryWeights(std::string path, std::vector<OpenFile> files, model::Family family)
      : path_(std::move(path)), files_(std::move(files)), family_(family) {}

  Result<void> check(const graph::Weight& weight) const override {
    TRY_ASSIGN(const format::SafetensorsTensor* tensor, find(weight.name));
    if (tensor->shape.size() > 2 || rows_of(*tensor) != weight.rows || cols_of(*tensor) != weight.cols) {
      std::string shape;
      for (u64 extent : tensor->shape) shape += (shape.empty() ? "" : ",") + std::to_string(extent);
      return fail(Code::kCorrupt, path_ + ": tensor " + tensor->name + " is [" + shape +
                                      "], config.json asks for [" + std::to_string(weight.rows) + "," +
                                      std::to_string(weight.cols) + "]");
    }
    using format::SafetensorsType;
    const bool readable = tensor->type == SafetensorsType::kF32 || tensor->type == SafetensorsType::kF16 ||
                          tensor->type == SafetensorsType::kBf16;
    if (!readable) {
      return fail(Code::kUnsupported, path_ + ": tensor " + tensor->name + " is stored as " +
                                          format::safetensors_type_name(tensor->type) +
                                          "; only F32, F16 and BF16 are supported");
    }
    return {};
  }

  std::string stored_type(const std::string& name) const override {
    const auto tensor = find(name);
    return tensor.ok() ? format::safetensors_type_name((*tensor)->type) : "";
  }

  Result<void> read_rows(const graph::Weight& weight, i64 first, i64 count,
                         std::span<float> out) const override {
    TRY_ASSIGN(const format::SafetensorsTensor* tensor, find(weight.name));
    const u64 row_bytes = static_cast<u64>(weight.cols) * format::safetensors_type_bytes(tensor->type);
    const u64 begin = static_cast<u64>(first) * row_bytes, size = static_cast<u64>(count) * row_bytes;
    if (begin + size > tensor->data.size()) {
      return fail(Code::kOutOfRange, path_ + ": tensor " + tensor->name + " has no rows " +
                                         std::to_string(first) + " .. " + std::to_string(first + count));
    }
    return format::to_float(tensor->type, tensor->data.subspan(begin, size), out);
  }

 private:
  Result<const format::SafetensorsTensor*> find(const std::string& name) const {
    const auto named = find_weight_name(family_, name);
    if (!named || named->row->hf.empty())
      return fail(Code::kInternal, "weight " + name + " has no name in safetensors");
    const std::string file_name = with_layer(named->row->hf, named->layer);
    for (const char* prefix : {"", "model.", "bert."}) {
      for (const OpenFile& open : files_) {
        if (const auto* tensor = open.tensors.find(prefix + file_name)) return tensor;
      }
    }
    return fail(Code::kNotFound, path_ + ": tensor " + file_name +
                                     " is missing; a safetensors file was not copied, or "
                                     "config.json belongs to another model");
  }

  std::string path_;
  std::vector<OpenFile> files_;
  model::Family family_;
};

Result<std::vector<OpenFile>> open_safetensors(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    if (entry.path().extension() == ".safetensors") names.push_back(entry.path().string());
  }
  if (error) return fail(Code::kIo, path + ": " + error.message());
  if (names.empty()) return fail(Code::kNotFound, path + ": no .safetensors file in the directory");
  std::ranges::sort(names);
  std::vector<OpenFile> out;
  for (const std::string& name : names) {
    OpenFile open;
    TRY_ASSIGN(open.file, MappedFile::open(name));
    auto tensors = format::read_safetensors(open.file.bytes());
    if (!tensors.ok()) return fail(tensors.error().code, name + ": " + tensors.error().message);
    open.tensors = std::move(*tensors);
    out.push_back(std::move(open));
  }
  return out;
}

bool exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

Result<std::unique_ptr<text::Tokenizer>> open_tokenizer(const std::string& path, std::string& chat_template) {
  const std::string file = path + "/tokenizer.json";
  if (!exists(file)) {
    return fail(Code::kNotFound, file + ": no such file; a model needs its tokenizer beside config.json");
  }
  TRY_ASSIGN(const Bytes json, read_file(file));
  Bytes config;
  if (exists(path + "/tokenizer_config.json")) {
    TRY_ASSIGN(config, read_file(path + "/tokenizer_config.json"));
    chat_template = parse_chat_template(config);
  }
  if (exists(path + "/chat_template.jinja")) {
    TRY_ASSIGN(const Bytes source, read_file(path + "/chat_template.jinja"));
    chat_template.assign(source.begin(), source.end());
  }
  auto out = text::from_tokenizer_json(json, config);
  if (!out.ok()) return fail(out.error().code, file + ": " + out.error().message);
  return out;
}

}  // namespace

Result<LoadedModel> load_directory(const std::string& path) {
  const std::string config_file = path + "/config.json";
  if (!exists(config_file)) {
    return fail(Code::kNotFound, config_file +
                                     ": no such file; expected a directory with config.json, tokenizer.json "
                                     "and model.safetensors");
  }
  TRY_ASSIGN(const Bytes json, read_file(config_file));
  auto config = parse_hf_config(json);
  if (!config.ok()) return fail(config.error().code, config_file + ": " + config.error().message);
  LoadedModel out;
  out.path = path;
  out.format = "safetensors";
  out.config = *config;
  TRY_ASSIGN(std::vector<OpenFile> files, open_safetensors(path));
  for (const OpenFile& open : files) out.file_bytes += static_cast<i64>(open.file.bytes().size());
  out.weights = std::make_shared<DirectoryWeights>(path, std::move(files), model::family_of(out.config));
  TRY_ASSIGN(const graph::Graph graph, model::build(out.config));
  TRY(check_weights(*out.weights, graph));
  TRY_ASSIGN(out.tokenizer, open_tokenizer(path, out.chat_template));
  const std::filesystem::path full = std::filesystem::path(path).lexically_normal();
  out.name = full.has_filename() ? full.filename().string() : full.parent_path().filename().string();
  return out;
}

}  // namespace tegula::engine
