// Printer, assembler and disassembler of bundles. Mnemonics and operand syntax are the columns of
// src/isa/tables/instructions.tsv; nothing here names an instruction.
#include "isa/text.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

#include "isa/sweep.h"
#include "isa/tables.h"

namespace tegula::isa {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::string shown(std::string_view text, size_t at) {
  return at < text.size() ? "'" + std::string(text.substr(at, 24)) + "'" : "the end";
}

namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view text, std::string_view lower_case) {
  return text.size() == lower_case.size() && std::equal(text.begin(), text.end(), lower_case.begin(),
                                                        [](char a, char b) { return lower(a) == b; });
}

// What could not be matched: of several attempts the one that got furthest is reported.
struct Mismatch {
  size_t at = 0;
  std::string expected;

  void note(size_t position, std::string what) {
    if (!expected.empty() && position < at) return;
    if (!expected.empty() && position == at) {
      if (expected.find(what) == std::string::npos) expected += " or " + what;
      return;
    }
    at = position;
    expected = std::move(what);
  }
};

// Digits with an optional 0x; false when there are none or too many, or when a word goes on behind them.
bool parse_digits(std::string_view text, size_t& at, i64& value) {
  const bool is_hex = at + 1 < text.size() && text[at] == '0' && lower(text[at + 1]) == 'x';
  if (is_hex) at += 2;
  const i64 base = is_hex ? 16 : 10;
  const size_t first = at;
  value = 0;
  for (; at < text.size() && is_word(text[at]); ++at) {
    const char c = lower(text[at]);
    const i64 digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
    if (digit >= base || value > (i64{1} << 48)) return false;
    value = value * base + digit;
  }
  return at != first;
}

class Matcher {
 public:
  Matcher(std::string_view line, size_t at, size_t end, const Symbols& symbols, Mismatch& mismatch)
      : line_(line), at_(at), end_(end), symbols_(symbols), mismatch_(mismatch) {}

  bool instruction(Op op, Instr& instr) {
    instr = Instr{};
    instr.op = op;
    const InstrInfo& in = info(op);
    for (const tables::SyntaxItem& item : tables::kSyntax[static_cast<size_t>(op)]) {
      const bool ok = item.operand < 0 ? literal(item.text)
                                       : operand(in.operands[static_cast<size_t>(item.operand)],
                                                 instr.operand[static_cast<size_t>(item.operand)]);
      if (!ok) return false;
    }
    skip_spaces();
    if (at_ != end_) return miss("the end of the instruction");
    const auto done = complete(instr);
    if (!done.ok()) return miss("operands that agree (" + done.error().message + ")");
    return true;
  }

 private:
  void skip_spaces() {
    while (at_ < end_ && is_space(line_[at_])) ++at_;
  }

  bool miss(std::string what) {
    mismatch_.note(at_, std::move(what));
    return false;
  }

