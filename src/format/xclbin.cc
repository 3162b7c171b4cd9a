// xclbin reader. Layout: docs/formats/xclbin.md (the structs of XRT's xclbin.h as the public NPU files use
// them).
#include "format/xclbin.h"

#include <fmt/core.h>

#include <algorithm>

#include "format/xclbin_layout.h"

namespace tegula::format {
namespace {

using namespace xclbin_layout;

constexpr u32 kMaxSections = 64;
constexpr u32 kMaxPdis = 64;
constexpr u32 kMaxGroups = 64;
constexpr u32 kMaxList = 4096;  // start columns, kernel ids, records

// Up to `size` characters, ending at the first zero.
std::string fixed_text(const u8* at, u64 size) {
  const u8* end = std::find(at, at + size, 0);
  return {at, end};
}

// A span with checked access by offset, whose errors name the section.
class View {
 public:
  View(ByteSpan data, std::string what) : data_(data), what_(std::move(what)) {}

  template <typename T>
  Result<T> get(u64 offset, const char* field) const {
    TRY(inside(offset, sizeof(T), field));
    return load_le<T>(data_.data() + offset);
  }
  Result<void> inside(u64 offset, u64 size, const char* field) const {
    if (offset <= data_.size() && size <= data_.size() - offset) return {};
    return fail(Code::kCorrupt,
                fmt::format("xclbin: {} of {}: {} bytes at 0x{:X} reach past its end ({} bytes); the "
                            "file is truncated or damaged",
                            field, what_, size, offset, data_.size()));
  }
  // A count and an offset stored as two u32; checks the extent and the cap.
  Result<std::pair<u64, u64>> array(u64 offset, u64 element, u32 cap, const char* field) const {
    TRY_ASSIGN(u64 count, get<u32>(offset, field));
    TRY_ASSIGN(u64 place, get<u32>(offset + 4, field));
    if (cap != 0 && count > cap) {
      return fail(Code::kCorrupt,
                  fmt::format("xclbin: {} of {}: count is {}, at most {} make sense; the file is damaged",
                              field, what_, count, cap));
    }
    TRY(inside(place, count * element, field));
    return std::pair<u64, u64>(count, place);
  }
  template <typename T>
  Result<std::vector<T>> list(u64 offset, const char* field) const {
    TRY_ASSIGN(auto extent, array(offset, sizeof(T), kMaxList, field));
    std::vector<T> out;
    for (u64 i = 0; i < extent.first; ++i)
      out.push_back(load_le<T>(data_.data() + extent.second + i * sizeof(T)));
    return out;
  }
  // A zero-ended string.
  Result<std::string> text(u64 offset, const char* field) const {
    TRY(inside(offset, 1, field));
    ByteSpan tail = data_.subspan(offset);
    auto end = std::find(tail.begin(), tail.end(), 0);
    if (end == tail.end())
      return fail(Code::kCorrupt, fmt::format("xclbin: {} of {} has no end", field, what_));
    return std::string(tail.begin(), end);
  }
  ByteSpan data() const { return data_; }
  const u8* at(u64 offset) const { return data_.data() + offset; }

