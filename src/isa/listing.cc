#include "isa/listing.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "isa/flow.h"
#include "isa/sweep.h"
#include "isa/text.h"

namespace tegula::isa {

namespace {

constexpr char kDigits[] = "0123456789abcdef";
constexpr size_t kByteColumn = 16 * 3;

void append_hex(std::string& out, u32 value) {
  char digits[8];
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), value, 16).ptr);
}

// Six digits: the first is 0 in the 20 bits of a program address, which tells it from a label.
void append_address(std::string& out, u32 address) {
  for (int digit = 5; digit >= 0; --digit) out += kDigits[address >> (4 * digit) & 15];
  out += ':';
}

void append_bytes(std::string& out, ByteSpan bytes) {
  for (const u8 byte : bytes) {
    out += ' ';
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  out.append(kByteColumn - std::min(kByteColumn, bytes.size() * 3), ' ');
}

// The operand that holds a code address: the target of a direct branch, or a constant for ls and le.
int code_operand(const Instr& instr) {
  switch (instr.op) {
    case Op::J_lng:
    case Op::JL_lng:
      return 0;
    case Op::JZ:
    case Op::JNZ:
      return 1;
    case Op::MOVXM:
      return instr.reg(0) == Reg::ls || instr.reg(0) == Reg::le ? 1 : -1;
    default:
      return -1;
  }
}

enum class LabelKind : u8 { kLocal, kFunction };

struct Piece {
  u32 address = 0;
  u8 bytes = 0;
  bool padding = false;
  bool canonical = false;
  int bundle = -1;  // index of the placed bundle; -1: data
};

struct LoopNote {
  int bundles = 0;  // of the body
  u32 start = 0, end = 0;
};

}  // namespace

struct Listing::Impl {
  Impl(ByteSpan bytes, ListingOptions wanted) : code(bytes), options(std::move(wanted)) {}

  void sweep();
  void find_labels();
  void note_label(u32 address, LabelKind kind);
  void find_loops();
  void find_functions();
  std::optional<int> lock_number(int index, const Instr& instr) const;
  std::optional<i64> constant(int index, Reg reg) const;
  bool only_write(int index, Reg reg, i64 value) const;
  void append_label(std::string& out, u32 address) const;
  bool has_label(u32 address) const;
  void append_bundle(std::string& out, std::span<const Instr> bundle) const;
  void append_comment(std::string& out, const Piece& piece, u32 cycle) const;
  void comment_flow(std::string& out, int index) const;
  void comment_cycles(std::string& out, std::span<const Instr> bundle, u32 cycle) const;
  void append_piece(std::string& out, const Piece& piece, u32 cycle) const;

  ByteSpan code;
  ListingOptions options;
  ListingTotals totals;
  std::vector<Piece> pieces;
  PlacedProgram placed;
  std::unique_ptr<Flow> flow;
  std::map<u32, LabelKind> labels;
  std::map<u32, LoopNote> loop_starts, loop_ends;  // by address
  std::vector<ListedFunction> functions;
};

namespace {

void count_piece(const Sweep& sweep, bool canonical, ListingTotals& totals) {
  if (sweep.padding()) ++totals.padding;
  if (sweep.valid()) {
    ++totals.bundles;
    if (!canonical) ++totals.noncanonical;
  } else if (!sweep.padding()) {
    ++totals.undecodable;
  }
}

}  // namespace

void Listing::Impl::sweep() {
  for (Sweep sweep(code, options.base); sweep.next();) {
    Piece piece{sweep.address(), static_cast<u8>(sweep.bytes().size()), sweep.padding(), true, -1};
    if (sweep.valid()) {
      piece.bundle = placed.size();
      piece.canonical = is_canonical(sweep.bytes(), sweep.bundle());
      placed.add(sweep.address(), sweep.bundle());
    }
    count_piece(sweep, piece.canonical, totals);
    pieces.push_back(piece);
  }
  flow = std::make_unique<Flow>(placed);
}

// Only places where a bundle starts get a label.
void Listing::Impl::note_label(u32 address, LabelKind kind) {
  if (flow->find(address) < 0) return;
  LabelKind& known = labels.try_emplace(address, kind).first->second;
  known = std::max(known, kind);
}

