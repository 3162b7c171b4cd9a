// Any text parses to an error or to a graph whose printed form parses to the same text.
#include <cstdlib>

#include "graph/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tegula::graph;
  const auto graph = parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!graph.ok()) return 0;
  const std::string text = print(*graph);
  const auto again = parse(text);
  if (!again.ok() || print(*again) != text) std::abort();
  return 0;
}
