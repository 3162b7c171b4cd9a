// Walks a parsed chat template. Internal to src/text.
#pragma once

#include <string>

#include "base/result.h"
#include "text/template_ast.h"
#include "text/template_value.h"

namespace tegula::text::jinja {

// The text that the template prints with these variables. Errors give the line. Limits on the work done, the
// length of the text and the depth of values keep a hostile template from taking the process down.
Result<std::string> render(const Block& block, Dict variables);

}  // namespace tegula::text::jinja
