// Static checks of a core program: hazards of the exposed pipeline, control-flow rules, locks, hardware
// loops, sizes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "isa/placed.h"

namespace tegula::isa {

enum class Severity : u8 {
  kWarning,  // legal or never tried; look at it
  kError,    // breaks a rule of the core
};

struct Finding {
  u32 address = 0;        // of the bundle to change
  std::string_view rule;  // one of lint_rules()
  Severity severity = Severity::kError;
  std::string text;  // why, and what to change
};

struct MemoryRange {
  u32 address = 0;  // core data address
  u32 bytes = 0;
};

struct LintOptions {
  // Programs that read a register's old value on purpose while a new one is in flight: no early-read, no
  // late-overwrite.
  bool allow_old_value_reads = false;
  u32 program_bytes = 16 * 1024;
  // Buffers that the stack must not reach. sp starts at stack_start, or where the program itself sets it.
  std::vector<MemoryRange> buffers;
  std::optional<u32> stack_start;
};

// Bundles in address order. Paths are followed over direct branches, over register branches whose pointer was
// loaded with a constant just before, over calls into the callee, and over the back edge of hardware loops
// with constant bounds; nothing is said about paths that cannot be determined. Findings come in address
// order.
std::vector<Finding> lint(const PlacedProgram& program, const LintOptions& options = {});

// Every rule id with one sentence.
struct LintRule {
  std::string_view id, meaning;
};
std::span<const LintRule> lint_rules();

}  // namespace tegula::isa
