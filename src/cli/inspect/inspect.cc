#include "cli/inspect/inspect.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "cli/inspect/tokenizer_facts.h"
#include "format/ggml_type.h"
#include "format/gguf.h"
#include "format/safetensors.h"

namespace tegula::cli {
namespace {

using format::FileKind;

// One Q4NX tile: 32 x 256 values of 4 bits with 256 scales and 256 minima in bf16
// (docs/formats/safetensors.md).
constexpr u64 kQ4nxTileBytes = 5120;

void note(Artifact& artifact, const Error& error) {
  artifact.problems.push_back(error);
}

void add_pdi(Artifact& artifact, ByteSpan image, std::string name) {
  const Result<format::Pdi> pdi = format::read_pdi(image);
  if (!pdi.ok()) return note(artifact, pdi.error());
  artifact.pdis.push_back({image.size(), pdi->header});
  artifact.arrays.push_back(array_facts(pdi->commands));
  artifact.arrays.back().name = std::move(name);
}

void add_partition(Artifact& artifact) {
  const std::vector<format::PdiRecord>& pdis = artifact.partition->pdis;
  for (size_t i = 0; i < pdis.size(); ++i) {
    // Records may share one image; it is read once, so that a small file cannot ask for much work.
    const bool again =
        std::any_of(pdis.begin(), pdis.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const auto& known) { return known.image.data() == pdis[i].image.data(); });
    if (!again) add_pdi(artifact, pdis[i].image, pdis.size() == 1 ? "PDI" : "PDI " + std::to_string(i));
  }
}

Result<void> read_container(Artifact& artifact) {
  if (artifact.kind == FileKind::kXclbin) {
    TRY_ASSIGN(artifact.xclbin, format::read_xclbin(artifact.bytes));
    if (artifact.xclbin->find(format::XclbinKind::kAiePartition) != nullptr)
      artifact.partition = artifact.xclbin->partition;
  } else {
    TRY_ASSIGN(artifact.partition, format::read_aie_partition(artifact.bytes));
  }
  if (artifact.partition) add_partition(artifact);
  return {};
}

Result<void> read_configuration(Artifact& artifact) {
  if (artifact.kind == FileKind::kPdi) {
    TRY_ASSIGN(const format::Pdi pdi, format::read_pdi(artifact.bytes));
    artifact.pdis.push_back({artifact.bytes.size(), pdi.header});
    artifact.arrays.push_back(array_facts(pdi.commands));
    artifact.arrays.back().name = "PDI";
    return {};
  }
  TRY_ASSIGN(const std::vector<format::CdoCommand> commands, format::read_cdo(artifact.bytes));
  artifact.arrays.push_back(array_facts(commands));
  artifact.arrays.back().name = "CDO";
  return {};
}

Result<void> add_stream(Artifact& artifact, ByteSpan bytes, std::string name) {
  TRY_ASSIGN(format::TxnStream stream, format::read_txn(bytes));
  artifact.streams.push_back(stream_facts(std::move(stream), bytes.size()));
  artifact.streams.back().name = std::move(name);
  return {};
}

const char* scheme_name(u32 type) {
  constexpr std::array<const char*, 9> kNames = {"?",
                                                 "remote pointer",
                                                 "shim BD, 57 bits",
                                                 "scalar",
                                                 "control packet, 48 bits",
                                                 "shim BD, 48 bits",
                                                 "?",
                                                 "?",
                                                 "address, 64 bits"};
  return type < kNames.size() ? kNames[type] : "?";
}

// The section whose bytes the table changes: sh_info where it is set; one table for all of them otherwise
// names none.
std::string patched_section(const format::Elf& elf, const format::ElfSection& table) {
  if (table.info != 0 && table.info < elf.sections.size()) return std::string(elf.sections[table.info].name);
  return elf.find(".ctrltext") != nullptr ? ".ctrltext" : "";
}

void add_patches(Artifact& artifact, ElfFacts& facts) {
  for (const format::ElfSection& section : facts.elf.sections) {
    if (section.type != format::kElfSectionRela) continue;
    const auto relocations = format::elf_relocations(facts.elf, section);
    if (!relocations.ok()) {
      note(artifact, relocations.error());
      continue;
    }
    std::vector<format::ElfSymbol> symbols;
    if (section.link < facts.elf.sections.size()) {
      auto table = format::elf_symbols(facts.elf, facts.elf.sections[section.link]);
      if (table.ok()) symbols = std::move(*table);
    }
    for (const format::ElfRelocation& relocation : *relocations) {
      std::string name = "?";
      if (relocation.symbol < symbols.size()) name = std::string(symbols[relocation.symbol].name);
      facts.patches.push_back(
          {patched_section(facts.elf, section), relocation, name, scheme_name(relocation.type)});
    }
  }
}

// Executable segments of a core program, laid out as in program memory.
Bytes program_of(const format::Elf& elf) {
  std::vector<MemoryPiece> pieces;
  for (const format::ElfSegment& segment : elf.segments) {
    if (segment.type != format::kElfSegmentLoad || (segment.flags & 1) == 0) continue;
    if (segment.address >= arch::kCoreProgramBytes) continue;
    const u64 size = std::min<u64>(segment.data.size(), arch::kCoreProgramBytes - segment.address);
    pieces.push_back({static_cast<u32>(segment.address),
                      Bytes(segment.data.begin(), segment.data.begin() + static_cast<std::ptrdiff_t>(size))});
  }
  std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  Bytes image;
  for (const MemoryPiece& piece : pieces) {
    if (image.size() < piece.offset + piece.bytes.size()) image.resize(piece.offset + piece.bytes.size(), 0);
    std::copy(piece.bytes.begin(), piece.bytes.end(), image.begin() + piece.offset);
  }
  return image;
}

Result<void> read_elf_file(Artifact& artifact) {
  ElfFacts facts;
  TRY_ASSIGN(facts.elf, format::read_elf(artifact.bytes));
  const bool control = facts.elf.find(".ctrltext") != nullptr || facts.elf.os_abi == format::kElfOsAbiControl;
  facts.use = control                                       ? "control code"
              : facts.elf.machine == format::kElfMachineAie ? "core program"
                                                            : "object";
  bool symbols_done = false;
  for (const format::ElfSection& section : facts.elf.sections) {
    const bool table =
        section.type == format::kElfSectionSymbols || section.type == format::kElfSectionDynamicSymbols;
    if (table && !symbols_done) {
      auto symbols = format::elf_symbols(facts.elf, section);
      if (symbols.ok()) facts.symbols = std::move(*symbols);
      if (!symbols.ok()) note(artifact, symbols.error());
      symbols_done = true;
    }
    // Control code has its streams in named sections; others may carry one in a section of any name.
    const bool named =
        section.name == ".ctrltext" || section.name == ".preempt_save" || section.name == ".preempt_restore";
    if (section.data.size() < format::kTxnHeaderBytes || !(named || section.name == ".text")) continue;
    const Result<void> read = add_stream(artifact, section.data, std::string(section.name));
    if (!read.ok() && named) note(artifact, read.error());
  }
  add_patches(artifact, facts);
  if (facts.use == "core program") facts.program = program_of(facts.elf);
  if (const format::ElfSection* pdi = facts.elf.find(".pdi"); pdi != nullptr && !pdi->data.empty())
    add_pdi(artifact, pdi->data, ".pdi");
  artifact.elf = std::move(facts);
  return {};
}

std::string scalar_text(const format::GgufScalar& scalar) {
  return std::visit(
      [](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>)
          return value ? "true" : "false";
        else if constexpr (std::is_convertible_v<T, std::string_view>)
          return std::string(std::string_view(value).substr(0, 200));
        else
          return fmt::format("{}", value);
      },
      scalar);
}

