// The compiled artifact: array configuration, instruction streams with the places to patch, and weights, as a
// folder of files under a manifest with their SHA-256.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace tegula::program {

// Name of the manifest inside a program's folder.
inline constexpr std::string_view kManifestName = "manifest.json";

// Lower-case hexadecimal SHA-256, 64 characters.
std::string sha256_hex(ByteSpan bytes);

// A place in a stream that changes between runs: the 32-bit word at byte `offset` (a multiple of 4).
struct Patch {
  u64 offset = 0;
  std::string meaning;  // chosen by who wrote the stream, e.g. "position", "kv offset layer 3"
  bool operator==(const Patch&) const = default;
};

struct StreamEntry {
  std::string name;  // letters, digits, '_', '-', '.'; becomes a file name
  Bytes bytes;       // TXN
  std::vector<Patch> patches;
};

// One tensor inside the weight blob.
struct WeightEntry {
  std::string name;
  std::string layout;  // number format and order, chosen by the compiler
  u64 offset = 0;      // bytes
  u64 size = 0;        // bytes
  bool operator==(const WeightEntry&) const = default;
};

struct Program {
  std::string name;
  std::string model_hash;  // SHA-256 of what it was compiled from; may be empty
  Bytes xclbin;
  std::vector<StreamEntry> streams;
  Bytes weights;  // may be empty
  std::vector<WeightEntry> weight_layout;
  std::string manifest_json_extra;  // a JSON object as text for the compiler's own data; empty means {}

  const StreamEntry* find_stream(std::string_view stream_name) const;  // null if there is none
};

// Writes manifest.json, config.xclbin, NAME.txn per stream and weights.bin into the folder, which is made if
// needed. The manifest is written last, so that an interrupted save does not load. Errors: kInvalidArgument
// (a stream name, extra that is no JSON object, patch or layout outside its bytes), kIo.
Result<void> save(const Program& program, const std::string& dir);

// Reads the folder back and verifies size and SHA-256 of every file. Errors name the file: kIo or kNotFound
// (missing), kCorrupt (manifest, size, hash), kUnsupported (manifest of another version).
Result<Program> load(const std::string& dir);

// The text of the manifest for a program; for save, and for tests.
Result<std::string> manifest_text(const Program& program);

struct FileRecord {
  std::string file;  // name inside the folder, without any '/'
  u64 size = 0;
  std::string sha256;
};

// What the manifest says, checked for form but not against files: the program without bytes, and the record
// of each file: xclbin first, then the streams in order, then the weights if there are any.
struct Manifest {
  Program program;
  std::vector<FileRecord> files;
};
Result<Manifest> read_manifest(ByteSpan text);

}  // namespace tegula::program
