// A slow interpreter of the packed streams, written from docs/matmul.md: it walks header, units and chunks
// the way a core does and multiplies block by block. What comes out after unpacking must be the plain
// product.
#include "compiler/matmul_pack.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>
#include <vector>

#include "base/bytes.h"

namespace tegula::compiler {
namespace {

double bfp_value(const u8* block, int row, int k) {
  const u8* line = block + row * 9;
  return std::ldexp(static_cast<i8>(line[1 + k]), line[0] - 133);
}

struct Walker {
  const MatmulConfig& config;
  const MatmulLayout& layout;
  const u8* weights;
  const u8* activations;
  i64 a_row_bytes;

  const u8* chunk(int col, int tile, int k_chunk, int cc, int width) const {
    const i64 index = i64{tile} * kTileChunks * layout.k_chunks + i64{k_chunk} * width + cc;
    return weights + col * layout.column_bytes + index * config.b_chunk_bytes();
  }

  // One result unit of core (row, col): sums over all k of one chunk column and one row block.
  std::vector<u32> unit(int col, int row, int tile, int width, int cc, int rb, int row_blocks) const {
    const u8* units = activations + row * a_row_bytes + config.a_unit_bytes();
    std::vector<u32> out(config.nc * 64);
    for (int n = 0; n < config.nc; ++n) {
      for (int r = 0; r < 8; ++r) {
        for (int c = 0; c < 8; ++c) {
          double sum = 0;
          i32 integer = 0;
          for (int kc = 0; kc < layout.k_chunks; ++kc) {
            const u8* b = chunk(col, tile, kc, cc, width);
            const u8* a = units + (i64{kc} * row_blocks + rb) * config.a_unit_bytes();
            if (config.bias && kc == 0)
              sum += load_le<float>(b + config.b_data_bytes() + n * 64 + 32 + c * 4);
            for (int k = 0; k < config.kc; ++k) {
              for (int e = 0; e < 8; ++e) {
                double av = 0, bv = 0;
                for (int part = 0; part < config.parts; ++part) {
                  const u8* ab = a + (k * config.parts + part) * config.block_bytes();
                  const u8* bb = b + ((k * config.nc + n) * config.parts + part) * config.block_bytes();
                  if (config.number == Number::kBfp16) {
                    av += bfp_value(ab, r, e);
                    bv += bfp_value(bb, c, e);
                  } else {
                    integer += static_cast<i8>(ab[r * 8 + e]) * static_cast<i8>(bb[e * 8 + c]);
                  }
                }
                sum += av * bv;
              }
            }
          }
          const float f = static_cast<float>(sum);
          out[n * 64 + r * 8 + c] = config.number == Number::kInt8
                                        ? static_cast<u32>(integer)
                                        : load_le<u32>(reinterpret_cast<const u8*>(&f));
        }
      }
    }
    return out;
  }

