// Values of chat templates, with the meaning that Python and Jinja give them. Internal to src/text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::text::jinja {

class Value;
using List = std::vector<Value>;
using Dict = std::vector<std::pair<std::string, Value>>;  // in order of insertion; keys are texts

class Value {
 public:
  struct Undefined {
    std::string name;  // what was looked for
  };
  struct None {};
  struct Namespace {
    std::shared_ptr<Dict> members;  // the one thing that a template can change
  };

  Value() : state_(Undefined{}) {}
  explicit Value(None none) : state_(none) {}
  explicit Value(Undefined undefined) : state_(std::move(undefined)) {}
  explicit Value(bool value) : state_(value) {}
  explicit Value(i64 value) : state_(value) {}
  explicit Value(std::string value) : state_(std::move(value)) {}
  explicit Value(List value);
  explicit Value(Dict value);
  explicit Value(Namespace value) : state_(std::move(value)) {}

  bool is_undefined() const { return undefined() != nullptr; }
  bool is_none() const { return std::holds_alternative<None>(state_); }

  // Null where the value is of another kind.
  const Undefined* undefined() const { return std::get_if<Undefined>(&state_); }
  const bool* boolean() const { return std::get_if<bool>(&state_); }
  const i64* integer() const { return std::get_if<i64>(&state_); }
  const std::string* string() const { return std::get_if<std::string>(&state_); }
  const List* list() const { return pointee<List>(); }
  const Dict* dict() const { return pointee<Dict>(); }
  const Namespace* name_space() const { return std::get_if<Namespace>(&state_); }

  // Booleans count as 0 and 1, as in Python.
  bool is_number() const { return integer() != nullptr || boolean() != nullptr; }
  i64 number() const {
    return integer() != nullptr ? *integer() : boolean() != nullptr && *boolean() ? 1 : 0;
  }

  // How deep lists and dicts lie in each other here; 0 for other values.
  u32 depth() const { return depth_; }

  const char* kind_name() const;
  bool truthy() const;

 private:
  template <typename T>
  const T* pointee() const {
    const auto* pointer = std::get_if<std::shared_ptr<const T>>(&state_);
    return pointer != nullptr ? pointer->get() : nullptr;
  }

  std::variant<Undefined, None, bool, i64, std::string, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, Namespace>
      state_;
  u32 depth_ = 0;
};

bool equal(const Value& a, const Value& b);
const Value* find_key(const Dict& dict, std::string_view key);

// As Python's str(): what an output tag prints.
std::string to_text(const Value& value);

// As json.dumps with ensure_ascii off; indent 0 or less: on one line.
std::string to_json(const Value& value, i64 indent);

// Characters of valid UTF-8 as views.
std::vector<std::string_view> characters(std::string_view text);

}  // namespace tegula::text::jinja
