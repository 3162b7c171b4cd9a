// tokenizer.json from outside: no input may bring the reader down, and what loads must encode and decode.
#include <string_view>

#include "text/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const tegula::u8* data, size_t size) {
  using namespace tegula;
  auto made = text::from_tokenizer_json(ByteSpan(data, size));
  if (!made.ok()) return 0;
  const text::Tokenizer& tokenizer = *made.value();
  const auto ids = tokenizer.encode("The tile's 12 caf\u00e9s\n\n [MASK]", true);
  for (const i32 id : ids) {
    if (id < 0 || id >= tokenizer.vocab_size()) __builtin_trap();
  }
  (void)tokenizer.decode(ids, true);
  return 0;
}
