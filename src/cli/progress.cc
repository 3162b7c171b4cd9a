#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace tegula::cli {

Progress::Progress(std::string label, u64 total_bytes)
    : label_(std::move(label)), total_(total_bytes), shown_(::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
  if (shown_ && last_permille_ >= 0) std::fprintf(stderr, "\r\033[K");
}

void Progress::update(u64 done) {
  if (!shown_ || total_ == 0) return;
  const int permille = static_cast<int>(done * 1000 / total_);
  if (permille == last_permille_) return;
  last_permille_ = permille;
  constexpr int kWidth = 40;
  const int filled = permille * kWidth / 1000;
  std::string bar(static_cast<size_t>(filled), '=');
  bar.resize(kWidth, ' ');
  std::fprintf(stderr, "\r%s [%s] %3d%% of %.1f MB", label_.c_str(), bar.c_str(), permille / 10,
               total_ / 1e6);
}

}  // namespace tegula::cli
