#include "emu/slow/program.h"

#include <algorithm>

#include "isa/text.h"

namespace tegula::emu::slow {

namespace {

using R = isa::Reg;
constexpr u32 kLineBytes = 16, kMainEnd = 0x2600;
// In calm programs r17.. hold the control words: one for each kind of operation.
constexpr u32 kFirstControl = 17, kPositions = 24;
enum ControlKind : u32 {
  kIntegerProduct,
  kElementProduct,
  kBlockProduct,
  kIntegerSum,
  kFloatSum,
  kControlKinds
};
constexpr R kCounter = R::r15, kLoopStart = R::p7, kTarget = R::p6;

u32 align(u32 x) {
  return (x + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// Instructions that may stand anywhere, by slot, with the different forms of one mnemonic together.
struct Choices {
  std::vector<std::vector<isa::Op>> groups;
};

const std::array<Choices, 8>& choices() {
  static const auto all = [] {
    std::array<Choices, 8> out;
    std::array<std::map<std::string, std::vector<isa::Op>>, 8> by_name;
    for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
      const auto op = static_cast<isa::Op>(i);
      const isa::InstrInfo& info = isa::info(op);
      if (rule_of(op) == nullptr || info.delay || info.mnemonic == "done") continue;
      by_name[static_cast<size_t>(info.slot)][plain_mnemonic(info)].push_back(op);
    }
    for (size_t slot = 0; slot < out.size(); ++slot) {
      for (auto& [name, ops] : by_name[slot]) out[slot].groups.push_back(ops);
    }
    return out;
  }();
  return all;
}

u32 slots_of(const isa::Bundle& b) {
  u32 mask = 0;
  for (int i = 0; i < b.count; ++i) {
    mask |= 1u << static_cast<u32>(isa::info(b.instr[static_cast<size_t>(i)].op).slot);
  }
  return mask;
}

isa::Bundle with(isa::Bundle b, const isa::Instr& instr) {
  b.instr[b.count++] = instr;
  return b;
}

}  // namespace

const std::vector<R>& compared_registers() {
  static const auto all = [] {
    std::vector<R> out;
    const auto add = [&](const std::string& name) {
      const R reg = isa::find_reg(name);
      if (reg != R::kNone) out.push_back(reg);
    };
    for (const char* bank : {"r", "p", "m", "dn", "dj", "dc", "s", "x", "e", "q", "dm"}) {
      for (int i = 0; i < 32; ++i) add(bank + std::to_string(i));
    }
    for (const char* name :
         {"lfl0", "lfh0", "lfl1", "lfh1", "sfl", "sfh", "lfe", "sp", "lr", "ls", "le", "lc"})
      add(name);
    for (int i = 0; i < static_cast<int>(R::kCount); ++i) {
      const isa::RegInfo& info = isa::reg_info(static_cast<R>(i));
      if (info.parts.size() == 1 && info.parts[0].bank == isa::Bank::kControl)
        out.push_back(static_cast<R>(i));
    }
    return out;
  }();
  return all;
}

// ---------------------------------------------------------------- start

namespace {

// Memory of several kinds of data: bytes, small integers, bf16 and fp32 of moderate size.
std::vector<u8> random_memory(std::mt19937& random) {
  std::vector<u8> out(kMemoryBytes);
  for (u32 line = 0; line < kMemoryBytes; line += 64) {
    const u32 kind = static_cast<u32>(random() % 5);
    for (u32 i = 0; i < 64; i += 4) {
      const u32 x = static_cast<u32>(random());
      u32 word = x;
      if (kind == 1) word = x & 0x0F0F0F0F;
      if (kind == 2)
        word = (x & 0x80FF80FF) | ((0x3E00 + (x >> 8 & 0x380)) | (0x3E00 + (x >> 20 & 0x380)) << 16);
      if (kind == 3) word = (x & 0x807FFFFF) | (112 + (x >> 23 & 31)) << 23;
      if (kind == 4) word = kOwnBase + (x & 0xFFE8);
      std::memcpy(out.data() + line + i, &word, 4);
    }
  }
  return out;
}

u32 control_word_for(std::mt19937& random) {
  static constexpr u32 kCodes[] = {0x08, 0x28, 0x48, 0x88, 0xC8, 0x10, 0x30, 0x18, 0x38,
                                   0x02, 0x12, 0x1A, 0x3A, 0x5A, 0x7A, 0x3C, 0x0C, 0xCC};
  const u32 code = kCodes[random() % std::size(kCodes)];
  u32 bits = code | (static_cast<u32>(random()) & 0x301);
  if (random() % 3 == 0) bits |= static_cast<u32>(random()) & ((code >> 1 & 3) == 2 ? 0x3800 : 0x3C00);
  return bits;
}

u32 control_word_of(std::mt19937& random, u32 kind) {
  for (;;) {
    const u32 word = control_word_for(random);
    const bool is_float = (word >> 1 & 3) == 2, blocks = is_float && (word >> 3 & 3) == 1;
    if (kind == kIntegerProduct && !is_float) return word;
    if (kind == kElementProduct && is_float && !blocks) return word;
    if (kind == kBlockProduct && blocks && ((word & 0xFE) == 0x0C || random() % 4 == 0)) return word;
    if (kind == kIntegerSum && !is_float) return word;
    if (kind == kFloatSum && is_float) return word;
  }
}

u32 kind_of_control(const isa::InstrInfo& info) {
  const bool is_float = info.mnemonic.ends_with(".f");
  bool product = false, blocks = false;
  for (const isa::OperandInfo& o : info.operands) {
    if (o.name != "s1") continue;
    product = true;
    blocks = isa::reg_info(isa::reg_class(o.cls).members[0]).bits % 9 == 0;
  }
  if (!product) return is_float ? kFloatSum : kIntegerSum;
  return !is_float ? kIntegerProduct : blocks ? kBlockProduct : kElementProduct;
}

u32 interesting(std::mt19937& random) {
  const u32 x = static_cast<u32>(random());
  switch (random() % 8) {
    case 0:
    case 1:
      return control_word_for(random);
    case 2:
      return x % 56;
    case 3:
      return x % 128;
    case 4:
      return kOwnBase + x % kMemoryBytes / 64 * 64;
    case 5:
      return x % 12 << 8 | (x >> 16) % 56;
    case 6:
      if (random() % 4 == 0) return (120 + x % 12) << 23;  // a power of two
      return static_cast<u32>(static_cast<i32>(x) >> (random() % 32));
    default:
      return x;
  }
}

u32 start_word(std::mt19937& random, const isa::RegInfo& info, u32 index) {
  const u32 x = static_cast<u32>(random());
  switch (info.parts[0].bank) {
    case isa::Bank::kP:
      return kOwnBase + 0x1000 + index * 0x1C00 + x % 32 * 64;
    case isa::Bank::kM:
    case isa::Bank::kDj:
      return static_cast<u32>((static_cast<i32>(x % 9) - 4) * 64);
    case isa::Bank::kDn:
      return x % 5;
    case isa::Bank::kS:
      return x % 24;
    case isa::Bank::kDc:
    case isa::Bank::kControl:
      return 0;
    default:
      return interesting(random);
  }
}

}  // namespace

Start random_start(u32 seed) {
  std::mt19937 random(seed);
  Start out;
  out.memory = random_memory(random);
  u32 index = 0;
  for (const R reg : compared_registers()) {
    const isa::RegInfo& info = isa::reg_info(reg);
    u32 bits = 0;
    for (const isa::RegPart& p : info.parts) bits += p.bits;
    Value v = Value::zeros(bits <= 32 ? 4 : bits / 8);
    if (bits <= 32) {
      v.set<u32>(0, start_word(random, info, index++ % 8));
    } else {
      const u32 from = static_cast<u32>(random() % (kMemoryBytes / 64 - 4)) * 64;
      std::copy_n(out.memory.begin() + from, v.size, v.bytes.begin());
    }
    if (info.parts[0].bank == isa::Bank::kR && info.parts[0].bit >= 32 * kFirstControl &&
        info.parts[0].bit < 32 * (kFirstControl + kControlKinds)) {
      v.set<u32>(0, control_word_of(random, info.parts[0].bit / 32 - kFirstControl));
    }
    if (reg == R::crSCDEn || reg == R::crMCDEn) v.set<u32>(0, 1);
    if (reg == R::le || reg == R::ls) v.set<u32>(0, 0xFFFFC);
    if (reg == R::sp) v.set<u32>(0, kOwnBase + 0xC000);
    if (reg == R::r24 || reg == R::r25 || reg == R::r26 || reg == R::lc) v.set<u32>(0, 0);
    out.registers.emplace_back(reg, v);
  }
  static constexpr u32 kRounding[] = {0, 1, 2, 3, 8, 9, 10, 11, 12, 13}, kSaturation[] = {0, 1, 3};
  for (auto& [reg, v] : out.registers) {
    if (reg == R::crRnd) v.set<u32>(0, kRounding[random() % 10]);
    if (reg == R::crSat) v.set<u32>(0, kSaturation[random() % 3]);
    if (isa::reg_info(reg).name.find("Mode") != std::string_view::npos ||
        isa::reg_info(reg).name.find("ize") != std::string_view::npos ||
        isa::reg_info(reg).name.find("ign") != std::string_view::npos) {
      v.set<u32>(0, static_cast<u32>(random() & 1));
    }
  }
  return out;
}

// ---------------------------------------------------------------- operands

ProgramMaker::ProgramMaker(u32 seed, const ProgramOptions& options)
    : random_(seed), options_(options), start_(random_start(seed)), program_(kProgramBytes) {}
ProgramMaker::~ProgramMaker() = default;

isa::Instr ProgramMaker::parse(const std::string& text) {
  const auto bundle = isa::assemble(text);
  return bundle ? bundle->instr[0] : isa::Instr{};
}

i64 ProgramMaker::constant_for(R reg) {
  const isa::RegInfo& info = isa::reg_info(reg);
  const isa::Bank bank = info.parts.empty() ? isa::Bank::kR : info.parts[0].bank;
  static constexpr i64 kSteps[] = {64, 64, 64, 64, 32, 16, 4, 1};
  const i64 step = kSteps[pick(8)];
  switch (bank) {
    case isa::Bank::kP:
      if (chance(6)) return 0x80000 + pick(0x8000) * 4;
      return kOwnBase + 0x400 + pick(0xF000) / step * step;
    case isa::Bank::kM:
    case isa::Bank::kDj:
      return (i64{pick(17)} - 8) * step;
    case isa::Bank::kDn:
      return pick(6);
    case isa::Bank::kDc:
      return pick(3);
    case isa::Bank::kS:
      return chance(10) ? pick(64) : pick(32);
    case isa::Bank::kSpecial:
      return reg == R::lc ? pick(9) : kOwnBase + 0x8000 + pick(0x100) * 64;
    case isa::Bank::kControl:
      return reg == R::crSCDEn || reg == R::crMCDEn ? 1 : pick(16);
    default:
      break;
  }
  if (reg == R::r24 || reg == R::r25 || reg == R::r26) return chance(70) ? 0 : pick(64);
  if (reg == R::r29 || reg == R::r30) return pick(56);
  return static_cast<i32>(interesting(random_));
}

R ProgramMaker::choose_register(const isa::Instr& instr, int operand) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const isa::OperandInfo& o = info.operands[static_cast<size_t>(operand)];
  const auto members = isa::reg_class(o.cls).members;
  const auto any = [&] { return members[pick(static_cast<u32>(members.size()))]; };
  // Values that an operand needs: the first of some tries that has one.
  const auto good = [&](R reg) {
    const u32 value = core_->read_word(reg);
    if (info.mnemonic.find(".tm") != std::string_view::npos && o.name == "ptr") return value > 0x80000;
    if (o.name == "ptr") return value >= kOwnBase && value < kOwnBase + kMemoryBytes;
    if (info.mnemonic.starts_with("vldb.4x") && o.name == "src") return value >> 16 == kOwnBase >> 16;
    if (info.slot == isa::Slot::kVec && o.name == "acc") {
      const bool is_float = info.mnemonic.ends_with(".f");
      if (options_.calm) return isa::reg_info(reg).parts[0].bit / 32 == kFirstControl + kind_of_control(info);
      return value >> 14 == 0 && ((value >> 1 & 3) == 2) == is_float;
    }
    if (o.name == "mod" && info.mnemonic == "vshuffle") return value < 0xC38;
    if (o.name == "shift") return value < 128;
    return true;
  };
  if (!o.is_out && !recent_.empty() && chance(40)) {
    const R recent = recent_[pick(static_cast<u32>(recent_.size()))];
    for (const R reg : members) {
      if (isa::overlaps(reg, recent) && good(reg)) return reg;
    }
  }
  R reg = any();
  for (int tries = 0; tries < 64 && !good(reg); ++tries) reg = any();
  return reg;
}

i64 ProgramMaker::choose_immediate(const isa::Instr& instr, int operand) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const isa::ImmClass& cls = isa::imm_class(info.operands[static_cast<size_t>(operand)].cls);
  const i64 steps = (cls.max - cls.min) / cls.step + 1;
  if (info.mnemonic.starts_with("mov") && info.outs == 1) {
    const i64 value = constant_for(instr.reg(0));
    if (value >= cls.min && value <= cls.max) return value;
  }
  // Of wide fields the small values, which keep pointers where they are useful.
  const i64 near = chance(70) && steps > 64 ? 32 : steps;
  i64 index = static_cast<i64>(random_() % static_cast<u64>(near));
  if (near != steps) index += std::clamp<i64>((0 - cls.min) / cls.step - 16, 0, steps - near);
  return cls.min + index * cls.step;
}

