// Manifest reader: any text gives an error or records with plain file names and patches inside their streams.
#include <cstdlib>

#include "program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula;
  using namespace tegula::program;
  auto manifest = read_manifest({data, size});
  if (!manifest.ok()) return 0;
  if (manifest->files.size() < 1 + manifest->program.streams.size()) std::abort();
  for (const FileRecord& record : manifest->files) {
    if (record.file.empty() || record.file.find('/') != std::string::npos || record.file.front() == '.')
      std::abort();
  }
  for (u64 i = 0; i < manifest->program.streams.size(); ++i) {
    for (const Patch& patch : manifest->program.streams[i].patches) {
      if (patch.offset % 4 != 0 || patch.offset > manifest->files[i + 1].size - 4) std::abort();
    }
  }
  return 0;
}
