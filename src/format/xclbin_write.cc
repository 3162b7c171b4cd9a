// xclbin writer: the seven sections of the public NPU files in their order. Layout: docs/formats/xclbin.md.
// The same content gives the same bytes: ids that other tools draw at random come from SHA-256 here.
#include <fmt/core.h>
#include <openssl/sha.h>

#include <algorithm>

#include "format/xclbin.h"
#include "format/xclbin_layout.h"

namespace tegula::format {
namespace {

using namespace xclbin_layout;

struct Section {
  XclbinKind kind;
  const char* name;
  Bytes data;
};

void fixed_text(ByteWriter& out, std::string_view text, u64 size) {
  text = text.substr(0, std::min<u64>(text.size(), size - 1));
  out.text(text);
  out.zeros(size - text.size());
}

void array_at(ByteWriter& out, u64 at, u64 count, u64 place) {
  out.patch<u32>(at, static_cast<u32>(count));
  out.patch<u32>(at + 4, static_cast<u32>(place));
}

Bytes mem_topology() {
  ByteWriter out;
  out.write<u64>(2);
  auto record = [&out](std::string_view tag, u64 kib) {
    out.write<u8>(2);  // DRAM
    out.write<u8>(1);  // used
    out.zeros(6);
    out.write<u64>(kib);
    out.write<u64>(0x4000000);
    fixed_text(out, tag, 16);
  };
  record("HOST", 65536);
  record("SRAM", 49152);
  return out.take();
}

// Instruction buffer (argument 1) in SRAM, data buffers (arguments 3 to 7) in HOST; `times` over.
Bytes connectivity(int times) {
  constexpr i32 kMap[][2] = {{1, 1}, {3, 0}, {4, 0}, {5, 0}, {6, 0}, {7, 0}};
  ByteWriter out;
  out.write<i32>(times * static_cast<i32>(std::size(kMap)));
  for (int i = 0; i < times; ++i) {
    for (const auto& [argument, memory] : kMap) {
      out.write<i32>(argument);
      out.write<i32>(0);
      out.write<i32>(memory);
    }
  }
  return out.take();
}

Bytes ip_layout(const XclbinContent& content) {
  ByteWriter out;
  out.write<u64>(1);
  out.write<u32>(7);  // PS kernel
  out.write<u16>(1);  // subtype DPU, functional 0
  out.write<u16>(content.kernel_id);
  out.write<u64>(~0ull);
  fixed_text(out, content.kernel_name + ":" + content.instance_name, 64);
  return out.take();
}

Bytes metadata(const XclbinContent& content) {
  struct Argument {
    const char* name;
    int qualifier;  // 0 scalar, 1 buffer
    int size;
    int offset;
    const char* type;
  };
  constexpr Argument kArguments[] = {{"opcode", 0, 8, 0x00, "uint64_t"}, {"instr", 1, 8, 0x08, "char *"},
                                     {"ninstr", 0, 4, 0x10, "uint32_t"}, {"bo0", 1, 8, 0x14, "void*"},
                                     {"bo1", 1, 8, 0x1C, "void*"},       {"bo2", 1, 8, 0x24, "void*"},
                                     {"bo3", 1, 8, 0x2C, "void*"},       {"bo4", 1, 8, 0x34, "void*"}};
  std::string xml = fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<project>\n  <platform>\n    <device>\n      <core>\n"
      "        <kernel name=\"{}\" language=\"c\" type=\"dpu\">\n"
      "          <extended-data dpu_kernel_id=\"0x{:x}\" functional=\"0\" subtype=\"1\"/>\n",
      content.kernel_name, content.kernel_id);
  int id = 0;
  for (const Argument& a : kArguments) {
    xml += fmt::format(
        "          <arg name=\"{}\" addressQualifier=\"{}\" id=\"{}\" size=\"0x{:x}\" offset=\"0x{:02X}\" "
        "hostOffset=\"0x0\" hostSize=\"0x{:x}\" type=\"{}\"/>\n",
        a.name, a.qualifier, id++, a.size, a.offset, a.size, a.type);
  }
  xml += fmt::format(
      "          <instance name=\"{}\"/>\n        </kernel>\n      </core>\n    </device>\n  </platform>\n"
      "</project>\n",
      content.instance_name);
  return {xml.begin(), xml.end()};
}

Bytes aie_partition(const XclbinContent& content, const Uuid& pdi_uuid) {
  ByteWriter out;
  out.zeros(kPartitionHeader);
  out.patch<u32>(kPartitionName, static_cast<u32>(out.size()));
  out.zeros(8);  // empty name
  out.patch<u32>(kPartitionCommit, static_cast<u32>(out.size()));
  out.zeros(8);  // empty commit string
  out.patch<u32>(kPartitionOperations, 2048);
  out.patch<u64>(kPartitionInference, 23423);
  out.patch<u64>(kPartitionPrePost, 12345);
  out.patch<u16>(kPartitionWidth, content.column_width);
  array_at(out, kPartitionStarts, content.start_columns.size(), out.size());
  for (u16 column : content.start_columns) out.write<u16>(column);
  out.align(8);
  u64 image = out.size();
  out.bytes(content.pdi);
  out.align(8);
  u64 name = out.size();
  fixed_text(out, "DPU", 8);
  u64 kernels = out.size();
  out.write<u64>(content.kernel_id);
  u64 pre_groups = out.size();
  out.write<u64>(0xC1);  // one u32 and padding
  u64 group = out.size();
  out.zeros(kGroupBytes);
  out.patch<u32>(group, static_cast<u32>(name));
  out.patch<u8>(group + kGroupType, 1);  // primary
  out.patch<u64>(group + kGroupPdiId, 1);
  array_at(out, group + kGroupKernels, 1, kernels);
  array_at(out, group + kGroupPreGroups, 1, pre_groups);
  u64 record = out.size();
  out.zeros(kPdiBytes);
  out.patch<Uuid>(record, pdi_uuid);
  array_at(out, record + kPdiImage, content.pdi.size(), image);
  array_at(out, record + kPdiGroups, 1, group);
  array_at(out, kPartitionPdis, 1, record);
  return out.take();
}

// Version 4 form, as random ids have it.
Uuid uuid_from(const u8* digest) {
  Uuid uuid;
  std::copy_n(digest, uuid.size(), uuid.begin());
  uuid[6] = (uuid[6] & 0x0F) | 0x40;
  uuid[8] = (uuid[8] & 0x3F) | 0x80;
  return uuid;
}

std::array<u8, SHA256_DIGEST_LENGTH> sha256(ByteSpan bytes) {
  std::array<u8, SHA256_DIGEST_LENGTH> digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

Bytes assemble(const std::vector<Section>& sections, const XclbinContent& content) {
  ByteWriter out;
  out.text(kMagic);
  out.write<i32>(-1);  // unsigned
  for (int i = 0; i < 28 + 256; ++i) out.write<u8>(0xFF);
  out.zeros(kSectionHeaders - out.size());
  out.patch<u16>(kVersion, content.version_patch);
  out.patch<u8>(kVersion + 2, content.version_major);
  out.patch<u8>(kVersion + 3, content.version_minor);
  out.patch<u32>(kSectionCount, static_cast<u32>(sections.size()));
  out.zeros(sections.size() * kSectionHeaderBytes);
  for (u64 i = 0; i < sections.size(); ++i) {
    out.align(8);
    u64 header = kSectionHeaders + i * kSectionHeaderBytes;
    out.patch<u32>(header, static_cast<u32>(sections[i].kind));
    for (u64 c = 0; sections[i].name[c] != 0; ++c) out.patch<char>(header + 4 + c, sections[i].name[c]);
    out.patch<u64>(header + 24, out.size());
    out.patch<u64>(header + 32, sections[i].data.size());
    out.bytes(sections[i].data);
  }
  out.patch<u64>(kFileLength, out.size());
  return out.take();
}

}  // namespace

Bytes write_xclbin(const XclbinContent& content) {
  Uuid pdi_uuid = content.pdi_uuid.value_or(uuid_from(sha256(content.pdi).data()));
  std::vector<Section> sections = {
      {XclbinKind::kMemTopology, "mem_topology", mem_topology()},
      {XclbinKind::kAiePartition, "aie_partition", aie_partition(content, pdi_uuid)},
      {XclbinKind::kEmbeddedMetadata, "", metadata(content)},
      {XclbinKind::kIpLayout, "", ip_layout(content)},
      {XclbinKind::kConnectivity, "", connectivity(1)},
      {XclbinKind::kGroupConnectivity, "", connectivity(2)},
      {XclbinKind::kGroupTopology, "", mem_topology()},
  };
  Bytes file = assemble(sections, content);
  auto digest = sha256(file);
  Uuid uuid = content.uuid.value_or(uuid_from(digest.data()));
  // Below 2^31, so that a reader that shows it as Unix seconds shows a date.
  u64 time_stamp = content.time_stamp.value_or(load_le<u32>(digest.data() + 16) & 0x7FFFFFFF);
  store_le<u64>(file.data() + kUniqueId, time_stamp);
  store_le<u64>(file.data() + kTimeStamp, time_stamp);
  store_le<Uuid>(file.data() + kUuid, uuid);
  return file;
}

}  // namespace tegula::format