  bool literal(std::string_view text) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (is_space(text[i])) continue;
      if (i == 0 || !is_word(text[i]) || !is_word(text[i - 1])) skip_spaces();
      if (at_ >= end_ || lower(line_[at_]) != text[i]) return miss("'" + std::string(text.substr(i)) + "'");
      ++at_;
      const bool word_ends = i + 1 == text.size() || !is_word(text[i + 1]);
      if (is_word(text[i]) && word_ends && at_ < end_ && is_word(line_[at_])) {
        return miss("'" + std::string(text) + "'");
      }
    }
    return true;
  }

  size_t word_end(size_t from) const {
    while (from < end_ && is_word(line_[from])) ++from;
    return from;
  }

  bool operand(const OperandInfo& operand, i64& value) {
    skip_spaces();
    return operand.kind == OperandKind::kReg ? register_operand(reg_class(operand.cls), value)
                                             : immediate(imm_class(operand.cls), value);
  }

  bool register_operand(const RegClass& cls, i64& value) {
    const size_t one = word_end(at_);
    const size_t two = one < end_ && line_[one] == ':' ? word_end(one + 1) : one;
    for (size_t end : {two, one}) {  // "r1:r0" is one name
      const std::string_view name = line_.substr(at_, end - at_);
      for (Reg reg : cls.members) {
        if (!equal_ignoring_case(name, reg_info(reg).name)) continue;
        value = static_cast<i64>(reg);
        at_ = end;
        return true;
      }
    }
    std::string names;
    const size_t shown = std::min<size_t>(cls.members.size(), 3);
    for (size_t i = 0; i < shown; ++i) names += (i ? ", " : "") + std::string(reg_info(cls.members[i]).name);
    if (shown < cls.members.size()) names += ", ..";
    return miss("a register of class " + std::string(cls.name) + " (" + names + ")");
  }

  bool immediate(const ImmClass& cls, i64& value) {
    // The bits of a whole register may be written without a sign: 0xFFFFFFFF is -1.
    const bool whole = cls.is_signed && cls.bits == 32;
    const i64 max = whole ? i64{0xFFFFFFFF} : cls.max;
    const std::string wanted = "a number " + std::to_string(cls.min) + ".." + std::to_string(max) +
                               (cls.step > 1 ? " in steps of " + std::to_string(cls.step) : std::string());
    size_t at = at_;
    const Number number = parse_number(line_.substr(0, end_), at, symbols_);
    if (number.kind == Number::kUndefined) return miss("a label or symbol that is defined, or " + wanted);
    if (number.kind == Number::kNone) return miss(wanted);
    const i64 v = number.kind == Number::kLater ? cls.min : number.value;
    if (v < cls.min || v > max || (v - cls.offset) % cls.step != 0) {
      return miss(number.symbolic ? wanted + " (it is " + std::to_string(v) + ")" : wanted);
    }
    value = whole ? static_cast<i32>(v) : v;
    at_ = at;
    return true;
  }

  std::string_view line_;
  size_t at_, end_;
  const Symbols& symbols_;
  Mismatch& mismatch_;
};

std::unordered_map<std::string_view, std::vector<Op>> make_mnemonics() {
  std::unordered_map<std::string_view, std::vector<Op>> map;
  for (int i = 0; i < tables::kOps; ++i) map[tables::kInstrInfo[i].mnemonic].push_back(static_cast<Op>(i));
  return map;
}

SyntaxError syntax_error(std::string_view line, size_t at, size_t end, const std::string& expected) {
  return {at + 1, "expected " + expected + ", found " + shown(line.substr(0, end), at)};
}

// All instructions that the text between at and end can mean; usually one.
std::vector<Instr> parse_instruction(std::string_view line, size_t at, size_t end, const Symbols& symbols,
                                     std::optional<SyntaxError>& error) {
  static const auto mnemonics = make_mnemonics();
  while (at < end && is_space(line[at])) ++at;
  size_t word = at;
  while (word < end && !is_space(line[word])) ++word;
  std::string mnemonic(line.substr(at, word - at));
  std::transform(mnemonic.begin(), mnemonic.end(), mnemonic.begin(), lower);
  const auto found = mnemonics.find(mnemonic);
  std::vector<Instr> matches;
  if (found == mnemonics.end()) {
    error = syntax_error(line, at, end, "a mnemonic");
    return matches;
  }
  Mismatch mismatch;
  for (Op op : found->second) {
    Instr instr;
    if (Matcher(line, word, end, symbols, mismatch).instruction(op, instr)) matches.push_back(instr);
  }
  if (matches.empty()) error = syntax_error(line, mismatch.at, end, mismatch.expected);
  return matches;
}

// Chooses one reading per instruction so that no slot is used twice.
bool choose(const std::vector<std::vector<Instr>>& readings, size_t i, u32 mask, Bundle& bundle) {
  if (i == readings.size()) return best_format(mask) >= 0;
  for (const Instr& instr : readings[i]) {
    const u32 bit = u32{1} << static_cast<u32>(info(instr.op).slot);
    if ((mask & bit) != 0) continue;
    bundle.instr[i] = instr;
    if (choose(readings, i + 1, mask | bit, bundle)) return true;
  }
  return false;
}

int slot_rank(const Instr& instr) {
  static constexpr int kRank[] = {0, 1, 2, 3, 5, 6, 4, 7};  // lda ldb alu mv lng st vec nop
  return kRank[static_cast<size_t>(info(instr.op).slot)];
}

}  // namespace

void append_data(std::string& out, ByteSpan bytes) {
  static const char digits[] = "0123456789abcdef";
  out += ".byte";
  for (size_t i = 0; i < bytes.size(); ++i) {
    out += i == 0 ? " 0x" : ", 0x";
    out += digits[bytes[i] >> 4];
    out += digits[bytes[i] & 15];
  }
}