void Listing::Impl::find_labels() {
  if (!pieces.empty()) note_label(pieces[0].address, LabelKind::kFunction);
  for (int i = 0; i < flow->size(); ++i) {
    const auto& branch = flow->branch(i);
    if (branch && branch->target)
      note_label(*branch->target, branch->call ? LabelKind::kFunction : LabelKind::kLocal);
    for (const Instr& instr : flow->at(i).instr) {
      if (instr.op == Op::MOVXM && code_operand(instr) >= 0)
        note_label(static_cast<u32>(instr.operand[1]), LabelKind::kLocal);
    }
  }
  // Code behind padding that no branch names is reached through a pointer, or never.
  for (size_t i = 1; i < pieces.size(); ++i) {
    const Piece& piece = pieces[i];
    const bool fresh = pieces[i - 1].padding && !piece.padding && piece.bundle >= 0;
    if (fresh && !labels.contains(piece.address)) note_label(piece.address, LabelKind::kFunction);
  }
}

void Listing::Impl::find_loops() {
  for (const HardwareLoop& loop : flow->loops()) {
    const int first = flow->find(loop.start), last = flow->find(loop.end);
    if (first < 0 || last < first) continue;
    const LoopNote note{last - first + 1, loop.start, loop.end};
    loop_starts.emplace(loop.start, note);
    loop_ends.emplace(loop.end, note);
  }
}

void Listing::Impl::find_functions() {
  for (const auto& [address, kind] : labels) {
    if (kind != LabelKind::kFunction) continue;
    ListedFunction function{.address = address};
    append_label(function.name, address);
    functions.push_back(function);
  }
  const u32 end = options.base + static_cast<u32>(code.size());
  for (size_t i = 0; i < functions.size(); ++i) {
    const u32 next = i + 1 < functions.size() ? functions[i + 1].address : end;
    functions[i].bytes = next - functions[i].address;
  }
}

std::optional<int> Listing::Impl::lock_number(int index, const Instr& instr) const {
  if (!is_lock(instr.op)) return std::nullopt;
  if (info(instr.op).operands[0].kind == OperandKind::kImm) return static_cast<int>(instr.operand[0]);
  const std::optional<i64> value = constant(index, instr.reg(0));
  return value ? std::optional<int>(static_cast<int>(*value & 63)) : std::nullopt;  // six bits count
}

// The constant that a register holds at a bundle, from the nearest write above in the same function. When
// control can come in between, every other write of the function must agree; a call in between may change
// what it likes.
std::optional<i64> Listing::Impl::constant(int index, Reg reg) const {
  bool joined = false;
  for (int k = index; k >= 0; --k) {
    const PlacedBundle& placed_bundle = flow->at(k);
    for (const Instr& instr : placed_bundle.instr) {
      const Write write = write_of(instr, reg);
      if (k == index || !write.writes) continue;
      return write.constant && joined && !only_write(k, reg, *write.constant) ? std::nullopt : write.constant;
    }
    const auto& branch = flow->branch(k);
    if (k != index && branch && branch->call) return std::nullopt;
    const auto label = labels.find(placed_bundle.address);
    if (label == labels.end()) continue;
    joined = true;
    if (label->second == LabelKind::kFunction) return std::nullopt;
  }
  return std::nullopt;
}

// Whether each write to the register, in the function around the bundle, puts the value there.
bool Listing::Impl::only_write(int index, Reg reg, i64 value) const {
  const u32 address = flow->at(index).address;
  const auto after = std::find_if(functions.begin(), functions.end(),
                                  [address](const ListedFunction& f) { return f.address > address; });
  const u32 begin = after == functions.begin() ? 0 : std::prev(after)->address;
  const u32 end = after == functions.end() ? 0xFFFFFFFF : after->address;
  for (int k = std::max(0, flow->find(begin)); k < flow->size() && flow->at(k).address < end; ++k) {
    for (const Instr& instr : flow->at(k).instr) {
      const Write write = write_of(instr, reg);
      if (write.writes && write.constant != value) return false;
    }
  }
  return true;
}

bool Listing::Impl::has_label(u32 address) const {
  return labels.contains(address);
}

void Listing::Impl::append_label(std::string& out, u32 address) const {
  const auto it = labels.find(address);
  out += it != labels.end() && it->second == LabelKind::kFunction ? "fn_" : "l_";
  append_hex(out, address);
}

void Listing::Impl::append_bundle(std::string& out, std::span<const Instr> bundle) const {
  for (const Instr& instr : bundle) {
    if (&instr != bundle.data()) out += ';';
    const int operand = code_operand(instr);
    std::string label;
    if (operand >= 0) {
      const auto target = static_cast<u32>(instr.operand[static_cast<size_t>(operand)]);
      if (has_label(target)) append_label(label, target);
    }
    isa::append_text(out, instr, label.empty() ? -1 : operand, label);
  }
}

