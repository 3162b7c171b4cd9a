// PDI and CDO readers. The checksums of a PDI would stop nearly every input, so the bytes are also given to
// the CDO reader behind a header that fits them; what it accepts must be read again after writing.
#include <cstdlib>

#include "format/pdi.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::format;
  const ByteSpan bytes(data, size);
  (void)read_pdi(bytes);
  (void)read_cdo(bytes);

  const u32 words = static_cast<u32>(size / 4);
  ByteWriter cdo;
  for (u32 word : {4u, 0x004F4443u, 0x200u, words, ~(4u + 0x004F4443u + 0x200u + words)})
    cdo.write<u32>(word);
  cdo.bytes(bytes);
  auto commands = read_cdo(cdo.data());
  if (!commands.ok()) return 0;
  Bytes pdi_bytes = write_pdi(*commands);
  auto pdi = read_pdi(pdi_bytes);
  if (!pdi.ok() || pdi->commands != *commands) std::abort();
  return 0;
}
