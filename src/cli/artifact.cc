#include "cli/artifact.h"

#include <cstring>
#include <map>

#include "format/pdi.h"
#include "format/txn.h"
#include "format/xclbin.h"

namespace tegula::cli {
namespace {

constexpr u32 kPdiMark = 0x11223344;  // second word of the bus-width pattern
constexpr u32 kCdoMark = 0x004F4443;  // second word of a CDO

bool starts_with(ByteSpan bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

u32 word(ByteSpan bytes, u64 index) { return bytes.size() >= 4 * index + 4 ? load_le<u32>(bytes.data() + 4 * index) : 0; }

// Writes `size` bytes at program address `at`; what lies outside program memory is dropped.
void put(Bytes& code, u32 at, const void* data, u64 size) {
  if (at >= arch::kCoreProgramBytes) return;
  size = std::min<u64>(size, arch::kCoreProgramBytes - at);
  if (code.size() < at + size) code.resize(at + size, 0);
  std::memcpy(code.data() + at, data, size);
}

}  // namespace

std::string_view artifact_name(ArtifactKind kind) {
  switch (kind) {
    case ArtifactKind::kXclbin: return "xclbin";
    case ArtifactKind::kPdi: return "PDI";
    case ArtifactKind::kCdo: return "CDO";
    case ArtifactKind::kStream: return "instruction stream";
    case ArtifactKind::kGguf: return "GGUF";
    case ArtifactKind::kSafetensors: return "safetensors";
    case ArtifactKind::kUnknown: break;
  }
  return "unknown";
}

ArtifactKind detect_artifact(ByteSpan bytes) {
  if (starts_with(bytes, "xclbin2")) return ArtifactKind::kXclbin;
  if (starts_with(bytes, "GGUF")) return ArtifactKind::kGguf;
  if (word(bytes, 1) == kPdiMark) return ArtifactKind::kPdi;
  if (word(bytes, 1) == kCdoMark) return ArtifactKind::kCdo;
  if (bytes.size() > 9 && bytes[8] == '{' && load_le<u64>(bytes.data()) <= bytes.size() - 8) return ArtifactKind::kSafetensors;
  // The first words of a stream may be damaged, but its size word counts all bytes.
  if (bytes.size() >= format::kTxnHeaderBytes && word(bytes, 3) == bytes.size()) return ArtifactKind::kStream;
  return ArtifactKind::kUnknown;
}

Result<std::vector<format::CdoCommand>> array_commands(ByteSpan bytes) {
  const ArtifactKind kind = detect_artifact(bytes);
  if (kind == ArtifactKind::kCdo) return format::read_cdo(bytes);
  ByteSpan image = bytes;
  if (kind == ArtifactKind::kXclbin) {
    TRY_ASSIGN(const format::Xclbin xclbin, format::read_xclbin(bytes));
    TRY_ASSIGN(image, format::find_pdi(xclbin));
  } else if (kind != ArtifactKind::kPdi) {
    return fail(Code::kUnsupported, "is no array configuration (found: " + std::string(artifact_name(kind)) +
                                        "; expected an xclbin, a PDI or a CDO)");
  }
  TRY_ASSIGN(format::Pdi pdi, format::read_pdi(image));
  return std::move(pdi.commands);
}

std::vector<TileProgram> core_programs(const std::vector<format::CdoCommand>& commands) {
  std::map<arch::Tile, Bytes> programs;
  for (const format::CdoCommand& command : commands) {
    const arch::Location at = arch::locate(command.address);
    if (!at.valid() || at.tile().kind() != arch::TileKind::kCore) continue;
    if (at.offset < arch::kCoreProgramOffset || at.offset >= arch::kCoreProgramOffset + arch::kCoreProgramBytes) continue;
    Bytes& code = programs[at.tile()];
    const u32 place = at.offset - arch::kCoreProgramOffset;
    if (command.kind == format::CdoKind::kBlockWrite) put(code, place, command.words.data(), command.words.size() * 4);
    if (command.kind == format::CdoKind::kWrite) put(code, place, &command.value, 4);
  }
  std::vector<TileProgram> out;
  for (auto& [tile, code] : programs) out.push_back({tile, std::move(code)});
  return out;
}

}  // namespace tegula::cli
