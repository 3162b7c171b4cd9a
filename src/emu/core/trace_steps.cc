// See trace_steps.h. Operand cycles come from the schedule tables of isa.
#include "emu/core/trace_steps.h"

#include <algorithm>

#include "emu/core/trace_ops.h"

namespace tegula::emu {

u32 cell_of(u32 byte) {
  if (byte < kBankX) return byte / 4;
  if (byte < kBankE) return kScalarCells + (byte - kBankX) / 32;
  if (byte < kBankAcc) return kVectorCells + (byte - kBankE) / 4;
  return kBlockCells + (byte - kBankAcc) / 64;
}

namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool in_span(const Family* family, std::span<const Family> families) {
  return !families.empty() && family >= families.data() && family < families.data() + families.size();
}

// Instructions that stop, branch, raise or read the time.
bool never_in_trace(const isa::InstrInfo& info, const Family* family) {
  if (in_span(family, control_families()) || in_span(family, stream_families())) return true;
  for (const char* prefix : {"vshuffle", "vshift", "vldb.4x"}) {
    if (starts_with(info.mnemonic, prefix)) return true;
  }
  return info.mnemonic == "mov" && info.slot == isa::Slot::kMv && info.operands.size() < 2;
}

bool belongs_to_address(std::string_view operand) {
  for (const char* name : {"ptr_out", "ptr", "mod", "dj", "dc", "dcl", "dch", "dn", "pos", "pos_out", "avail",
                           "avail_out", "fifo_reg", "fifo_reg_out", "ptr_superreg"}) {
    if (operand == name) return true;
  }
  return false;
}

void mark(CellSet& set, u32 offset, u32 bytes) {
  for (u32 byte = offset; byte < offset + bytes; byte += 4) set.set(cell_of(byte));
}

void mark_generator(TraceStep& step, const AddressOp& a) {
  const u32 lo = a.generator * 4u;
  for (u32 g : {lo, lo + 16}) {
    if (g > lo && a.update != Update::k3D) break;
    mark(step.address_reads, kBankM + g, 4);
    mark(step.address_reads, kBankDn + g, 4);
    mark(step.address_reads, kBankDj + g, 4);
    mark(step.address_reads, kBankDc + g, 4);
    mark(step.address_writes, kBankDc + g, 4);
  }
}

void mark_address(TraceStep& step, const AddressOp& a) {
  mark(step.address_reads, a.base, 4);
  mark(step.address_reads, a.index, 4);
  mark(step.address_reads, a.update_index, 4);
  mark(step.address_reads, a.position, 4);
  if (a.update != Update::kNone) mark(step.address_writes, a.base, 4);
  if (a.update == Update::k2D || a.update == Update::k3D) mark_generator(step, a);
  if (a.update == Update::kFill || a.update == Update::kPop || a.update == Update::kPush) {
    mark(step.address_writes, a.position, 4);
  }
}

void add_use(TraceStep& step, isa::Reg reg, isa::OperandTiming when, bool write) {
  for (const isa::RegPart& part : isa::reg_info(reg).parts) {
    const u16 offset = part_offset(part);
    const u8 cycle = std::max<u8>(when.cycle, 1);
    step.uses.push_back({offset, static_cast<u16>((part.bits + 7) / 8), cycle, when.bypass, write});
    step.longest = std::max(step.longest, cycle);
  }
}

// Instructions whose status flags the pipeline model does not write.
bool leaves_flags_alone(const TraceStep& step) {
  if (!step.loads.empty()) return step.uops.empty() && step.loads[0].load == nullptr;
  return step.is_vec || step.uops.empty() || is_plain_store(step.uops[0]);
}

void collect_uses(const isa::Instr& instr, TraceStep& step) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const isa::Timing& timing = isa::timing(instr);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].kind != isa::OperandKind::kReg) continue;
    if (!step.addresses.empty() && belongs_to_address(info.operands[i].name)) continue;
    add_use(step, instr.reg(static_cast<int>(i)), timing.operand[i], info.operands[i].is_out);
  }
  for (const auto& [reg, when] : timing.implicit_uses) {
    if (!step.addresses.empty() && reg == isa::Reg::sp) continue;
    add_use(step, reg, when, false);
  }
  for (const auto& [reg, when] : timing.implicit_defs) {
    if (leaves_flags_alone(step) || (!step.addresses.empty() && reg == isa::Reg::sp)) continue;
    add_use(step, reg, when, true);
  }
  step.memory_first = timing.memory_first;
  step.memory_last = timing.memory_last;
  step.longest = std::max<u8>(step.longest, timing.memory_last);
}

CellSet cells_of(const TraceStep& step, bool writes) {
  CellSet set;
  for (const TraceUse& use : step.uses) {
    if (use.write == writes) mark(set, use.offset, use.bytes);
  }
  return set;
}

CellSet loop_cells() {
  CellSet set;
  for (isa::Reg reg : {isa::Reg::lc, isa::Reg::ls, isa::Reg::le}) mark(set, register_offset(reg), 4);
  return set;
}

}  // namespace