Result<void> read_gguf_file(Artifact& artifact) {
  TRY_ASSIGN(const format::Gguf gguf, format::read_gguf(artifact.bytes));
  ModelFacts facts;
  facts.version = std::to_string(gguf.version);
  for (const format::GgufEntry& entry : gguf.metadata) {
    const auto* scalar = std::get_if<format::GgufScalar>(&entry.value.value);
    facts.metadata.push_back(
        {std::string(entry.key),
         scalar != nullptr
             ? scalar_text(*scalar)
             : fmt::format("{} elements", std::get<format::GgufArray>(entry.value.value).count)});
  }
  for (const format::GgufTensor& tensor : gguf.tensors) {
    const u64 offset = static_cast<u64>(tensor.data.data() - artifact.bytes.data());
    facts.tensors.push_back(
        {std::string(tensor.name), format::ggml_type_name(tensor.type), {}, {}, offset, tensor.data});
    facts.tensors.back().shape.assign(tensor.dims.begin(), tensor.dims.end());
  }
  artifact.model = std::move(facts);
  return {};
}

Result<void> read_safetensors_file(Artifact& artifact) {
  TRY_ASSIGN(const format::Safetensors file, format::read_safetensors(artifact.bytes));
  ModelFacts facts;
  for (const auto& [key, value] : file.metadata) facts.metadata.push_back({key, value.substr(0, 200)});
  for (const format::SafetensorsTensor& tensor : file.tensors) {
    TensorFacts out{tensor.name, format::safetensors_type_name(tensor.type), {}, tensor.shape, 0,
                    tensor.data};
    if (!tensor.data.empty()) out.offset = static_cast<u64>(tensor.data.data() - artifact.bytes.data());
    const bool bytes =
        tensor.type == format::SafetensorsType::kI8 || tensor.type == format::SafetensorsType::kU8;
    if (bytes && !tensor.shape.empty() && tensor.shape.back() == kQ4nxTileBytes) {
      out.meaning = fmt::format("Q4NX, {} tiles of 32 x 256", tensor.elements / kQ4nxTileBytes);
      ++facts.q4nx;
    }
    facts.tensors.push_back(std::move(out));
  }
  artifact.model = std::move(facts);
  return {};
}

Result<void> read_tokenizer_file(Artifact& artifact) {
  TRY_ASSIGN(artifact.tokenizer, tokenizer_facts(artifact.bytes));
  return {};
}

Result<void> read_kind(Artifact& artifact) {
  switch (artifact.kind) {
    case FileKind::kXclbin:
    case FileKind::kAiePartition:
      return read_container(artifact);
    case FileKind::kPdi:
    case FileKind::kCdo:
      return read_configuration(artifact);
    case FileKind::kTxn:
      return add_stream(artifact, artifact.bytes, "stream");
    case FileKind::kElf:
      return read_elf_file(artifact);
    case FileKind::kGguf:
      return read_gguf_file(artifact);
    case FileKind::kSafetensors:
      return read_safetensors_file(artifact);
    case FileKind::kTokenizerJson:
      return read_tokenizer_file(artifact);
    case FileKind::kUnknown:
      break;
  }
  return fail(Code::kUnsupported,
              fmt::format("content of {} bytes is not recognised (expected xclbin, AIE partition, PDI, CDO, "
                          "instruction stream, "
                          "ELF, GGUF, safetensors or tokenizer.json; it may be truncated)",
                          artifact.bytes.size()));
}

}  // namespace

Result<Artifact> inspect_bytes(ByteSpan bytes, const std::string& path) {
  Artifact artifact;
  artifact.path = path;
  artifact.bytes = bytes;
  artifact.kind = format::detect(bytes);
  TRY(read_kind(artifact));
  return artifact;
}

}  // namespace tegula::cli
