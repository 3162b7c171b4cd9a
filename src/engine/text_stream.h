// Turns tokens into streamed text and ends it at a stop text, which may arrive over several tokens.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace tegula::engine {

class TextStream {
 public:
  using Callback = std::function<bool(std::string_view piece)>;
  enum class State : u8 { kOpen, kStopped, kCancelled };

  TextStream(const text::Tokenizer& tokenizer, std::vector<std::string> stop, Callback callback);

  State push(i32 token);
  State finish();  // gives out what was held back
  const std::string& text() const { return text_; }

 private:
  State give(const std::string& piece, bool last);

  text::StreamDecoder decoder_;
  std::vector<std::string> stop_;
  Callback callback_;
  std::string held_;  // may be the beginning of a stop text
  std::string text_;
  State state_ = State::kOpen;
};

}  // namespace tegula::engine
