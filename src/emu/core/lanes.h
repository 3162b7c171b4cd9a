// Lane-wise conversions between accumulators and narrower elements: shift-round-saturate, upshift, pack,
// unpack, bf16 and block floating point. Plain functions of bytes (semantics: SRS, UPS, pack, unpack,
// floating point conversions).
#pragma once

#include "base/types.h"

namespace tegula::emu::lanes {

// Values of crRnd.
enum Rounding : u32 {
  kFloor = 0,
  kCeil = 1,
  kSymFloor = 2,
  kSymCeil = 3,
  kNegInf = 8,
  kPosInf = 9,
  kSymZero = 10,
  kSymInf = 11,
  kConvEven = 12,
  kConvOdd = 13
};

struct SrsMode {
  u32 shift, rounding, saturation;  // s register, crRnd, crSat
  bool is_signed;
};

// round(value / 2^shift) as an integer.
i64 shift_round(i64 value, u32 shift, u32 rounding);

// `count` accumulator lanes of 32 or 64 bits to elements of lane_bits / factor bits. True when some lane did
// not fit.
bool srs(const u8* src, u32 count, u32 lane_bits, u32 out_bits, const SrsMode& mode, u8* out);

// `count` elements of in_bits to lanes of lane_bits, shifted left. True when some lane did not fit.
bool ups(const u8* src, u32 count, u32 in_bits, u32 lane_bits, u32 shift, u32 saturation, bool is_signed,
         u8* out);

// wide = true: 16 to 8 bits, else 8 to 4 bits; `count` input elements.
void pack(const u8* src, u32 count, bool wide, u32 saturation, bool is_signed, u8* out);

// wide = true: 8 to 16 bits, else 4 to 8 bits; `bytes` input bytes.
void unpack(const u8* src, u32 bytes, bool wide, bool is_signed, u8* out);

u16 bf16_of_fp32(u32 bits, u32 rounding);
void bf16_of_fp32(const u8* src, u32 count, u32 rounding, u8* out);
void fp32_of_bf16(const u8* src, u32 count, u8* out);

// 64 fp32 lanes to 64 int8 mantissas (out) and 8 exponents (exponents), one per 8 lanes or, with wide, per 16
// lanes (then each exponent appears twice).
void bfp16_of_fp32(const u8* src, bool wide, u32 rounding, u8* out, u8* exponents);

// Brings pairs of 8-lane blocks to a common exponent.
void bfp16_widen(const u8* mantissas, const u8* exponents, u32 rounding, u8* out, u8* out_exponents);

// floor(value * 2^shift) of a bf16 as a saturated int32.
i32 floor_of_bf16(u16 bits, i32 shift);

// Nearest bf16 of 2^x and tanh(x). Assumption: the hardware's tables are not public.
u16 exp2_bf16(u32 fp32_bits);
u16 tanh_bf16(u32 fp32_bits);

}  // namespace tegula::emu::lanes
