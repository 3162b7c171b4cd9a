// Register lookup in the generated table (tools/gen_arch.py makes arch/register_table.inc from
// registers-array.tsv).
#include "arch/registers.h"

#include <algorithm>

#include "base/hex.h"

namespace tegula::arch {
namespace {

#include "arch/register_table.inc"

// End of a family's extent (one past its last byte).
u32 family_end(const RegisterFamily& f) {
  return f.offset + (f.count1 - 1u) * f.stride1 + (f.count2 - 1u) * f.stride2 + f.bytes;
}

// Which member of the family holds the offset, if any. The two strides may lie either way round.
RegisterRef member(const RegisterFamily& f, u32 offset) {
  const u32 delta = offset - f.offset;
  for (u32 i = 0; i < f.count1; ++i) {
    const u32 start = i * f.stride1;
    if (start > delta) break;
    const u32 rest = delta - start;
    const u32 j = f.count2 > 1 ? std::min<u32>(rest / f.stride2, f.count2 - 1u) : 0;
    if (rest - j * f.stride2 < f.bytes) {
      return {&f, static_cast<u16>(i), static_cast<u16>(j), rest - j * f.stride2};
    }
  }
  return {};
}

}  // namespace

std::span<const RegisterFamily> register_families(TileKind kind) {
  if (kind == TileKind::kShim) return kShimFamilies;
  if (kind == TileKind::kMem) return kMemFamilies;
  return kCoreFamilies;
}

RegisterRef find_register(TileKind kind, u32 offset) {
  for (const RegisterFamily& family : register_families(kind)) {
    if (family.offset > offset) break;
    if (offset >= family_end(family)) continue;
    if (RegisterRef ref = member(family, offset)) return ref;
  }
  return {};
}

std::string register_name(TileKind kind, u32 offset) {
  const RegisterRef ref = find_register(kind, offset);
  if (!ref) return hex(offset) + " (no register)";
  std::string out;
  const std::string_view pattern = ref.family->pattern;
  int range = 0;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    u32 first = 0;
    for (++i; pattern[i] >= '0' && pattern[i] <= '9'; ++i)
      first = first * 10 + static_cast<u32>(pattern[i] - '0');
    i = pattern.find('}', i);
    out += std::to_string(first + (range++ == 0 ? ref.index1 : ref.index2));
  }
  if (ref.family->bytes > 4 || ref.byte != 0) out.append("+").append(hex(ref.byte));
  return out;
}

}  // namespace tegula::arch
