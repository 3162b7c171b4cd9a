// The report of a run on the emulated array, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "emu/array.h"

namespace tegula::cli {

// A few lines for a terminal: how it ended, modelled time, the busiest and the most starved parts.
std::string run_text(const emu::RunResult& result);
nlohmann::json run_json(const emu::RunResult& result);

}  // namespace tegula::cli
