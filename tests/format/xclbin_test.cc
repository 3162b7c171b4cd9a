#include "format/xclbin.h"

#include "format/damage.h"
#include "format/pdi.h"

namespace tegula::format {
namespace {

Bytes small_pdi() {
  CdoWriter w;
  w.write(0x0021F000, 2);
  w.mask_write(0x00232000, 3, 1);
  return write_pdi(w.commands());
}

Bytes small_xclbin() {
  Bytes pdi = small_pdi();
  XclbinContent content;
  content.pdi = pdi;
  return write_xclbin(content);
}

// Place of the header of section `index`, and of its offset and size fields.
u64 header_at(u64 index) {
  return 0x1C8 + 40 * index;
}

TEST(Xclbin, ReadsBackWhatWasWritten) {
  Bytes pdi = small_pdi();
  XclbinContent content;
  content.pdi = pdi;
  content.column_width = 4;
  content.start_columns = {0, 4};
  content.uuid = Uuid{1, 2, 3};
  content.pdi_uuid = Uuid{9, 8, 7};
  content.time_stamp = 1700000000;
  Bytes file = write_xclbin(content);
  Result<Xclbin> x = read_xclbin(file);
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(x->uuid, *content.uuid);
  EXPECT_EQ(x->time_stamp, 1700000000u);
  EXPECT_EQ(x->unique_id, 1700000000u);
  EXPECT_EQ(x->version_major, 2);
  EXPECT_EQ(x->version_minor, 21);
  EXPECT_EQ(x->version_patch, 75);
  EXPECT_EQ(x->partition.column_width, 4);
  EXPECT_EQ(x->partition.start_columns, (std::vector<u16>{0, 4}));
  EXPECT_EQ(x->partition.operations_per_cycle, 2048u);
  ASSERT_EQ(x->partition.pdis.size(), 1u);
  EXPECT_EQ(x->partition.pdis[0].uuid, *content.pdi_uuid);
  ASSERT_EQ(x->partition.pdis[0].groups.size(), 1u);
  const CdoGroup& group = x->partition.pdis[0].groups[0];
  EXPECT_EQ(group.name, "DPU");
  EXPECT_EQ(group.type, 1);
  EXPECT_EQ(group.pdi_id, 1u);
  EXPECT_EQ(group.kernel_ids, (std::vector<u64>{0x901}));
  EXPECT_EQ(group.pre_groups, (std::vector<u32>{0xC1}));
  Result<ByteSpan> found = find_pdi(*x);
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(Bytes(found->begin(), found->end()), pdi);
}

TEST(Xclbin, SevenSectionsInTheOrderOfPublicFiles) {
  Bytes file = small_xclbin();
  Result<Xclbin> x = read_xclbin(file);
  ASSERT_TRUE(x.ok()) << x.error().message;
  std::vector<u32> kinds;
  for (const XclbinSection& section : x->sections) {
    kinds.push_back(section.kind);
    EXPECT_EQ(section.offset % 8, 0u);
  }
  EXPECT_EQ(kinds, (std::vector<u32>{6, 32, 2, 8, 7, 27, 26}));
  EXPECT_EQ(x->sections[0].offset, 0x2E0u);
  EXPECT_EQ(x->sections[0].data.size(), 88u);
  EXPECT_EQ(x->sections[2].data.size(), 1352u);
  EXPECT_EQ(x->sections[3].data.size(), 88u);
  EXPECT_EQ(x->sections[4].data.size(), 76u);
  EXPECT_EQ(x->sections[5].data.size(), 148u);
  EXPECT_EQ(x->sections[6].data.size(), 88u);
  EXPECT_EQ(load_le<u64>(file.data() + 0x130), file.size());
}

TEST(Xclbin, KernelMemoriesAndConnections) {
  Bytes file = small_xclbin();
  Result<Xclbin> x = read_xclbin(file);
  ASSERT_TRUE(x.ok()) << x.error().message;
  ASSERT_EQ(x->ips.size(), 1u);
  EXPECT_EQ(x->ips[0].name, "MLIR_AIE:MLIRAIE");
  EXPECT_EQ(x->ips[0].type, 7u);
  EXPECT_EQ(x->ips[0].subtype, 1);
  EXPECT_EQ(x->ips[0].kernel_id, 0x901);
  ASSERT_EQ(x->memories.size(), 2u);
  EXPECT_EQ(x->memories[1].tag, "SRAM");
  EXPECT_EQ(x->memories[1].size_kib, 49152u);
  EXPECT_EQ(x->memories[0].base_address, 0x4000000u);
  ASSERT_EQ(x->connections.size(), 6u);
  EXPECT_EQ(x->connections[0].argument, 1);
  EXPECT_EQ(x->connections[0].memory, 1);
  EXPECT_EQ(x->connections[5].argument, 7);
  EXPECT_NE(x->metadata.find("dpu_kernel_id=\"0x901\""), std::string::npos);
  EXPECT_NE(x->metadata.find("name=\"bo4\" addressQualifier=\"1\" id=\"7\" size=\"0x8\" offset=\"0x34\""),
            std::string::npos);
}

TEST(Xclbin, EqualContentGivesEqualBytesAndOtherContentOtherIds) {
  EXPECT_EQ(small_xclbin(), small_xclbin());
  Bytes pdi = small_pdi();
  XclbinContent content;
  content.pdi = pdi;
  content.column_width = 4;
  Bytes other = write_xclbin(content);
  Bytes first = small_xclbin();
  Result<Xclbin> a = read_xclbin(first);
  Result<Xclbin> b = read_xclbin(other);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_NE(a->uuid, b->uuid);
  EXPECT_EQ(a->uuid[6] >> 4, 4);  // version 4 form
}

TEST(Xclbin, LongNamesAreCutNotOverrun) {
  Bytes pdi = small_pdi();
  XclbinContent content;
  content.pdi = pdi;
  content.kernel_name = std::string(100, 'k');
  Bytes file = write_xclbin(content);
  Result<Xclbin> x = read_xclbin(file);
  ASSERT_TRUE(x.ok()) << x.error().message;
  EXPECT_EQ(x->ips[0].name, std::string(63, 'k'));
  EXPECT_EQ(x->ips[0].kernel_id, 0x901);
}

std::string error_of(const Bytes& bytes) {
  Result<Xclbin> x = read_xclbin(bytes);
  return x.ok() ? "" : x.error().message;
}

TEST(Xclbin, ErrorTexts) {
  Bytes good = small_xclbin();
  Bytes bytes = good;
  bytes[6] = '1';
  EXPECT_EQ(error_of(bytes), "xclbin: does not start with \"xclbin2\"; this is not an xclbin file");

  bytes = good;
  store_le<u32>(bytes.data() + 0x1C0, 0xFFFFFFFF);
  EXPECT_EQ(error_of(bytes), "xclbin: 4294967295 sections, at most 64 make sense; the file is damaged");

  bytes = good;  // the second section starts inside the first
  store_le<u64>(bytes.data() + header_at(1) + 24, 0x2E8);
  EXPECT_EQ(error_of(bytes),
            "xclbin: section AIE_PARTITION at 0x2E8 overlaps section MEM_TOPOLOGY, which ends at 0x338; "
            "the file is damaged");

  bytes = good;  // offset + size would wrap to a small number
  store_le<u64>(bytes.data() + header_at(1) + 24, 0xFFFFFFFFFFFFFFF8);
  EXPECT_NE(error_of(bytes).find("AIE_PARTITION of the file: "), std::string::npos);
  EXPECT_NE(error_of(bytes).find("at 0xFFFFFFFFFFFFFFF8 reach past its end"), std::string::npos);

  bytes = good;  // a section over the headers
  store_le<u64>(bytes.data() + header_at(0) + 24, 0);
  EXPECT_EQ(error_of(bytes), "xclbin: section MEM_TOPOLOGY at 0x0 overlaps the headers, which end at 0x2E0");

  bytes = good;  // PDI count
  store_le<u32>(bytes.data() + 0x338 + 0x78, 0x10000000);
  EXPECT_EQ(error_of(bytes),
            "xclbin: PDI records of section AIE_PARTITION: count is 268435456, at most 64 make sense; the "
            "file is damaged");

  bytes = good;
  bytes.resize(bytes.size() - 1);
  EXPECT_NE(error_of(bytes).find("the file is truncated or damaged"), std::string::npos);
}

TEST(Xclbin, WithoutPdiThereIsNoneToFind) {
  Xclbin empty;
  Result<ByteSpan> pdi = find_pdi(empty);
  ASSERT_FALSE(pdi.ok());
  EXPECT_EQ(pdi.error().code, Code::kNotFound);
  empty.partition.pdis.resize(2);
  EXPECT_EQ(find_pdi(empty).error().code, Code::kUnsupported);
}

TEST(Xclbin, EveryPrefixIsAnError) {
  test::each_prefix(small_xclbin(), [](const Bytes& bytes) {
    Result<Xclbin> x = read_xclbin(bytes);
    ASSERT_FALSE(x.ok());
    test::expect_message(x.error());
  });
}

// With a stated length that fits each prefix, every later check gets its turn.
TEST(Xclbin, EveryPrefixWithFittingLengthIsAnError) {
  test::each_prefix(small_xclbin(), [](Bytes& bytes) {
    if (bytes.size() < 0x1C8) return;
    store_le<u64>(bytes.data() + 0x130, bytes.size());
    Result<Xclbin> x = read_xclbin(bytes);
    ASSERT_FALSE(x.ok());
    test::expect_message(x.error());
  });
}

TEST(Xclbin, MutationsGiveAnErrorOrASoundResult) {
  test::each_mutation(small_xclbin(), test::kMutations, [](const Bytes& bytes, u64) {
    Result<Xclbin> x = read_xclbin(bytes);
    if (!x.ok()) return test::expect_message(x.error());
    for (const XclbinSection& section : x->sections) ASSERT_TRUE(test::lies_in(section.data, bytes));
    for (const PdiRecord& record : x->partition.pdis) ASSERT_TRUE(test::lies_in(record.image, bytes));
  });
}

}  // namespace
}  // namespace tegula::format
