// Hand-made programs, one per rule of the lint, and a clean one.
#include "isa/lint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "isa/text.h"

namespace tegula::isa {
namespace {

using Labels = std::map<std::string, size_t>;

std::string with_labels(std::string line, const Labels& labels) {
  for (size_t at = line.find('@'); at != std::string::npos; at = line.find('@')) {
    size_t end = at + 1;
    while (end < line.size() && std::isalnum(static_cast<unsigned char>(line[end]))) ++end;
    const auto label = labels.find(line.substr(at + 1, end - at - 1));
    line.replace(at, end - at, std::to_string(label == labels.end() ? 0 : label->second));
  }
  return line;
}

Bytes build_once(const std::vector<std::string>& lines, Labels& labels) {
  Bytes out;
  const auto append = [&](const Bytes& bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); };
  Bundle wide;
  wide.bytes = 16;
  wide.format = static_cast<u8>(best_format(0x3F));
  for (const std::string& source : lines) {
    const std::string line = with_labels(source, labels);
    if (line == ".align") {
      while (out.size() % 16 != 0) out.push_back(0);
    } else if (line.ends_with(":")) {
      labels[line.substr(0, line.size() - 1)] = out.size();
    } else if (line.starts_with(".nops ")) {
      for (int n = std::stoi(line.substr(6)); n > 0; --n) append(*encode(wide));
    } else if (line.starts_with(".long ")) {
      Bundle bundle = *assemble(line.substr(6));
      bundle.bytes = wide.bytes;
      const bool lng = info(bundle.instr[0].op).slot == Slot::kLng;
      bundle.format = lng ? static_cast<u8>(best_format(0x73)) : wide.format;
      append(*encode(bundle));
    } else {
      const auto bundle = assemble(line);
      EXPECT_TRUE(bundle.ok()) << line << ": " << bundle.error().message;
      append(*encode(*bundle));
    }
  }
  return out;
}

// Assembles lines one after the other. ".align" pads with 2-byte nops to 16 bytes, ".nops N" adds N 16-byte
// nop bundles,
// ".long X" is X in the 16-byte format, "name:" is a label and @name its address.
Bytes build(const std::vector<std::string>& lines) {
  Labels labels;
  build_once(lines, labels);
  return build_once(lines, labels);
}

std::vector<Finding> run(const std::vector<std::string>& lines, const LintOptions& options = {}) {
  const auto program = place(build(lines));
  EXPECT_TRUE(program.ok()) << program.error().message;
  return lint(*program, options);
}

std::string show(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& f : findings)
    text += std::to_string(f.address) + " " + std::string(f.rule) + ": " + f.text + "\n";
  return text;
}

// Exactly one finding, of this rule.
void expect_one(const std::vector<std::string>& lines, std::string_view rule, u32 address,
                const std::string& part, const LintOptions& options = {}) {
  const auto findings = run(lines, options);
  ASSERT_EQ(findings.size(), 1u) << rule << "\n" << show(findings);
  EXPECT_EQ(findings[0].rule, rule) << findings[0].text;
  EXPECT_EQ(findings[0].address, address) << findings[0].text;
  EXPECT_NE(findings[0].text.find(part), std::string::npos) << findings[0].text;
}

void expect_clean(const std::vector<std::string>& lines, const LintOptions& options = {}) {
  const auto findings = run(lines, options);
  EXPECT_TRUE(findings.empty()) << show(findings);
}

const std::vector<std::string> kFiveNops = {"nop", "nop", "nop", "nop", "nop"};