bool bind_bundle(const u8* program, u32 pc, u32 at, std::vector<TraceStep>& out) {
  const auto bundle = isa::decode(ByteSpan(program + pc, kCoreProgramBytes - pc));
  if (!bundle) return false;
  bool admissible = true;
  for (int i = 0; i < bundle->count; ++i) {
    const isa::Instr& instr = bundle->instr[i];
    const isa::InstrInfo& info = isa::info(instr.op);
    TraceStep step;
    step.at = at;
    step.family = find_family(info);
    if (step.family == nullptr) return false;
    admissible &= !never_in_trace(info, step.family);
    Decoded scratch;
    DecodedDetail detail;
    scratch.detail = &detail;
    Binder binder(instr, scratch);
    binder.arg = step.family->arg;
    if (!step.family->bind(binder)) return false;
    admissible &= scratch.sync_count == 0 && scratch.flags == 0;
    step.uops = std::move(binder.uops);
    step.loads = std::move(binder.loads);
    step.addresses.assign(scratch.address, scratch.address + scratch.address_count);
    for (const AddressOp& a : step.addresses) mark_address(step, a);
    step.is_vec = info.slot == isa::Slot::kVec && !step.uops.empty();
    collect_uses(instr, step);
    out.push_back(std::move(step));
  }
  return admissible;
}

bool TraceGrowth::accept(const std::vector<TraceStep>& bundle) {
  TraceGrowth next = *this;
  for (const TraceStep& step : bundle) next.add(step);
  const CellSet others = next.reads_ | next.writes_;
  if ((next.address_writes_ & others).any() || (next.address_reads_ & next.writes_).any() ||
      (next.controls_ & next.writes_).any() || (next.writes_ & loop_cells()).any() ||
      next.addresses_ > kTraceMaxAddresses) {
    return false;
  }
  *this = next;
  return true;
}

void TraceGrowth::add_before(const TraceStep& step, u32 body) {
  const bool now = !step.uops.empty() && (step.uops[0].flags & kFlagNow) != 0;
  for (const TraceUse& use : step.uses) {
    // What becomes visible in the body's first cycle is not there yet when its addresses are formed.
    if (use.write && !now && step.at + use.cycle >= body) mark(writes_, use.offset, use.bytes);
    if (!use.write && step.at + use.cycle > body) mark(reads_, use.offset, use.bytes);
  }
}

void TraceGrowth::add(const TraceStep& step) {
  address_reads_ |= step.address_reads;
  address_writes_ |= step.address_writes;
  address_reads_.reset(cell_of(kZeroRegister));
  addresses_ += step.addresses.size();
  reads_ |= cells_of(step, false);
  writes_ |= cells_of(step, true);
  if (step.is_vec && step.uops[0].mask == 0) mark(controls_, step.uops[0].x1, 4);
}

bool extend(std::vector<AddressStream>& streams, const AddressOp& a, u16 pointer) {
  const bool fifo = a.update == Update::kFill || a.update == Update::kPop;
  if (a.update == Update::k2D || a.update == Update::k3D || a.update == Update::kPush) return false;
  const u16 index = fifo ? kZeroRegister : a.index;
  if (fifo && a.update_index != kZeroRegister) return false;
  auto stream =
      std::find_if(streams.begin(), streams.end(), [&](const AddressStream& s) { return s.base == a.base; });
  if (stream == streams.end()) {
    for (const AddressStream& s : streams) {
      if (s.position == a.base || (fifo && (s.position == a.position || s.base == a.position))) return false;
    }
    streams.push_back({});
    stream = streams.end() - 1;
    stream->base = a.base;
    stream->fifo = fifo;
    if (fifo) stream->position = a.position;
  }
  AddressStream& s = *stream;
  if (s.fifo != fifo || (fifo && s.position != a.position)) return false;
  for (const u16 modifier : {index, a.update_index}) {
    if (modifier == kZeroRegister) continue;
    if (s.modifier != kZeroRegister && s.modifier != modifier) return false;
    s.modifier = modifier;
  }
  const i32 times = s.modified + (index != kZeroRegister ? 1 : 0);
  const i32 at = fifo ? s.advance - s.position_advance : s.advance + a.imm;
  if (a.size != 0) {
    s.lowest = s.accesses.empty() ? at : std::min(s.lowest, at);
    s.end = s.accesses.empty() ? at + a.size : std::max(s.end, at + a.size);
    s.align_mask |= a.align_mask;
    if ((static_cast<u32>(at) & a.align_mask) != 0) return false;
    s.accesses.push_back({pointer, a.size, at, times});
  }
  if (a.update == Update::kLinear) {
    s.advance += a.update_imm;
    s.modified += a.update_index != kZeroRegister ? 1 : 0;
  }
  if (!fifo) return true;
  s.advance += 64;
  s.position_advance += a.update == Update::kFill ? 64 : 64 - a.size;
  s.filled |= a.update == Update::kFill;
  i32& least = s.filled ? s.least_after : s.least_before;
  least = std::min(least, s.position_advance);
  return true;
}

}  // namespace tegula::emu
