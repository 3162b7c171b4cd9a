// GGUF tensor types. Block layouts: docs/formats/gguf.md; values are compared with the reference
// implementation (the Python package gguf) block by block, to the last bit.
#include "format/ggml_type.h"

#include <fmt/core.h>

#include <bit>

#include "format/plain_types.h"

namespace tegula::format {
namespace {

constexpr GgmlTypeInfo kTypes[] = {
    {GgmlType::kF32, "F32", 1, 4},
    {GgmlType::kF16, "F16", 1, 2},
    {GgmlType::kQ4_0, "Q4_0", 32, 18},
    {GgmlType::kQ4_1, "Q4_1", 32, 20},
    {GgmlType::kQ5_0, "Q5_0", 32, 22},
    {GgmlType::kQ5_1, "Q5_1", 32, 24},
    {GgmlType::kQ8_0, "Q8_0", 32, 34},
    {GgmlType::kQ8_1, "Q8_1", 32, 40},
    {GgmlType::kQ2_K, "Q2_K", 256, 84},
    {GgmlType::kQ3_K, "Q3_K", 256, 110},
    {GgmlType::kQ4_K, "Q4_K", 256, 144},
    {GgmlType::kQ5_K, "Q5_K", 256, 176},
    {GgmlType::kQ6_K, "Q6_K", 256, 210},
    {GgmlType::kQ8_K, "Q8_K", 256, 292},
    {GgmlType::kIq2Xxs, "IQ2_XXS", 256, 66},
    {GgmlType::kIq2Xs, "IQ2_XS", 256, 74},
    {GgmlType::kIq3Xxs, "IQ3_XXS", 256, 98},
    {GgmlType::kIq1S, "IQ1_S", 256, 50},
    {GgmlType::kIq4Nl, "IQ4_NL", 32, 18},
    {GgmlType::kIq3S, "IQ3_S", 256, 110},
    {GgmlType::kIq2S, "IQ2_S", 256, 82},
    {GgmlType::kIq4Xs, "IQ4_XS", 256, 136},
    {GgmlType::kI8, "I8", 1, 1},
    {GgmlType::kI16, "I16", 1, 2},
    {GgmlType::kI32, "I32", 1, 4},
    {GgmlType::kI64, "I64", 1, 8},
    {GgmlType::kF64, "F64", 1, 8},
    {GgmlType::kIq1M, "IQ1_M", 256, 56},
    {GgmlType::kBf16, "BF16", 1, 2},
    {GgmlType::kTq1_0, "TQ1_0", 256, 54},
    {GgmlType::kTq2_0, "TQ2_0", 256, 66},
    {GgmlType::kMxfp4, "MXFP4", 32, 17},
};

float half(const u8* at) {
  return num::f32_from_f16(load_le<u16>(at));
}

// d, then 16 bytes; low nibbles are elements 0-15, high nibbles 16-31.
void q4_0(const u8* in, float* out) {
  float d = half(in);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((in[2 + i] & 15) - 8);
    out[i + 16] = d * static_cast<float>((in[2 + i] >> 4) - 8);
  }
}

// d, m, then 16 bytes as in Q4_0.
void q4_1(const u8* in, float* out) {
  float d = half(in);
  float m = half(in + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(in[4 + i] & 15) + m;
    out[i + 16] = d * static_cast<float>(in[4 + i] >> 4) + m;
  }
}

// The fifth bit of element i is bit i of the word `high`.
int fifth(u32 high, int i) {
  return static_cast<int>(high >> i & 1) << 4;
}

void q5_0(const u8* in, float* out) {
  float d = half(in);
  u32 high = load_le<u32>(in + 2);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>(((in[6 + i] & 15) | fifth(high, i)) - 16);
    out[i + 16] = d * static_cast<float>(((in[6 + i] >> 4) | fifth(high, i + 16)) - 16);
  }
}

void q5_1(const u8* in, float* out) {
  float d = half(in);
  float m = half(in + 2);
  u32 high = load_le<u32>(in + 4);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * static_cast<float>((in[8 + i] & 15) | fifth(high, i)) + m;
    out[i + 16] = d * static_cast<float>((in[8 + i] >> 4) | fifth(high, i + 16)) + m;
  }
}

