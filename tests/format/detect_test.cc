#include "format/detect.h"

#include <gtest/gtest.h>

#include "format/gguf_writer.h"
#include "format/pdi.h"
#include "format/safetensors.h"
#include "format/txn.h"
#include "format/xclbin.h"

namespace tegula::format {
namespace {

TEST(Detect, EachKindByItsContent) {
  CdoWriter cdo;
  cdo.write(0x1000, 1);
  Bytes pdi = write_pdi(cdo.commands());
  XclbinContent content;
  content.pdi = pdi;
  TxnWriter txn;
  txn.write32(0x1000, 1);
  EXPECT_EQ(detect(write_xclbin(content)), FileKind::kXclbin);
  EXPECT_EQ(detect(pdi), FileKind::kPdi);
  EXPECT_EQ(detect(write_cdo(cdo.commands())), FileKind::kCdo);
  EXPECT_EQ(detect(txn.finish()), FileKind::kTxn);
  EXPECT_EQ(detect(GgufWriter().finish()), FileKind::kGguf);
  EXPECT_EQ(detect(SafetensorsWriter().finish()), FileKind::kSafetensors);
  EXPECT_EQ(detect(Bytes{0x7F, 'E', 'L', 'F', 1, 1, 1}), FileKind::kElf);
}

TEST(Detect, AnythingElseIsUnknown) {
  EXPECT_EQ(detect({}), FileKind::kUnknown);
  EXPECT_EQ(detect(Bytes{'G', 'G'}), FileKind::kUnknown);
  EXPECT_EQ(detect(Bytes(64, 0)), FileKind::kUnknown);
  const std::string text = "{\"json\": 1, \"longer\": \"than a header length\"}";
  EXPECT_EQ(detect(Bytes(text.begin(), text.end())), FileKind::kUnknown);
  EXPECT_STREQ(file_kind_name(FileKind::kTxn), "TXN stream");
}

}  // namespace
}  // namespace tegula::format
