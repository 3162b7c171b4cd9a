// Integer modes of the multiplier by table: shape, element widths and accumulator width of every control word
// that is known (semantics: mode table, element to lane mapping). Sums wrap in the accumulator lane.
#include <iterator>

#include "base/bytes.h"
#include "emu/core/datapath.h"
#include "emu/core/text.h"

namespace tegula::emu {

namespace {

enum class Shape : u8 { kMatrix, kElement, kFourChannel, kConvolution, kConvolutionChannels };

struct IntMode {
  u8 code;  // amode << 1 | bmode << 3 | variant << 5
  Shape shape;
  u8 m, k, n;  // matrix M K N; element: lanes, terms, -; convolution: rows, taps, channels
  u8 a_bits, b_bits;
};

// Not here: sparse (0xA8 0xE8 0x52 0xBA) and complex (0x22 0x9A) modes, of which only the names are public.
constexpr IntMode kModes[] = {
    {0x08, Shape::kMatrix, 8, 8, 8, 8, 8},
    {0x28, Shape::kElement, 64, 2, 0, 8, 8},
    {0x48, Shape::kConvolutionChannels, 8, 8, 8, 8, 8},
    {0x88, Shape::kConvolution, 64, 8, 1, 8, 8},
    {0xC8, Shape::kMatrix, 4, 8, 16, 8, 8},
    {0x10, Shape::kMatrix, 8, 4, 8, 16, 8},
    {0x30, Shape::kFourChannel, 4, 4, 4, 16, 8},
    {0x18, Shape::kMatrix, 8, 2, 8, 16, 16},
    {0x38, Shape::kElement, 64, 1, 0, 16, 16},
    {0x02, Shape::kMatrix, 4, 2, 8, 32, 16},
    {0x12, Shape::kMatrix, 4, 8, 8, 16, 8},
    {0x1A, Shape::kMatrix, 4, 4, 8, 16, 16},
    {0x3A, Shape::kConvolutionChannels, 4, 4, 8, 16, 16},
    {0x5A, Shape::kElement, 32, 2, 0, 16, 16},
    {0x7A, Shape::kConvolution, 32, 4, 1, 16, 16},
};

const IntMode* find_mode(u32 conf) {
  for (const IntMode& mode : kModes) {
    if (mode.code == (conf & 0xFE)) return &mode;
  }
  return nullptr;
}

// Elements of one operand, sign- or zero-extended; zero beyond the register.
struct Elements {
  i64 value[160];
};

void read_elements(const u8* from, u32 bytes, u32 bits, bool is_signed, Elements& out) {
  const u32 count = bytes * 8 / bits;
  for (u32 i = 0; i < std::size(out.value); ++i) {
    i64 v = 0;
    if (i < count) {
      if (bits == 8) v = is_signed ? static_cast<i8>(from[i]) : static_cast<i64>(from[i]);
      if (bits == 16)
        v = is_signed ? load_le<i16>(from + 2 * i) : static_cast<i64>(load_le<u16>(from + 2 * i));
      if (bits == 32)
        v = is_signed ? load_le<i32>(from + 4 * i) : static_cast<i64>(load_le<u32>(from + 4 * i));
    }
    out.value[i] = v;
  }
}

// Product of one lane, modulo 2^64.
u64 lane_product(const IntMode& mode, const Elements& a, const Elements& b, u32 lane) {
  u64 sum = 0;
  const u32 m = mode.m, k = mode.k, n = mode.n;
  switch (mode.shape) {
    case Shape::kMatrix:
      for (u32 i = 0; i < k; ++i)
        sum += static_cast<u64>(a.value[lane / n * k + i] * b.value[i * n + lane % n]);
      break;
    case Shape::kElement:
      for (u32 c = 0; c < k; ++c) sum += static_cast<u64>(a.value[c * m + lane] * b.value[c * m + lane]);
      break;
    case Shape::kFourChannel: {
      const u32 channel = lane % 4, row = lane / 16, column = lane / 4 % 4;
      for (u32 i = 0; i < k; ++i) {
        sum +=
            static_cast<u64>(a.value[(row * 4 + i) * 4 + channel] * b.value[(i * 4 + column) * 4 + channel]);
      }
      break;
    }
    case Shape::kConvolution:
      for (u32 i = 0; i < k; ++i) sum += static_cast<u64>(a.value[lane + i] * b.value[i]);
      break;
    case Shape::kConvolutionChannels: {
      const u32 channel = lane % n, row = lane / n;
      for (u32 i = 0; i < k; ++i)
        sum += static_cast<u64>(a.value[(row + i) * n + channel] * b.value[i * n + channel]);
      break;
    }
  }
  return sum;
}

template <typename Lane>
Lane combine(const MacArgs& args, u32 lane, Lane product) {
  const auto at = [&](const u8* acc) { return load_le<Lane>(acc + lane * sizeof(Lane)); };
  Lane sum = args.negate_product ? Lane{0} - product : product;
  if (args.acc1 != nullptr) {
    Lane v = at(args.acc1);
    if (conf_shift16(args.conf)) v <<= 16;
    sum += args.negate_acc1 ? Lane{0} - v : v;
  }
  if (args.acc2 != nullptr) sum += args.negate_acc2 ? Lane{0} - at(args.acc2) : at(args.acc2);
  return sum;
}

template <typename Lane>
void integer_add(const MacArgs& args) {
  for (u32 i = 0; i < 256 / sizeof(Lane); ++i)
    store_le<Lane>(args.out + i * sizeof(Lane), combine<Lane>(args, i, 0));
}

template <typename Lane>
void integer_mac(const MacArgs& args) {
  const IntMode& mode = *find_mode(args.conf);
  Elements a, b;
  read_elements(args.s1, args.s1_bytes, mode.a_bits, conf_sign_x(args.conf), a);
  read_elements(args.s2, args.s2_bytes, mode.b_bits, conf_sign_y(args.conf), b);
  for (u32 i = 0; i < 256 / sizeof(Lane); ++i) {
    store_le<Lane>(args.out + i * sizeof(Lane),
                   combine<Lane>(args, i, static_cast<Lane>(lane_product(mode, a, b, i))));
  }
}

}  // namespace

void mac_clear(const MacArgs& args) {
  std::memset(args.out, 0, 256);
}
void mac_copy(const MacArgs& args) {
  std::memcpy(args.out, args.acc1, 256);
}

MacFn select_integer(u32 conf, bool has_product, bool fast, std::string& why) {
  const u32 amode = conf_amode(conf);
  if (!has_product) {
    if (amode == 0) return integer_add<u32>;
    if (amode == 1) return integer_add<u64>;
    why = "control word " + hex_text(conf) + ": integer accumulator operation with accumulator mode " +
          std::to_string(amode);
    return nullptr;
  }
  if (find_mode(conf) == nullptr || (conf & 0xFFFF0000) != 0) {
    why = "control word " + hex_text(conf) + " is no integer mode that is known";
    return nullptr;
  }
  if (fast && (conf & 0xFE) == 0x08) return avx2::int8_8x8x8;
  return amode == 0 ? integer_mac<u32> : integer_mac<u64>;
}

}  // namespace tegula::emu
