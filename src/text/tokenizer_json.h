// Reads tokenizer.json of the Hugging Face tokenizers library: byte-level BPE and WordPiece.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/result.h"
#include "text/tokenizer.h"

namespace tegula::text {

// `json` is tokenizer.json; `config`, where given, is tokenizer_config.json, which names the BOS, EOS and
// padding tokens. The truncation and padding entries of tokenizer.json are ignored, as transformers does.
// Caps: 256 MiB of JSON, 4 Mi tokens. kCorrupt for broken files; kUnsupported, naming the entry, for parts
// that we lack.
Result<std::unique_ptr<Tokenizer>> from_tokenizer_json(ByteSpan json, ByteSpan config = {});

}  // namespace tegula::text
