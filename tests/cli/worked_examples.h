// The configurations and the stream of docs/formats/worked-examples.md, built from its tables.
#pragma once

#include "cli/sample.h"

namespace tegula::test {

// Example 1: C[128,1024] = A[128,3072] x B[3072,1024] in int8 on 32 cores.
inline void example1_core(Config& out, int col, int row) {
  for (int lock = 0; lock < 16; ++lock)
    out.lock(col, row, lock, lock == 0 || lock == 2 ? 2 : lock == 4 ? 1 : 0);
  out.ring(col, row, Direction::kS2mm, 0, {{0, 1}, {0xA000, 0xA800}, 512, {0}, {1}, {}});
  out.ring(col, row, Direction::kS2mm, 1, {{2, 3}, {0x6000, 0x8000}, 2048, {2}, {3}, {}});
  out.ring(col, row, Direction::kMm2s, 0, {{4}, {0x2000}, 4096, {5}, {4}, {}});
}

inline void example1_mem(Config& out, int col) {
  const u32 values[10] = {1, 0, 1, 0, 1, 0, 1, 0, 6, 0};
  for (int lock = 0; lock < 10; ++lock) out.lock(col, 1, lock, values[lock]);
  std::vector<u32> b;
  for (u32 i = 0; i < 6; ++i) b.push_back(0x90000 + 0x2000 * i);
  out.ring(col, 1, Direction::kS2mm, 0, {{0, 1, 2, 3, 4, 5}, b, 2048, {72}, {73}, {}});
  out.ring(col, 1, Direction::kMm2s, 0, {{6, 7, 8, 9, 10, 11}, b, 2048, {73}, {72}, {}});
  const int bds[4] = {24, 12, 25, 13};
  for (int r = 0; r < 4; ++r) {
    out.ring(col, 1, Direction::kS2mm, 1 + r,
             {{bds[r]}, {0x80000 + 0x4000u * static_cast<u32>(r)}, 4096, {64 + 2 * r}, {65 + 2 * r}, {}});
  }
  out.ring(
      col, 1, Direction::kMm2s, 1,
      {{26, 27, 28, 29}, {0x80000, 0x84000, 0x88000, 0x8C000}, 4096, {65, 67, 69, 71}, {64, 66, 68, 70}, {}});
}

inline void example1_routes(Config& out, int col) {
  const auto north = [](int i) { return port(PortKind::kNorth, i); };
  const auto south = [](int i) { return port(PortKind::kSouth, i); };
  const auto dma = [](int i) { return port(PortKind::kDma, i); };
  out.token_route(col);
  // B into the mem tile, and from there to the four cores.
  const int b_channel = col < 4 ? 1 : 0, b_lane = col < 4 ? 2 : 1;
  out.connect(col, 0, south(arch::shim_mm2s_south(b_channel)), north(b_lane));
  out.connect(col, 1, south(b_lane), dma(0));
  out.connect(col, 1, dma(0), north(3));
  for (int row = 2; row < 6; ++row) {
    out.connect(col, row, south(3), dma(1));
    if (row < 5) out.connect(col, row, south(3), north(3));
    // C of this row down to the mem tile.
    const int r = row - 2;
    out.connect(col, row, dma(0), south(r));
    for (int below = row - 1; below >= 2; --below) out.connect(col, below, north(r), south(r));
    out.connect(col, 1, north(r), dma(1 + r));
  }
  out.connect(col, 1, dma(1), south(1));
  out.connect(col, 0, north(1), south(arch::shim_s2mm_south(0)));
  const u32 mux = col < 4 ? 0x4400 : 0x400;
  out.mask(col, 0, arch::kShimMux, mux * 3, mux);
  out.mask(col, 0, arch::kShimDemux, 0x30, 0x10);
  if (col > 3) return;
  // A of row 2+col, up in its column, then both ways along the row.
  out.connect(col, 0, south(3), north(1));
  out.connect(col, 1, south(1), north(1));
  const int row = 2 + col;
  for (int r = 2; r < row; ++r) out.connect(col, r, south(1), north(1));
  out.connect(col, row, south(1), dma(0));
  out.connect(col, row, south(1), port(PortKind::kEast, 0));
  for (int c = col + 1; c < 8; ++c) {
    out.connect(c, row, port(PortKind::kWest, 0), dma(0));
    if (c < 7) out.connect(c, row, port(PortKind::kWest, 0), port(PortKind::kEast, 0));
  }
  if (col > 0) out.connect(col, row, south(1), port(PortKind::kWest, 0));
  for (int c = col - 1; c >= 0; --c) {
    out.connect(c, row, port(PortKind::kEast, 0), dma(0));
    if (c > 0) out.connect(c, row, port(PortKind::kEast, 0), port(PortKind::kWest, 0));
  }
}

inline Config example1(const Bytes& program) {
  Config out;
  for (int col = 0; col < 8; ++col) {
    for (int row = 2; row < 6; ++row) {
      out.program(col, row, program);
      example1_core(out, col, row);
    }
    example1_mem(out, col);
  }
  for (int col = 0; col < 8; ++col) example1_routes(out, col);
  for (int col = 0; col < 8; ++col) {
    for (int row = 2; row < 6; ++row) out.enable(col, row);
  }
  return out;
}

// One transfer of the stream: BD, address patch, controller id, start.
struct Transfer {
  int col;
  Direction direction;
  int channel, bd;
  std::array<u32, 8> words;
  u32 argument;
  u64 offset;
  u32 queue;
};
inline void put(format::TxnWriter& out, const Transfer& t) {
  const u32 bd = arch::tile_address(t.col, 0, arch::bd_offset(TileKind::kShim, t.bd));
  out.block_write(bd, t.words);
  out.ddr_patch(bd + 4, t.argument, t.offset);
  out.mask_write(arch::tile_address(t.col, 0, arch::channel_ctrl(TileKind::kShim, t.direction, t.channel)),
                 0xF00, 0x1F00);
  out.write32(arch::tile_address(t.col, 0, arch::channel_queue(TileKind::kShim, t.direction, t.channel)),
              t.queue);
}
inline void wait(format::TxnWriter& out, int col, Direction direction, int channel) {
  out.token_wait(static_cast<u32>(col), 0, 1, 1, static_cast<format::TxnDirection>(direction),
                 static_cast<u32>(channel));
}

inline void example1_k_tile(format::TxnWriter& out, u32 k) {
  for (u32 j = 0; j < 4; ++j) {
    const u32 offset = 64 * k + 98304 * j, bd = 2 * (k % 5);
    put(out, {static_cast<int>(j),
              Direction::kMm2s,
              0,
              static_cast<int>(bd),
              {0x80, offset, 0, 0x200000, 0xC08002FF, 0x02000001, 0x003017FF, 0x02000000},
              0,
              offset,
              0x80030000 + bd});
  }
  for (u32 c = 0; c < 8; ++c) {
    const u32 offset = 65536 * k + 128 * c, bd = c < 4 ? 2 * (k % 5) + 1 : k % 5;
    put(out, {static_cast<int>(c),
              Direction::kMm2s,
              c < 4 ? 1 : 0,
              static_cast<int>(bd),
              {0x100, offset, 0, 0x200000, 0xC08000FF, 0x02000001, 0x007007FF, 0x02000000},
              1,
              offset,
              0x80070000 + bd});
  }
}

inline Bytes example1_stream() {
  format::TxnWriter out;
  for (u32 first = 0; first < 48; first += 5) {
    const u32 count = std::min(5u, 48 - first);
    for (u32 k = first; k < first + count; ++k) example1_k_tile(out, k);
    for (u32 k = 0; k < count; ++k) {
      for (int c = 0; c < 4; ++c) wait(out, c, Direction::kMm2s, 0);
    }
    for (u32 k = 0; k < count; ++k) {
      for (int c = 0; c < 4; ++c) wait(out, c, Direction::kMm2s, 1);
      for (int c = 4; c < 8; ++c) wait(out, c, Direction::kMm2s, 0);
    }
  }
  for (u32 c = 0; c < 8; ++c) {
    put(out, {static_cast<int>(c),
              Direction::kS2mm,
              0,
              0,
              {0x400, 512 * c, 0, 0x800000, 0xC08003FF, 0x02000007, 0x00F01FFF, 0x02000000},
              2,
              512 * c,
              0x800F0000});
  }
  for (int c = 0; c < 8; ++c) wait(out, c, Direction::kS2mm, 0);
  return out.finish();
}

// Example 2: every column takes tiles of packed 4-bit weights, and its four cores turn them into bf16.
inline void example2_column(Config& out, int col) {
  const auto north = [](int i) { return port(PortKind::kNorth, i); };
  const auto south = [](int i) { return port(PortKind::kSouth, i); };
  const auto dma = [](int i) { return port(PortKind::kDma, i); };
  for (int lock = 0; lock < 10; ++lock) out.lock(col, 1, lock, lock == 0 || lock == 5 ? 2 : 0);
  out.ring(col, 1, Direction::kS2mm, 0, {{0, 1}, {0xA0000, 0xB0000}, 5120, {69}, {70}, {}});
  const int in_bds[4] = {2, 24, 4, 26}, out_bds[4] = {6, 28, 8, 30};
  for (int r = 0; r < 4; ++r) {
    const u32 quarter = 0x1400u * static_cast<u32>(r), block = 0x4000u * static_cast<u32>(r);
    out.ring(col, 1, Direction::kMm2s, r,
             {{in_bds[r], in_bds[r] + 1},
              {0xA0000 + quarter, 0xB0000 + quarter},
              1280,
              {70 + r},
              {r == 3 ? 69 : 71 + r},
              {}});
    out.ring(col, 1, Direction::kS2mm, 2 + r,
             {{out_bds[r], out_bds[r] + 1},
              {0x80000 + block, 0x90000 + block},
              4096,
              {64 + r},
              {65 + r},
              {{{1, 4}, {128, 8}, {4, 32}, {1024, 0}}}});
    const int row = 2 + r;
    out.lock(col, row, 0, 2);
    out.lock(col, row, 2, 2);
    out.ring(col, row, Direction::kS2mm, 0, {{0, 1}, {0xC000, 0x0400}, 1280, {0}, {1}, {}});
    out.ring(col, row, Direction::kMm2s, 0, {{2, 3}, {0x4000, 0x8000}, 4096, {3}, {2}, {}});
    out.mask(col, row, 0x1800, 0xFFFF, 0);
    out.write(col, row, 0x1804, 0);
    out.block(col, row, 0x1808, std::vector<u32>(9, 7));
    out.connect(col, 1, dma(r), north(r));
    for (int below = 2; below < row; ++below) out.connect(col, below, south(r), north(r));
    out.connect(col, row, south(r), dma(0));
    out.connect(col, row, dma(0), south(r));
    for (int below = row - 1; below >= 2; --below) out.connect(col, below, north(r), south(r));
    out.connect(col, 1, north(r), dma(2 + r));
  }
  out.ring(col, 1, Direction::kMm2s, 5, {{32, 33}, {0x80000, 0x90000}, 16384, {68}, {64}, {}});
  out.connect(col, 0, south(3), north(4));
  out.connect(col, 1, south(4), dma(0));
  out.connect(col, 0, south(7), north(5));
  out.connect(col, 1, south(5), dma(1));
  out.connect(col, 1, dma(5), south(0));
  out.connect(col, 0, north(0), south(2));
  out.token_route(col);
  out.mask(col, 0, arch::kShimMux, 0xCC00, 0x4400);
  out.mask(col, 0, arch::kShimDemux, 0x30, 0x10);
}

inline Config example2(const Bytes& program) {
  Config out;
  for (int col = 0; col < 8; ++col) {
    for (int row = 2; row < 6; ++row) out.program(col, row, program);
    example2_column(out, col);
    for (int row = 2; row < 6; ++row) out.enable(col, row);
  }
  return out;
}

}  // namespace tegula::test
