// GGUF reader and block expansion: any bytes give an error or tensors inside the file.
#include <algorithm>
#include <cstdlib>

#include "format/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::format;
  auto gguf = read_gguf(ByteSpan(data, size));
  if (!gguf.ok()) return 0;
  for (const GgufEntry& entry : gguf->metadata) {
    if (gguf->find(entry.key) != &entry.value) std::abort();
    (void)gguf->get_u64(entry.key);
    (void)gguf->get_float(entry.key);
    (void)gguf->get_integers(entry.key);
    (void)gguf->get_floats(entry.key);
    (void)gguf->get_strings(entry.key);
  }
  for (const GgufTensor& tensor : gguf->tensors) {
    if (gguf->find_tensor(tensor.name) != &tensor) std::abort();
    if (tensor.data.data() < data || tensor.data.data() + tensor.data.size() > data + size) std::abort();
    std::vector<float> row(tensor.row_elements());
    bool done = read_rows(tensor, tensor.rows() - 1, 1, row).ok();
    if (done != can_dequantize(tensor.type)) std::abort();
  }
  return 0;
}
