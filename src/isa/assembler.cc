// Two steps: the source becomes statements, whose text is then assembled in passes until no label moves.
#include "isa/assembler.h"

#include <algorithm>
#include <map>

#include "isa/text.h"

namespace tegula::isa {

namespace {

// A pass moves a label only when the size of a bundle depends on the value of another label, which no
// instruction of the table does; the cap is for safety.
constexpr int kMaxPasses = 8;
constexpr i64 kMaxAlign = 1 << 16;

enum class Kind : u8 {
  kLabel,
  kBundle,
  kByte,
  kWord,
  kZero,
  kAlign,
  kSet,
};

struct Statement {
  Kind kind;
  u32 line;               // from 1
  size_t column;          // of the text, from 0
  std::string_view text;  // without comment; a label's name
  bool fixed = false;     // code holds its bytes, whatever the labels are
  Bytes code{};
};

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

size_t pass_over(std::string_view text, size_t at, bool (*accept)(char)) {
  while (at < text.size() && accept(text[at])) ++at;
  return at;
}

class Program {
 public:
  explicit Program(std::string_view name) : name_(name) {}

  Result<void> parse(std::string_view source);
  Result<Assembled> assemble();

 private:
  Error error(u32 line, size_t column, const std::string& text) const {
    return fail(Code::kInvalidArgument, std::string(name_) + ":" + std::to_string(line) + ":" +
                                            std::to_string(column + 1) + ": " + text);
  }
  Error wrong(const Statement& statement, size_t at, const std::string& expected) const {
    return error(statement.line, statement.column + at,
                 "expected " + expected + ", found " + shown(statement.text, at));
  }

  Result<void> parse_line(std::string_view line, u32 number);
  Result<void> add_label(std::string_view name, u32 line, size_t column);
  Result<void> add_directive(std::string_view text, u32 line, size_t column);
  Result<void> add_tile(const Statement& statement);

  Result<void> run_pass();
  Result<void> place(Statement& statement);
  Result<void> place_bundle(Statement& statement);
  Result<void> place_values(const Statement& statement, int bytes);
  Result<void> place_zeros(const Statement& statement);
  Result<void> place_alignment(const Statement& statement);
  Result<void> define(const Statement& statement);
  Result<i64> number(const Statement& statement, size_t& at, i64 low, i64 high, bool layout = true) const;
  Number lookup(std::string_view name) const;
  void set(std::string_view name, i64 value);

