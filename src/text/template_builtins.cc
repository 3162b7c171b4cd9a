#include "text/template_builtins.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text::jinja {
namespace {

constexpr size_t kMaxString = size_t{16} << 20;  // bytes of any text that a template builds
constexpr size_t kMaxList = size_t{1} << 20;

Error wrong(const std::string& what) {
  return fail(Code::kInvalidArgument, what);
}

bool is_blank(std::string_view character) {
  const u32 c = decode_utf8(character).code_point;
  return (unicode_class(c) & kSpace) != 0 || (c >= 0x1C && c <= 0x1F);
}

// Removes, at the ends asked for, white space or any of the characters of `set`.
std::string stripped(std::string_view text, const std::string* set, bool left, bool right) {
  const auto all = characters(text);
  auto goes = [&](std::string_view c) { return set != nullptr ? set->find(c) != set->npos : is_blank(c); };
  size_t first = 0;
  size_t last = all.size();
  while (left && first < last && goes(all[first])) ++first;
  while (right && last > first && goes(all[last - 1])) --last;
  std::string out;
  for (size_t i = first; i < last; ++i) out += all[i];
  return out;
}

template <typename Append>
std::string mapped(std::string_view text, Append append) {
  std::string out;
  for (const std::string_view c : characters(text)) append(out, decode_utf8(c).code_point);
  return out;
}

std::string upper(std::string_view text) {
  return mapped(text, append_upper);
}
std::string lower(std::string_view text) {
  return mapped(text, append_lower);
}

std::string capitalized(std::string_view text) {
  const auto all = characters(text);
  if (all.empty()) return {};
  return upper(all[0]) + lower(text.substr(all[0].size()));
}

std::string titled(std::string_view text) {
  std::string out;
  bool inside = false;
  for (const std::string_view c : characters(text)) {
    out += inside ? lower(c) : upper(c);
    inside = (unicode_class(decode_utf8(c).code_point) & kLetter) != 0;
  }
  return out;
}

Result<std::string> replaced(const std::string& text, const Arguments& arguments) {
  const Value* from = arguments.get(0, "old");
  const Value* to = arguments.get(1, "new");
  if (from == nullptr || to == nullptr || from->string() == nullptr || to->string() == nullptr) {
    return wrong("replace wants two texts");
  }
  if (from->string()->empty()) return fail(Code::kUnsupported, "replace of an empty text is not supported");
  const Value* limit = arguments.get(2, "count");
  i64 left = limit != nullptr && limit->is_number() ? limit->number() : -1;
  std::string out;
  size_t at = 0;
  for (size_t hit = text.find(*from->string()); hit != text.npos && left != 0;
       hit = text.find(*from->string(), at)) {
    out.append(text, at, hit - at).append(*to->string());
    at = hit + from->string()->size();
    --left;
    if (out.size() > kMaxString) return wrong("replace makes a text of more than 16 MiB");
  }
  return out.append(text, at, text.npos);
}

Result<Value> split(const std::string& text, const Arguments& arguments) {
  const Value* separator = arguments.get(0, "sep");
  const Value* limit = arguments.get(1, "maxsplit");
  i64 left = limit != nullptr && limit->is_number() ? limit->number() : -1;
  List out;
  if (separator == nullptr || separator->is_none()) {
    if (left >= 0) return fail(Code::kUnsupported, "split at white space with a limit is not supported");
    std::string word;
    for (const std::string_view c : characters(text)) {
      if (!is_blank(c)) {
        word += c;
      } else if (!word.empty()) {
        out.emplace_back(std::exchange(word, {}));
      }
    }
    if (!word.empty()) out.emplace_back(std::move(word));
    return Value(std::move(out));
  }
  if (separator->string() == nullptr || separator->string()->empty())
    return wrong("split wants a text that is not empty");
  size_t at = 0;
  for (size_t hit = text.find(*separator->string()); hit != text.npos && left != 0;
       hit = text.find(*separator->string(), at)) {
    out.emplace_back(text.substr(at, hit - at));
    at = hit + separator->string()->size();
    --left;
  }
  out.emplace_back(text.substr(at));
  return Value(std::move(out));
}

// startswith and endswith take a text or a list of texts.
Result<Value> has_affix(const std::string& text, const Arguments& arguments, bool front,
                        std::string_view name) {
  const Value* affix = arguments.get(0, "prefix");
  auto matches = [&](const Value& v) {
    return v.string() != nullptr && (front ? text.starts_with(*v.string()) : text.ends_with(*v.string()));
  };
  if (affix != nullptr && affix->string() != nullptr) return Value(matches(*affix));
  if (affix != nullptr && affix->list() != nullptr)
    return Value(std::any_of(affix->list()->begin(), affix->list()->end(), matches));
  return wrong(std::string(name) + " wants a text");
}

Result<Value> string_method(const std::string& text, std::string_view name, const Arguments& arguments) {
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const Value* set = arguments.get(0, "chars");
    if (set != nullptr && set->is_none()) set = nullptr;
    if (set != nullptr && set->string() == nullptr) return wrong(std::string(name) + " wants a text");
    return Value(
        stripped(text, set != nullptr ? set->string() : nullptr, name != "rstrip", name != "lstrip"));
  }
  if (name == "upper") return Value(upper(text));
  if (name == "lower") return Value(lower(text));
  if (name == "capitalize") return Value(capitalized(text));
  if (name == "title") return Value(titled(text));
  if (name == "startswith") return has_affix(text, arguments, true, name);
  if (name == "endswith") return has_affix(text, arguments, false, name);
  if (name == "split") return split(text, arguments);
  if (name == "replace") {
    TRY_ASSIGN(std::string out, replaced(text, arguments));
    return Value(std::move(out));
  }
  return fail(Code::kUnsupported, "method '" + std::string(name) + "' of a text is not supported");
}

