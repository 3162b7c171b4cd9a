// Loads and stores. The address is formed by the core; here is what happens to the bytes.
#include <algorithm>

#include "emu/slow/core.h"

namespace tegula::emu::slow {

namespace {

using F = Flight&;

void load(F f) {
  f.out("dst", f.memory);
}

template <u32 kBits, bool kSigned>
void load_part(F f) {
  f.out_word("dst", static_cast<u32>(f.memory.lane(kBits, 0, kSigned)));
}

void store(F f) {
  f.memory = f.in("src");
}

// Block formats in memory: an exponent, then its mantissas. In registers mantissas, then exponents.
template <u32 kBlocks>
Value from_blocks(const Value& memory) {
  const u32 length = 64 / kBlocks;
  Value v = Value::zeros(72);
  for (u32 b = 0; b < kBlocks; ++b) {
    for (u32 i = 0; i < length; ++i) v.bytes[b * length + i] = memory.bytes[b * (length + 1) + 1 + i];
    for (u32 e = 0; e < 8 / kBlocks; ++e)
      v.bytes[64 + b * (8 / kBlocks) + e] = memory.bytes[b * (length + 1)];
  }
  return v;
}

template <u32 kBlocks>
Value to_blocks(const Value& ex) {
  const u32 length = 64 / kBlocks;
  Value v = Value::zeros(64 + kBlocks);
  for (u32 b = 0; b < kBlocks; ++b) {
    v.bytes[b * (length + 1)] = ex.bytes[64 + b * (8 / kBlocks)];
    for (u32 i = 0; i < length; ++i) v.bytes[b * (length + 1) + 1 + i] = ex.bytes[b * length + i];
  }
  return v;
}

}  // namespace

Value memory_of_ex(const Value& ex, bool wide) {
  return wide ? to_blocks<4>(ex) : to_blocks<8>(ex);
}

void add_memory(Rules& r) {
  r["lda.s8"] = {load_part<8, true>, 1};
  r["lda.u8"] = {load_part<8, false>, 1};
  r["lda.s16"] = {load_part<16, true>, 2};
  r["lda.u16"] = {load_part<16, false>, 2};
  r["st.s8"] = {store, 1};
  r["st.s16"] = {store, 2};
  r["vlda.128"] = r["vldb.128"] = {load, 16};
  r["vst.128"] = {store, 16};
  // The same mnemonic for several widths: by the class of the register.
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    const std::string name = plain_mnemonic(info);
    const bool loads = name == "lda" || name == "vlda" || name == "vldb",
               stores = name == "st" || name == "vst";
    if (!loads && !stores) continue;
    for (const isa::OperandInfo& o : info.operands) {
      if (o.name != (loads ? "dst" : "src")) continue;
      const u32 bits = isa::reg_info(isa::reg_class(o.cls).members[0]).bits;
      r["=" + std::string(info.name)] = {loads ? load : store, bits <= 32 ? 4 : bits / 8};
    }
  }
  for (const char* name : {"4x16.lo", "4x16.hi", "4x32.lo", "4x32.hi", "4x64.lo", "4x64.hi"}) {
    r["vldb." + std::string(name)] = {load, 32};
  }
  for (const std::string slot : {"vlda", "vldb"}) {
    r[slot + ".fill.512"] = {[](F) {}};
    r[slot + ".pop.512"] = {load, 64};
    r[slot + ".pop.544"] = {[](F f) { f.out("dst", from_blocks<4>(f.memory)); }, 68};
    r[slot + ".pop.576"] = {[](F f) { f.out("dst", from_blocks<8>(f.memory)); }, 72};
  }
  r["vst.push.512"] = {store, 64};
  r["vst.push.544"] = {[](F f) { f.memory = to_blocks<4>(f.in("src")); }, 68};
  r["vst.push.576"] = {[](F f) { f.memory = to_blocks<8>(f.in("src")); }, 72};
  r["vst.flush.512"] = r["vst.flush.512.conv"] = {[](F) {}};
  // With a pointer update the alignment starts again, in a way that is not described.
  for (int i = 0; i < static_cast<int>(isa::Op::kCount); ++i) {
    const isa::InstrInfo& info = isa::info(static_cast<isa::Op>(i));
    const auto has = [&](std::string_view name) {
      return std::any_of(info.operands.begin(), info.operands.end(),
                         [&](const auto& o) { return o.name == name; });
    };
    if ((has("pos") || has("avail")) && has("mod")) r["=" + std::string(info.name)] = {nullptr};
  }
}

}  // namespace tegula::emu::slow
