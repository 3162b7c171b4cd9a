#include "text/tokenizer.h"

#include "text/utf8.h"

namespace tegula::text {

std::string Tokenizer::decode(std::span<const i32> ids, bool skip_special) const {
  std::string bytes;
  bool first = true;
  for (const i32 id : ids) {
    if (skip_special && is_special(id)) continue;
    bytes += token_bytes(id, first);
    first = false;
  }
  return sanitize_utf8(bytes);
}

std::string StreamDecoder::push(i32 id) {
  if (skip_special_ && tokenizer_->is_special(id)) return {};
  held_ += tokenizer_->token_bytes(id, first_);
  first_ = false;
  const u64 ready = complete_utf8_prefix(held_);
  std::string out = sanitize_utf8(std::string_view(held_).substr(0, ready));
  held_.erase(0, ready);
  return out;
}

std::string StreamDecoder::finish() {
  std::string out = sanitize_utf8(held_);
  held_.clear();
  first_ = true;
  return out;
}

}  // namespace tegula::text