List pairs_of(const Dict& dict) {
  List out;
  for (const auto& [key, value] : dict) out.emplace_back(List{Value(key), value});
  return out;
}

Result<Value> dict_method(const Dict& dict, std::string_view name, const Arguments& arguments) {
  if (name == "items") return Value(pairs_of(dict));
  if (name == "keys" || name == "values") {
    List out;
    for (const auto& [key, value] : dict) out.push_back(name == "keys" ? Value(key) : value);
    return Value(std::move(out));
  }
  if (name == "get") {
    const Value* key = arguments.get(0, "key");
    if (key == nullptr || key->string() == nullptr) return wrong("get wants a text");
    if (const Value* value = find_key(dict, *key->string())) return *value;
    const Value* fallback = arguments.get(1, "default");
    return fallback != nullptr ? *fallback : Value(Value::None{});
  }
  return fail(Code::kUnsupported, "method '" + std::string(name) + "' of a dict is not supported");
}

Result<Value> length(const Value& subject) {
  if (subject.string() != nullptr) return Value(static_cast<i64>(characters(*subject.string()).size()));
  if (subject.list() != nullptr) return Value(static_cast<i64>(subject.list()->size()));
  if (subject.dict() != nullptr) return Value(static_cast<i64>(subject.dict()->size()));
  if (subject.is_undefined()) return Value(i64{0});
  return wrong(std::string(subject.kind_name()) + " has no length");
}

Result<Value> joined(const Value& subject, const Arguments& arguments) {
  TRY_ASSIGN(const List items, items_of(subject));
  const Value* separator = arguments.get(0, "d");
  const Value* attribute = arguments.get(1, "attribute");
  if (attribute != nullptr) return fail(Code::kUnsupported, "join with an attribute is not supported");
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0 && separator != nullptr) out += to_text(*separator);
    out += to_text(items[i]);
    if (out.size() > kMaxString) return wrong("join makes a text of more than 16 MiB");
  }
  return Value(std::move(out));
}

