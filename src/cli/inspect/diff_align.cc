// Alignment of two sequences after E. W. Myers, "An O(ND) difference algorithm and its variations", 1986.
#include <algorithm>

#include "cli/inspect/diff.h"

namespace tegula::cli {
namespace {

// The furthest points of all diagonals after each number of edits; walking back through them gives the
// matches.
class Myers {
 public:
  Myers(std::span<const u64> a, std::span<const u64> b, size_t most)
      : a_(a), b_(b), most_(static_cast<i64>(std::min(most, a.size() + b.size()))) {}

  bool run() {
    const i64 n = static_cast<i64>(a_.size()), m = static_cast<i64>(b_.size());
    std::vector<i64> reach(static_cast<size_t>(2 * most_ + 3), 0);
    const auto at = [&](i64 k) -> i64& { return reach[static_cast<size_t>(k + most_ + 1)]; };
    for (i64 d = 0; d <= most_; ++d) {
      for (i64 k = -d; k <= d; k += 2) {
        i64 x = k == -d || (k != d && at(k - 1) < at(k + 1)) ? at(k + 1) : at(k - 1) + 1;
        while (x < n && x - k < m && x - k >= 0 &&
               a_[static_cast<size_t>(x)] == b_[static_cast<size_t>(x - k)])
          ++x;
        at(k) = x;
        if (x >= n && x - k >= m) {
          remember(reach, d);
          return true;
        }
      }
      remember(reach, d);
    }
    return false;
  }

  std::vector<std::pair<size_t, size_t>> matches() const {
    std::vector<std::pair<size_t, size_t>> out;
    i64 x = static_cast<i64>(a_.size()), y = static_cast<i64>(b_.size());
    for (i64 d = static_cast<i64>(steps_.size()) - 1; d >= 0; --d) {
      const i64 k = x - y;
      i64 from_x = 0, start_x = 0;
      bool down = false;
      if (d > 0) {
        const auto at = [&](i64 diagonal) {
          return steps_[static_cast<size_t>(d - 1)][static_cast<size_t>(diagonal + d)];
        };
        down = k == -d || (k != d && at(k - 1) < at(k + 1));
        from_x = at(down ? k + 1 : k - 1);
        start_x = down ? from_x : from_x + 1;
      }
      while (x > start_x) out.push_back({static_cast<size_t>(--x), static_cast<size_t>(--y)});
      x = from_x;
      y = from_x - (down ? k + 1 : k - 1);
    }
    std::reverse(out.begin(), out.end());
    return out;
  }

 private:
  // Diagonals -d-1 .. d+1 of step d, so that step d+1 finds its neighbours at index diagonal + (d+1).
  void remember(const std::vector<i64>& reach, i64 d) {
    const auto first = reach.begin() + static_cast<std::ptrdiff_t>(most_ - d);
    steps_.emplace_back(first, first + static_cast<std::ptrdiff_t>(2 * d + 3));
  }

  std::span<const u64> a_, b_;
  i64 most_;
  std::vector<std::vector<i64>> steps_;
};

}  // namespace

std::vector<std::pair<size_t, size_t>> align(std::span<const u64> a, std::span<const u64> b, size_t most) {
  std::vector<std::pair<size_t, size_t>> out;
  size_t head = 0, tail = 0;
  while (head < a.size() && head < b.size() && a[head] == b[head]) ++head;
  while (tail < a.size() - head && tail < b.size() - head && a[a.size() - 1 - tail] == b[b.size() - 1 - tail])
    ++tail;
  for (size_t i = 0; i < head; ++i) out.push_back({i, i});
  Myers myers(a.subspan(head, a.size() - head - tail), b.subspan(head, b.size() - head - tail), most);
  if (myers.run()) {
    for (const auto& [x, y] : myers.matches()) out.push_back({head + x, head + y});
  }
  for (size_t i = tail; i > 0; --i) out.push_back({a.size() - i, b.size() - i});
  return out;
}

}  // namespace tegula::cli