bool ProgramMaker::fill_operands(isa::Instr& instr) {
  const isa::InstrInfo& info = isa::info(instr.op);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const isa::OperandInfo& o = info.operands[i];
    if (o.kind == isa::OperandKind::kImm || !o.has_field) continue;
    instr.operand[i] = static_cast<i64>(choose_register(instr, static_cast<int>(i)));
  }
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].kind != isa::OperandKind::kImm) continue;
    instr.operand[i] = choose_immediate(instr, static_cast<int>(i));
  }
  return isa::complete(instr).ok();
}

isa::Instr ProgramMaker::propose(isa::Slot slot) {
  const auto& groups = choices()[static_cast<size_t>(slot)].groups;
  isa::Instr instr;
  if (groups.empty()) return instr;
  const auto* ops = &groups[pick(static_cast<u32>(groups.size()))];
  for (int tries = 0; tries < 12 && !options_.focus.empty(); ++tries) {
    if (isa::info((*ops)[0]).mnemonic.find(options_.focus) != std::string_view::npos) break;
    ops = &groups[pick(static_cast<u32>(groups.size()))];
  }
  instr.op = (*ops)[pick(static_cast<u32>(ops->size()))];
  if (!fill_operands(instr)) instr.op = isa::Op::kCount;
  return instr;
}

