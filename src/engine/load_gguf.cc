// GGUF files of the "llama" architecture. Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include <cmath>

#include "base/file.h"
#include "engine/loader.h"
#include "engine/weight_names.h"
#include "format/gguf.h"
#include "text/gguf_tokenizer.h"

namespace tegula::engine {
namespace {

// The mapped file and what was read from it; views point into the mapping, which does not move with the
// object.
struct OpenGguf {
  MappedFile file;
  format::Gguf gguf;
};

std::string shape_text(i64 rows, i64 cols) {
  return "[" + std::to_string(rows) + "," + std::to_string(cols) + "]";
}

class GgufWeights : public WeightSource {
 public:
  GgufWeights(std::shared_ptr<const OpenGguf> open, model::Family family, i64 head_dim)
      : open_(std::move(open)), family_(family), head_dim_(head_dim) {}

  Result<void> check(const graph::Weight& weight) const override {
    TRY_ASSIGN(const Found found, find(weight.name));
    const format::GgufTensor& tensor = *found.tensor;
    const i64 cols = static_cast<i64>(tensor.row_elements());
    const i64 rows = static_cast<i64>(tensor.rows());
    if (cols != weight.cols || rows != weight.rows) {
      return fail(Code::kCorrupt, open_->file.path() + ": tensor " + std::string(tensor.name) + " is " +
                                      shape_text(rows, cols) + ", its configuration asks for " +
                                      shape_text(weight.rows, weight.cols));
    }
    if (!format::can_dequantize(tensor.type)) {
      return fail(Code::kUnsupported, open_->file.path() + ": tensor " + std::string(tensor.name) +
                                          " is stored as " + format::ggml_type_name(tensor.type) +
                                          ", which we cannot read");
    }
    return {};
  }

  std::string stored_type(const std::string& name) const override {
    const auto found = find(name);
    return found.ok() ? format::ggml_type_name(found->tensor->type) : "";
  }

  Result<void> read_rows(const graph::Weight& weight, i64 first, i64 count,
                         std::span<float> out) const override {
    TRY_ASSIGN(const Found found, find(weight.name));
    if (found.row->gguf_rows == RowOrder::kPlain) return read_rows_of(*found.tensor, first, count, out);
    // A bias is one row whose elements are permuted; a matrix has its rows permuted.
    if (weight.rows == 1) return read_permuted_vector(*found.tensor, weight.cols, out);
    for (i64 r = 0; r < count; ++r) {
      TRY(read_rows_of(*found.tensor, row_in_file(first + r), 1, out.subspan(r * weight.cols, weight.cols)));
    }
    return {};
  }

 private:
  struct Found {
    const WeightName* row;
    const format::GgufTensor* tensor;
  };

  Result<Found> find(const std::string& name) const {
    const auto named = find_weight_name(family_, name);
    if (!named || named->row->gguf.empty())
      return fail(Code::kInternal, "weight " + name + " has no name in GGUF");
    const std::string file_name = with_layer(named->row->gguf, named->layer);
    const format::GgufTensor* tensor = open_->gguf.find_tensor(file_name);
    if (tensor == nullptr) {
      return fail(Code::kNotFound, open_->file.path() + ": tensor " + file_name +
                                       " is missing; the file is damaged or "
                                       "of a variant that we lack");
    }
    return Found{named->row, tensor};
  }

  static Result<void> read_rows_of(const format::GgufTensor& tensor, i64 first, i64 count,
                                   std::span<float> out) {
    return format::read_rows(tensor, static_cast<u64>(first), static_cast<u64>(count), out);
  }

  // The converter stores row j * d/2 + i of each head at 2i + j.
  i64 row_in_file(i64 row) const {
    const i64 in_head = row % head_dim_, half = head_dim_ / 2;
    return row - in_head + 2 * (in_head % half) + in_head / half;
  }

  Result<void> read_permuted_vector(const format::GgufTensor& tensor, i64 cols, std::span<float> out) const {
    std::vector<float> stored(cols);
    TRY(read_rows_of(tensor, 0, 1, stored));
    for (i64 i = 0; i < cols; ++i) out[i] = stored[row_in_file(i)];
    return {};
  }

  std::shared_ptr<const OpenGguf> open_;
  model::Family family_;
  i64 head_dim_;
};

// Metadata of one architecture: keys are "<architecture>.<rest>".
class Metadata {
 public:
  Metadata(const format::Gguf& gguf, std::string prefix) : gguf_(gguf), prefix_(std::move(prefix) + ".") {}

  bool has(const std::string& key) const { return gguf_.find(prefix_ + key) != nullptr; }

