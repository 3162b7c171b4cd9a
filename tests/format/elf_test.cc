#include "format/elf.h"

#include "format/damage.h"
#include "format/elf_sample.h"

namespace tegula::format {
namespace {

Error error_of(const Bytes& bytes) {
  const Result<Elf> elf = read_elf(bytes);
  EXPECT_FALSE(elf.ok());
  return elf.ok() ? Error() : elf.error();
}

class ElfWidth : public testing::TestWithParam<bool> {};

TEST_P(ElfWidth, ReadsBackWhatWasWritten) {
  const Bytes stream(48, 7);
  const Bytes bytes = test::control_elf(stream, GetParam());
  const Result<Elf> elf = read_elf(bytes);
  ASSERT_TRUE(elf.ok()) << elf.error().message;
  EXPECT_EQ(elf->wide, GetParam());
  EXPECT_EQ(elf->os_abi, kElfOsAbiControl);
  EXPECT_EQ(elf->abi_version, 2);
  const ElfSection* text = elf->find(".ctrltext");
  ASSERT_NE(text, nullptr);
  EXPECT_EQ(Bytes(text->data.begin(), text->data.end()), stream);
  const auto symbols = elf_symbols(*elf, *elf->find(".dynsym"));
  ASSERT_TRUE(symbols.ok());
  ASSERT_EQ(symbols->size(), 4u);
  EXPECT_EQ((*symbols)[1].name, "3");
  EXPECT_EQ((*symbols)[2].size, 8192u);
  const auto relocations = elf_relocations(*elf, *elf->find(".rela.dyn"));
  ASSERT_TRUE(relocations.ok());
  ASSERT_EQ(relocations->size(), 1u);
  EXPECT_EQ((*relocations)[0].offset, 0x20u);
  EXPECT_EQ((*relocations)[0].type, 5u);
  EXPECT_EQ((*relocations)[0].symbol, 2u);
  EXPECT_EQ((*relocations)[0].addend, 64);
  EXPECT_EQ(elf->find(".missing"), nullptr);
}

TEST_P(ElfWidth, Segments) {
  const Bytes bytes = test::core_elf(Bytes(32, 1), GetParam());
  const Result<Elf> elf = read_elf(bytes);
  ASSERT_TRUE(elf.ok()) << elf.error().message;
  EXPECT_EQ(elf->machine, kElfMachineAie);
  ASSERT_EQ(elf->segments.size(), 2u);
  EXPECT_EQ(elf->segments[0].data.size(), 32u);
  EXPECT_EQ(elf->segments[0].flags, 5u);
  EXPECT_EQ(elf->segments[1].address, 0x70000u);
}

// A prefix lacks the section headers, which lie last, so none is read.
TEST_P(ElfWidth, EveryPrefixIsAnError) {
  const Bytes bytes = test::control_elf(Bytes(48, 7), GetParam());
  test::each_prefix(bytes, [](const Bytes& copy) { test::expect_message(error_of(copy)); });
}

TEST_P(ElfWidth, MutationsGiveErrorsOrSpansInside) {
  const Bytes bytes = test::control_elf(Bytes(48, 7), GetParam());
  test::each_mutation(bytes, test::kMutations, [](const Bytes& copy, u64) {
    const Result<Elf> elf = read_elf(copy);
    if (!elf.ok()) return test::expect_message(elf.error());
    for (const ElfSection& section : elf->sections) {
      EXPECT_TRUE(test::lies_in(section.data, copy));
      (void)elf_symbols(*elf, section);
      (void)elf_relocations(*elf, section);
    }
    for (const ElfSegment& segment : elf->segments) EXPECT_TRUE(test::lies_in(segment.data, copy));
  });
}

INSTANTIATE_TEST_SUITE_P(Widths, ElfWidth, testing::Bool(),
                         [](const auto& info) { return info.param ? "Wide" : "Narrow"; });

TEST(Elf, Refusals) {
  EXPECT_NE(error_of({1, 2, 3, 4}).message.find("does not start with"), std::string::npos);
  Bytes bytes = test::core_elf(Bytes(32, 1));
  bytes[4] = 3;
  EXPECT_EQ(error_of(bytes).message, "ELF: class is 3, expected 1 (32 bits) or 2 (64 bits)");
  bytes[4] = 1;
  bytes[5] = 2;
  EXPECT_EQ(error_of(bytes).code, Code::kUnsupported);
}

TEST(Elf, OffsetsThatWrapAndCountsThatOverflow) {
  Bytes bytes = test::core_elf(Bytes(32, 1), true);
  store_le<u64>(bytes.data() + 40, ~u64{0} - 8);  // section headers
  EXPECT_NE(error_of(bytes).message.find("section headers"), std::string::npos);
  bytes = test::core_elf(Bytes(32, 1), true);
  store_le<u16>(bytes.data() + 60, 0xFFFF);  // section count
  EXPECT_NE(error_of(bytes).message.find("65535 section headers"), std::string::npos);
  bytes = test::core_elf(Bytes(32, 1), true);
  store_le<u64>(bytes.data() + 64 + 8, ~u64{0});  // offset of the first segment
  EXPECT_NE(error_of(bytes).message.find("segment 0"), std::string::npos);
  bytes = test::core_elf(Bytes(32, 1), true);
  store_le<u16>(bytes.data() + 58, 63);  // size of a section header
  EXPECT_NE(error_of(bytes).message.find("have 63 bytes, expected 64"), std::string::npos);
}

TEST(Elf, TablesOfTheWrongTypeOrSize) {
  const Bytes bytes = test::control_elf(Bytes(48, 7));
  const Result<Elf> elf = read_elf(bytes);
  ASSERT_TRUE(elf.ok());
  EXPECT_EQ(elf_symbols(*elf, *elf->find(".ctrltext")).error().code, Code::kInvalidArgument);
  EXPECT_EQ(elf_relocations(*elf, *elf->find(".ctrltext")).error().code, Code::kInvalidArgument);
  ElfSection odd = *elf->find(".dynsym");
  odd.size = 17;
  EXPECT_EQ(elf_symbols(*elf, odd).error().code, Code::kCorrupt);
}

}  // namespace
}  // namespace tegula::format