  std::string_view name_;
  std::vector<Statement> statements_;
  std::map<std::string_view, u32> label_lines_;
  std::map<std::string_view, i64> values_;  // of labels and symbols, as far as known
  bool has_tile_ = false, moved_ = false;
  Bytes code_;
};

// ------------------------------------------------------------- source to statements

Result<void> Program::parse(std::string_view source) {
  u32 number = 1;
  for (size_t at = 0; at <= source.size(); ++number) {
    const size_t end = std::min(source.find('\n', at), source.size());
    std::string_view line = source.substr(at, end - at);
    line = line.substr(0, line.find("//"));
    TRY(parse_line(line, number));
    at = end + 1;
  }
  return {};
}

// Behind "0001a0:", a listing's address, bytes in pairs of digits may stand.
size_t pass_columns(std::string_view line) {
  size_t at = pass_over(line, 0, is_space);
  if (at >= line.size() || !is_digit(line[at])) return at;
  const size_t end = pass_over(line, at, is_hex);
  if (end >= line.size() || line[end] != ':') return at;
  at = pass_over(line, end + 1, is_space);
  for (;;) {
    const size_t word = pass_over(line, at, is_hex);
    const bool pair = word == at + 2 && (word == line.size() || is_space(line[word]));
    if (!pair) return at;
    at = pass_over(line, word, is_space);
  }
}

Result<void> Program::parse_line(std::string_view line, u32 number) {
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  size_t at = pass_columns(line);
  for (;;) {
    const size_t end = pass_over(line, at, is_word);
    if (end == at || end >= line.size() || line[end] != ':') break;
    TRY(add_label(line.substr(at, end - at), number, at));
    at = pass_over(line, end + 1, is_space);
  }
  if (at >= line.size()) return {};
  const std::string_view text = line.substr(at);
  if (text[0] == '.') return add_directive(text, number, at);
  statements_.push_back({Kind::kBundle, number, at, text});
  return {};
}

Result<void> Program::add_label(std::string_view name, u32 line, size_t column) {
  if (is_digit(name[0]))
    return error(line, column, "expected a label that starts with a letter, found " + shown(name, 0));
  const auto [known, fresh] = label_lines_.emplace(name, line);
  if (!fresh) {
    return error(line, column,
                 "expected a new label, found '" + std::string(name) + "', which is that of line " +
                     std::to_string(known->second) + " already");
  }
  statements_.push_back({Kind::kLabel, line, column, name});
  return {};
}

Result<void> Program::add_directive(std::string_view text, u32 line, size_t column) {
  static const std::map<std::string_view, Kind> kinds = {{".byte", Kind::kByte},
                                                         {".word", Kind::kWord},
                                                         {".zero", Kind::kZero},
                                                         {".align", Kind::kAlign},
                                                         {".set", Kind::kSet}};
  const size_t word = pass_over(text, 1, is_word), at = pass_over(text, word, is_space);
  const std::string_view directive = text.substr(0, word);
  Statement statement{Kind::kByte, line, column + at, text.substr(at)};
  if (directive == ".tile") return add_tile(statement);
  const auto known = kinds.find(directive);
  if (known == kinds.end()) {
    return error(
        line, column,
        "expected a directive (.align, .byte, .set, .tile, .word, .zero), found " + shown(directive, 0));
  }
  statement.kind = known->second;
  statements_.push_back(statement);
  return {};
}

// ".tile 0,2" says where a listing's program ran; it makes no bytes.
Result<void> Program::add_tile(const Statement& statement) {
  if (has_tile_) {
    return error(statement.line, statement.column,
                 "expected one program, found the .tile of a second; disassemble one of them with --tile");
  }
  has_tile_ = true;
  size_t at = 0;
  TRY(number(statement, at, 0, 255));
  at = pass_over(statement.text, at, is_space);
  if (at >= statement.text.size() || statement.text[at] != ',') return wrong(statement, at, "','");
  at = pass_over(statement.text, at + 1, is_space);
  TRY(number(statement, at, 0, 255));
  if (at != statement.text.size()) return wrong(statement, at, "the end of the line");
  return {};
}

// ------------------------------------------------------------- statements to bytes

Number Program::lookup(std::string_view name) const {
  Number number;
  const auto value = values_.find(name);
  if (value != values_.end()) {
    number.kind = Number::kKnown;
    number.value = value->second;
  } else {
    number.kind = label_lines_.contains(name) ? Number::kLater : Number::kUndefined;
  }
  return number;
}

void Program::set(std::string_view name, i64 value) {
  const auto [known, fresh] = values_.emplace(name, value);
  moved_ = moved_ || fresh || known->second != value;
  known->second = value;
}

// A number from low to high. Where its value matters for the layout, a label behind cannot be it.
Result<i64> Program::number(const Statement& statement, size_t& at, i64 low, i64 high, bool layout) const {
  const size_t first = at;
  const Number found =
      parse_number(statement.text, at, [this](std::string_view name) { return lookup(name); });
  const std::string expected = "a number " + std::to_string(low) + ".." + std::to_string(high);
  if (found.kind == Number::kLater && !layout) return std::max<i64>(low, 0);
  if (found.kind == Number::kLater) return wrong(statement, first, expected + " that is known here");
  if (found.kind != Number::kKnown || found.value < low || found.value > high)
    return wrong(statement, first, expected);
  return found.value;
}

Result<void> Program::place_bundle(Statement& statement) {
  bool symbolic = false;
  Bundle bundle;
  const auto problem = isa::assemble(
      statement.text,
      [&](std::string_view name) {
        symbolic = true;
        return lookup(name);
      },
      bundle);
  if (problem) return error(statement.line, statement.column + problem->column - 1, problem->text);
  Result<Bytes> bytes = encode(bundle);
  if (!bytes.ok()) return error(statement.line, statement.column, bytes.error().message);
  code_.insert(code_.end(), bytes->begin(), bytes->end());
  statement.fixed = !symbolic;
  if (statement.fixed) statement.code = std::move(*bytes);
  return {};
}

Result<void> Program::place_values(const Statement& statement, int bytes) {
  const i64 range = i64{1} << (8 * bytes);
  for (size_t at = 0;;) {
    TRY_ASSIGN(const i64 value, number(statement, at, -range / 2, range - 1, false));
    for (int i = 0; i < bytes; ++i) code_.push_back(static_cast<u8>(value >> (8 * i)));
    at = pass_over(statement.text, at, is_space);
    if (at == statement.text.size()) return {};
    if (statement.text[at] != ',') return wrong(statement, at, "',' or the end of the line");
    at = pass_over(statement.text, at + 1, is_space);
  }
}

Result<void> Program::place_zeros(const Statement& statement) {
  size_t at = 0;
  TRY_ASSIGN(const i64 count, number(statement, at, 0, kMaxProgramBytes));
  if (at != statement.text.size()) return wrong(statement, at, "the end of the line");
  code_.resize(code_.size() + static_cast<size_t>(count), 0);
  return {};
}

// Up to a multiple with nops of two bytes, which are zeros.
Result<void> Program::place_alignment(const Statement& statement) {
  size_t at = 0;
  TRY_ASSIGN(const i64 step, number(statement, at, 1, kMaxAlign));
  if (at != statement.text.size()) return wrong(statement, at, "the end of the line");
  if ((step & (step - 1)) != 0) return wrong(statement, 0, "a power of two");
  const size_t unit = static_cast<size_t>(step);
  code_.resize((code_.size() + unit - 1) / unit * unit, 0);
  return {};
}

Result<void> Program::define(const Statement& statement) {
  const size_t end = pass_over(statement.text, 0, is_word);
  const std::string_view name = statement.text.substr(0, end);
  if (end == 0 || is_digit(name[0])) return wrong(statement, 0, "a name");
  if (label_lines_.contains(name)) return wrong(statement, 0, "a name that is no label");
  size_t at = pass_over(statement.text, end, is_space);
  if (at >= statement.text.size() || statement.text[at] != ',') return wrong(statement, at, "','");
  at = pass_over(statement.text, at + 1, is_space);
  TRY_ASSIGN(const i64 value, number(statement, at, -(i64{1} << 31), (i64{1} << 32) - 1));
  if (at != statement.text.size()) return wrong(statement, at, "the end of the line");
  set(name, value);
  return {};
}

Result<void> Program::place(Statement& statement) {
  if (statement.fixed) {
    code_.insert(code_.end(), statement.code.begin(), statement.code.end());
    return {};
  }
  switch (statement.kind) {
    case Kind::kLabel:
      set(statement.text, static_cast<i64>(code_.size()));
      return {};
    case Kind::kBundle:
      return place_bundle(statement);
    case Kind::kByte:
      return place_values(statement, 1);
    case Kind::kWord:
      return place_values(statement, 4);
    case Kind::kZero:
      return place_zeros(statement);
    case Kind::kAlign:
      return place_alignment(statement);
    case Kind::kSet:
      return define(statement);
  }
  return {};
}

Result<void> Program::run_pass() {
  moved_ = false;
  code_.clear();
  for (Statement& statement : statements_) {
    TRY(place(statement));
    if (code_.size() > kMaxProgramBytes) {
      return fail(Code::kOutOfRange, std::string(name_) + ":" + std::to_string(statement.line) +
                                         ": the program is larger than " + std::to_string(kMaxProgramBytes) +
                                         " bytes, which is what addresses reach");
    }
  }
  return {};
}

Result<Assembled> Program::assemble() {
  int pass = 0;
  do {
    if (pass++ == kMaxPasses)
      return fail(Code::kInternal, std::string(name_) + ": labels still move after 8 passes");
    TRY(run_pass());
  } while (moved_);
  Assembled out;
  out.code = std::move(code_);
  for (const Statement& statement : statements_) {
    if (statement.kind == Kind::kLabel)
      out.labels.emplace_back(statement.text, static_cast<u32>(values_.at(statement.text)));
  }
  return out;
}

}  // namespace

Result<Assembled> assemble_program(std::string_view source, std::string_view name) {
  Program program(name);
  TRY(program.parse(source));
  return program.assemble();
}

}  // namespace tegula::isa
