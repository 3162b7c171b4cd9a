// Printer, assembler and disassembler against the vendor's vectors and against each other.
#include "isa/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "isa_test_util.h"

namespace tegula::isa {
namespace {

struct Vector {
  Bytes bytes;
  std::string text;
};

std::vector<Vector> load_vectors(const std::string& path) {
  std::vector<Vector> out;
  std::ifstream file(TEGULA_SOURCE_DIR "/" + path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    Vector v;
    for (size_t i = 0; i + 1 < tab; i += 3)
      v.bytes.push_back(static_cast<u8>(std::stoul(line.substr(i, 2), nullptr, 16)));
    v.text = line.substr(tab + 1);
    out.push_back(v);
  }
  return out;
}

// llvm-objdump writes the slots of a bundle of 16 bytes in another order and, after some operands, no space.
std::multiset<std::string> slots(const std::string& text) {
  std::multiset<std::string> out;
  std::istringstream in(text);
  for (std::string slot; std::getline(in, slot, ';');) {
    std::erase(slot, ' ');
    out.insert(slot);
  }
  return out;
}

TEST(Text, VendorVectorsBothWays) {
  const auto vectors = load_vectors("src/isa/tables/bundle-vectors.tsv");
  ASSERT_EQ(vectors.size(), 74u);
  for (const Vector& v : vectors) {
    const auto bundle = decode(v.bytes);
    ASSERT_TRUE(bundle.ok()) << v.text << ": " << bundle.error().message;
    EXPECT_EQ(bundle->bytes, v.bytes.size());
    EXPECT_EQ(to_text(*bundle), v.text);
    EXPECT_EQ(*encode(*bundle), v.bytes) << v.text;
    const auto parsed = assemble(v.text);
    ASSERT_TRUE(parsed.ok()) << v.text << ": " << parsed.error().message;
    EXPECT_EQ(*encode(*parsed), v.bytes) << v.text;
  }
}

TEST(Text, LlvmAieEncodingsBothWays) {
  const auto vectors = load_vectors("tests/isa/llvm_aie_vectors.tsv");
  std::set<Op> seen;
  for (const Vector& v : vectors) {
    const auto bundle = decode(v.bytes);
    ASSERT_TRUE(bundle.ok()) << v.text << ": " << bundle.error().message;
    for (int i = 0; i < bundle->count; ++i) seen.insert(bundle->instr[static_cast<size_t>(i)].op);
    EXPECT_EQ(bundle->bytes, v.bytes.size());
    EXPECT_EQ(slots(to_text(*bundle)), slots(v.text));
    EXPECT_EQ(*encode(*bundle), v.bytes) << v.text;
    const auto parsed = assemble(v.text);
    ASSERT_TRUE(parsed.ok()) << v.text << ": " << parsed.error().message;
    EXPECT_EQ(*encode(*parsed), v.bytes) << v.text;
  }
  EXPECT_EQ(seen.size(), 832u) << "instructions of 879 that those tests have";
}

TEST(Text, EveryRowSurvivesPrintAndAssemble) {
  std::mt19937_64 rng(4);
  std::map<std::string, int> differs;
  for (int i = 0; i < static_cast<int>(Op::kCount); ++i) {
    for (int round = 0; round < 1000; ++round) {
      const Instr instr = random_instr(static_cast<Op>(i), rng);
      ASSERT_NE(instr.op, Op::kCount);
      const std::string text = to_text(instr);
      const auto parsed = assemble(text);
      ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.error().message;
      const auto bytes = encode(*parsed);
      ASSERT_TRUE(bytes.ok()) << text << ": " << bytes.error().message;
      const auto back = decode(*bytes);
      ASSERT_TRUE(back.ok()) << text;
      ASSERT_EQ(to_text(*back), text);
      if (!(back->instr[0] == instr)) {
        ++differs[std::string(info(instr.op).name) + " -> " + std::string(info(back->instr[0].op).name)];
      }
    }
  }
  for (const auto& [what, count] : differs) ADD_FAILURE() << what << " " << count;
}

std::string error_of(const std::string& line) {
  const auto bundle = assemble(line);
  return bundle.ok() ? "assembles" : bundle.error().message;
}

TEST(Text, SpacesCaseAndHexAreFree) {
  const auto a = assemble("  VLDA  X0 ,[ p0,#0x40 ] ;  nopb ");
  ASSERT_TRUE(a.ok()) << a.error().message;
  EXPECT_EQ(to_text(*a), "vlda x0, [p0, #64];nopb");
  const auto b = assemble("vaddmac dm1,dm1,scd[r31++],x0,x1,r2");
  ASSERT_TRUE(b.ok()) << b.error().message;
  EXPECT_EQ(to_text(*b), "vaddmac dm1, dm1, scd[r31++], x0, x1, r2");
  const auto c = assemble("lda.3d r0, [p1], d3");
  ASSERT_TRUE(c.ok()) << c.error().message;
  EXPECT_EQ(to_text(*c), "lda.3d r0, [p1], d3");
  EXPECT_EQ(c->instr[0].reg(2), Reg::dc3);
  EXPECT_EQ(c->instr[0].reg(3), Reg::dc7);
  EXPECT_EQ(to_text(*assemble("mov r7:r6, cntr")), "mov r7:r6, cntr");
  EXPECT_EQ(to_text(*assemble("inv r1.flt2fx, s3, r2.fx2flt, s2")), "inv r1.flt2fx, s3, r2.fx2flt, s2");
}

TEST(Text, SlotsAreSortedAndTheShortestFormatChosen) {
  const auto bundle = assemble("vst x0, [p2, #0];vlda x1, [p0, #0]");
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(to_text(*bundle), "vlda x1, [p0, #0];vst x0, [p2, #0]");
  EXPECT_EQ(bundle->bytes, 6);
  EXPECT_EQ(format_name(bundle->format), "I48_LDA_ST");
}

TEST(Text, ErrorsNameColumnAndExpectation) {
  EXPECT_EQ(error_of("vldx x0, [p0, #0]"), "column 1: expected a mnemonic, found 'vldx x0, [p0, #0]'");
  EXPECT_EQ(error_of(""), "column 1: expected a mnemonic, found the end");
  EXPECT_EQ(error_of("nopa;"), "column 6: expected a mnemonic, found the end");
  EXPECT_EQ(error_of("add r0, r40, r1"),
            "column 9: expected a register of class eR (r0, r1, r2, ..), found 'r40, r1'");
  EXPECT_EQ(error_of("add r0, r4, #64"), "column 14: expected a number -64..63, found '64'");
  EXPECT_EQ(error_of("vlda x0, [p0, #32]"),
            "column 16: expected a number -512..448 in steps of 64, found '32]'");
  EXPECT_EQ(error_of("ret lr2"), "column 7: expected 'lr', found '2'");
  EXPECT_EQ(error_of("done now"), "column 6: expected the end of the instruction, found 'now'");
  EXPECT_EQ(error_of("nopa;nopb;nopx;nopm;nops;nopv;nopa"),
            "column 31: expected at most 6 instructions in a bundle, found 'nopa'");
  EXPECT_NE(error_of("add r0, r1, r2;add r3, r4, r5").find("two instructions need the same slot"),
            std::string::npos);
  EXPECT_NE(error_of("nopxm;nopx").find("no bundle format has these slots"), std::string::npos);
  EXPECT_NE(error_of("vlda.pop.576 ex0, [p0, lf1, r24]").find("must be lf0"), std::string::npos);
}

TEST(Text, NumbersOfAWholeRegisterMayHaveNoSign) {
  const auto bundle = assemble("movxm r0, #0xFFFFFF85");
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  EXPECT_EQ(to_text(*bundle), "movxm r0, #-123");
  EXPECT_EQ(error_of("movxm r0, #0x100000000"),
            "column 12: expected a number -2147483648..4294967295, found '0x100000000'");
  EXPECT_FALSE(assemble("movx r0, #2047").ok());
}

TEST(Text, DisassembleAlwaysAdvances) {
  Bytes code = {0x00, 0x00, 0x08, 0xff, 0xff, 0xff, 0x98, 0x67, 0x01, 0x00, 0x98};
  const auto lines = disassemble(code, 0x100);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0].text, "nop");
  EXPECT_EQ(lines[1].text, ".byte 0x08, 0xff");
  EXPECT_FALSE(lines[1].valid);
  EXPECT_EQ(lines[1].address, 0x102u);
  // 0xff at 0x104 asks for 16 bytes, which are not there.
  EXPECT_EQ(lines[2].text, ".byte 0xff, 0xff");
  EXPECT_EQ(lines[3].address, 0x106u);
  EXPECT_EQ(lines[3].text, "nopa");
  EXPECT_EQ(lines[4].text, ".byte 0x98");
}