 private:
  ByteSpan data_;
  std::string what_;
};

Result<CdoGroup> read_group(const View& view, u64 at) {
  CdoGroup group;
  TRY(view.inside(at, kGroupBytes, "CDO group"));
  TRY_ASSIGN(group.name, view.text(load_le<u32>(view.at(at)), "CDO group name"));
  group.type = *view.at(at + kGroupType);
  group.pdi_id = load_le<u64>(view.at(at + kGroupPdiId));
  TRY_ASSIGN(group.kernel_ids, view.list<u64>(at + kGroupKernels, "kernel ids"));
  TRY_ASSIGN(group.pre_groups, view.list<u32>(at + kGroupPreGroups, "pre-groups"));
  return group;
}

Result<PdiRecord> read_pdi_record(const View& view, u64 at) {
  PdiRecord record;
  TRY(view.inside(at, kPdiBytes, "PDI record"));
  std::copy_n(view.at(at), record.uuid.size(), record.uuid.begin());
  TRY_ASSIGN(auto image, view.array(at + kPdiImage, 1, 0, "PDI image"));
  record.image = view.data().subspan(image.second, image.first);
  TRY_ASSIGN(auto groups, view.array(at + kPdiGroups, kGroupBytes, kMaxGroups, "CDO groups"));
  for (u64 i = 0; i < groups.first; ++i) {
    TRY_ASSIGN(CdoGroup group, read_group(view, groups.second + i * kGroupBytes));
    record.groups.push_back(std::move(group));
  }
  return record;
}

// Sections that are an i32 count, an optional pad and that many records: the place of record i is first + i *
// size.
Result<u64> record_count(const View& view, u64 first, u64 size) {
  TRY_ASSIGN(u64 count, view.get<u32>(0, "count"));
  if (count > kMaxList) {
    return fail(Code::kCorrupt,
                fmt::format("xclbin: a section says {} records, at most {} make sense; the file is damaged",
                            count, kMaxList));
  }
  TRY(view.inside(first, count * size, "records"));
  return count;
}

Result<std::vector<IpRecord>> read_ips(ByteSpan data) {
  View view(data, "section IP_LAYOUT");
  TRY_ASSIGN(u64 count, record_count(view, 8, kIpBytes));
  std::vector<IpRecord> out;
  for (u64 i = 0; i < count; ++i) {
    const u8* at = view.at(8 + i * kIpBytes);
    out.push_back({load_le<u32>(at), load_le<u16>(at + 4), load_le<u16>(at + 6), load_le<u64>(at + 8),
                   fixed_text(at + 16, 64)});
  }
  return out;
}

Result<std::vector<MemRecord>> read_memories(ByteSpan data) {
  View view(data, "section MEM_TOPOLOGY");
  TRY_ASSIGN(u64 count, record_count(view, 8, kMemBytes));
  std::vector<MemRecord> out;
  for (u64 i = 0; i < count; ++i) {
    const u8* at = view.at(8 + i * kMemBytes);
    out.push_back({at[0], at[1], load_le<u64>(at + 8), load_le<u64>(at + 16), fixed_text(at + 24, 16)});
  }
  return out;
}

Result<std::vector<Connection>> read_connections(ByteSpan data) {
  View view(data, "section CONNECTIVITY");
  TRY_ASSIGN(u64 count, record_count(view, 4, kConnectionBytes));
  std::vector<Connection> out;
  for (u64 i = 0; i < count; ++i) {
    const u8* at = view.at(4 + i * kConnectionBytes);
    out.push_back({load_le<i32>(at), load_le<i32>(at + 4), load_le<i32>(at + 8)});
  }
  return out;
}

// Section headers with their bounds; `view` is the file up to its stated length.
Result<void> read_sections(const View& view, Xclbin& out) {
  u64 count = load_le<u32>(view.at(kSectionCount));
  if (count > kMaxSections) {
    return fail(Code::kCorrupt, fmt::format("xclbin: {} sections, at most {} make sense; the file is damaged",
                                            count, kMaxSections));
  }
  u64 headers_end = kSectionHeaders + count * kSectionHeaderBytes;
  TRY(view.inside(kSectionHeaders, count * kSectionHeaderBytes, "section headers"));
  for (u64 i = 0; i < count; ++i) {
    const u8* at = view.at(kSectionHeaders + i * kSectionHeaderBytes);
    XclbinSection section{load_le<u32>(at), fixed_text(at + 4, 16), load_le<u64>(at + 24), {}};
    u64 size = load_le<u64>(at + 32);
    TRY(view.inside(section.offset, size, xclbin_kind_name(section.kind)));
    if (size != 0 && section.offset < headers_end) {
      return fail(Code::kCorrupt,
                  fmt::format("xclbin: section {} at 0x{:X} overlaps the headers, which end at 0x{:X}",
                              xclbin_kind_name(section.kind), section.offset, headers_end));
    }
    section.data = view.data().subspan(section.offset, size);
    out.sections.push_back(std::move(section));
  }
  return {};
}

Result<void> check_overlap(const std::vector<XclbinSection>& sections) {
  std::vector<const XclbinSection*> order;
  for (const XclbinSection& section : sections) {
    if (!section.data.empty()) order.push_back(&section);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  for (u64 i = 1; i < order.size(); ++i) {
    const XclbinSection& before = *order[i - 1];
    u64 end = before.offset + before.data.size();
    if (order[i]->offset >= end) continue;
    return fail(
        Code::kCorrupt,
        fmt::format("xclbin: section {} at 0x{:X} overlaps section {}, which ends at 0x{:X}; the "
                    "file is damaged",
                    xclbin_kind_name(order[i]->kind), order[i]->offset, xclbin_kind_name(before.kind), end));
  }
  return {};
}

Result<void> read_contents(Xclbin& out) {
  if (const XclbinSection* section = out.find(XclbinKind::kAiePartition)) {
    TRY_ASSIGN(out.partition, read_aie_partition(section->data));
  }
  if (const XclbinSection* section = out.find(XclbinKind::kIpLayout)) {
    TRY_ASSIGN(out.ips, read_ips(section->data));
  }
  if (const XclbinSection* section = out.find(XclbinKind::kMemTopology)) {
    TRY_ASSIGN(out.memories, read_memories(section->data));
  }
  if (const XclbinSection* section = out.find(XclbinKind::kConnectivity)) {
    TRY_ASSIGN(out.connections, read_connections(section->data));
  }
  if (const XclbinSection* section = out.find(XclbinKind::kEmbeddedMetadata)) {
    out.metadata.assign(section->data.begin(), section->data.end());
  }
  return {};
}

}  // namespace

const char* xclbin_kind_name(u32 kind) {
  switch (static_cast<XclbinKind>(kind)) {
    case XclbinKind::kEmbeddedMetadata:
      return "EMBEDDED_METADATA";
    case XclbinKind::kMemTopology:
      return "MEM_TOPOLOGY";
    case XclbinKind::kConnectivity:
      return "CONNECTIVITY";
    case XclbinKind::kIpLayout:
      return "IP_LAYOUT";
    case XclbinKind::kGroupTopology:
      return "GROUP_TOPOLOGY";
    case XclbinKind::kGroupConnectivity:
      return "GROUP_CONNECTIVITY";
    case XclbinKind::kAiePartition:
      return "AIE_PARTITION";
  }
  return "of another kind";
}

const XclbinSection* Xclbin::find(XclbinKind kind) const {
  for (const XclbinSection& section : sections) {
    if (section.kind == static_cast<u32>(kind)) return &section;
  }
  return nullptr;
}

Result<AiePartition> read_aie_partition(ByteSpan bytes) {
  View view(bytes, "section AIE_PARTITION");
  AiePartition partition;
  TRY(view.inside(0, kPartitionHeader, "header"));
  if (bytes[0] != 0) {
    return fail(Code::kUnsupported,
                fmt::format("xclbin: AIE_PARTITION has schema version {}, expected 0", bytes[0]));
  }
  partition.operations_per_cycle = load_le<u32>(view.at(kPartitionOperations));
  partition.inference_fingerprint = load_le<u64>(view.at(kPartitionInference));
  partition.pre_post_fingerprint = load_le<u64>(view.at(kPartitionPrePost));
  partition.column_width = load_le<u16>(view.at(kPartitionWidth));
  TRY_ASSIGN(partition.start_columns, view.list<u16>(kPartitionStarts, "start columns"));
  TRY_ASSIGN(auto pdis, view.array(kPartitionPdis, kPdiBytes, kMaxPdis, "PDI records"));
  for (u64 i = 0; i < pdis.first; ++i) {
    TRY_ASSIGN(PdiRecord record, read_pdi_record(view, pdis.second + i * kPdiBytes));
    partition.pdis.push_back(std::move(record));
  }
  return partition;
}

Result<Xclbin> read_xclbin(ByteSpan bytes) {
  if (bytes.size() < kMagic.size() || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin())) {
    return fail(Code::kCorrupt, "xclbin: does not start with \"xclbin2\"; this is not an xclbin file");
  }
  if (bytes.size() < kSectionHeaders) {
    return fail(Code::kCorrupt, fmt::format("xclbin: {} bytes, the header needs {}; the file is truncated",
                                            bytes.size(), kSectionHeaders));
  }
  u64 length = load_le<u64>(bytes.data() + kFileLength);
  if (length < kSectionHeaders || length > bytes.size()) {
    return fail(Code::kCorrupt,
                fmt::format("xclbin: the header says {} bytes, {} are there; the file is truncated or "
                            "damaged",
                            length, bytes.size()));
  }
  View view(bytes.subspan(0, length), "the file");
  Xclbin out;
  out.unique_id = load_le<u64>(view.at(kUniqueId));
  out.time_stamp = load_le<u64>(view.at(kTimeStamp));
  out.version_patch = load_le<u16>(view.at(kVersion));
  out.version_major = *view.at(kVersion + 2);
  out.version_minor = *view.at(kVersion + 3);
  std::copy_n(view.at(kUuid), out.uuid.size(), out.uuid.begin());
  TRY(read_sections(view, out));
  TRY(check_overlap(out.sections));
  TRY(read_contents(out));
  return out;
}

Result<ByteSpan> find_pdi(const Xclbin& xclbin) {
  const std::vector<PdiRecord>& pdis = xclbin.partition.pdis;
  if (pdis.empty())
    return fail(Code::kNotFound, "xclbin: has no PDI; expected section AIE_PARTITION with one");
  if (pdis.size() > 1) {
    return fail(Code::kUnsupported, fmt::format("xclbin: has {} PDIs, expected one", pdis.size()));
  }
  return pdis[0].image;
}

}  // namespace tegula::format
