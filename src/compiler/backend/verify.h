// Independent check of an assembled program: the source (variables, program order) and the encoded bundles
// (registers, exposed pipeline) are both run on unique value tags, and every instruction must see the same
// operands in both.
#pragma once

#include "compiler/backend/ir.h"

namespace tegula::compiler::backend {

// `source` after finish_control_flow and before anything else. Runs loops with trip counts drawn within their
// promises. Error: the first instruction whose operands, memory order or lock order differ, with its bundle
// address.
Result<void> verify_program(const Function& source, const CoreProgram& program);

}  // namespace tegula::compiler::backend
