// Filters, tests and methods of chat templates. Internal to src/text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/template_value.h"

namespace tegula::text::jinja {

// The arguments of a call, evaluated.
struct Arguments {
  std::vector<Value> positional;
  Dict named;

  // By position or, where not given so, by name; null where missing.
  const Value* get(size_t position, std::string_view name) const;
};

// Errors are without a place: kUnsupported names what we lack, kInvalidArgument what cannot be done.
Result<Value> apply_filter(std::string_view name, const Value& subject, const Arguments& arguments);
Result<bool> apply_test(std::string_view name, const Value& subject, const Arguments& arguments);
Result<Value> call_method(const Value& subject, std::string_view name, const Arguments& arguments);

// What a loop walks over: items of a list, keys of a dict, characters of a text; nothing for an undefined
// value.
Result<List> items_of(const Value& value);

// `a op b` for + - * // % ~ and the comparisons, "in" and "not in" included.
Result<Value> binary(std::string_view op, const Value& a, const Value& b);
Result<bool> compare(std::string_view op, const Value& a, const Value& b);

}  // namespace tegula::text::jinja
