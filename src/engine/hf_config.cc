#include "engine/hf_config.h"

#include <nlohmann/json.hpp>

namespace tegula::engine {
namespace {

using Json = nlohmann::json;

class Entries {
 public:
  explicit Entries(const Json& json) : json_(json) {}

  bool has(const char* key) const { return json_.contains(key) && !json_[key].is_null(); }

  Result<i64> size(const char* key) const {
    if (!has(key)) return fail(Code::kCorrupt, std::string("entry '") + key + "' is missing");
    const Json& value = json_[key];
    const bool fits =
        value.is_number_integer() && value.get<double>() >= 1 && value.get<double>() <= (1 << 30);
    if (!fits)
      return fail(Code::kCorrupt, std::string("entry '") + key + "' must be an integer in 1 .. 2^30");
    return value.get<i64>();
  }
  Result<i64> size_or(const char* key, i64 otherwise) const {
    if (!has(key)) return otherwise;
    return size(key);
  }
  Result<float> real_or(const char* key, float otherwise) const {
    if (!has(key)) return otherwise;
    if (!json_[key].is_number())
      return fail(Code::kCorrupt, std::string("entry '") + key + "' must be a number");
    return json_[key].get<float>();
  }
  bool flag(const char* key, bool otherwise) const {
    return has(key) && json_[key].is_boolean() ? json_[key].get<bool>() : otherwise;
  }
  std::string text(const char* key, const char* otherwise) const {
    return has(key) && json_[key].is_string() ? json_[key].get<std::string>() : otherwise;
  }
  // The entry must be absent or one of the values that we implement.
  Result<void> only(const char* key, std::initializer_list<std::string_view> allowed) const {
    if (!has(key)) return {};
    const std::string found = json_[key].is_string() ? json_[key].get<std::string>() : json_[key].dump();
    for (std::string_view value : allowed) {
      if (found == value) return {};
    }
    return fail(Code::kUnsupported, std::string("'") + key + "' is " + found + ", which is not supported");
  }
  const Json& json() const { return json_; }

 private:
  const Json& json_;
};

// transformers 5 moved the base into "rope_parameters"; both may name a kind of scaling, of which we have
// none.
Result<float> rope_base(const Entries& entries) {
  TRY_ASSIGN(float base, entries.real_or("rope_theta", 10000.0f));
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    if (!entries.has(key) || !entries.json()[key].is_object()) continue;
    const Entries rope(entries.json()[key]);
    TRY(rope.only("rope_type", {"default"}));
    TRY(rope.only("type", {"default"}));
    TRY_ASSIGN(base, rope.real_or("rope_theta", base));
  }
  return base;
}

Result<model::Config> llama(const Entries& entries) {
  model::LlamaConfig out;
  TRY_ASSIGN(out.vocab, entries.size("vocab_size"));
  TRY_ASSIGN(out.hidden, entries.size("hidden_size"));
  TRY_ASSIGN(out.layers, entries.size("num_hidden_layers"));
  TRY_ASSIGN(out.heads, entries.size("num_attention_heads"));
  TRY_ASSIGN(out.kv_heads, entries.size_or("num_key_value_heads", out.heads));
  TRY_ASSIGN(out.head_dim, entries.size_or("head_dim", out.hidden / out.heads));
  TRY_ASSIGN(out.ffn, entries.size("intermediate_size"));
  TRY_ASSIGN(out.context, entries.size_or("max_position_embeddings", 2048));
  TRY_ASSIGN(out.norm_eps, entries.real_or("rms_norm_eps", 1e-6f));
  TRY_ASSIGN(out.rope_base, rope_base(entries));
  TRY(entries.only("hidden_act", {"silu"}));
  TRY(entries.only("mlp_bias", {"false"}));
  // With attention_bias the output projection has a bias too, which the family here does not.
  TRY(entries.only("attention_bias", {"false"}));
  out.tied_head = entries.flag("tie_word_embeddings", false);
  return model::Config(out);
}

Result<model::Config> bert(const Entries& entries) {
  model::BertConfig out;
  TRY_ASSIGN(out.vocab, entries.size("vocab_size"));
  TRY_ASSIGN(out.hidden, entries.size("hidden_size"));
  TRY_ASSIGN(out.layers, entries.size("num_hidden_layers"));
  TRY_ASSIGN(out.heads, entries.size("num_attention_heads"));
  TRY_ASSIGN(out.ffn, entries.size("intermediate_size"));
  TRY_ASSIGN(out.context, entries.size_or("max_position_embeddings", 512));
  TRY_ASSIGN(out.types, entries.size_or("type_vocab_size", 2));
  TRY_ASSIGN(out.norm_eps, entries.real_or("layer_norm_eps", 1e-12f));
  TRY(entries.only("hidden_act", {"gelu"}));
  TRY(entries.only("position_embedding_type", {"absolute"}));
  return model::Config(out);
}

}  // namespace

Result<model::Config> parse_hf_config(ByteSpan json) {
  const Json root = Json::parse(json.begin(), json.end(), nullptr, false);
  if (!root.is_object()) return fail(Code::kCorrupt, "is not a JSON object");
  const Entries entries(root);
  TRY_ASSIGN(const model::Family family, model::family_by_name(entries.text("model_type", "")));
  switch (family) {
    case model::Family::kLlama:
      return llama(entries);
    case model::Family::kBert:
      return bert(entries);
  }
  return fail(Code::kInternal, "family without a configuration reader");
}

std::string parse_chat_template(ByteSpan json) {
  const Json root = Json::parse(json.begin(), json.end(), nullptr, false);
  if (!root.is_object()) return {};
  return Entries(root).text("chat_template", "");
}

}  // namespace tegula::engine
