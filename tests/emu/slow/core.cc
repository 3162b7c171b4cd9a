#include "emu/slow/core.h"

#include <algorithm>

namespace tegula::emu::slow {

namespace {

constexpr u32 kAddressMask = 0xFFFFF;
constexpr u32 kTileBase = 0x80000;
constexpr u32 kDelayBundles = 5;
constexpr u32 kRetireCycles = 5;  // between done and the halt of the core

// Status registers whose bits nobody has described, and the FIFO lines, whose contents between two operations
// are not described either.
bool undescribed(isa::Reg reg) {
  using R = isa::Reg;
  return reg == R::srFPFlags || reg == R::srF2IFlags || reg == R::srF2FFlags || reg == R::srF2BFlags ||
         reg == R::srFPNlf || reg == R::srFPCnvFx2Fl || reg == R::srFPCnvFl2Fx || reg == R::srSparse_of ||
         reg == R::srFifo_of || reg == R::srFifo_uf || reg == R::pe2_ads;
}

// Which exceptions are raised as events changes no result.
bool exception_mask(isa::Reg reg) {
  return isa::reg_info(reg).name.starts_with("cr") && isa::reg_info(reg).name.ends_with("ask");
}

u32 cycle_of(isa::OperandTiming t) {
  return std::max<u32>(t.cycle, 1);
}

}  // namespace

i64 Value::lane(u32 bits, u32 index, bool is_signed) const {
  switch (bits) {
    case 8:
      return is_signed ? i64{get<i8>(index)} : i64{get<u8>(index)};
    case 16:
      return is_signed ? i64{get<i16>(index)} : i64{get<u16>(index)};
    case 32:
      return is_signed ? i64{get<i32>(index)} : i64{get<u32>(index)};
    default:
      return get<i64>(index);
  }
}

void Value::set_lane(u32 bits, u32 index, i64 x) {
  for (u32 i = 0; i < bits / 8; ++i) bytes[index * bits / 8 + i] = static_cast<u8>(x >> (8 * i));
}

std::string plain_mnemonic(const isa::InstrInfo& info) {
  std::string text(info.mnemonic);
  for (const char* dims : {".2d", ".3d"}) {
    if (const auto at = text.find(dims); at != std::string::npos) text.erase(at, 3);
  }
  return text;
}

const Rules& rules() {
  static const Rules all = [] {
    Rules r;
    add_scalar(r);
    add_vector(r);
    add_permute(r);
    add_convert(r);
    add_matrix(r);
    add_memory(r);
    add_outside(r);
    return r;
  }();
  return all;
}

const Rule* rule_of(isa::Op op) {
  static const auto table = [] {
    std::vector<const Rule*> out;
    for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
      const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
      // The name decides first: some mnemonics stand for several operations.
      auto it = rules().find("=" + std::string(info.name));
      if (it == rules().end()) it = rules().find(plain_mnemonic(info));
      out.push_back(it == rules().end() || it->second.compute == nullptr ? nullptr : &it->second);
    }
    return out;
  }();
  return table[static_cast<size_t>(op)];
}

Flight::Flight(const isa::Instr& instruction, u64 issued, u32 at)
    : instr(instruction),
      info(&isa::info(instruction.op)),
      timing(&isa::timing(instruction)),
      mnemonic(info->mnemonic),
      issue(issued),
      pc(at) {}

int Flight::find(std::string_view operand) const {
  for (size_t i = 0; i < info->operands.size(); ++i) {
    if (info->operands[i].name == operand) return static_cast<int>(i);
  }
  return -1;
}

u32 Flight::control(isa::Reg reg) const {
  for (size_t i = 0; i < timing->implicit_uses.size(); ++i) {
    if (timing->implicit_uses[i].first == reg) return implicit[i].get<u32>(0);
  }
  throw Illegal{"control register not read by " + std::string(info->name)};
}

bool Flight::sign() const {
  for (size_t i = 0; i < timing->implicit_uses.size(); ++i) {
    const std::string_view name = isa::reg_info(timing->implicit_uses[i].first).name;
    if (name.ends_with("ign0") || name.ends_with("ign1")) return (implicit[i].get<u32>(0) & 1) != 0;
  }
  throw Illegal{"no sign register read by " + std::string(info->name)};
}

