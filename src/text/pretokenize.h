// Cuts text into the pieces inside which byte-pair merges happen. Each kind does what a published regular
// expression (or a chain of them) does; they are written by hand, since each is a few character classes.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::text {

enum class PreTokenizer {
  kGpt2,      // '(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
  kSmollm,    // each numeric character alone, then kGpt2
  kLlamaBpe,  // the expression of Llama 3: numbers in threes
  kQwen2,     // the same with single digits
  kDefault,   // the chain that llama.cpp calls "default"
};

// By the name in GGUF's tokenizer.ggml.pre. kUnsupported for names that we lack.
Result<PreTokenizer> pre_tokenizer_by_name(std::string_view name);

// Offsets in bytes where the pieces of `text` (valid UTF-8) end, ascending; the last is text.size().
std::vector<u64> pre_tokenize(PreTokenizer kind, std::string_view text);

}  // namespace tegula::text