void q8_0(const u8* in, float* out) {
  float d = half(in);
  for (int i = 0; i < 32; ++i) out[i] = d * static_cast<float>(static_cast<i8>(in[2 + i]));
}

// 16 bytes of scale (low nibble) and minimum (high), 64 bytes of 2-bit values, d, dmin. Each 32 bytes of
// values hold four runs of 32 elements, one per bit pair.
void q2_k(const u8* in, float* out) {
  float d = half(in + 80);
  float dmin = half(in + 82);
  for (int i = 0; i < 256; ++i) {
    u8 scale = in[i / 16];
    int q = in[16 + i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
    out[i] =
        d * static_cast<float>(scale & 15) * static_cast<float>(q) - dmin * static_cast<float>(scale >> 4);
  }
}

// 32 bytes of third bits, 64 bytes of 2-bit values as in Q2_K, 16 six-bit scales in 12 bytes (low nibbles in
// 0-7, high pairs in 8-11), d. A third bit of 0 subtracts 4.
void q3_k(const u8* in, float* out) {
  float d = half(in + 108);
  const u8* scales = in + 96;
  for (int i = 0; i < 256; ++i) {
    int s = i / 16;
    int low = scales[s % 8] >> (s / 8 * 4) & 15;
    int high = scales[8 + s % 4] >> (s / 4 * 2) & 3;
    int q = in[32 + i / 128 * 32 + i % 32] >> (i / 32 % 4 * 2) & 3;
    int third = in[i % 32] >> (i / 32) & 1;
    out[i] = d * static_cast<float>((low | high << 4) - 32) * static_cast<float>(q - (third ? 0 : 4));
  }
}

// Scale and minimum of group j (0-7) out of the 12 packed bytes of Q4_K and Q5_K: six bits each, groups 4-7
// have their low nibbles in bytes 8-11 and their high pairs on top of groups 0-3.
void scale_min(const u8* packed, int j, int* scale, int* minimum) {
  if (j < 4) {
    *scale = packed[j] & 63;
    *minimum = packed[j + 4] & 63;
  } else {
    *scale = (packed[j + 4] & 15) | (packed[j - 4] >> 6) << 4;
    *minimum = packed[j + 4] >> 4 | (packed[j] >> 6) << 4;
  }
}

// d, dmin, 12 bytes of scales, 128 bytes: each 32 hold two groups of 32 elements, low nibbles first.
void q4_k(const u8* in, float* out) {
  for (int j = 0; j < 8; ++j) {
    int scale, minimum;
    scale_min(in + 4, j, &scale, &minimum);
    float d = half(in) * static_cast<float>(scale);
    float m = half(in + 2) * static_cast<float>(minimum);
    const u8* q = in + 16 + j / 2 * 32;
    for (int i = 0; i < 32; ++i) out[j * 32 + i] = d * static_cast<float>(q[i] >> (j % 2 * 4) & 15) - m;
  }
}

// As Q4_K, with 32 bytes before the nibbles: bit j of byte i is the fifth bit of element i of group j.
void q5_k(const u8* in, float* out) {
  for (int j = 0; j < 8; ++j) {
    int scale, minimum;
    scale_min(in + 4, j, &scale, &minimum);
    float d = half(in) * static_cast<float>(scale);
    float m = half(in + 2) * static_cast<float>(minimum);
    const u8* q = in + 48 + j / 2 * 32;
    for (int i = 0; i < 32; ++i) {
      int value = (q[i] >> (j % 2 * 4) & 15) | (in[16 + i] >> j & 1) << 4;
      out[j * 32 + i] = d * static_cast<float>(value) - m;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of high pairs, 16 signed scales, d. Each half block (128 elements) has
// 64 bytes of nibbles (low nibbles first) and 32 bytes of pairs (lowest pair first).
void q6_k(const u8* in, float* out) {
  float d = half(in + 208);
  for (int i = 0; i < 256; ++i) {
    int h = i / 128;
    int low = in[h * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
    int high = in[128 + h * 32 + i % 32] >> (i % 128 / 32 * 2) & 3;
    float scale = d * static_cast<float>(static_cast<i8>(in[192 + i / 16]));
    out[i] = scale * static_cast<float>((low | high << 4) - 32);
  }
}

// One power-of-two exponent, then 16 bytes of E2M1 values as in Q4_0. The table holds doubled values, so the
// exponent is one less.
void mxfp4(const u8* in, float* out) {
  constexpr float kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
  u32 e = in[0];
  float d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
  for (int i = 0; i < 16; ++i) {
    out[i] = d * kValues[in[1 + i] & 15];
    out[i + 16] = d * kValues[in[1 + i] >> 4];
  }
}

using Expand = void (*)(const u8*, float*);

Expand expander(GgmlType type) {
  switch (type) {
    case GgmlType::kQ4_0:
      return q4_0;
    case GgmlType::kQ4_1:
      return q4_1;
    case GgmlType::kQ5_0:
      return q5_0;
    case GgmlType::kQ5_1:
      return q5_1;
    case GgmlType::kQ8_0:
      return q8_0;
    case GgmlType::kQ2_K:
      return q2_k;
    case GgmlType::kQ3_K:
      return q3_k;
    case GgmlType::kQ4_K:
      return q4_k;
    case GgmlType::kQ5_K:
      return q5_k;
    case GgmlType::kQ6_K:
      return q6_k;
    case GgmlType::kMxfp4:
      return mxfp4;
    default:
      return nullptr;
  }
}

}  // namespace

const GgmlTypeInfo* ggml_type_info(GgmlType type) {
  for (const GgmlTypeInfo& info : kTypes) {
    if (info.type == type) return &info;
  }
  return nullptr;
}

const char* ggml_type_name(GgmlType type) {
  const GgmlTypeInfo* info = ggml_type_info(type);
  return info ? info->name : "?";
}

bool can_dequantize(GgmlType type) {
  bool plain = type == GgmlType::kF32 || type == GgmlType::kF16 || type == GgmlType::kBf16;
  return plain || expander(type) != nullptr;
}

Result<u64> ggml_row_bytes(GgmlType type, u64 elements) {
  const GgmlTypeInfo* info = ggml_type_info(type);
  if (!info)
    return fail(Code::kUnsupported, fmt::format("tensor type {} is not known", static_cast<u32>(type)));
  if (elements % info->block_elements != 0) {
    return fail(Code::kInvalidArgument,
                fmt::format("a row of {} elements is not a whole number of {} blocks of {}", elements,
                            info->name, info->block_elements));
  }
  u64 bytes = 0;
  if (__builtin_mul_overflow(elements / info->block_elements, u64{info->block_bytes}, &bytes)) {
    return fail(Code::kInvalidArgument, fmt::format("a row of {} elements is too long", elements));
  }
  return bytes;
}

Result<void> dequantize(GgmlType type, ByteSpan raw, std::span<float> out) {
  if (!can_dequantize(type)) {
    return fail(Code::kUnsupported,
                fmt::format("tensor type {} ({}) cannot be expanded; supported are F32, F16, BF16, "
                            "Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K and MXFP4",
                            static_cast<u32>(type), ggml_type_name(type)));
  }
  TRY_ASSIGN(u64 bytes, ggml_row_bytes(type, out.size()));
  if (raw.size() != bytes) {
    return fail(Code::kInvalidArgument, fmt::format("{} elements of {} need {} bytes, {} were given",
                                                    out.size(), ggml_type_name(type), bytes, raw.size()));
  }
  if (type == GgmlType::kF32) expand_f32(raw, out);
  if (type == GgmlType::kF16) expand_f16(raw, out);
  if (type == GgmlType::kBf16) expand_bf16(raw, out);
  Expand expand = expander(type);
  if (!expand) return {};
  const GgmlTypeInfo& info = *ggml_type_info(type);
  for (u64 block = 0; block * info.block_elements < out.size(); ++block) {
    expand(raw.data() + block * info.block_bytes, out.data() + block * info.block_elements);
  }
  return {};
}

}  // namespace tegula::format
