// tegula inspect: what is in a file.
#include <cstdio>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/inspect/inspect.h"
#include "cli/inspect/summary.h"

namespace tegula::cli {
namespace {

Error in_file(const std::string& path, const Error& error) {
  return fail(error.code, path + ": " + error.message);
}

Result<ShowOptions> show_options(const InspectCommand& command) {
  ShowOptions options;
  options.depth = command.depth;
  if (command.tile.empty()) return options;
  int col = -1, row = -1;
  char end = 0;
  if (std::sscanf(command.tile.c_str(), "%d,%d%c", &col, &row, &end) != 2 || !arch::in_grid(col, row)) {
    return fail(Code::kInvalidArgument, "--tile " + command.tile + ": expected column,row as in 0,2");
  }
  options.tile = arch::Tile{static_cast<u8>(col), static_cast<u8>(row)};
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

}  // namespace tegula::cli
