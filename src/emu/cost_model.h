// What the emulator cannot know and therefore assumes: the times of DDR, the controller and a submission.
// Every constant says where it comes from; times that follow from them are "modelled", never "measured".
// Words of a stream take one cycle each (4 bytes per cycle and port; AM020 for the stream width, AMD/Xilinx
// aie-rt for the port layout).
#pragma once

#include "base/types.h"

namespace tegula::emu::cost {

// Array clock of the published silicon figures (Strix, 50 TOPS int8 / 32 cores / 512 MAC / 2).
constexpr double kClockHz = 1.8e9;

// DDR: about 57 GB/s is what public projects reach with all 16 shim read channels (47 to 60 reported).
constexpr double kDdrBytesPerSecond = 57e9;
// Controller: the published rates of four GEMMs divided by the operations of their streams give 0.36 to 0.42
// us for one operation of the stream, whatever its kind.
constexpr u64 kControllerOpCycles = static_cast<u64>(0.4e-6 * kClockHz);
// A mask poll that fails is tried again after one operation's time (assumed).
constexpr u64 kPollCycles = kControllerOpCycles;

// A job handed to the driver, and each command in it. Published round trips of a no-op through the Linux
// driver: about 59 us alone and 20 us each in a chain, hence 39 us per job and 20 us per command.
constexpr u64 kJobNs = 39'000;
constexpr u64 kCommandNs = 20'000;
// From the host's submit call to the first operation of the stream, for a job of one command.
constexpr u64 kSubmissionCycles = static_cast<u64>((kJobNs + kCommandNs) * 1e-9 * kClockHz);

// Longest piece that moves as one segment through a shim channel, in words: keeps the shares of DDR fair. No
// effect on data.
constexpr u64 kShimSegmentWords = 4096;

// Estimate of bank conflicts, shown apart and never added to a time: data memory of a core tile has 4 banks
// as programs see them (mlir-aie's target model), an access of the DMA takes one bank for a cycle and carries
// 256 bits (aie-rt: bus width of the memory); accesses are taken as spread evenly over banks and time.
constexpr double kCoreBanks = 4;
constexpr double kBankWords = 8;

}  // namespace tegula::emu::cost
