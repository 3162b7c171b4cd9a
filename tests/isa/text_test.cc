// Printer, assembler and disassembler against the vendor's vectors and against each other.
#include "isa/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>

#include "isa_test_util.h"

namespace tegula::isa {
namespace {

struct Vector {
  Bytes bytes;
  std::string text;
};

std::vector<Vector> load_vectors() {
  std::vector<Vector> out;
  std::ifstream file(TEGULA_SOURCE_DIR "/src/isa/tables/bundle-vectors.tsv");
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t tab = line.find('\t');
    Vector v;
    for (size_t i = 0; i + 1 < tab; i += 3) v.bytes.push_back(static_cast<u8>(std::stoul(line.substr(i, 2), nullptr, 16)));
    v.text = line.substr(tab + 1);
    out.push_back(v);
  }
  return out;
}

TEST(Text, VendorVectorsBothWays) {
  const auto vectors = load_vectors();
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

}  // namespace
}  // namespace tegula::isa
