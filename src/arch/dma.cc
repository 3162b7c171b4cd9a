// Buffer descriptors between struct and registers. Layouts: AIE2P register list of Xilinx/aie-rt
// (xaie2pgbl_params.h), the same as registers-array.tsv.
#include "arch/dma.h"

#include <algorithm>

namespace tegula::arch {
namespace {

enum class Field : u8 {
  kAddressLow,
  kAddressHigh,
  kAddress,
  kLength,
  kStep0,
  kStep1,
  kStep2,
  kStep3,
  kWrap0,
  kWrap1,
  kWrap2,
  kIterationStep,
  kIterationWrap,
  kIterationCurrent,
  kValid,
  kUseNext,
  kNext,
  kSuppressTlast,
  kAcquire,
  kAcquireLock,
  kAcquireValue,
  kReleaseLock,
  kReleaseValue,
  kPacket,
  kPacketId,
  kPacketType,
  kOutOfOrderId,
  kCompress,
  kPadBefore0,
  kPadBefore1,
  kPadBefore2,
  kPadAfter0,
  kPadAfter1,
  kPadAfter2,
  kBurst,
  kSmid,
  kAxCache,
  kAxQos,
  kSecure,
  kCount,
};

struct FieldPlace {
  Field field;
  u8 word, msb, lsb;
};

constexpr FieldPlace kCoreFields[] = {
    {Field::kAddress, 0, 27, 14},
    {Field::kLength, 0, 13, 0},
    {Field::kCompress, 1, 31, 31},
    {Field::kPacket, 1, 30, 30},
    {Field::kOutOfOrderId, 1, 29, 24},
    {Field::kPacketId, 1, 23, 19},
    {Field::kPacketType, 1, 18, 16},
    {Field::kStep1, 2, 25, 13},
    {Field::kStep0, 2, 12, 0},
    {Field::kWrap1, 3, 28, 21},
    {Field::kWrap0, 3, 20, 13},
    {Field::kStep2, 3, 12, 0},
    {Field::kIterationCurrent, 4, 24, 19},
    {Field::kIterationWrap, 4, 18, 13},
    {Field::kIterationStep, 4, 12, 0},
    {Field::kSuppressTlast, 5, 31, 31},
    {Field::kNext, 5, 30, 27},
    {Field::kUseNext, 5, 26, 26},
    {Field::kValid, 5, 25, 25},
    {Field::kReleaseValue, 5, 24, 18},
    {Field::kReleaseLock, 5, 16, 13},
    {Field::kAcquire, 5, 12, 12},
    {Field::kAcquireValue, 5, 11, 5},
    {Field::kAcquireLock, 5, 3, 0},
};

constexpr FieldPlace kMemFields[] = {
    {Field::kPacket, 0, 31, 31},        {Field::kPacketType, 0, 30, 28},
    {Field::kPacketId, 0, 27, 23},      {Field::kOutOfOrderId, 0, 22, 17},
    {Field::kLength, 0, 16, 0},         {Field::kPadBefore0, 1, 31, 26},
    {Field::kNext, 1, 25, 20},          {Field::kUseNext, 1, 19, 19},
    {Field::kAddress, 1, 18, 0},        {Field::kSuppressTlast, 2, 31, 31},
    {Field::kWrap0, 2, 26, 17},         {Field::kStep0, 2, 16, 0},
    {Field::kPadBefore1, 3, 31, 27},    {Field::kWrap1, 3, 26, 17},
    {Field::kStep1, 3, 16, 0},          {Field::kCompress, 4, 31, 31},
    {Field::kPadBefore2, 4, 30, 27},    {Field::kWrap2, 4, 26, 17},
    {Field::kStep2, 4, 16, 0},          {Field::kPadAfter2, 5, 31, 28},
    {Field::kPadAfter1, 5, 27, 23},     {Field::kPadAfter0, 5, 22, 17},
    {Field::kStep3, 5, 16, 0},          {Field::kIterationCurrent, 6, 28, 23},
    {Field::kIterationWrap, 6, 22, 17}, {Field::kIterationStep, 6, 16, 0},
    {Field::kValid, 7, 31, 31},         {Field::kReleaseValue, 7, 30, 24},
    {Field::kReleaseLock, 7, 23, 16},   {Field::kAcquire, 7, 15, 15},
    {Field::kAcquireValue, 7, 14, 8},   {Field::kAcquireLock, 7, 7, 0},
};

constexpr FieldPlace kShimFields[] = {
    {Field::kLength, 0, 31, 0},         {Field::kAddressLow, 1, 31, 2},
    {Field::kPacket, 2, 30, 30},        {Field::kOutOfOrderId, 2, 29, 24},
    {Field::kPacketId, 2, 23, 19},      {Field::kPacketType, 2, 18, 16},
    {Field::kAddressHigh, 2, 15, 0},    {Field::kSecure, 3, 30, 30},
    {Field::kWrap0, 3, 29, 20},         {Field::kStep0, 3, 19, 0},
    {Field::kBurst, 4, 31, 30},         {Field::kWrap1, 4, 29, 20},
    {Field::kStep1, 4, 19, 0},          {Field::kSmid, 5, 31, 28},
    {Field::kAxCache, 5, 27, 24},       {Field::kAxQos, 5, 23, 20},
    {Field::kStep2, 5, 19, 0},          {Field::kIterationCurrent, 6, 31, 26},
    {Field::kIterationWrap, 6, 25, 20}, {Field::kIterationStep, 6, 19, 0},
    {Field::kSuppressTlast, 7, 31, 31}, {Field::kNext, 7, 30, 27},
    {Field::kUseNext, 7, 26, 26},       {Field::kValid, 7, 25, 25},
    {Field::kReleaseValue, 7, 24, 18},  {Field::kReleaseLock, 7, 16, 13},
    {Field::kAcquire, 7, 12, 12},       {Field::kAcquireValue, 7, 11, 5},
    {Field::kAcquireLock, 7, 3, 0},
};

std::span<const FieldPlace> fields_of(TileKind kind) {
  if (kind == TileKind::kShim) return kShimFields;
  if (kind == TileKind::kMem) return kMemFields;
  return kCoreFields;
}

const char* field_name(Field field) {
  static constexpr const char* kNames[] = {"address (bits 31:2)",
                                           "address (bits 47:32)",
                                           "address",
                                           "length",
                                           "D0 step",
                                           "D1 step",
                                           "D2 step",
                                           "D3 step",
                                           "D0 wrap",
                                           "D1 wrap",
                                           "D2 wrap",
                                           "iteration step",
                                           "iteration wrap",
                                           "iteration current",
                                           "valid",
                                           "use next",
                                           "next BD",
                                           "suppress TLAST",
                                           "acquire enable",
                                           "acquire lock",
                                           "acquire value",
                                           "release lock",
                                           "release value",
                                           "packet enable",
                                           "packet id",
                                           "packet type",
                                           "out-of-order id",
                                           "compress",
                                           "D0 pad before",
                                           "D1 pad before",
                                           "D2 pad before",
                                           "D0 pad after",
                                           "D1 pad after",
                                           "D2 pad after",
                                           "burst",
                                           "SMID",
                                           "AxCACHE",
                                           "AxQOS",
                                           "secure"};
  static_assert(std::size(kNames) == static_cast<size_t>(Field::kCount));
  return kNames[static_cast<int>(field)];
}

// Value of a field as the register holds it, before it is cut to its width. Steps, the iteration wrap and the
// iteration step are held minus 1; lock amounts are 7-bit two's complement.
i64 raw_value(const Bd& bd, Field field) {
  switch (field) {
    case Field::kAddressLow:
      return static_cast<i64>((bd.address & 0xFFFFFFFF) >> 2);
    case Field::kAddressHigh:
      return static_cast<i64>(bd.address >> 32);
    case Field::kAddress:
      return static_cast<i64>(bd.address >> 2);
    case Field::kLength:
      return bd.length;
    case Field::kStep0:
      return static_cast<i64>(bd.dims[0].step) - 1;
    case Field::kStep1:
      return static_cast<i64>(bd.dims[1].step) - 1;
    case Field::kStep2:
      return static_cast<i64>(bd.dims[2].step) - 1;
    case Field::kStep3:
      return static_cast<i64>(bd.dims[3].step) - 1;
    case Field::kWrap0:
      return bd.dims[0].wrap;
    case Field::kWrap1:
      return bd.dims[1].wrap;
    case Field::kWrap2:
      return bd.dims[2].wrap;
    case Field::kIterationStep:
      return static_cast<i64>(bd.iteration_step) - 1;
    case Field::kIterationWrap:
      return static_cast<i64>(bd.iteration_wrap) - 1;
    case Field::kIterationCurrent:
      return bd.iteration_current;
    case Field::kValid:
      return bd.valid;
    case Field::kUseNext:
      return bd.use_next;
    case Field::kNext:
      return bd.next;
    case Field::kSuppressTlast:
      return bd.suppress_tlast;
    case Field::kAcquire:
      return bd.acquire;
    case Field::kAcquireLock:
      return bd.acquire_lock;
    case Field::kAcquireValue:
      return bd.acquire_value;
    case Field::kReleaseLock:
      return bd.release_lock;
    case Field::kReleaseValue:
      return bd.release_value;
    case Field::kPacket:
      return bd.packet;
    case Field::kPacketId:
      return bd.packet_id;
    case Field::kPacketType:
      return bd.packet_type;
    case Field::kOutOfOrderId:
      return bd.out_of_order_id;
    case Field::kCompress:
      return bd.compress;
    case Field::kPadBefore0:
      return bd.pad_before[0];
    case Field::kPadBefore1:
      return bd.pad_before[1];
    case Field::kPadBefore2:
      return bd.pad_before[2];
    case Field::kPadAfter0:
      return bd.pad_after[0];
    case Field::kPadAfter1:
      return bd.pad_after[1];
    case Field::kPadAfter2:
      return bd.pad_after[2];
    case Field::kBurst:
      return bd.burst;
    case Field::kSmid:
      return bd.smid;
    case Field::kAxCache:
      return bd.ax_cache;
    case Field::kAxQos:
      return bd.ax_qos;
    case Field::kSecure:
      return bd.secure;
    case Field::kCount:
      break;
  }
  return 0;
}

bool is_lock_amount(Field field) {
  return field == Field::kAcquireValue || field == Field::kReleaseValue;
}

void set_value(Bd& bd, Field field, u32 raw) {
  const auto amount = static_cast<i8>(static_cast<u8>(raw << 1)) >> 1;  // sign of bit 6
  const u8 byte = static_cast<u8>(raw);
  switch (field) {
    case Field::kAddressLow:
      bd.address |= static_cast<u64>(raw) << 2;
      break;
    case Field::kAddressHigh:
      bd.address |= static_cast<u64>(raw) << 32;
      break;
    case Field::kAddress:
      bd.address = static_cast<u64>(raw) << 2;
      break;
    case Field::kLength:
      bd.length = raw;
      break;
    case Field::kStep0:
      bd.dims[0].step = raw + 1;
      break;
    case Field::kStep1:
      bd.dims[1].step = raw + 1;
      break;
    case Field::kStep2:
      bd.dims[2].step = raw + 1;
      break;
    case Field::kStep3:
      bd.dims[3].step = raw + 1;
      break;
    case Field::kWrap0:
      bd.dims[0].wrap = raw;
      break;
    case Field::kWrap1:
      bd.dims[1].wrap = raw;
      break;
    case Field::kWrap2:
      bd.dims[2].wrap = raw;
      break;
    case Field::kIterationStep:
      bd.iteration_step = raw + 1;
      break;
    case Field::kIterationWrap:
      bd.iteration_wrap = raw + 1;
      break;
    case Field::kIterationCurrent:
      bd.iteration_current = raw;
      break;
    case Field::kValid:
      bd.valid = raw != 0;
      break;
    case Field::kUseNext:
      bd.use_next = raw != 0;
      break;
    case Field::kNext:
      bd.next = byte;
      break;
    case Field::kSuppressTlast:
      bd.suppress_tlast = raw != 0;
      break;
    case Field::kAcquire:
      bd.acquire = raw != 0;
      break;
    case Field::kAcquireLock:
      bd.acquire_lock = byte;
      break;
    case Field::kAcquireValue:
      bd.acquire_value = static_cast<i8>(amount);
      break;
    case Field::kReleaseLock:
      bd.release_lock = byte;
      break;
    case Field::kReleaseValue:
      bd.release_value = static_cast<i8>(amount);
      break;
    case Field::kPacket:
      bd.packet = raw != 0;
      break;
    case Field::kPacketId:
      bd.packet_id = byte;
      break;
    case Field::kPacketType:
      bd.packet_type = byte;
      break;
    case Field::kOutOfOrderId:
      bd.out_of_order_id = byte;
      break;
    case Field::kCompress:
      bd.compress = raw != 0;
      break;
    case Field::kPadBefore0:
      bd.pad_before[0] = byte;
      break;
    case Field::kPadBefore1:
      bd.pad_before[1] = byte;
      break;
    case Field::kPadBefore2:
      bd.pad_before[2] = byte;
      break;
    case Field::kPadAfter0:
      bd.pad_after[0] = byte;
      break;
    case Field::kPadAfter1:
      bd.pad_after[1] = byte;
      break;
    case Field::kPadAfter2:
      bd.pad_after[2] = byte;
      break;
    case Field::kBurst:
      bd.burst = byte;
      break;
    case Field::kSmid:
      bd.smid = byte;
      break;
    case Field::kAxCache:
      bd.ax_cache = byte;
      break;
    case Field::kAxQos:
      bd.ax_qos = byte;
      break;
    case Field::kSecure:
      bd.secure = raw != 0;
      break;
    case Field::kCount:
      break;
  }
}

constexpr u64 width_mask(int bits) {
  return bits >= 32 ? 0xFFFFFFFFull : (1ull << bits) - 1;
}

// The range of the user's value (before the "minus 1" forms) in a field of that many bits.
bool fits(Field field, i64 raw, int bits) {
  if (is_lock_amount(field)) return raw >= -64 && raw <= 63;
  return raw >= 0 && static_cast<u64>(raw) <= width_mask(bits);
}

}  // namespace

Result<BdWords> encode(TileKind kind, const Bd& bd) {
  BdWords words{};
  const std::string where = std::string(kind_name(kind)) + " BD: ";
  if (bd.address % 4 != 0) {
    return fail(Code::kInvalidArgument,
                where + "address " + std::to_string(bd.address) + " is not a multiple of 4");
  }
  std::array<bool, static_cast<size_t>(Field::kCount)> placed{};
  for (const FieldPlace& place : fields_of(kind)) {
    const i64 raw = raw_value(bd, place.field);
    const int bits = place.msb - place.lsb + 1;
    if (!fits(place.field, raw, bits)) {
      return fail(Code::kOutOfRange, where + field_name(place.field) + ": register value " +
                                         std::to_string(raw) + " does not fit in " + std::to_string(bits) +
                                         " bits");
    }
    words[place.word] |= static_cast<u32>((static_cast<u64>(raw) & width_mask(bits)) << place.lsb);
    placed[static_cast<size_t>(place.field)] = true;
  }
  // A field this kind has not must be at its default, or the caller believes in something that will not
  // happen.
  const Bd plain;
  const bool split_address = kind == TileKind::kShim;
  for (int i = 0; i < static_cast<int>(Field::kCount); ++i) {
    const auto field = static_cast<Field>(i);
    const bool half = field == Field::kAddressLow || field == Field::kAddressHigh;
    if (placed[i] || (split_address ? field == Field::kAddress : half)) continue;
    if (raw_value(bd, field) != raw_value(plain, field)) {
      return fail(Code::kInvalidArgument, where + "has no field '" + field_name(field) + "'");
    }
  }
  const int last = traits(kind).dimensions - 1;
  if (bd.dims[last].wrap != 0) {
    return fail(Code::kInvalidArgument,
                where + "D" + std::to_string(last) + " has no wrap: it runs until the length");
  }
  return words;
}

Bd decode(TileKind kind, std::span<const u32> words) {
  Bd bd;
  for (const FieldPlace& place : fields_of(kind)) {
    const u32 word = place.word < words.size() ? words[place.word] : 0;
    const int bits = place.msb - place.lsb + 1;
    set_value(bd, place.field, static_cast<u32>((word >> place.lsb) & width_mask(bits)));
  }
  return bd;
}

}  // namespace tegula::arch
