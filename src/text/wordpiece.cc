#include "text/wordpiece.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "text/added_tokens.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

constexpr u64 kMaxTokens = u64{4} << 20;

bool has_class(u32 code_point, u8 bits) {
  return (unicode_class(code_point) & bits) != 0;
}

// Calls visit(code point) for each character of valid UTF-8.
template <typename Visit>
void for_each_character(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const Decoded d = decode_utf8(text);
    visit(d.code_point);
    text.remove_prefix(d.length);
  }
}

std::string clean(std::string_view text) {
  std::string out;
  for_each_character(text, [&](u32 c) {
    if (has_class(c, kBertRemoved)) return;
    append_utf8(out, has_class(c, kSpace) ? ' ' : c);
  });
  return out;
}

std::string space_ideographs(std::string_view text) {
  std::string out;
  for_each_character(text, [&](u32 c) {
    const bool ideograph = is_bert_ideograph(c);
    if (ideograph) out.push_back(' ');
    append_utf8(out, c);
    if (ideograph) out.push_back(' ');
  });
  return out;
}

std::string strip_accents(std::string_view text) {
  std::string out;
  for_each_character(to_nfd(text), [&](u32 c) {
    if (!has_class(c, kBertMark)) append_utf8(out, c);
  });
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  for_each_character(text, [&](u32 c) { append_lower(out, c); });
  return out;
}

// White space ends a word and vanishes, punctuation is a word of its own.
std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> out;
  u64 start = 0;
  u64 at = 0;
  auto end_word = [&] {
    if (at > start) out.push_back(text.substr(start, at - start));
  };
  while (at < text.size()) {
    const Decoded d = decode_utf8(text.substr(at));
    const bool space = has_class(d.code_point, kSpace);
    if (space || has_class(d.code_point, kBertPunctuation)) {
      end_word();
      if (!space) out.push_back(text.substr(at, d.length));
      start = at + d.length;
    }
    at += d.length;
  }
  end_word();
  return out;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The reference's tidying of English text, which it applies to one token at a time.
void tidy(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},           {" !", "!"},   {" ,", ","},     {" ' ", "'"},   {" n't", "n't"},
      {" 'm", "'m"}, {" do not", " don't"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

class WordPiece final : public Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(WordPieceSpec spec);

  std::vector<i32> encode(std::string_view utf8, bool add_special) const override;
  std::string token_bytes(i32 id, bool first) const override;
  std::string_view token_text(i32 id) const override {
    return known(id) ? std::string_view(spec_.tokens[static_cast<size_t>(id)]) : std::string_view();
  }
  std::optional<i32> token_id(std::string_view text) const override {
    const auto at = ids_.find(text);
    return at == ids_.end() ? std::nullopt : std::optional<i32>(at->second);
  }
  bool is_special(i32 id) const override { return known(id) && special_[static_cast<size_t>(id)]; }
  i64 vocab_size() const override { return static_cast<i64>(spec_.tokens.size()); }
  std::optional<i32> bos() const override { return spec_.bos; }
  std::optional<i32> eos() const override { return spec_.eos; }
  std::optional<i32> pad() const override { return spec_.pad; }

 private:
  bool known(i32 id) const { return id >= 0 && static_cast<size_t>(id) < spec_.tokens.size(); }
  Result<void> check_ids() const;
  std::string normalize(std::string_view text) const;
  void collect();
  void encode_word(std::string_view word, std::vector<i32>& out) const;
  std::optional<i32> longest_part(std::string_view rest, bool first, u64& length) const;

  WordPieceSpec spec_;
  i32 unk_ = 0;
  std::vector<bool> special_;
  std::unordered_map<std::string_view, i32> ids_;    // views into spec_.tokens
  std::unordered_map<i32, std::string> normalized_;  // added tokens that decode to their normalized form
  u64 longest_token_ = 0;                            // bytes
  AddedTokens raw_added_;
  AddedTokens normalized_added_;
};

Result<std::unique_ptr<Tokenizer>> WordPiece::make(WordPieceSpec spec) {
  auto out = std::make_unique<WordPiece>();
  out->spec_ = std::move(spec);
  TRY(out->check_ids());
  out->collect();
  const auto unk = out->token_id(out->spec_.unk_token);
  if (!unk) {
    return fail(Code::kCorrupt,
                "tokenizer: unknown token '" + out->spec_.unk_token + "' is not in the vocabulary");
  }
  out->unk_ = *unk;
  return std::unique_ptr<Tokenizer>(std::move(out));
}