Result<Value> end_of(const Value& subject, bool first) {
  TRY_ASSIGN(const List items, items_of(subject));
  if (items.empty()) return Value(Value::Undefined{first ? "first item" : "last item"});
  return first ? items.front() : items.back();
}

Result<Value> to_integer(const Value& subject, const Arguments& arguments) {
  if (subject.is_number()) return Value(subject.number());
  const Value* fallback = arguments.get(0, "default");
  const i64 otherwise = fallback != nullptr ? fallback->number() : 0;
  if (subject.string() == nullptr) return Value(otherwise);
  const std::string digits = stripped(*subject.string(), nullptr, true, true);
  const size_t start = !digits.empty() && (digits[0] == '-' || digits[0] == '+') ? 1 : 0;
  const bool whole = digits.size() > start && digits.size() < 19 &&
                     std::all_of(digits.begin() + static_cast<i64>(start), digits.end(),
                                 [](char c) { return c >= '0' && c <= '9'; });
  return Value(whole ? static_cast<i64>(std::stoll(digits)) : otherwise);
}

// selectattr and rejectattr: items whose attribute passes a test, or is true where no test is named.
Result<Value> select_by_attribute(const Value& subject, const Arguments& arguments, bool keep) {
  const Value* attribute = arguments.get(0, "attribute");
  if (attribute == nullptr || attribute->string() == nullptr)
    return wrong("selectattr wants the name of an attribute");
  TRY_ASSIGN(const List items, items_of(subject));
  Arguments rest;
  for (size_t i = 2; i < arguments.positional.size(); ++i) rest.positional.push_back(arguments.positional[i]);
  List out;
  for (const Value& item : items) {
    const Value* member = item.dict() != nullptr ? find_key(*item.dict(), *attribute->string()) : nullptr;
    const Value value = member != nullptr ? *member : Value();
    bool passes = value.truthy();
    if (const Value* test = arguments.get(1, "test")) {
      TRY_ASSIGN(passes, apply_test(to_text(*test), value, rest));
    }
    if (passes == keep) out.push_back(item);
  }
  return Value(std::move(out));
}

Result<Value> map_items(const Value& subject, const Arguments& arguments) {
  TRY_ASSIGN(const List items, items_of(subject));
  const Value* attribute = find_key(arguments.named, "attribute");
  List out;
  for (const Value& item : items) {
    if (attribute != nullptr) {
      const Value* member = item.dict() != nullptr ? find_key(*item.dict(), to_text(*attribute)) : nullptr;
      out.push_back(member != nullptr ? *member : Value());
    } else {
      if (arguments.positional.empty()) return wrong("map wants a filter or an attribute");
      TRY_ASSIGN(Value value, apply_filter(to_text(arguments.positional[0]), item, {}));
      out.push_back(std::move(value));
    }
  }
  return Value(std::move(out));
}

Result<Value> list_filter(std::string_view name, const Value& subject, const Arguments& arguments) {
  if (name == "length" || name == "count") return length(subject);
  if (name == "join") return joined(subject, arguments);
  if (name == "first") return end_of(subject, true);
  if (name == "last") return end_of(subject, false);
  if (name == "selectattr") return select_by_attribute(subject, arguments, true);
  if (name == "rejectattr") return select_by_attribute(subject, arguments, false);
  if (name == "map") return map_items(subject, arguments);
  if (name == "items" && subject.dict() != nullptr) return Value(pairs_of(*subject.dict()));
  if (name == "list" || name == "reverse") {
    TRY_ASSIGN(List items, items_of(subject));
    if (name == "reverse") std::reverse(items.begin(), items.end());
    return Value(std::move(items));
  }
  return fail(Code::kUnsupported, "filter '" + std::string(name) + "' is not supported");
}

