// Whole programs: listings that assemble back to their bytes, hand-written source, and error messages.
#include "isa/assembler.h"

#include <gtest/gtest.h>

#include <random>

#include "isa/listing.h"
#include "isa/sweep.h"
#include "isa/text.h"
#include "isa_test_util.h"

namespace tegula::isa {
namespace {

Bytes assembled(const std::string& source) {
  const auto program = assemble_program(source, "t.s");
  EXPECT_TRUE(program.ok()) << program.error().message;
  return program.ok() ? program->code : Bytes{};
}

std::string error_of(const std::string& source) {
  const auto program = assemble_program(source, "t.s");
  return program.ok() ? "assembles" : program.error().message;
}

Bytes bytes_of(const std::vector<std::string>& lines) {
  Bytes code;
  for (const std::string& line : lines) {
    const auto bundle = assemble(line);
    EXPECT_TRUE(bundle.ok()) << bundle.error().message;
    const auto bytes = encode(*bundle);
    EXPECT_TRUE(bytes.ok());
    code.insert(code.end(), bytes->begin(), bytes->end());
  }
  return code;
}

void append(Bytes& code, const Bytes& more) {
  code.insert(code.end(), more.begin(), more.end());
}

// Random bundles of every format, with stretches that are none, in between.
Bytes random_program(std::mt19937_64& rng, int bundles) {
  static const auto by_slot = ops_by_slot();
  Bytes code;
  for (int i = 0; i < bundles; ++i) {
    const Bundle bundle =
        random_bundle(static_cast<u8>(rng() % static_cast<u64>(format_count())), by_slot, rng);
    const auto bytes = encode(bundle);
    if (bytes.ok()) append(code, *bytes);
    for (u64 n = rng() % 20 == 0 ? rng() % 8 : 0; n > 0; --n) code.push_back(static_cast<u8>(rng()));
  }
  return code;
}

TEST(Assembler, ListingsGiveTheSameBytes) {
  std::mt19937_64 rng(11);
  u64 bundles = 0, pieces = 0, other = 0;
  for (int round = 0; round < 300; ++round) {
    const Bytes code = random_program(rng, 60);
    ListingOptions options;
    options.bytes = round % 2 == 1;
    options.cycles = round % 4 >= 2;
    options.annotate = [](const Instr&, std::optional<int>, std::string& comment) { comment = "known; #x:"; };
    const Listing listing(code, options);
    std::string text = "// header\n.tile 0,2\n";
    listing.append_text(text);
    ASSERT_EQ(assembled(text), code) << text;
    bundles += listing.totals().bundles;
    pieces += listing.totals().undecodable;
    other += listing.totals().noncanonical;
  }
  EXPECT_GT(bundles, 10000u);
  EXPECT_GT(pieces, 100u);
  EXPECT_GT(other, 10u);
}

TEST(Assembler, LabelsBothWaysDataAndSymbols) {
  const Bytes code = assembled(
      ".set count, 5\n"
      ".set twice, count+5\n"
      "start:  mova r1, #count   // a comment\n"
      "        j #end\n"
      "  .align 16\n"
      "loop: again:\n"
      "        jnz r1, #loop\r\n"
      "        movxm p0, #end+4; st r1, [p1, #0]\n"
      "        .byte 1, 0x2, -1, twice\n"
      "        .word end, 0xffffffff\n"
      "        .zero 4\n"
      "end:    done");
  Bytes want = bytes_of({"mova r1, #5", "j #48"});
  want.resize(16, 0);
  append(want, bytes_of({"jnz r1, #16", "movxm p0, #52; st r1, [p1, #0]"}));
  append(want, {1, 2, 0xFF, 10, 48, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0});
  append(want, bytes_of({"done"}));
  EXPECT_EQ(code, want);
  const auto program = assemble_program("a: nop\nb: c: nop\n", "t.s");
  ASSERT_TRUE(program.ok());
  const std::vector<std::pair<std::string, u32>> labels = {{"a", 0}, {"b", 2}, {"c", 2}};
  EXPECT_EQ(program->labels, labels);
}

// Words that llvm-aie's execution tests (aie2p-event.s, aie2p-vector-insert.s) state as numbers.
TEST(Assembler, PublishedWords) {
  const auto text = assemble_program("event #0\nevent #1\nvinsert.32 x4, x0, #0, r1\n", "t.s");
  const auto words = assemble_program(".word 0x10100018, 0x12100018, 0x1a003178\n", "t.s");
  ASSERT_TRUE(text.ok()) << text.error().message;
  ASSERT_TRUE(words.ok()) << words.error().message;
  EXPECT_EQ(text->code, words->code);
}

TEST(Assembler, ErrorsNameLineColumnAndExpectation) {
  EXPECT_EQ(error_of("nop\n  vldx x0\n"), "t.s:2:3: expected a mnemonic, found 'vldx x0'");
  EXPECT_EQ(error_of("000010: 00 00 foo\n"), "t.s:1:15: expected a mnemonic, found 'foo'");
  EXPECT_EQ(error_of("a: nop\nb: nop; j #nowhere"),
            "t.s:2:12: expected a label or symbol that is defined, or a number 0..1048575, found 'nowhere'");
  EXPECT_EQ(error_of("a: nop\n\n a: nop"),
            "t.s:3:2: expected a new label, found 'a', which is that of line 1 already");
  EXPECT_EQ(error_of("add r1, r2, #far\n.zero 100\nfar:"),
            "t.s:1:14: expected a number -64..63 (it is 104), found 'far'");
  EXPECT_EQ(error_of(" .org 5"),
            "t.s:1:2: expected a directive (.align, .byte, .set, .tile, .word, .zero), found '.org'");
  EXPECT_EQ(error_of(".byte 1, 256"), "t.s:1:10: expected a number -128..255, found '256'");
  EXPECT_EQ(error_of(".byte 1 2"), "t.s:1:9: expected ',' or the end of the line, found '2'");
  EXPECT_EQ(error_of(".align 6"), "t.s:1:8: expected a power of two, found '6'");
  EXPECT_EQ(error_of(".zero later\nlater: nop"),
            "t.s:1:7: expected a number 0..1048576 that is known here, found 'later'");
  EXPECT_EQ(error_of(".set 5, 5"), "t.s:1:6: expected a name, found '5, 5'");
  EXPECT_EQ(error_of(".set a 5"), "t.s:1:8: expected ',', found '5'");
  EXPECT_EQ(error_of("a:\n.set a, 5"), "t.s:2:6: expected a name that is no label, found 'a, 5'");
  EXPECT_EQ(
      error_of(".tile 0,2\n.tile 0,3\n"),
      "t.s:2:7: expected one program, found the .tile of a second; disassemble one of them with --tile");
  EXPECT_NE(error_of("nop\nadd r0, r1, r2;add r3, r4, r5\n").find("t.s:2:1: "), std::string::npos);
  EXPECT_EQ(error_of(".zero 1048576\nnop"),
            "t.s:2: the program is larger than 1048576 bytes, which is what addresses reach");
}

}  // namespace
}  // namespace tegula::isa
