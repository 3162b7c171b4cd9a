// What the checks of `tegula emu --check` found, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "emu/array.h"

namespace tegula::cli {

// Of the words that --check takes.
emu::Checks checks_of(const std::vector<std::string>& names);

// One line with the counts, and one for each finding, the first of each kind.
std::string findings_text(const emu::Findings& findings, const emu::Checks& checks);
nlohmann::json findings_json(const emu::Findings& findings, const emu::Checks& checks);

}  // namespace tegula::cli
