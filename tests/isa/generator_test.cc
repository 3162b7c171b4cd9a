// The table generator refuses broken tables and names the row.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "temporary.h"

namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// What the generator prints when `from` is replaced by `to` in a copy of one table; empty when it succeeds.
std::string generate(const std::string& table, const std::string& from, const std::string& to) {
  const fs::path root = tegula::temporary("isa_gen");
  fs::remove_all(root);
  fs::create_directories(root / "tables");
  for (const auto& entry : fs::directory_iterator(TEGULA_SOURCE_DIR "/src/isa/tables")) {
    std::string text = read(entry.path());
    if (entry.path().filename() == table) {
      const size_t at = text.find(from);
      EXPECT_NE(at, std::string::npos) << from;
      if (at != std::string::npos) text.replace(at, from.size(), to);
    }
    std::ofstream(root / "tables" / entry.path().filename()) << text;
  }
  const std::string command = std::string("python3 ") + TEGULA_SOURCE_DIR "/tools/gen_isa.py " +
                              (root / "tables").string() + " " + (root / "out").string() + " 2> " +
                              (root / "message").string();
  const int status = std::system(command.c_str());
  const std::string message = read(root / "message");
  EXPECT_EQ(status == 0, message.empty()) << message;
  fs::remove_all(root);
  return message;
}

TEST(Generator, AcceptsTheTables) {
  EXPECT_EQ(generate("formats.tsv", "I16_NOP", "I16_NOP"), "");
}

TEST(Generator, RefusesAnInstructionOfTheWrongWidth) {
  EXPECT_NE(generate("instructions.tsv", "s0:5 d0:5 1000 10 0000", "s0:5 d0:5 1000 10 000")
                .find("instructions.tsv: row ABS: encoding has 19 bits, slot alu 20"),
            std::string::npos);
}

TEST(Generator, RefusesAnUnknownField) {
  EXPECT_NE(generate("instructions.tsv", "s0:5 d0:5 1000 10 0000", "s9:5 d0:5 1000 10 0000")
                .find("row ABS: operand 's9' is named 0 times"),
            std::string::npos);
}

TEST(Generator, RefusesAnUnknownClass) {
  EXPECT_NE(generate("instructions.tsv", "eR:d0\teR:s0\tdefs=srCarry\tABS", "eZ:d0\teR:s0\tdefs=srCarry\tABS")
                .find("row ABS: operand 'd0' has the unknown class 'eZ'"),
            std::string::npos);
}

TEST(Generator, RefusesOverlappingEncodings) {
  EXPECT_NE(generate("instructions.tsv", "s0:5 d0:5 s1:5 0100 1", "s0:5 d0:5 s1:5 0010 1")
                .find("has the encoding of ADC"),
            std::string::npos);
}

TEST(Generator, RefusesAFormatOfTheWrongWidth) {
  EXPECT_NE(generate("formats.tsv", "00000 lda:20 001 1000", "0000 lda:20 001 1000")
                .find("row I32_LDA: pattern has 31 bits"),
            std::string::npos);
}

TEST(Generator, RefusesAnUnknownUnit) {
  EXPECT_NE(
      generate("schedule.tsv", "InstrStage:4+[LCKREQ]", "InstrStage:4+[LOCKS]").find("unknown unit 'LOCKS'"),
      std::string::npos);
}

TEST(Generator, RefusesARegisterCodeOfTheWrongWidth) {
  EXPECT_NE(generate("registers.tsv", "p7=111", "p7=11").find("row eP: code of 'p7' has 2 bits"),
            std::string::npos);
}

}  // namespace
