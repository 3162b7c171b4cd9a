// Registers of the AIE2P core: look-ups over the generated tables (source: src/isa/tables/regfile.tsv).
#include "isa/isa.h"
