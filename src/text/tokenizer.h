// The tokenizer interface: text to token ids and back, special tokens, and a decoder for streams of tokens.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace tegula::text {

// A token that is cut out of the text before anything else sees it.
struct AddedToken {
  std::string content;
  i32 id = 0;
  bool special = true;      // left out by decode(skip_special)
  bool lstrip = false;      // swallows white space before it
  bool rstrip = false;      // swallows white space after it
  bool normalized = false;  // looked for in the normalized text instead of the raw one
};

// All methods are const and safe to call from several threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Bytes that are not UTF-8 become U+FFFD, one for each maximal subpart, as in Python's errors="replace".
  // Special tokens written in the text become their ids. `add_special` adds what the model wants around a
  // text (BOS, [CLS] ...).
  virtual std::vector<i32> encode(std::string_view utf8, bool add_special) const = 0;

  // The bytes that `id` adds to a text; `first`: it is the first token that shows. Ids out of range add
  // nothing.
  virtual std::string token_bytes(i32 id, bool first) const = 0;

  // The token as the vocabulary writes it; empty for an id out of range.
  virtual std::string_view token_text(i32 id) const = 0;
  virtual std::optional<i32> token_id(std::string_view text) const = 0;
  virtual bool is_special(i32 id) const = 0;
  virtual i64 vocab_size() const = 0;

  virtual std::optional<i32> bos() const = 0;
  virtual std::optional<i32> eos() const = 0;
  virtual std::optional<i32> pad() const = 0;

  // Valid UTF-8: bytes of tokens that do not form UTF-8 together become U+FFFD.
  std::string decode(std::span<const i32> ids, bool skip_special) const;
};

// Decodes token by token and gives out only text that no later token can change. The concatenation of all
// push() and finish() results equals Tokenizer::decode of all ids.
class StreamDecoder {
 public:
  // The tokenizer must outlive the decoder.
  StreamDecoder(const Tokenizer& tokenizer, bool skip_special)
      : tokenizer_(&tokenizer), skip_special_(skip_special) {}

  std::string push(i32 id);
  std::string finish();  // what was held back, an incomplete character as U+FFFD

 private:
  const Tokenizer* tokenizer_;
  bool skip_special_;
  bool first_ = true;
  std::string held_;
};

}  // namespace tegula::text
