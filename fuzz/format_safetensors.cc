// safetensors reader: any bytes give an error or tensors that tile the data.
#include <cstdlib>

#include "format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::format;
  auto file = read_safetensors(ByteSpan(data, size));
  if (!file.ok()) return 0;
  u64 total = 0;
  for (const SafetensorsTensor& tensor : file->tensors) {
    if (file->find(tensor.name) != &tensor) std::abort();
    if (tensor.data.data() < data || tensor.data.data() + tensor.data.size() > data + size) std::abort();
    total += tensor.data.size();
  }
  if (8 + load_le<u64>(data) + total != size) std::abort();
  return 0;
}
