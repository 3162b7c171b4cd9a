// Text from a prompt.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/sampling.h"
#include "engine/session.h"

namespace tegula::engine {

struct GenerateOptions {
  i64 max_tokens = 256;  // 0: until the context is full
  SamplingOptions sampling;
  std::vector<std::string> stop;  // ends before the first of these texts
  bool ignore_eos = false;
};

enum class Finish : u8 {
  kStop,
  kLength,
  kCancelled
};                                       // end token or stop text; token limit or context full; callback
const char* finish_name(Finish finish);  // "stop", "length", "cancelled"

struct Generation {
  std::vector<i32> tokens;  // without the end token
  std::string text;
  Finish finish = Finish::kLength;
  i64 prompt_tokens = 0;
  i64 reused_tokens = 0;  // of the prompt, still in the KV cache
  double prefill_seconds = 0;
  double decode_seconds = 0;  // of decoded_tokens passes
  i64 decoded_tokens = 0;
};

// Gets each new piece of valid UTF-8; returning false ends the generation.
using StreamCallback = std::function<bool(std::string_view piece)>;

// kOutOfRange when the prompt does not fit the context, kInvalidArgument for bad options.
Result<Generation> generate(Session& session, std::span<const i32> prompt, const GenerateOptions& options,
                            const StreamCallback& stream = {});

// Tokenises first; add_special as in Tokenizer::encode.
Result<Generation> generate(Session& session, std::string_view prompt, bool add_special,
                            const GenerateOptions& options, const StreamCallback& stream = {});

}  // namespace tegula::engine
