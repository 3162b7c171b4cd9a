// Any bytes as a command buffer: the packet parser either reads them or refuses them.
#include "driver/packet.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  const auto packet = tegula::driver::parse_packet({data, size});
  if (packet.ok() && packet->cu_index >= tegula::uapi::kMaxCus) __builtin_trap();
  return 0;
}
