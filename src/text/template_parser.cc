// The grammar of the Jinja template language, as far as chat templates use it (jinja.palletsprojects.com,
// template designer documentation): one function for each level of binding.
#include <algorithm>

#include "text/template_ast.h"
#include "text/template_lexer.h"

namespace tegula::text::jinja {
namespace {

constexpr u32 kMaxDepth = 100;      // of nested expressions and blocks; real templates stay below 20
constexpr u32 kMaxLinks = 30;       // of one chain of members, subscripts, filters
constexpr u32 kMaxOperands = 1000;  // of one statement: a long sum is a deep tree

ExpressionPtr node(ExpressionKind kind, u32 line, std::string text = {}) {
  auto out = std::make_unique<Expression>();
  out->kind = kind;
  out->line = line;
  out->text = std::move(text);
  return out;
}

using ExpressionResult = Result<ExpressionPtr>;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  Result<Block> run() {
    TRY_ASSIGN(Block out, block({}));
    if (peek().kind != TokenKind::kEnd)
      return broken("'" + tokens_[at_ + 1].text + "' without its opening tag");
    return out;
  }

 private:
  // Counts the nesting of the calls that hold one.
  struct Depth {
    explicit Depth(u32& count) : count(count) { ++count; }
    ~Depth() { --count; }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;
    u32& count;
  };

