// Packing and encoding: bundles get the shortest format that holds their slots; a branch target is brought to
// its 16-byte line by lengthening bundles before it (same slots plus nops).
#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>

#include "compiler/backend/schedule.h"
#include "isa/text.h"

namespace tegula::compiler::backend {

using isa::Op;
using isa::Slot;

namespace {

constexpr u32 kSlots = static_cast<u32>(Slot::kCount);
constexpr u32 kNopBit = 1u << static_cast<u32>(Slot::kNop);

u32 slot_bit(Op op) {
  return 1u << static_cast<u32>(isa::info(op).slot);
}

Op slot_nop(u32 slot) {
  switch (static_cast<Slot>(slot)) {
    case Slot::kLda:
      return Op::NOPA;
    case Slot::kLdb:
      return Op::NOPB;
    case Slot::kAlu:
      return Op::NOPX;
    case Slot::kMv:
      return Op::NOPM;
    case Slot::kSt:
      return Op::NOPS;
    case Slot::kVec:
      return Op::NOPV;
    case Slot::kLng:
      return Op::NOPXM;
    default:
      return Op::NOP;
  }
}

// Order of slots in a decoded bundle.
int slot_rank(Slot slot) {
  static constexpr Slot kOrder[] = {Slot::kLda, Slot::kLdb, Slot::kAlu, Slot::kMv,
                                    Slot::kLng, Slot::kSt,  Slot::kVec, Slot::kNop};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), slot) - std::begin(kOrder));
}

isa::Bundle nops(u32 mask) {
  isa::Bundle bundle;
  for (u32 slot = 0; slot < kSlots; ++slot) {
    if (mask >> slot & 1) bundle.instr[bundle.count++].op = slot_nop(slot);
  }
  return bundle;
}

// Bytes of the shortest bundle with exactly these slots (nops filled in where needed); 0: none.
u32 bytes_of(u32 mask) {
  static const auto table = [] {
    std::vector<u32> bytes(1u << kSlots);
    for (u32 m = 1; m < bytes.size(); ++m) {
      if (std::popcount(m) > 6 || isa::best_format(m) < 0) continue;
      const auto code = isa::encode(nops(m));
      if (code.ok()) bytes[m] = static_cast<u32>(code->size());
    }
    return bytes;
  }();
  return table[mask];
}

// A superset of the slots whose shortest bundle has exactly `bytes` bytes; 0: none.
u32 widen(u32 mask, u32 bytes) {
  for (u32 m = 1; m < (1u << kSlots); ++m) {
    if ((m & mask) == mask && (m & kNopBit) == 0 && bytes_of(m) == bytes) return m;
  }
  return 0;
}

struct Draft {
  std::vector<isa::Instr> instrs;
  std::vector<Origin> origin;
  std::vector<const Inst*> from;
  u32 mask = 0;
  u32 bytes = 2;
  u32 block = 0;
};

class Encoder {
 public:
  Encoder(Function& fn, const std::vector<isa::Reg>& regs, const Options& options)
      : fn_(fn), regs_(regs), options_(options) {}

  Result<CoreProgram> run() {
    for (size_t b = 0; b < fn_.blocks.size(); ++b) TRY(draft_block(b));
    TRY(place());
    TRY(encode());
    list();
    fill_stats();
    return std::move(out_);
  }

 private:
  Result<void> draft_block(size_t b) {
    const Block& block = fn_.blocks[b];
    if (block.is_target) TRY(align(b));
    start_.push_back(static_cast<u32>(drafts_.size()));
    const size_t base = drafts_.size();
    drafts_.resize(base + static_cast<size_t>(block.length));
    for (const Inst& inst : block.insts) {
      TRY_ASSIGN(isa::Instr instr, to_instr(fn_, inst, 0, &regs_));
      if (inst.time < 0 || inst.time >= block.length)
        return fail(Code::kInternal, "block " + block.name + ": an instruction lies outside");
      Draft& draft = drafts_[base + static_cast<size_t>(inst.time)];
      draft.instrs.push_back(instr);
      draft.origin.push_back({inst.source, inst.turn, inst.turns});
      draft.from.push_back(&inst);
      draft.mask |= slot_bit(instr.op);
    }
    for (size_t d = base; d < drafts_.size(); ++d) {
      drafts_[d].block = static_cast<u32>(b);
      if (drafts_[d].mask == 0) drafts_[d].mask = kNopBit;
      drafts_[d].bytes = bytes_of(drafts_[d].mask);
      if (drafts_[d].bytes == 0)
        return fail(Code::kInternal, "block " + block.name + ": no bundle format holds its slots");
    }
    return {};
  }

