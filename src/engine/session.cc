#include "engine/session.h"

#include <algorithm>
#include <numeric>

namespace tegula::engine {

Result<std::unique_ptr<Session>> Session::open(Engine& engine) {
  if (!engine.traits().decoder) {
    return fail(Code::kUnsupported,
                "model " + engine.model().name + " (" +
                    std::string(model::family_name(model::family_of(engine.model().config))) +
                    ") does not generate text; it makes embeddings");
  }
  TRY_ASSIGN(const i64 slot, engine.take_slot());
  return std::unique_ptr<Session>(new Session(engine, slot));
}

Session::~Session() {
  engine_.give_slot(slot_);
}

Result<void> Session::check_room(i64 count) const {
  if (count <= room()) return {};
  return fail(Code::kOutOfRange, std::to_string(tokens_.size()) + " tokens so far and " +
                                     std::to_string(count) + " more do not fit the context of " +
                                     std::to_string(engine_.options().context) +
                                     "; shorten the prompt or load the model with a longer context");
}

Result<const ref::Tensor*> Session::advance(std::span<const i32> tokens) {
  if (tokens.empty()) return fail(Code::kInvalidArgument, "no tokens to run");
  TRY(check_room(static_cast<i64>(tokens.size())));
  const ref::Tensor* logits = nullptr;
  std::vector<i32> positions;
  const std::vector<i32> types(static_cast<size_t>(engine_.options().rows_per_pass));
  while (!tokens.empty()) {
    const size_t count = std::min(tokens.size(), types.size());
    positions.resize(count);
    std::iota(positions.begin(), positions.end(), static_cast<i32>(tokens_.size()));
    const Sequence sequence{static_cast<i64>(count), slot_};
    const Pass pass{tokens.first(count), positions, std::span(types).first(count), std::span(&sequence, 1)};
    TRY_ASSIGN(logits, engine_.run(pass));
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.begin() + static_cast<i64>(count));
    tokens = tokens.subspan(count);
  }
  return logits;
}

void Session::rewind(i64 count) {
  if (count < static_cast<i64>(tokens_.size())) tokens_.resize(std::max<i64>(count, 0));
}

i64 Session::keep_prefix(std::span<const i32> tokens) {
  if (tokens.empty()) return 0;
  const auto end = std::ranges::mismatch(tokens.first(tokens.size() - 1), tokens_).in2;
  rewind(end - tokens_.begin());
  return static_cast<i64>(tokens_.size());
}

Result<const ref::Tensor*> advance_together(std::span<Session* const> sessions, std::span<const i32> tokens) {
  if (sessions.empty() || sessions.size() != tokens.size()) {
    return fail(Code::kInvalidArgument, std::to_string(tokens.size()) + " tokens for " +
                                            std::to_string(sessions.size()) +
                                            " sequences, expected one for each");
  }
  std::vector<i32> positions;
  std::vector<Sequence> sequences;
  for (const Session* session : sessions) {
    TRY(session->check_room(1));
    positions.push_back(static_cast<i32>(session->tokens_.size()));
    sequences.push_back({1, session->slot_});
  }
  const std::vector<i32> types(tokens.size());
  TRY_ASSIGN(const ref::Tensor* logits, sessions[0]->engine_.run({tokens, positions, types, sequences}));
  for (size_t i = 0; i < sessions.size(); ++i) sessions[i]->tokens_.push_back(tokens[i]);
  return logits;
}

}  // namespace tegula::engine
