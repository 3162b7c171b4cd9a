#include "text/template_lexer.h"

#include <algorithm>

#include "text/unicode.h"
#include "text/utf8.h"

namespace tegula::text::jinja {
namespace {

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_space(u32 code_point) {
  return (unicode_class(code_point) & kSpace) != 0 || (code_point >= 0x1C && code_point <= 0x1F);
}
bool is_name_start(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Without the white space at its end. The text is valid UTF-8.
std::string_view without_spaces_after(std::string_view text) {
  while (!text.empty()) {
    size_t start = text.size() - 1;
    while (start > 0 && (static_cast<u8>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_space(decode_utf8(text.substr(start)).code_point)) break;
    text = text.substr(0, start);
  }
  return text;
}

// Line ends become \n and one at the end of the template is dropped.
std::string prepare(std::string_view source) {
  std::string out;
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out.push_back(source[i]);
    } else if (i + 1 == source.size() || source[i + 1] != '\n') {
      out.push_back('\n');
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) TRY(text_then_tag());
    push(TokenKind::kEnd, "");
    return std::move(tokens_);
  }

 private:
  Error broken(const std::string& what) const {
    return fail(Code::kCorrupt, "chat template line " + std::to_string(line_) + ": " + what);
  }
  void push(TokenKind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }
  bool here(std::string_view text) const { return source_.compare(at_, text.size(), text) == 0; }
  void advance(u64 to) {
    line_ += static_cast<u32>(
        std::count(source_.begin() + static_cast<i64>(at_), source_.begin() + static_cast<i64>(to), '\n'));
    at_ = to;
  }
  void skip_blanks() {
    u64 to = at_;
    while (to < source_.size() && is_blank(source_[to])) ++to;
    advance(to);
  }
  // After a tag that ends with '-', any white space of Unicode goes.
  void skip_spaces() {
    u64 to = at_;
    while (to < source_.size()) {
      const Decoded d = decode_utf8(std::string_view(source_).substr(to));
      if (!is_space(d.code_point)) break;
      to += d.length;
    }
    advance(to);
  }

  u64 find_tag() const;
  void push_text(u64 end, char sign, bool output);
  Result<void> text_then_tag();
  Result<void> comment();
  Result<void> expression(std::string_view end, bool output);
  bool tag_end(std::string_view end, bool output);
  Result<void> token();
  Result<void> string(char quote);
  Result<void> escape(std::string& out);
  Result<void> escaped_code_point(u64 digits, std::string& out);
  Result<void> operation();

  std::string source_;
  u64 at_ = 0;
  u32 line_ = 1;
  std::vector<char> brackets_;  // closing brackets that the current tag still needs
  std::vector<Token> tokens_;
};

u64 Lexer::find_tag() const {
  for (u64 i = at_; i + 1 < source_.size(); ++i) {
    if (source_[i] == '{' && (source_[i + 1] == '{' || source_[i + 1] == '%' || source_[i + 1] == '#'))
      return i;
  }
  return source_.size();
}

// The text up to a tag whose opening is followed by `sign`: '-' removes white space before the tag; without
// '+', blanks between the start of a line and a tag that is no output go too (lstrip_blocks).
void Lexer::push_text(u64 end, char sign, bool output) {
  std::string_view text = std::string_view(source_).substr(at_, end - at_);
  const bool line_start = at_ == 0 || source_[at_ - 1] == '\n';
  if (sign == '-') {
    text = without_spaces_after(text);
  } else if (sign != '+' && !output && end < source_.size()) {
    const size_t newline = text.rfind('\n');
    const size_t start = newline == text.npos ? 0 : newline + 1;
    const bool blank = std::all_of(text.begin() + static_cast<i64>(start), text.end(), is_blank);
    if (blank && (start > 0 || line_start)) text = text.substr(0, start);
  }
  if (!text.empty()) push(TokenKind::kText, std::string(text));
  advance(end);
}

Result<void> Lexer::text_then_tag() {
  const u64 tag = find_tag();
  const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
  const char kind = tag < source_.size() ? source_[tag + 1] : '\0';
  push_text(tag, sign, kind == '{');
  if (tag == source_.size()) return {};
  if (kind == '#') return comment();
  push(kind == '{' ? TokenKind::kOutputBegin : TokenKind::kBlockBegin, "");
  // In an output tag a plus sign belongs to the expression.
  advance(at_ + (sign == '-' || (sign == '+' && kind == '%') ? 3 : 2));
  return expression(kind == '{' ? "}}" : "%}", kind == '{');
}

Result<void> Lexer::comment() {
  const size_t end = source_.find("#}", at_ + 2);
  if (end == source_.npos) return broken("comment without '#}'");
  const char sign = source_[end - 1];
  advance(end + 2);
  if (sign == '-') {
    skip_spaces();
  } else if (sign != '+' && here("\n")) {
    advance(at_ + 1);
  }
  return {};
}

// Consumes the end of a tag, if it is here, with the white space after it that goes with it.
bool Lexer::tag_end(std::string_view end, bool output) {
  const char first = source_[at_];
  const bool sign = first == '-' || (first == '+' && !output);
  if (source_.compare(at_ + (sign ? 1 : 0), end.size(), end) != 0) return false;
  advance(at_ + end.size() + (sign ? 1 : 0));
  if (first == '-') {
    skip_spaces();
  } else if (!output && !sign && here("\n")) {  // trim_blocks
    advance(at_ + 1);
  }
  return true;
}

Result<void> Lexer::expression(std::string_view end, bool output) {
  const u32 opened = line_;
  brackets_.clear();
  while (true) {
    skip_blanks();
    if (at_ >= source_.size()) {
      return fail(Code::kCorrupt, "chat template line " + std::to_string(opened) + ": tag without '" +
                                      std::string(end) + "'");
    }
    const u32 line = line_;
    if (brackets_.empty() && tag_end(end, output)) {
      tokens_.push_back({output ? TokenKind::kOutputEnd : TokenKind::kBlockEnd, "", line});
      return {};
    }
    TRY(token());
  }
}

Result<void> Lexer::token() {
  const char c = source_[at_];
  u64 to = at_;
  if (is_name_start(c)) {
    while (to < source_.size() && (is_name_start(source_[to]) || is_digit(source_[to]))) ++to;
    push(TokenKind::kName, source_.substr(at_, to - at_));
  } else if (is_digit(c)) {
    while (to < source_.size() && is_digit(source_[to])) ++to;
    if (to - at_ > 18) return broken("number of more than 18 digits");
    if (to + 1 < source_.size() && source_[to] == '.' && is_digit(source_[to + 1])) {
      return fail(Code::kUnsupported, "chat template line " + std::to_string(line_) +
                                          ": numbers with a fraction are not supported");
    }
    push(TokenKind::kInteger, source_.substr(at_, to - at_));
  } else if (c == '\'' || c == '"') {
    return string(c);
  } else {
    return operation();
  }
  advance(to);
  return {};
}

Result<void> Lexer::string(char quote) {
  std::string out;
  const u32 line = line_;
  advance(at_ + 1);
  while (at_ < source_.size() && source_[at_] != quote) {
    if (source_[at_] == '\\') {
      TRY(escape(out));
    } else {
      out.push_back(source_[at_]);
      advance(at_ + 1);
    }
  }
  if (at_ >= source_.size()) return broken("text without a closing quote");
  advance(at_ + 1);
  tokens_.push_back({TokenKind::kString, std::move(out), line});
  return {};
}

Result<void> Lexer::escape(std::string& out) {
  if (at_ + 1 >= source_.size()) return broken("text without a closing quote");
  const char c = source_[at_ + 1];
  advance(at_ + 2);
  constexpr std::string_view kFrom = "ntrabfv0\\'\"";
  constexpr std::string_view kTo = std::string_view("\n\t\r\a\b\f\v\0\\'\"", 11);
  if (const size_t at = kFrom.find(c); at != kFrom.npos) {
    out.push_back(kTo[at]);
  } else if (c == 'x' || c == 'u' || c == 'U') {
    return escaped_code_point(c == 'x' ? 2 : c == 'u' ? 4 : 8, out);
  } else if (c != '\n') {  // a backslash at the end of a line joins it with the next
    out.push_back('\\');
    out.push_back(c);
  }
  return {};
}

Result<void> Lexer::escaped_code_point(u64 digits, std::string& out) {
  u32 value = 0;
  for (u64 i = 0; i < digits; ++i) {
    const char c = at_ < source_.size() ? source_[at_] : '\0';
    const char low = static_cast<char>(c | 0x20);
    if (!is_digit(c) && (low < 'a' || low > 'f')) return broken("bad escape in a text");
    value = value << 4 | static_cast<u32>(is_digit(c) ? c - '0' : low - 'a' + 10);
    advance(at_ + 1);
  }
  if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000))
    return broken("escape in a text names no character");
  append_utf8(out, value);
  return {};
}

Result<void> Lexer::operation() {
  constexpr std::string_view kOperators[] = {"==", "!=", "<=", ">=", "//", "**", "+", "-", "*",
                                             "/",  "%",  "~",  "<",  ">",  "(",  ")", "[", "]",
                                             "{",  "}",  ",",  ":",  ".",  "|",  "="};
  for (const std::string_view op : kOperators) {
    if (!here(op)) continue;
    if (op == "(") brackets_.push_back(')');
    if (op == "[") brackets_.push_back(']');
    if (op == "{") brackets_.push_back('}');
    if (op == ")" || op == "]" || op == "}") {
      if (brackets_.empty() || brackets_.back() != op[0])
        return broken("'" + std::string(op) + "' closes nothing");
      brackets_.pop_back();
    }
    push(TokenKind::kOperator, std::string(op));
    advance(at_ + op.size());
    return {};
  }
  return broken("unexpected character '" + sanitize_utf8(std::string_view(source_).substr(at_, 1)) +
                "' in a tag");
}

}  // namespace

Result<std::vector<Token>> lex_template(std::string_view source) {
  return Lexer(prepare(source)).run();
}

}  // namespace tegula::text::jinja
