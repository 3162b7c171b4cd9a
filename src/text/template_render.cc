#include "text/template_render.h"

#include <algorithm>
#include <utility>

#include "text/template_builtins.h"

namespace tegula::text::jinja {
namespace {

constexpr u64 kMaxWork =
    10'000'000;                // one unit for each node visited, each item and each 64 bytes of text handled
constexpr u64 kLoopWork = 10;  // one turn of a loop
constexpr u64 kMaxOutput = u64{16} << 20;
constexpr u32 kMaxDepth = 400;   // of evaluate() in itself; a frame is well under 2 KiB
constexpr u32 kMaxNesting = 50;  // of lists in lists
constexpr u64 kMaxRange = 100'000;

enum class Flow { kNext, kBreak, kContinue };

class Renderer {
 public:
  explicit Renderer(Dict variables) { scopes_.push_back(std::move(variables)); }

  Result<std::string> run(const Block& block) {
    scopes_.emplace_back();
    TRY(execute(block));
    return std::move(out_);
  }

 private:
  static std::string place(u32 line) { return "chat template line " + std::to_string(line) + ": "; }
  static Error wrong(u32 line, const std::string& what) {
    return fail(Code::kInvalidArgument, place(line) + what);
  }
  static Error at(u32 line, Error error) {
    error.message = place(line) + error.message;
    return error;
  }
  static Result<Value> at(u32 line, Result<Value> result) {
    if (!result.ok()) return at(line, result.error());
    return result;
  }

  Result<void> work(u32 line, u64 units) {
    work_ += units;
    if (work_ > kMaxWork) return wrong(line, "the template does not come to an end");
    return {};
  }
  Result<Value> checked(u32 line, Value value);

  Result<Flow> execute(const Block& block);
  Result<Flow> execute_one(const Statement& statement);
  Result<void> print(u32 line, std::string_view text);
  Result<Flow> if_statement(const Statement& statement);
  Result<Flow> for_statement(const Statement& statement);
  Result<List> loop_items(const Statement& statement);
  Result<void> bind(const Statement& statement, const Value& value);
  Result<void> set_member(const Statement& statement, Value value);
  Result<void> set_block(const Statement& statement);
  void assign(const std::string& name, Value value);
  Value lookup(const std::string& name) const;

  Result<Value> evaluate(const Expression& e);
  Result<Value> evaluate_kind(const Expression& e);
  Result<Value> collection(const Expression& e);
  Result<Value> attribute(const Expression& e);
  Result<Value> index(const Expression& e);
  Result<Value> slice(const Expression& e);
  Result<Value> call(const Expression& e);
  Result<Value> call_function(const Expression& e, const std::string& name, const Arguments& arguments);
  Result<Value> make_namespace(u32 line, const Arguments& arguments);
  Result<Value> make_range(u32 line, const Arguments& arguments);
  Result<Value> filter_or_test(const Expression& e);
  Result<Value> logic(const Expression& e);
  Result<Value> comparison(const Expression& e);
  Result<Value> conditional(const Expression& e);
  Result<Arguments> evaluate_arguments(const Expression& e);

