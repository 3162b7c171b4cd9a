// Cuts a chat template into tokens, with the white-space rules of transformers (trim_blocks and lstrip_blocks
// on).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::text::jinja {

enum class TokenKind {
  kText,
  kOutputBegin,
  kOutputEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kInteger,
  kString,
  kOperator,
  kEnd
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  u32 line = 1;
};

// Ends with a kEnd token. Errors give the line.
Result<std::vector<Token>> lex_template(std::string_view source);

}  // namespace tegula::text::jinja
