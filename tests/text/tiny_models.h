// The tiny vocabularies of the golden files, as specifications.
#pragma once

#include <string>

#include "text/bpe.h"

namespace tegula::text {

// tiny_bpe.json as a GGUF file would give it; types mark the special tokens.
BpeSpec tiny_bpe_spec(const std::string& pre);

}  // namespace tegula::text