  // A count; the cap keeps products of two of them inside 64 bits.
  Result<i64> size(const std::string& key) const {
    TRY_ASSIGN(const u64 value, gguf_.get_u64(prefix_ + key));
    if (value == 0 || value > (u64{1} << 30)) {
      return fail(Code::kCorrupt, prefix_ + key + " is " + std::to_string(value) + ", expected 1 .. 2^30");
    }
    return static_cast<i64>(value);
  }
  Result<i64> size_or(const std::string& key, i64 otherwise) const {
    if (!has(key)) return otherwise;
    return size(key);
  }
  Result<float> real_or(const std::string& key, float otherwise) const {
    if (!has(key)) return otherwise;
    TRY_ASSIGN(const double value, gguf_.get_float(prefix_ + key));
    return static_cast<float>(value);
  }
  // Position scaling that changes the angles. Factors come as a tensor of their own and are fine.
  Result<void> refuse_scaling() const {
    if (!has("rope.scaling.type")) return {};
    TRY_ASSIGN(const auto type, gguf_.get_string(prefix_ + "rope.scaling.type"));
    TRY_ASSIGN(const float factor, real_or("rope.scaling.factor", 1.0f));
    if (type == "none" || factor == 1.0f) return {};
    return fail(Code::kUnsupported, "rope scaling '" + std::string(type) + "' is not supported");
  }

 private:
  const format::Gguf& gguf_;
  std::string prefix_;
};

Result<model::LlamaConfig> llama_config(const format::Gguf& gguf) {
  const Metadata metadata(gguf, "llama");
  model::LlamaConfig out;
  TRY_ASSIGN(out.hidden, metadata.size("embedding_length"));
  TRY_ASSIGN(out.layers, metadata.size("block_count"));
  TRY_ASSIGN(out.heads, metadata.size("attention.head_count"));
  TRY_ASSIGN(out.kv_heads, metadata.size_or("attention.head_count_kv", out.heads));
  TRY_ASSIGN(out.head_dim, metadata.size_or("attention.key_length", out.hidden / out.heads));
  TRY_ASSIGN(out.ffn, metadata.size("feed_forward_length"));
  TRY_ASSIGN(out.context, metadata.size("context_length"));
  TRY_ASSIGN(out.norm_eps, metadata.real_or("attention.layer_norm_rms_epsilon", 1e-5f));
  TRY_ASSIGN(out.rope_base, metadata.real_or("rope.freq_base", 10000.0f));
  TRY_ASSIGN(const i64 rotated, metadata.size_or("rope.dimension_count", out.head_dim));
  if (rotated != out.head_dim) {
    return fail(Code::kUnsupported, "llama.rope.dimension_count is " + std::to_string(rotated) + " of " +
                                        std::to_string(out.head_dim) + "; partial rotation is not supported");
  }
  if (metadata.has("expert_count")) {
    TRY_ASSIGN(const u64 experts, gguf.get_u64("llama.expert_count"));
    if (experts > 0) return fail(Code::kUnsupported, "mixture of experts is not supported");
  }
  TRY(metadata.refuse_scaling());
  TRY_ASSIGN(const auto* embedding, gguf.get_tensor("token_embd.weight"));
  out.vocab = static_cast<i64>(embedding->rows());
  out.tied_head = gguf.find_tensor("output.weight") == nullptr;
  out.attention_bias = gguf.find_tensor("blk.0.attn_q.bias") != nullptr;
  out.rope_factors = gguf.find_tensor("rope_freqs.weight") != nullptr;
  return out;
}

std::string text_or_empty(const format::Gguf& gguf, std::string_view key) {
  const auto found = gguf.get_string(key);
  return found.ok() ? std::string(*found) : std::string();
}

Error in_file(const std::string& path, const Error& error) {
  return error.message.starts_with(path) ? error : fail(error.code, path + ": " + error.message);
}

Result<LoadedModel> read_model(const std::shared_ptr<const OpenGguf>& open) {
  const format::Gguf& gguf = open->gguf;
  LoadedModel out;
  TRY_ASSIGN(const auto architecture, gguf.get_string("general.architecture"));
  TRY_ASSIGN(const model::Family family, model::family_by_name(architecture));
  if (family != model::Family::kLlama) {
    return fail(Code::kUnsupported, "GGUF files of architecture '" + std::string(architecture) +
                                        "' are not supported; use the directory with model.safetensors");
  }
  TRY_ASSIGN(const model::LlamaConfig config, llama_config(gguf));
  TRY_ASSIGN(const graph::Graph graph, model::build(config));
  out.config = config;
  out.weights = std::make_shared<GgufWeights>(open, family, config.head_dim);
  TRY(check_weights(*out.weights, graph));
  TRY_ASSIGN(out.tokenizer, text::from_gguf(gguf));
  out.name = text_or_empty(gguf, "general.name");
  out.chat_template = text_or_empty(gguf, "tokenizer.chat_template");
  return out;
}

}  // namespace

Result<LoadedModel> load_gguf(const std::string& path) {
  auto open = std::make_shared<OpenGguf>();
  TRY_ASSIGN(open->file, MappedFile::open(path));
  auto gguf = format::read_gguf(open->file.bytes());
  if (!gguf.ok()) return in_file(path, gguf.error());
  open->gguf = std::move(*gguf);
  Result<LoadedModel> out = read_model(open);
  if (!out.ok()) return in_file(path, out.error());
  out->path = path;
  out->format = "gguf";
  out->file_bytes = static_cast<i64>(open->file.bytes().size());
  if (out->name.empty()) out->name = path.substr(path.find_last_of('/') + 1);
  return out;
}

}  // namespace tegula::engine
