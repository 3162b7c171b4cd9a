// Byte-level byte-pair encoding (the GPT-2 family): bytes are written as printable characters, pieces are
// merged by rank.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/tokenizer.h"

namespace tegula::text {

// What a model file says. The fields carry GGUF's names: tokens, merges, token_type, pre, bos_token_id and so
// on.
struct BpeSpec {
  std::vector<std::string> tokens;  // index = id; byte characters of GPT-2, or literal text for added tokens
  std::vector<std::string> merges;  // "left right", best rank first
  std::vector<i32> types;           // GGUF token types (3 control, 4 user defined); empty: all normal
  std::string pre;                  // pre-tokenizer, see pre_tokenizer_by_name
  std::optional<i32> bos;
  std::optional<i32> eos;
  std::optional<i32>
      unk;  // for information only: bytes that the vocabulary lacks are dropped, as the family does
  std::optional<i32> pad;
  bool add_bos = false;
  bool add_eos = false;

  // Beyond GGUF. Pieces that are tokens skip the merges, and text is brought to NFC: unset means as the
  // family of `pre` does (llama-bpe: the first, qwen2: the second).
  std::optional<bool> ignore_merges;
  std::optional<bool> nfc;
  std::optional<i32>
      missing_byte;  // stands for each byte that the vocabulary lacks (tokenizer.json: model.unk_token)
  std::vector<AddedToken> added;  // in addition to those that `types` marks
  std::vector<i32> prefix;        // put before and after a text by add_special, beside bos and eos
  std::vector<i32> suffix;
};

// Caps: 4 Mi tokens and merges. kCorrupt for ids out of range or merges of unknown tokens, kUnsupported for
// `pre`.
Result<std::unique_ptr<Tokenizer>> make_bpe(BpeSpec spec);

}  // namespace tegula::text
