// Text form of builder programs, for the file tests of the back end.
//
//   # comment
//   ex a, b                      virtual registers: a kind, then names
//   VLDA_POP_576_normal_pop a, $p0 !1      record name, operands in table order; $ names a register, !tag the
//   memory VLDA_FILL_512|VLDB_FILL_512 $p0 !1l    alternatives; l: local memory VST_dmx_sts_bm_pstm_nrm_imm
//   acc.bm0, c, 64 imm r, 5 / mov r, s / addi r, s, -1 / acquire 48, r / release 49, r / label x / jump x /
//   jz r, x / jnz r, x / done loop count multiple=8 min=8 name=k { ... }    count: a register or a number;
//   also modulo=0 disjoint=1 edge=jnz
#pragma once

#include <string_view>

#include "compiler/backend/builder.h"

namespace tegula::compiler {

Result<Builder> parse_backend_text(std::string_view text);

}  // namespace tegula::compiler
