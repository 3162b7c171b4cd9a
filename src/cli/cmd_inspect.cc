// tegula inspect, tegula diff: what is in a file, and what differs between two.
#include <cstdio>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "cli/inspect/diff.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/summary.h"

namespace tegula::cli {
namespace {

constexpr size_t kMaxDiffLines = 400;

Result<ShowOptions> show_options(const InspectCommand& command) {
  ShowOptions options;
  options.depth = command.depth;
  if (command.tile.empty()) return options;
  TRY_ASSIGN(options.tile, parse_tile(command.tile));
  return options;
}

Result<void> write_page(const std::string& path, const std::vector<Artifact>& artifacts) {
  const std::string page = to_html(artifacts);
  return write_file(path, {reinterpret_cast<const u8*>(page.data()), page.size()});
}

int print_summary(const InspectCommand& command) {
  Summary summary;
  int status = 0;
  for (const std::string& path : command.files) {
    const Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
      status = print_error(file.error());
      summary.add_unreadable(path, file.error());
      continue;
    }
    const Result<Artifact> artifact = inspect_bytes(file->bytes(), path);
    if (artifact.ok()) {
      summary.add(*artifact);
    } else {
      summary.add_unreadable(path, artifact.error());
      status = 1;
    }
  }
  std::printf("%s\n", (command.json ? summary.json() : summary.text()).c_str());
  return status;
}

}  // namespace

int cmd_inspect(const InspectCommand& command) {
  const Result<ShowOptions> options = show_options(command);
  if (!options.ok()) {
    print_error(options.error());
    return 2;
  }
  if (command.summary) return print_summary(command);
  std::vector<MappedFile> files;  // artifacts point into them
  std::vector<Artifact> artifacts;
  int status = 0;
  for (const std::string& path : command.files) {
    Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) {
      status = print_error(file.error());
      continue;
    }
    Result<Artifact> artifact = inspect_bytes(file->bytes(), path);
    if (!artifact.ok()) {
      status = print_error(in_file(path, artifact.error()));
      continue;
    }
    for (const Error& problem : artifact->problems) status = print_error(in_file(path, problem));
    if (!command.json && command.html.empty()) {
      std::fputs(to_text(*artifact, *options).c_str(), stdout);
      continue;
    }
    files.push_back(std::move(*file));
    artifacts.push_back(std::move(*artifact));
  }
  if (command.json) std::printf("%s\n", to_json(artifacts, *options).c_str());
  if (!command.html.empty()) {
    const Result<void> written = write_page(command.html, artifacts);
    if (!written.ok()) status = print_error(written.error());
  }
  return status;
}

int cmd_diff(const DiffCommand& command) {
  std::vector<MappedFile> files;
  std::vector<Artifact> artifacts;
  for (const std::string& path : {command.a, command.b}) {
    Result<MappedFile> file = MappedFile::open(path);
    if (!file.ok()) return print_error(file.error()), 2;
    Result<Artifact> artifact = inspect_bytes(file->bytes(), path);
    if (!artifact.ok()) return print_error(in_file(path, artifact.error())), 2;
    if (!artifact->problems.empty()) return print_error(in_file(path, artifact->problems[0])), 2;
    files.push_back(std::move(*file));
    artifacts.push_back(std::move(*artifact));
  }
  const DiffResult result = diff_artifacts(artifacts[0], artifacts[1]);
  if (command.json) {
    std::printf("%s\n", diff_json(result, command.a, command.b).c_str());
  } else {
    std::fputs(diff_text(result, kMaxDiffLines).c_str(), stdout);
  }
  return result.equal() ? 0 : 1;
}

}  // namespace tegula::cli
