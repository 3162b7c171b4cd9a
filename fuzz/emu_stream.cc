// Instruction streams of any bytes on an emulated array: the run ends, with an error where one is due, and
// the shim never leaves the one mapped buffer.
#include <vector>

#include "emu/array.h"

namespace {

class OneBuffer final : public tegula::emu::DdrMemory {
 public:
  tegula::Result<tegula::u8*> translate(tegula::u64 address, tegula::u64 bytes, bool) override {
    constexpr tegula::u64 kBase = 0x10000;
    if (address < kBase || bytes > data_.size() || address - kBase > data_.size() - bytes) {
      return tegula::fail(tegula::Code::kOutOfRange, "not mapped");
    }
    return data_.data() + (address - kBase);
  }

 private:
  std::vector<tegula::u8> data_ = std::vector<tegula::u8>(4096);
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const tegula::u8* data, size_t size) {
  static tegula::emu::Array array;
  array.reset();
  OneBuffer buffer;
  tegula::emu::RunOptions options;
  options.threads = 1;
  options.max_cycles = 200'000;
  const tegula::u64 arguments[] = {0x10000, 0x10800};
  const tegula::emu::RunResult result = array.run_stream({data, size}, arguments, buffer, options);
  if (result.ok() != result.message.empty()) __builtin_trap();
  return 0;
}
