// The whole of `tegula inspect` and `tegula diff` on any bytes.
#include <cstdlib>

#include "cli/inspect/diff.h"
#include "cli/inspect/inspect.h"
#include "wrapped_artifact.h"

using namespace tegula;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = fuzz::wrap({data, size});
  const auto artifact = cli::inspect_bytes(bytes, "fuzz");
  if (!artifact.ok()) return 0;
  cli::ShowOptions options;
  options.depth = 3;
  (void)cli::to_text(*artifact, options);
  std::vector<cli::Artifact> list;
  list.push_back(*artifact);
  (void)cli::to_json(list, options);
  (void)cli::to_html(list);
  // Against a shorter version of itself.
  const Bytes shorter = fuzz::wrap({data, size - size / 4});
  const auto other = cli::inspect_bytes(shorter, "shorter");
  if (other.ok() && shorter != bytes && cli::diff_artifacts(*artifact, *other).equal()) std::abort();
  return 0;
}