bool ProgramMaker::in_loop(u32 pc) const {
  return std::any_of(loops_.begin(), loops_.end(),
                     [&](const Loop& l) { return pc >= l.begin && pc < l.end; });
}

bool ProgramMaker::calm(const isa::Instr& instr) {
  const isa::InstrInfo& info = isa::info(instr.op);
  if (rule_of(instr.op)->meet != nullptr) return false;
  for (const char* rare : {"vshuffle", "vshift", "vldb.4x", "event", "vst.flush"}) {
    if (info.mnemonic.starts_with(rare) && !chance(2)) return false;
  }
  for (u32 i = 0; i < info.operands.size(); ++i) {
    const isa::OperandInfo& o = info.operands[i];
    if (o.kind == isa::OperandKind::kImm) continue;
    const auto parts = isa::reg_info(instr.reg(static_cast<int>(i))).parts;
    const isa::Bank bank = parts.empty() ? isa::Bank::kX : parts[0].bank;
    const u32 number = parts.empty() ? 0 : parts[0].bit / 32;
    const bool control = bank == isa::Bank::kR && number >= kFirstControl && number < kPositions;
    const bool position = bank == isa::Bank::kR && number >= kPositions && number < kPositions + 3;
    const bool address = bank == isa::Bank::kP || bank == isa::Bank::kM || bank == isa::Bank::kDn ||
                         bank == isa::Bank::kDj || bank == isa::Bank::kDc;
    if (info.slot == isa::Slot::kVec && o.name == "acc" && number != kFirstControl + kind_of_control(info))
      return false;
    if (o.is_out && control) return false;
    const bool data =
        o.name == "dst" || o.name == "src" || o.name == "d0" || o.name == "s0" || o.name == "s1";
    if (data && (address || position)) return false;
    if (o.is_out && position && info.mnemonic.find("512") == std::string_view::npos &&
        info.mnemonic.find("5") == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

// Registers that hold the structure together stay as they are; blocks of infinities have no meaning.
bool ProgramMaker::allowed(const isa::Instr& instr, u32 pc) {
  const auto inside = [&](const auto& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& r) { return pc >= r.first && pc < r.second; });
  };
  const bool function = inside(functions_), counted = function || in_loop(pc), hardware = inside(hardware_);
  const isa::InstrInfo& info = isa::info(instr.op);
  if (options_.calm && !calm(instr)) return false;
  for (u32 i = 0; i < info.outs; ++i) {
    const R reg = instr.reg(static_cast<int>(i));
    if (reg == R::ls || reg == R::le || reg == R::lr) return false;
    if (reg == R::lc && hardware) return false;
    if ((reg == R::crSCDEn || reg == R::crMCDEn) && !chance(10)) return false;
    if (reg == R::sp && !chance(5)) return false;
    if (counted && (isa::overlaps(reg, kCounter) || isa::overlaps(reg, kLoopStart))) return false;
    const isa::Bank bank =
        isa::reg_info(reg).parts.empty() ? isa::Bank::kR : isa::reg_info(reg).parts[0].bank;
    const bool address = bank == isa::Bank::kP || bank == isa::Bank::kDn || bank == isa::Bank::kDc;
    if (address && info.operands[i].tied_to < 0 && info.operands[i].has_field &&
        !info.mnemonic.starts_with("movx") && !chance(10)) {
      return false;
    }
  }
  if (info.mnemonic.find("conv.bfp16") != std::string_view::npos && info.mnemonic.ends_with("fp32")) {
    for (size_t i = 0; i < info.operands.size(); ++i) {
      if (info.operands[i].name != "src") continue;
      const Value v = core_->read(instr.reg(static_cast<int>(i)));
      for (u32 k = 0; k < 64; ++k) {
        if ((v.get<u32>(k) >> 23 & 0xFF) == 0xFF) return false;
      }
    }
  }
  return true;
}

// ---------------------------------------------------------------- bundles

u32 ProgramMaker::room(u32 pc) const {
  u32 out = kLineBytes;
  if (const auto b = boundaries_.upper_bound(pc); b != boundaries_.end()) out = std::min(out, *b - pc);
  if (const auto m = made_.upper_bound(pc); m != made_.end()) out = std::min(out, *m - pc);
  return out;
}

bool ProgramMaker::emit(u32 pc, isa::Bundle bundle) {
  const u32 most = room(pc), mask = slots_of(bundle);
  const bool full = full_.count(pc) != 0;
  std::vector<u8> formats;
  u8 shortest = 255;
  for (int i = 0; i < isa::format_count(); ++i) {
    const auto format = static_cast<u8>(i);
    const u8 bytes = isa::format_bytes(format);
    if ((isa::format_slots(format) & mask) != mask || bytes > most || (full && bytes != kLineBytes)) continue;
    formats.push_back(format);
    if (shortest == 255 || bytes < isa::format_bytes(shortest)) shortest = format;
  }
  if (formats.empty()) return false;
  bundle.format = chance(60) ? shortest : formats[pick(static_cast<u32>(formats.size()))];
  bundle.bytes = isa::format_bytes(bundle.format);
  const auto code = isa::encode(bundle);
  if (!code) return false;
  std::copy(code->begin(), code->end(), program_.begin() + pc);
  std::copy(code->begin(), code->end(), core_->program.begin() + pc);
  made_.insert(pc);
  return true;
}

// A bundle of random instructions around those given.
bool ProgramMaker::plain(u32 pc, std::vector<isa::Instr> fixed) {
  isa::Bundle bundle;
  for (const isa::Instr& instr : fixed) bundle = with(bundle, instr);
  const auto fits = [&](const isa::Bundle& b) {
    const int format = isa::best_format(slots_of(b));
    return format >= 0 && isa::format_bytes(static_cast<u8>(format)) <= room(pc);
  };
  if (!fits(bundle)) {
    if (!fixed.empty()) return false;
    bundle.count = 0;
  }
  using S = isa::Slot;
  std::array<S, 7> order = {S::kLda, S::kLdb, S::kAlu, S::kMv, S::kSt, S::kVec, S::kLng};
  std::shuffle(order.begin(), order.end(), random_);
  const u32 fill = 20 + pick(80);
  for (const S slot : order) {
    if (!chance(slot == S::kLng ? fill / 4 : fill) || bundle.count >= 6) continue;
    const u32 taken = slots_of(bundle);
    if ((taken >> static_cast<u32>(slot) & 1) != 0) continue;
    for (int tries = 0; tries < 5; ++tries) {
      const isa::Instr instr = propose(slot);
      if (instr.op == isa::Op::kCount || !allowed(instr, pc)) continue;
      const isa::Bundle more = with(bundle, instr);
      if (!fits(more)) break;
      if (core_->refuses(more) >= 0) continue;
      bundle = more;
      for (u32 i = 0; i < isa::info(instr.op).outs; ++i) recent_.push_back(instr.reg(static_cast<int>(i)));
      break;
    }
  }
  if (recent_.size() > 10) recent_.erase(recent_.begin(), recent_.end() - 10);
  return emit(pc, bundle);
}

// ---------------------------------------------------------------- structure

bool ProgramMaker::free_until(u32 from, u32 to) const {
  const auto b = boundaries_.upper_bound(from);
  const auto m = made_.lower_bound(from);
  return to < kMainEnd + 0x1800 && (b == boundaries_.end() || *b > to) && (m == made_.end() || *m > to);
}

bool ProgramMaker::hardware_loop(u32 pc) {
  if (!free_until(pc, pc + 0x230)) return false;
  const u32 last = align(pc + 3 * kLineBytes + 96) + kLineBytes * pick(options_.calm ? 20 : 4);
  const u32 start = last - kLineBytes * pick(options_.calm ? 20 : 5);
  const u32 count = chance(15) ? pick(40) : pick(9);
  std::array<std::string, 3> lines = {"movxm ls, #" + std::to_string(start),
                                      "movxm le, #" + std::to_string(last),
                                      (chance(40)   ? "movxm lc, #"
                                       : chance(50) ? "movx lc, #"
                                                    : "mova lc, #") +
                                          std::to_string(count)};
  std::shuffle(lines.begin(), lines.end(), random_);
  boundaries_.insert({start, last, last + kLineBytes});
  full_.insert(last);
  hardware_.emplace_back(pc, last + kLineBytes);
  u32 at = pc;
  for (const std::string& line : lines) {
    isa::Bundle bundle;
    if (!emit(at, with(bundle, parse(line)))) return false;
    fixed_.insert(at);
    at += static_cast<u32>(isa::bundle_length(program_[at]));
  }
  return true;
}

bool ProgramMaker::forward_branch(u32 pc) {
  const u32 target = align(pc + 8 * kLineBytes) + kLineBytes * pick(6);
  if (!free_until(pc, target)) return false;
  const std::string to = std::to_string(target), reg = "r" + std::to_string(pick(32));
  const u32 kind = pick(4);
  u32 at = pc;
  if (kind == 3) {
    if (core_->in_flight(kTarget)) return false;
    isa::Bundle bundle;
    if (!emit(at, with(bundle, parse("movxm p6, #" + to)))) return false;
    fixed_.insert(at);
    at += static_cast<u32>(isa::bundle_length(program_[at]));
    if (!emit(at, with(bundle, parse("j p6")))) return false;
  } else {
    const std::string text = kind == 0 ? "j #" + to : (kind == 1 ? "jz " : "jnz ") + reg + ", #" + to;
    if (!plain(at, {parse(text)})) return false;
  }
  boundaries_.insert(target);
  fixed_.insert(at);
  return true;
}

bool ProgramMaker::software_loop(u32 pc) {
  if (in_loop(pc) || core_->in_flight(kCounter) || core_->in_flight(kLoopStart)) return false;
  const u32 begin = align(pc + 2 * kLineBytes),
            end = begin + kLineBytes * (2 + pick(options_.calm ? 50 : 24));
  if (!free_until(pc, end + 9 * kLineBytes)) return false;
  isa::Bundle bundle;
  if (!emit(pc, with(bundle, parse("movxm r15, #" + std::to_string(1 + pick(4)))))) return false;
  const u32 next = pc + static_cast<u32>(isa::bundle_length(program_[pc]));
  if (!emit(next, with(bundle, parse("movxm p7, #" + std::to_string(begin))))) return false;
  fixed_.insert({pc, next});
  boundaries_.insert({begin, end});
  actions_[end] = Action::kLoopEnd;
  loops_.push_back({pc, end + 9 * kLineBytes});
  return true;
}

bool ProgramMaker::call(u32 pc) {
  const u32 length = kLineBytes * (2 + pick(10));
  if (pc % kLineBytes != 0 || next_function_ + length + 0x80 > kProgramBytes) return false;
  const u32 function = next_function_;
  const bool indirect = chance(40);
  const u32 at = indirect ? pc + kLineBytes : pc;
  if (!free_until(pc, at + 6 * kLineBytes) || core_->in_flight(R::lr) || core_->in_flight(kTarget))
    return false;
  isa::Bundle nop;
  nop.format = static_cast<u8>(isa::best_format(0x3F));  // all slots but lng
  nop.bytes = kLineBytes;
  const auto code = isa::encode(nop);
  if (!code || code->size() != kLineBytes) return false;
  if (indirect) {
    full_.insert(pc);
    isa::Bundle bundle;
    if (!emit(pc, with(bundle, parse("movxm p6, #" + std::to_string(function))))) return false;
    fixed_.insert(pc);
  }
  for (u32 i = 0; i <= 6; ++i) {
    boundaries_.insert(at + i * kLineBytes);
    if (i < 6) full_.insert(at + i * kLineBytes);
    if (i == 6) break;
    // Their length decides the return address before they are made.
    std::copy(code->begin(), code->end(), program_.begin() + at + i * kLineBytes);
    std::copy(code->begin(), code->end(), core_->program.begin() + at + i * kLineBytes);
  }
  isa::Bundle bundle;
  const bool ok = indirect ? emit(at, with(bundle, parse("jl p6")))
                           : plain(at, {parse("jl #" + std::to_string(function))});
  if (!ok) return false;
  fixed_.insert(at);
  actions_[function + length] = Action::kReturn;
  boundaries_.insert({function, function + length});
  functions_.emplace_back(function, function + length + 0x70);
  next_function_ += length + 0x80;
  return true;
}

bool ProgramMaker::structure(u32 pc) {
  const auto inside = [&](const auto& ranges) {
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& r) { return pc >= r.first && pc < r.second; });
  };
  if (inside(hardware_) || inside(functions_)) return false;
  switch (pick(4)) {
    case 0:
      return hardware_loop(pc);
    case 1:
      return forward_branch(pc);
    case 2:
      return software_loop(pc);
    default:
      return call(pc);
  }
}

