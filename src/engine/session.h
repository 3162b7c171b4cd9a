// One running sequence: its tokens so far and its slot of the KV cache.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/engine.h"

namespace tegula::engine {

class Session {
 public:
  // kUnsupported for a model that does not generate; kOutOfRange when no slot is free. The engine must
  // outlive the session.
  static Result<std::unique_ptr<Session>> open(Engine& engine);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  Engine& engine() { return engine_; }
  i64 slot() const { return slot_; }
  std::span<const i32> tokens() const { return tokens_; }
  i64 room() const { return engine_.options().context - static_cast<i64>(tokens_.size()); }

  // Runs the tokens through the model, in several passes where they are many, and appends them. Gives the
  // logits of the last token (with EngineOptions::all_rows: of the last pass's tokens), valid until the
  // engine runs again. kOutOfRange, with the numbers, when they do not fit the context; nothing is run then.
  Result<const ref::Tensor*> advance(std::span<const i32> tokens);

  // Forgets all but the first `count` tokens.
  void rewind(i64 count);
  // Rewinds to the longest common beginning with `tokens`, but leaves at least one of them to run. Returns
  // its length.
  i64 keep_prefix(std::span<const i32> tokens);

 private:
  friend Result<const ref::Tensor*> advance_together(std::span<Session* const> sessions,
                                                     std::span<const i32> tokens);
  Session(Engine& engine, i64 slot) : engine_(engine), slot_(slot) {}
  Result<void> check_room(i64 count) const;

  Engine& engine_;
  i64 slot_;
  std::vector<i32> tokens_;
};

// One token for each of several sessions of one engine, in one pass. Row i of the result is for session i.
Result<const ref::Tensor*> advance_together(std::span<Session* const> sessions, std::span<const i32> tokens);

}  // namespace tegula::engine
