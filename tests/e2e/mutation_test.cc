// Deliberate damage must show: a wrong lock value, a wrong DMA stride, a transposed weight, swapped rows.
// Each test first proves that the undamaged product is exact.
#include <random>

#include "arch/dma.h"
#include "arch/grid.h"
#include "e2e/product_bench.h"

namespace tegula {
namespace {

constexpr i64 kK = 256, kN = 512, kRows = 40;
const MatmulConfig kConfig{.number = Number::kInt8, .kc = 16, .nc = 4, .max_row_blocks = 2};

struct Operands {
  std::vector<i8> x, w;
  Operands() : x(kRows * kK), w(kN * kK) {
    std::mt19937 random(11);
    for (auto& v : x) v = static_cast<i8>(random());
    for (auto& v : w) v = static_cast<i8>(random());
  }
  bool equals(const std::vector<u32>& out) const {
    for (i64 m = 0; m < kRows; ++m) {
      for (i64 n = 0; n < kN; ++n) {
        i32 sum = 0;
        for (i64 k = 0; k < kK; ++k) sum += x[m * kK + k] * w[n * kK + k];
        if (static_cast<i32>(out[m * kN + n]) != sum) return false;
      }
    }
    return true;
  }
};

using Change = std::function<void(std::vector<format::CdoCommand>&)>;

// True when the product of x and `weights` through a configuration changed by `change` is the product of the
// operands.
bool exact(const Operands& operands, const std::vector<i8>& weights, const Change& change = {}) {
  Bench bench;
  bench.may_fail = true;
  bench.open(kConfig, change);
  if (!bench.outcome.ok()) return false;
  const std::vector<u32> out =
      bench.product({kK, kN}, kRows, [&](const MatmulLayout& l, const MatmulPass& p, u8* wd, u8* ad) {
        compiler::pack_weights_int8(kConfig, l, 0, kN, weights.data(), wd);
        compiler::pack_activations_int8(kConfig, l, p, kRows, operands.x.data(), ad);
      });
  return bench.outcome.ok() && operands.equals(out);
}

// Changes the value that the configuration writes to one register.
Change set_register(u32 address, u32 value) {
  return [=](std::vector<format::CdoCommand>& commands) {
    int found = 0;
    for (format::CdoCommand& command : commands) {
      if (command.kind == format::CdoKind::kWrite && command.address == address)
        command.value = value, ++found;
    }
    EXPECT_EQ(found, 1);
  };
}

TEST(Mutation, UndamagedIsExact) {
  const Operands operands;
  EXPECT_TRUE(exact(operands, operands.w));
}

TEST(Mutation, OneLockValue) {
  const Operands operands;
  const u32 lock = arch::tile_address(3, 4, arch::lock_offset(arch::TileKind::kCore, compiler::kLockBEmpty));
  EXPECT_FALSE(exact(operands, operands.w, set_register(lock, 0)));
}

TEST(Mutation, OneDescriptorStride) {
  const Operands operands;
  EXPECT_FALSE(exact(operands, operands.w, [](std::vector<format::CdoCommand>& commands) {
    const u32 address =
        arch::tile_address(5, 2, arch::bd_offset(arch::TileKind::kCore, 1));  // ring of weights
    int found = 0;
    for (format::CdoCommand& command : commands) {
      if (command.address != address || command.kind != format::CdoKind::kBlockWrite) continue;
      arch::Bd bd = arch::decode(arch::TileKind::kCore, command.words);
      bd.iteration_step += 16;
      const auto words = arch::encode(arch::TileKind::kCore, bd);
      ASSERT_TRUE(words.ok());
      command.words.assign(words->begin(), words->begin() + 6);
      ++found;
    }
    EXPECT_EQ(found, 1);
  }));
}

// The results leave from one place too far: some of what leaves nothing has written, and the run says so.
TEST(Mutation, OneDescriptorAddress) {
  Bench bench;
  bench.may_fail = true;
  bench.open(kConfig, [](std::vector<format::CdoCommand>& commands) {
    const u32 address = arch::tile_address(2, 3, arch::bd_offset(arch::TileKind::kCore, 2));  // results
    int found = 0;
    for (format::CdoCommand& command : commands) {
      if (command.address != address || command.kind != format::CdoKind::kBlockWrite) continue;
      arch::Bd bd = arch::decode(arch::TileKind::kCore, command.words);
      bd.address += 4;
      const auto words = arch::encode(arch::TileKind::kCore, bd);
      ASSERT_TRUE(words.ok());
      command.words.assign(words->begin(), words->begin() + 6);
      ++found;
    }
    EXPECT_EQ(found, 1);
  });
  const Operands operands;
  bench.product({kK, kN}, kRows, [&](const MatmulLayout& l, const MatmulPass& p, u8* wd, u8* ad) {
    compiler::pack_weights_int8(kConfig, l, 0, kN, operands.w.data(), wd);
    compiler::pack_activations_int8(kConfig, l, p, kRows, operands.x.data(), ad);
  });
  ASSERT_FALSE(bench.outcome.ok());
  EXPECT_NE(bench.outcome.error().message.find("core (2,3) MM2S0 in BD 2 reads core (2,3) memory at"),
            std::string::npos)
      << bench.outcome.error().message;
  EXPECT_NE(bench.outcome.error().message.find("which nothing has written"), std::string::npos);
}

TEST(Mutation, OneWeightBlockTransposed) {
  const Operands operands;
  std::vector<i8> weights = operands.w;
  for (i64 n = 0; n < 8; ++n) {
    for (i64 k = 0; k < n; ++k) std::swap(weights[(64 + n) * kK + 128 + k], weights[(64 + k) * kK + 128 + n]);
  }
  EXPECT_FALSE(exact(operands, weights));
}

TEST(Mutation, TwoHeadsSwapped) {
  const Operands operands;
  std::vector<i8> weights = operands.w;
  std::swap_ranges(weights.begin(), weights.begin() + 64 * kK, weights.begin() + 64 * kK);
  EXPECT_FALSE(exact(operands, weights));
}

}  // namespace
}  // namespace tegula
