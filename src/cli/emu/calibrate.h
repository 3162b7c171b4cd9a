// Published rates of programs on silicon, and what the cost model gives for the same files.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/emu/gemm_check.h"

namespace tegula::cli {

// An int8 product whose rate somebody published, with the names of the files that it was measured with.
struct PublishedCase {
  const char* name;
  const char* configuration;
  const char* stream;
  GemmShape shape;
  double gops;  // 2 * M * K * N operations; the time of one submission and its wait, in a loop
};
std::span<const PublishedCase> published_cases();
// Who published them.
extern const char* const kPublishedSource;

struct CalibratedCase {
  const PublishedCase* published = nullptr;
  bool exact = false;  // the product was right
  u64 array_cycles = 0;
  u64 controller_ops = 0;

  double seconds() const;             // modelled, with the submission
  double controller_seconds() const;  // of these, operations of the stream
  double gops() const;
  double error_percent() const;  // of the modelled rate
  // What an operation of the stream would have to take for the published time, if nothing else did.
  double implied_op_seconds() const;
};

// Runs one case with the files of the folder or its subfolder "xclbins". Empty: the files are not there.
// Errors: the files are others than those that were published, or do not run.
Result<std::optional<CalibratedCase>> calibrate(const PublishedCase& published, const std::string& folder,
                                                const emu::RunOptions& options);

}  // namespace tegula::cli
