// The tokenizer that a GGUF file carries in its metadata.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "format/gguf.h"
#include "text/bpe.h"
#include "text/tokenizer.h"

namespace tegula::text {

// Reads tokenizer.ggml.*. Copies everything: the file may be closed afterwards. kNotFound where the file has
// no tokenizer; kUnsupported, naming it, for tokenizer models other than "gpt2" (byte-level BPE).
Result<BpeSpec> bpe_spec_from_gguf(const format::Gguf& file);
Result<std::unique_ptr<Tokenizer>> from_gguf(const format::Gguf& file);

}  // namespace tegula::text