void Flight::out(std::string_view operand, const Value& value) {
  const auto i = static_cast<size_t>(find(operand));
  results.push_back({instr.reg(static_cast<int>(i)), value, timing->operand[i], false});
}

void Flight::out_implicit(isa::Reg reg, u32 value) {
  for (const auto& [def, when] : timing->implicit_defs) {
    if (def == reg) results.push_back({reg, Value::of<u32>(value), when, false});
  }
}

void Flight::raise_flag(isa::Reg reg) {
  for (const auto& [def, when] : timing->implicit_defs) {
    if (def == reg) results.push_back({reg, Value::of<u32>(1), when, true});
  }
}

Registers::Registers() {
  for (size_t i = 0; i < banks.size(); ++i)
    banks[i].resize(isa::bank_bits(static_cast<isa::Bank>(i)) / 8 + 8);
}

u32 Registers::part(const isa::RegPart& part) const {
  u32 word;
  std::memcpy(&word, banks[static_cast<size_t>(part.bank)].data() + part.bit / 8, 4);
  return part.bits < 32 ? word & ((1u << part.bits) - 1) : word;
}

Value Registers::read(isa::Reg reg) const {
  Value v = Value::zeros(0);
  for (const isa::RegPart& p : isa::reg_info(reg).parts) {
    if (p.bits <= 32) {
      const u32 word = part(p);
      std::memcpy(v.bytes.data() + v.size, &word, 4);
      v.size += 4;
    } else {
      std::memcpy(v.bytes.data() + v.size, banks[static_cast<size_t>(p.bank)].data() + p.bit / 8, p.bits / 8);
      v.size += p.bits / 8;
    }
  }
  return v;
}

void Registers::write(isa::Reg reg, const Value& value) {
  u32 at = 0;
  for (const isa::RegPart& p : isa::reg_info(reg).parts) {
    u8* to = banks[static_cast<size_t>(p.bank)].data() + p.bit / 8;
    if (p.bits <= 32) {
      u32 word;
      std::memcpy(&word, value.bytes.data() + at, 4);
      const u32 bits = p.bank == isa::Bank::kControl ? control_bits(reg) : p.bits;
      if (bits < 32) word &= (1u << bits) - 1;
      std::memcpy(to, &word, 4);
      at += 4;
    } else {
      // A value shorter than the register leaves the rest as it is.
      if (at < value.size)
        std::memcpy(to, value.bytes.data() + at, std::min<u32>(p.bits / 8, value.size - at));
      at += p.bits / 8;
    }
  }
}

Core::Core() : memory(kMemoryBytes), program(kProgramBytes) {}

// Results whose time has come, in order of their cycles.
void Core::commit() {
  for (const Pending& p : pending_) {
    if (p.due != cycle) continue;
    if (p.result.sticky) {
      write_word(p.result.reg, read_word(p.result.reg) | p.result.value.get<u32>(0));
    } else {
      write(p.result.reg, p.result.value);
    }
  }
  std::erase_if(pending_, [this](const Pending& p) { return p.due <= cycle; });
  std::erase_if(reserved_, [this](const Reserved& r) { return r.due <= cycle; });
  std::erase_if(busy_, [this](const Busy& b) { return b.until <= cycle; });
}

// A read through a bypass sees, one cycle early, what an instruction of the same bypass will write.
Value Core::read_with(isa::Reg reg, isa::Bypass bypass) const {
  const auto early = [&](const Pending& p) {
    return bypass != isa::Bypass::kNone && p.due == cycle + 1 && p.result.timing.bypass == bypass;
  };
  if (std::none_of(pending_.begin(), pending_.end(), early)) return read(reg);
  Registers ahead = registers_;
  for (const Pending& p : pending_) {
    if (early(p)) ahead.write(p.result.reg, p.result.value);
  }
  return ahead.read(reg);
}