  const Token& peek() const { return tokens_[at_]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool is_operator(std::string_view text) const {
    return peek().kind == TokenKind::kOperator && peek().text == text;
  }
  bool is_name(std::string_view text) const { return peek().kind == TokenKind::kName && peek().text == text; }
  bool skip_operator(std::string_view text) { return is_operator(text) && (take(), true); }
  bool skip_name(std::string_view text) { return is_name(text) && (take(), true); }

  std::string place() const { return "chat template line " + std::to_string(peek().line) + ": "; }
  Error broken(const std::string& what) const { return fail(Code::kCorrupt, place() + what); }
  Error unsupported(const std::string& what) const {
    return fail(Code::kUnsupported, place() + what + " is not supported");
  }
  std::string found() const {
    switch (peek().kind) {
      case TokenKind::kText:
        return "text";
      case TokenKind::kOutputBegin:
        return "'{{'";
      case TokenKind::kOutputEnd:
        return "'}}'";
      case TokenKind::kBlockBegin:
        return "'{%'";
      case TokenKind::kBlockEnd:
        return "'%}'";
      case TokenKind::kEnd:
        return "the end";
      default:
        return "'" + peek().text + "'";
    }
  }
  Result<void> expect_operator(std::string_view text) {
    if (skip_operator(text)) return {};
    return broken("expected '" + std::string(text) + "', found " + found());
  }
  Result<void> expect_kind(TokenKind kind, const char* what) {
    if (peek().kind != kind) return broken(std::string("expected ") + what + ", found " + found());
    take();
    return {};
  }
  Result<std::string> expect_name() {
    if (peek().kind != TokenKind::kName) return broken("expected a name, found " + found());
    return take().text;
  }

  // Statements
  bool at_tag(const std::vector<std::string_view>& names) const;
  Result<Block> block(const std::vector<std::string_view>& ends);
  Result<std::string> end_tag();
  Result<Statement> statement();
  Result<Statement> output();
  Result<Statement> tag();
  Result<Statement> if_tag();
  Result<Statement> for_tag();
  Result<Statement> set_tag();
  Result<Statement> generation_tag();
  Result<std::vector<std::string>> targets();

  // Expressions, loosest binding first
  ExpressionResult expression();
  ExpressionResult conditional();
  ExpressionResult either();
  ExpressionResult both();
  ExpressionResult negation();
  ExpressionResult comparison();
  ExpressionResult sum();
  ExpressionResult concatenation();
  ExpressionResult product();
  ExpressionResult unary(bool with_filter);
  ExpressionResult primary();
  ExpressionResult name_or_constant();
  ExpressionResult parenthesis();
  ExpressionResult list();
  ExpressionResult dict();
  ExpressionResult postfix(ExpressionPtr subject);
  ExpressionResult subscript(ExpressionPtr subject);
  ExpressionResult filters_and_tests(ExpressionPtr subject);
  ExpressionResult filter(ExpressionPtr subject);
  ExpressionResult test(ExpressionPtr subject);
  Result<void> arguments(Expression& call);
  Result<std::string> comparison_operator();
  template <typename Operand>
  ExpressionResult left_to_right(std::vector<std::string_view> operators, Operand operand);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  u32 depth_ = 0;
  u32 operands_ = 0;
};

bool Parser::at_tag(const std::vector<std::string_view>& names) const {
  if (peek().kind != TokenKind::kBlockBegin || tokens_[at_ + 1].kind != TokenKind::kName) return false;
  return std::find(names.begin(), names.end(), tokens_[at_ + 1].text) != names.end();
}

// Statements up to a tag of `ends` or any other closing tag, which stays.
Result<Block> Parser::block(const std::vector<std::string_view>& ends) {
  const Depth depth(depth_);
  if (depth_ > kMaxDepth) return broken("blocks nested deeper than " + std::to_string(kMaxDepth));
  Block out;
  while (peek().kind != TokenKind::kEnd && !at_tag(ends) &&
         !at_tag({"endif", "endfor", "endset", "elif", "else", "endgeneration"})) {
    TRY_ASSIGN(Statement one, statement());
    out.push_back(std::move(one));
  }
  if (!ends.empty() && !at_tag(ends)) {
    return broken("expected '" + std::string(ends.back()) + "', found " +
                  (peek().kind == TokenKind::kBlockBegin ? "'" + tokens_[at_ + 1].text + "'" : found()));
  }
  return out;
}

// Takes "{% name" and leaves what follows.
Result<std::string> Parser::end_tag() {
  TRY(expect_kind(TokenKind::kBlockBegin, "'{%'"));
  return expect_name();
}

Result<Statement> Parser::statement() {
  operands_ = 0;
  if (peek().kind == TokenKind::kOutputBegin) return output();
  if (peek().kind == TokenKind::kBlockBegin) return tag();
  Statement out;
  out.line = peek().line;
  out.text = take().text;
  return out;
}

Result<Statement> Parser::output() {
  Statement out;
  out.kind = StatementKind::kOutput;
  out.line = take().line;
  TRY_ASSIGN(out.value, expression());
  TRY(expect_kind(TokenKind::kOutputEnd, "'}}'"));
  return out;
}

Result<Statement> Parser::tag() {
  take();
  const u32 line = peek().line;
  TRY_ASSIGN(const std::string name, expect_name());
  if (name == "if") return if_tag();
  if (name == "for") return for_tag();
  if (name == "set") return set_tag();
  if (name == "generation") return generation_tag();
  if (name == "break" || name == "continue") {
    Statement out;
    out.kind = name == "break" ? StatementKind::kBreak : StatementKind::kContinue;
    out.line = line;
    TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
    return out;
  }
  return unsupported("tag '" + name + "'");
}

Result<Statement> Parser::if_tag() {
  Statement out;
  out.kind = StatementKind::kIf;
  out.line = peek().line;
  for (std::string tag = "if"; tag != "endif";) {
    if (tag != "else") {
      TRY_ASSIGN(ExpressionPtr condition, expression());
      out.tests.push_back(std::move(condition));
    }
    TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
    std::vector<std::string_view> ends{"endif"};
    if (tag != "else") ends = {"elif", "else", "endif"};
    TRY_ASSIGN(Block branch, block(ends));
    out.blocks.push_back(std::move(branch));
    TRY_ASSIGN(tag, end_tag());
  }
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  return out;
}

// Names with commas between, with or without parentheses.
Result<std::vector<std::string>> Parser::targets() {
  std::vector<std::string> out;
  const bool parenthesis = skip_operator("(");
  do {
    TRY_ASSIGN(std::string name, expect_name());
    out.push_back(std::move(name));
  } while (skip_operator(","));
  if (parenthesis) TRY(expect_operator(")"));
  return out;
}

Result<Statement> Parser::for_tag() {
  Statement out;
  out.kind = StatementKind::kFor;
  out.line = peek().line;
  TRY_ASSIGN(out.targets, targets());
  if (!skip_name("in")) return broken("expected 'in', found " + found());
  TRY_ASSIGN(out.value, either());  // no `if` of its own: that one filters the loop
  if (skip_name("if")) {
    TRY_ASSIGN(out.filter, expression());
  }
  if (is_name("recursive")) return unsupported("a recursive loop");
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  TRY_ASSIGN(Block body, block({"else", "endfor"}));
  out.blocks.push_back(std::move(body));
  TRY_ASSIGN(std::string tag, end_tag());
  if (tag == "else") {
    TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
    TRY_ASSIGN(Block otherwise, block({"endfor"}));
    out.blocks.push_back(std::move(otherwise));
    TRY_ASSIGN(tag, end_tag());
  }
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  return out;
}

Result<Statement> Parser::set_tag() {
  Statement out;
  out.kind = StatementKind::kSet;
  out.line = peek().line;
  TRY_ASSIGN(out.targets, targets());
  if (out.targets.size() == 1 && skip_operator(".")) {
    TRY_ASSIGN(const std::string member, expect_name());
    out.targets[0] += "." + member;
  }
  if (skip_operator("=")) {
    TRY_ASSIGN(out.value, expression());
    if (is_operator(",")) {
      auto tuple = node(ExpressionKind::kList, out.line);
      tuple->children.push_back(std::move(out.value));
      while (skip_operator(",")) {
        TRY_ASSIGN(ExpressionPtr item, expression());
        tuple->children.push_back(std::move(item));
      }
      out.value = std::move(tuple);
    }
    TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
    return out;
  }
  if (is_operator("|")) return unsupported("a filter on a set block");
  out.kind = StatementKind::kSetBlock;
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  TRY_ASSIGN(Block body, block({"endset"}));
  out.blocks.push_back(std::move(body));
  TRY(end_tag());
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  return out;
}

// transformers marks the assistant's text with it; the text itself is plain. An `if` that is always taken
// holds it.
Result<Statement> Parser::generation_tag() {
  Statement out;
  out.kind = StatementKind::kIf;
  out.line = peek().line;
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  TRY_ASSIGN(Block body, block({"endgeneration"}));
  out.blocks.push_back(std::move(body));
  TRY(end_tag());
  TRY(expect_kind(TokenKind::kBlockEnd, "'%}'"));
  return out;
}

ExpressionResult Parser::expression() {
  const Depth depth(depth_);
  if (depth_ > kMaxDepth) return broken("expressions nested deeper than " + std::to_string(kMaxDepth));
  return conditional();
}

ExpressionResult Parser::conditional() {
  TRY_ASSIGN(ExpressionPtr value, either());
  while (is_name("if")) {
    auto out = node(ExpressionKind::kConditional, take().line);
    TRY_ASSIGN(ExpressionPtr condition, either());
    ExpressionPtr otherwise;
    if (skip_name("else")) {
      TRY_ASSIGN(otherwise, expression());
    }
    out->children.push_back(std::move(value));
    out->children.push_back(std::move(condition));
    out->children.push_back(std::move(otherwise));
    value = std::move(out);
  }
  return value;
}

ExpressionResult Parser::either() {
  TRY_ASSIGN(ExpressionPtr left, both());
  while (is_name("or")) {
    auto out = node(ExpressionKind::kOr, take().line);
    TRY_ASSIGN(ExpressionPtr right, both());
    out->children.push_back(std::move(left));
    out->children.push_back(std::move(right));
    left = std::move(out);
  }
  return left;
}

ExpressionResult Parser::both() {
  TRY_ASSIGN(ExpressionPtr left, negation());
  while (is_name("and")) {
    auto out = node(ExpressionKind::kAnd, take().line);
    TRY_ASSIGN(ExpressionPtr right, negation());
    out->children.push_back(std::move(left));
    out->children.push_back(std::move(right));
    left = std::move(out);
  }
  return left;
}

ExpressionResult Parser::negation() {
  if (!is_name("not")) return comparison();
  const Depth depth(depth_);
  if (depth_ > kMaxDepth) return broken("expressions nested deeper than " + std::to_string(kMaxDepth));
  auto out = node(ExpressionKind::kNot, take().line);
  TRY_ASSIGN(ExpressionPtr value, negation());
  out->children.push_back(std::move(value));
  return out;
}

// Takes a comparison operator; empty where there is none.
Result<std::string> Parser::comparison_operator() {
  for (const std::string_view op : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (skip_operator(op)) return std::string(op);
  }
  if (skip_name("in")) return std::string("in");
  if (is_name("not") && tokens_[at_ + 1].kind == TokenKind::kName && tokens_[at_ + 1].text == "in") {
    take();
    take();
    return std::string("not in");
  }
  return std::string();
}

ExpressionResult Parser::comparison() {
  TRY_ASSIGN(ExpressionPtr first, sum());
  auto out = node(ExpressionKind::kCompare, peek().line);
  out->children.push_back(std::move(first));
  while (true) {
    TRY_ASSIGN(std::string op, comparison_operator());
    if (op.empty()) break;
    TRY_ASSIGN(ExpressionPtr next, sum());
    out->operators.push_back(std::move(op));
    out->children.push_back(std::move(next));
  }
  if (out->operators.empty()) return std::move(out->children[0]);
  return out;
}

template <typename Operand>
ExpressionResult Parser::left_to_right(std::vector<std::string_view> operators, Operand operand) {
  TRY_ASSIGN(ExpressionPtr left, operand());
  while (peek().kind == TokenKind::kOperator &&
         std::find(operators.begin(), operators.end(), peek().text) != operators.end()) {
    const Token op = take();
    if (op.text == "/" || op.text == "**") return unsupported("operator '" + op.text + "'");
    auto out = node(ExpressionKind::kBinary, op.line, op.text);
    TRY_ASSIGN(ExpressionPtr right, operand());
    out->children.push_back(std::move(left));
    out->children.push_back(std::move(right));
    left = std::move(out);
  }
  return left;
}

ExpressionResult Parser::sum() {
  return left_to_right({"+", "-"}, [&] { return concatenation(); });
}
ExpressionResult Parser::concatenation() {
  return left_to_right({"~"}, [&] { return product(); });
}
ExpressionResult Parser::product() {
  return left_to_right({"*", "/", "//", "%", "**"}, [&] { return unary(true); });
}

ExpressionResult Parser::unary(bool with_filter) {
  const Depth depth(depth_);
  if (depth_ > kMaxDepth) return broken("expressions nested deeper than " + std::to_string(kMaxDepth));
  if (++operands_ > kMaxOperands)
    return broken("more than " + std::to_string(kMaxOperands) + " values in one statement");
  ExpressionPtr value;
  if (is_operator("-")) {
    auto out = node(ExpressionKind::kNegate, take().line);
    TRY_ASSIGN(ExpressionPtr operand, unary(false));
    out->children.push_back(std::move(operand));
    value = std::move(out);
  } else {
    TRY_ASSIGN(ExpressionPtr start, primary());
    TRY_ASSIGN(value, postfix(std::move(start)));
  }
  return with_filter ? filters_and_tests(std::move(value)) : ExpressionResult(std::move(value));
}

ExpressionResult Parser::primary() {
  const Token& token = peek();
  if (token.kind == TokenKind::kName) return name_or_constant();
  if (token.kind == TokenKind::kInteger) {
    auto out = node(ExpressionKind::kInteger, token.line);
    out->number = std::stoll(take().text);  // the lexer allows 18 digits
    return out;
  }
  if (token.kind == TokenKind::kString) {
    auto out = node(ExpressionKind::kString, token.line);
    while (peek().kind == TokenKind::kString) out->text += take().text;  // neighbours join
    return out;
  }
  if (is_operator("(")) return parenthesis();
  if (is_operator("[")) return list();
  if (is_operator("{")) return dict();
  return broken("expected a value, found " + found());
}

ExpressionResult Parser::name_or_constant() {
  const Token token = take();
  if (token.text == "none" || token.text == "None") return node(ExpressionKind::kNone, token.line);
  const bool yes = token.text == "true" || token.text == "True";
  if (yes || token.text == "false" || token.text == "False") {
    auto out = node(ExpressionKind::kBool, token.line);
    out->number = yes;
    return out;
  }
  return node(ExpressionKind::kName, token.line, token.text);
}

ExpressionResult Parser::parenthesis() {
  const u32 line = take().line;
  auto tuple = node(ExpressionKind::kList, line);
  if (skip_operator(")")) return tuple;
  TRY_ASSIGN(ExpressionPtr first, expression());
  if (!is_operator(",")) {
    TRY(expect_operator(")"));
    return first;
  }
  tuple->children.push_back(std::move(first));
  while (skip_operator(",") && !is_operator(")")) {
    TRY_ASSIGN(ExpressionPtr item, expression());
    tuple->children.push_back(std::move(item));
  }
  TRY(expect_operator(")"));
  return tuple;
}

ExpressionResult Parser::list() {
  auto out = node(ExpressionKind::kList, take().line);
  while (!is_operator("]")) {
    TRY_ASSIGN(ExpressionPtr item, expression());
    out->children.push_back(std::move(item));
    if (!skip_operator(",")) break;
  }
  TRY(expect_operator("]"));
  return out;
}

ExpressionResult Parser::dict() {
  auto out = node(ExpressionKind::kDict, take().line);
  while (!is_operator("}")) {
    TRY_ASSIGN(ExpressionPtr key, expression());
    TRY(expect_operator(":"));
    TRY_ASSIGN(ExpressionPtr value, expression());
    out->children.push_back(std::move(key));
    out->children.push_back(std::move(value));
    if (!skip_operator(",")) break;
  }
  TRY(expect_operator("}"));
  return out;
}

// A chain may be long, and the tree grows one level with each link, so the links count too.
ExpressionResult Parser::postfix(ExpressionPtr subject) {
  for (u32 links = 0;; ++links) {
    if (links > kMaxLinks)
      return broken("a chain of more than " + std::to_string(kMaxLinks) + " members or filters");
    if (skip_operator(".")) {
      if (peek().kind == TokenKind::kInteger) return unsupported("an index after a dot");
      TRY_ASSIGN(const std::string name, expect_name());
      auto out = node(ExpressionKind::kAttribute, peek().line, name);
      out->children.push_back(std::move(subject));
      subject = std::move(out);
    } else if (is_operator("[")) {
      TRY_ASSIGN(subject, subscript(std::move(subject)));
    } else if (is_operator("(")) {
      auto out = node(ExpressionKind::kCall, peek().line);
      out->children.push_back(std::move(subject));
      TRY(arguments(*out));
      subject = std::move(out);
    } else {
      return subject;
    }
  }
}

ExpressionResult Parser::subscript(ExpressionPtr subject) {
  auto out = node(ExpressionKind::kIndex, take().line);
  out->children.push_back(std::move(subject));
  auto bound = [&]() -> Result<void> {
    ExpressionPtr value;
    if (!is_operator(":") && !is_operator("]")) {
      TRY_ASSIGN(value, expression());
    }
    out->children.push_back(std::move(value));
    return {};
  };
  TRY(bound());
  while (skip_operator(":")) {
    out->kind = ExpressionKind::kSlice;
    TRY(bound());
  }
  TRY(expect_operator("]"));
  if (out->kind == ExpressionKind::kIndex && out->children[1] == nullptr) return broken("empty subscript");
  if (out->children.size() > 4) return broken("slice of more than three parts");
  if (out->kind == ExpressionKind::kSlice) out->children.resize(4);
  return out;
}

Result<void> Parser::arguments(Expression& call) {
  TRY(expect_operator("("));
  while (!is_operator(")")) {
    const bool keyword = peek().kind == TokenKind::kName && tokens_[at_ + 1].kind == TokenKind::kOperator &&
                         tokens_[at_ + 1].text == "=";
    if (is_operator("*") || is_operator("**")) return unsupported("an unpacked argument");
    if (keyword) {
      call.keywords.push_back(take().text);
      take();
    } else if (!call.keywords.empty()) {
      return broken("a positional argument after a named one");
    }
    TRY_ASSIGN(ExpressionPtr value, expression());
    call.children.push_back(std::move(value));
    if (!skip_operator(",")) break;
  }
  return expect_operator(")");
}

ExpressionResult Parser::filters_and_tests(ExpressionPtr subject) {
  for (u32 links = 0;; ++links) {
    if (links > kMaxLinks)
      return broken("a chain of more than " + std::to_string(kMaxLinks) + " members or filters");
    if (is_operator("|")) {
      TRY_ASSIGN(subject, filter(std::move(subject)));
    } else if (is_name("is")) {
      TRY_ASSIGN(subject, test(std::move(subject)));
    } else if (is_operator("(")) {
      return unsupported("a call of a filter's result");
    } else {
      return subject;
    }
  }
}

ExpressionResult Parser::filter(ExpressionPtr subject) {
  auto out = node(ExpressionKind::kFilter, take().line);
  TRY_ASSIGN(out->text, expect_name());
  out->children.push_back(std::move(subject));
  if (is_operator("(")) TRY(arguments(*out));
  return out;
}

ExpressionResult Parser::test(ExpressionPtr subject) {
  auto out = node(ExpressionKind::kTest, take().line);
  const bool negated = skip_name("not");
  TRY_ASSIGN(out->text, expect_name());
  out->children.push_back(std::move(subject));
  if (is_operator("(")) {
    TRY(arguments(*out));
  } else {
    const TokenKind kind = peek().kind;
    const bool word = kind == TokenKind::kName && !is_name("and") && !is_name("or") && !is_name("else") &&
                      !is_name("is") && !is_name("if") && !is_name("in") && !is_name("not");
    if (word || kind == TokenKind::kString || kind == TokenKind::kInteger || is_operator("[") ||
        is_operator("{")) {
      TRY_ASSIGN(ExpressionPtr start, primary());
      TRY_ASSIGN(ExpressionPtr argument, postfix(std::move(start)));
      out->children.push_back(std::move(argument));
    }
  }
  if (!negated) return out;
  auto inverse = node(ExpressionKind::kNot, out->line);
  inverse->children.push_back(std::move(out));
  return inverse;
}

}  // namespace

Result<Block> parse_template(std::string_view source) {
  TRY_ASSIGN(std::vector<Token> tokens, lex_template(source));
  return Parser(std::move(tokens)).run();
}

}  // namespace tegula::text::jinja