bool ProgramMaker::act(u32 pc, Action action) {
  fixed_.insert(pc);
  if (action == Action::kReturn) return plain(pc, {parse("ret lr")});
  if (chance(50)) return plain(pc, {parse("jnzd r15, r15, p7")});
  isa::Bundle bundle;
  if (!emit(pc, with(bundle, parse("add r15, r15, #-1")))) return false;
  const u32 next = pc + static_cast<u32>(isa::bundle_length(program_[pc]));
  fixed_.insert(next);
  return emit(next, with(bundle, parse("jnz r15, #" + std::to_string(core_->read_word(kLoopStart)))));
}

bool ProgramMaker::extend(u32 pc) {
  if (pc % 2 != 0 || pc + 2 * kLineBytes > kProgramBytes) return false;
  if (const auto a = actions_.find(pc); a != actions_.end()) return act(pc, a->second);
  if (core_->branch_delay != 0) return plain(pc);
  const auto ahead = boundaries_.upper_bound(pc);
  const bool inside = pc >= 0x2800 || in_loop(pc);
  if (!inside && (made_.size() >= options_.bundles || pc > kMainEnd) &&
      (ahead == boundaries_.end() || *ahead >= 0x2800)) {
    fixed_.insert(pc);
    return plain(pc, {parse("done")});
  }
  if (options_.calm && pc == 0 && forward_branch(pc)) return true;
  if (chance(options_.calm ? 3 : 5) && structure(pc)) return true;
  if (made_.count(pc) != 0) return true;  // a structure that came to nothing
  if (chance(25)) {
    static const auto kUseful = [] {
      std::vector<R> out;
      for (const char* bank : {"p", "p", "m", "dn", "dj", "dc", "s", "r"}) {
        for (int i = 0; i < 8; ++i) {
          if (const R reg = isa::find_reg(bank + std::to_string(i)); reg != R::kNone) out.push_back(reg);
        }
      }
      for (const R reg : {R::r24, R::r25, R::r26, R::r29, R::r30, R::sp, R::crSCDEn, R::crMCDEn})
        out.push_back(reg);
      return out;
    }();
    const R reg = kUseful[pick(static_cast<u32>(kUseful.size()))];
    const isa::Instr set =
        parse("movxm " + std::string(isa::reg_info(reg).name) + ", #" + std::to_string(constant_for(reg)));
    isa::Bundle bundle = with({}, set);
    if (set.op != isa::Op::kCount && allowed(set, pc) && core_->refuses(bundle) < 0 && plain(pc, {set}))
      return true;
  }
  return plain(pc);
}

