#include "text/gguf_tokenizer.h"

#include <limits>
#include <optional>

namespace tegula::text {
namespace {

const std::string kPrefix = "tokenizer.ggml.";

Result<std::vector<std::string>> strings(const format::Gguf& file, const std::string& name) {
  TRY_ASSIGN(const auto views, file.get_strings(kPrefix + name));
  return std::vector<std::string>(views.begin(), views.end());
}

Result<std::optional<i32>> token_id(const format::Gguf& file, const std::string& name) {
  const std::string key = kPrefix + name + "_token_id";
  if (file.find(key) == nullptr) return std::optional<i32>();
  TRY_ASSIGN(const u64 id, file.get_u64(key));
  if (id == std::numeric_limits<u32>::max()) return std::optional<i32>();  // how some converters write "none"
  if (id > static_cast<u64>(std::numeric_limits<i32>::max())) {
    return fail(Code::kCorrupt, key + ": " + std::to_string(id) + " is no token id");
  }
  return std::optional<i32>(static_cast<i32>(id));
}

Result<bool> flag(const format::Gguf& file, const std::string& name, bool fallback) {
  if (file.find(kPrefix + name) == nullptr) return fallback;
  return file.get_bool(kPrefix + name);
}

Result<void> read_types(const format::Gguf& file, BpeSpec& spec) {
  if (file.find(kPrefix + "token_type") == nullptr) return {};
  TRY_ASSIGN(const auto types, file.get_integers(kPrefix + "token_type"));
  for (const i64 type : types) spec.types.push_back(type >= 0 && type <= 6 ? static_cast<i32>(type) : 1);
  return {};
}

}  // namespace

Result<BpeSpec> bpe_spec_from_gguf(const format::Gguf& file) {
  TRY_ASSIGN(const std::string_view model, file.get_string(kPrefix + "model"));
  if (model != "gpt2") {
    return fail(Code::kUnsupported, kPrefix + "model: tokenizer '" + std::string(model) +
                                        "' is not supported; known: gpt2 (byte-level BPE)");
  }
  BpeSpec spec;
  spec.pre = "default";
  if (file.find(kPrefix + "pre") != nullptr) {
    TRY_ASSIGN(spec.pre, file.get_string(kPrefix + "pre"));
  }
  TRY_ASSIGN(spec.tokens, strings(file, "tokens"));
  TRY_ASSIGN(spec.merges, strings(file, "merges"));
  TRY(read_types(file, spec));
  TRY_ASSIGN(spec.bos, token_id(file, "bos"));
  TRY_ASSIGN(spec.eos, token_id(file, "eos"));
  TRY_ASSIGN(spec.unk, token_id(file, "unknown"));
  TRY_ASSIGN(spec.pad, token_id(file, "padding"));
  // Files of the Llama 3 family often leave the flag out and expect BOS.
  TRY_ASSIGN(spec.add_bos, flag(file, "add_bos_token", spec.pre == "llama-bpe"));
  TRY_ASSIGN(spec.add_eos, flag(file, "add_eos_token", false));
  return spec;
}

Result<std::unique_ptr<Tokenizer>> from_gguf(const format::Gguf& file) {
  TRY_ASSIGN(BpeSpec spec, bpe_spec_from_gguf(file));
  return make_bpe(std::move(spec));
}

}  // namespace tegula::text
