// The register file of the core as one flat block of bytes; an operand is a byte offset into it.
#pragma once

#include "base/bytes.h"
#include "isa/isa.h"

namespace tegula::emu {

// Offsets of the banks of isa::Bank.
constexpr u16 kBankR = 0;
constexpr u16 kBankP = 128;
constexpr u16 kBankM = 160;
constexpr u16 kBankDn = 192;
constexpr u16 kBankDj = 224;
constexpr u16 kBankDc = 256;
constexpr u16 kBankS = 288;
constexpr u16 kBankSpecial = 320;
constexpr u16 kBankControl = 384;
constexpr u16 kZeroRegister = 640;  // 8 bytes that stay zero: the index of addresses without one
constexpr u16 kTemps = 648;         // shadows for writes that a later slot of the same bundle must not see
constexpr int kTempCount = 12;
constexpr u16 kBankX = 768;
constexpr u16 kBankE = 1536;
constexpr u16 kBankQ = 1664;
constexpr u16 kBankAcc = 1792;
constexpr u16 kBankFifo = 3072;
constexpr u16 kRegisterBytes = 3584;
constexpr u16 kNoRegister = 0xFFFF;

constexpr u16 bank_offset(isa::Bank bank) {
  constexpr u16 kOffsets[] = {kBankR, kBankP, kBankM, kBankDn,  kBankDj,   kBankDc,      kBankS,
                              kBankX, kBankE, kBankQ, kBankAcc, kBankFifo, kBankSpecial, kBankControl};
  return kOffsets[static_cast<int>(bank)];
}

inline u16 part_offset(const isa::RegPart& part) {
  return static_cast<u16>(bank_offset(part.bank) + part.bit / 8);
}

// Byte offset of a register: of its x part where it is one of several (qex begins with mask and exponents).
inline u16 register_offset(isa::Reg reg) {
  const auto parts = isa::reg_info(reg).parts;
  for (const isa::RegPart& part : parts) {
    if (part.bank == isa::Bank::kX) return part_offset(part);
  }
  return part_offset(parts[0]);
}

// e and q registers beside an x register of the same number.
constexpr u16 e_of_x(u16 x) {
  return static_cast<u16>(kBankE + (x - kBankX) / 8);
}
constexpr u16 q_of_x(u16 x) {
  return static_cast<u16>(kBankQ + (x - kBankX) / 4);
}

// Bits that a scalar, address, control or status register keeps of a value written to it.
u32 write_mask(isa::Reg reg);

}  // namespace tegula::emu
