// Bundles to micro-operations: binds each slot's instruction, orders the slots so that all read before any
// writes, and collects operand timings for diagnosis.
#include <algorithm>

#include "emu/core/binder.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

constexpr int kMaxSlots = 7;

struct Range {
  u16 offset, bytes;
};

bool meet(Range a, Range b) {
  return a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

// One bound instruction with what it reads at cycle 1 and writes without delay.
struct BoundSlot {
  std::vector<Uop> uops;
  std::vector<Range> reads, writes;
};

void add_ranges(isa::Reg reg, std::vector<Range>& out) {
  for (const isa::RegPart& part : isa::reg_info(reg).parts) {
    out.push_back({part_offset(part), static_cast<u16>((part.bits + 7) / 8)});
  }
}

// Pointers, counters and FIFO positions are updated after all slots have run.
bool updated_last(std::string_view operand) {
  for (const char* name :
       {"ptr_out", "ptr", "dc", "dcl", "dch", "pos", "avail_out", "fifo_reg", "fifo_reg_out"}) {
    if (operand == name) return true;
  }
  return false;
}

void collect_ranges(const Binder& b, BoundSlot& slot) {
  for (size_t i = 0; i < b.info.operands.size(); ++i) {
    const isa::OperandInfo& operand = b.info.operands[i];
    if (operand.kind != isa::OperandKind::kReg || b.timing.operand[i].cycle > 1) continue;
    const isa::Reg reg = b.in.reg(static_cast<int>(i));
    if (!operand.is_out) {
      add_ranges(reg, slot.reads);
    } else if (!updated_last(operand.name)) {
      add_ranges(reg, slot.writes);
    }
  }
  for (const auto& [reg, when] : b.timing.implicit_uses) {
    if (when.cycle <= 1) add_ranges(reg, slot.reads);
  }
  for (const auto& [reg, when] : b.timing.implicit_defs) {
    if (when.cycle <= 1 && reg != isa::Reg::sp) add_ranges(reg, slot.writes);
  }
}

bool writes_what_reads(const BoundSlot& writer, const BoundSlot& reader) {
  for (const Range w : writer.writes) {
    for (const Range r : reader.reads) {
      if (meet(w, r)) return true;
    }
  }
  return false;
}

// Redirects the undelayed results of a slot to shadow registers that are copied when all slots have run.
void shadow_writes(BoundSlot& slot, std::vector<Uop>& copies) {
  const auto shadow = [&](u16& dst, bool wide) {
    if (dst == kNoRegister || copies.size() >= kTempCount) return;
    Uop copy;
    copy.a = static_cast<u16>(kTemps + 8 * copies.size());
    copy.dst = dst;
    copy.run = wide ? Handler([](Machine& m, const Uop& u) { m.set<u64>(u.dst, m.get<u64>(u.a)); })
                    : Handler([](Machine& m, const Uop& u) { m.set<u32>(u.dst, m.r(u.a)); });
    dst = copy.a;
    copies.push_back(copy);
  };
  const auto direct = [&](u16 offset) {
    for (const Range w : slot.writes) {
      if (w.offset == offset) return true;
    }
    return false;
  };
  for (Uop& u : slot.uops) {
    if (direct(u.dst)) shadow(u.dst, u.kind == Kind::k64);
    if (direct(u.dst2)) shadow(u.dst2, false);
  }
}

// Takes the slots one by one, always one that overwrites nothing the remaining ones read; a circle is cut by
// a shadow.
std::vector<Uop> order_slots(std::vector<BoundSlot>& slots) {
  std::vector<Uop> out, copies;
  std::vector<bool> taken(slots.size());
  for (size_t step = 0; step < slots.size(); ++step) {
    size_t pick = slots.size();
    for (size_t i = 0; i < slots.size() && pick == slots.size(); ++i) {
      if (taken[i]) continue;
      bool harmless = true;
      for (size_t j = 0; j < slots.size(); ++j) {
        harmless &= j == i || taken[j] || !writes_what_reads(slots[i], slots[j]);
      }
      if (harmless) pick = i;
    }
    if (pick == slots.size()) {
      pick = 0;
      while (taken[pick]) ++pick;
      shadow_writes(slots[pick], copies);
    }
    taken[pick] = true;
    out.insert(out.end(), slots[pick].uops.begin(), slots[pick].uops.end());
  }
  out.insert(out.end(), copies.begin(), copies.end());
  return out;
}

bool part_of(isa::Reg part, isa::Reg whole) {
  std::vector<Range> parts, all;
  add_ranges(part, parts);
  add_ranges(whole, all);
  return std::any_of(parts.begin(), parts.end(), [&](Range a) {
    return std::any_of(all.begin(), all.end(), [&](Range b) { return meet(a, b); });
  });
}

void collect_accesses(const isa::Instr& instr, Decoded& out) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const isa::Timing& timing = isa::timing(instr);
  const auto add = [&](isa::Reg reg, isa::OperandTiming when, bool write) {
    for (const isa::RegPart& part : isa::reg_info(reg).parts) {
      Access a{reg, part_offset(part), static_cast<u16>((part.bits + 7) / 8), when.cycle, when.bypass};
      if (a.cycle == 0) a.cycle = 1;
      (write ? out.detail->writes : out.detail->reads).push_back(a);
    }
  };
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].kind != isa::OperandKind::kReg) continue;
    const isa::Reg reg = instr.reg(static_cast<int>(i));
    if (reg != isa::Reg::plfr0 && reg != isa::Reg::plfr1) {
      add(reg, timing.operand[i], info.operands[i].is_out);
      continue;
    }
    // The state of a load FIFO: each part is read at the cycle at which it is written.
    for (size_t k = 0; k < info.operands.size(); ++k) {
      const isa::Reg part = instr.reg(static_cast<int>(k));
      if (info.operands[k].is_out && part_of(part, reg)) add(part, timing.operand[k], false);
    }
  }
  for (const auto& [reg, when] : timing.implicit_uses) add(reg, when, false);
  for (const auto& [reg, when] : timing.implicit_defs) add(reg, when, true);
}