void Core::sample(Flight& f) {
  const u64 now = cycle - f.issue + 1;
  for (size_t i = 0; i < f.info->operands.size(); ++i) {
    const isa::OperandInfo& o = f.info->operands[i];
    if (o.kind != isa::OperandKind::kReg || o.is_out || cycle_of(f.timing->operand[i]) != now) continue;
    f.inputs[i] = read_with(f.instr.reg(static_cast<int>(i)), f.timing->operand[i].bypass);
  }
  for (size_t i = 0; i < f.timing->implicit_uses.size(); ++i) {
    const auto& [reg, when] = f.timing->implicit_uses[i];
    if (cycle_of(when) == now) f.implicit[i] = read_with(reg, when.bypass);
  }
}

void Core::check_address(Flight& f) const {
  if (f.address < kOwnBase || f.address > kOwnBase + kMemoryBytes - f.size)
    f.illegal("address outside the memory");
}

// Address and pointer update, from the registers as they are now.
void Core::form_address(Flight& f) {
  const u32 base = read_word(f.has("ptr") ? f.reg("ptr") : isa::Reg::sp);
  const bool post = f.has("ptr_out") || f.mnemonic == "paddxm";
  if (f.size != 0) {
    u32 index = 0;
    if (!post) index = f.has("dj") ? read_word(f.reg("dj")) : static_cast<u32>(f.imm("imm"));
    f.address = (base + index) & kAddressMask;
    check_address(f);
    if (f.address % f.size != 0) f.illegal("address not aligned");
  }
  if (f.mnemonic.find(".tm") != std::string_view::npos) {
    const u32 index = post ? 0 : f.has("dj") ? read_word(f.reg("dj")) : static_cast<u32>(f.imm("imm"));
    f.address = (base + index) & kAddressMask;
    if (f.address < kTileBase || f.address % 4 != 0) f.illegal("no tile register");
  }
  if (post) step_pointer(f, base);
}

void Core::step_pointer(Flight& f, u32 base) {
  enum { kM, kDn, kDj, kDc, kHigh };  // parts of a d register; those of the second follow in a 3D pair
  const auto part = [&](int which) {
    return registers_.part(isa::reg_info(f.reg("mod")).parts[static_cast<size_t>(which)]);
  };
  u32 step = 0;
  if (f.has("dcl")) {
    u32 low = part(kDc), high = part(kHigh + kDc);
    if (low > part(kDn) || high > part(kHigh + kDn)) f.illegal("counter beyond its size");
    if (low != part(kDn)) {
      step = part(kDj), low += 1;
    } else if (high != part(kHigh + kDn)) {
      step = part(kHigh + kDj), low = 0, high += 1;
    } else {
      step = part(kM), low = 0, high = 0;
    }
    f.out_word("dcl", low);
    f.out_word("dch", high);
  } else if (f.has("dc")) {
    u32 count = part(kDc);
    if (count > part(kDn)) f.illegal("counter beyond its size");
    if (count == part(kDn)) {
      step = part(kM), count = 0;
    } else {
      step = part(kDj), count += 1;
    }
    f.out_word("dc", count);
  } else {
    step = f.has("mod") ? read_word(f.reg("mod")) : static_cast<u32>(f.imm("imm"));
  }
  if (f.mnemonic == "paddxm") {
    f.out_implicit(isa::Reg::sp, base + step);
  } else {
    f.out_word("ptr_out", base + step);
  }
}

// Four addresses out of the eight words of the source. A table lies twice, 32 bytes of it in each 64: the word
// counts bytes of both copies, odd reads are of the second.
void Core::form_lookup(Flight& f) const {
  const u32 entry = f.mnemonic.find("4x16") != std::string_view::npos   ? 4
                    : f.mnemonic.find("4x32") != std::string_view::npos ? 8
                                                                        : 16;
  const u32 first = f.mnemonic.ends_with(".hi") ? 4 : 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 word = f.in("src").get<u32>(first + i);
    const u32 row = word / 64, place = word % 64 / entry * entry / 2;
    f.address = row * 64 + place + (i % 2 != 0 ? 32 : 0);
    if (f.address < kOwnBase || f.address > kOwnBase + kMemoryBytes - 8)
      f.illegal("look-up outside the memory");
    f.gather.push_back(f.address);
  }
}

