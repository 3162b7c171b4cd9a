// Parser of the text form of builder programs (backend_text.h).
#include "compiler/backend_text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

namespace tegula::compiler {

namespace {

std::vector<std::string> words(const std::string& line) {
  std::string clean = line.substr(0, line.find('#'));
  std::replace(clean.begin(), clean.end(), ',', ' ');
  std::istringstream in(clean);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::optional<i64> number(std::string_view text) {
  i64 value = 0;
  const bool hex = text.starts_with("0x");
  const char* first = text.data() + (hex ? 2 : 0);
  const auto [end, error] = std::from_chars(first, text.data() + text.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::optional<RegKind> kind_of(std::string_view name) {
  for (int k = 0; k < static_cast<int>(RegKind::kFixed); ++k) {
    if (kind_name(static_cast<RegKind>(k)) == name) return static_cast<RegKind>(k);
  }
  return {};
}

class Parser {
 public:
  explicit Parser(std::string_view text) {
    std::istringstream in{std::string(text)};
    for (std::string line; std::getline(in, line);) lines_.push_back(line);
  }

  Result<Builder> run() {
    block(false);
    if (error_) return *error_;
    return std::move(b_);
  }

 private:
  void wrong(const std::string& what) {
    if (!error_) error_ = fail(Code::kInvalidArgument, "line " + std::to_string(at_) + ": " + what);
  }

  void block(bool inner) {
    while (at_ < lines_.size() && !error_) {
      const std::vector<std::string> w = words(lines_[at_++]);
      if (w.empty()) continue;
      if (w[0] == "}") {
        if (!inner) wrong("unexpected }");
        return;
      }
      statement(w);
    }
    if (inner) wrong("missing }");
  }

  void statement(const std::vector<std::string>& w) {
    if (const auto kind = kind_of(w[0])) {
      for (size_t i = 1; i < w.size(); ++i) names_[w[i]] = b_.vreg(*kind, w[i]);
    } else if (w[0] == "imm") {
      b_.move_imm(reg(w.at(1)), number(w.at(2)).value_or(0));
    } else if (w[0] == "mov") {
      b_.move(reg(w.at(1)), reg(w.at(2)));
    } else if (w[0] == "addi") {
      b_.add_imm(reg(w.at(1)), reg(w.at(2)), number(w.at(3)).value_or(0));
    } else if (w[0] == "acquire") {
      b_.acquire(static_cast<int>(number(w.at(1)).value_or(-1)), reg(w.at(2)));
    } else if (w[0] == "release") {
      b_.release(static_cast<int>(number(w.at(1)).value_or(-1)), reg(w.at(2)));
    } else if (w[0] == "label") {
      b_.bind(label(w.at(1)));
    } else if (w[0] == "jump") {
      b_.jump(label(w.at(1)));
    } else if (w[0] == "jz") {
      b_.jump_if_zero(reg(w.at(1)), label(w.at(2)));
    } else if (w[0] == "jnz") {
      b_.jump_if_nonzero(reg(w.at(1)), label(w.at(2)));
    } else if (w[0] == "done") {
      b_.done();
    } else if (w[0] == "loop") {
      loop(w);
    } else {
      instruction(w);
    }
  }

  VReg reg(const std::string& text) {
    if (text.starts_with("$")) {
      const isa::Reg found = isa::find_reg(text.substr(1));
      if (found == isa::Reg::kNone) wrong("no register " + text);
      return b_.fixed(found);
    }
    const size_t dot = text.find('.');
    const auto it = names_.find(text.substr(0, dot));
    if (it == names_.end()) {
      wrong("no such name " + text);
      return {};
    }
    if (dot == text.npos) return it->second;
    size_t digits = text.size();
    while (digits > dot && text[digits - 1] >= '0' && text[digits - 1] <= '9') --digits;
    const auto kind = kind_of(text.substr(dot + 1, digits - dot - 1));
    if (!kind) wrong("no part " + text);
    return sub(it->second, kind.value_or(RegKind::kR),
               static_cast<int>(number(text.substr(digits)).value_or(0)));
  }

  Label label(const std::string& name) {
    const auto it = labels_.find(name);
    return it != labels_.end() ? it->second : labels_[name] = b_.label(name);
  }

  void loop(const std::vector<std::string>& w) {
    LoopOptions options;
    for (size_t i = 2; i + 1 < w.size(); ++i) {
      const size_t eq = w[i].find('=');
      const std::string key = w[i].substr(0, eq), value = eq == w[i].npos ? "" : w[i].substr(eq + 1);
      const auto n = static_cast<u32>(number(value).value_or(0));
      if (key == "multiple")
        options.trip_multiple_of = n;
      else if (key == "min")
        options.min_trip = n;
      else if (key == "modulo")
        options.modulo = n != 0;
      else if (key == "disjoint")
        options.disjoint_iterations = n != 0;
      else if (key == "edge")
        options.back_edge = value == "jnz" ? BackEdge::kJnz : BackEdge::kJnzd;
      else if (key == "name")
        options.name = value;
      else
        wrong("no loop option " + key);
    }
    if (w.back() != "{") wrong("loop has to end in {");
    const auto body = [&] { block(true); };
    if (const auto count = number(w.at(1)))
      b_.loop(static_cast<u32>(*count), body, options);
    else
      b_.loop(reg(w.at(1)), body, options);
  }

  void instruction(const std::vector<std::string>& w) {
    std::vector<isa::Op> ops;
    std::istringstream names(w[0]);
    for (std::string name; std::getline(names, name, '|');) {
      ops.push_back(isa::find_op(name));
      if (ops.back() == isa::Op::kCount) return wrong("no instruction " + name);
    }
    std::vector<Arg> args;
    Mem mem;
    for (size_t i = 1; i < w.size(); ++i) {
      if (w[i].starts_with("!")) {
        mem.local = w[i].ends_with("l");
        mem.tag = static_cast<u16>(number(w[i].substr(1, w[i].size() - 1 - (mem.local ? 1 : 0))).value_or(0));
      } else if (const auto value = number(w[i])) {
        args.emplace_back(*value);
      } else {
        args.emplace_back(reg(w[i]));
      }
    }
    b_.emit_list(ops, args, mem);
  }

  Builder b_;
  std::vector<std::string> lines_;
  size_t at_ = 0;
  std::map<std::string, VReg> names_;
  std::map<std::string, Label> labels_;
  std::optional<Error> error_;
};

}  // namespace

Result<Builder> parse_backend_text(std::string_view text) {
  return Parser(text).run();
}

}  // namespace tegula::compiler
