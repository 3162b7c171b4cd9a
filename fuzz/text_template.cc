// Chat templates from outside: parsing and rendering end, with text or with an error.
#include <string_view>
#include <vector>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  using namespace tegula::text;
  const std::vector<ChatMessage> messages{{"system", "S "}, {"user", "Hi\n"}, {"assistant", "\u00e9"}};
  ChatOptions options;
  options.bos_token = "<s>";
  options.flags.emplace_back("flag", true);
  (void)render_chat(std::string_view(reinterpret_cast<const char*>(data), size), messages, options);
  return 0;
}
