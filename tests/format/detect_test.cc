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
  const Bytes xclbin = write_xclbin(content);
  EXPECT_EQ(detect(xclbin), FileKind::kXclbin);
  const Result<Xclbin> container = read_xclbin(xclbin);
  ASSERT_TRUE(container.ok());
  const ByteSpan partition = container->find(XclbinKind::kAiePartition)->data;
  EXPECT_EQ(detect(partition), FileKind::kAiePartition);
  EXPECT_EQ(detect(partition.subspan(0, partition.size() - 1)), FileKind::kUnknown);
  EXPECT_EQ(detect(pdi), FileKind::kPdi);
  EXPECT_EQ(detect(write_cdo(cdo.commands())), FileKind::kCdo);
  EXPECT_EQ(detect(txn.finish()), FileKind::kTxn);
  EXPECT_EQ(detect(GgufWriter().finish()), FileKind::kGguf);
  EXPECT_EQ(detect(SafetensorsWriter().finish()), FileKind::kSafetensors);
  const std::string tokenizer = " {\"model\": {\"vocab\": {}}}";
  EXPECT_EQ(detect(Bytes(tokenizer.begin(), tokenizer.end())), FileKind::kTokenizerJson);
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
