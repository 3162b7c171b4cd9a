// Reads ERT command packets as the kernel driver does before it mails them to the firmware.
#pragma once

#include <vector>

#include "base/amdxdna_uapi.h"
#include "base/bytes.h"
#include "base/result.h"

namespace tegula::driver {

struct Packet {
  u32 opcode = 0;
  u32 words = 0;               // payload words after the header, as counted by the header
  u32 cu_index = 0;            // opcodes 0, 20, 21
  u64 stream_address = 0;      // all but the chain
  u32 stream_size = 0;         // START_CU: unit not settled (words or bytes); else bytes
  u64 map_opcode = 0;          // START_CU and START_NPU: first kernel argument, 3 = execute TXN
  std::vector<u64> arguments;  // buffer addresses
  u32 slot_bytes = 0;          // room taken in the kernel's chain buffer
  std::vector<u32> members;    // chain: handles of the sub-commands
};

// Parses the packet at the start of a command buffer. Errors: kInvalidArgument where the driver rejects the
// packet before execution (the job then ends with state NEW).
Result<Packet> parse_packet(ByteSpan buffer);

}  // namespace tegula::driver
