#include "text/tiny_models.h"

#include <nlohmann/json.hpp>

#include "text/golden_table.h"

namespace tegula::text {

BpeSpec tiny_bpe_spec(const std::string& pre) {
  const Bytes bytes = golden_bytes("tiny_bpe.json");
  const nlohmann::json root = nlohmann::json::parse(bytes.begin(), bytes.end());
  BpeSpec spec;
  spec.pre = pre;
  spec.tokens.resize(root["model"]["vocab"].size());
  for (const auto& [text, id] : root["model"]["vocab"].items()) spec.tokens.at(id.get<size_t>()) = text;
  for (const auto& merge : root["model"]["merges"]) {
    spec.merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
  }
  spec.types.assign(spec.tokens.size(), 1);
  for (const auto& token : root["added_tokens"]) spec.types.at(token["id"].get<size_t>()) = 3;
  return spec;
}

}  // namespace tegula::text