  std::vector<Dict> scopes_;
  std::string out_;
  u64 work_ = 0;
  u32 depth_ = 0;
};

u64 weight(const Value& value) {
  if (value.string() != nullptr) return value.string()->size() / 64;
  if (value.list() != nullptr) return value.list()->size();
  return value.dict() != nullptr ? value.dict()->size() : 0;
}

// Counts the work behind a new value and refuses what nests too deep.
Result<Value> Renderer::checked(u32 line, Value value) {
  TRY(work(line, weight(value)));
  if (value.depth() > kMaxNesting)
    return wrong(line, "lists nested deeper than " + std::to_string(kMaxNesting));
  return value;
}

Result<Flow> Renderer::execute(const Block& block) {
  for (const Statement& statement : block) {
    TRY(work(statement.line, 1));
    TRY_ASSIGN(const Flow flow, execute_one(statement));
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Result<Flow> Renderer::execute_one(const Statement& statement) {
  switch (statement.kind) {
    case StatementKind::kText:
      TRY(print(statement.line, statement.text));
      break;
    case StatementKind::kOutput: {
      TRY_ASSIGN(const Value value, evaluate(*statement.value));
      TRY(print(statement.line, to_text(value)));
      break;
    }
    case StatementKind::kIf:
      return if_statement(statement);
    case StatementKind::kFor:
      return for_statement(statement);
    case StatementKind::kSet: {
      TRY_ASSIGN(Value value, evaluate(*statement.value));
      TRY(bind(statement, value));
      break;
    }
    case StatementKind::kSetBlock:
      TRY(set_block(statement));
      break;
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Result<void> Renderer::print(u32 line, std::string_view text) {
  TRY(work(line, text.size() / 64));
  if (out_.size() + text.size() > kMaxOutput) return wrong(line, "the prompt is longer than 16 MiB");
  out_ += text;
  return {};
}

Result<Flow> Renderer::if_statement(const Statement& statement) {
  for (size_t i = 0; i < statement.blocks.size(); ++i) {
    if (i < statement.tests.size()) {
      TRY_ASSIGN(const Value condition, evaluate(*statement.tests[i]));
      if (!condition.truthy()) continue;
    }
    return execute(statement.blocks[i]);
  }
  return Flow::kNext;
}

// The items that the loop will see: those that pass its `if`.
Result<List> Renderer::loop_items(const Statement& statement) {
  TRY_ASSIGN(const Value walked, evaluate(*statement.value));
  Result<List> all = items_of(walked);
  if (!all.ok()) return at(statement.line, all.error());
  TRY(work(statement.line, all.value().size()));
  if (statement.filter == nullptr) return all;
  List out;
  for (const Value& item : all.value()) {
    scopes_.emplace_back();
    TRY(bind(statement, item));
    TRY_ASSIGN(const Value condition, evaluate(*statement.filter));
    scopes_.pop_back();
    if (condition.truthy()) out.push_back(item);
  }
  return out;
}

Dict loop_variable(const List& items, size_t i) {
  const i64 index = static_cast<i64>(i);
  const i64 length = static_cast<i64>(items.size());
  return {{"index", Value(index + 1)},
          {"index0", Value(index)},
          {"revindex", Value(length - index)},
          {"revindex0", Value(length - index - 1)},
          {"first", Value(index == 0)},
          {"last", Value(index + 1 == length)},
          {"length", Value(length)},
          {"previtem", i > 0 ? items[i - 1] : Value()},
          {"nextitem", i + 1 < items.size() ? items[i + 1] : Value()}};
}

Result<Flow> Renderer::for_statement(const Statement& statement) {
  TRY_ASSIGN(const List items, loop_items(statement));
  if (items.empty() && statement.blocks.size() > 1) return execute(statement.blocks[1]);
  for (size_t i = 0; i < items.size(); ++i) {
    TRY(work(statement.line, kLoopWork));
    scopes_.emplace_back();
    assign("loop", Value(loop_variable(items, i)));
    TRY(bind(statement, items[i]));
    TRY_ASSIGN(const Flow flow, execute(statement.blocks[0]));
    scopes_.pop_back();
    if (flow == Flow::kBreak) break;
  }
  return Flow::kNext;
}

// Gives a value to the targets of a loop or of a set tag; several targets unpack a list.
Result<void> Renderer::bind(const Statement& statement, const Value& value) {
  if (statement.targets.size() == 1) {
    if (statement.targets[0].find('.') != std::string::npos) return set_member(statement, value);
    assign(statement.targets[0], value);
    return {};
  }
  if (value.list() == nullptr || value.list()->size() != statement.targets.size()) {
    return wrong(statement.line, std::to_string(statement.targets.size()) + " names for " +
                                     value.kind_name() + ", expected a list of as many items");
  }
  for (size_t i = 0; i < statement.targets.size(); ++i) assign(statement.targets[i], (*value.list())[i]);
  return {};
}

Result<void> Renderer::set_member(const Statement& statement, Value value) {
  const size_t dot = statement.targets[0].find('.');
  const std::string name = statement.targets[0].substr(0, dot);
  const std::string member = statement.targets[0].substr(dot + 1);
  const Value target = lookup(name);
  if (target.name_space() == nullptr) {
    return wrong(statement.line,
                 "'" + name + "' is " + target.kind_name() + "; only members of a namespace can be set");
  }
  // A namespace that holds itself would never be freed.
  if (value.name_space() != nullptr) return wrong(statement.line, "a namespace cannot hold a namespace");
  Dict& members = *target.name_space()->members;
  for (auto& [key, old] : members) {
    if (key != member) continue;
    old = std::move(value);
    return {};
  }
  members.emplace_back(member, std::move(value));
  return {};
}

Result<void> Renderer::set_block(const Statement& statement) {
  std::string outside = std::exchange(out_, {});
  TRY(execute(statement.blocks[0]));
  std::string inside = std::exchange(out_, std::move(outside));
  return bind(statement, Value(std::move(inside)));
}

void Renderer::assign(const std::string& name, Value value) {
  for (auto& [key, old] : scopes_.back()) {
    if (key != name) continue;
    old = std::move(value);
    return;
  }
  scopes_.back().emplace_back(name, std::move(value));
}

Value Renderer::lookup(const std::string& name) const {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    if (const Value* value = find_key(*scope, name)) return *value;
  }
  return Value(Value::Undefined{name});
}

Result<Value> Renderer::evaluate(const Expression& e) {
  if (depth_ >= kMaxDepth)
    return wrong(e.line, "an expression nests deeper than " + std::to_string(kMaxDepth));
  ++depth_;
  TRY(work(e.line, 1));
  TRY_ASSIGN(Value value, evaluate_kind(e));
  --depth_;
  return checked(e.line, std::move(value));
}

Result<Value> Renderer::evaluate_kind(const Expression& e) {
  switch (e.kind) {
    case ExpressionKind::kNone:
      return Value(Value::None{});
    case ExpressionKind::kBool:
      return Value(e.number != 0);
    case ExpressionKind::kInteger:
      return Value(e.number);
    case ExpressionKind::kString:
      return Value(e.text);
    case ExpressionKind::kName:
      return lookup(e.text);
    case ExpressionKind::kList:
    case ExpressionKind::kDict:
      return collection(e);
    case ExpressionKind::kAttribute:
      return attribute(e);
    case ExpressionKind::kIndex:
      return index(e);
    case ExpressionKind::kSlice:
      return slice(e);
    case ExpressionKind::kCall:
      return call(e);
    case ExpressionKind::kFilter:
    case ExpressionKind::kTest:
      return filter_or_test(e);
    case ExpressionKind::kNot:
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr:
      return logic(e);
    case ExpressionKind::kNegate: {
      TRY_ASSIGN(const Value value, evaluate(*e.children[0]));
      return at(e.line, binary("-", Value(i64{0}), value));
    }
    case ExpressionKind::kBinary: {
      TRY_ASSIGN(const Value left, evaluate(*e.children[0]));
      TRY_ASSIGN(const Value right, evaluate(*e.children[1]));
      return at(e.line, binary(e.text, left, right));
    }
    case ExpressionKind::kCompare:
      return comparison(e);
    case ExpressionKind::kConditional:
      return conditional(e);
  }
  return fail(Code::kInternal, "chat template: unknown expression");
}

Result<Value> Renderer::collection(const Expression& e) {
  List items;
  for (const ExpressionPtr& child : e.children) {
    TRY_ASSIGN(Value item, evaluate(*child));
    if (item.name_space() != nullptr) return wrong(e.line, "a list or dict cannot hold a namespace");
    items.push_back(std::move(item));
  }
  if (e.kind == ExpressionKind::kList) return Value(std::move(items));
  Dict dict;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (items[i].string() == nullptr)
      return wrong(e.line, std::string("a dict key is ") + items[i].kind_name() + ", expected a text");
    const std::string& key = *items[i].string();
    const auto old =
        std::find_if(dict.begin(), dict.end(), [&](const auto& entry) { return entry.first == key; });
    if (old != dict.end()) {
      old->second = items[i + 1];
    } else {
      dict.emplace_back(key, items[i + 1]);
    }
  }
  return Value(std::move(dict));
}

Result<Value> Renderer::attribute(const Expression& e) {
  TRY_ASSIGN(const Value subject, evaluate(*e.children[0]));
  if (subject.is_undefined()) return wrong(e.line, "'" + subject.undefined()->name + "' is undefined");
  const Value* found = nullptr;
  if (subject.dict() != nullptr) found = find_key(*subject.dict(), e.text);
  if (subject.name_space() != nullptr) found = find_key(*subject.name_space()->members, e.text);
  return found != nullptr ? *found : Value(Value::Undefined{e.text});
}

Result<Value> Renderer::index(const Expression& e) {
  TRY_ASSIGN(const Value subject, evaluate(*e.children[0]));
  TRY_ASSIGN(const Value key, evaluate(*e.children[1]));
  if (subject.is_undefined()) return wrong(e.line, "'" + subject.undefined()->name + "' is undefined");
  if (key.string() != nullptr) {
    const Value* found = nullptr;
    if (subject.dict() != nullptr) found = find_key(*subject.dict(), *key.string());
    if (subject.name_space() != nullptr) found = find_key(*subject.name_space()->members, *key.string());
    return found != nullptr ? *found : Value(Value::Undefined{*key.string()});
  }
  if (key.is_number() && (subject.list() != nullptr || subject.string() != nullptr)) {
    std::vector<std::string_view> letters;
    if (subject.string() != nullptr) letters = characters(*subject.string());
    const i64 count = static_cast<i64>(subject.list() != nullptr ? subject.list()->size() : letters.size());
    const i64 i = key.number() < 0 ? key.number() + count : key.number();
    if (i >= 0 && i < count) {
      const size_t place = static_cast<size_t>(i);
      return subject.list() != nullptr ? (*subject.list())[place] : Value(std::string(letters[place]));
    }
  }
  return Value(Value::Undefined{to_text(key)});
}

Result<Value> Renderer::slice(const Expression& e) {
  TRY_ASSIGN(const Value subject, evaluate(*e.children[0]));
  if (subject.is_undefined()) return wrong(e.line, "'" + subject.undefined()->name + "' is undefined");
  if (subject.list() == nullptr && subject.string() == nullptr) return Value(Value::Undefined{"slice"});
  TRY_ASSIGN(const List items, items_of(subject));
  std::optional<i64> bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    if (e.children[i + 1] == nullptr) continue;
    TRY_ASSIGN(const Value bound, evaluate(*e.children[i + 1]));
    if (bound.is_none()) continue;
    if (!bound.is_number()) return wrong(e.line, std::string("a slice bound is ") + bound.kind_name());
    bounds[i] = bound.number();
  }
  const i64 count = static_cast<i64>(items.size());
  const i64 step = std::clamp<i64>(bounds[2].value_or(1), -count - 1, count + 1);
  if (step == 0) return wrong(e.line, "a slice of step 0");
  // As Python does: negative bounds count from the end, and all are cut to what exists.
  const i64 low = step > 0 ? 0 : -1;
  const i64 high = step > 0 ? count : count - 1;
  auto place = [&](std::optional<i64> bound, i64 otherwise) {
    if (!bound) return otherwise;
    return std::clamp(*bound < 0 ? *bound + count : *bound, low, high);
  };
  const i64 first = place(bounds[0], step > 0 ? low : high);
  const i64 last = place(bounds[1], step > 0 ? high : low);
  List out;
  for (i64 i = first; step > 0 ? i < last : i > last; i += step) out.push_back(items[static_cast<size_t>(i)]);
  if (subject.list() != nullptr) return Value(std::move(out));
  std::string text;
  for (const Value& c : out) text += *c.string();
  return Value(std::move(text));
}

Result<Arguments> Renderer::evaluate_arguments(const Expression& e) {
  Arguments out;
  const size_t first_named = e.children.size() - e.keywords.size();
  for (size_t i = 1; i < e.children.size(); ++i) {
    TRY_ASSIGN(Value value, evaluate(*e.children[i]));
    if (i < first_named) {
      out.positional.push_back(std::move(value));
    } else {
      out.named.emplace_back(e.keywords[i - first_named], std::move(value));
    }
  }
  return out;
}

Result<Value> Renderer::call(const Expression& e) {
  const Expression& callee = *e.children[0];
  TRY_ASSIGN(const Arguments arguments, evaluate_arguments(e));
  if (callee.kind == ExpressionKind::kName) return call_function(e, callee.text, arguments);
  if (callee.kind != ExpressionKind::kAttribute) {
    return fail(Code::kUnsupported, place(e.line) + "a call of a computed value is not supported");
  }
  TRY_ASSIGN(const Value subject, evaluate(*callee.children[0]));
  if (subject.is_undefined()) return wrong(e.line, "'" + subject.undefined()->name + "' is undefined");
  return at(e.line, call_method(subject, callee.text, arguments));
}

Result<Value> Renderer::call_function(const Expression& e, const std::string& name,
                                      const Arguments& arguments) {
  if (name == "raise_exception") {
    const Value* message = arguments.get(0, "message");
    return fail(Code::kInvalidArgument, "the chat template refuses this conversation: " +
                                            (message != nullptr ? to_text(*message) : std::string()));
  }
  if (name == "namespace") return make_namespace(e.line, arguments);
  if (name == "range") return make_range(e.line, arguments);
  if (name == "dict" && arguments.positional.empty()) return Value(arguments.named);
  return fail(Code::kUnsupported, place(e.line) + "function '" + name + "' is not supported");
}

Result<Value> Renderer::make_namespace(u32 line, const Arguments& arguments) {
  if (!arguments.positional.empty()) {
    return fail(Code::kUnsupported, place(line) + "namespace with positional arguments is not supported");
  }
  for (const auto& [name, value] : arguments.named) {
    if (value.name_space() != nullptr) return wrong(line, "a namespace cannot hold a namespace");
  }
  return Value(Value::Namespace{std::make_shared<Dict>(arguments.named)});
}

Result<Value> Renderer::make_range(u32 line, const Arguments& arguments) {
  const auto& given = arguments.positional;
  const bool numbers = std::all_of(given.begin(), given.end(), [](const Value& v) { return v.is_number(); });
  if (given.empty() || given.size() > 3 || !numbers) return wrong(line, "range wants one to three numbers");
  const i64 first = given.size() > 1 ? given[0].number() : 0;
  const i64 last = given.size() > 1 ? given[1].number() : given[0].number();
  const i64 step = given.size() > 2 ? given[2].number() : 1;
  if (step == 0) return wrong(line, "range of step 0");
  List out;
  for (i64 i = first; step > 0 ? i < last : i > last;) {
    if (out.size() >= kMaxRange)
      return wrong(line, "range of more than " + std::to_string(kMaxRange) + " numbers");
    out.emplace_back(i);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  return Value(std::move(out));
}

Result<Value> Renderer::filter_or_test(const Expression& e) {
  TRY_ASSIGN(const Value subject, evaluate(*e.children[0]));
  TRY_ASSIGN(const Arguments arguments, evaluate_arguments(e));
  TRY(work(e.line, weight(subject)));
  if (e.kind == ExpressionKind::kFilter) return at(e.line, apply_filter(e.text, subject, arguments));
  const Result<bool> passes = apply_test(e.text, subject, arguments);
  if (!passes.ok()) return at(e.line, passes.error());
  return Value(passes.value());
}

Result<Value> Renderer::logic(const Expression& e) {
  TRY_ASSIGN(Value left, evaluate(*e.children[0]));
  if (e.kind == ExpressionKind::kNot) return Value(!left.truthy());
  // As in Python, the result is the operand that decides.
  if (left.truthy() == (e.kind == ExpressionKind::kOr)) return left;
  return evaluate(*e.children[1]);
}

Result<Value> Renderer::comparison(const Expression& e) {
  TRY_ASSIGN(Value left, evaluate(*e.children[0]));
  for (size_t i = 0; i < e.operators.size(); ++i) {
    TRY_ASSIGN(Value right, evaluate(*e.children[i + 1]));
    TRY(work(e.line, weight(left) + weight(right)));
    const Result<bool> holds = compare(e.operators[i], left, right);
    if (!holds.ok()) return at(e.line, holds.error());
    if (!holds.value()) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Renderer::conditional(const Expression& e) {
  TRY_ASSIGN(const Value condition, evaluate(*e.children[1]));
  if (condition.truthy()) return evaluate(*e.children[0]);
  if (e.children[2] == nullptr) return Value(Value::Undefined{"value of an 'if' without 'else'"});
  return evaluate(*e.children[2]);
}

}  // namespace

Result<std::string> render(const Block& block, Dict variables) {
  return Renderer(std::move(variables)).run(block);
}

}  // namespace tegula::text::jinja
