// Block floating point bfp16ebs8: 8 int8 mantissas share one exponent; value = m * 2^(E - 133).
// Memory form: 9 bytes per block, [E][m0..m7].
#pragma once

#include <span>

#include "base/types.h"
#include "num/rounding.h"

namespace tegula::num {

inline constexpr i64 kBfp16BlockElements = 8;
inline constexpr i64 kBfp16BlockBytes = 9;

struct Bfp16Block {
  u8 exponent;
  i8 m[8];
};
static_assert(sizeof(Bfp16Block) == kBfp16BlockBytes);

// Bytes of the memory form of a row of `elements` values; the last block is padded with zeros.
constexpr i64 bfp16_row_bytes(i64 elements) {
  return (elements + kBfp16BlockElements - 1) / kBfp16BlockElements * kBfp16BlockBytes;
}

// E is the largest biased exponent of the block (denormals count as they are stored, 0). Each mantissa is the
// exact value rounded once; where a mantissa would become +128 the block is encoded again with E + 1 (at E =
// 255 it saturates).
Bfp16Block encode_bfp16_block(const float values[8], Rounding mode = Rounding::kConvEven);
void decode_bfp16_block(const Bfp16Block& block, float values[8]);

// Whole rows in round-to-nearest-even. `out` holds bfp16_row_bytes(row.size()) bytes. Uses AVX2 where the
// host has it; the bytes are the same either way.
void encode_bfp16(std::span<const float> row, u8* out);
void decode_bfp16(const u8* in, std::span<float> row);

// hi = encode(x), lo = encode(x - decode(hi)): two parts whose sum carries about 15 bits.
void encode_bfp16_split(std::span<const float> row, u8* hi, u8* lo);

// The plain version that the fast one is tested against.
void encode_bfp16_scalar(std::span<const float> row, u8* out);

}  // namespace tegula::num
