// Geometry of matrix products: see matmul_plan.h and docs/matmul.md. Limits come from the core: 64 KiB of
// data memory, 5 accumulators, 72-byte bfp16 blocks of which eight fill nine 64-byte lines.
#include "compiler/matmul_plan.h"

#include <algorithm>

namespace tegula::compiler {
namespace {

constexpr i64 kCoreMemory = 64 * 1024;

i64 ceil_div(i64 a, i64 b) {
  return (a + b - 1) / b;
}

// Sizes the rings for what is left of core memory; false when even the smallest does not fit.
bool size_rings(MatmulConfig& config, int row_blocks) {
  config.max_row_blocks = row_blocks;
  config.c_ring = kTileChunks * row_blocks;
  config.b_ring = kTileChunks;
  config.a_ring = std::max(2, row_blocks);
  if (config.memory_bytes() > kCoreMemory) return false;
  while (config.a_ring < 2 * row_blocks || config.a_ring < 8) {
    ++config.a_ring;
    if (config.memory_bytes() > kCoreMemory) {
      --config.a_ring;
      break;
    }
  }
  // One more weight chunk keeps the port busy while a core works on a whole tile's width.
  ++config.b_ring;
  if (config.memory_bytes() > kCoreMemory) --config.b_ring;
  return true;
}

i64 padded_bytes(const MatmulConfig& config, std::span<const MatmulShape> shapes) {
  i64 bytes = 0;
  for (const MatmulShape& shape : shapes) bytes += MatmulLayout(config, shape).weight_bytes;
  return bytes;
}

}  // namespace

std::string MatmulConfig::name() const {
  const std::string kind = number == Number::kInt8 ? "int8" : parts == 2 ? "bfp16x2" : "bfp16";
  return kind + "-k" + std::to_string(kc) + "-n" + std::to_string(nc) + "-r" +
         std::to_string(max_row_blocks) + (bias ? "-b" : "");
}

Result<void> validate(const MatmulConfig& config) {
  const auto bad = [&](const std::string& why) {
    return fail(Code::kInvalidArgument, "matrix configuration " + config.name() + ": " + why);
  };
  if (config.kc < 8 || config.kc % 8 != 0) return bad("kc must be a positive multiple of 8");
  if (config.nc < 1 || config.nc > 4) return bad("nc must be 1..4");
  if (config.parts != 1 && config.parts != 2) return bad("parts must be 1 or 2");
  if (config.number == Number::kInt8 && (config.parts != 1 || config.bias))
    return bad("int8 has one part and no bias");
  if (config.max_row_blocks < 1 || config.max_row_blocks > 8) return bad("row blocks must be 1..8");
  if (config.a_ring < config.max_row_blocks || config.b_ring < kTileChunks) return bad("rings too small");
  if (config.c_ring < kTileChunks * config.max_row_blocks) return bad("result ring smaller than a tile");
  if (config.a_ring > 63 || config.b_ring > 63 || config.c_ring > 63)
    return bad("ring exceeds the 6-bit locks");
  if (config.memory_bytes() > kCoreMemory) {
    return bad("needs " + std::to_string(config.memory_bytes()) + " bytes of core memory, 65536 exist");
  }
  return {};
}

MatmulLayout::MatmulLayout(const MatmulConfig& config, MatmulShape s) : shape(s) {
  k_chunks = static_cast<int>(ceil_div(s.k, kBlock * config.kc));
  chunk_columns = static_cast<int>(ceil_div(s.n, i64{kColumns} * kBlock * config.nc));
  tiles = static_cast<int>(ceil_div(chunk_columns, kTileChunks));
  last_tile = chunk_columns - (tiles - 1) * kTileChunks;
  column_bytes = i64{chunk_columns} * k_chunks * config.b_chunk_bytes();
  weight_bytes = kColumns * column_bytes;
}

MatmulPass::MatmulPass(const MatmulConfig& config, const MatmulLayout& layout, i64 rows) {
  mode = rows <= kBlock ? Mode::kColumnSplit : Mode::kRows;
  row_blocks = mode == Mode::kRows ? static_cast<int>(ceil_div(rows, kCoreRows * kBlock)) : 1;
  const i64 units = i64{layout.k_chunks} * row_blocks;
  resident = units <= config.a_ring;
  a_row_bytes = (1 + units) * config.a_unit_bytes();
  const i64 rounds = mode == Mode::kRows ? i64{layout.chunk_columns} * row_blocks : layout.tiles;
  c_column_bytes = rounds * kCoreRows * config.c_unit_bytes();
}

Result<MatmulConfig> choose_config(Number number, int parts, bool bias, std::span<const MatmulShape> shapes,
                                   int rows) {
  const int row_blocks = std::clamp(static_cast<int>(ceil_div(rows, kCoreRows * kBlock)), 1, 8);
  MatmulConfig best;
  i64 best_bytes = -1;
  for (int blocks = row_blocks; blocks >= 1 && best_bytes < 0; --blocks) {
    for (int nc = 4; nc >= 2; --nc) {
      for (int kc = 64; kc >= 8; kc -= 8) {
        MatmulConfig config{.number = number, .parts = parts, .kc = kc, .nc = nc, .bias = bias};
        if (!size_rings(config, blocks)) continue;
        const i64 bytes = padded_bytes(config, shapes);
        // Larger chunks cost less per chunk; accept 1 % more padding for them by trying them first.
        if (best_bytes < 0 || bytes * 100 < best_bytes * 99) {
          best = config;
          best_bytes = bytes;
        }
      }
    }
  }
  if (best_bytes < 0) return fail(Code::kUnsupported, "no matrix configuration fits core memory");
  TRY(validate(best));
  return best;
}

}  // namespace tegula::compiler
