// tegula emu: somebody's configuration and streams on the emulated array, with files as arguments.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/emu/findings.h"
#include "cli/emu/gemm_check.h"
#include "cli/emu/pictures.h"
#include "cli/emu/report.h"
#include "emu/session.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

constexpr u64 kMaxBufferBytes = 1ull << 34;

struct Output {
  std::string path;
  u64 bytes = 0;
};

// Host buffers by argument number, and what becomes of them.
struct Arguments {
  std::vector<Bytes> buffers;
  std::vector<std::optional<Output>> outputs;

  void grow(size_t argument) {
    if (buffers.size() > argument) return;
    buffers.resize(argument + 1);
    outputs.resize(argument + 1);
  }
  std::vector<std::span<u8>> spans() {
    std::vector<std::span<u8>> out(buffers.begin(), buffers.end());
    return out;
  }
};

// "N=REST": the number, and REST.
Result<std::pair<size_t, std::string>> numbered(const char* flag, const std::string& text) {
  const size_t equals = text.find('=');
  size_t number = 0, digits = 0;
  for (; digits < equals && digits < 2 && text[digits] >= '0' && text[digits] <= '9'; ++digits) {
    number = number * 10 + static_cast<size_t>(text[digits] - '0');
  }
  if (equals == std::string::npos || digits == 0 || digits != equals || number >= emu::kMaxArguments) {
    return fail(Code::kInvalidArgument, std::string(flag) + " " + text +
                                            ": expected N=..., N an argument number below " +
                                            std::to_string(emu::kMaxArguments));
  }
  return std::pair{number, text.substr(equals + 1)};
}

Result<Arguments> read_arguments(const EmuCommand& command) {
  Arguments out;
  for (const std::string& text : command.args) {
    TRY_ASSIGN(const auto entry, numbered("--arg", text));
    out.grow(entry.first);
    TRY_ASSIGN(out.buffers[entry.first], read_file(entry.second));
  }
  for (const std::string& text : command.outs) {
    TRY_ASSIGN(const auto entry, numbered("--out", text));
    const size_t colon = entry.second.rfind(':');
    const std::string size = colon == std::string::npos ? "" : entry.second.substr(colon + 1);
    char* end = nullptr;
    const unsigned long long bytes = std::strtoull(size.c_str(), &end, 0);
    if (size.empty() || *end != 0 || bytes == 0 || bytes > kMaxBufferBytes) {
      return fail(Code::kInvalidArgument, "--out " + text + ": expected N=FILE:BYTES");
    }
    out.grow(entry.first);
    out.outputs[entry.first] = Output{entry.second.substr(0, colon), bytes};
    Bytes& buffer = out.buffers[entry.first];
    if (buffer.size() < bytes) buffer.resize(bytes, 0);
  }
  return out;
}

Result<void> write_outputs(const Arguments& arguments) {
  for (size_t i = 0; i < arguments.outputs.size(); ++i) {
    const auto& output = arguments.outputs[i];
    if (output) TRY(write_file(output->path, ByteSpan(arguments.buffers[i]).first(output->bytes)));
  }
  return {};
}

emu::RunOptions run_options(const EmuCommand& command) {
  emu::RunOptions options;
  options.threads = command.threads;
  if (command.max_cycles != 0) options.max_cycles = command.max_cycles;
  return options;
}

Result<void> write_text(const std::string& path, const std::string& text) {
  return write_file(path, {reinterpret_cast<const u8*>(text.data()), text.size()});
}

// The last run's pictures, if any are wanted.
Result<void> write_pictures(const EmuCommand& command, const emu::RunResult& result,
                            const std::vector<emu::TimelineEvent>& events) {
  if (command.trace.empty() && command.html.empty()) return {};
  const trace::Timeline timeline = make_timeline(events);
  if (!command.trace.empty()) TRY(write_text(command.trace, trace::perfetto_json(timeline)));
  if (!command.html.empty()) {
    TRY(write_text(command.html, trace::heatmap_html(make_heatmap(result, command.files[0]), timeline)));
  }
  return {};
}

bool wants_timeline(const EmuCommand& command) {
  return !command.trace.empty() || !command.html.empty();
}

void print_json(const json& out) {
  std::printf("%s\n", out.dump(2).c_str());
}

// As text, or into the JSON.
void report_findings(const EmuCommand& command, const emu::Findings& findings, json& out) {
  const emu::Checks checks = checks_of(command.checks);
  if (!checks.any()) return;
  if (command.json) {
    out["checks"] = findings_json(findings, checks);
  } else {
    std::printf("%s", findings_text(findings, checks).c_str());
  }
}

