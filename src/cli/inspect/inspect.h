// `tegula inspect` as functions: any artifact in, facts out. The facts point into the bytes they were read
// from.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "cli/inspect/array_facts.h"
#include "cli/inspect/stream_facts.h"
#include "format/detect.h"
#include "format/elf.h"
#include "format/pdi.h"
#include "format/xclbin.h"

namespace tegula::cli {

struct ElfFacts {
  format::Elf elf;
  std::string use;  // "core program", "control code", "object"
  std::vector<format::ElfSymbol> symbols;
  struct Patch {
    std::string section;  // whose bytes change
    format::ElfRelocation relocation;
    std::string argument;
    std::string scheme;
  };
  std::vector<Patch> patches;
  Bytes program;  // core program: from address 0 to the last byte of its executable segments
};

struct TensorFacts {
  std::string name;
  std::string type;        // as the file calls it
  std::string meaning;     // "Q4NX, 1024 tiles of 32 x 256" where the type does not tell; else empty
  std::vector<u64> shape;  // GGUF: fastest dimension first; safetensors: slowest first
  u64 offset = 0;          // in the file
  ByteSpan data;
};

struct ModelFacts {
  std::string version;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<TensorFacts> tensors;
  u64 q4nx = 0;  // tensors in that layout
};

struct TokenizerFacts {
  std::string version, model, normalizer, pre_tokenizer, post_processor, decoder;
  u64 vocabulary = 0, merges = 0, added_tokens = 0, special_tokens = 0;
};

struct Artifact {
  std::string path;
  ByteSpan bytes;
  format::FileKind kind = format::FileKind::kUnknown;
  std::optional<format::Xclbin> xclbin;
  std::optional<format::AiePartition> partition;        // also of an xclbin
  std::vector<std::pair<u64, format::PdiHeader>> pdis;  // image bytes and header
  std::vector<ArrayFacts> arrays;                       // one for each PDI or CDO
  std::vector<StreamFacts> streams;
  std::optional<ElfFacts> elf;
  std::optional<ModelFacts> model;
  std::optional<TokenizerFacts> tokenizer;
  std::vector<Error> problems;  // parts that could not be read; the rest is sound
};

// Recognises the bytes by content and reads all of them. An error means that nothing could be read;
// Artifact::problems holds what failed further in. Errors: kUnsupported for unknown content, else those of
// the readers.
Result<Artifact> inspect_bytes(ByteSpan bytes, const std::string& path);

// How much to show. 0: a line or two; 1: counts and groups; 2: also chains, routes and phases; 3: every tile,
// hop and op.
struct ShowOptions {
  int depth = 2;
  std::optional<arch::Tile> tile;  // only this one, whole
};

std::string to_text(const Artifact& artifact, const ShowOptions& options);
// The setup of one tile: program, locks, chains, data.
std::string tile_text(const ArrayFacts& array, const TileFacts& tile);
// A JSON object, docs/json/inspect.md. Depth 3 adds every op of a stream.
std::string to_json(const std::vector<Artifact>& artifacts, const ShowOptions& options);
// A page that needs nothing else: grid, routes, memory maps, timeline.
std::string to_html(const std::vector<Artifact>& artifacts);

inline constexpr int kInspectSchema = 2;

}  // namespace tegula::cli
