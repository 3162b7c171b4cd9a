#include "isa/sweep.h"

#include <algorithm>

namespace tegula::isa {

namespace {

bool ends_flow(const Bundle& bundle) {
  for (int n = 0; n < bundle.count; ++n) {
    const Op op = bundle.instr[static_cast<size_t>(n)].op;
    if (op == Op::J_lng || op == Op::J_alumv_or || op == Op::RET) return true;
  }
  return false;
}

}  // namespace

void Sweep::enter_padding() {
  delay_left_ = -1;
  const size_t to_line = (kFetchLine - address() % kFetchLine) % kFetchLine;
  padding_end_ = std::min(code_.size(), at_ + to_line);
  size_t at = at_;
  while (at < padding_end_ && try_decode(code_.subspan(at), bundle_)) at += bundle_.bytes;
  padding_is_code_ = at == padding_end_;
}

bool Sweep::next() {
  at_ += bytes_;
  bytes_ = 0;
  if (at_ >= code_.size()) return false;
  if (delay_left_ == 0) enter_padding();
  if (padding() && !padding_is_code_) {
    valid_ = false;
    bytes_ = padding_end_ - at_;
    return true;
  }
  valid_ = try_decode(code_.subspan(at_), bundle_);
  bytes_ = valid_ ? bundle_.bytes : std::min<size_t>(2, code_.size() - at_);
  if (!valid_ || padding()) return true;
  if (delay_left_ > 0) {
    --delay_left_;
  } else if (ends_flow(bundle_)) {
    delay_left_ = kDelaySlots;
  }
  return true;
}

}  // namespace tegula::isa
