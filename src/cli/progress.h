// A progress bar on stderr, drawn only when it is a terminal.
#pragma once

#include <string>

#include "base/types.h"

namespace tegula::cli {

class Progress {
 public:
  Progress(std::string label, u64 total_bytes);
  ~Progress();  // clears the line
  void update(u64 done);

 private:
  std::string label_;
  u64 total_;
  int last_permille_ = -1;
  bool shown_;
};

}  // namespace tegula::cli
