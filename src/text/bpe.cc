#include "text/bpe.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "text/added_tokens.h"
#include "text/pair_table.h"
#include "text/pretokenize.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

constexpr u64 kMaxTokens = u64{4} << 20;
constexpr i32 kTypeControl = 3;
constexpr i32 kTypeUserDefined = 4;

// GPT-2 writes a byte as a character: printable Latin-1 as itself, the others as U+0100 and up in order.
std::array<u32, 256> byte_characters() {
  std::array<u32, 256> out{};
  u32 next = 256;
  for (u32 b = 0; b < 256; ++b) {
    const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
    out[b] = printable ? b : next++;
  }
  return out;
}

// The bytes behind a token written in byte characters; a token with any other character stands for itself.
std::string bytes_of_token(std::string_view token) {
  static const std::array<i32, 512> byte_of = [] {
    std::array<i32, 512> out;
    out.fill(-1);
    const auto characters = byte_characters();
    for (u32 b = 0; b < 256; ++b) out[characters[b]] = static_cast<i32>(b);
    return out;
  }();
  std::string out;
  for (std::string_view rest = token; !rest.empty();) {
    const Decoded d = decode_utf8(rest);
    if (d.code_point >= byte_of.size() || byte_of[d.code_point] < 0) return std::string(token);
    out.push_back(static_cast<char>(byte_of[d.code_point]));
    rest.remove_prefix(d.length);
  }
  return out;
}

// Working memory of one encode call.
struct Scratch {
  struct Symbol {
    i32 id;
    i32 previous;
    i32 next;  // -1: last
    bool alive;
  };
  struct Candidate {
    u32 rank;
    i32 at;  // index of the left symbol
    i32 result;
  };
  std::vector<Symbol> symbols;
  std::vector<Candidate> heap;
};

bool later(const Scratch::Candidate& a, const Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
}

class Bpe final : public Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> make(BpeSpec spec);

  std::vector<i32> encode(std::string_view utf8, bool add_special) const override;
  std::string token_bytes(i32 id, bool) const override {
    return known(id) ? bytes_[index(id)] : std::string();
  }
  std::string_view token_text(i32 id) const override {
    return known(id) ? std::string_view(spec_.tokens[index(id)]) : std::string_view();
  }
  std::optional<i32> token_id(std::string_view text) const override {
    const auto at = ids_.find(text);
    return at == ids_.end() ? std::nullopt : std::optional<i32>(at->second);
  }
  bool is_special(i32 id) const override { return known(id) && special_[index(id)]; }
  i64 vocab_size() const override { return static_cast<i64>(spec_.tokens.size()); }
  std::optional<i32> bos() const override { return spec_.bos; }
  std::optional<i32> eos() const override { return spec_.eos; }
  std::optional<i32> pad() const override { return spec_.pad; }

 private:
  static size_t index(i32 id) { return static_cast<size_t>(id); }
  bool known(i32 id) const { return id >= 0 && index(id) < spec_.tokens.size(); }

  Result<void> check_ids() const;
  void collect_added();
  void collect_tokens();
  Result<void> collect_merges();

  void encode_text(std::string_view text, Scratch& scratch, std::vector<i32>& out) const;
  void encode_piece(std::string_view piece, Scratch& scratch, std::vector<i32>& out) const;
  void merge_symbols(Scratch& scratch) const;
  void propose(Scratch& scratch, i32 left) const;

  BpeSpec spec_;
  PreTokenizer pre_ = PreTokenizer::kGpt2;
  bool ignore_merges_ = false;
  bool nfc_ = false;
  std::vector<std::string> bytes_;  // what each token decodes to
  std::vector<bool> special_;
  std::unordered_map<std::string_view, i32> ids_;       // by written form; views into spec_.tokens
  std::unordered_map<std::string_view, i32> byte_ids_;  // by bytes, for ignore_merges_; views into bytes_
  std::array<i32, 256> byte_to_id_{};                   // -1: the vocabulary lacks the byte
  PairTable merges_;
  AddedTokens raw_added_;
  AddedTokens normalized_added_;
};

