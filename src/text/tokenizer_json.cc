#include "text/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "text/bpe.h"
#include "text/wordpiece.h"

namespace tegula::text {
namespace {

using Json = nlohmann::json;

constexpr u64 kMaxBytes = u64{256} << 20;
constexpr i64 kMaxTokens = i64{4} << 20;

// What a tokenizer.json says beside its model.
struct Surroundings {
  std::vector<std::string> tokens;
  std::vector<AddedToken> added;
  std::vector<i32> prefix;
  std::vector<i32> suffix;
  std::optional<i32> bos;
  std::optional<i32> eos;
  std::optional<i32> pad;
};

Error corrupt(const std::string& what) {
  return fail(Code::kCorrupt, "tokenizer.json: " + what);
}
Error unsupported(const std::string& what) {
  return fail(Code::kUnsupported, "tokenizer.json: " + what + " is not supported");
}

// The member `key`, or null where it is missing or `object` is no object.
const Json& member(const Json& object, const char* key) {
  static const Json null;
  if (!object.is_object()) return null;
  const auto at = object.find(key);
  return at == object.end() ? null : *at;
}

std::string text_of(const Json& object, const char* key, std::string_view fallback = {}) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string(fallback);
}

bool flag_of(const Json& object, const char* key, bool fallback = false) {
  const Json& value = member(object, key);
  return value.is_boolean() ? value.get<bool>() : fallback;
}

std::string type_of(const Json& object) {
  return text_of(object, "type", "(none)");
}

Result<i32> token_index(const Json& value, const std::string& where) {
  if (value.is_number_integer() || value.is_number_unsigned()) {
    const bool huge = value.is_number_unsigned() && value.get<u64>() >= static_cast<u64>(kMaxTokens);
    if (!huge && value.get<i64>() >= 0 && value.get<i64>() < kMaxTokens) return value.get<i32>();
  }
  return corrupt(where + ": token id is not a whole number from 0 to " + std::to_string(kMaxTokens - 1));
}

Result<Json> parse(ByteSpan bytes, const char* name) {
  if (bytes.size() > kMaxBytes) {
    return fail(Code::kCorrupt, std::string(name) + ": " + std::to_string(bytes.size()) +
                                    " bytes, expected at most " + std::to_string(kMaxBytes));
  }
  Json json = Json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (json.is_discarded() || !json.is_object()) {
    return fail(Code::kCorrupt,
                std::string(name) + ": is not a JSON object; the file is damaged or of another kind");
  }
  return json;
}

Result<void> read_added(const Json& root, std::vector<AddedToken>& out) {
  const Json& list = member(root, "added_tokens");
  if (list.is_null()) return {};
  if (!list.is_array()) return corrupt("added_tokens is not a list");
  for (const Json& entry : list) {
    AddedToken token;
    token.content = text_of(entry, "content");
    if (token.content.empty())
      return corrupt("added_tokens: entry " + std::to_string(out.size()) + " has no content");
    TRY_ASSIGN(token.id, token_index(member(entry, "id"), "added token '" + token.content + "'"));
    if (flag_of(entry, "single_word"))
      return unsupported("single_word of added token '" + token.content + "'");
    token.special = flag_of(entry, "special");
    token.lstrip = flag_of(entry, "lstrip");
    token.rstrip = flag_of(entry, "rstrip");
    token.normalized = flag_of(entry, "normalized");
    out.push_back(std::move(token));
  }
  return {};
}

// The vocabulary as a list by id, with the added tokens in it.
Result<std::vector<std::string>> read_tokens(const Json& model, const std::vector<AddedToken>& added) {
  const Json& vocab = member(model, "vocab");
  if (!vocab.is_object() || vocab.empty()) return corrupt("model.vocab is not a table of tokens");
  const i64 count = static_cast<i64>(vocab.size() + added.size());
  const i64 limit =
      std::min<i64>(kMaxTokens, count * 4 + 1024);  // holes are rare; a lone large id would waste memory
  std::vector<std::string> tokens;
  auto put = [&](i32 id, const std::string& text) -> Result<void> {
    if (id >= limit) {
      return corrupt("token '" + text + "' has id " + std::to_string(id) + " in a vocabulary of " +
                     std::to_string(count));
    }
    if (static_cast<size_t>(id) >= tokens.size()) tokens.resize(static_cast<size_t>(id) + 1);
    tokens[static_cast<size_t>(id)] = text;
    return {};
  };
  for (const auto& [text, value] : vocab.items()) {
    TRY_ASSIGN(const i32 id, token_index(value, "model.vocab: '" + text + "'"));
    TRY(put(id, text));
  }
  for (const AddedToken& token : added) TRY(put(token.id, token.content));
  return tokens;
}

std::optional<i32> find_token(const std::vector<std::string>& tokens, std::string_view text) {
  const auto at = std::find(tokens.begin(), tokens.end(), text);
  if (text.empty() || at == tokens.end()) return std::nullopt;
  return static_cast<i32>(at - tokens.begin());
}

// Special tokens before and after the sequence A of a template.
Result<void> read_template(const Json& post, Surroundings& out) {
  const Json& single = member(post, "single");
  if (!single.is_array()) return corrupt("post_processor.single is not a list");
  bool after = false;
  for (const Json& item : single) {
    if (!member(item, "Sequence").is_null()) {
      if (after || text_of(member(item, "Sequence"), "id") != "A")
        return unsupported("a template of several sequences");
      after = true;
      continue;
    }
    const std::string name = text_of(member(item, "SpecialToken"), "id");
    const Json& ids = member(member(member(post, "special_tokens"), name.c_str()), "ids");
    if (name.empty() || !ids.is_array())
      return corrupt("post_processor: special token '" + name + "' has no ids");
    for (const Json& value : ids) {
      TRY_ASSIGN(const i32 id, token_index(value, "post_processor: '" + name + "'"));
      (after ? out.suffix : out.prefix).push_back(id);
    }
  }
  if (!after) return corrupt("post_processor.single has no sequence A");
  return {};
}

// BertProcessing and RobertaProcessing: "cls" and "sep" are [text, id].
Result<void> read_cls_sep(const Json& post, Surroundings& out) {
  for (const char* key : {"cls", "sep"}) {
    const Json& pair = member(post, key);
    if (!pair.is_array() || pair.size() != 2)
      return corrupt(std::string("post_processor.") + key + " is not [text, id]");
    TRY_ASSIGN(const i32 id, token_index(pair[1], std::string("post_processor.") + key));
    (key[0] == 'c' ? out.prefix : out.suffix).push_back(id);
  }
  return {};
}

Result<void> read_one_post(const Json& post, Surroundings& out) {
  const std::string type = type_of(post);
  if (type == "ByteLevel") return {};  // concerns offsets only
  if (type == "TemplateProcessing") return read_template(post, out);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_cls_sep(post, out);
  return unsupported("post_processor '" + type + "'");
}

Result<void> read_post_processor(const Json& root, Surroundings& out) {
  const Json& post = member(root, "post_processor");
  if (post.is_null()) return {};
  if (type_of(post) != "Sequence") return read_one_post(post, out);
  const Json& list = member(post, "processors");
  if (!list.is_array()) return corrupt("post_processor.processors is not a list");
  for (const Json& item : list) TRY(read_one_post(item, out));
  return {};
}

// tokenizer_config.json gives a token as text or as an object with "content".
std::string config_token(const Json& config, const char* key) {
  const Json& value = member(config, key);
  return value.is_object() ? text_of(value, "content") : text_of(config, key);
}

Result<Surroundings> read_surroundings(const Json& root, ByteSpan config_bytes) {
  Surroundings out;
  TRY(read_added(root, out.added));
  TRY_ASSIGN(out.tokens, read_tokens(member(root, "model"), out.added));
  TRY(read_post_processor(root, out));
  if (!config_bytes.empty()) {
    TRY_ASSIGN(const Json config, parse(config_bytes, "tokenizer_config.json"));
    out.bos = find_token(out.tokens, config_token(config, "bos_token"));
    out.eos = find_token(out.tokens, config_token(config, "eos_token"));
    out.pad = find_token(out.tokens, config_token(config, "pad_token"));
  }
  return out;
}

constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlamaPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2Pattern = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                           R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

Result<std::string> split_name(const Json& split) {
  const std::string pattern = text_of(member(split, "pattern"), "Regex");
  if (text_of(split, "behavior") != "Isolated" || flag_of(split, "invert")) {
    return unsupported("pre_tokenizer Split with behavior '" + text_of(split, "behavior") + "'");
  }
  if (pattern == kGpt2Pattern) return std::string("gpt-2");
  if (pattern == kLlamaPattern) return std::string("llama-bpe");
  if (pattern == kQwen2Pattern) return std::string("qwen2");
  return unsupported("pre_tokenizer pattern '" + pattern + "'");
}

// The GGUF name of what the pre_tokenizer entry does.
Result<std::string> bpe_pre_name(const Json& pre) {
  std::vector<Json> steps;
  if (type_of(pre) == "Sequence") {
    const Json& list = member(pre, "pretokenizers");
    if (list.is_array()) steps.assign(list.begin(), list.end());
  } else {
    steps.push_back(pre);
  }
  if (steps.empty() || steps.size() > 2)
    return unsupported("pre_tokenizer of " + std::to_string(steps.size()) + " steps");
  const Json& last = steps.back();
  if (type_of(last) != "ByteLevel") return unsupported("pre_tokenizer '" + type_of(last) + "' for BPE");
  if (flag_of(last, "add_prefix_space", true))
    return unsupported("pre_tokenizer ByteLevel with add_prefix_space");
  const bool regex = flag_of(last, "use_regex", true);
  if (steps.size() == 1 && regex) return std::string("gpt-2");
  if (steps.size() == 1) return unsupported("pre_tokenizer ByteLevel without use_regex");
  const std::string first = type_of(steps[0]);
  if (first == "Digits" && flag_of(steps[0], "individual_digits") && regex) return std::string("smollm");
  if (first == "Split" && !regex) return split_name(steps[0]);
  return unsupported("pre_tokenizer '" + first + "' before ByteLevel");
}

Result<bool> bpe_nfc(const Json& normalizer) {
  if (normalizer.is_null()) return false;
  if (type_of(normalizer) == "NFC") return true;
  const Json& list = member(normalizer, "normalizers");
  if (type_of(normalizer) == "Sequence" && list.is_array() && list.empty()) return false;
  return unsupported("normalizer '" + type_of(normalizer) + "' for BPE");
}

// Merges are "left right" or [left, right].
Result<std::vector<std::string>> read_merges(const Json& list) {
  if (!list.is_array()) return corrupt("model.merges is not a list");
  std::vector<std::string> out;
  out.reserve(list.size());
  for (const Json& merge : list) {
    if (merge.is_string()) {
      out.push_back(merge.get<std::string>());
    } else if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      out.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    } else {
      return corrupt("model.merges: entry " + std::to_string(out.size()) +
                     " is neither text nor a pair of texts");
    }
  }
  return out;
}

