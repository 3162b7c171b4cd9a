// Byte places inside an xclbin (XRT xclbin.h), shared by its reader and writer.
#pragma once

#include <string_view>

#include "base/types.h"

namespace tegula::format::xclbin_layout {

// File header.
inline constexpr std::string_view kMagic{"xclbin2\0", 8};
inline constexpr u64 kUniqueId = 0x128;
inline constexpr u64 kFileLength = 0x130;
inline constexpr u64 kTimeStamp = 0x138;
inline constexpr u64 kVersion = 0x148;  // u16 patch, u8 major, u8 minor
inline constexpr u64 kUuid = 0x1A0;
inline constexpr u64 kSectionCount = 0x1C0;
inline constexpr u64 kSectionHeaders = 0x1C8;
inline constexpr u64 kSectionHeaderBytes = 40;  // u32 kind, 16 name, 4 pad, u64 offset, u64 size

// AIE_PARTITION. "Array" is u32 count, u32 offset from the start of the section.
inline constexpr u64 kPartitionName = 0x04;
inline constexpr u64 kPartitionOperations = 0x08;
inline constexpr u64 kPartitionInference = 0x10;
inline constexpr u64 kPartitionPrePost = 0x18;
inline constexpr u64 kPartitionWidth = 0x20;
inline constexpr u64 kPartitionStarts = 0x28;  // array of u16
inline constexpr u64 kPartitionPdis = 0x78;    // array of PDI records
inline constexpr u64 kPartitionCommit = 0x80;
inline constexpr u64 kPartitionHeader = 0xB8;

inline constexpr u64 kPdiBytes = 96;   // PDI record
inline constexpr u64 kPdiImage = 16;   // array of bytes
inline constexpr u64 kPdiGroups = 24;  // array of CDO groups

inline constexpr u64 kGroupBytes = 96;  // CDO group
inline constexpr u64 kGroupType = 4;
inline constexpr u64 kGroupPdiId = 8;
inline constexpr u64 kGroupKernels = 16;    // array of u64
inline constexpr u64 kGroupPreGroups = 24;  // array of u32

inline constexpr u64 kIpBytes = 80;
inline constexpr u64 kMemBytes = 40;
inline constexpr u64 kConnectionBytes = 12;

}  // namespace tegula::format::xclbin_layout