Result<std::unique_ptr<Tokenizer>> Bpe::make(BpeSpec spec) {
  auto out = std::make_unique<Bpe>();
  TRY_ASSIGN(out->pre_, pre_tokenizer_by_name(spec.pre));
  out->ignore_merges_ = spec.ignore_merges.value_or(out->pre_ == PreTokenizer::kLlamaBpe);
  out->nfc_ = spec.nfc.value_or(out->pre_ == PreTokenizer::kQwen2);
  out->spec_ = std::move(spec);
  TRY(out->check_ids());
  out->collect_added();
  out->collect_tokens();
  TRY(out->collect_merges());
  out->spec_.merges = {};
  return std::unique_ptr<Tokenizer>(std::move(out));
}

Result<void> Bpe::check_ids() const {
  const u64 count = spec_.tokens.size();
  if (count == 0 || count > kMaxTokens || spec_.merges.size() > kMaxTokens) {
    return fail(Code::kCorrupt, "tokenizer: " + std::to_string(count) + " tokens and " +
                                    std::to_string(spec_.merges.size()) + " merges, expected 1 to " +
                                    std::to_string(kMaxTokens) + " tokens and no more merges than that");
  }
  if (!spec_.types.empty() && spec_.types.size() != count) {
    return fail(Code::kCorrupt, "tokenizer: " + std::to_string(spec_.types.size()) + " token types for " +
                                    std::to_string(count) + " tokens, expected one each");
  }
  std::vector<std::pair<const char*, i32>> ids;
  auto note = [&](const char* name, std::optional<i32> id) {
    if (id) ids.emplace_back(name, *id);
  };
  note("bos", spec_.bos);
  note("eos", spec_.eos);
  note("unknown", spec_.unk);
  note("padding", spec_.pad);
  note("missing byte", spec_.missing_byte);
  for (const AddedToken& token : spec_.added) ids.emplace_back("added", token.id);
  for (const i32 id : spec_.prefix) ids.emplace_back("prefix", id);
  for (const i32 id : spec_.suffix) ids.emplace_back("suffix", id);
  for (const auto& [name, id] : ids) {
    if (!known(id)) {
      return fail(Code::kCorrupt, std::string("tokenizer: ") + name + " token id " + std::to_string(id) +
                                      " is outside the vocabulary of " + std::to_string(count));
    }
  }
  return {};
}

// Added tokens stand for their text as it is; the others are written in byte characters.
void Bpe::collect_added() {
  for (size_t i = 0; i < spec_.types.size(); ++i) {
    const i32 type = spec_.types[i];
    if (type != kTypeControl && type != kTypeUserDefined) continue;
    AddedToken token;
    token.content = spec_.tokens[i];
    token.id = static_cast<i32>(i);
    token.special = type == kTypeControl;
    spec_.added.push_back(std::move(token));
  }
  special_.assign(spec_.tokens.size(), false);
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  for (const AddedToken& token : spec_.added) {
    special_[index(token.id)] = token.special;
    (token.normalized ? normalized : raw).push_back(token);
    if (token.normalized && nfc_) normalized.back().content = to_nfc(sanitize_utf8(token.content));
  }
  raw_added_ = AddedTokens(std::move(raw));
  normalized_added_ = AddedTokens(std::move(normalized));
}

void Bpe::collect_tokens() {
  bytes_.reserve(spec_.tokens.size());
  for (const std::string& token : spec_.tokens) bytes_.push_back(bytes_of_token(token));
  for (const AddedToken& token : spec_.added) bytes_[index(token.id)] = token.content;
  ids_.reserve(spec_.tokens.size());
  for (size_t i = 0; i < spec_.tokens.size(); ++i) {
    if (!spec_.tokens[i].empty()) ids_[spec_.tokens[i]] = static_cast<i32>(i);  // empty: a hole between ids
  }
  if (ignore_merges_) {
    byte_ids_.reserve(spec_.tokens.size());
    for (size_t i = 0; i < spec_.tokens.size(); ++i) {
      if (!bytes_[i].empty()) byte_ids_[bytes_[i]] = static_cast<i32>(i);
    }
  }
  const auto characters = byte_characters();
  for (u32 b = 0; b < 256; ++b) {
    std::string character;
    append_utf8(character, characters[b]);
    byte_to_id_[b] = token_id(character).value_or(spec_.missing_byte.value_or(-1));
  }
}