// ---------------------------------------------------------------- running

// Takes the instruction to blame out of its bundle, or the one in its way where it has to stay.
bool ProgramMaker::repair(const Core::Step& step) {
  return take_out({step.pc, step.instr}) || take_out(step.other);
}

bool ProgramMaker::take_out(Place at) {
  if (at.pc >= kProgramBytes || made_.count(at.pc) == 0) return false;
  const auto bundle = isa::decode(ByteSpan(program_).subspan(at.pc));
  if (!bundle || at.index >= bundle->count) return false;
  const isa::Instr& instr = bundle->instr[static_cast<size_t>(at.index)];
  const isa::InstrInfo& info = isa::info(instr.op);
  if (fixed_.count(at.pc) != 0) {
    const R out = info.outs > 0 ? instr.reg(0) : R::kNone;
    for (const R reg : {R::ls, R::le, R::lc, kCounter, kLoopStart, kTarget}) {
      if (out == reg) return false;
    }
  }
  if (info.delay || info.mnemonic == "done") return false;
  isa::Bundle less = *bundle;
  less.count = 0;
  for (int i = 0; i < bundle->count; ++i) {
    if (i != at.index) less.instr[less.count++] = bundle->instr[static_cast<size_t>(i)];
  }
  const auto code = isa::encode(less);
  if (!code || code->size() != bundle->bytes) return false;
  std::copy(code->begin(), code->end(), program_.begin() + at.pc);
  return true;
}

