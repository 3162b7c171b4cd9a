// Geometry of matrix products on the array: what one configuration fixes, and how a product of any M, K, N is
// cut into chunks, units and passes. docs/matmul.md describes the scheme; kernels, array configuration,
// streams and packing all read their sizes from here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::compiler {

constexpr int kColumns = 8;   // array columns; each owns a share of N
constexpr int kCoreRows = 4;  // core rows; share M (rows mode) or the chunk columns of a tile (columns mode)
constexpr int kBlock = 8;     // edge of the multiplier's blocks
constexpr int kTileChunks = 4;  // chunk columns of a tile

enum class Number : u8 { kBfp16, kInt8 };

// Sizes that are frozen into the array configuration and the core program.
struct MatmulConfig {
  Number number = Number::kBfp16;
  int parts = 1;           // 1: one product; 2: operands split into high and low, three products (bfp16 only)
  int kc = 24;             // k-blocks per chunk, a multiple of 8
  int nc = 3;              // n-blocks per chunk, 1..4: accumulators in flight
  int max_row_blocks = 2;  // row blocks per core row and pass
  bool bias = false;       // weight chunks carry nc * 8 bias values
  int a_ring = 4;          // activation units in a core
  int b_ring = kTileChunks;  // weight chunks in a core; in column split it takes up to a tile's width at once
  int c_ring = 8;            // result units in a core, >= kTileChunks * max_row_blocks

  int block_bytes() const { return number == Number::kBfp16 ? 72 : 64; }
  int unit_blocks() const { return kc * parts; }
  int a_unit_bytes() const { return unit_blocks() * block_bytes(); }
  int bias_bytes() const {
    return bias ? nc * 64 : 0;
  }  // per n-block: 8 values twice, one accumulator quarter
  int b_data_bytes() const { return nc * unit_blocks() * block_bytes(); }
  int b_chunk_bytes() const { return b_data_bytes() + bias_bytes(); }
  int c_unit_bytes() const { return nc * 256; }
  // Distance of ring buffers in core memory: whole 64-byte lines.
  int a_stride() const { return (a_unit_bytes() + 63) / 64 * 64; }
  int b_stride() const { return (b_chunk_bytes() + 63) / 64 * 64; }
  int c_stride() const { return c_unit_bytes(); }
  int memory_bytes() const { return a_ring * a_stride() + b_ring * b_stride() + c_ring * c_stride() + 64; }
  int max_rows() const { return kCoreRows * max_row_blocks * kBlock; }

  std::string name() const;  // "bfp16x2-k24-n3-r2"
  bool operator==(const MatmulConfig&) const = default;
};

Result<void> validate(const MatmulConfig& config);

struct MatmulShape {
  i64 k = 0;
  i64 n = 0;
  bool operator==(const MatmulShape&) const = default;
};

// Chooses kc, nc and the rings so that the padded weight bytes of the shapes are least and everything fits a
// core's 64 KiB. rows: the largest number of rows a pass should take.
Result<MatmulConfig> choose_config(Number number, int parts, bool bias, std::span<const MatmulShape> shapes,
                                   int rows);

// How one weight matrix is cut under a configuration.
struct MatmulLayout {
  MatmulShape shape;
  int k_chunks = 0;       // chunks along K
  int chunk_columns = 0;  // chunks along N per array column
  int tiles = 0;          // groups of kTileChunks chunk columns
  int last_tile = 0;      // chunk columns of the last tile, 1..4
  i64 column_bytes = 0;   // weight bytes of one array column
  i64 weight_bytes = 0;   // of all columns

  MatmulLayout() = default;
  MatmulLayout(const MatmulConfig& config, MatmulShape shape);
};

enum class Mode : u8 { kRows = 0, kColumnSplit = 1 };

// One pass of activations through a product.
struct MatmulPass {
  Mode mode = Mode::kRows;
  int row_blocks = 1;      // per core row
  bool resident = false;   // activations stay in the core for all tiles
  i64 a_row_bytes = 0;     // header unit + units of one core row
  i64 c_column_bytes = 0;  // results of one array column

  // The pass for `rows` rows, 1 <= rows <= config.max_rows(): up to 8 rows go to column split.
  MatmulPass() = default;
  MatmulPass(const MatmulConfig& config, const MatmulLayout& layout, i64 rows);
  i64 a_bytes() const { return kCoreRows * a_row_bytes; }
  i64 c_bytes() const { return kColumns * c_column_bytes; }
};

// Words of the header unit, in order; the core program reads them with scalar loads.
enum HeaderWord : int {
  kHeaderTiles = 0,
  kHeaderLastTile,
  kHeaderKChunks,
  kHeaderRowBlocks,
  kHeaderMode,      // Mode
  kHeaderResident,  // 0 or 1
  kHeaderEpilogue,  // 0 none, 1 GELU
  kHeaderWords,
};

enum class Epilogue : u8 { kNone = 0, kGelu = 1 };

}  // namespace tegula::compiler
