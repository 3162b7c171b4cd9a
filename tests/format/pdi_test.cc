#include "format/pdi.h"

#include "format/cdo.h"
#include "format/damage.h"

namespace tegula::format {
namespace {

std::vector<u32> counted(u64 count) {
  std::vector<u32> out(count);
  for (u64 i = 0; i < count; ++i) out[i] = static_cast<u32>(i * 0x01010101);
  return out;
}

// Every kind of command, short and long form.
std::vector<CdoCommand> small_commands() {
  CdoWriter w;
  w.mask_write(0x00232000, 1, 0);
  w.write(0x0021F000, 2);
  w.block_write(0x0021D000, counted(6));
  w.block_write(0x001A0000, counted(8));
  w.block_write(0x00220000, counted(300));
  w.mask_write(0x00232000, 3, 1);
  return w.commands();
}

TEST(Cdo, ReadsBackWhatWasWritten) {
  std::vector<CdoCommand> commands = small_commands();
  Result<std::vector<CdoCommand>> read = read_cdo(write_cdo(commands));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, commands);
}

TEST(Cdo, HeaderWordsAndChecksum) {
  Bytes bytes = write_cdo(std::vector<CdoCommand>{{CdoKind::kWrite, 0x1234, 0, 5, {}}});
  std::vector<u32> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  u32 sum = ~(4u + 0x004F4443u + 0x200u + 3u);
  EXPECT_EQ(words, (std::vector<u32>{4, 0x004F4443, 0x200, 3, sum, 0x00020103, 0x1234, 5}));
}

TEST(Cdo, FormChangesAt255Words) {
  for (u64 data : {252u, 253u}) {  // with the two address words 254 and 255
    std::vector<CdoCommand> commands = {{CdoKind::kBlockWrite, 0x100, 0, 0, counted(data)}};
    Bytes bytes = write_cdo(commands);
    u32 head = load_le<u32>(bytes.data() + 20);
    EXPECT_EQ(head, data == 252 ? 0x00FE0105u : 0x00FF0105u);
    EXPECT_EQ(bytes.size() / 4, 5 + (data == 252 ? 1 : 2) + 2 + data);
    Result<std::vector<CdoCommand>> read = read_cdo(bytes);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(*read, commands);
  }
}

TEST(Cdo, WriterPutsBlockDataOn16Bytes) {
  for (int writes = 0; writes < 4; ++writes) {
    for (u64 data : {6u, 300u}) {
      CdoWriter w;
      for (int i = 0; i < writes; ++i) w.mask_write(0x10, 1, 1);
      w.block_write(0x100, std::vector<u32>(data, 0xABCD1234));
      Bytes bytes = write_cdo(w.commands());
      EXPECT_EQ(w.words() * 4, bytes.size());
      u64 at = 0;
      while (load_le<u32>(bytes.data() + at) != 0xABCD1234) at += 4;
      EXPECT_EQ(at % 16, 0u) << writes << " mask writes, " << data << " words";
    }
  }
}

std::string error_of(Bytes bytes) {
  Result<std::vector<CdoCommand>> read = read_cdo(bytes);
  return read.ok() ? "" : read.error().message;
}

TEST(Cdo, ErrorTexts) {
  std::vector<CdoCommand> commands = {{CdoKind::kWrite, 0x1234, 0, 5, {}}};
  Bytes good = write_cdo(commands);
  Bytes bytes = good;
  bytes[16] ^= 1;
  EXPECT_EQ(error_of(bytes), "CDO: header checksum is 0xFFB0B9B4, expected 0xFFB0B9B5; the file is damaged");
  bytes = good;
  bytes[4] = 'X';
  EXPECT_EQ(error_of(bytes), "CDO: starts with words 0x4, 0x4F4458, expected 0x4, 0x4F4443 (\"CDO\")");
  bytes = good;
  store_le<u32>(bytes.data() + 20, 0x00020101);
  EXPECT_EQ(error_of(bytes),
            "CDO: command word 0x00020101 at word 5: opcode 0x101; known are 0x102, 0x103, 0x105 and "
            "0x111");
  bytes = good;
  store_le<u32>(bytes.data() + 20, 0x00FF0105);
  store_le<u32>(bytes.data() + 24, 0xFFFFFFFF);
  EXPECT_EQ(error_of(bytes),
            "CDO: command word 0x00FF0105 at word 5: needs 4294967295 words, 1 are left; the CDO is "
            "truncated or damaged");
}

TEST(Pdi, ReadsBackWhatWasWritten) {
  std::vector<CdoCommand> commands = small_commands();
  PdiHeader header;
  header.image_word_98 = 0x75B9;
  header.image_word_c8 = 0xFFFFFFFF;
  Bytes bytes = write_pdi(commands, header);
  EXPECT_EQ(bytes.size() % 16, 0u);
  Result<Pdi> pdi = read_pdi(bytes);
  ASSERT_TRUE(pdi.ok()) << pdi.error().message;
  EXPECT_EQ(pdi->commands, commands);
  EXPECT_EQ(pdi->header.id_code, 0x14CA8093u);
  EXPECT_EQ(pdi->header.image_word_98, 0x75B9u);
  EXPECT_EQ(pdi->header.image_word_c8, 0xFFFFFFFFu);
  EXPECT_EQ(write_pdi(pdi->commands, pdi->header), bytes);
}

TEST(Pdi, KnownHeaderWords) {
  Bytes bytes = write_pdi(small_commands());
  auto word = [&bytes](u64 at) { return load_le<u32>(bytes.data() + at); };
  EXPECT_EQ(word(0x8C), 0x9AC12A78u);  // checksum of the table, the same in every public file
  EXPECT_EQ(word(0x3C), 0x00201020u);
  EXPECT_EQ(word(0xB0), 0x1C000000u);
  EXPECT_EQ(word(0xD4), (bytes.size() - 0x150) / 4 - (word(0xD0) - word(0xD4)));
  EXPECT_EQ(word(0xD0) * 4 + 0x150, bytes.size());
}

TEST(Pdi, ErrorTexts) {
  Bytes bytes = write_pdi(small_commands());
  Bytes damaged = bytes;
  damaged[0xB0] = 1;
  Result<Pdi> pdi = read_pdi(damaged);
  ASSERT_FALSE(pdi.ok());
  EXPECT_EQ(pdi.error().code, Code::kCorrupt);
  EXPECT_NE(pdi.error().message.find("checksum of the image header at 0xCC is 0x"), std::string::npos);

  damaged.assign(bytes.begin(), bytes.end() - 64);
  pdi = read_pdi(damaged);
  ASSERT_FALSE(pdi.ok());
  EXPECT_NE(pdi.error().message.find("reaches past the end"), std::string::npos) << pdi.error().message;

  damaged = bytes;
  damaged[0x38] = 0;
  pdi = read_pdi(damaged);
  ASSERT_FALSE(pdi.ok());
  EXPECT_EQ(pdi.error().message, "PDI: mark at 0x38 is 0x50504400, expected 0x50504449");
}

TEST(Pdi, EveryPrefixIsAnError) {
  test::each_prefix(write_pdi(small_commands()), [](const Bytes& bytes) {
    Result<Pdi> pdi = read_pdi(bytes);
    ASSERT_FALSE(pdi.ok()) << bytes.size();
    test::expect_message(pdi.error());
  });
}

TEST(Pdi, MutationsGiveAnErrorOrASoundResult) {
  test::each_mutation(write_pdi(small_commands()), test::kMutations, [](const Bytes& bytes, u64) {
    Result<Pdi> pdi = read_pdi(bytes);
    if (!pdi.ok()) return test::expect_message(pdi.error());
    ASSERT_TRUE(test::lies_in(pdi->cdo, bytes));
    Bytes again = write_cdo(pdi->commands);
    ASSERT_EQ(again.size(), pdi->cdo.size());
  });
}

// The checksums stop most changes before the commands; here they go straight to the command parser.
TEST(Cdo, MutationsGiveAnErrorOrASoundResult) {
  test::each_mutation(write_cdo(small_commands()), test::kMutations, [](const Bytes& bytes, u64) {
    Result<std::vector<CdoCommand>> commands = read_cdo(bytes);
    if (!commands.ok()) return test::expect_message(commands.error());
    ASSERT_LE(write_cdo(*commands).size(), bytes.size());
  });
}

}  // namespace
}  // namespace tegula::format
