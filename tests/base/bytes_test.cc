#include "base/bytes.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

TEST(ByteReader, ReadsForwardAndNamesOverruns) {
  const u8 raw[] = {1, 2, 3, 4, 5};
  ByteReader reader(raw, "raw");
  ASSERT_EQ(reader.read<u32>().value(), 0x04030201u);
  Result<u16> past = reader.read<u16>();
  ASSERT_FALSE(past.ok());
  EXPECT_NE(past.error().message.find("raw: read of 2 bytes at offset 4"), std::string::npos);
  EXPECT_FALSE(reader.skip(~u64{0}).ok());
  EXPECT_TRUE(reader.skip(1).ok());
}

}  // namespace
}  // namespace tegula
