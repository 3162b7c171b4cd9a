#include "text/template_value.h"

#include <algorithm>

#include "text/utf8.h"

namespace tegula::text::jinja {
namespace {

// A text as Python's repr() writes it: single quotes unless only they occur inside.
std::string text_repr(std::string_view text) {
  const bool use_double = text.find('\'') != text.npos && text.find('"') == text.npos;
  const char quote = use_double ? '"' : '\'';
  std::string out(1, quote);
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c == '\r') {
      out += "\\r";
    } else {
      if (c == '\\' || c == quote) out.push_back('\\');
      out.push_back(c);
    }
  }
  out.push_back(quote);
  return out;
}

std::string to_repr(const Value& value);

std::string dict_repr(const Dict& dict) {
  std::string out = "{";
  for (const auto& [key, item] : dict)
    out += (out.size() > 1 ? ", " : "") + text_repr(key) + ": " + to_repr(item);
  return out + "}";
}

std::string to_repr(const Value& value) {
  if (value.string() != nullptr) return text_repr(*value.string());
  if (value.list() != nullptr) {
    std::string out = "[";
    for (const Value& item : *value.list()) out += (out.size() > 1 ? ", " : "") + to_repr(item);
    return out + "]";
  }
  if (value.dict() != nullptr) return dict_repr(*value.dict());
  return to_text(value);
}

std::string json_string(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    constexpr std::string_view kSpecial = "\"\\\n\r\t\b\f";
    constexpr std::string_view kNames = "\"\\nrtbf";
    if (const size_t at = kSpecial.find(c); at != kSpecial.npos) {
      out.push_back('\\');
      out.push_back(kNames[at]);
    } else if (static_cast<u8>(c) < 0x20) {
      out += "\\u00";
      out.push_back(kHex[static_cast<u8>(c) >> 4]);
      out.push_back(kHex[c & 15]);
    } else {
      out.push_back(c);
    }
  }
  return out + "\"";
}

// A bracketed list of `parts`, on lines of their own where indent > 0.
std::string json_group(char open, char close, const std::vector<std::string>& parts, i64 indent, i64 depth) {
  std::string out(1, open);
  auto line = [&](i64 level) {
    if (indent > 0) out += "\n" + std::string(static_cast<size_t>(indent * level), ' ');
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += indent > 0 ? "," : ", ";
    line(depth + 1);
    out += parts[i];
  }
  if (!parts.empty()) line(depth);
  out.push_back(close);
  return out;
}

std::string json_value(const Value& value, i64 indent, i64 depth) {
  std::vector<std::string> parts;
  if (value.string() != nullptr) return json_string(*value.string());
  if (value.boolean() != nullptr) return *value.boolean() ? "true" : "false";
  if (value.integer() != nullptr) return std::to_string(*value.integer());
  if (value.list() != nullptr) {
    for (const Value& item : *value.list()) parts.push_back(json_value(item, indent, depth + 1));
    return json_group('[', ']', parts, indent, depth);
  }
  if (value.dict() != nullptr) {
    for (const auto& [key, item] : *value.dict())
      parts.push_back(json_string(key) + ": " + json_value(item, indent, depth + 1));
    return json_group('{', '}', parts, indent, depth);
  }
  return "null";
}

}  // namespace

Value::Value(List value) {
  for (const Value& item : value) depth_ = std::max(depth_, item.depth());
  ++depth_;
  state_ = std::make_shared<const List>(std::move(value));
}

Value::Value(Dict value) {
  for (const auto& [key, item] : value) depth_ = std::max(depth_, item.depth());
  ++depth_;
  state_ = std::make_shared<const Dict>(std::move(value));
}

const char* Value::kind_name() const {
  if (is_undefined()) return "an undefined value";
  if (is_none()) return "none";
  if (boolean() != nullptr) return "a boolean";
  if (integer() != nullptr) return "a number";
  if (string() != nullptr) return "a text";
  if (list() != nullptr) return "a list";
  if (dict() != nullptr) return "a dict";
  return "a namespace";
}

bool Value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (is_number()) return number() != 0;
  if (string() != nullptr) return !string()->empty();
  if (list() != nullptr) return !list()->empty();
  if (dict() != nullptr) return !dict()->empty();
  return true;
}

bool equal(const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) return a.number() == b.number();
  if (a.string() != nullptr && b.string() != nullptr) return *a.string() == *b.string();
  if (a.list() != nullptr && b.list() != nullptr) {
    return std::equal(a.list()->begin(), a.list()->end(), b.list()->begin(), b.list()->end(), equal);
  }
  if (a.dict() != nullptr && b.dict() != nullptr) {
    if (a.dict()->size() != b.dict()->size()) return false;
    return std::all_of(a.dict()->begin(), a.dict()->end(), [&](const auto& item) {
      const Value* other = find_key(*b.dict(), item.first);
      return other != nullptr && equal(item.second, *other);
    });
  }
  return (a.is_none() && b.is_none()) || (a.is_undefined() && b.is_undefined());
}

const Value* find_key(const Dict& dict, std::string_view key) {
  for (const auto& [name, value] : dict) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string to_text(const Value& value) {
  if (value.is_undefined()) return "";
  if (value.is_none()) return "None";
  if (value.boolean() != nullptr) return *value.boolean() ? "True" : "False";
  if (value.integer() != nullptr) return std::to_string(*value.integer());
  if (value.string() != nullptr) return *value.string();
  if (value.name_space() != nullptr) return "<Namespace>";
  return to_repr(value);
}

std::string to_json(const Value& value, i64 indent) {
  return json_value(value, indent, 0);
}

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const Decoded d = decode_utf8(text);
    out.push_back(text.substr(0, d.length));
    text.remove_prefix(d.length);
  }
  return out;
}

}  // namespace tegula::text::jinja
