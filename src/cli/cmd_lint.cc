// tegula lint: core programs against the rules of the core.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/artifact.h"
#include "cli/commands.h"
#include "isa/lint.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

const char* severity_name(isa::Severity severity) {
  return severity == isa::Severity::kError ? "error" : "warning";
}

std::string_view meaning(std::string_view rule) {
  for (const isa::LintRule& known : isa::lint_rules()) {
    if (known.id == rule) return known.meaning;
  }
  return {};
}

json finding_json(const isa::Finding& finding) {
  return {{"address", finding.address},
          {"rule", finding.rule},
          {"severity", severity_name(finding.severity)},
          {"meaning", meaning(finding.rule)},
          {"text", finding.text}};
}

int failure(const LintCommand& command, const Error& error) {
  print_error(in_file(command.file, error));
  return 2;
}

}  // namespace

int cmd_lint(const LintCommand& command) {
  const Result<MappedFile> file = MappedFile::open(command.file);
  if (!file.ok()) {
    print_error(file.error());
    return 2;
  }
  const Result<std::vector<TileProgram>> programs = choose_programs(file->bytes(), command, false);
  if (!programs.ok()) return failure(command, programs.error());
  isa::LintOptions options;
  options.allow_old_value_reads = command.allow_old_values;
  json cores = json::array();
  size_t errors = 0, warnings = 0;
  for (const TileProgram& program : *programs) {
    const std::string tile = arch::tile_name(program.tile);
    const Result<isa::PlacedProgram> placed = isa::place(program.code);
    if (!placed.ok())
      return failure(command, fail(placed.error().code, tile + ": " + placed.error().message));
    json findings = json::array();
    for (const isa::Finding& finding : isa::lint(*placed, options)) {
      ++(finding.severity == isa::Severity::kError ? errors : warnings);
      if (command.json) {
        findings.push_back(finding_json(finding));
        continue;
      }
      std::printf("%s 0x%x: %s: %s [%s]\n", tile.c_str(), finding.address, severity_name(finding.severity),
                  finding.text.c_str(), std::string(finding.rule).c_str());
    }
    cores.push_back({{"col", program.tile.col},
                     {"row", program.tile.row},
                     {"bundles", placed->size()},
                     {"findings", findings}});
  }
  if (command.json) {
    std::printf(
        "%s\n",
        json{{"schema", 1}, {"errors", errors}, {"warnings", warnings}, {"cores", cores}}.dump(2).c_str());
  } else {
    std::printf("%zu programs: %zu errors, %zu warnings\n", programs->size(), errors, warnings);
  }
  return errors == 0 ? 0 : 1;
}

}  // namespace tegula::cli