Result<std::unique_ptr<Tokenizer>> read_bpe(const Json& root, Surroundings around) {
  const Json& model = member(root, "model");
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!text_of(model, key).empty()) return unsupported(std::string("model.") + key);
  }
  const Json& dropout = member(model, "dropout");
  if (dropout.is_number() && dropout.get<double>() != 0.0) return unsupported("model.dropout");
  if (flag_of(model, "byte_fallback")) return unsupported("model.byte_fallback");
  if (type_of(member(root, "decoder")) != "ByteLevel") {
    return unsupported("decoder '" + type_of(member(root, "decoder")) + "' for BPE");
  }
  BpeSpec spec;
  spec.missing_byte = find_token(around.tokens, text_of(model, "unk_token"));
  if (spec.missing_byte && flag_of(model, "fuse_unk")) return unsupported("model.fuse_unk");
  TRY_ASSIGN(spec.pre, bpe_pre_name(member(root, "pre_tokenizer")));
  TRY_ASSIGN(spec.nfc, bpe_nfc(member(root, "normalizer")));
  TRY_ASSIGN(spec.merges, read_merges(member(model, "merges")));
  spec.ignore_merges = flag_of(model, "ignore_merges");
  spec.tokens = std::move(around.tokens);
  spec.added = std::move(around.added);
  spec.prefix = std::move(around.prefix);
  spec.suffix = std::move(around.suffix);
  spec.bos = around.bos;
  spec.eos = around.eos;
  spec.pad = around.pad;
  return make_bpe(std::move(spec));
}