std::string bytes_text(const u8* program, u32 pc, u32 count) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (u32 i = 0; i < count && pc + i < kCoreProgramBytes; ++i) {
    if (i != 0) out += ' ';
    out += kDigits[program[pc + i] >> 4];
    out += kDigits[program[pc + i] & 15];
  }
  return out;
}

bool bind_slot(const isa::Instr& instr, Decoded& out, BoundSlot& slot, std::vector<Uop>& loads,
               std::string& why) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const Family* family = find_family(info);
  if (family == nullptr) {
    why = "instruction " + std::string(info.name) + " (" + std::string(info.mnemonic) + ") is not emulated";
    return false;
  }
  Binder binder(instr, out);
  binder.arg = family->arg;
  if (!family->bind(binder)) {
    why = "instruction " + std::string(info.name) + " (" + std::string(info.mnemonic) + ") is not emulated";
    if (!binder.error.empty()) why += ": " + binder.error;
    return false;
  }
  collect_ranges(binder, slot);
  slot.uops = std::move(binder.uops);
  for (const Uop& load : binder.loads) {
    loads.push_back(load);
    out.address[load.mem].load = static_cast<u8>(loads.size());
  }
  return true;
}

}  // namespace

void predecode(const u8* program, u32 pc, bool diagnose, Decoded& out, std::deque<std::vector<Uop>>& uops) {
  out.pc = pc;
  const auto refuse = [&](const std::string& why, u32 bytes) {
    out.detail->fault =
        why + " at program address " + hex_text(pc) + ", bytes " + bytes_text(program, pc, bytes);
    out.sync_count = 1;
    out.uop_count = 0;
    out.address_count = 0;
  };
  const auto bundle = isa::decode(ByteSpan(program + pc, kCoreProgramBytes - pc));
  if (!bundle) {
    refuse(bundle.error().message, static_cast<u32>(isa::bundle_length(program[pc])));
    return;
  }
  out.next_pc = pc + bundle->bytes;
  std::vector<BoundSlot> slots;
  std::vector<Uop> loads;
  for (int i = 0; i < bundle->count && i < kMaxSlots; ++i) {
    BoundSlot slot;
    std::string why;
    const u8 first_address = out.address_count;
    if (!bind_slot(bundle->instr[i], out, slot, loads, why)) {
      refuse(why, bundle->bytes);
      return;
    }
    for (u8 k = first_address; k < out.address_count; ++k) {
      out.detail->memory_cycle[k] = isa::timing(bundle->instr[i]).memory_last;
    }
    if (!slot.uops.empty()) slots.push_back(std::move(slot));
    if (diagnose) collect_accesses(bundle->instr[i], out);
  }
  std::vector<Uop>& ordered = uops.emplace_back(order_slots(slots));
  out.uop_count = static_cast<u8>(ordered.size());
  ordered.insert(ordered.end(), loads.begin(), loads.end());
  out.uops = ordered.data();
}

bool core_implements(const isa::Instr& instr) {
  Decoded scratch;
  DecodedDetail detail;
  scratch.detail = &detail;
  BoundSlot slot;
  std::vector<Uop> loads;
  std::string why;
  return bind_slot(instr, scratch, slot, loads, why);
}

bool core_implements(isa::Op op) {
  const isa::InstrInfo& info = isa::info(op);
  isa::Instr instr;
  instr.op = op;
  for (size_t i = 0; i < info.operands.size(); ++i) {
    const isa::OperandInfo& operand = info.operands[i];
    if (operand.kind == isa::OperandKind::kReg && !isa::reg_class(operand.cls).members.empty()) {
      instr.operand[i] = static_cast<i64>(isa::reg_class(operand.cls).members[0]);
    }
  }
  return core_implements(instr);
}

}  // namespace tegula::emu
