#include "cli/emu/calibrate.h"

#include <filesystem>

#include "base/file.h"
#include "cli/commands.h"
#include "emu/cost_model.h"

namespace tegula::cli {

const char* const kPublishedSource = "1bit-MONSTER/1bit-MONSTER, engine/npu";

std::span<const PublishedCase> published_cases() {
  static constexpr PublishedCase kCases[] = {
      {"O", "final_i8_O_qwen3_0_6b.xclbin", "insts_i8_O_qwen3_0_6b.txt", {128, 2048, 1024}, 757},
      {"D", "final_i8_D_qwen3_0_6b.xclbin", "insts_i8_D_qwen3_0_6b.txt", {128, 3072, 1024}, 751},
      {"QKV", "final_i8_QKV_qwen3_0_6b.xclbin", "insts_i8_QKV_qwen3_0_6b.txt", {128, 1024, 4096}, 675},
      {"GU", "final_i8_GU_qwen3_0_6b.xclbin", "insts_i8_GU_qwen3_0_6b.txt", {128, 1024, 6144}, 646},
  };
  return kCases;
}

namespace {

double operations(const GemmShape& shape) {
  return 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.k) * static_cast<double>(shape.n);
}

double submission_seconds() {
  return static_cast<double>(emu::cost::kSubmissionCycles) / emu::cost::kClockHz;
}

std::string find(const std::string& folder, const char* name) {
  for (const char* below : {"", "xclbins"}) {
    const std::filesystem::path path = std::filesystem::path(folder) / below / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(path, error)) return path.string();
  }
  return {};
}

}  // namespace

double CalibratedCase::seconds() const {
  return static_cast<double>(array_cycles) / emu::cost::kClockHz + submission_seconds();
}
double CalibratedCase::controller_seconds() const {
  return static_cast<double>(controller_ops * emu::cost::kControllerOpCycles) / emu::cost::kClockHz;
}
double CalibratedCase::gops() const {
  return operations(published->shape) / seconds() / 1e9;
}
double CalibratedCase::error_percent() const {
  return 100 * (gops() / published->gops - 1);
}
double CalibratedCase::implied_op_seconds() const {
  const double seconds = operations(published->shape) / published->gops / 1e9;
  return (seconds - submission_seconds()) / static_cast<double>(controller_ops);
}

Result<std::optional<CalibratedCase>> calibrate(const PublishedCase& published, const std::string& folder,
                                                const emu::RunOptions& options) {
  const std::string configuration = find(folder, published.configuration);
  const std::string stream_path = find(folder, published.stream);
  if (configuration.empty() || stream_path.empty()) return std::optional<CalibratedCase>();
  TRY_ASSIGN(const MappedFile file, MappedFile::open(configuration));
  Result<emu::Session> session = emu::Session::open(file.bytes());
  if (!session.ok()) return in_file(configuration, session.error());
  TRY_ASSIGN(const MappedFile raw, MappedFile::open(stream_path));
  const Result<Bytes> stream = emu::stream_bytes(raw.bytes());
  if (!stream.ok()) return in_file(stream_path, stream.error());
  const Result<GemmShape> shape = gemm_shape("auto", *stream);
  if (!shape.ok()) return in_file(stream_path, shape.error());
  const GemmShape& expected = published.shape;
  if (shape->m != expected.m || shape->k != expected.k || shape->n != expected.n) {
    return in_file(stream_path,
                   fail(Code::kInvalidArgument, "is a product of " + shape_name(*shape) +
                                                    ", the published one is of " + shape_name(expected)));
  }
  const GemmOutcome outcome = run_gemm(*session, *stream, *shape, 1, options);
  if (!outcome.run.ok()) return in_file(stream_path, fail(Code::kDevice, outcome.run.message));
  CalibratedCase out;
  out.published = &published;
  out.exact = outcome.exact();
  out.array_cycles = outcome.run.report.cycles;
  out.controller_ops = outcome.run.report.controller_ops;
  return std::optional(out);
}

}  // namespace tegula::cli
