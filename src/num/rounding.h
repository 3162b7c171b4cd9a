// The ten rounding modes of the array's conversions, on exact signed integers.
#pragma once

#include "base/types.h"

namespace tegula::num {

// Values are those of the core's rounding register; 4..7, 14 and 15 are reserved.
enum class Rounding : u8 {
  kFloor = 0,      // toward minus infinity
  kCeil = 1,       // toward plus infinity
  kSymFloor = 2,   // toward zero
  kSymCeil = 3,    // away from zero
  kNegInf = 8,     // nearest, half toward minus infinity
  kPosInf = 9,     // nearest, half toward plus infinity
  kSymZero = 10,   // nearest, half toward zero
  kSymInf = 11,    // nearest, half away from zero
  kConvEven = 12,  // nearest, half to even
  kConvOdd = 13,   // nearest, half to odd
};

// round(value / 2^shift), exact. A shift of 0 returns the value; shifts of 63 and more are treated as 63.
i64 round_shift(i64 value, int shift, Rounding mode);

}  // namespace tegula::num
