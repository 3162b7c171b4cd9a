// Quoting for the formats that reports are written in.
#pragma once

#include <string>
#include <string_view>

namespace tegula::trace {

std::string json_string(std::string_view text);  // with the quotes
std::string html_text(std::string_view text);    // & < > " escaped

}  // namespace tegula::trace