Result<void> read_bert_normalizer(const Json& normalizer, WordPieceSpec& spec) {
  if (type_of(normalizer) != "BertNormalizer")
    return unsupported("normalizer '" + type_of(normalizer) + "' for WordPiece");
  spec.clean_text = flag_of(normalizer, "clean_text", true);
  spec.space_ideographs = flag_of(normalizer, "handle_chinese_chars", true);
  spec.lowercase = flag_of(normalizer, "lowercase", true);
  const Json& strip = member(normalizer, "strip_accents");
  if (strip.is_boolean()) spec.strip_accents = strip.get<bool>();
  return {};
}

Result<std::unique_ptr<Tokenizer>> read_wordpiece(const Json& root, Surroundings around) {
  WordPieceSpec spec;
  TRY(read_bert_normalizer(member(root, "normalizer"), spec));
  const std::string pre = type_of(member(root, "pre_tokenizer"));
  if (pre != "BertPreTokenizer") return unsupported("pre_tokenizer '" + pre + "' for WordPiece");
  const Json& decoder = member(root, "decoder");
  if (type_of(decoder) != "WordPiece") return unsupported("decoder '" + type_of(decoder) + "' for WordPiece");
  spec.cleanup = flag_of(decoder, "cleanup", true);
  const Json& model = member(root, "model");
  spec.unk_token = text_of(model, "unk_token", "[UNK]");
  spec.continuation = text_of(model, "continuing_subword_prefix", "##");
  if (text_of(decoder, "prefix", "##") != spec.continuation)
    return unsupported("a decoder prefix unlike the model's");
  const Json& longest = member(model, "max_input_chars_per_word");
  if (longest.is_number_unsigned()) spec.max_word_chars = longest.get<u64>();
  spec.tokens = std::move(around.tokens);
  spec.added = std::move(around.added);
  spec.prefix = std::move(around.prefix);
  spec.suffix = std::move(around.suffix);
  spec.bos = around.bos;
  spec.eos = around.eos;
  spec.pad = around.pad;
  return make_wordpiece(std::move(spec));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> from_tokenizer_json(ByteSpan json, ByteSpan config) {
  TRY_ASSIGN(const Json root, parse(json, "tokenizer.json"));
  std::string type = type_of(member(root, "model"));
  // Old files do not name the type; the members tell.
  if (type == "(none)" && member(member(root, "model"), "merges").is_array()) type = "BPE";
  if (type == "(none)" && !member(member(root, "model"), "max_input_chars_per_word").is_null())
    type = "WordPiece";
  if (type != "BPE" && type != "WordPiece") {
    return fail(Code::kUnsupported,
                "tokenizer.json: model '" + type + "' is not supported; known: BPE (byte-level), WordPiece");
  }
  TRY_ASSIGN(Surroundings around, read_surroundings(root, config));
  return type == "BPE" ? read_bpe(root, std::move(around)) : read_wordpiece(root, std::move(around));
}

}  // namespace tegula::text
