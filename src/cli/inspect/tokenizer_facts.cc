#include "cli/inspect/tokenizer_facts.h"

#include <nlohmann/json.hpp>

namespace tegula::cli {
namespace {

using nlohmann::json;

// Keeps the path of keys from the root; arrays add an empty key.
class Watch : public nlohmann::json_sax<json> {
 public:
  TokenizerFacts facts;
  std::string problem;

  bool null() override { return value(); }
  bool boolean(bool v) override {
    if (v && path_.size() == 3 && path_[0] == "added_tokens" && key_ == "special") ++facts.special_tokens;
    return value();
  }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool string(string_t& text) override {
    if (path_.size() == 1 && key_ == "version") facts.version = text;
    if (path_.size() >= 2 && key_ == "type") add_type(text);
    return value();
  }
  bool start_object(size_t) override { return open(false); }
  bool start_array(size_t) override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& text) override {
    if (path_.size() == 3 && path_[0] == "model" && path_[1] == "vocab") ++facts.vocabulary;
    key_ = text.size() <= kMaxKey ? text : text.substr(0, kMaxKey);
    return true;
  }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    problem = "at byte " + std::to_string(position) + ": " + error.what();
    return false;
  }

 private:
  static constexpr size_t kMaxKey = 64, kMaxTypes = 200, kMaxDepth = 64;

  // path_[0] is the key under the root, once something is open there.
  bool open(bool array) {
    count_element();
    if (path_.size() > kMaxDepth) {
      problem = "nested deeper than " + std::to_string(kMaxDepth) + " levels";
      return false;
    }
    if (!path_.empty()) path_.back() = key_;
    path_.emplace_back();
    array_.push_back(array);
    key_.clear();
    return true;
  }
  bool close() {
    path_.pop_back();
    array_.pop_back();
    key_.clear();
    return true;
  }
  bool value() {
    count_element();
    return true;
  }
  // Elements directly in model.merges, model.vocab as an array (Unigram), and added_tokens.
  void count_element() {
    if (array_.empty() || !array_.back()) return;
    if (path_.size() == 3 && path_[0] == "model" && path_[1] == "merges") ++facts.merges;
    if (path_.size() == 3 && path_[0] == "model" && path_[1] == "vocab") ++facts.vocabulary;
    if (path_.size() == 2 && path_[0] == "added_tokens") ++facts.added_tokens;
  }
  void add_type(const std::string& text) {
    const std::string& root = path_[0];
    std::string* place = root == "model"            ? &facts.model
                         : root == "normalizer"     ? &facts.normalizer
                         : root == "pre_tokenizer"  ? &facts.pre_tokenizer
                         : root == "post_processor" ? &facts.post_processor
                         : root == "decoder"        ? &facts.decoder
                                                    : nullptr;
    if (place == nullptr || place->size() + text.size() > kMaxTypes) return;
    if (root == "model" && path_.size() != 2) return;
    if (!place->empty()) *place += " ";
    *place += text;
  }

  std::vector<std::string> path_;
  std::vector<bool> array_;  // for each level of path_
  std::string key_;
};

}  // namespace

Result<TokenizerFacts> tokenizer_facts(ByteSpan bytes) {
  Watch watch;
  const bool done = json::sax_parse(bytes.begin(), bytes.end(), &watch);
  if (!done)
    return fail(Code::kCorrupt, "tokenizer.json: " + watch.problem + "; the file is truncated or damaged");
  if (watch.facts.model.empty() && watch.facts.vocabulary == 0) {
    return fail(Code::kUnsupported, "tokenizer.json: has no model with a vocabulary");
  }
  return std::move(watch.facts);
}

}  // namespace tegula::cli
