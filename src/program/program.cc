// Saving and loading of programs. The manifest's JSON is in manifest.cc.
#include "program/program.h"

#include <fmt/core.h>
#include <openssl/sha.h>

#include <array>
#include <filesystem>

#include "base/file.h"

namespace tegula::program {
namespace {

// Reads one file of the folder and compares it with the manifest.
Result<Bytes> read_verified(const std::string& dir, const FileRecord& record) {
  std::string path = dir + "/" + record.file;
  TRY_ASSIGN(Bytes bytes, read_file(path));
  if (bytes.size() != record.size) {
    return fail(Code::kCorrupt,
                fmt::format("{}: has {} bytes, the manifest says {}; compile the program again", path,
                            bytes.size(), record.size));
  }
  std::string found = sha256_hex(bytes);
  if (found != record.sha256) {
    return fail(Code::kCorrupt,
                fmt::format("{}: SHA-256 is {}, the manifest says {}; compile the program again", path, found,
                            record.sha256));
  }
  return bytes;
}

Result<void> write_all(const Program& program, const Manifest& manifest, const std::string& dir) {
  u64 next = 0;
  TRY(write_file(dir + "/" + manifest.files[next++].file, program.xclbin));
  for (const StreamEntry& stream : program.streams)
    TRY(write_file(dir + "/" + manifest.files[next++].file, stream.bytes));
  if (next < manifest.files.size()) TRY(write_file(dir + "/" + manifest.files[next].file, program.weights));
  return {};
}

}  // namespace

std::string sha256_hex(ByteSpan bytes) {
  std::array<u8, SHA256_DIGEST_LENGTH> digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  std::string out;
  for (u8 byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

const StreamEntry* Program::find_stream(std::string_view stream_name) const {
  for (const StreamEntry& stream : streams) {
    if (stream.name == stream_name) return &stream;
  }
  return nullptr;
}

Result<void> save(const Program& program, const std::string& dir) {
  TRY_ASSIGN(std::string text, manifest_text(program));
  ByteSpan text_bytes(reinterpret_cast<const u8*>(text.data()), text.size());
  TRY_ASSIGN(Manifest manifest, read_manifest(text_bytes));
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) return fail(Code::kIo, fmt::format("{}: cannot make the folder: {}", dir, error.message()));
  std::string manifest_path = dir + "/" + std::string(kManifestName);
  std::filesystem::remove(manifest_path, error);
  TRY(write_all(program, manifest, dir));
  return write_file(manifest_path, text_bytes);
}

Result<Program> load(const std::string& dir) {
  std::string manifest_path = dir + "/" + std::string(kManifestName);
  TRY_ASSIGN(Bytes text, read_file(manifest_path));
  Result<Manifest> manifest = read_manifest(text);
  if (!manifest.ok()) return fail(manifest.error().code, manifest_path + ": " + manifest.error().message);
  Program program = std::move(manifest->program);
  u64 next = 0;
  TRY_ASSIGN(program.xclbin, read_verified(dir, manifest->files[next++]));
  for (StreamEntry& stream : program.streams) {
    TRY_ASSIGN(stream.bytes, read_verified(dir, manifest->files[next++]));
  }
  if (next < manifest->files.size()) {
    TRY_ASSIGN(program.weights, read_verified(dir, manifest->files[next]));
  }
  return program;
}

}  // namespace tegula::program
