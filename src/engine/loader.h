// Opens model files: GGUF, or a directory with config.json, tokenizer.json and safetensors.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "engine/weights.h"
#include "model/registry.h"
#include "text/tokenizer.h"

namespace tegula::engine {

struct LoadedModel {
  std::string name;  // the file's own name for the model, or the last part of the path
  std::string path;
  std::string format;  // "gguf" or "safetensors"
  i64 file_bytes = 0;
  model::Config config;
  std::shared_ptr<const WeightSource> weights;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::string chat_template;  // Jinja source; empty where the model has none
};

// Checks everything but the weights' values: architecture, configuration, tokenizer, presence and shape of
// each weight. kNotFound, kUnsupported or kCorrupt, in one line that names the file and what to do.
Result<LoadedModel> load_model(const std::string& path);

// The two halves, for a path that is a file or a directory.
Result<LoadedModel> load_gguf(const std::string& path);
Result<LoadedModel> load_directory(const std::string& path);

}  // namespace tegula::engine
