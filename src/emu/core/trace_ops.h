// Operations of traces: direct forms of loads, stores and vec-slot instructions, whole or in parts, and the
// steps of the pipeline model between them. Internal to emu/core.
#pragma once

#include "emu/core/trace.h"

namespace tegula::emu {

enum class DirectForm : u8 { kNow, kLoad, kStore, kVec };

// The operation that does these parts (bit 0: takes its inputs; load: reads memory, vec: reads the factors;
// bit 1: the next step, bit 2: vec writes its result).
TraceHandler direct_handler(DirectForm form, u32 parts, const Uop& uop);

inline bool is_plain_store(const Uop& u) {
  return (u.flags & kFlagPlainStore) != 0;
}
inline bool is_product(const Uop& u) {
  return (u.aux & 1) != 0;
}

void model_begin_cycle(Machine& m, const TraceOp& op);
void model_end_cycle(Machine& m, const TraceOp& op);
void model_issue(Machine& m, const TraceOp& op);
void model_load(Machine& m, const TraceOp& op);

}  // namespace tegula::emu
