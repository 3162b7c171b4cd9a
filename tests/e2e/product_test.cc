// Products through every layer: kernel, array configuration, PDI, ioctl, controller stream, emulated array,
// and back.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "e2e/product_bench.h"
#include "ref/format_model.h"
#include "ref/gelu_model.h"

namespace tegula {
namespace {

TEST(Product, Int8IsExact) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(bench.open({.number = Number::kInt8, .kc = 16, .nc = 4, .max_row_blocks = 2}));
  std::mt19937 random(3);
  for (const auto& [shape, rows] : {std::pair{MatmulShape{128, 256}, i64{64}},
                                    {MatmulShape{300, 1000}, i64{33}},
                                    {MatmulShape{256, 2048}, i64{5}},
                                    {MatmulShape{64, 100}, i64{1}}}) {
    std::vector<i8> x(rows * shape.k), w(shape.n * shape.k);
    for (auto& v : x) v = static_cast<i8>(random() % 16 == 0 ? (random() & 1 ? 127 : -128) : random());
    for (auto& v : w) v = static_cast<i8>(random() % 16 == 0 ? (random() & 1 ? 127 : -128) : random());
    const std::vector<u32> out =
        bench.product(shape, rows, [&](const MatmulLayout& l, const MatmulPass& p, u8* wd, u8* ad) {
          compiler::pack_weights_int8(bench.config, l, 0, shape.n, w.data(), wd);
          compiler::pack_activations_int8(bench.config, l, p, rows, x.data(), ad);
        });
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    for (i64 m = 0; m < rows; ++m) {
      for (i64 n = 0; n < shape.n; ++n) {
        i32 sum = 0;
        for (i64 k = 0; k < shape.k; ++k) sum += x[m * shape.k + k] * w[n * shape.k + k];
        ASSERT_EQ(static_cast<i32>(out[m * shape.n + n]), sum)
            << shape.k << "x" << shape.n << " row " << m << " column " << n;
      }
    }
  }
}

// Every bit as the format model says, for both precisions, with and without bias.
void check_bfp16(const MatmulConfig& config, Epilogue epilogue = Epilogue::kNone) {
  Bench bench;
  ASSERT_NO_FATAL_FAILURE(bench.open(config));
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  ThreadPool pool(1);
  for (const auto& [shape, rows] : {std::pair{MatmulShape{192, 200}, i64{64}},
                                    {MatmulShape{576, 576}, i64{1}},
                                    {MatmulShape{300, 1000}, i64{20}},
                                    {MatmulShape{64, 900}, i64{7}}}) {
    std::vector<float> x(rows * shape.k), w(shape.n * shape.k), bias(shape.n, 0.0f);
    for (auto& v : x) v = normal(random) * std::exp2(normal(random) * 3);
    for (auto& v : w) v = normal(random) * 0.05f;
    if (config.bias) {
      for (auto& v : bias) v = normal(random);
    }
    const std::vector<u32> out =
        bench.product(shape, rows, [&](const MatmulLayout& l, const MatmulPass& p, u8* wd, u8* ad) {
          compiler::pack_weights(bench.config, l, 0, shape.n, w.data(), wd);
          if (config.bias) compiler::pack_bias(bench.config, l, bias, wd);
          compiler::pack_activations(bench.config, l, p, epilogue, rows, x.data(), ad);
        });
    ASSERT_FALSE(testing::Test::HasFatalFailure());
    std::vector<float> want(out.size());
    ref::matmul_bfp16_model(pool, x.data(), w.data(), rows, shape.n, shape.k, config.parts,
                            config.bias ? std::span<const float>(bias) : std::span<const float>(),
                            epilogue == Epilogue::kGelu ? ref::gelu_model : nullptr, want.data());
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(out[i], load_le<u32>(reinterpret_cast<const u8*>(&want[i])))
          << shape.k << "x" << shape.n << " row " << i / shape.n << " column " << i % shape.n << ": "
          << load_le<float>(reinterpret_cast<const u8*>(&out[i])) << " expected " << want[i];
    }
  }
}

TEST(Product, FastEqualsTheFormatModel) {
  check_bfp16({.kc = 24, .nc = 3, .max_row_blocks = 2});
}
TEST(Product, HighEqualsTheFormatModel) {
  check_bfp16({.parts = 2, .kc = 24, .nc = 3, .max_row_blocks = 2});
}
TEST(Product, BiasEqualsTheFormatModel) {
  check_bfp16({.kc = 8, .nc = 3, .max_row_blocks = 2, .bias = true});
}
TEST(Product, GeluEqualsTheFormatModel) {
  check_bfp16({.parts = 2, .kc = 8, .nc = 3, .max_row_blocks = 2, .bias = true}, Epilogue::kGelu);
}

}  // namespace
}  // namespace tegula
