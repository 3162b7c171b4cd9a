// Packing of matrix operands into stream order. Block layouts: semantics handbook 8.3 (0x308: A [r][k], B
// [k][n]; 0x30C: A [r][k], B [n][k]) and 10.4 (bfp16 memory form, 9 bytes per 8 values).
#include "compiler/matmul_pack.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/bytes.h"
#include "num/bfp16.h"

namespace tegula::compiler {
namespace {

constexpr int kBfpRow = 9;  // bytes of one row of a bfp16 block

// Where the blocks of one n-block live: column of the array, chunk column inside it, place inside the chunk.
struct ColumnPlace {
  i64 base;  // byte offset of the array column
  int tile, in_tile, tile_width;
  int lane;  // n-block inside the chunk
};

ColumnPlace place_of(const MatmulConfig& config, const MatmulLayout& layout, i64 n_block) {
  const i64 per_column = i64{layout.chunk_columns} * config.nc;
  const i64 column = n_block / per_column;
  const i64 inside = n_block % per_column;
  const int chunk = static_cast<int>(inside / config.nc);
  ColumnPlace at;
  at.base = column * layout.column_bytes;
  at.tile = chunk / kTileChunks;
  at.in_tile = chunk % kTileChunks;
  at.tile_width = at.tile + 1 == layout.tiles ? layout.last_tile : kTileChunks;
  at.lane = static_cast<int>(inside % config.nc);
  return at;
}

// Byte offset of the chunk (k_chunk) of a chunk column.
i64 chunk_offset(const MatmulConfig& config, const MatmulLayout& layout, const ColumnPlace& at, int k_chunk) {
  const i64 before = i64{at.tile} * kTileChunks * layout.k_chunks + i64{k_chunk} * at.tile_width + at.in_tile;
  return at.base + before * config.b_chunk_bytes();
}

// Byte offset of block (k, lane, part) inside a chunk's data.
i64 block_in_chunk(const MatmulConfig& config, int k, int lane, int part) {
  return ((i64{k} * config.nc + lane) * config.parts + part) * config.block_bytes();
}

// Activation row of (core row, row block, row in block) in a pass.
i64 token_row(const MatmulPass& pass, int core_row, int row_block, int r) {
  if (pass.mode == Mode::kColumnSplit) return r;
  return (i64{core_row} * pass.row_blocks + row_block) * kBlock + r;
}

void write_header(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
                  Epilogue epilogue, u8* unit) {
  std::memset(unit, 0, config.a_unit_bytes());
  u32 words[kHeaderWords];
  words[kHeaderTiles] = layout.tiles;
  words[kHeaderLastTile] = layout.last_tile;
  words[kHeaderKChunks] = layout.k_chunks;
  words[kHeaderRowBlocks] = pass.row_blocks;
  words[kHeaderMode] = static_cast<u32>(pass.mode);
  words[kHeaderResident] = pass.resident;
  words[kHeaderEpilogue] = static_cast<u32>(epilogue);
  std::memcpy(unit, words, sizeof(words));
}

// Writes one encoded activation row (k-blocks of `piece` bytes) into the units of its core row.
struct Scatter {
  const MatmulConfig& config;
  const MatmulLayout& layout;
  const MatmulPass& pass;
  int row_block, row;
  u8* units;

