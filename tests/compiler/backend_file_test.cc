// File tests of the back end: tests/filetests/*.txt hold a program in text form, a line "---", and the
// statistics and the listing expected for it. TEGULA_UPDATE=1 rewrites the expectations.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/backend_text.h"
#include "isa/lint.h"

namespace tegula::compiler {
namespace {

std::filesystem::path folder() {
  return std::filesystem::path(TEGULA_SOURCE_DIR) / "tests" / "filetests";
}

std::vector<std::string> files() {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator(folder())) {
    if (entry.path().extension() == ".txt") out.push_back(entry.path().stem().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string report(const CoreProgram& program) {
  std::ostringstream out;
  out << program.stats.bundles << " bundles, " << program.code.size() << " bytes\n";
  for (const LoopStats& loop : program.stats.loops) {
    out << "loop " << loop.name << ": ";
    if (!loop.pipelined) {
      out << "plain, " << loop.ii << " bundles\n";
      continue;
    }
    out << "ii " << loop.ii << " (resources " << loop.min_ii << "), " << loop.stages << " stages, unroll "
        << loop.unroll << ", peeled " << loop.peeled << (loop.guarded ? ", guarded" : "")
        << (loop.back_edge == BackEdge::kJnz ? ", jnz" : ", jnzd") << "\n";
  }
  return out.str() + program.listing;
}

class BackendFile : public testing::TestWithParam<std::string> {};

TEST_P(BackendFile, ListingAsExpected) {
  const std::filesystem::path path = folder() / (GetParam() + ".txt");
  const std::string text = read(path);
  const size_t cut = text.find("---\n");
  const std::string source = text.substr(0, cut);
  auto builder = parse_backend_text(source);
  ASSERT_TRUE(builder.ok()) << builder.error().message;
  auto program = assemble_program(std::move(*builder));
  const std::string found = program.ok() ? report(*program) : "error: " + program.error().message + "\n";
  if (program.ok()) {
    isa::PlacedProgram placed;
    for (const PlacedBundle& bundle : program->bundles) placed.add(bundle.address, bundle.bundle);
    for (const isa::Finding& finding : isa::lint(placed, {.allow_old_value_reads = true})) {
      ADD_FAILURE() << finding.rule << ": " << finding.text;
    }
  }
  if (std::getenv("TEGULA_UPDATE") != nullptr) {
    std::ofstream(path) << source << "---\n" << found;
    return;
  }
  ASSERT_NE(cut, text.npos) << path << " has no expectation; run with TEGULA_UPDATE=1";
  EXPECT_EQ(text.substr(cut + 4), found);
}

INSTANTIATE_TEST_SUITE_P(Files, BackendFile, testing::ValuesIn(files()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tegula::compiler
