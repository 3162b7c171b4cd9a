// xclbin reader: any bytes give an error or sections and images inside the file.
#include <cstdlib>

#include "format/xclbin.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::format;
  Bytes copy(data, data + size);
  if (size >= 0x138)
    store_le<u64>(copy.data() + 0x130, size);  // or the length field stops nearly every input
  (void)read_aie_partition(ByteSpan(copy));
  auto xclbin = read_xclbin(ByteSpan(copy));
  if (!xclbin.ok()) return 0;
  auto inside = [&copy](ByteSpan part) {
    return part.empty() ||
           (part.data() >= copy.data() && part.data() + part.size() <= copy.data() + copy.size());
  };
  for (const XclbinSection& section : xclbin->sections) {
    if (!inside(section.data)) std::abort();
  }
  for (const PdiRecord& record : xclbin->partition.pdis) {
    if (!inside(record.image)) std::abort();
  }
  (void)find_pdi(*xclbin);
  return 0;
}