bool ProgramMaker::run() {
  executed_.clear();
  issued_ = 0;
  for (u32 cycles = 0; cycles < options_.most_cycles; ++cycles) {
    const u32 pc = core_->pc;
    if (made_.count(pc) == 0 && !extend(pc)) return give_up("nothing fits at " + std::to_string(pc));
    isa::Bundle bundle;
    if (isa::try_decode(ByteSpan(program_).subspan(pc), bundle)) {
      for (int i = 0; i < bundle.count; ++i) ++executed_[bundle.instr[static_cast<size_t>(i)].op];
    }
    ++issued_;
    const Core::Step step = core_->step();
    if (step.status == Core::Status::kDone) {
      finished_ = true;
      return true;
    }
    if (step.status != Core::Status::kRunning) return repair(step) || give_up(step.why);
  }
  return give_up("too long");
}

bool ProgramMaker::give_up(const std::string& why) {
  why_ = why;
  return false;
}

bool ProgramMaker::make() {
  for (int tries = 0; tries < 400 && !finished_; ++tries) {
    core_ = std::make_unique<Core>();
    core_->memory = start_.memory;
    core_->program = program_;
    for (const auto& [reg, value] : start_.registers) core_->write(reg, value);
    if (!run()) return false;
  }
  return finished_ || give_up("too many repairs");
}

}  // namespace tegula::emu::slow
