#include "num/rounding.h"

namespace tegula::num {
namespace {

bool rounds_up(bool negative, bool odd, u64 fraction, u64 half, Rounding mode) {
  switch (mode) {
    case Rounding::kFloor:
      return false;
    case Rounding::kCeil:
      return fraction > 0;
    case Rounding::kSymFloor:
      return negative && fraction > 0;
    case Rounding::kSymCeil:
      return !negative && fraction > 0;
    case Rounding::kNegInf:
      return fraction > half;
    case Rounding::kPosInf:
      return fraction >= half;
    case Rounding::kSymZero:
      return negative ? fraction >= half : fraction > half;
    case Rounding::kSymInf:
      return negative ? fraction > half : fraction >= half;
    case Rounding::kConvEven:
      return fraction > half || (fraction == half && odd);
    case Rounding::kConvOdd:
      return fraction > half || (fraction == half && !odd);
  }
  return false;
}

}  // namespace

i64 round_shift(i64 value, int shift, Rounding mode) {
  if (shift <= 0) return value;
  if (shift > 63) shift = 63;
  const i64 quotient = value >> shift;
  const u64 fraction = static_cast<u64>(value) & ((u64{1} << shift) - 1);
  const u64 half = u64{1} << (shift - 1);
  return quotient + (rounds_up(value < 0, (quotient & 1) != 0, fraction, half, mode) ? 1 : 0);
}

}  // namespace tegula::num
