// config.json of the transformers library.
#pragma once

#include "base/bytes.h"
#include "base/result.h"
#include "model/registry.h"

namespace tegula::engine {

// kUnsupported, naming the entry, for an architecture or a variant that we lack; kCorrupt for anything
// malformed.
Result<model::Config> parse_hf_config(ByteSpan json);

// The "chat_template" entry of tokenizer_config.json; empty where there is none or several.
std::string parse_chat_template(ByteSpan json);

}  // namespace tegula::engine
