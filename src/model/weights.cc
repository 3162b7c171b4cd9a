#include "model/weights.h"

namespace tegula::model {

std::string WeightSpec::name(i64 layer) const {
  std::string out(pattern);
  if (const size_t at = out.find("{}"); at != std::string::npos) out.replace(at, 2, std::to_string(layer));
  return out;
}

graph::WeightId WeightTable::operator()(std::string_view pattern, i64 layer) {
  for (const WeightSpec& spec : specs_) {
    if (spec.pattern != pattern) continue;
    return spec.present ? builder_.weight(spec.name(layer), spec.rows, spec.cols) : graph::kNone;
  }
  return builder_.weight(std::string(pattern) + " (not in the table of weights)", 0, 0);
}

}  // namespace tegula::model
