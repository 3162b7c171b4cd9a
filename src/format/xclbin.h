// xclbin: the container that the driver's user gets a configuration from. Seven sections, one of them the
// AIE_PARTITION with the PDI.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::format {

using Uuid = std::array<u8, 16>;

// Section kinds of an NPU xclbin; others are kept but not looked into.
enum class XclbinKind : u32 {
  kEmbeddedMetadata = 2,
  kMemTopology = 6,
  kConnectivity = 7,
  kIpLayout = 8,
  kGroupTopology = 26,
  kGroupConnectivity = 27,
  kAiePartition = 32,
};

const char* xclbin_kind_name(u32 kind);

struct XclbinSection {
  u32 kind = 0;
  std::string name;  // at most 16 characters in the file
  u64 offset = 0;    // from the start of the file
  ByteSpan data;
};

struct CdoGroup {
  std::string name;
  u8 type = 1;  // 1 = primary
  u64 pdi_id = 1;
  std::vector<u64> kernel_ids;
  std::vector<u32> pre_groups;
};

struct PdiRecord {
  Uuid uuid{};
  ByteSpan image;
  std::vector<CdoGroup> groups;
};

struct AiePartition {
  u32 operations_per_cycle = 0;
  u64 inference_fingerprint = 0;
  u64 pre_post_fingerprint = 0;
  u16 column_width = 0;
  std::vector<u16> start_columns;  // columns where the partition may start
  std::vector<PdiRecord> pdis;
};

// One kernel of the IP_LAYOUT section.
struct IpRecord {
  u32 type = 0;       // 7 = PS kernel
  u16 subtype = 0;    // 1 = DPU
  u16 kernel_id = 0;  // 0x901 in public files
  u64 base_address = 0;
  std::string name;  // "KERNEL:INSTANCE"
};

struct MemRecord {
  u8 type = 0;  // 2 = DRAM
  u8 used = 0;
  u64 size_kib = 0;
  u64 base_address = 0;
  std::string tag;
};

struct Connection {
  i32 argument = 0;
  i32 ip = 0;
  i32 memory = 0;
};

// All spans point into the bytes given to read_xclbin.
struct Xclbin {
  u64 unique_id = 0;
  u64 time_stamp = 0;
  u8 version_major = 0;
  u8 version_minor = 0;
  u16 version_patch = 0;
  Uuid uuid{};
  std::vector<XclbinSection> sections;
  AiePartition partition;
  std::vector<IpRecord> ips;
  std::vector<MemRecord> memories;
  std::vector<Connection> connections;
  std::string metadata;  // XML text

  const XclbinSection* find(XclbinKind kind) const;  // the first of its kind, or null
};

// Reads and checks the whole file: bounds of every section, no two sections overlapping, and the content of
// all kinds above. A file without AIE_PARTITION is read (partition.pdis is empty). Errors: kCorrupt,
// kUnsupported.
Result<Xclbin> read_xclbin(ByteSpan bytes);
Result<Xclbin> read_xclbin(Bytes&&) = delete;  // the spans would dangle

// The content of an AIE_PARTITION section alone. Its spans point into the bytes given.
Result<AiePartition> read_aie_partition(ByteSpan bytes);
Result<AiePartition> read_aie_partition(Bytes&&) = delete;

// The image of the only PDI. Errors: kNotFound without one, kUnsupported with several.
Result<ByteSpan> find_pdi(const Xclbin& xclbin);

struct XclbinContent {
  ByteSpan pdi;
  u16 column_width = 8;
  std::vector<u16> start_columns = {0};
  u16 kernel_id = 0x901;
  std::string kernel_name = "MLIR_AIE";
  std::string instance_name = "MLIRAIE";
  u8 version_major = 2;
  u8 version_minor = 21;
  u16 version_patch = 75;
  // Without a value these are taken from SHA-256 of the content, so that equal content gives equal bytes. A
  // derived time stamp is such a number too, not a time.
  std::optional<Uuid> uuid;
  std::optional<Uuid> pdi_uuid;
  std::optional<u64> time_stamp;
};

// The whole file. Names longer than their fields (kernel and instance together 62 characters) are cut.
Bytes write_xclbin(const XclbinContent& content);

}  // namespace tegula::format
