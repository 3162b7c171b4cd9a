#include "cli/bench/core_loops.h"

#include <utility>

#include "isa/text.h"

namespace tegula::cli {
namespace {

Result<Bytes> program_of(const std::vector<std::string>& lines) {
  Bytes out;
  for (const std::string& line : lines) {
    TRY_ASSIGN(const isa::Bundle bundle, isa::assemble(line));
    TRY_ASSIGN(const Bytes bytes, isa::encode(bundle));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

std::vector<std::string> repeat(const std::vector<std::string>& lines, int times) {
  std::vector<std::string> out;
  for (int i = 0; i < times; ++i) out.insert(out.end(), lines.begin(), lines.end());
  return out;
}

// Set-up and the start of the hardware loop, whose body of body_bytes starts at `start`.
Result<Bytes> prologue(std::vector<std::string> lines, size_t start, size_t body_bytes, size_t last_bytes) {
  lines.push_back("movxm ls, #" + std::to_string(start));
  lines.push_back("movxm le, #" + std::to_string(start + body_bytes - last_bytes));
  lines.push_back("movxm lc, #0x7fffffff");
  lines.insert(lines.end(), 8, "nop");
  return program_of(lines);
}

// Letters stand for registers that go round: one line per turn.
std::string indexed(std::string line, int i) {
  const std::pair<char, int> names[] = {{'D', i % 4}, {'A', i % 4}, {'B', 4 + i % 4}};
  for (const auto& [name, index] : names) {
    for (size_t at = line.find(name); at != std::string::npos; at = line.find(name))
      line.replace(at, 1, std::to_string(index));
  }
  return line;
}

}  // namespace

Result<CoreLoop> CoreLoop::make(const std::vector<std::string>& setup, const std::vector<std::string>& body) {
  CoreLoop loop;
  loop.memory_ = std::make_unique<std::vector<u8>>(emu::kCoreDataBytes);
  // Blocks of 9 bytes with moderate exponents from the start of each 16 KiB window.
  for (size_t i = 0; i < loop.memory_->size(); ++i)
    (*loop.memory_)[i] = static_cast<u8>(i % 0x4000 % 9 == 0 ? 120 + i % 7 : i * 37);
  TRY_ASSIGN(const Bytes code, program_of(body));
  TRY_ASSIGN(const Bytes last, program_of({body.back()}));
  TRY_ASSIGN(const Bytes first, prologue(setup, 0, code.size(), last.size()));
  TRY_ASSIGN(Bytes program, prologue(setup, first.size(), code.size(), last.size()));
  program.insert(program.end(), code.begin(), code.end());
  if (program.size() > emu::kCoreProgramBytes) return fail(Code::kInvalidArgument, "the loop is too long");
  program.resize(emu::kCoreProgramBytes);
  loop.program_ = std::make_unique<std::vector<u8>>(std::move(program));
  loop.core_ = std::make_unique<emu::Core>();
  loop.core_->set_memory(loop.memory_->data());
  loop.core_->set_program(loop.program_->data());
  loop.core_->reset();
  return loop;
}

Result<void> CoreLoop::run(u64 cycles) {
  const emu::Stop stop = core_->run(cycles);
  if (stop.reason != emu::StopReason::kBudget)
    return fail(Code::kInternal, "the loop stopped: " + stop.fault);
  return {};
}

Result<CoreLoop> int8_loop() {
  std::vector<std::string> body;
  for (int i = 0; i < 64; ++i) {
    const std::string post = i % 8 == 7 ? ", #-448" : ", #64";
    body.push_back(
        indexed("vlda xA, [p0]" + post + ";vldb xB, [p1]" + post + ";vmac dmD, dmD, xA, xB, r0", i));
  }
  return CoreLoop::make({"movxm p0, #0x70000", "movxm p1, #0x74000", "movxm r0, #0x308"}, body);
}

Result<CoreLoop> bfp16_loop() {
  std::vector<std::string> body;
  for (int g = 0; g < 8; ++g) {
    body.push_back("vlda.fill.512 [p0, lf0, r24];vldb.fill.512 [p1, lf1, r25]");
    for (int i = 0; i < 8; ++i) {
      body.push_back(indexed(
          "vlda.pop.576 exA, [p0, lf0, r24];vldb.pop.576 exB, [p1, lf1, r25];vmac.f dmD, dmD, exA, exB, r0",
          i));
    }
  }
  for (int g = 0; g < 9; ++g) body.push_back("padda [p0], #-512;paddb [p1], #-512");
  return CoreLoop::make(
      {"movxm p0, #0x70000", "movxm p1, #0x74000", "movxm r0, #0x30c", "movx r24, #0;mova r25, #0"}, body);
}

Result<CoreLoop> scalar_loop() {
  return CoreLoop::make(
      {"movxm p0, #0x70000"},
      repeat({"add r1, r1, #1", "lda r2, [p0, #4];add r3, r1, r2", "xor r4, r3, r1;mov r5, r4",
              "st r4, [p0, #8];lshl r6, r5, r1", "nop", "mul r7, r1, r6"},
             12));
}

Result<CoreLoop> elementwise_loop() {
  return CoreLoop::make(
      {"movxm p0, #0x70000", "movxm p1, #0x74000", "movx r0, #0x3c"},
      repeat({"vlda x0, [p0, #0];vmac.f dm0, dm0, x0, x1, r0", "vconv.bf16.fp32 wl2, bmll1;vmov x3, x2",
              "vst x2, [p1, #0];vadd.16 x4, x3, x2", "vmul.f dm1, x0, x1, r0;vshuffle x5, x4, x3, r1"},
             12));
}

DatapathLoop::DatapathLoop(u32 conf, emu::MacUnit unit) : elements_(256), exponents_(32), accumulators_(512) {
  for (size_t i = 0; i < elements_.size(); ++i) elements_[i] = static_cast<u8>(i * 37);
  if (unit == emu::MacUnit::kBf16) {
    for (size_t i = 1; i < elements_.size(); i += 2) elements_[i] = static_cast<u8>(0x3C + i % 8);
  }
  for (size_t i = 0; i < exponents_.size(); ++i) exponents_[i] = static_cast<u8>(120 + i % 7);
  std::string why;
  fn_ = emu::select_mac(conf, unit, true, why);
  args_.s1 = elements_.data();
  args_.s2 = elements_.data() + 128;
  args_.e1 = exponents_.data();
  args_.e2 = exponents_.data() + 16;
  args_.s1_bytes = args_.s2_bytes = 64;
  args_.conf = conf;
}

void DatapathLoop::run(u64 times) {
  u8* from = accumulators_.data();
  u8* to = from + 256;
  for (u64 i = 0; i < times; ++i) {
    args_.acc1 = from;
    args_.out = to;
    fn_(args_);
    std::swap(from, to);
  }
}

}  // namespace tegula::cli
