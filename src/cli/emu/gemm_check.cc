#include "cli/emu/gemm_check.h"

#include <cmath>
#include <cstdio>
#include <random>

#include "base/stopwatch.h"

namespace tegula::cli {
namespace {

constexpr u64 kMaxDimension = 1 << 20;

void fill(std::vector<u8>& bytes, std::mt19937_64& random) {
  for (u8& byte : bytes) {
    const u64 draw = random();
    const u64 kind = draw >> 60;
    byte = kind == 0 ? u8{0x80} : kind == 1 ? u8{0x7F} : static_cast<u8>(draw);
  }
}

// Row by row; the inner loop runs over a row of B, which the host's compiler makes vectors of.
void exact_row(const i8* a_row, const std::vector<u8>& b, u64 k, u64 n, std::vector<i32>& row) {
  std::fill(row.begin(), row.end(), 0);
  for (u64 i = 0; i < k; ++i) {
    const i32 left = a_row[i];
    const i8* right = reinterpret_cast<const i8*>(b.data()) + i * n;
    for (u64 j = 0; j < n; ++j) row[j] += left * right[j];
  }
}

}  // namespace

Result<GemmShape> gemm_shape(const std::string& text, ByteSpan stream) {
  GemmShape shape;
  if (text != "auto") {
    unsigned long long m = 0, k = 0, n = 0;
    char end = 0;
    if (std::sscanf(text.c_str(), "%llu,%llu,%llu%c", &m, &k, &n, &end) != 3 || m == 0 || k == 0 || n == 0 ||
        m > kMaxDimension || k > kMaxDimension || n > kMaxDimension) {
      return fail(Code::kInvalidArgument, "--gemm " + text + ": expected M,K,N or auto");
    }
    return GemmShape{m, k, n};
  }
  TRY_ASSIGN(const format::TxnStream parsed, format::read_txn(stream));
  TRY_ASSIGN(const std::vector<emu::ArgumentExtent> extents, emu::argument_extents(parsed));
  if (extents.size() != 3 || extents[2].write_end == 0) {
    return fail(Code::kInvalidArgument,
                "--gemm auto: the stream does not read arguments 0 and 1 and write argument 2");
  }
  const double a = static_cast<double>(extents[0].read_end), b = static_cast<double>(extents[1].read_end),
               c = static_cast<double>(extents[2].write_end) / 4;
  if (b > 0) shape.m = static_cast<u64>(std::llround(std::sqrt(a * c / b)));
  if (shape.m != 0) {
    shape.k = extents[0].read_end / shape.m;
    shape.n = extents[2].write_end / 4 / shape.m;
  }
  if (shape.m * shape.k != extents[0].read_end || shape.k * shape.n != extents[1].read_end ||
      shape.m * shape.n * 4 != extents[2].write_end || shape.m == 0) {
    return fail(Code::kInvalidArgument,
                "--gemm auto: the stream reads " + std::to_string(extents[0].read_end) + " and " +
                    std::to_string(extents[1].read_end) + " bytes and writes " +
                    std::to_string(extents[2].write_end) + ": no int8 product with an int32 result");
  }
  return shape;
}

std::string shape_name(const GemmShape& shape) {
  return std::to_string(shape.m) + "x" + std::to_string(shape.k) + "x" + std::to_string(shape.n);
}

GemmOutcome run_gemm(emu::Session& session, ByteSpan stream, const GemmShape& shape, u64 seed,
                     const emu::RunOptions& options) {
  std::mt19937_64 random(seed);
  std::vector<u8> a(shape.m * shape.k), b(shape.k * shape.n);
  std::vector<i32> c(shape.m * shape.n, 0x55AA55AA);
  fill(a, random);
  fill(b, random);
  const std::span<u8> buffers[] = {a, b, {reinterpret_cast<u8*>(c.data()), c.size() * 4}};
  GemmOutcome out;
  const Stopwatch watch;
  out.run = session.run(stream, buffers, options);
  out.wall_seconds = watch.seconds();
  out.elements = c.size();
  if (!out.run.ok()) return out;
  std::vector<i32> row(shape.n);
  for (u64 i = 0; i < shape.m; ++i) {
    exact_row(reinterpret_cast<const i8*>(a.data()) + i * shape.k, b, shape.k, shape.n, row);
    for (u64 j = 0; j < shape.n; ++j) {
      const i32 got = c[i * shape.n + j];
      if (got == row[j]) continue;
      if (out.wrong++ == 0) {
        out.first_wrong = "C[" + std::to_string(i) + "," + std::to_string(j) + "] is " + std::to_string(got) +
                          ", exact " + std::to_string(row[j]);
      }
    }
  }
  return out;
}

}  // namespace tegula::cli