  // Lengthens bundles so that the next one starts a 16-byte line. Only bundles since the last aligned place
  // may grow, or that place would move. A nop bundle would shift values in flight, so there is none: the sum
  // of what the bundles lack to 16 bytes is what the line lacks, modulo 16, and some choice of formats meets
  // it.
  Result<void> align(size_t b) {
    u32 total = 0;
    for (size_t d = aligned_; d < drafts_.size(); ++d) total += drafts_[d].bytes;
    const u32 missing = (16 - total % 16) % 16;
    std::vector<Sums> steps;  // by number of bundles from the end
    Sums sums;
    sums.fill(-1);
    sums[0] = 0;
    for (size_t d = drafts_.size(); d-- > aligned_ && sums[missing] < 0;) {
      sums = extend(sums, drafts_[d]);
      steps.push_back(sums);
    }
    u32 rest = missing;
    while (rest < sums.size() && sums[rest] < 0) rest += 16;
    if (rest >= sums.size())
      return fail(Code::kInternal, "block " + fn_.blocks[b].name + ": its start cannot be aligned");
    for (size_t k = steps.size(); k-- > 0;) {
      Draft& draft = drafts_[drafts_.size() - 1 - k];
      const auto more = static_cast<u32>(steps[k][rest]);
      if (more > 0) draft.mask = widen(base_mask(draft), draft.bytes + more);
      draft.bytes += more;
      rest -= more;
    }
    aligned_ = drafts_.size();
    return {};
  }

  // For every sum of growth that is possible: the growth of the last bundle considered, else -1.
  using Sums = std::array<i8, 64>;

  static Sums extend(const Sums& sums, const Draft& draft) {
    Sums next;
    next.fill(-1);
    for (u32 more = 0; draft.bytes + more <= 16; more += 2) {
      if (more > 0 && widen(base_mask(draft), draft.bytes + more) == 0) continue;
      for (u32 sum = 0; sum + more < next.size(); ++sum) {
        if (sums[sum] >= 0 && next[sum + more] < 0) next[sum + more] = static_cast<i8>(more);
      }
    }
    return next;
  }

  static u32 base_mask(const Draft& draft) { return draft.mask == kNopBit ? 0 : draft.mask; }

  Result<void> place() {
    u32 address = options_.base;
    if (address % 16 != 0)
      return fail(Code::kInvalidArgument,
                  "base address " + std::to_string(address) + " is not a multiple of 16");
    for (const Draft& draft : drafts_) {
      address_.push_back(address);
      address += draft.bytes;
    }
    address_.push_back(address);
    const u32 size = address - options_.base;
    if (size > options_.max_bytes) {
      return fail(Code::kOutOfRange, "the program has " + std::to_string(size) +
                                         " bytes, program memory has " + std::to_string(options_.max_bytes));
    }
    return {};
  }

  Result<void> encode() {
    for (size_t d = 0; d < drafts_.size(); ++d) {
      Draft& draft = drafts_[d];
      PlacedBundle placed;
      placed.address = address_[d];
      placed.block = draft.block;
      std::vector<std::pair<isa::Instr, Origin>> all;
      u32 rest = draft.mask;
      for (size_t i = 0; i < draft.instrs.size(); ++i) {
        isa::Instr instr = draft.instrs[i];
        const Inst& inst = *draft.from[i];
        if (inst.target >= 0)
          instr.operand[static_cast<size_t>(inst.target_operand)] =
              address_[start_[static_cast<size_t>(inst.target)]];
        all.emplace_back(instr, draft.origin[i]);
        rest &= ~slot_bit(instr.op);
      }
      for (u32 slot = 0; slot < kSlots; ++slot) {
        if ((rest >> slot & 1) == 0) continue;
        isa::Instr nop;
        nop.op = slot_nop(slot);
        all.emplace_back(nop, Origin());
      }
      TRY(encode_bundle(all, draft.bytes, placed));
    }
    return {};
  }

