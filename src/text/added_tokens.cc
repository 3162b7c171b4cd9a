#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text {
namespace {

bool is_space(u32 code_point) {
  return (unicode_class(code_point) & kSpace) != 0;
}

// Where the white space that ends at `end` begins, not before `floor`. The text is valid UTF-8.
u64 spaces_before(std::string_view text, u64 end, u64 floor) {
  while (end > floor) {
    u64 start = end - 1;
    while (start > floor && (static_cast<u8>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_space(decode_utf8(text.substr(start)).code_point)) break;
    end = start;
  }
  return end;
}

u64 spaces_after(std::string_view text, u64 at) {
  while (at < text.size()) {
    const Decoded d = decode_utf8(text.substr(at));
    if (!is_space(d.code_point)) break;
    at += d.length;
  }
  return at;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)), nodes_(1) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    u32 node = 0;
    for (const char c : tokens_[i].content) {
      const u8 byte = static_cast<u8>(c);
      u32 next = child(node, byte);
      if (next == 0) {
        next = static_cast<u32>(nodes_.size());
        auto& children = nodes_[node].children;
        children.insert(std::lower_bound(children.begin(), children.end(), std::pair<u8, u32>(byte, 0)),
                        {byte, next});
        nodes_.emplace_back();
      }
      node = next;
    }
    if (node != 0) nodes_[node].token = static_cast<i32>(i);
  }
}

u32 AddedTokens::child(u32 node, u8 byte) const {
  const auto& children = nodes_[node].children;
  const auto at = std::lower_bound(children.begin(), children.end(), std::pair<u8, u32>(byte, 0));
  return at != children.end() && at->first == byte ? at->second : 0;
}

AddedTokens::Match AddedTokens::longest_at(std::string_view text, u64 at) const {
  Match best;
  u32 node = 0;
  while (at < text.size()) {
    node = child(node, static_cast<u8>(text[at++]));
    if (node == 0) break;
    if (nodes_[node].token >= 0) best = {nodes_[node].token, at};
  }
  return best;
}

std::vector<Segment> AddedTokens::split(std::string_view text) const {
  std::vector<Segment> out;
  u64 done = 0;
  u64 at = 0;
  while (!tokens_.empty() && at < text.size()) {
    const Match match = longest_at(text, at);
    if (match.token < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[static_cast<size_t>(match.token)];
    const u64 start = token.lstrip ? spaces_before(text, at, done) : at;
    const u64 end = token.rstrip ? spaces_after(text, match.end) : match.end;
    if (start > done) out.push_back({text.substr(done, start - done)});
    out.push_back({text.substr(start, end - start), token.id});
    done = at = end;
  }
  if (done < text.size()) out.push_back({text.substr(done)});
  return out;
}

}  // namespace tegula::text