// Random bytes and broken text: no crash, progress, and what decodes survives encoding and assembling.
TEST(Text, RandomBytesSurvive) {
  std::mt19937_64 rng(6);
  int valid = 0;
  for (int round = 0; round < 3000; ++round) {
    Bytes code(rng() % 200 + 1);
    for (u8& byte : code) byte = static_cast<u8>(rng());
    u32 at = 0;
    for (const DisassembledLine& line : disassemble(code)) {
      ASSERT_EQ(line.address, at);
      ASSERT_GT(line.bytes, 0);
      at += line.bytes;
      if (!line.valid) continue;
      ++valid;
      const auto bytes = encode(line.bundle);
      ASSERT_TRUE(bytes.ok()) << line.text;
      const auto again = decode(*bytes);
      ASSERT_TRUE(again.ok()) << line.text;
      ASSERT_EQ(again->instr, line.bundle.instr) << line.text;
      ASSERT_EQ(again->format, line.bundle.format);
      const auto parsed = assemble(line.text);
      ASSERT_TRUE(parsed.ok()) << line.text << ": " << parsed.error().message;
      ASSERT_EQ(parsed->instr, line.bundle.instr) << line.text;
    }
    ASSERT_EQ(at, code.size());
  }
  EXPECT_GT(valid, 1000);
}

}  // namespace
}  // namespace tegula::isa