// a * b, -a and so on without overflow.
Result<Value> arithmetic(std::string_view op, i64 a, i64 b) {
  i64 out = 0;
  bool overflow = false;
  if (op == "+") {
    overflow = __builtin_add_overflow(a, b, &out);
  } else if (op == "-") {
    overflow = __builtin_sub_overflow(a, b, &out);
  } else if (op == "*") {
    overflow = __builtin_mul_overflow(a, b, &out);
  } else {
    if (b == 0) return wrong("division by zero");
    if (b == -1) return arithmetic(op == "%" ? "*" : "-", 0, op == "%" ? 0 : a);
    const i64 rest = a % b;
    const bool down = rest != 0 && (rest < 0) != (b < 0);  // Python rounds down
    out = op == "%" ? rest + (down ? b : 0) : a / b - (down ? 1 : 0);
  }
  if (overflow) return wrong("a number is out of range");
  return Value(out);
}

Result<Value> repeated(const std::string& text, i64 times) {
  const size_t count = times > 0 ? static_cast<size_t>(times) : 0;
  if (!text.empty() && count > kMaxString / text.size())
    return wrong("a repeated text is longer than 16 MiB");
  std::string out;
  for (size_t i = 0; i < count && !text.empty(); ++i) out += text;
  return Value(std::move(out));
}

Result<bool> contains(const Value& container, const Value& item) {
  if (container.list() != nullptr) {
    return std::any_of(container.list()->begin(), container.list()->end(),
                       [&](const Value& v) { return equal(v, item); });
  }
  if (container.is_undefined()) return false;
  if (item.string() != nullptr) {
    if (container.string() != nullptr) return container.string()->find(*item.string()) != std::string::npos;
    if (container.dict() != nullptr) return find_key(*container.dict(), *item.string()) != nullptr;
  }
  if (container.dict() != nullptr) return false;
  return wrong("'in' cannot look for " + std::string(item.kind_name()) + " in " + container.kind_name());
}

}  // namespace

const Value* Arguments::get(size_t position, std::string_view name) const {
  return position < positional.size() ? &positional[position] : find_key(named, name);
}

Result<List> items_of(const Value& value) {
  if (value.list() != nullptr) return *value.list();
  List out;
  if (value.string() != nullptr) {
    for (const std::string_view c : characters(*value.string())) out.emplace_back(std::string(c));
  } else if (value.dict() != nullptr) {
    for (const auto& [key, item] : *value.dict()) out.emplace_back(key);
  } else if (!value.is_undefined()) {
    return wrong(std::string(value.kind_name()) + " cannot be walked over");
  }
  return out;
}

Result<Value> call_method(const Value& subject, std::string_view name, const Arguments& arguments) {
  if (subject.string() != nullptr) return string_method(*subject.string(), name, arguments);
  if (subject.dict() != nullptr) return dict_method(*subject.dict(), name, arguments);
  return fail(Code::kUnsupported,
              "method '" + std::string(name) + "' of " + subject.kind_name() + " is not supported");
}

Result<Value> apply_filter(std::string_view name, const Value& subject, const Arguments& arguments) {
  if (name == "default" || name == "d") {
    const Value* fallback = arguments.get(0, "default_value");
    const Value* also_false = arguments.get(1, "boolean");
    const bool replace =
        subject.is_undefined() || (also_false != nullptr && also_false->truthy() && !subject.truthy());
    if (!replace) return subject;
    return fallback != nullptr ? *fallback : Value(std::string());
  }
  if (name == "trim") return string_method(to_text(subject), "strip", arguments);
  if (name == "upper" || name == "lower" || name == "capitalize" || name == "title" || name == "replace") {
    return string_method(to_text(subject), name, arguments);
  }
  if (name == "string" || name == "safe") return Value(to_text(subject));
  if (name == "int") return to_integer(subject, arguments);
  if (name == "tojson") {
    if (subject.is_undefined()) return wrong("tojson of an undefined value");
    const Value* indent = arguments.get(3, "indent");
    if (!arguments.positional.empty())
      return fail(Code::kUnsupported, "tojson with positional arguments is not supported");
    return Value(to_json(subject, indent != nullptr ? std::clamp<i64>(indent->number(), 0, 16) : 0));
  }
  return list_filter(name, subject, arguments);
}