void Listing::Impl::comment_flow(std::string& out, int index) const {
  const auto separate = [&out] {
    if (!out.empty()) out += "; ";
  };
  const int branch = flow->delay_of(index);
  if (branch >= 0) {
    separate();
    out += "delay slot ";
    out += std::to_string(index - branch);
    if (index - branch == kDelaySlots && flow->branch(branch)->call) out += ", returns to the next bundle";
  }
  const auto& own = flow->branch(index);
  if (own && own->target && !own->direct) {
    separate();
    out += own->call ? "calls " : "goes to ";
    if (has_label(*own->target)) {
      append_label(out, *own->target);
    } else {
      out += "0x";
      append_hex(out, *own->target);
    }
  }
  const auto end = loop_ends.find(flow->at(index).address);
  if (end == loop_ends.end()) return;
  separate();
  out += "last of the hardware loop from ";
  append_label(out, end->second.start);
}

// A result of operand cycle c is seen by a read in cycle 1 of a bundle issued c cycles later.
void Listing::Impl::comment_cycles(std::string& out, std::span<const Instr> bundle, u32 cycle) const {
  if (!out.empty()) out += "; ";
  out += "cycle ";
  out += std::to_string(cycle);
  for (const Instr& instr : bundle) {
    const InstrInfo& in = info(instr.op);
    if (in.outs == 0) continue;
    const Timing& when = timing(instr);
    for (int i = 0; i < in.outs; ++i) {
      const u32 after = when.operand[static_cast<size_t>(i)].cycle;
      if (in.operands[static_cast<size_t>(i)].kind != OperandKind::kReg || after < 2) continue;
      out += ", ";
      out += reg_info(instr.reg(i)).name;
      out += " from ";
      out += std::to_string(cycle + after);
    }
  }
}

void Listing::Impl::append_comment(std::string& out, const Piece& piece, u32 cycle) const {
  std::string comment;
  if (piece.padding) comment = "padding";
  if (piece.bundle >= 0) {
    const std::span<const Instr> bundle = placed[piece.bundle].instr;
    comment_flow(comment, piece.bundle);
    for (const Instr& instr : bundle) {
      if (!options.annotate) break;
      std::string known;
      options.annotate(instr, lock_number(piece.bundle, instr), known);
      if (known.empty()) continue;
      if (!comment.empty()) comment += "; ";
      comment += known;
    }
    if (options.cycles && !piece.padding) comment_cycles(comment, bundle, cycle);
  }
  if (comment.empty()) return;
  out += "  // ";
  out += comment;
}

void Listing::Impl::append_piece(std::string& out, const Piece& piece, u32 cycle) const {
  append_address(out, piece.address);
  const ByteSpan bytes = code.subspan(piece.address - options.base, piece.bytes);
  if (options.bytes) append_bytes(out, bytes);
  out += ' ';
  if (piece.bundle < 0) {
    append_data(out, bytes);
  } else if (piece.canonical) {
    append_bundle(out, placed[piece.bundle].instr);
  } else {
    append_data(out, bytes);
    out += "  // ";
    append_bundle(out, placed[piece.bundle].instr);
  }
  append_comment(out, piece, cycle);
  out += '\n';
}

Listing::Listing(ByteSpan code, ListingOptions options)
    : impl_(std::make_unique<Impl>(code, std::move(options))) {
  impl_->sweep();
  impl_->find_labels();
  impl_->find_loops();
  impl_->find_functions();
}

Listing::~Listing() = default;

const ListingTotals& Listing::totals() const {
  return impl_->totals;
}

const std::vector<ListedFunction>& Listing::functions() const {
  return impl_->functions;
}

void Listing::append_text(std::string& out) const {
  u32 cycle = 0;
  for (const Piece& piece : impl_->pieces) {
    if (impl_->has_label(piece.address)) {
      if (!out.empty() && impl_->labels.at(piece.address) == LabelKind::kFunction) out += '\n';
      impl_->append_label(out, piece.address);
      out += ':';
      const auto loop = impl_->loop_starts.find(piece.address);
      if (loop != impl_->loop_starts.end()) {
        out += "  // hardware loop of " + std::to_string(loop->second.bundles) + " bundles to ";
        if (impl_->has_label(loop->second.end)) impl_->append_label(out, loop->second.end);
      }
      out += '\n';
      cycle = 0;
    }
    impl_->append_piece(out, piece, cycle);
    ++cycle;
  }
}

ListingTotals count(ByteSpan code) {
  ListingTotals totals;
  for (Sweep sweep(code); sweep.next();)
    count_piece(sweep, !sweep.valid() || is_canonical(sweep.bytes(), sweep.bundle()), totals);
  return totals;
}

}  // namespace tegula::isa
