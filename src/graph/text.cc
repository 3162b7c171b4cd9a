// Printer and parser of the text form; the grammar is in text.h.
#include "graph/text.h"

#include <charconv>
#include <optional>

namespace tegula::graph {
namespace {

std::string type_text(const Type& type) {
  return std::string(type.dtype == DType::kF32 ? "f32" : "i32") + "[" +
         (type.rows == Rows::kTokens ? "tokens" : "sequences") + "," + std::to_string(type.cols) + "]";
}

// The shortest decimal form that reads back as the same float.
std::string float_text(float value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, end.ptr);
}

std::string attr_text(const AttrSpec& spec, const Attrs& attrs) {
  switch (spec.kind) {
    case AttrSpec::Kind::kFloat:
      return float_text(attrs.*spec.real);
    case AttrSpec::Kind::kInt:
      return std::to_string(attrs.*spec.integer);
    case AttrSpec::Kind::kBool:
      return attrs.*spec.flag ? "true" : "false";
    case AttrSpec::Kind::kActivation:
      return std::string(activation_name(attrs.activation));
  }
  return {};
}

template <typename T>
bool read_number(std::string_view text, T& out) {
  const auto end = std::from_chars(text.data(), text.data() + text.size(), out);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

// Sizes stay below 2^31, so that products of two of them cannot overflow.
bool read_size(std::string_view text, i64& out) {
  return read_number(text, out) && out >= -(i64{1} << 31) && out < (i64{1} << 31);
}

bool read_attr(const AttrSpec& spec, std::string_view text, Attrs& attrs) {
  switch (spec.kind) {
    case AttrSpec::Kind::kFloat:
      return read_number(text, attrs.*spec.real);
    case AttrSpec::Kind::kInt:
      return read_size(text, attrs.*spec.integer);
    case AttrSpec::Kind::kBool:
      attrs.*spec.flag = text == "true";
      return text == "true" || text == "false";
    case AttrSpec::Kind::kActivation:
      if (const auto activation = activation_by_name(text)) {
        attrs.activation = *activation;
        return true;
      }
      return false;
  }
  return false;
}

// Cuts one line into tokens: names (anything up to a space or a delimiter) and single delimiters.
class Line {
 public:
  Line(std::string_view text, int number) : text_(text.substr(0, text.find('#'))), number_(number) { skip(); }

  bool done() const { return text_.empty(); }
  bool take(std::string_view token) {
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    skip();
    return true;
  }
  Result<void> expect(std::string_view token) {
    if (!take(token)) return refuse("expected '" + std::string(token) + "'");
    return {};
  }
  Result<std::string> name() {
    const size_t end = std::min(text_.find_first_of(" \t\r%,:=()[]{}"), text_.size());
    if (end == 0) return refuse("expected a name");
    std::string out(text_.substr(0, end));
    text_.remove_prefix(end);
    skip();
    return out;
  }
  Result<i64> integer() {
    TRY_ASSIGN(const std::string text, name());
    i64 out = 0;
    if (!read_size(text, out)) return refuse("'" + text + "' is not an integer below 2^31");
    return out;
  }
  Error refuse(const std::string& what) const {
    const std::string rest = text_.empty() ? "end of line" : "'" + std::string(text_.substr(0, 24)) + "'";
    return fail(Code::kCorrupt, "graph line " + std::to_string(number_) + ": " + what + " at " + rest);
  }

 private:
  void skip() {
    const size_t at = text_.find_first_not_of(" \t\r");
    text_.remove_prefix(at == std::string_view::npos ? text_.size() : at);
  }

  std::string_view text_;
  int number_;
};

class Parser {
 public:
  Result<void> line(Line& line) {
    if (line.done()) return {};
    if (line.take("%")) return node(line);
    TRY_ASSIGN(const std::string keyword, line.name());
    if (keyword == "input") return input(line);
    if (keyword == "weight") return weight(line);
    if (keyword == "output") return output(line);
    return line.refuse("unknown keyword '" + keyword + "'");
  }
  Result<Graph> finish(std::string graph_name) {
    graph_.name = std::move(graph_name);
    TRY(verify(graph_));
    return std::move(graph_);
  }

 private:
  Result<Type> type(Line& line) {
    Type out;
    TRY_ASSIGN(const std::string dtype, line.name());
    if (dtype != "f32" && dtype != "i32")
      return line.refuse("'" + dtype + "' is no type, expected f32 or i32");
    out.dtype = dtype == "f32" ? DType::kF32 : DType::kI32;
    TRY(line.expect("["));
    TRY_ASSIGN(const std::string rows, line.name());
    if (rows != "tokens" && rows != "sequences") return line.refuse("rows must be tokens or sequences");
    out.rows = rows == "tokens" ? Rows::kTokens : Rows::kSequences;
    TRY(line.expect(","));
    TRY_ASSIGN(out.cols, line.integer());
    TRY(line.expect("]"));
    if (out.cols <= 0) return line.refuse("columns must be more than 0");
    return out;
  }

  Result<void> input(Line& line) {
    TRY_ASSIGN(std::string name, line.name());
    TRY(line.expect(":"));
    TRY_ASSIGN(const Type type, this->type(line));
    if (names_.contains(name)) return line.refuse("%" + name + " is defined twice");
    names_[name] = static_cast<ValueId>(graph_.values.size());
    graph_.inputs.push_back(static_cast<ValueId>(graph_.values.size()));
    graph_.values.push_back({std::move(name), type, kNone});
    return end(line);
  }

  Result<void> weight(Line& line) {
    Weight out;
    TRY_ASSIGN(out.name, line.name());
    TRY(line.expect("["));
    TRY_ASSIGN(out.rows, line.integer());
    TRY(line.expect(","));
    TRY_ASSIGN(out.cols, line.integer());
    TRY(line.expect("]"));
    if (out.rows <= 0 || out.cols <= 0) return line.refuse("weight " + out.name + " is empty");
    if (!weights_.emplace(out.name, static_cast<WeightId>(graph_.weights.size())).second) {
      return line.refuse("weight " + out.name + " is declared twice");
    }
    graph_.weights.push_back(std::move(out));
    return end(line);
  }

  Result<void> output(Line& line) {
    TRY_ASSIGN(const ValueId id, value(line));
    graph_.outputs.push_back(id);
    return end(line);
  }

  Result<ValueId> value(Line& line) {
    TRY(line.expect("%"));
    TRY_ASSIGN(const std::string name, line.name());
    const auto found = names_.find(name);
    if (found == names_.end()) return line.refuse("%" + name + " is not defined yet");
    return found->second;
  }

  Result<void> operands(Line& line, Node& node) {
    TRY(line.expect("("));
    while (!line.take(")")) {
      if (!node.inputs.empty()) TRY(line.expect(","));
      TRY_ASSIGN(const ValueId id, value(line));
      node.inputs.push_back(id);
    }
    if (!line.take("{")) return {};
    while (!line.take("}")) {
      if (!node.weights.empty()) TRY(line.expect(","));
      TRY_ASSIGN(const std::string name, line.name());
      const auto found = weights_.find(name);
      if (found == weights_.end()) return line.refuse("weight " + name + " is not declared");
      node.weights.push_back(found->second);
    }
    return {};
  }

  Result<void> attribute(Line& line, Node& node) {
    TRY_ASSIGN(const std::string key, line.name());
    TRY(line.expect("="));
    TRY_ASSIGN(const std::string text, line.name());
    for (const AttrSpec& spec : op_info(node.op).attrs) {
      if (spec.name != key) continue;
      if (!read_attr(spec, text, node.attrs)) return line.refuse("bad value '" + text + "' for " + key);
      return {};
    }
    return line.refuse(std::string(op_info(node.op).name) + " has no attribute '" + key + "'");
  }

  Result<void> node(Line& line) {
    TRY_ASSIGN(std::string name, line.name());
    TRY(line.expect("="));
    TRY_ASSIGN(const std::string op_name, line.name());
    const auto op = op_by_name(op_name);
    if (!op) return line.refuse("unknown op '" + op_name + "'");
    Node node{*op, {}, {}, {}};
    TRY(operands(line, node));
    while (!line.done() && !line.take(":")) TRY(attribute(line, node));
    TRY_ASSIGN(const Type stated, type(line));
    const Result<Type> inferred = infer_type(graph_, node);
    if (!inferred.ok()) return line.refuse("%" + name + ": " + inferred.error().message);
    if (!(*inferred == stated))
      return line.refuse("%" + name + " is " + type_text(*inferred) + ", not as stated");
    if (names_.contains(name)) return line.refuse("%" + name + " is defined twice");
    node.output = static_cast<ValueId>(graph_.values.size());
    names_[name] = node.output;
    graph_.values.push_back({std::move(name), stated, static_cast<i32>(graph_.nodes.size())});
    graph_.nodes.push_back(std::move(node));
    return end(line);
  }

  Result<void> end(const Line& line) {
    if (!line.done()) return line.refuse("unexpected text");
    return {};
  }

  Graph graph_;
  std::unordered_map<std::string, ValueId> names_;
  std::unordered_map<std::string, WeightId> weights_;
};

}  // namespace

std::string print(const Graph& graph, const Node& node) {
  const OpInfo& info = op_info(node.op);
  std::string out = "%" + graph.label(node) + " = " + std::string(info.name) + "(";
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    out += (i == 0 ? "%" : ", %") + graph.values[node.inputs[i]].name;
  }
  out += ")";
  for (size_t i = 0; i < node.weights.size(); ++i) {
    out += (i == 0 ? " {" : ", ") + graph.weights[node.weights[i]].name;
  }
  if (!node.weights.empty()) out += "}";
  for (const AttrSpec& spec : info.attrs)
    out += " " + std::string(spec.name) + "=" + attr_text(spec, node.attrs);
  return out + " : " + type_text(graph.type(node.output));
}

std::string print(const Graph& graph) {
  std::string out = "graph " + graph.name + "\n";
  for (ValueId id : graph.inputs) {
    out += "input " + graph.values[id].name + " : " + type_text(graph.type(id)) + "\n";
  }
  for (const Weight& weight : graph.weights) {
    out += "weight " + weight.name + " [" + std::to_string(weight.rows) + "," + std::to_string(weight.cols) +
           "]\n";
  }
  for (const Node& node : graph.nodes) out += print(graph, node) + "\n";
  for (ValueId id : graph.outputs) out += "output %" + graph.values[id].name + "\n";
  return out;
}

Result<Graph> parse(std::string_view text) {
  Parser parser;
  std::optional<std::string> name;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    Line line(text.substr(0, end), number);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.done()) continue;
    if (!name) {
      TRY(line.expect("graph"));
      TRY_ASSIGN(name, line.name());
      if (!line.done()) return line.refuse("unexpected text");
      continue;
    }
    TRY(parser.line(line));
  }
  if (!name) return fail(Code::kCorrupt, "graph text is empty, expected a line 'graph NAME'");
  return parser.finish(std::move(*name));
}

}  // namespace tegula::graph
