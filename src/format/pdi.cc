// PDI (programmable device image): reader and writer. Layout: docs/formats/pdi-cdo.md; names follow the
// Versal boot image (image header table, image header, partition header). Offsets in the headers count 32-bit
// words.
#include "format/pdi.h"

#include <fmt/core.h>

namespace tegula::format {
namespace {

constexpr u64 kTable = 0x10;           // image header table
constexpr u64 kTableSum = 0x8C;        // checksum over the words from kTable to here
constexpr u64 kImage = 0x90;           // image header
constexpr u64 kImageBytes = 0x40;      // checksum in the last word
constexpr u64 kPartition = 0xD0;       // partition header
constexpr u64 kPartitionBytes = 0x80;  // checksum in the last word
constexpr u64 kData = 0x150;
constexpr u32 kMark = 0x50504449;  // "IDPP"
constexpr u32 kTableVersion = 0x00040000;
constexpr u32 kPartitionAttributes = 0x02000006;

u32 word_at(ByteSpan bytes, u64 offset) {
  return load_le<u32>(bytes.data() + offset);
}

// NOT of the sum of the words in [first, last).
u32 checksum(ByteSpan bytes, u64 first, u64 last) {
  u32 sum = 0;
  for (u64 at = first; at < last; at += 4) sum += word_at(bytes, at);
  return ~sum;
}

Result<void> check_sum(ByteSpan bytes, u64 first, u64 last, const char* what) {
  u32 expected = checksum(bytes, first, last);
  u32 found = word_at(bytes, last);
  if (found == expected) return {};
  return fail(Code::kCorrupt,
              fmt::format("PDI: checksum of the {} at 0x{:X} is 0x{:08X}, expected 0x{:08X}; the file "
                          "is damaged",
                          what, last, found, expected));
}

// Byte place of a header given in words, which must lie inside the file.
Result<u64> header_place(ByteSpan bytes, u64 field, u64 size, const char* what) {
  u64 place = static_cast<u64>(word_at(bytes, field)) * 4;
  if (place + size <= bytes.size()) return place;
  return fail(Code::kCorrupt,
              fmt::format("PDI: {} at 0x{:X} needs {} bytes, the file has {}; it is truncated or damaged",
                          what, place, size, bytes.size()));
}

Result<void> expect(ByteSpan bytes, u64 offset, u32 expected, Code code, const char* what) {
  u32 found = word_at(bytes, offset);
  if (found == expected) return {};
  return fail(code,
              fmt::format("PDI: {} at 0x{:X} is 0x{:X}, expected 0x{:X}", what, offset, found, expected));
}

// The CDO bytes that the partition header describes.
Result<ByteSpan> partition_data(ByteSpan bytes, u64 place) {
  u64 plain = word_at(bytes, place + 4);
  u64 total = word_at(bytes, place + 8);
  u64 offset = static_cast<u64>(word_at(bytes, place + 0x20)) * 4;
  if (plain > total) {
    return fail(Code::kCorrupt,
                fmt::format("PDI: partition has {} plain words in {} words altogether; the header is "
                            "damaged",
                            plain, total));
  }
  if (offset > bytes.size() || total * 4 > bytes.size() - offset) {
    return fail(Code::kCorrupt,
                fmt::format("PDI: partition of {} bytes at 0x{:X} reaches past the end ({} bytes); the "
                            "file is truncated",
                            total * 4, offset, bytes.size()));
  }
  return bytes.subspan(offset, plain * 4);
}

}  // namespace

Result<Pdi> read_pdi(ByteSpan bytes) {
  if (bytes.size() < kImage) {
    return fail(Code::kCorrupt, fmt::format("PDI: {} bytes, the headers need {}; the file is truncated",
                                            bytes.size(), kData));
  }
  TRY(expect(bytes, 0x38, kMark, Code::kCorrupt, "mark"));
  TRY(expect(bytes, kTable, kTableVersion, Code::kUnsupported, "header version"));
  TRY(check_sum(bytes, kTable, kTableSum, "image header table"));
  TRY(expect(bytes, 0x14, 1, Code::kUnsupported, "number of images"));
  TRY(expect(bytes, 0x1C, 1, Code::kUnsupported, "number of partitions"));
  TRY_ASSIGN(u64 image, header_place(bytes, 0x18, kImageBytes, "image header"));
  TRY(check_sum(bytes, image, image + kImageBytes - 4, "image header"));
  TRY_ASSIGN(u64 partition, header_place(bytes, 0x20, kPartitionBytes, "partition header"));
  TRY(check_sum(bytes, partition, partition + kPartitionBytes - 4, "partition header"));

  Pdi pdi;
  pdi.header = {word_at(bytes, 0x28), word_at(bytes, image + 0x08), word_at(bytes, image + 0x38)};
  TRY_ASSIGN(pdi.cdo, partition_data(bytes, partition));
  TRY_ASSIGN(pdi.commands, read_cdo(pdi.cdo));
  return pdi;
}

Bytes write_pdi(std::span<const CdoCommand> commands, const PdiHeader& header) {
  Bytes cdo = write_cdo(commands);
  ByteWriter out;
  out.zeros(kData);
  auto set = [&out](u64 offset, u32 value) { out.patch<u32>(offset, value); };

  set(0x00, 0x000000DD);  // bus width detection
  set(0x04, 0x11223344);
  set(0x08, 0x55667788);
  set(0x0C, 0x99AABBCC);

  set(0x10, kTableVersion);
  set(0x14, 1);  // images
  set(0x18, kImage / 4);
  set(0x1C, 1);  // partitions
  set(0x20, kPartition / 4);
  set(0x28, header.id_code);
  set(0x38, kMark);
  set(0x3C, 0x00201020);  // header sizes in words: table 0x20, image 0x10, partition 0x20
  set(0x40, 0x30);        // words from the table to the end of the partition headers
  set(0x54, 1);

  set(0x90, kPartition / 4);
  set(0x94, 1);  // partitions in this image
  set(0x98, header.image_word_98);
  const char name[] = "aie_image";
  for (u64 i = 0; i < sizeof(name); ++i) out.patch<char>(0xA0 + i, name[i]);
  set(0xB0, 0x1C000000);  // image id
  set(0xC8, header.image_word_c8);

  u32 plain = static_cast<u32>(cdo.size() / 4);
  u32 total = (plain + 3) / 4 * 4;
  set(0xD0, total);
  set(0xD4, plain);
  set(0xD8, total);
  set(0xE8, 0xFFFFFFFF);  // load address: none
  set(0xEC, 0xFFFFFFFF);
  set(0xF0, kData / 4);
  set(0xF4, kPartitionAttributes);
  set(0xF8, 1);  // sections

  set(kTableSum, checksum(out.data(), kTable, kTableSum));
  set(0xCC, checksum(out.data(), kImage, 0xCC));
  set(0x14C, checksum(out.data(), kPartition, 0x14C));
  out.bytes(cdo);
  out.zeros(static_cast<u64>(total - plain) * 4);
  return out.take();
}

}  // namespace tegula::format
