// Operand look-up, address forms and result shapes for the bind functions; and the table of families by
// mnemonic.
#include "emu/core/binder.h"

#include <unordered_map>

#include "emu/core/text.h"

namespace tegula::emu {

namespace {

// ".2d" and ".3d" are address forms, not operations.
std::string without_form(std::string_view mnemonic) {
  std::string out(mnemonic);
  for (const char* form : {".2d", ".3d"}) {
    const auto at = out.find(form);
    if (at != std::string::npos) out.erase(at, 3);
  }
  return out;
}

using FamilyMap = std::unordered_map<std::string_view, const Family*>;

// Mnemonics are shared between slots ("mov" in lda, st, mv, alu), so the key carries the slot.
std::string family_key(isa::Slot slot, std::string_view mnemonic) {
  return std::to_string(static_cast<int>(slot)) + ":" + std::string(mnemonic);
}

}  // namespace

Binder::Binder(const isa::Instr& instr, Decoded& decoded)
    : in(instr),
      info(isa::info(instr.op)),
      timing(isa::timing(instr)),
      out(decoded),
      mnemonic(without_form(info.mnemonic)) {
  if (info.mnemonic.find(".2d") != std::string_view::npos) {
    form = Form::k2D;
  } else if (info.mnemonic.find(".3d") != std::string_view::npos) {
    form = Form::k3D;
  } else if (has("ptr_out")) {
    form = has("imm") ? Form::kPostImm : Form::kPost;
  } else if (has("dj")) {
    form = Form::kIndex;
  } else if (has("ptr") && has("imm")) {
    form = Form::kIndexImm;
  } else if (has("imm") && (info.load || info.store)) {
    form = Form::kSpill;
  }
}

int Binder::find(std::string_view operand) const {
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].name == operand) return static_cast<int>(i);
  }
  return -1;
}

isa::Reg Binder::reg(std::string_view operand) const {
  const int i = find(operand);
  return i < 0 ? isa::Reg::kNone : in.reg(i);
}

u8 Binder::cycle(std::string_view operand) const {
  const int i = find(operand);
  const u8 cycle = i < 0 ? 1 : timing.operand[i].cycle;
  return cycle == 0 ? 1 : cycle;
}

Uop Binder::make(Handler run, std::string_view dst) const {
  Uop u;
  u.run = run;
  u.slot = buffer_slot(info.slot);
  if (!dst.empty()) {
    const isa::Reg to = reg(dst);
    u.dst = register_offset(to);
    u.latency = cycle(dst);
    u.kind = kind_of(to);
    u.mask = write_mask(to);
    if (u.kind == Kind::kEx) u.dst2 = e_of_x(u.dst);
    if (u.kind == Kind::kQx) u.dst2 = q_of_x(u.dst);
    if (timing.operand[find(dst)].bypass != isa::Bypass::kNone) u.flags |= kFlagWritesBypass;
  }
  for (size_t i = info.outs; i < info.operands.size(); ++i) {
    if (timing.operand[i].bypass == isa::Bypass::kMv) u.flags |= kFlagReadsMvBypass;
  }
  return u;
}

bool Binder::add_address(const AddressOp& a, Uop* u) {
  if (out.address_count >= 3) {
    error = "more than three memory accesses in one bundle";
    return false;
  }
  if (u != nullptr) u->mem = out.address_count;
  out.address[out.address_count++] = a;
  return true;
}

bool Binder::add_address(Uop& u, u32 size, u32 align, bool write) {
  AddressOp a;
  a.size = static_cast<u16>(size);
  a.align_mask = static_cast<u8>(align - 1);
  a.write = write;
  if (form == Form::kSpill) {
    a.base = register_offset(isa::Reg::sp);
    a.imm = static_cast<i32>(imm("imm"));
  } else {
    a.base = offset("ptr");
  }
  switch (form) {
    case Form::kIndexImm:
      a.imm = static_cast<i32>(imm("imm"));
      break;
    case Form::kIndex:
      a.index = offset("dj");
      break;
    case Form::kPostImm:
      a.update = Update::kLinear;
      a.update_imm = static_cast<i32>(imm("imm"));
      break;
    case Form::kPost:
      a.update = Update::kLinear;
      a.update_index = offset("mod");
      break;
    case Form::k2D:
    case Form::k3D:
      a.update = form == Form::k2D ? Update::k2D : Update::k3D;
      a.generator = static_cast<u8>(isa::reg_info(reg("mod")).parts[0].bit / 32);
      break;
    case Form::kSpill:
    case Form::kNone:
      break;
  }
  u.size = static_cast<u16>(size);
  return add_address(a, &u);
}

bool Binder::push_load(Uop& u, LoadStage load, u32 size, u32 align) {
  u.load = load;
  if (!add_address(u, size, align, false)) return false;
  loads.push_back(u);
  return true;
}

bool Binder::push_load(Uop& u, LoadStage load, const AddressOp& a) {
  u.load = load;
  u.size = a.size;
  if (!add_address(a, &u)) return false;
  loads.push_back(u);
  return true;
}

