// Any bytes as a core program: the listing covers all of them and assembles back to the same bytes, and its
// totals are those of a count.
#include <cstdio>
#include <cstdlib>

#include "isa/assembler.h"
#include "isa/listing.h"

using namespace tegula;  // NOLINT: a fuzz target is one translation unit

extern "C" int LLVMFuzzerTestOneInput(const u8* data, size_t size) {
  const ByteSpan code(data, size < 4096 ? size : 4096);
  isa::ListingOptions options;
  options.bytes = size % 2 == 1;
  options.cycles = size % 4 >= 2;
  options.annotate = [](const isa::Instr&, std::optional<int> lock, std::string& comment) {
    if (lock) comment = "lock " + std::to_string(*lock);
  };
  const isa::Listing listing(code, options);
  std::string text;
  listing.append_text(text);
  const auto back = isa::assemble_program(text, "listing");
  const isa::ListingTotals all = listing.totals(), counted = isa::count(code);
  u64 bytes = 0;
  for (const isa::ListedFunction& function : listing.functions()) bytes += function.bytes;
  const bool equal = back.ok() && std::equal(code.begin(), code.end(), back->code.begin(), back->code.end());
  if (!equal || all.bundles != counted.bundles || all.undecodable != counted.undecodable ||
      bytes > code.size()) {
    std::fprintf(stderr, "%s\n%s\n", back.ok() ? "other bytes or totals" : back.error().message.c_str(),
                 text.c_str());
    std::abort();
  }
  return 0;
}