void append_text(std::string& out, const Instr& instr, int label_operand, std::string_view label) {
  if (static_cast<size_t>(instr.op) >= static_cast<size_t>(tables::kOps)) {
    out += '?';
    return;
  }
  const InstrInfo& in = info(instr.op);
  out += in.mnemonic;
  const auto items = tables::kSyntax[static_cast<size_t>(instr.op)];
  if (!items.empty()) out += ' ';
  for (const tables::SyntaxItem& item : items) {
    if (item.operand < 0) {
      out += item.text;
      continue;
    }
    const auto i = static_cast<size_t>(item.operand);
    if (in.operands[i].kind == OperandKind::kReg) {
      out += reg_info(static_cast<Reg>(instr.operand[i])).name;
    } else if (item.operand == label_operand) {
      out += label;
    } else {
      char digits[24];
      const auto end = std::to_chars(digits, digits + sizeof(digits), instr.operand[i]).ptr;
      out.append(digits, end);
    }
  }
}

std::string to_text(const Instr& instr) {
  std::string text;
  append_text(text, instr);
  return text;
}

std::string to_text(const Bundle& bundle) {
  std::string text;
  for (int i = 0; i < bundle.count; ++i) {
    if (i != 0) text += ';';
    append_text(text, bundle.instr[static_cast<size_t>(i)]);
  }
  return text;
}

Number parse_number(std::string_view text, size_t& at, const Symbols& symbols) {
  Number number;
  bool negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  const bool named = at < text.size() && is_word(text[at]) && !(text[at] >= '0' && text[at] <= '9');
  if (!named || negative || !symbols) {
    if (!parse_digits(text, at, number.value)) return {};
    if (negative) number.value = -number.value;
    number.kind = Number::kKnown;
    return number;
  }
  const size_t first = at;
  while (at < text.size() && is_word(text[at])) ++at;
  number = symbols(text.substr(first, at - first));
  number.symbolic = true;
  negative = at < text.size() && text[at] == '-';
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) {
    i64 offset = 0;
    if (!parse_digits(text, ++at, offset)) return {};
    number.value += negative ? -offset : offset;
  }
  return number;
}

std::optional<SyntaxError> assemble(std::string_view line, const Symbols& symbols, Bundle& bundle) {
  std::vector<std::vector<Instr>> readings;
  for (size_t at = 0; at <= line.size();) {
    const size_t end = std::min(line.find(';', at), line.size());
    if (readings.size() == 6)
      return syntax_error(line, at, line.size(), "at most 6 instructions in a bundle");
    std::optional<SyntaxError> error;
    readings.push_back(parse_instruction(line, at, end, symbols, error));
    if (error) return error;
    at = end + 1;
  }
  bundle = Bundle{};
  bundle.count = static_cast<u8>(readings.size());
  if (!choose(readings, 0, 0, bundle)) {
    return SyntaxError{1, "'" + std::string(line) +
                              "': two instructions need the same slot, or no bundle format has these slots"};
  }
  std::sort(bundle.instr.begin(), bundle.instr.begin() + bundle.count,
            [](const Instr& a, const Instr& b) { return slot_rank(a) < slot_rank(b); });
  u32 mask = 0;
  for (int i = 0; i < bundle.count; ++i) {
    mask |= u32{1} << static_cast<u32>(info(bundle.instr[static_cast<size_t>(i)].op).slot);
  }
  bundle.format = static_cast<u8>(best_format(mask));
  bundle.bytes = format_bytes(bundle.format);
  return std::nullopt;
}

Result<Bundle> assemble(std::string_view line) {
  Result<Bundle> bundle{Bundle{}};
  const auto error = assemble(line, {}, *bundle);
  if (error) {
    const bool whole = error->text.starts_with('\'');
    bundle = fail(Code::kInvalidArgument,
                  (whole ? "" : "column " + std::to_string(error->column) + ": ") + error->text);
  }
  return bundle;
}

std::vector<DisassembledLine> disassemble(ByteSpan code, u32 base) {
  std::vector<DisassembledLine> lines;
  for (Sweep sweep(code, base); sweep.next();) {
    DisassembledLine line;
    line.address = sweep.address();
    line.bytes = static_cast<u8>(sweep.bytes().size());
    line.valid = sweep.valid();
    if (line.valid) {
      line.bundle = sweep.bundle();
      line.text = to_text(line.bundle);
    } else {
      append_data(line.text, sweep.bytes());
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace tegula::isa
