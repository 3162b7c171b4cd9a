// The multiplier and accumulator adder as functions of bytes: integer matrix modes, bf16 and block floating
// point (semantics: multiply and accumulate, float accumulate). The plain versions define the result; the
// AVX2 versions are bit-exact to them and chosen at run time.
#pragma once

#include <string>

#include "base/types.h"

namespace tegula::emu {

constexpr u32 kNan = 0x7F800001;  // of every result of the float accumulator that is none

// One operation: out = +-acc1 +-acc2 +-product, each part optional.
struct MacArgs {
  const u8* s1 = nullptr;  // elements, or mantissas of block floating point
  const u8* s2 = nullptr;
  const u8* e1 = nullptr;  // block exponents
  const u8* e2 = nullptr;
  const u8* acc1 = nullptr;  // 256 bytes; nullptr: absent
  const u8* acc2 = nullptr;
  u8* out = nullptr;               // 256 bytes, apart from all inputs (but see works_in_place)
  u32 conf = 0;                    // the control word
  u16 s1_bytes = 0, s2_bytes = 0;  // elements beyond these are zero
  bool negate_product = false, negate_acc1 = false, negate_acc2 = false;
};
using MacFn = void (*)(const MacArgs&);

enum class MacUnit : u8 { kInteger, kBf16, kBlock };

// The function for a control word; nullptr with `why` set when the mode is not known. has_product: vmul, vmac
// and relatives, else vadd, vsub, vneg.
MacFn select_mac(u32 conf, MacUnit unit, bool has_product, std::string& why);
MacFn select_mac_plain(u32 conf, MacUnit unit, bool has_product, std::string& why);  // never AVX2

// Functions whose result may replace acc1, when there is no acc2.
bool works_in_place(MacFn fn);

void mac_clear(const MacArgs& args);
void mac_copy(const MacArgs& args);

// Control word fields.
constexpr u32 conf_amode(u32 conf) {
  return (conf >> 1) & 3;
}
constexpr u32 conf_bmode(u32 conf) {
  return (conf >> 3) & 3;
}
constexpr u32 conf_variant(u32 conf) {
  return (conf >> 5) & 7;
}
constexpr bool conf_zero_acc(u32 conf) {
  return conf & 1;
}
constexpr bool conf_sign_y(u32 conf) {
  return (conf >> 8) & 1;
}
constexpr bool conf_sign_x(u32 conf) {
  return (conf >> 9) & 1;
}
constexpr bool conf_shift16(u32 conf) {
  return (conf >> 10) & 1;
}
constexpr bool conf_sub_mul(u32 conf) {
  return (conf >> 11) & 1;
}
constexpr bool conf_sub_acc1(u32 conf) {
  return (conf >> 12) & 1;
}
constexpr bool conf_sub_acc2(u32 conf) {
  return (conf >> 13) & 1;
}

// Parts of the float datapath that the AVX2 versions fall back to and the tests look at.
struct FloatTerm {
  i64 mantissa;  // 0: absent
  i32 exponent;  // nominal, biased by 127
  i32 fraction;  // value = mantissa * 2^(exponent - 127 - fraction)
};
u32 float_sum(const FloatTerm* terms, int count, bool signed_underflow);
u32 bf16_lane(u16 a, u16 b, const u32* acc1, const u32* acc2, const MacArgs& args);
u32 block_lane(i32 product, i32 exponent, const u32* acc1, const u32* acc2, const MacArgs& args);
u32 add_lane(const u32* acc1, const u32* acc2, const MacArgs& args);

namespace avx2 {
bool available();
// Eight blocks of an exponent and eight mantissas each, 72 bytes, to 64 mantissas and 8 exponents.
void split_blocks(const u8* from, u8* mantissas, u8* exponents);
void int8_8x8x8(const MacArgs& args);
void block_8x8x8t(const MacArgs& args);
// The same without signs turned: out = acc + product; out may be acc.
void block_8x8x8t_plain(u8* out, const u8* acc, const u8* s1, const u8* s2, const u8* e1, const u8* e2);
void bf16_elements(const MacArgs& args);
void float_add(const MacArgs& args);
}  // namespace avx2

}  // namespace tegula::emu