std::vector<std::string> join(std::initializer_list<std::vector<std::string>> parts) {
  std::vector<std::string> out;
  for (const auto& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

// Some finding of this rule, among others.
void expect_some(const std::vector<std::string>& lines, std::string_view rule, u32 address,
                 const std::string& part) {
  const auto findings = run(lines);
  const bool found = std::any_of(findings.begin(), findings.end(), [&](const Finding& f) {
    return f.rule == rule && f.address == address && f.text.find(part) != std::string::npos;
  });
  EXPECT_TRUE(found) << rule << "\n" << show(findings);
}

TEST(Lint, CleanProgram) {
  expect_clean(
      join({{"movxm sp, #458752", "mova r0, #776", "movxm p0, #462848", "movxm p1, #466944", "mova r1, #8"},
            // Loads, one multiply per turn, the next turn's loads in the delay slots.
            {"acq #48, r5", ".align", ".nops 3", "top:", "vlda x0, [p0], #64;vldb x1, [p1], #64",
             "add r1, r1, #-1", "jnz r1, #@top", ".nops 4", "vmac dm0, dm0, x0, x1, r0", ".align"},
            {".long jl #@callee", ".nops 5", ".long done", "end:", "j #@end", ".nops 5", ".align"},
            {"callee:", "vst.srs.4x dm0, s0, srssign1, [p2, #0]", "paddxm [sp], #64", ".nops 6",
             "rel #49, r6", "paddxm [sp], #-64", "ret lr", ".nops 5", ".align"}}));
}

TEST(Lint, EarlyReadInStraightCode) {
  expect_clean({"lda r0, [p0, #0]", ".nops 6", "add r1, r0, #1"});
  expect_one({"lda r0, [p0, #0]", ".nops 5", "add r1, r0, #1"}, "early-read", 84,
             "add at 0x54 reads r0 in cycle 1, 6 bundles after lda at 0x0, which writes it in cycle 7; the "
             "new value "
             "needs a distance of 7: move the read 1 bundles later");
  LintOptions old_values;
  old_values.allow_old_value_reads = true;
  expect_clean({"lda r0, [p0, #0]", ".nops 5", "add r1, r0, #1"}, old_values);
}

TEST(Lint, EarlyReadOfAPart) {
  expect_clean({"vmac dm0, dm0, x0, x1, r0", ".nops 5", "vst bmhl0, [p0, #0]"});
  expect_one({"vmac dm0, dm0, x0, x1, r0", ".nops 4", "vst bmhl0, [p0, #0]"}, "early-read", 68,
             "vst at 0x44 reads bmhl0");
  expect_clean({"vmac dm0, dm0, x0, x1, r0", "nop", "vmac dm0, dm0, x0, x1, r0"});
  expect_one({"vmac dm0, dm0, x0, x1, r0", "vmac dm0, dm0, x0, x1, r0"}, "early-read", 4,
             "reads dm0 in cycle 4");
  expect_one({"vmac.f dm0, dm0, x0, x1, r0", "nop", "vmac.f dm0, dm0, x0, x1, r0"}, "early-read", 6,
             "reads dm0");
}

TEST(Lint, EarlyReadAcrossABackEdge) {
  // The load of one turn lands after the add at the top of the next turn.
  const auto loop = [](const std::string& between) {
    return join({{"add r1, r0, #1", "jnz r2, #0"},
                 {".nops 1", between, "lda r0, [p0, #0]", "nop", "nop"},
                 {".align"},
                 {".nops 8"}});
  };
  expect_one(loop("nop"), "early-read", 0, "3 bundles after lda");
  expect_clean(join({{"add r1, r0, #1", "jnz r2, #0"}, kFiveNops, {".nops 8"}}));
  // The same with a pointer branch whose target is a constant.
  expect_one(join({{"movxm p0, #16", ".align", "add r1, r0, #1", "jnzd r2, r2, p0", "nop", "nop", "nop",
                    "lda r0, [p1, #0]", "nop", ".nops 8"}}),
             "early-read", 16, "2 bundles after lda");
}

TEST(Lint, LateOverwriteAndCollision) {
  expect_one({"lda r0, [p0, #0]", "nop", "mova r0, #1"}, "late-overwrite", 6,
             "4 cycles after that of the younger mova");
  expect_some({"lda r0, [p0, #0]", ".nops 5", "mova r0, #1", ".nops 2"}, "write-collision", 84,
              "both write r0");
  expect_one({"mul r0, r1, r2", "add r0, r1, r2"}, "write-collision", 4,
             "mul at 0x0 and add at 0x4 both write r0");
  expect_one({"mova r0, #1;add r0, r1, r2"}, "write-collision", 0, "both write r0");
}

TEST(Lint, UnitConflict) {
  // Both use the pointer write port: the load in its seventh cycle, the add at once.
  expect_one({"lda p1, [p0, #0]", ".nops 5", "add.nc p2, r0, #1"}, "unit-conflict", 84, "P_WM_PORT");
  expect_clean({"lda p1, [p0, #0]", ".nops 4", "add.nc p2, r0, #1"});
  expect_one({"st.s8 r0, [p0, #0]", ".nops 1", "vlda x0, [p1, #0]"}, "unit-conflict", 20, "PART_WORD_STORE");
}

TEST(Lint, FifoPopsMayFollowEachOther) {
  expect_clean({"vlda.pop.576 ex0, [p0, lf0, r24]", "vlda.pop.576 ex1, [p0, lf0, r24]"});
}

TEST(Lint, DelaySlots) {
  expect_some(join({{"j #32", "nop", "j #32", "nop", "nop", "nop"}, {".align", ".nops 2"}}),
              "delay-slot-branch", 8, "j in");
  expect_one(join({{"j #32", "nop", "done", "nop", "nop", "nop"}, {".align", ".nops 1"}}), "delay-slot-done",
             8, "done");
  expect_one(join({{"j #32", "nop", "rel #49, r1", "nop", "nop", "nop"}, {".align", ".nops 1"}}),
             "delay-slot-lock", 8, "rel in");
  const auto call = join({{"jl #32", "nop", "acq #49, r1", "nop", "nop", "nop"}, {".align", ".nops 2"}});
  const auto findings = run(call);
  ASSERT_EQ(findings.size(), 1u) << show(findings);
  EXPECT_EQ(findings[0].rule, "delay-slot-lock");
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  expect_one({"j #0", "nop", "nop"}, "delay-slots-missing", 0, "fewer than five");
}

TEST(Lint, Targets) {
  expect_one(join({{"j #36"}, kFiveNops, {".align", ".nops 1", "mova r0, #0", "mova r0, #1"}}),
             "branch-alignment", 0, "0x24 is not on 16 bytes");
  // Legal: nothing but nops before it in its line.
  expect_clean(join({{"j #36"}, kFiveNops, {".align", ".nops 1", "nop", "nop", "mova r0, #1"}}));
  expect_one(join({{"j #40"}, kFiveNops, {".align", ".nops 2"}}), "branch-target", 0,
             "no bundle starts at the target 0x28");
  expect_one(join({{"nop", "nop", "jz r0, #16", "nop", "nop", "nop", "nop", "nop", ".nops 1"}}),
             "branch-target", 4, "delay slots of another branch");
  expect_one(join({{"jl #48", ".nops 1", "nop", "nop", "nop", "nop"}, {"mova r0, #0", ".align", ".nops 2"}}),
             "return-alignment", 0, "0x1e");
}

TEST(Lint, Locks) {
  expect_one({"acq #48, r0", "nop", "nop", "rel #49, r1"}, "lock-distance", 8, "after 3 bundles");
  expect_clean({"acq #48, r0", "nop", "nop", "nop", "rel #49, r1"});
}

std::vector<std::string> loop_program(const std::string& setup, const std::vector<std::string>& body) {
  return join({{"movxm ls, #144", setup, "movxm le, #160", ".align", ".nops 7"}, body, {".nops 1"}});
}

TEST(Lint, HardwareLoops) {
  const std::vector<std::string> body = {".nops 1", ".long vlda x0, [p0], #64"};
  const auto good =
      join({{"movxm ls, #144", "movx lc, #3", "movxm le, #160", ".align", ".nops 7", ".nops 1"}, body});
  // 16-byte set-up, seven lines, then a body of two bundles at 144.
  expect_clean(good);
  expect_one(loop_program("mova r0, #0", {".nops 1", ".nops 1", ".nops 1"}), "loop-bounds", 10,
             "lc is not set");
  expect_one(
      join({{"movxm ls, #64", "movx lc, #3", "movxm le, #80", ".align", ".nops 3"}, body, {".nops 1"}}),
      "loop-distance", 10, "64 bytes before");
  expect_one(join({{"movxm ls, #144", "movx lc, #3", "movxm le, #158", ".align", ".nops 7", ".nops 2"}}),
             "loop-bounds", 10, "le is 0x9e");
  expect_one(join({{"movxm ls, #144", "movx lc, #3", "movxm le, #160", ".align", ".nops 8",
                    ".long movx lc, #4", ".nops 2"}}),
             "loop-nested", 144, "movx at 0x90");
  expect_one(
      join({{"movxm ls, #@top", "movx lc, #3", "movxm le, #@last", ".align", ".nops 7", "top:", ".nops 1"},
            {"nop", "nop", "nop", "nop", "nop", "nop", "nop", "nop", "last:", ".long st.s8 r0, [p0, #0]",
             ".nops 9"}}),
      "loop-last-store", 160, "st.s8");
}

TEST(Lint, HardwareLoopAlignment) {
  const auto findings = run({"movxm ls, #148", "movx lc, #3", "movxm le, #164", ".align", ".nops 8",
                             "mova r0, #0", ".nops 1", "mova r0, #1", ".nops 1"});
  std::set<std::string_view> rules;
  for (const Finding& f : findings) rules.insert(f.rule);
  EXPECT_EQ(findings.size(), 3u) << show(findings);  // body, length of the last bundle, exit
  EXPECT_EQ(rules, std::set<std::string_view>{"loop-alignment"}) << show(findings);
}

TEST(Lint, EarlyReadAcrossAHardwareLoop) {
  expect_one(join({{"movxm ls, #144", "movx lc, #3", "movxm le, #160", ".align", ".nops 8",
                    ".long add r1, r0, #1", ".long lda r0, [p0], #4", ".nops 9"}}),
             "early-read", 144, "1 bundles after lda");
}

TEST(Lint, ProgramSize) {
  expect_clean({".nops 1024"});
  expect_one({".nops 1024", "nop"}, "program-size", 16384, "2 too many");
}

TEST(Lint, Stack) {
  LintOptions options;
  options.buffers = {{0x70100, 64}};
  // 0x70000 + 128 in the caller, + 128 in the callee.
  const auto program = [](const std::string& frame) {
    return join({{"movxm sp, #458752", "paddxm [sp], #128", ".align", ".long jl #@callee", ".nops 5",
                  "end:", "j #@end"},
                 {".nops 5", ".align", "callee:", frame, "paddxm [sp], #-128", "ret lr"},
                 kFiveNops,
                 {".align"}});
  };
  expect_clean(join({{"movxm sp, #458752", "paddxm [sp], #192", "paddxm [sp], #-192", ".nops 1"}}), options);
  const auto findings = run(program("paddxm [sp], #192"), options);
  ASSERT_EQ(findings.size(), 1u) << show(findings);
  EXPECT_EQ(findings[0].rule, "stack-buffer");
  EXPECT_NE(findings[0].text.find("from 0x70000 to 0x70140"), std::string::npos) << findings[0].text;
  expect_clean(program("paddxm [sp], #192"));  // no buffer told
  expect_one({"paddxm [sp], m1", ".nops 1"}, "stack-unknown", 0, "unknown amount", options);
  expect_one(
      join({{"movxm sp, #458752", ".align", "paddxm [sp], #64", "jz r0, #16"}, kFiveNops, {".nops 1"}}),
      "stack-unknown", 16, "every turn of a loop", options);
}

TEST(Lint, PlaceSkipsPaddingAfterTransfers) {
  Bytes code = build(join({{"ret lr"}, kFiveNops}));
  ASSERT_EQ(code.size(), 14u);
  code.push_back(0x08);
  code.push_back(0xff);
  const Bytes rest = build({"nop"});
  code.insert(code.end(), rest.begin(), rest.end());
  const auto program = place(code);
  ASSERT_TRUE(program.ok()) << program.error().message;
  ASSERT_EQ(program->size(), 7);
  EXPECT_EQ((*program)[6].address, 16u);
  code[0] = 0x08;
  code[1] = code[2] = code[3] = 0xff;
  EXPECT_NE(place(code).error().message.find("address 0x0"), std::string::npos);
}

TEST(Lint, EveryRuleIsDescribed) {
  EXPECT_EQ(lint_rules().size(), 20u);
  for (const LintRule& rule : lint_rules()) EXPECT_FALSE(rule.meaning.empty());
}

}  // namespace
}  // namespace tegula::isa
