// Encoding of weights and activations, and the CPU yardsticks. Elements per second.
#include <benchmark/benchmark.h>

#include <random>

#include "num/bfp16.h"
#include "ref/format_model.h"
#include "ref/ops.h"

namespace {

using namespace tegula;

std::vector<float> normal(i64 count) {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution;
  std::vector<float> out(count);
  for (float& x : out) x = distribution(random);
  return out;
}

void encode(benchmark::State& state) {
  const std::vector<float> row = normal(1 << 18);
  std::vector<u8> out(num::bfp16_row_bytes(1 << 18));
  for (auto _ : state) num::encode_bfp16(row, out.data());
  state.SetItemsProcessed(state.iterations() * (1 << 18));
}
BENCHMARK(encode);

void encode_split(benchmark::State& state) {
  const std::vector<float> row = normal(1 << 18);
  std::vector<u8> hi(num::bfp16_row_bytes(1 << 18)), lo(hi.size());
  for (auto _ : state) num::encode_bfp16_split(row, hi.data(), lo.data());
  state.SetItemsProcessed(state.iterations() * (1 << 18));
}
BENCHMARK(encode_split);

// Arguments: rows of activations. Items are multiply-adds.
void matmul_fp32(benchmark::State& state) {
  const i64 m = state.range(0), n = 1536, k = 576;
  ThreadPool pool(1);
  ref::Tensor x(m, k), out;
  x.data = normal(m * k);
  const std::vector<float> w = normal(n * k);
  for (auto _ : state) ref::matmul(pool, x, {w.data(), n, k}, {}, graph::Activation::kNone, out);
  state.SetItemsProcessed(state.iterations() * m * n * k);
}
BENCHMARK(matmul_fp32)->Arg(1)->Arg(8)->Arg(128);

void matmul_bfp16_model(benchmark::State& state) {
  const i64 m = 8, n = 1536, k = 576;
  ThreadPool pool(1);
  const auto a = ref::encode_bfp16_matrix(normal(m * k).data(), m, k, static_cast<int>(state.range(0)));
  const auto w = ref::encode_bfp16_matrix(normal(n * k).data(), n, k, static_cast<int>(state.range(0)));
  std::vector<float> out(m * n);
  for (auto _ : state) ref::matmul_bfp16_model(pool, a, w, {}, nullptr, out.data());
  state.SetItemsProcessed(state.iterations() * m * n * k);
}
BENCHMARK(matmul_bfp16_model)->Arg(1)->Arg(2);

}  // namespace