Result<int> run_gemms(const EmuCommand& command, emu::Session& session, const Bytes& stream) {
  TRY_ASSIGN(const GemmShape shape, gemm_shape(command.gemm, stream));
  emu::RunOptions options = run_options(command);
  std::vector<emu::TimelineEvent> events;
  if (wants_timeline(command)) options.timeline = &events;
  json runs = json::array();
  bool exact = true;
  emu::Findings findings;
  for (int i = 0; i < command.repeat && exact; ++i) {
    events.clear();
    const GemmOutcome outcome = run_gemm(session, stream, shape, command.seed + static_cast<u64>(i), options);
    exact = outcome.exact();
    findings = outcome.run.report;
    TRY(write_pictures(command, outcome.run, events));
    if (command.json) {
      json one = run_json(outcome.run);
      one["wrong"] = outcome.wrong;
      one["elements"] = outcome.elements;
      one["wall_seconds"] = outcome.wall_seconds;
      runs.push_back(one);
      continue;
    }
    std::printf("run %d: %s, ", i + 1, shape_name(shape).c_str());
    if (outcome.run.ok()) {
      std::printf("%llu of %llu outputs wrong%s%s, %llu cycles modelled, %.2f s wall\n",
                  static_cast<unsigned long long>(outcome.wrong),
                  static_cast<unsigned long long>(outcome.elements), outcome.wrong == 0 ? "" : ": ",
                  outcome.first_wrong.c_str(), static_cast<unsigned long long>(outcome.run.report.cycles),
                  outcome.wall_seconds);
    } else {
      std::printf("%s: %s\n", emu::run_end_name(outcome.run.end), outcome.run.message.c_str());
    }
  }
  json out = {{"schema", 1}, {"gemm", {shape.m, shape.k, shape.n}}, {"exact", exact}, {"runs", runs}};
  report_findings(command, findings, out);
  if (command.json) print_json(out);
  return exact && findings.count() == 0 ? 0 : 1;
}

Result<int> run_streams(const EmuCommand& command, emu::Session& session, const std::vector<Bytes>& streams) {
  TRY_ASSIGN(Arguments arguments, read_arguments(command));
  emu::RunOptions options = run_options(command);
  std::vector<emu::TimelineEvent> events;
  if (wants_timeline(command)) options.timeline = &events;
  json runs = json::array();
  bool ok = true;
  emu::Findings findings;
  for (size_t i = 0; i < streams.size() && ok; ++i) {
    events.clear();
    const auto spans = arguments.spans();
    const emu::RunResult result = session.run(streams[i], spans, options);
    ok = result.ok();
    findings = result.report;
    TRY(write_pictures(command, result, events));
    if (command.json) {
      json one = run_json(result);
      one["stream"] = command.streams[i];
      runs.push_back(one);
    } else {
      if (streams.size() > 1) std::printf("stream: %s\n", command.streams[i].c_str());
      std::printf("%s", run_text(result).c_str());
    }
  }
  TRY(write_outputs(arguments));
  json out = {{"schema", 1}, {"runs", runs}};
  report_findings(command, findings, out);
  if (command.json) print_json(out);
  return ok && findings.count() == 0 ? 0 : 1;
}

Result<int> emulate(const EmuCommand& command) {
  TRY_ASSIGN(const MappedFile file, MappedFile::open(command.files[0]));
  Result<emu::Session> session = emu::Session::open(file.bytes(), checks_of(command.checks));
  if (!session.ok()) return in_file(command.files[0], session.error());
  std::vector<Bytes> streams;
  for (const std::string& path : command.streams) {
    TRY_ASSIGN(const MappedFile raw, MappedFile::open(path));
    Result<Bytes> bytes = emu::stream_bytes(raw.bytes());
    if (!bytes.ok()) return in_file(path, bytes.error());
    streams.push_back(std::move(*bytes));
  }
  if (command.gemm.empty()) return run_streams(command, *session, streams);
  if (streams.size() != 1) return fail(Code::kInvalidArgument, "--gemm needs exactly one --stream");
  return run_gemms(command, *session, streams[0]);
}

}  // namespace

int cmd_emu(const EmuCommand& command) {
  if (command.flood) return cmd_flood(command);
  if (!command.calibrate.empty()) return cmd_calibrate(command);
  const Result<int> code = emulate(command);
  return code.ok() ? *code : print_error(code.error());
}

}  // namespace tegula::cli
