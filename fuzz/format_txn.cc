// TXN reader: any bytes give an error or a stream whose ops tile it.
#include <cstdlib>

#include "format/txn.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tegula::format;
  auto stream = read_txn({data, size});
  if (!stream.ok()) return 0;
  tegula::u64 at = kTxnHeaderBytes;
  tegula::u32 sum = 0;
  for (const TxnOp& op : stream->ops) {
    if (op.offset != at || op.size == 0) std::abort();
    at += op.size;
    if (const auto* block = std::get_if<TxnBlockWrite>(&op.body)) {
      for (tegula::u32 word : stream->data(*block)) sum += word;
    }
    if (const auto* other = std::get_if<TxnOther>(&op.body)) {
      for (tegula::u32 word : stream->data(*other)) sum += word;
    }
  }
  volatile tegula::u32 keep = sum;
  (void)keep;
  if (at != stream->header.size) std::abort();
  return 0;
}