Result<void> Bpe::collect_merges() {
  merges_ = PairTable(spec_.merges.size());
  std::string joined;
  for (size_t rank = 0; rank < spec_.merges.size(); ++rank) {
    const std::string_view merge = spec_.merges[rank];
    const size_t space = merge.find(' ', 1);
    auto broken = [&](const std::string& why) {
      return fail(Code::kCorrupt,
                  "tokenizer: merge " + std::to_string(rank) + " '" + sanitize_utf8(merge) + "' " + why);
    };
    if (space == merge.npos) return broken("has no space, expected 'left right'");
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    joined.assign(left).append(right);
    const auto left_id = token_id(left);
    const auto right_id = token_id(right);
    const auto result = token_id(joined);
    if (!left_id || !right_id || !result) return broken("names a token that the vocabulary lacks");
    merges_.set(*left_id, *right_id, {static_cast<u32>(rank), *result});
  }
  return {};
}

std::vector<i32> Bpe::encode(std::string_view utf8, bool add_special) const {
  const std::string text = sanitize_utf8(utf8);
  std::vector<i32> out;
  out.reserve(text.size() / 3 + 8);
  if (add_special) {
    if (spec_.add_bos && spec_.bos) out.push_back(*spec_.bos);
    out.insert(out.end(), spec_.prefix.begin(), spec_.prefix.end());
  }
  Scratch scratch;
  for (const Segment& raw : raw_added_.split(text)) {
    if (raw.id >= 0) {
      out.push_back(raw.id);
      continue;
    }
    const std::string normal = nfc_ ? to_nfc(raw.text) : std::string();
    for (const Segment& part : normalized_added_.split(nfc_ ? std::string_view(normal) : raw.text)) {
      if (part.id >= 0) {
        out.push_back(part.id);
      } else {
        encode_text(part.text, scratch, out);
      }
    }
  }
  if (add_special) {
    out.insert(out.end(), spec_.suffix.begin(), spec_.suffix.end());
    if (spec_.add_eos && spec_.eos) out.push_back(*spec_.eos);
  }
  return out;
}

void Bpe::encode_text(std::string_view text, Scratch& scratch, std::vector<i32>& out) const {
  u64 at = 0;
  for (const u64 end : pre_tokenize(pre_, text)) {
    encode_piece(text.substr(at, end - at), scratch, out);
    at = end;
  }
}

void Bpe::encode_piece(std::string_view piece, Scratch& scratch, std::vector<i32>& out) const {
  if (ignore_merges_) {
    if (const auto at = byte_ids_.find(piece); at != byte_ids_.end()) {
      out.push_back(at->second);
      return;
    }
  }
  auto& symbols = scratch.symbols;
  symbols.clear();
  for (const char c : piece) {
    const i32 id = byte_to_id_[static_cast<u8>(c)];
    const i32 at = static_cast<i32>(symbols.size());
    if (id >= 0) symbols.push_back({id, at - 1, at + 1, true});
  }
  if (symbols.empty()) return;
  symbols.back().next = -1;
  merge_symbols(scratch);
  for (i32 at = 0; at >= 0; at = symbols[index(at)].next) out.push_back(symbols[index(at)].id);
}

// Adds the merge of the symbol `left` with its successor, if there is one.
void Bpe::propose(Scratch& scratch, i32 left) const {
  const auto& symbol = scratch.symbols[index(left)];
  if (symbol.next < 0) return;
  const Merge merge = merges_.get(symbol.id, scratch.symbols[index(symbol.next)].id);
  if (merge.result < 0) return;
  scratch.heap.push_back({merge.rank, left, merge.result});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), later);
}

void Bpe::merge_symbols(Scratch& scratch) const {
  auto& symbols = scratch.symbols;
  auto& heap = scratch.heap;
  heap.clear();
  for (i32 at = 0; at >= 0; at = symbols[index(at)].next) propose(scratch, at);
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    Scratch::Symbol& left = symbols[index(best.at)];
    if (!left.alive || left.next < 0) continue;
    Scratch::Symbol& right = symbols[index(left.next)];
    // A candidate is stale when its symbols have changed. The reference compares results, not pairs: two ways
    // to build one token count as the same.
    if (merges_.get(left.id, right.id).result != best.result) continue;
    left.id = best.result;
    right.alive = false;
    left.next = right.next;
    if (left.next >= 0) symbols[index(left.next)].previous = best.at;
    if (left.previous >= 0) propose(scratch, left.previous);
    propose(scratch, best.at);
  }
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> make_bpe(BpeSpec spec) {
  return Bpe::make(std::move(spec));
}

}  // namespace tegula::text
