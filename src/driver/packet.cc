// ERT packets: header word, CU mask, payload by opcode.
#include "driver/packet.h"

#include <bit>
#include <string>

namespace tegula::driver {
namespace {

using namespace uapi;

Error reject(const std::string& what) {
  return fail(Code::kInvalidArgument, "packet rejected: " + what);
}

u64 word64(ByteSpan payload, u64 word) {
  return load_le<u64>(payload.data() + 4 * word);
}

// Kernel arguments: u64 opcode, u64 stream address, u32 count, then u64 buffer addresses without padding.
void read_buffers(ByteSpan arguments, Packet* packet) {
  for (u64 at = 4 * kCuMapHeadWords; at + 8 <= arguments.size(); at += 8) {
    packet->arguments.push_back(load_le<u64>(arguments.data() + at));
  }
}

Result<void> parse_start_cu(ByteSpan payload, Packet* packet) {
  if (payload.size() < 4 * kCuMapHeadWords) return reject("START_CU needs at least 5 argument words");
  if (kSlotHeadBytes + payload.size() > kChainBufferBytes)
    return reject("arguments exceed the 4 KiB slot buffer");
  packet->map_opcode = word64(payload, 0);
  packet->stream_address = word64(payload, 2);
  packet->stream_size = load_le<u32>(payload.data() + 16);
  packet->slot_bytes = kSlotHeadBytes + static_cast<u32>(payload.size());
  read_buffers(payload, packet);
  return {};
}

// The three forms with a head of their own: START_NPU, START_NPU_PREEMPT, START_NPU_PREEMPT_ELF.
Result<void> parse_start_npu(ByteSpan payload, Packet* packet) {
  const bool plain = packet->opcode == kErtStartNpu;
  const u64 head = plain ? sizeof(ErtNpuData) : sizeof(ErtNpuPreemptData);
  if (payload.size() < head) return reject("payload is shorter than the head of its opcode");
  packet->stream_address = word64(payload, 0);
  packet->stream_size = load_le<u32>(payload.data() + (plain ? 8 : 24));
  const u64 properties = load_le<u32>(payload.data() + head - 4);
  ByteSpan rest = payload.subspan(head);
  if (rest.size() / 4 > kNpuMaxArgWords) return reject("more than 26 argument words");
  if (properties * 4 > rest.size()) return reject("property count exceeds the payload");
  packet->map_opcode = kCuOpcodeTxn;
  if (packet->opcode == kErtStartNpuPreemptElf) {
    packet->slot_bytes = kSlotHeadBytes + 4;  // arguments are not forwarded
    return {};
  }
  packet->slot_bytes = kSlotHeadBytes + static_cast<u32>(rest.size());
  ByteSpan arguments = rest.subspan(properties * 4);
  if (arguments.size() >= 8) packet->map_opcode = load_le<u64>(arguments.data());
  read_buffers(arguments, packet);
  return {};
}

Result<void> parse_chain(ByteSpan payload, Packet* packet) {
  if (payload.size() < sizeof(ErtChainData)) return reject("chain is shorter than its head");
  const u64 count = load_le<u32>(payload.data());
  if (count == 0) return reject("chain without commands");
  if (count > (payload.size() - sizeof(ErtChainData)) / 8) return reject("chain count exceeds the payload");
  for (u64 i = 0; i < count; ++i) {
    packet->members.push_back(load_le<u32>(payload.data() + sizeof(ErtChainData) + 8 * i));
  }
  return {};
}

}  // namespace

Result<Packet> parse_packet(ByteSpan buffer) {
  if (buffer.size() < 4) return reject("buffer is smaller than the header");
  const u32 header = load_le<u32>(buffer.data());
  Packet packet;
  packet.opcode = ert_opcode(header);
  packet.words = ert_count(header);
  if (4 + 4 * u64{packet.words} > buffer.size()) return reject("count exceeds the command buffer");
  ByteSpan payload = buffer.subspan(4, 4 * u64{packet.words});
  if (packet.opcode == kErtChain) {
    TRY(parse_chain(payload, &packet));
    return packet;
  }
  if (packet.opcode != kErtStartCu && packet.opcode != kErtStartNpu && packet.opcode != kErtStartNpuPreempt &&
      packet.opcode != kErtStartNpuPreemptElf) {
    return reject("opcode " + std::to_string(packet.opcode) + " is not one of 0, 19, 20, 21, 22");
  }
  const u32 masks = 1 + ert_extra_masks(header);
  if (packet.words <= masks) return reject("count does not exceed the CU mask words");
  u32 mask = 0;
  for (u32 i = 0; i < masks && mask == 0; ++i) mask = load_le<u32>(payload.data() + 4 * i);
  if (mask == 0 && packet.opcode != kErtStartNpuPreemptElf) return reject("CU mask is zero");
  packet.cu_index = mask == 0 ? 0 : static_cast<u32>(std::countr_zero(mask));
  payload = payload.subspan(4 * u64{masks});
  if (packet.opcode == kErtStartCu) {
    TRY(parse_start_cu(payload, &packet));
  } else {
    TRY(parse_start_npu(payload, &packet));
  }
  return packet;
}

}  // namespace tegula::driver
