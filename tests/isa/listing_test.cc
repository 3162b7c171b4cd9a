// What a listing says about a program: functions, labels, delay slots, loops, padding, cycles.
#include "isa/listing.h"

#include <gtest/gtest.h>

#include "isa/assembler.h"

namespace tegula::isa {
namespace {

Bytes program(const std::string& source) {
  const auto out = assemble_program(source, "t.s");
  EXPECT_TRUE(out.ok()) << out.error().message;
  return out.ok() ? out->code : Bytes{};
}

std::string text_of(const Bytes& code, const ListingOptions& options = {}) {
  std::string text;
  Listing(code, options).append_text(text);
  return text;
}

TEST(Listing, FunctionsLabelsAndDelaySlots) {
  const Bytes code = program(
      "jl #callee\n nop\n nop\n nop\n nop\n nop\n"
      ".align 16\n"
      "back: jnz r1, #back\n nop\n nop\n nop\n nop\n nop\n"
      "done\n"
      ".align 16\n"
      "callee: ret lr\n nop\n nop\n nop\n nop\n nop\n"
      ".align 16\n"
      "hidden: done");
  EXPECT_EQ(text_of(code),
            "fn_0:\n"
            "000000: jl #fn_30\n"
            "000006: nop  // delay slot 1\n"
            "000008: nop  // delay slot 2\n"
            "00000a: nop  // delay slot 3\n"
            "00000c: nop  // delay slot 4\n"
            "00000e: nop  // delay slot 5, returns to the next bundle\n"
            "l_10:\n"
            "000010: jnz r1, #l_10\n"
            "000016: nop  // delay slot 1\n"
            "000018: nop  // delay slot 2\n"
            "00001a: nop  // delay slot 3\n"
            "00001c: nop  // delay slot 4\n"
            "00001e: nop  // delay slot 5\n"
            "000020: done\n"
            "000024: nop\n"
            "000026: nop\n"
            "000028: nop\n"
            "00002a: nop\n"
            "00002c: nop\n"
            "00002e: nop\n"
            "\n"
            "fn_30:\n"
            "000030: ret lr\n"
            "000034: nop  // delay slot 1\n"
            "000036: nop  // delay slot 2\n"
            "000038: nop  // delay slot 3\n"
            "00003a: nop  // delay slot 4\n"
            "00003c: nop  // delay slot 5\n"
            "00003e: nop  // padding\n"
            "\n"
            "fn_40:\n"
            "000040: done\n");
  const Listing listing(code);
  ASSERT_EQ(listing.functions().size(), 3u);
  EXPECT_EQ(listing.functions()[1].name, "fn_30");
  EXPECT_EQ(listing.functions()[1].address, 0x30u);
  EXPECT_EQ(listing.functions()[1].bytes, 16u);
  EXPECT_EQ(listing.totals().bundles, 27u);
  EXPECT_EQ(listing.totals().padding, 1u);
  EXPECT_EQ(listing.totals().undecodable, 0u);
}

TEST(Listing, HardwareLoopsAndPointers) {
  const std::string text =
      text_of(program("movxm ls, #first\n movxm le, #last\n mova lc, #4\n movxm p0, #target\n"
                      ".align 16\n"
                      "first: nop\n nop\n last: add r1, r1, #1\n"
                      "j p0\n nop\n nop\n nop\n nop\n nop\n"
                      ".align 16\n target: done"));
  EXPECT_NE(text.find("movxm ls, #l_20\n"), std::string::npos) << text;
  EXPECT_NE(text.find("l_20:  // hardware loop of 3 bundles to l_24\n000020: nop\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("l_24:\n000024: add r1, r1, #1  // last of the hardware loop from l_20\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("j p0  // goes to l_40\n"), std::string::npos) << text;
}

TEST(Listing, DataBytesAndCycles) {
  Bytes code = program("lda r1, [p0, #0]\n");
  code.insert(code.end(), {0x44, 0x04, 0, 0, 0, 0, 0x08, 0xFF});
  ListingOptions options;
  options.bytes = true;
  options.cycles = true;
  const std::string text = text_of(code, options);
  // Results of a load are seen seven bundles later.
  EXPECT_NE(text.find("lda r1, [p0, #0]  // cycle 0, r1 from 7\n"), std::string::npos) << text;
  EXPECT_NE(text.find(": 08 ff"), std::string::npos) << text;
  EXPECT_NE(text.find(" .byte 0x08, 0xff\n"), std::string::npos) << text;
  EXPECT_EQ(Listing(code).totals().undecodable, 1u);
}

// Bits without a meaning: the bytes stay, and the text says what they do.
TEST(Listing, BundlesThatEncodeOtherwiseStayBytes) {
  const Bytes code = {0x00, 0x44};
  EXPECT_EQ(text_of(code), "fn_0:\n000000: .byte 0x00, 0x44  // nop\n");
  EXPECT_EQ(count(code).noncanonical, 1u);
  EXPECT_EQ(count(code).bundles, 1u);
}

// The number of a lock in a register is told only when it is certain.
TEST(Listing, LockNumbers) {
  const auto locks = [](const std::string& source) {
    std::vector<int> out;
    ListingOptions options;
    options.annotate = [&out](const Instr& instr, std::optional<int> lock, std::string&) {
      if (info(instr.op).mnemonic.starts_with("acq")) out.push_back(lock.value_or(-1));
    };
    (void)text_of(program(source), options);
    return out;
  };
  using Numbers = std::vector<int>;
  EXPECT_EQ(locks("acq #49, r1"), Numbers{49});
  EXPECT_EQ(locks("mova r0, #50\n nop\n acq r0, r1"), Numbers{50});
  EXPECT_EQ(locks("acq r0, r1"), Numbers{-1});
  EXPECT_EQ(locks("mova r0, #50\n mov r0, r2\n acq r0, r1"), Numbers{-1});
  // A loop head in between: the later write comes around.
  const std::string delay = " nop\n nop\n nop\n nop\n nop\n";
  const std::string head = "mova r0, #50\n .align 16\n back: acq r0, r1\n";
  EXPECT_EQ(locks(head + "jnz r2, #back\n" + delay), Numbers{50});
  EXPECT_EQ(locks(head + "mova r0, #51\n jnz r2, #back\n" + delay), Numbers{-1});
  // A call in between may change it.
  EXPECT_EQ(locks("mova r0, #50\n jl #f\n" + delay + "acq r0, r1\n .align 16\n f: ret lr\n" + delay),
            Numbers{-1});
}

}  // namespace
}  // namespace tegula::isa