  void operator()(int part, int piece, const u8* encoded) const {
    for (int chunk = 0; chunk < layout.k_chunks; ++chunk) {
      u8* unit = units + (i64{chunk} * pass.row_blocks + row_block) * config.a_unit_bytes();
      for (int k = 0; k < config.kc; ++k, encoded += piece) {
        std::memcpy(unit + (i64{k} * config.parts + part) * config.block_bytes() + row * piece, encoded,
                    piece);
      }
    }
  }
};

// The image of a pass: header and rows of each core row. encode(token, scatter) writes the row of one token.
template <typename Encode>
void pack_rows(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
               Epilogue epilogue, const Encode& encode, u8* dst) {
  std::memset(dst, 0, pass.a_bytes());
  for (int core_row = 0; core_row < kCoreRows; ++core_row) {
    u8* base = dst + core_row * pass.a_row_bytes;
    if (core_row > 0 && pass.mode == Mode::kColumnSplit) {  // every core row sees the same rows
      std::memcpy(base, dst, pass.a_row_bytes);
      continue;
    }
    write_header(config, layout, pass, epilogue, base);
    for (int block = 0; block < pass.row_blocks; ++block) {
      for (int r = 0; r < kBlock; ++r) {
        encode(token_row(pass, core_row, block, r),
               Scatter{config, layout, pass, block, r, base + config.a_unit_bytes()});
      }
    }
  }
}

}  // namespace

void clear_weights(const MatmulLayout& layout, u8* dst) {
  std::memset(dst, 0, layout.weight_bytes);
}

void pack_weights(const MatmulConfig& config, const MatmulLayout& layout, i64 first, i64 rows, const float* w,
                  u8* dst) {
  const i64 k_blocks = (layout.shape.k + kBlock - 1) / kBlock;
  std::vector<float> padded(k_blocks * kBlock, 0.0f);
  std::vector<u8> encoded[2];
  for (auto& part : encoded) part.resize(k_blocks * kBfpRow);
  for (i64 n = first; n < first + rows; ++n, w += layout.shape.k) {
    std::copy(w, w + layout.shape.k, padded.begin());
    if (config.parts == 2) {
      num::encode_bfp16_split(padded, encoded[0].data(), encoded[1].data());
    } else {
      num::encode_bfp16(padded, encoded[0].data());
    }
    const ColumnPlace at = place_of(config, layout, n / kBlock);
    const int r = static_cast<int>(n % kBlock);
    for (i64 kb = 0; kb < k_blocks; ++kb) {
      const int k = static_cast<int>(kb % config.kc);
      u8* chunk = dst + chunk_offset(config, layout, at, static_cast<int>(kb / config.kc));
      for (int part = 0; part < config.parts; ++part) {
        std::memcpy(chunk + block_in_chunk(config, k, at.lane, part) + r * kBfpRow,
                    &encoded[part][kb * kBfpRow], kBfpRow);
      }
    }
  }
}

void pack_weights_int8(const MatmulConfig& config, const MatmulLayout& layout, i64 first, i64 rows,
                       const i8* w, u8* dst) {
  for (i64 n = first; n < first + rows; ++n, w += layout.shape.k) {
    const ColumnPlace at = place_of(config, layout, n / kBlock);
    for (i64 k = 0; k < layout.shape.k; ++k) {
      const i64 kb = k / kBlock;
      u8* chunk = dst + chunk_offset(config, layout, at, static_cast<int>(kb / config.kc));
      const i64 block = block_in_chunk(config, static_cast<int>(kb % config.kc), at.lane, 0);
      chunk[block + (k % kBlock) * kBlock + n % kBlock] = static_cast<u8>(w[k]);
    }
  }
}

void pack_bias(const MatmulConfig& config, const MatmulLayout& layout, std::span<const float> bias, u8* dst) {
  for (i64 n = 0; n < layout.shape.n; ++n) {
    const ColumnPlace at = place_of(config, layout, n / kBlock);
    for (int chunk = 0; chunk < layout.k_chunks; ++chunk) {
      u8* lane = dst + chunk_offset(config, layout, at, chunk) + config.b_data_bytes() + at.lane * 64;
      store_le(lane + (n % kBlock) * 4, bias[n]);
      store_le(lane + 32 + (n % kBlock) * 4, bias[n]);
    }
  }
}

void pack_activations(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
                      Epilogue epilogue, i64 rows, const float* x, u8* dst) {
  std::vector<float> padded(i64{layout.k_chunks} * config.kc * kBlock, 0.0f);
  std::vector<u8> encoded[2];
  for (auto& part : encoded) part.resize(padded.size() / kBlock * kBfpRow);
  // Rows that nobody asked for: zeros, with an exponent that keeps away from denormals.
  std::vector<u8> nothing(encoded[0].size(), 0);
  for (size_t block = 0; block < nothing.size(); block += kBfpRow) nothing[block] = 127;
  const auto encode = [&](i64 token, const Scatter& scatter) {
    if (token >= rows) {
      for (int part = 0; part < config.parts; ++part) scatter(part, kBfpRow, nothing.data());
      return;
    }
    const float* source = x + token * layout.shape.k;
    std::copy(source, source + layout.shape.k, padded.begin());
    if (config.parts == 2) {
      num::encode_bfp16_split(padded, encoded[0].data(), encoded[1].data());
    } else {
      num::encode_bfp16(padded, encoded[0].data());
    }
    for (int part = 0; part < config.parts; ++part) scatter(part, kBfpRow, encoded[part].data());
  };
  pack_rows(config, layout, pass, epilogue, encode, dst);
}

void pack_activations_int8(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass,
                           i64 rows, const i8* x, u8* dst) {
  std::vector<u8> padded(i64{layout.k_chunks} * config.kc * kBlock, 0);
  const auto encode = [&](i64 token, const Scatter& scatter) {
    if (token >= rows) return;
    std::memcpy(padded.data(), x + token * layout.shape.k, layout.shape.k);
    scatter(0, kBlock, padded.data());
  };
  pack_rows(config, layout, pass, Epilogue::kNone, encode, dst);
}

void unpack_results(const MatmulConfig& config, const MatmulLayout& layout, const MatmulPass& pass, i64 rows,
                    const u8* src, u32* out) {
  const i64 n_blocks = (layout.shape.n + kBlock - 1) / kBlock;
  for (i64 nb = 0; nb < n_blocks; ++nb) {
    const i64 per_column = i64{layout.chunk_columns} * config.nc;
    const i64 inside = nb % per_column;
    const int chunk = static_cast<int>(inside / config.nc);
    const u8* column = src + nb / per_column * pass.c_column_bytes;
    const i64 lane = (inside % config.nc) * 256;
    const i64 width = std::min<i64>(kBlock, layout.shape.n - nb * kBlock);
    for (i64 row = 0; row < rows; ++row) {
      i64 unit;
      if (pass.mode == Mode::kColumnSplit) {
        unit = chunk;  // tile * 4 + chunk column = core row that made it
      } else {
        const i64 block = row / kBlock;  // core_row * row_blocks + row_block
        unit = (i64{chunk} * pass.row_blocks + block % pass.row_blocks) * kCoreRows + block / pass.row_blocks;
      }
      const u8* at = column + unit * config.c_unit_bytes() + lane + (row % kBlock) * 32;
      std::memcpy(out + row * layout.shape.n + nb * kBlock, at, width * 4);
    }
  }
}

}  // namespace tegula::compiler