  std::vector<u8> run(i64 c_bytes, i64 c_column_bytes) const {
    std::vector<u8> results(c_bytes, 0xEE);
    u32 header[kHeaderWords];
    std::memcpy(header, activations, sizeof(header));
    for (int col = 0; col < kColumns; ++col) {
      u8* out = results.data() + col * c_column_bytes;
      const auto emit = [&](int row, int tile, int width, int cc, int rb) {
        const std::vector<u32> values = unit(col, row, tile, width, cc, rb, header[kHeaderRowBlocks]);
        std::memcpy(out, values.data(), values.size() * 4);
        out += values.size() * 4;
      };
      for (u32 tile = 0; tile < header[kHeaderTiles]; ++tile) {
        const int width = tile + 1 == header[kHeaderTiles] ? header[kHeaderLastTile] : kTileChunks;
        if (header[kHeaderMode] == static_cast<u32>(Mode::kColumnSplit)) {
          for (int row = 0; row < kCoreRows; ++row) {
            if (row < width)
              emit(row, tile, width, row, 0);
            else
              out += config.c_unit_bytes();
          }
          continue;
        }
        for (int cc = 0; cc < width; ++cc) {
          for (u32 rb = 0; rb < header[kHeaderRowBlocks]; ++rb) {
            for (int row = 0; row < kCoreRows; ++row) emit(row, tile, width, cc, rb);
          }
        }
      }
      EXPECT_EQ(out - (results.data() + col * c_column_bytes), c_column_bytes);
    }
    return results;
  }
};

using Case = std::tuple<MatmulConfig, MatmulShape, i64>;
class PackTest : public testing::TestWithParam<Case> {};

TEST_P(PackTest, PackedStreamsGiveThePlainProduct) {
  const auto& [config, shape, rows] = GetParam();
  ASSERT_TRUE(validate(config).ok());
  const MatmulLayout layout(config, shape);
  const MatmulPass pass(config, layout, rows);
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<float> x(rows * shape.k), w(shape.n * shape.k), bias(shape.n);
  std::vector<i8> xi(x.size()), wi(w.size());
  for (auto& v : x) v = normal(random);
  for (auto& v : w) v = normal(random);
  for (auto& v : bias) v = normal(random);
  for (auto& v : xi) v = static_cast<i8>(random());
  for (auto& v : wi) v = static_cast<i8>(random());

  std::vector<u8> weights(layout.weight_bytes, 0xAA), activations(pass.a_bytes(), 0xAA);
  clear_weights(layout, weights.data());
  const bool int8 = config.number == Number::kInt8;
  if (int8) {
    pack_weights_int8(config, layout, 0, shape.n, wi.data(), weights.data());
    pack_activations_int8(config, layout, pass, rows, xi.data(), activations.data());
  } else {
    pack_weights(config, layout, 0, shape.n, w.data(), weights.data());
    if (config.bias) pack_bias(config, layout, bias, weights.data());
    pack_activations(config, layout, pass, Epilogue::kNone, rows, x.data(), activations.data());
  }
  const Walker walker{config, layout, weights.data(), activations.data(), pass.a_row_bytes};
  const std::vector<u8> results = walker.run(pass.c_bytes(), pass.c_column_bytes);
  std::vector<u32> out(rows * shape.n);
  unpack_results(config, layout, pass, rows, results.data(), out.data());

  double error = 0, norm = 0;
  for (i64 m = 0; m < rows; ++m) {
    for (i64 n = 0; n < shape.n; ++n) {
      const u32 got = out[m * shape.n + n];
      if (int8) {
        i32 sum = 0;
        for (i64 k = 0; k < shape.k; ++k) sum += xi[m * shape.k + k] * wi[n * shape.k + k];
        ASSERT_EQ(static_cast<i32>(got), sum) << "row " << m << " column " << n;
      } else {
        double sum = config.bias ? bias[n] : 0;
        for (i64 k = 0; k < shape.k; ++k) sum += double{x[m * shape.k + k]} * w[n * shape.k + k];
        const double difference = load_le<float>(reinterpret_cast<const u8*>(&got)) - sum;
        error += difference * difference;
        norm += sum * sum;
      }
    }
  }
  if (!int8) {
    EXPECT_LT(std::sqrt(error / norm), config.parts == 2 ? 2e-4 : 2e-2);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PackTest,
    testing::Values(Case{{.number = Number::kInt8, .kc = 8, .nc = 4, .max_row_blocks = 2}, {100, 300}, 64},
                    Case{{.number = Number::kInt8, .kc = 8, .nc = 3, .max_row_blocks = 2}, {64, 1000}, 3},
                    Case{{.kc = 8, .nc = 3, .max_row_blocks = 1}, {192, 200}, 32},
                    Case{{.kc = 8, .nc = 3, .max_row_blocks = 2, .bias = true}, {72, 777}, 50},
                    Case{{.parts = 2, .kc = 16, .nc = 2, .max_row_blocks = 2, .bias = true}, {100, 130}, 8},
                    Case{{.parts = 2, .kc = 8, .nc = 4, .max_row_blocks = 2}, {129, 257}, 17}));

TEST(Plan, ModelShapesWasteNothing) {
  const MatmulShape smollm[] = {{576, 960}, {576, 576}, {576, 3072}, {1536, 576}, {576, 49152}};
  for (int parts : {1, 2}) {
    Result<MatmulConfig> config = choose_config(Number::kBfp16, parts, false, smollm, 128);
    ASSERT_TRUE(config.ok()) << config.error().message;
    i64 packed = 0, plain = 0;
    for (const MatmulShape& shape : smollm) {
      packed += MatmulLayout(*config, shape).weight_bytes;
      plain += shape.k * shape.n * parts * 9 / 8;
    }
    EXPECT_LE(packed, plain * 101 / 100) << config->name();
    EXPECT_GE(config->max_row_blocks, 2);
    EXPECT_LE(config->memory_bytes(), 65536);
  }
}

}  // namespace
}  // namespace tegula::compiler
