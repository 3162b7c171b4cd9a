// WordPiece, the tokenizer of BERT: words from the BERT normalizer and pre-tokenizer, cut greedily into the
// longest known parts.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace tegula::text {

struct WordPieceSpec {
  std::vector<std::string> tokens;  // index = id; empty: a hole between ids
  std::string unk_token = "[UNK]";
  std::string continuation = "##";  // prefix of parts that do not start a word
  u64 max_word_chars = 100;         // a longer word becomes unk_token

  bool clean_text = true;        // drop control characters, make every white space a space
  bool space_ideographs = true;  // spaces around CJK ideographs
  bool lowercase = true;
  std::optional<bool> strip_accents;  // unset: as lowercase

  bool cleanup = true;  // decoding pulls punctuation to the word before it
  std::vector<AddedToken> added;
  std::vector<i32> prefix;  // around a text when add_special, such as [CLS] and [SEP]
  std::vector<i32> suffix;
  std::optional<i32> bos;
  std::optional<i32> eos;
  std::optional<i32> pad;
};

// Caps: 4 Mi tokens. kCorrupt when unk_token is not in the vocabulary or an id is out of range.
Result<std::unique_ptr<Tokenizer>> make_wordpiece(WordPieceSpec spec);

}  // namespace tegula::text
