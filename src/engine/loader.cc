#include "engine/loader.h"

#include <sys/stat.h>

namespace tegula::engine {

Result<LoadedModel> load_model(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    return fail(Code::kNotFound, path +
                                     ": no such file or directory; expected a .gguf file or a directory with "
                                     "config.json and model.safetensors");
  }
  return S_ISDIR(info.st_mode) ? load_directory(path) : load_gguf(path);
}

}  // namespace tegula::engine