Result<void> WordPiece::check_ids() const {
  const u64 count = spec_.tokens.size();
  if (count == 0 || count > kMaxTokens) {
    return fail(Code::kCorrupt, "tokenizer: " + std::to_string(count) + " tokens, expected 1 to " +
                                    std::to_string(kMaxTokens));
  }
  std::vector<i32> ids = spec_.prefix;
  ids.insert(ids.end(), spec_.suffix.begin(), spec_.suffix.end());
  for (const AddedToken& token : spec_.added) ids.push_back(token.id);
  for (const auto& id : {spec_.bos, spec_.eos, spec_.pad}) ids.push_back(id.value_or(0));
  for (const i32 id : ids) {
    if (!known(id)) {
      return fail(Code::kCorrupt, "tokenizer: special or added token id " + std::to_string(id) +
                                      " is outside the vocabulary of " + std::to_string(count));
    }
  }
  return {};
}

void WordPiece::collect() {
  ids_.reserve(spec_.tokens.size());
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    if (spec_.tokens[i].empty()) continue;
    ids_[spec_.tokens[i]] = static_cast<i32>(i);
    longest_token_ = std::max<u64>(longest_token_, spec_.tokens[i].size());
  }
  special_.assign(spec_.tokens.size(), false);
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (const AddedToken& token : spec_.added) {
    special_[static_cast<size_t>(token.id)] = token.special;
    (token.normalized ? normalized : raw).push_back(token);
    if (!token.normalized) continue;
    normalized.back().content = normalize(sanitize_utf8(token.content));
    normalized_[token.id] = normalized.back().content;
  }
  raw_added_ = AddedTokens(std::move(raw));
  normalized_added_ = AddedTokens(std::move(normalized));
}

std::string WordPiece::normalize(std::string_view text) const {
  std::string out(text);
  if (spec_.clean_text) out = clean(out);
  if (spec_.space_ideographs) out = space_ideographs(out);
  if (spec_.strip_accents.value_or(spec_.lowercase)) out = strip_accents(out);
  if (spec_.lowercase) out = lower(out);
  return out;
}

std::vector<i32> WordPiece::encode(std::string_view utf8, bool add_special) const {
  const std::string text = sanitize_utf8(utf8);
  std::vector<i32> out;
  if (add_special) out = spec_.prefix;
  for (const Segment& raw : raw_added_.split(text)) {
    if (raw.id >= 0) {
      out.push_back(raw.id);
      continue;
    }
    const std::string normal = normalize(raw.text);
    for (const Segment& part : normalized_added_.split(normal)) {
      if (part.id >= 0) {
        out.push_back(part.id);
        continue;
      }
      for (const std::string_view word : split_words(part.text)) encode_word(word, out);
    }
  }
  if (add_special) out.insert(out.end(), spec_.suffix.begin(), spec_.suffix.end());
  return out;
}

// The longest token that `rest` starts with; a token boundary is a character boundary because tokens are
// UTF-8.
std::optional<i32> WordPiece::longest_part(std::string_view rest, bool first, u64& length) const {
  std::string key = first ? std::string() : spec_.continuation;
  const u64 prefix = key.size();
  key += rest.substr(0, longest_token_);
  while (key.size() > prefix) {
    if (const auto id = token_id(key)) {
      length = key.size() - prefix;
      return id;
    }
    key.pop_back();
  }
  return std::nullopt;
}

void WordPiece::encode_word(std::string_view word, std::vector<i32>& out) const {
  u64 characters = 0;
  for_each_character(word, [&](u32) { ++characters; });
  if (characters > spec_.max_word_chars) {
    out.push_back(unk_);
    return;
  }
  const size_t before = out.size();
  for (u64 at = 0, length = 0; at < word.size(); at += length) {
    const auto id = longest_part(word.substr(at), at == 0, length);
    if (!id) {
      out.resize(before);
      out.push_back(unk_);
      return;
    }
    out.push_back(*id);
  }
}

std::string WordPiece::token_bytes(i32 id, bool first) const {
  const auto normal = normalized_.find(id);
  std::string text(normal == normalized_.end() ? token_text(id) : normal->second);
  if (text.empty()) return text;
  if (!first) {
    if (text.starts_with(spec_.continuation)) {
      text.erase(0, spec_.continuation.size());
    } else {
      text.insert(0, " ");
    }
  }
  if (spec_.cleanup) tidy(text);
  return text;
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_wordpiece(WordPieceSpec spec) {
  return WordPiece::make(std::move(spec));
}

}  // namespace tegula::text