bool Binder::add_sync(const SyncOp& s) {
  if (out.sync_count >= kSyncsPerBundle) return false;  // no more slots have one
  for (u32 i = 0; i < out.sync_count; ++i) {
    if (s.kind == SyncKind::kCascadeRead && out.detail->sync[i].kind == s.kind) {
      error = "two reads of the cascade in one bundle, whose order is not known";
      return false;
    }
  }
  out.detail->sync[out.sync_count++] = s;
  return true;
}

u16 Binder::sign_register() const {
  for (const auto& [reg, when] : timing.implicit_uses) {
    const std::string_view name = isa::reg_info(reg).name;
    if (name.size() > 5 &&
        (name.substr(name.size() - 5, 4) == "Sign" || name.substr(name.size() - 5, 4) == "sign")) {
      return register_offset(reg);
    }
  }
  for (const isa::Reg reg : info.implicit_uses) {
    const std::string_view name = isa::reg_info(reg).name;
    if (name.size() > 5 &&
        (name.substr(name.size() - 5, 4) == "Sign" || name.substr(name.size() - 5, 4) == "sign")) {
      return register_offset(reg);
    }
  }
  return kZeroRegister;
}

Kind kind_of(isa::Reg reg) {
  const isa::RegInfo& info = isa::reg_info(reg);
  switch (info.bits) {
    case 64:
      return Kind::k64;
    case 128:
      return Kind::k128;
    case 256:
      return Kind::k256;
    case 512:
      return Kind::k512;
    case 576:
      return Kind::kEx;
    case 640:
      return Kind::kQx;
    case 704:
      return Kind::kQex;
    case 1024:
      return Kind::k1024;
    case 2048:
      return Kind::k2048;
    default:
      return Kind::k32;
  }
}

u32 bytes_of(Kind kind) {
  switch (kind) {
    case Kind::kNone:
      return 0;
    case Kind::k32:
    case Kind::kOr32:
      return 4;
    case Kind::k64:
      return 8;
    case Kind::k128:
      return 16;
    case Kind::k256:
      return 32;
    case Kind::k512:
      return 64;
    case Kind::kEx:
      return 72;
    case Kind::kQx:
      return 80;
    case Kind::kQex:
      return 88;
    case Kind::k1024:
      return 128;
    case Kind::k2048:
      return 256;
  }
  return 0;
}

u8 buffer_slot(isa::Slot slot) {
  switch (slot) {
    case isa::Slot::kLda:
      return 0;
    case isa::Slot::kLdb:
      return 1;
    case isa::Slot::kMv:
      return 2;
    case isa::Slot::kSt:
      return 3;
    case isa::Slot::kAlu:
    case isa::Slot::kLng:
      return 4;
    default:
      return 5;
  }
}

u32 write_mask(isa::Reg reg) {
  const isa::RegInfo& info = isa::reg_info(reg);
  if (info.bits < 32) return (u32{1} << info.bits) - 1;
  if (info.parts[0].bank != isa::Bank::kControl) return ~u32{0};
  switch (reg) {
    case isa::Reg::crSat:
      return 3;
    case isa::Reg::crRnd:
      return 15;
    case isa::Reg::crFPMask:
    case isa::Reg::crF2IMask:
    case isa::Reg::crF2FMask:
    case isa::Reg::crF2BMask:
    case isa::Reg::srFPFlags:
    case isa::Reg::srF2IFlags:
    case isa::Reg::srF2FFlags:
    case isa::Reg::srF2BFlags:
      return 31;
    case isa::Reg::crFPNlfMask:
    case isa::Reg::crFPCnvFx2FlMask:
    case isa::Reg::crFPCnvFl2FxMask:
    case isa::Reg::srFPNlf:
    case isa::Reg::srFPCnvFx2Fl:
    case isa::Reg::srFPCnvFl2Fx:
      return 255;
    case isa::Reg::srSS0:
    case isa::Reg::srMS0:
      return ~u32{0};
    default:
      return 1;
  }
}

const Family* find_family(const isa::InstrInfo& info) {
  static const auto table = [] {
    std::unordered_map<std::string, const Family*> map;
    const auto add = [&](isa::Slot slot, std::span<const Family> families) {
      for (const Family& f : families) map.emplace(family_key(slot, f.mnemonic), &f);
    };
    for (const auto families : {scalar_families(), control_families()}) {
      for (int slot = 0; slot < static_cast<int>(isa::Slot::kCount); ++slot)
        add(static_cast<isa::Slot>(slot), families);
    }
    for (const auto families :
         {stream_families(), memory_families(), fifo_families(), permute_families(), convert_families()}) {
      for (const isa::Slot slot : {isa::Slot::kLda, isa::Slot::kLdb, isa::Slot::kMv, isa::Slot::kSt}) {
        add(slot, families);
      }
    }
    add(isa::Slot::kMv, vector_families());
    add(isa::Slot::kVec, matrix_families());
    return map;
  }();
  const auto it = table.find(family_key(info.slot, without_form(info.mnemonic)));
  return it == table.end() ? nullptr : it->second;
}

}  // namespace tegula::emu
