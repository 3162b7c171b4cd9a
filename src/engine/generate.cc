#include "engine/generate.h"

#include <chrono>

#include "engine/text_stream.h"

namespace tegula::engine {
namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// The part of the prompt that the cache does not hold yet goes through the model.
Result<const ref::Tensor*> prefill(Session& session, std::span<const i32> prompt, Generation& out) {
  const Stopwatch watch;
  out.prompt_tokens = static_cast<i64>(prompt.size());
  out.reused_tokens = session.keep_prefix(prompt);
  TRY_ASSIGN(const ref::Tensor* logits,
             session.advance(prompt.subspan(static_cast<size_t>(out.reused_tokens))));
  out.prefill_seconds = watch.seconds();
  return logits;
}

std::span<const float> last_row(const ref::Tensor& logits) {
  return logits.row(logits.rows - 1);
}

// Tokens until one of the ends: end token, stop text, token limit, context, callback. At the top of the loop
// `logits` belongs to the last token of the session.
Result<Finish> decode(Session& session, const ref::Tensor* logits, const GenerateOptions& options,
                      TextStream& text, Generation& out) {
  Sampler sampler(options.sampling);
  const std::optional<i32> eos = session.engine().tokenizer().eos();
  for (;;) {
    TRY_ASSIGN(const i32 token, sampler.sample(last_row(*logits)));
    if (!options.ignore_eos && token == eos) return Finish::kStop;
    out.tokens.push_back(token);
    const TextStream::State state = text.push(token);
    if (state != TextStream::State::kOpen) {
      return state == TextStream::State::kStopped ? Finish::kStop : Finish::kCancelled;
    }
    const bool full = options.max_tokens > 0 && static_cast<i64>(out.tokens.size()) >= options.max_tokens;
    if (full || session.room() == 0) return Finish::kLength;
    const Stopwatch watch;
    TRY_ASSIGN(logits, session.advance(std::span(&token, 1)));
    out.decode_seconds += watch.seconds();
    ++out.decoded_tokens;
  }
}

Finish finish_text(TextStream& text, Finish finish) {
  if (finish == Finish::kCancelled) return finish;
  switch (text.finish()) {
    case TextStream::State::kStopped:
      return Finish::kStop;
    case TextStream::State::kCancelled:
      return Finish::kCancelled;
    case TextStream::State::kOpen:
      return finish;
  }
  return finish;
}

}  // namespace

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::kStop:
      return "stop";
    case Finish::kLength:
      return "length";
    case Finish::kCancelled:
      return "cancelled";
  }
  return "";
}

Result<Generation> generate(Session& session, std::span<const i32> prompt, const GenerateOptions& options,
                            const StreamCallback& stream) {
  if (prompt.empty()) return fail(Code::kInvalidArgument, "the prompt is empty");
  TRY(check(options.sampling));
  Generation out;
  TextStream text(session.engine().tokenizer(), options.stop, stream);
  TRY_ASSIGN(const ref::Tensor* logits, prefill(session, prompt, out));
  TRY_ASSIGN(out.finish, decode(session, logits, options, text, out));
  out.finish = finish_text(text, out.finish);
  out.text = text.text();
  return out;
}

Result<Generation> generate(Session& session, std::string_view prompt, bool add_special,
                            const GenerateOptions& options, const StreamCallback& stream) {
  const std::vector<i32> tokens = session.engine().tokenizer().encode(prompt, add_special);
  return generate(session, tokens, options, stream);
}

}  // namespace tegula::engine
