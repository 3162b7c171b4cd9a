#include "engine/text_stream.h"

#include <algorithm>

namespace tegula::engine {
namespace {

// Length of the longest end of `text` that begins `stop`, short of all of it.
size_t partial_match(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length) {
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  }
  return 0;
}

}  // namespace

TextStream::TextStream(const text::Tokenizer& tokenizer, std::vector<std::string> stop, Callback callback)
    : decoder_(tokenizer, true), stop_(std::move(stop)), callback_(std::move(callback)) {
  std::erase_if(stop_, [](const std::string& text) { return text.empty(); });
}

TextStream::State TextStream::push(i32 token) {
  return give(decoder_.push(token), false);
}

TextStream::State TextStream::finish() {
  return give(decoder_.finish(), true);
}

TextStream::State TextStream::give(const std::string& piece, bool last) {
  if (state_ != State::kOpen) return state_;
  held_ += piece;
  size_t end = std::string::npos;
  for (const std::string& stop : stop_) end = std::min(end, held_.find(stop));
  if (end != std::string::npos) {
    held_.resize(end);
    state_ = State::kStopped;
  }
  size_t keep = 0;
  if (state_ == State::kOpen && !last) {
    for (const std::string& stop : stop_) keep = std::max(keep, partial_match(held_, stop));
  }
  const std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, out.size());
  text_ += out;
  if (!out.empty() && callback_ && !callback_(out)) state_ = State::kCancelled;
  return state_;
}

}  // namespace tegula::engine
