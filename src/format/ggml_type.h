// Tensor types of GGUF files: block sizes and expansion to fp32.
#pragma once

#include <span>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

// Numbers as in the file. Types that only have a size here can be listed but not expanded.
enum class GgmlType : u32 {
  kF32 = 0,
  kF16 = 1,
  kQ4_0 = 2,
  kQ4_1 = 3,
  kQ5_0 = 6,
  kQ5_1 = 7,
  kQ8_0 = 8,
  kQ8_1 = 9,
  kQ2_K = 10,
  kQ3_K = 11,
  kQ4_K = 12,
  kQ5_K = 13,
  kQ6_K = 14,
  kQ8_K = 15,
  kIq2Xxs = 16,
  kIq2Xs = 17,
  kIq3Xxs = 18,
  kIq1S = 19,
  kIq4Nl = 20,
  kIq3S = 21,
  kIq2S = 22,
  kIq4Xs = 23,
  kI8 = 24,
  kI16 = 25,
  kI32 = 26,
  kI64 = 27,
  kF64 = 28,
  kIq1M = 29,
  kBf16 = 30,
  kTq1_0 = 34,
  kTq2_0 = 35,
  kMxfp4 = 39,
};

struct GgmlTypeInfo {
  GgmlType type;
  const char* name;
  u32 block_elements;
  u32 block_bytes;
};

// Null for a number that is not in the enum.
const GgmlTypeInfo* ggml_type_info(GgmlType type);
const char* ggml_type_name(GgmlType type);  // "?" for an unknown one

// Bytes of a row of that many elements. Errors: kUnsupported type, kInvalidArgument if not whole blocks.
Result<u64> ggml_row_bytes(GgmlType type, u64 elements);

// Whether dequantize knows the type.
bool can_dequantize(GgmlType type);

// Expands whole blocks to fp32, with the arithmetic and order of the reference (fp32 throughout); raw must be
// exactly ggml_row_bytes(type, out.size()) long. F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K,
// MXFP4. Errors: kUnsupported type, kInvalidArgument (sizes).
Result<void> dequantize(GgmlType type, ByteSpan raw, std::span<float> out);

}  // namespace tegula::format