  Result<void> encode_bundle(std::vector<std::pair<isa::Instr, Origin>>& all, u32 bytes,
                             PlacedBundle& placed) {
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
      return slot_rank(isa::info(a.first.op).slot) < slot_rank(isa::info(b.first.op).slot);
    });
    isa::Bundle bundle;
    for (const auto& [instr, origin] : all) bundle.instr[bundle.count++] = instr;
    TRY_ASSIGN(Bytes code, isa::encode(bundle));
    if (code.size() != bytes)
      return fail(Code::kInternal, "a bundle has " + std::to_string(code.size()) + " bytes, expected " +
                                       std::to_string(bytes));
    TRY_ASSIGN(placed.bundle, isa::decode(code));
    for (int i = 0; i < placed.bundle.count; ++i) {
      Origin origin;
      for (const auto& [instr, from] : all) {
        if (instr.op == placed.bundle.instr[static_cast<size_t>(i)].op) origin = from;
      }
      placed.origin.push_back(origin);
    }
    out_.code.insert(out_.code.end(), code.begin(), code.end());
    out_.bundles.push_back(std::move(placed));
    return {};
  }

  void list() {
    for (size_t b = 0; b < fn_.blocks.size(); ++b) {
      const size_t end = b + 1 < fn_.blocks.size() ? start_[b + 1] : drafts_.size();
      out_.blocks.push_back({fn_.blocks[b].name, address_[start_[b]], static_cast<u32>(end - start_[b])});
      out_.listing += fn_.blocks[b].name + ":\n";
      for (size_t d = start_[b]; d < end; ++d) {
        char head[32];
        std::snprintf(head, sizeof head, "  %05x %2u  ", out_.bundles[d].address,
                      out_.bundles[d].bundle.bytes);
        out_.listing += head + text(out_.bundles[d].bundle) + "\n";
      }
    }
  }

  static std::string text(const isa::Bundle& bundle) {
    std::string out;
    for (int i = 0; i < bundle.count; ++i) {
      const isa::Instr& instr = bundle.instr[static_cast<size_t>(i)];
      if (isa::info(instr.op).name.starts_with("NOP")) continue;
      if (!out.empty()) out += "; ";
      out += isa::to_text(instr);
    }
    return out.empty() ? "nop" : out;
  }

  void fill_stats() {
    out_.stats.bundles = static_cast<u32>(out_.bundles.size());
    out_.stats.loops = fn_.stats;
    u64 r = 0, p = 0, x = 0, dm = 0;
    const auto base = [](const char* name) { return atoms_of(isa::find_reg(name))[0]; };
    for (size_t v = 0; v < fn_.vars.size(); ++v) {
      const isa::Reg reg = fn_.vars[v].fixed != isa::Reg::kNone ? fn_.vars[v].fixed : regs_[v];
      if (reg == isa::Reg::kNone) continue;
      for (u16 atom : atoms_of(reg)) {
        const auto mark = [&](u64& set, const char* first, int count, int step) {
          const int i = (atom - base(first)) / step;
          if (atom >= base(first) && i < count) set |= u64{1} << i;
        };
        mark(r, "r0", 32, 1);
        mark(p, "p0", 8, 1);
        mark(x, "wl0", 12, 2);
        mark(dm, "bmll0", 5, 4);
      }
    }
    out_.stats.used_r = static_cast<u32>(std::popcount(r));
    out_.stats.used_p = static_cast<u32>(std::popcount(p));
    out_.stats.used_x = static_cast<u32>(std::popcount(x));
    out_.stats.used_dm = static_cast<u32>(std::popcount(dm));
  }

  Function& fn_;
  const std::vector<isa::Reg>& regs_;
  const Options& options_;
  std::vector<Draft> drafts_;
  std::vector<u32> start_;    // first bundle of each block
  std::vector<u32> address_;  // of each bundle, and of the end
  size_t aligned_ = 0;        // the first bundle after the last alignment
  CoreProgram out_;
};

}  // namespace

Result<CoreProgram> encode_program(Function& fn, const std::vector<isa::Reg>& regs, const Options& options) {
  return Encoder(fn, regs, options).run();
}

}  // namespace tegula::compiler::backend
