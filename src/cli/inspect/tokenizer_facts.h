// What a tokenizer.json is, without building the tokenizer.
#pragma once

#include "cli/inspect/inspect.h"

namespace tegula::cli {

// Reads the JSON in one pass that keeps nothing but the counts. Errors: kCorrupt for broken JSON.
Result<TokenizerFacts> tokenizer_facts(ByteSpan json);

}  // namespace tegula::cli