// Streams of bytes: the next one to pop is at p - position, the next one to push at p + position.
void Core::form_fifo(Flight& f) {
  const bool store = f.has("avail");
  const u32 p = read_word(f.reg("ptr"));
  const u32 position = read_word(f.reg(store ? "avail" : "pos"));
  if (position > 128) f.illegal("FIFO position beyond two lines");
  if (f.mnemonic.find(".flush") != std::string_view::npos) return;
  if (store) {
    f.address = (p + position) & kAddressMask;
    check_address(f);
    const u32 total = position + f.size;
    f.out_word("ptr_out", p + total / 64 * 64);
    f.out_word("avail_out", total % 64);
    return;
  }
  u32 brought = 64;
  if (f.mnemonic.find(".fill") != std::string_view::npos) {
    brought = 64 - p % 64;
    if (position + brought > 128) f.illegal("FIFO filled beyond two lines");
  } else {
    f.address = (p - position) & kAddressMask;
    check_address(f);
    if (position + 64 < f.size) f.illegal("FIFO empty");
  }
  f.out_word("ptr", p + brought);
  f.out_word("pos", position + brought - f.size);
}

void Core::reserve(const Flight& f, std::vector<Reserved>& outs, std::vector<Busy>& units) const {
  const auto claim = [&](isa::Reg reg, isa::OperandTiming when, bool sticky) {
    if (undescribed(reg)) return;
    const u64 due = f.issue + cycle_of(when);
    for (const std::vector<Reserved>* list :
         std::initializer_list<const std::vector<Reserved>*>{&reserved_, &outs}) {
      for (const Reserved& r : *list) {
        if (r.due == due && isa::overlaps(r.reg, reg) && !(sticky && r.sticky))
          throw Illegal{"two results in one register in one cycle", f.pc, f.index, r.place};
      }
    }
    outs.push_back({due, reg, sticky, {f.pc, f.index}});
  };
  for (size_t i = 0; i < f.info->outs; ++i) {
    claim(f.instr.reg(static_cast<int>(i)), f.timing->operand[i], false);
  }
  for (const auto& [reg, when] : f.timing->implicit_defs) {
    claim(reg, when, isa::reg_info(reg).name.starts_with("sr") && reg != isa::Reg::srCarry);
  }
  std::vector<Busy> own;
  for (const isa::UnitUse& u : f.timing->units) {
    const Busy mine{f.issue + u.start, f.issue + u.start + u.cycles, u.unit, u.weak, {f.pc, f.index}};
    for (const std::vector<Busy>* list : std::initializer_list<const std::vector<Busy>*>{&busy_, &units}) {
      for (const Busy& b : *list) {
        if (b.unit == mine.unit && b.from < mine.until && mine.from < b.until && !(b.weak && mine.weak)) {
          throw Illegal{"two instructions in one unit: " + std::string(isa::unit_name(b.unit)), f.pc, f.index,
                        b.place};
        }
      }
    }
    own.push_back(mine);
  }
  units.insert(units.end(), own.begin(), own.end());
}

void Core::compute(Flight& f) {
  f.computed = true;
  const Rule* rule = rule_of(f.instr.op);
  rule->compute(f);
  for (const Flight::Result& r : f.results) {
    if (r.sticky) continue;
    if (!legal_control(r.reg, r.value.get<u32>(0))) f.illegal("reserved value of a control register");
  }
}

void Core::queue(Flight& f) {
  for (const Flight::Result& r : f.results) pending_.push_back({f.issue + cycle_of(r.timing), r, f.pc});
  f.results.clear();
}

// Rules of control flow that have no meaning for the hardware when broken.
void Core::check_flow(const isa::Bundle& bundle) const {
  bool branches = false;
  for (int i = 0; i < bundle.count; ++i) {
    const isa::InstrInfo& info = isa::info(bundle.instr[static_cast<size_t>(i)].op);
    if ((info.delay || info.mnemonic == "done") && branch_delay != 0) throw Illegal{"branch in delay slots"};
    branches |= info.delay;
    for (size_t k = 0; k < info.outs; ++k) {
      const isa::Reg reg = bundle.instr[static_cast<size_t>(i)].reg(static_cast<int>(k));
      branches |= reg == isa::Reg::lc || reg == isa::Reg::ls || reg == isa::Reg::le;
    }
  }
  if (read_word(isa::Reg::lc) != 0 && read_word(isa::Reg::le) == pc && (branches || branch_delay != 0)) {
    throw Illegal{"branch or loop register at the end of a hardware loop"};
  }
}

