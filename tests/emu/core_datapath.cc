// Matrix and float datapaths against independent lane models, and the AVX2 versions against the plain ones.
#include <bit>
#include <cmath>

#include "emu/core/datapath.h"
#include "emu/core_testing.h"

namespace tegula::emu::testing {

// Exact binary fractions as 128-bit integers times 2^scale: an independent model of the float accumulate
// rule.
struct ModelTerm {
  bool present;
  long double value;  // exact: at most 40 significant bits
  int exponent;       // nominal, biased
};

u32 model_sum(const std::vector<ModelTerm>& terms) {
  int top = -1000;
  for (const ModelTerm& t : terms) {
    if (t.present) top = std::max(top, t.exponent);
  }
  if (top == -1000) return 0;
  // All terms in units of 2^(top - 150), each rounded to nearest even (x87 long double holds 64 bits).
  long double sum = 0;
  for (const ModelTerm& t : terms) {
    if (t.present) sum += std::nearbyint(std::ldexp(t.value, 150 - top));
  }
  if (sum == 0) return 0;
  int e = 0;
  std::frexp(sum, &e);  // sum = m * 2^e, 0.5 <= m < 1
  long double rounded = std::ldexp(std::nearbyint(std::ldexp(sum, 24 - e)), e - 24);
  rounded = std::ldexp(rounded, top - 150);
  if (std::fabs(rounded) < std::ldexp(1.0L, -126)) return 0;
  if (std::fabs(rounded) >= std::ldexp(1.0L, 128)) return rounded < 0 ? 0xFF800000 : 0x7F800000;
  return std::bit_cast<u32>(static_cast<float>(rounded));
}

ModelTerm model_accumulator(u32 bits) {
  const float v = std::bit_cast<float>(bits);
  return {v != 0, static_cast<long double>(v), std::max(1, static_cast<int>((bits >> 23) & 0xFF))};
}

u32 random_float(std::mt19937& random, int low, int high) {
  const u32 exponent = static_cast<u32>(low + static_cast<int>(random() % static_cast<u32>(high - low + 1)));
  return (random() & 0x807FFFFF) | exponent << 23;
}

TEST(CoreDatapath, FloatSumFollowsTheRule) {
  std::mt19937 random(1);
  for (int i = 0; i < 200000; ++i) {
    const int center = 40 + static_cast<int>(random() % 170);
    const u32 acc = i % 7 == 0 ? 0 : random_float(random, center - 26, center + 26);
    const i32 product = static_cast<i32>(random() % 0x40001) - 0x20000;
    const FloatTerm terms[2] = {
        {product, center, 12},
        {static_cast<i64>((acc & 0x7FFFFF) | (acc ? 0x800000 : 0)) * (acc >> 31 ? -1 : 1),
         static_cast<i32>((acc >> 23) & 0xFF), 23}};
    const u32 expected =
        model_sum({{product != 0, std::ldexp(static_cast<long double>(product), center - 139), center},
                   model_accumulator(acc)});
    ASSERT_EQ(float_sum(terms, 2, false), expected) << i;
  }
}

TEST(CoreDatapath, Bf16LaneFollowsTheRule) {
  std::mt19937 random(2);
  MacArgs args;
  for (int i = 0; i < 200000; ++i) {
    const u16 a = static_cast<u16>(random_float(random, 60, 190) >> 16),
              b = static_cast<u16>(random_float(random, 60, 190) >> 16);
    const int e = ((a >> 7) & 0xFF) + ((b >> 7) & 0xFF) - 127;
    const u32 acc = random_float(random, std::clamp(e - 30, 1, 254), std::clamp(e + 30, 1, 254));
    if (e < 1 || e > 250) continue;
    const long double product =
        static_cast<long double>(std::bit_cast<float>(u32{a} << 16)) * std::bit_cast<float>(u32{b} << 16);
    ASSERT_EQ(bf16_lane(a, b, &acc, nullptr, args), model_sum({{true, product, e}, model_accumulator(acc)}))
        << i;
  }
}

TEST(CoreDatapath, FloatSpecials) {
  MacArgs args;
  const u32 one = 0x3F800000, inf = 0x7F800000, minus_inf = 0xFF800000, nan = 0x7FC00000, zero = 0,
            minus_zero = 0x80000000;
  EXPECT_EQ(add_lane(&one, &inf, args), inf);
  EXPECT_EQ(add_lane(&inf, &minus_inf, args), 0x7F800001u);
  EXPECT_EQ(add_lane(&nan, &one, args), 0x7F800001u);
  EXPECT_EQ(add_lane(&minus_zero, &minus_zero, args), 0u);
  EXPECT_EQ(bf16_lane(0x7F80, 0x0000, &zero, nullptr, args), 0x7F800001u);
  EXPECT_EQ(bf16_lane(0x7F80, 0xBF80, &one, nullptr, args), minus_inf);
  const u32 denormal = 0x80000001;
  EXPECT_EQ(add_lane(&denormal, &zero, args), 0x80000000u);       // underflow keeps its sign in an addition
  EXPECT_EQ(bf16_lane(0, 0x3F80, &denormal, nullptr, args), 0u);  // and not in a multiply-accumulate
  const u32 large = 0x7F7FFFFF;
  EXPECT_EQ(add_lane(&large, &large, args), inf);
}

// Alignment rounds every term by itself: 1 + 2^-24 + 2^-24 is 1 with both small terms lost to even.
TEST(CoreDatapath, EveryTermIsRoundedByItself) {
  const FloatTerm terms[3] = {{1 << 23, 127, 23}, {1 << 23, 103, 23}, {1 << 23, 103, 23}};
  EXPECT_EQ(float_sum(terms, 3, false), 0x3F800000u);
}

// ---------------------------------------------------------------- AVX2 against plain

struct MacCase {
  u32 conf;
  MacUnit unit;
  bool product;
};

void fill_operands(std::mt19937& random, int style, MacUnit unit, std::vector<u8>& s, std::vector<u8>& e,
                   std::vector<u8>& acc) {
  for (u8& b : s) b = static_cast<u8>(random());
  for (u8& b : e)
    b = static_cast<u8>(style == 0 ? 120 + random() % 16 : style == 1 ? random() : 100 + random() % 60);
  if (style == 2) {
    for (size_t i = 0; i < s.size(); i += 1 + random() % 9) s[i] = random() % 2 ? 0x80 : 0;
  }
  if (unit == MacUnit::kBf16 && style != 1) {
    for (size_t i = 1; i < s.size(); i += 2) s[i] = static_cast<u8>((s[i] & 0x80) | (0x38 + random() % 12));
    if (style == 2) {
      for (size_t i = 0; i + 1 < s.size(); i += 2 * (1 + random() % 12)) s[i] = s[i + 1] = 0;
    }
  }
  if (unit == MacUnit::kInteger) {
    for (u8& b : acc) b = static_cast<u8>(random());
    return;
  }
  for (size_t i = 0; i < acc.size(); i += 4) {
    const u32 v = style == 1          ? static_cast<u32>(random())
                  : random() % 9 == 0 ? (random() & 0x80000000)
                                      : random_float(random, 90, 165);
    std::memcpy(acc.data() + i, &v, 4);
  }
}

// Blocks of zeros, exponents at both ends of what the fast version takes, and accumulators near overflow.
void go_to_limits(std::mt19937& random, std::vector<u8>& s, std::vector<u8>& e, std::vector<u8>& acc) {
  for (size_t block = 0; block < s.size(); block += 8) {
    if (random() % 3 == 0) std::memset(s.data() + block, 0, 8);
  }
  const u32 low = random() % 2 ? 62 : 182;
  for (u8& x : e) x = static_cast<u8>(random() % 16 == 0 ? random() : low + random() % 12);
  for (size_t i = 0; i < acc.size(); i += 4) {
    const u32 v = (static_cast<u32>(random()) & 0x807FFFFF) |
                  (random() % 2 ? 244 + random() % 11 : random() % 20) << 23;
    if (random() % 2) std::memcpy(acc.data() + i, &v, 4);
  }
}

class CoreDatapathFast : public ::testing::TestWithParam<MacCase> {};

TEST_P(CoreDatapathFast, EqualsPlain) {
  if (!avx2::available()) FAIL() << "this test needs AVX2";
  const MacCase& c = GetParam();
  std::string why;
  const MacFn fast = select_mac(c.conf, c.unit, c.product, why),
              plain = select_mac_plain(c.conf, c.unit, c.product, why);
  ASSERT_NE(fast, nullptr) << why;
  ASSERT_NE(fast, plain);
  std::mt19937 random(c.conf);
  std::vector<u8> s(256), e(32), acc(512);
  for (int i = 0; i < 6000; ++i) {
    fill_operands(random, i % 3, c.unit, s, e, acc);
    if (i % 2 == 1) go_to_limits(random, s, e, acc);
    MacArgs args;
    args.s1 = s.data();
    args.s2 = s.data() + 128;
    args.e1 = e.data();
    args.e2 = e.data() + 16;
    args.s1_bytes = args.s2_bytes = random() % 2 || c.unit != MacUnit::kBf16 ? 64 : 128;
    if (random() % 8 != 0 || !c.product) args.acc1 = acc.data();
    if (random() % 8 == 0 || !c.product) args.acc2 = acc.data() + 256;
    args.negate_product = random() % 4 == 0;
    args.negate_acc1 = random() % 4 == 0;
    args.negate_acc2 = random() % 2 == 0;
    args.conf = c.conf;
    u8 got[256], expected[256];
    args.out = got;
    fast(args);
    args.out = expected;
    plain(args);
    if (works_in_place(fast) && args.acc1 != nullptr && args.acc2 == nullptr) {
      args.acc1 = args.out = acc.data();
      fast(args);
      ASSERT_EQ(std::memcmp(acc.data(), got, 256), 0) << "in place, case " << i;
    }
    for (int lane = 0; lane < 64; ++lane) {
      u32 g, x;
      std::memcpy(&g, got + 4 * lane, 4);
      std::memcpy(&x, expected + 4 * lane, 4);
      ASSERT_EQ(g, x) << "lane " << lane << " of case " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, CoreDatapathFast,
    ::testing::Values(MacCase{0x308, MacUnit::kInteger, true}, MacCase{0x108, MacUnit::kInteger, true},
                      MacCase{0x208, MacUnit::kInteger, true}, MacCase{0x008, MacUnit::kInteger, true},
                      MacCase{0x708, MacUnit::kInteger, true}, MacCase{0x30C, MacUnit::kBlock, true},
                      MacCase{0x03C, MacUnit::kBf16, true}, MacCase{0x33C, MacUnit::kBf16, true},
                      MacCase{0x03C, MacUnit::kBf16, false}));

// ---------------------------------------------------------------- integer modes

i64 element(const u8* from, u32 bytes, u32 index, u32 bits, bool is_signed) {
  if ((index + 1) * bits / 8 > bytes) return 0;
  u64 v = 0;
  std::memcpy(&v, from + index * bits / 8, bits / 8);
  if (is_signed && (v >> (bits - 1) & 1)) v |= ~u64{0} << bits;
  return static_cast<i64>(v);
}

// Index of the terms of a lane, written out per mode: A index, B index.
using Terms = std::vector<std::pair<u32, u32>>;
Terms terms_of(u32 code, u32 lane) {
  Terms out;
  const auto matrix = [&](u32 k, u32 n) {
    for (u32 i = 0; i < k; ++i) out.push_back({lane / n * k + i, i * n + lane % n});
  };
  switch (code) {
    case 0x08:
      matrix(8, 8);
      break;
    case 0xC8:
      matrix(8, 16);
      break;
    case 0x10:
      matrix(4, 8);
      break;
    case 0x18:
      matrix(2, 8);
      break;
    case 0x02:
      matrix(2, 8);
      break;
    case 0x12:
      matrix(8, 8);
      break;
    case 0x1A:
      matrix(4, 8);
      break;
    case 0x28:
      out = {{lane, lane}, {64 + lane, 64 + lane}};
      break;
    case 0x38:
      out = {{lane, lane}};
      break;
    case 0x5A:
      out = {{lane, lane}, {32 + lane, 32 + lane}};
      break;
    case 0x88:
      for (u32 k = 0; k < 8; ++k) out.push_back({lane + k, k});
      break;
    case 0x7A:
      for (u32 k = 0; k < 4; ++k) out.push_back({lane + k, k});
      break;
    case 0x48:
      for (u32 k = 0; k < 8; ++k) out.push_back({(lane / 8 + k) * 8 + lane % 8, k * 8 + lane % 8});
      break;
    case 0x3A:
      for (u32 k = 0; k < 4; ++k) out.push_back({(lane / 8 + k) * 8 + lane % 8, k * 8 + lane % 8});
      break;
    case 0x30:
      for (u32 k = 0; k < 4; ++k)
        out.push_back({(lane / 16 * 4 + k) * 4 + lane % 4, (k * 4 + lane / 4 % 4) * 4 + lane % 4});
      break;
    default:
      break;
  }
  return out;
}

struct ModeCase {
  u32 code, a_bits, b_bits;
};

class CoreIntegerMode : public ::testing::TestWithParam<ModeCase> {};

TEST_P(CoreIntegerMode, FollowsTheTable) {
  const ModeCase& c = GetParam();
  std::mt19937 random(c.code);
  for (int i = 0; i < 64; ++i) {
    const u32 conf = c.code | (random() & 0x700);
    auto s = random_bytes(256, static_cast<u32>(random()));
    const auto acc = random_bytes(256, static_cast<u32>(random()));
    if (i % 4 == 0) std::fill(s.begin(), s.end(), u8{0x80});
    MacArgs args;
    args.s1 = s.data();
    args.s2 = s.data() + 128;
    args.s1_bytes = random() % 2 ? 64 : 128;
    args.s2_bytes = random() % 2 ? 64 : 128;
    args.acc1 = acc.data();
    args.conf = conf;
    u8 out[256];
    args.out = out;
    std::string why;
    const MacFn fn = select_mac(conf, MacUnit::kInteger, true, why);
    ASSERT_NE(fn, nullptr) << why;
    fn(args);
    const bool wide = conf & 2;
    for (u32 lane = 0; lane < (wide ? 32u : 64u); ++lane) {
      u64 sum = static_cast<u64>(element(acc.data(), 256, lane, wide ? 64 : 32, false))
                << (conf & 0x400 ? 16 : 0);
      for (const auto& [a, b] : terms_of(c.code, lane)) {
        sum += static_cast<u64>(element(args.s1, args.s1_bytes, a, c.a_bits, conf & 0x200)) *
               static_cast<u64>(element(args.s2, args.s2_bytes, b, c.b_bits, conf & 0x100));
      }
      const u64 got = static_cast<u64>(element(out, 256, lane, wide ? 64 : 32, false));
      ASSERT_EQ(got, wide ? sum : sum & 0xFFFFFFFF) << "lane " << lane << " conf " << conf;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, CoreIntegerMode,
                         ::testing::Values(ModeCase{0x08, 8, 8}, ModeCase{0xC8, 8, 8}, ModeCase{0x28, 8, 8},
                                           ModeCase{0x88, 8, 8}, ModeCase{0x48, 8, 8}, ModeCase{0x10, 16, 8},
                                           ModeCase{0x30, 16, 8}, ModeCase{0x18, 16, 16},
                                           ModeCase{0x38, 16, 16}, ModeCase{0x02, 32, 16},
                                           ModeCase{0x12, 16, 8}, ModeCase{0x1A, 16, 16},
                                           ModeCase{0x3A, 16, 16}, ModeCase{0x5A, 16, 16},
                                           ModeCase{0x7A, 16, 16}));

TEST(CoreDatapath, UnknownControlWordsAreRefused) {
  std::string why;
  EXPECT_EQ(select_mac(0xA8, MacUnit::kInteger, true, why), nullptr);
  EXPECT_NE(why.find("0xa8"), std::string::npos) << why;
  EXPECT_EQ(select_mac(0x3C, MacUnit::kInteger, true, why), nullptr);
  EXPECT_EQ(select_mac(0x308, MacUnit::kBlock, true, why), nullptr);
}

}  // namespace tegula::emu::testing
