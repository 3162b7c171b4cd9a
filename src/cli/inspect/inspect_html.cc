#include "cli/inspect/inspect.h"
namespace tegula::cli {
std::string to_html(const std::vector<Artifact>&) {
  return {};
}
}  // namespace tegula::cli