// Reads of the cascade by loads and by accumulations take their words in different cycles: which comes first
// when they are close is not described.
void Core::check_cascade(const Flight& f, const Flights& bundle) const {
  for (const Flights* list : {&flights_, &bundle}) {
    for (const auto& other : *list) {
      if (other.get() == &f || other->info->slot == f.info->slot) continue;
      if (other->info->syntax.find("scd") != std::string_view::npos) throw Illegal{"order of cascade reads"};
    }
  }
}

Core::Flights Core::prepare(const isa::Bundle& bundle, int& which, std::vector<Reserved>& outs,
                            std::vector<Busy>& units) {
  Flights out;
  check_flow(bundle);
  for (which = 0; which < bundle.count; ++which) {
    const isa::Instr& instr = bundle.instr[static_cast<size_t>(which)];
    if (isa::info(instr.op).mnemonic.starts_with("nop")) continue;
    const Rule* rule = rule_of(instr.op);
    if (rule == nullptr) throw Illegal{"no rule for " + std::string(isa::info(instr.op).name)};
    out.push_back(std::make_unique<Flight>(instr, cycle, pc));
    Flight& f = *out.back();
    f.index = which;
    reserve(f, outs, units);
    for (size_t i = 0; i < f.info->operands.size(); ++i) {
      if (!f.info->operands[i].is_out)
        f.last_sample = std::max(f.last_sample, cycle_of(f.timing->operand[i]));
    }
    for (const auto& [reg, when] : f.timing->implicit_uses) {
      if (!undescribed(reg) && !exception_mask(reg)) f.last_sample = std::max(f.last_sample, cycle_of(when));
    }
    f.loads = f.info->load && f.mnemonic.substr(0, 2) != "st";
    f.stores = f.info->store;
    if (f.loads) f.last_sample = std::max<u32>(f.last_sample, f.timing->memory_first);
    f.size = rule->memory_bytes;
    if (rule->meet != nullptr) f.last_sample = std::max(f.last_sample, 2u);
    for (const auto& [reg, when] : f.timing->implicit_uses) {
      const bool enable = reg == isa::Reg::crSCDEn || reg == isa::Reg::crMCDEn;
      if (reg == isa::Reg::crSCDEn) check_cascade(f, out);
      if (enable && (read_word(reg) != 1 || in_flight(reg))) f.illegal("cascade not enabled");
    }
    sample(f);
    if (f.has("pos") || f.has("avail")) {
      form_fifo(f);
    } else if (f.mnemonic.starts_with("vldb.4x")) {
      form_lookup(f);
    } else if (f.has("ptr") || (f.has("imm") && (f.loads || f.stores)) || f.mnemonic == "paddxm") {
      form_address(f);
    }
    if (f.mnemonic == "jl") {
      f.return_address = pc;
      for (u32 i = 0; i <= kDelayBundles && f.return_address < kProgramBytes; ++i) {
        f.return_address += static_cast<u32>(isa::bundle_length(program[f.return_address]));
      }
    }
    if (f.last_sample == 1) compute(f);
  }
  return out;
}

// Memory in this cycle: loads see what was there before it.
void Core::access_memory() {
  for (auto& f : flights_) {
    const u64 now = cycle - f->issue + 1;
    if (!f->loads || f->size == 0 || now != f->timing->memory_first) continue;
    f->memory = Value::zeros(f->size);
    if (f->gather.empty()) {
      std::copy_n(memory.begin() + (f->address - kOwnBase), f->size, f->memory.bytes.begin());
    }
    for (size_t i = 0; i < f->gather.size(); ++i) {
      std::copy_n(memory.begin() + (f->gather[i] - kOwnBase), 8, f->memory.bytes.begin() + 8 * i);
    }
  }
  std::vector<const Flight*> writers;
  for (auto& f : flights_) {
    const u64 now = cycle - f->issue + 1;
    if (now == 2 && rule_of(f->instr.op)->early != nullptr) {
      rule_of(f->instr.op)->early(*f);
      queue(*f);
    }
    if (f->computed || now < f->last_sample) continue;
    try {
      compute(*f);
    } catch (Illegal& e) {
      throw Illegal{e.why, f->pc, f->index};
    }
    queue(*f);
  }
  for (auto& f : flights_) {
    if (f->stores && cycle - f->issue + 1 == f->timing->memory_last && f->size != 0)
      writers.push_back(f.get());
  }
  for (const Flight* a : writers) {
    for (const Flight* b : writers) {
      if (a != b && a->address < b->address + b->size && b->address < a->address + a->size) {
        throw Illegal{"two stores to one byte in one cycle", a->pc, a->index};
      }
    }
    std::copy_n(a->memory.bytes.begin(), a->size, memory.begin() + (a->address - kOwnBase));
  }
}