Result<bool> apply_test(std::string_view name, const Value& subject, const Arguments& arguments) {
  if (name == "defined") return !subject.is_undefined();
  if (name == "undefined") return subject.is_undefined();
  if (name == "none") return subject.is_none();
  if (name == "string") return subject.string() != nullptr;
  if (name == "mapping") return subject.dict() != nullptr;
  if (name == "boolean") return subject.boolean() != nullptr;
  if (name == "number") return subject.is_number();
  if (name == "integer") return subject.integer() != nullptr;
  if (name == "true") return subject.boolean() != nullptr && *subject.boolean();
  if (name == "false") return subject.boolean() != nullptr && !*subject.boolean();
  if (name == "iterable" || name == "sequence") {
    const bool items = subject.string() != nullptr || subject.list() != nullptr || subject.dict() != nullptr;
    return items || subject.is_undefined();  // jinja's undefined values can be walked and have a length
  }
  if (name == "odd" || name == "even") {
    if (!subject.is_number()) return wrong(std::string(name) + " wants a number");
    return (subject.number() % 2 != 0) == (name == "odd");
  }
  const Value* other = arguments.get(0, "other");
  if (name == "divisibleby" && other != nullptr) {
    if (!subject.is_number() || !other->is_number() || other->number() == 0)
      return wrong("divisibleby wants two numbers");
    return other->number() == -1 || subject.number() % other->number() == 0;
  }
  constexpr std::pair<std::string_view, std::string_view> kComparisons[] = {
      {"equalto", "=="}, {"eq", "=="}, {"ne", "!="}, {"lt", "<"},
      {"le", "<="},      {"gt", ">"},  {"ge", ">="}, {"in", "in"}};
  for (const auto& [test, op] : kComparisons) {
    if (name == test && other != nullptr) return compare(op, subject, *other);
  }
  return fail(Code::kUnsupported, "test '" + std::string(name) + "' is not supported");
}

Result<Value> binary(std::string_view op, const Value& a, const Value& b) {
  if (op == "~" || (op == "+" && a.string() != nullptr && b.string() != nullptr)) {
    std::string out = to_text(a);
    out += to_text(b);
    if (out.size() > kMaxString) return wrong("a text of more than 16 MiB");
    return Value(std::move(out));
  }
  if (a.is_number() && b.is_number()) return arithmetic(op, a.number(), b.number());
  if (op == "+" && a.list() != nullptr && b.list() != nullptr) {
    if (a.list()->size() + b.list()->size() > kMaxList) return wrong("a list of more than a million items");
    List out = *a.list();
    out.insert(out.end(), b.list()->begin(), b.list()->end());
    return Value(std::move(out));
  }
  if (op == "*" && a.string() != nullptr && b.is_number()) return repeated(*a.string(), b.number());
  if (op == "*" && b.string() != nullptr && a.is_number()) return repeated(*b.string(), a.number());
  for (const Value* v : {&a, &b}) {
    if (v->is_undefined()) return wrong("'" + v->undefined()->name + "' is undefined");
  }
  return wrong("'" + std::string(op) + "' cannot join " + a.kind_name() + " and " + b.kind_name());
}

Result<bool> compare(std::string_view op, const Value& a, const Value& b) {
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  if (op == "in") return contains(b, a);
  if (op == "not in") {
    TRY_ASSIGN(const bool inside, contains(b, a));
    return !inside;
  }
  int order = 0;
  if (a.is_number() && b.is_number()) {
    order = a.number() < b.number() ? -1 : a.number() > b.number();
  } else if (a.string() != nullptr && b.string() != nullptr) {
    order = a.string()->compare(*b.string());
  } else {
    return wrong("'" + std::string(op) + "' cannot compare " + a.kind_name() + " and " + b.kind_name());
  }
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  return op == ">" ? order > 0 : order >= 0;
}

}  // namespace tegula::text::jinja