// Where the next bundle comes from.
void Core::advance(const isa::Bundle& bundle) {
  const u32 here = pc;
  pc += bundle.bytes;
  for (const auto& f : flights_) {
    if (f->issue == cycle && f->branch_taken) {
      branch_delay = kDelayBundles + 1;
      branch_target_ = f->branch_target;
    }
  }
  if (branch_delay != 0 && --branch_delay == 0) {
    pc = branch_target_;
  } else if (read_word(isa::Reg::lc) != 0 && read_word(isa::Reg::le) == here) {
    const u32 left = read_word(isa::Reg::lc) - 1;
    write_word(isa::Reg::lc, left);
    if (left != 0) pc = read_word(isa::Reg::ls);
  }
}

// Everything in flight comes to its end.
void Core::retire() {
  const u64 stopped = cycle;
  while (!flights_.empty() || !pending_.empty()) {
    commit();
    for (auto& f : flights_) sample(*f);
    access_memory();
    ++cycle;
    std::erase_if(flights_, [this](const auto& f) {
      return f->computed && (!f->stores || cycle - f->issue >= f->timing->memory_last);
    });
  }
  cycle = stopped + kRetireCycles;
}

bool Core::in_flight(isa::Reg reg) const {
  return std::any_of(reserved_.begin(), reserved_.end(),
                     [&](const Reserved& r) { return r.due > cycle && isa::overlaps(r.reg, reg); });
}

int Core::refuses(const isa::Bundle& bundle, std::string* why) {
  int which = 0;
  try {
    commit();
    std::vector<Reserved> outs;
    std::vector<Busy> units;
    prepare(bundle, which, outs, units);
  } catch (const Illegal& e) {
    if (why != nullptr) *why = e.why;
    return which;
  }
  return -1;
}

Core::Step Core::step() {
  Step out;
  out.pc = pc;
  try {
    commit();
    std::vector<Reserved> outs;
    std::vector<Busy> units;
    isa::Bundle bundle;
    Flights issued;
    try {
      if (pc >= kProgramBytes || !isa::try_decode(ByteSpan(program).subspan(pc), bundle)) {
        throw Illegal{"no bundle here"};
      }
      issued = prepare(bundle, out.instr, outs, units);
    } catch (const Illegal& e) {
      out.status = Status::kRefused;
      out.why = e.why;
      out.other = e.other;
      return out;
    }
    reserved_.insert(reserved_.end(), outs.begin(), outs.end());
    busy_.insert(busy_.end(), units.begin(), units.end());
    for (auto& f : flights_) sample(*f);
    bool done = false;
    for (auto& f : issued) {
      queue(*f);
      if (rule_of(f->instr.op)->meet != nullptr) rule_of(f->instr.op)->meet(*f, world);
      done |= f->mnemonic == "done";
      flights_.push_back(std::move(f));
    }
    access_memory();
    advance(bundle);
    ++cycle;
    std::erase_if(flights_, [this](const auto& f) {
      return f->computed && (!f->stores || cycle - f->issue >= f->timing->memory_last);
    });
    if (done) {
      retire();
      out.status = Status::kDone;
    }
  } catch (const Illegal& e) {
    out.status = Status::kIllegal;
    out.why = e.why;
    out.pc = e.pc;
    out.instr = e.index;
  }
  return out;
}

}  // namespace tegula::emu::slow
