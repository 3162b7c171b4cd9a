// Building traces: which bundles may join, how their operations depend on each other, and the order in which they run.
// Operand cycles come from the schedule tables of isa; see trace.h for the idea.
#include <algorithm>
#include <bitset>
#include <map>
#include <queue>

#include "emu/core/binder.h"
#include "emu/core/trace.h"
#include "emu/core/trace_ops.h"

namespace tegula::emu {

namespace {

// ------------------------------------------------------------- what instructions touch

// Registers as cells: 4 bytes, in the vector bank 32, among accumulators 64. The last cell is data memory.
constexpr u32 kScalarCells = kBankX / 4;
constexpr u32 kVectorCells = kScalarCells + (kBankE - kBankX) / 32;
constexpr u32 kBlockCells = kVectorCells + (kBankAcc - kBankE) / 4;
constexpr u32 kMemoryCell = kBlockCells + (kBankFifo - kBankAcc) / 64;
constexpr u32 kCells = kMemoryCell + 1;
using CellSet = std::bitset<kCells>;

u32 cell_of(u32 byte) {
  if (byte < kBankX) return byte / 4;
  if (byte < kBankE) return kScalarCells + (byte - kBankX) / 32;
  if (byte < kBankAcc) return kVectorCells + (byte - kBankE) / 4;
  return kBlockCells + (byte - kBankAcc) / 64;
}

// Moments within a cycle.
enum Phase : u32 { kVisible = 0, kBypassRead = 1, kLateRead = 2, kIssueRead = 3, kIssueWrite = 4, kLoad = 5, kStore = 6 };
constexpr u32 stamp(u32 cycle, Phase phase) {
  return cycle * 8 + phase;
}

struct Touch {
  u32 cell;
  u32 when;  // stamp
  bool write;
  bool bypass = false;  // of the accumulator's VEC bypass, reader or writer
  u16 offset = 0;       // of the register, for bypass
};

struct Use {  // one register operand, cycles from issue
  u16 offset, bytes;
  u8 cycle;
  isa::Bypass bypass;
  bool write;
};

// One instruction of the trace.
struct Step {
  u32 at = 0;  // issue, in cycles from the landing
  std::vector<Uop> uops, loads;
  std::vector<AddressOp> addresses;
  std::vector<Use> uses;  // without those of its addresses
  CellSet address_reads, address_writes;
  const Family* family = nullptr;
  bool is_vec = false;
  u8 memory_last = 0;
  u8 longest = 1;  // cycles until nothing of it is in flight
};

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool in_span(const Family* family, std::span<const Family> families) {
  return !families.empty() && family >= families.data() && family < families.data() + families.size();
}

// Instructions that stop, branch, raise or read the time.
bool never_in_trace(const isa::InstrInfo& info, const Family* family) {
  if (in_span(family, control_families()) || in_span(family, stream_families())) return true;
  for (const char* prefix : {"vshuffle", "vshift", "vldb.4x"}) {
    if (starts_with(info.mnemonic, prefix)) return true;
  }
  return info.mnemonic == "mov" && info.slot == isa::Slot::kMv && info.operands.size() < 2;
}

bool belongs_to_address(std::string_view operand) {
  for (const char* name : {"ptr_out", "ptr", "mod", "dj", "dc", "dcl", "dch", "dn", "pos", "pos_out", "avail",
                           "avail_out", "fifo_reg", "fifo_reg_out", "ptr_superreg"}) {
    if (operand == name) return true;
  }
  return false;
}

void mark(CellSet& set, u32 offset, u32 bytes) {
  for (u32 byte = offset; byte < offset + bytes; byte += 4) set.set(cell_of(byte));
}

void mark_generator(Step& step, const AddressOp& a) {
  const u32 lo = a.generator * 4u;
  for (u32 g : {lo, lo + 16}) {
    if (g > lo && a.update != Update::k3D) break;
    mark(step.address_reads, kBankM + g, 4);
    mark(step.address_reads, kBankDn + g, 4);
    mark(step.address_reads, kBankDj + g, 4);
    mark(step.address_reads, kBankDc + g, 4);
    mark(step.address_writes, kBankDc + g, 4);
  }
}

void mark_address(Step& step, const AddressOp& a) {
  mark(step.address_reads, a.base, 4);
  mark(step.address_reads, a.index, 4);
  mark(step.address_reads, a.update_index, 4);
  mark(step.address_reads, a.position, 4);
  if (a.update != Update::kNone) mark(step.address_writes, a.base, 4);
  if (a.update == Update::k2D || a.update == Update::k3D) mark_generator(step, a);
  if (a.update == Update::kFill || a.update == Update::kPop || a.update == Update::kPush) {
    mark(step.address_writes, a.position, 4);
  }
}

void add_use(Step& step, isa::Reg reg, isa::OperandTiming when, bool write) {
  for (const isa::RegPart& part : isa::reg_info(reg).parts) {
    const u16 offset = part_offset(part);
    if (offset >= kBankFifo) continue;
    const u8 cycle = std::max<u8>(when.cycle, 1);
    step.uses.push_back({offset, static_cast<u16>((part.bits + 7) / 8), cycle, when.bypass, write});
    step.longest = std::max(step.longest, cycle);
  }
}

// Instructions whose status flags the pipeline model does not write.
bool leaves_flags_alone(const Step& step) {
  if (!step.loads.empty()) return step.uops.empty() && step.loads[0].load == nullptr;
  return step.is_vec || step.uops.empty() || is_plain_store(step.uops[0]);
}

void collect_uses(const isa::Instr& instr, Step& step) {
  const isa::InstrInfo& info = isa::info(instr.op);
  const isa::Timing& timing = isa::timing(instr);
  for (size_t i = 0; i < info.operands.size(); ++i) {
    if (info.operands[i].kind != isa::OperandKind::kReg) continue;
    if (!step.addresses.empty() && belongs_to_address(info.operands[i].name)) continue;
    add_use(step, instr.reg(static_cast<int>(i)), timing.operand[i], info.operands[i].is_out);
  }
  for (const auto& [reg, when] : timing.implicit_uses) {
    if (!step.addresses.empty() && reg == isa::Reg::sp) continue;
    add_use(step, reg, when, false);
  }
  for (const auto& [reg, when] : timing.implicit_defs) {
    if (leaves_flags_alone(step) || (!step.addresses.empty() && reg == isa::Reg::sp)) continue;
    add_use(step, reg, when, true);
  }
  step.memory_last = timing.memory_last;
  step.longest = std::max<u8>(step.longest, timing.memory_last);
}

// Binds the bundle's instructions; false when it cannot be part of a trace's body. Of bundles before the body only the
// registers they write matter.
bool bind_bundle(const u8* program, u32 pc, u32 at, std::vector<Step>& out) {
  const auto bundle = isa::decode(ByteSpan(program + pc, kCoreProgramBytes - pc));
  if (!bundle) return false;
  bool admissible = true;
  for (int i = 0; i < bundle->count; ++i) {
    const isa::Instr& instr = bundle->instr[i];
    const isa::InstrInfo& info = isa::info(instr.op);
    Step step;
    step.at = at;
    step.family = find_family(info);
    if (step.family == nullptr) return false;
    admissible &= !never_in_trace(info, step.family);
    Decoded scratch;
    DecodedDetail detail;
    scratch.detail = &detail;
    Binder binder(instr, scratch);
    binder.arg = step.family->arg;
    if (!step.family->bind(binder)) return false;
    admissible &= scratch.sync_count == 0 && scratch.flags == 0;
    step.uops = std::move(binder.uops);
    step.loads = std::move(binder.loads);
    step.addresses.assign(scratch.address, scratch.address + scratch.address_count);
    for (const AddressOp& a : step.addresses) mark_address(step, a);
    step.is_vec = info.slot == isa::Slot::kVec && !step.uops.empty();
    collect_uses(instr, step);
    out.push_back(std::move(step));
  }
  return admissible;
}

// ------------------------------------------------------------- the stretch of bundles

struct Stretch {
  std::vector<const Decoded*> bundles;
  std::vector<Step> steps;
  void cut(u32 bundle_count) {
    bundles.resize(bundle_count);
    while (!steps.empty() && steps.back().at >= bundle_count) steps.pop_back();
  }
};

CellSet cells_of(const Step& step, bool writes) {
  CellSet set;
  for (const Use& use : step.uses) {
    if (use.write == writes) mark(set, use.offset, use.bytes);
  }
  return set;
}

// Grows the body of a trace bundle by bundle while addresses can be computed ahead of everything else and control
// words stay as they are.
class Growth {
 public:
  bool accept(const std::vector<Step>& bundle) {
    Growth next = *this;
    for (const Step& step : bundle) next.add(step);
    const CellSet others = next.reads_ | next.writes_;
    if ((next.address_writes_ & others).any() || (next.address_reads_ & next.writes_).any() ||
        (next.controls_ & next.writes_).any() || (next.writes_ & loop_cells()).any() ||
        next.addresses_ > kTraceMaxAddresses) {
      return false;
    }
    *this = next;
    return true;
  }
  // Bundles before the body: their results that arrive later count.
  void add_before(const Step& step, u32 body) {
    const bool now = !step.uops.empty() && (step.uops[0].flags & kFlagNow) != 0;
    for (const Use& use : step.uses) {
      // What becomes visible in the body's first cycle is not there yet when its addresses are formed.
      if (use.write && !now && step.at + use.cycle >= body) mark(writes_, use.offset, use.bytes);
      if (!use.write && step.at + use.cycle > body) mark(reads_, use.offset, use.bytes);
    }
  }

 private:
  static CellSet loop_cells() {
    CellSet set;
    for (isa::Reg reg : {isa::Reg::lc, isa::Reg::ls, isa::Reg::le}) mark(set, register_offset(reg), 4);
    return set;
  }
  void add(const Step& step) {
    address_reads_ |= step.address_reads;
    address_writes_ |= step.address_writes;
    address_reads_.reset(cell_of(kZeroRegister));
    addresses_ += step.addresses.size();
    reads_ |= cells_of(step, false);
    writes_ |= cells_of(step, true);
    if (step.is_vec && step.uops[0].mask == 0) mark(controls_, step.uops[0].x1, 4);
  }

  CellSet address_reads_, address_writes_, reads_, writes_, controls_;
  size_t addresses_ = 0;
};

// ------------------------------------------------------------- dependences

enum class Role : u8 { kDirect, kBegin, kIssue, kEnd };

// A piece of work at one or several moments: a part of an instruction's direct form, or a step of the pipeline model.
struct Part {
  Role role = Role::kDirect;
  int op = -1;  // index into direct_, or of the step
  u32 first = ~u32{0}, last = 0;  // stamps
  u32 level = 0;                  // of the model: the stamp that orders it
  std::vector<Touch> touches;
  bool model() const { return role != Role::kDirect; }
};

enum class DirectKind : u8 { kNow, kLoad, kStore, kVec };

// An instruction in direct form: up to three parts in order.
struct Direct {
  DirectKind kind = DirectKind::kNow;
  int step = 0;
  Uop uop;
  u16 address = 0;
  int part[3] = {-1, -1, -1};
};

class Graph {
 public:
  explicit Graph(std::vector<Part>& parts) : parts_(parts), group_(parts.size()), next_(parts.size()) {
    for (size_t i = 0; i < parts.size(); ++i) group_[i] = static_cast<int>(i);
    low_.resize(parts.size());
    high_.resize(parts.size());
    for (size_t i = 0; i < parts.size(); ++i) low_[i] = parts[i].first, high_[i] = parts[i].last;
    seen_.resize(parts.size());
  }
  // The cycle in which two results arrive at one place at once, or a bypass is not plain; ~0: none.
  u32 connect();
  void follows(int part, int before) { next_[before].push_back(part); }
  bool merge(int a, int b);
  int group(int part) const { return group_[part]; }
  std::vector<int> order() const;  // groups, each once; fewer when they wait for each other
  size_t groups() const {
    return static_cast<size_t>(std::count_if(group_members_.begin(), group_members_.end(), [](const auto& m) { return !m.empty(); }));
  }

 private:
  u32 connect_cell(std::vector<std::pair<Touch, int>>& touches);
  void edge(int from, int to) {
    if (from == to) return;
    // The model keeps its own order, except among the instructions of one bundle.
    if (parts_[from].model() && parts_[to].model() && parts_[from].level != parts_[to].level) return;
    next_[from].push_back(to);
  }
  void chain_models();
  bool detour(int from, int to);
  bool walk(int group, int to, u32 limit);
  std::vector<Part>& parts_;
  std::vector<int> group_;
  std::vector<std::vector<int>> next_;  // by part
  std::vector<std::vector<int>> group_members_;
  std::vector<u32> low_, high_;  // stamps of a group
  std::vector<u32> seen_;
  u32 round_ = 0;
};

u32 Graph::connect_cell(std::vector<std::pair<Touch, int>>& touches) {
  std::stable_sort(touches.begin(), touches.end(),
                   [](const auto& a, const auto& b) { return a.first.when < b.first.when; });
  std::vector<int> readers;
  int writer = -1;
  u32 written = ~u32{0};
  const Touch* write = nullptr;
  for (const auto& [touch, part] : touches) {
    if (!touch.write) {
      // A bypass sees a result a cycle early, if the same kind of unit wrote the very register.
      if (touch.bypass && write != nullptr && written == touch.when - kBypassRead + kVisible &&
          !(write->bypass && write->offset == touch.offset)) {
        return touch.when / 8;
      }
      if (writer >= 0) edge(writer, part);
      readers.push_back(part);
      continue;
    }
    if (writer >= 0 && written == touch.when && writer != part && !(parts_[writer].model() && parts_[part].model())) {
      return touch.when / 8;
    }
    if (writer >= 0) edge(writer, part);
    for (int reader : readers) edge(reader, part);
    readers.clear();
    writer = part;
    written = touch.when;
    write = &touch;
  }
  return ~u32{0};
}

// Steps of the model run in the order of time: beginning of a cycle, its instructions in any order, its end.
void Graph::chain_models() {
  std::map<u32, std::vector<int>> levels;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (parts_[i].model()) levels[parts_[i].level].push_back(static_cast<int>(i));
  }
  const std::vector<int>* before = nullptr;
  for (const auto& [level, parts] : levels) {
    if (before != nullptr) {
      for (int a : *before) next_[a].insert(next_[a].end(), parts.begin(), parts.end());
    }
    before = &parts;
  }
}

u32 Graph::connect() {
  u32 conflict = ~u32{0};
  std::map<u32, std::vector<std::pair<Touch, int>>> cells;
  for (size_t i = 0; i < parts_.size(); ++i) {
    for (const Touch& touch : parts_[i].touches) cells[touch.cell].push_back({touch, static_cast<int>(i)});
  }
  for (auto& [cell, touches] : cells) {
    if (cell == kMemoryCell) {
      // Stores are ordered with everything, loads only with stores.
      std::stable_sort(touches.begin(), touches.end(),
                       [](const auto& a, const auto& b) { return a.first.when < b.first.when; });
      int store = -1;
      std::vector<int> loads;
      for (const auto& [touch, part] : touches) {
        if (store >= 0) edge(store, part);
        if (!touch.write) {
          loads.push_back(part);
          continue;
        }
        for (int load : loads) edge(load, part);
        loads.clear();
        store = part;
      }
      continue;
    }
    conflict = std::min(conflict, connect_cell(touches));
  }
  chain_models();
  for (auto& list : next_) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  group_members_.resize(parts_.size());
  for (size_t i = 0; i < parts_.size(); ++i) group_members_[i] = {static_cast<int>(i)};
  return conflict;
}

bool Graph::walk(int group, int to, u32 limit) {
  if (group == to) return true;
  if (seen_[group] == round_ || low_[group] > limit) return false;
  seen_[group] = round_;
  for (int part : group_members_[group]) {
    for (int next : next_[part]) {
      if (group_[next] != group && walk(group_[next], to, limit)) return true;
    }
  }
  return false;
}

// A way from one group to another through a third.
bool Graph::detour(int from, int to) {
  ++round_;
  seen_[from] = round_;
  for (int part : group_members_[from]) {
    for (int next : next_[part]) {
      const int group = group_[next];
      if (group != from && group != to && walk(group, to, high_[to])) return true;
    }
  }
  return false;
}

bool Graph::merge(int a, int b) {
  const int x = group_[a], y = group_[b];
  if (x == y) return true;
  if (detour(x, y) || detour(y, x)) return false;
  for (int part : group_members_[y]) group_[part] = x;
  auto& members = group_members_[x];
  members.insert(members.end(), group_members_[y].begin(), group_members_[y].end());
  group_members_[y].clear();
  low_[x] = std::min(low_[x], low_[y]);
  high_[x] = std::max(high_[x], high_[y]);
  return true;
}

std::vector<int> Graph::order() const {
  std::vector<int> waiting(parts_.size(), 0);
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (int next : next_[p]) {
      if (group_[next] != group_[p]) ++waiting[group_[next]];
    }
  }
  using Ready = std::pair<u32, int>;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready;
  for (size_t g = 0; g < parts_.size(); ++g) {
    if (!group_members_[g].empty() && waiting[g] == 0) ready.push({low_[g], static_cast<int>(g)});
  }
  std::vector<int> out;
  while (!ready.empty()) {
    const int g = ready.top().second;
    ready.pop();
    out.push_back(g);
    for (int part : group_members_[g]) {
      for (int next : next_[part]) {
        const int to = group_[next];
        if (to != g && --waiting[to] == 0) ready.push({low_[to], to});
      }
    }
  }
  return out;
}

// ------------------------------------------------------------- addresses

// Adds an address to the stream of its pointer; false when it does not differ from the entry's by a constant.
bool extend(std::vector<AddressStream>& streams, const AddressOp& a, u16 pointer) {
  const bool fifo = a.update == Update::kFill || a.update == Update::kPop;
  if (a.update == Update::k2D || a.update == Update::k3D || a.update == Update::kPush) return false;
  const u16 index = fifo ? kZeroRegister : a.index;
  if (fifo && a.update_index != kZeroRegister) return false;
  auto stream = std::find_if(streams.begin(), streams.end(), [&](const AddressStream& s) { return s.base == a.base; });
  if (stream == streams.end()) {
    for (const AddressStream& s : streams) {
      if (s.position == a.base || (fifo && (s.position == a.position || s.base == a.position))) return false;
    }
    streams.push_back({});
    stream = streams.end() - 1;
    stream->base = a.base;
    stream->fifo = fifo;
    if (fifo) stream->position = a.position;
  }
  AddressStream& s = *stream;
  if (s.fifo != fifo || (fifo && s.position != a.position)) return false;
  for (const u16 modifier : {index, a.update_index}) {
    if (modifier == kZeroRegister) continue;
    if (s.modifier != kZeroRegister && s.modifier != modifier) return false;
    s.modifier = modifier;
  }
  const i32 times = s.modified + (index != kZeroRegister ? 1 : 0);
  const i32 at = fifo ? s.advance - s.position_advance : s.advance + a.imm;
  if (a.size != 0) {
    s.lowest = s.accesses.empty() ? at : std::min(s.lowest, at);
    s.end = s.accesses.empty() ? at + a.size : std::max(s.end, at + a.size);
    s.align_mask |= a.align_mask;
    if ((static_cast<u32>(at) & a.align_mask) != 0) return false;
    s.accesses.push_back({pointer, a.size, at, times});
  }
  if (a.update == Update::kLinear) {
    s.advance += a.update_imm;
    s.modified += a.update_index != kZeroRegister ? 1 : 0;
  }
  if (!fifo) return true;
  s.advance += 64;
  s.position_advance += a.update == Update::kFill ? 64 : 64 - a.size;
  s.filled |= a.update == Update::kFill;
  i32& least = s.filled ? s.least_after : s.least_before;
  least = std::min(least, s.position_advance);
  return true;
}

// ------------------------------------------------------------- from steps to operations

class TraceBuilder {
 public:
  TraceBuilder(const Stretch& stretch, u32 body, Trace& trace)
      : stretch_(stretch), body_(body), cycles_(static_cast<u32>(stretch.bundles.size()) - body), trace_(trace) {}
  // True when done; else `shorter` is the number of bundles that could do, 0 for none.
  bool build(u32& shorter);

 private:
  bool direct_form(const Step& step, DirectKind& kind) const;
  void number_addresses();
  void add_step(int index);
  void add_direct(int index, DirectKind kind);
  void add_model(int index);
  void touch(Part& part, u16 offset, u32 bytes, u32 when, bool write, bool bypass = false);
  int add_part(Part part);
  Part& model_part(Role role, u32 cycle);
  void in_flight(const Step& step);
  void emit(int group, const Graph& graph);
  void emit_direct(const Direct& direct, int group, const Graph& graph);
  u16 scratch(u32 bytes);
  void push(TraceHandler run, const Direct* direct, u32 cycle, u16 at = 0);
  const Uop* keep(const Uop& u) { return &trace_.uops.emplace_back(u); }

  const Stretch& stretch_;
  const u32 body_, cycles_;
  Trace& trace_;
  std::vector<Part> parts_;
  std::vector<Direct> direct_;
  std::map<std::pair<u32, int>, int> model_parts_;  // cycle, role
  std::vector<u16> first_address_;                  // by step
  std::map<int, u16> scratch_of_;  // direct -> offset
  u32 scratch_used_ = 0;
};

int TraceBuilder::add_part(Part part) {
  for (const Touch& t : part.touches) {
    part.first = std::min(part.first, t.when);
    part.last = std::max(part.last, t.when);
  }
  parts_.push_back(std::move(part));
  return static_cast<int>(parts_.size()) - 1;
}

void TraceBuilder::touch(Part& part, u16 offset, u32 bytes, u32 when, bool write, bool bypass) {
  if (offset == kNoRegister || offset == kZeroRegister) return;
  u32 last = ~u32{0};
  for (u32 byte = offset; byte < offset + bytes; byte += 4) {
    const u32 cell = cell_of(byte);
    if (cell == last) continue;
    last = cell;
    part.touches.push_back({cell, when, write, bypass, offset});
  }
}

// The step of the model at the beginning or end of a cycle, made when needed.
Part& TraceBuilder::model_part(Role role, u32 cycle) {
  const auto [it, fresh] = model_parts_.try_emplace({cycle, static_cast<int>(role)}, 0);
  if (fresh) {
    Part part;
    part.role = role;
    part.op = static_cast<int>(cycle);
    part.level = role == Role::kBegin ? stamp(cycle, kVisible) : stamp(cycle, kLoad);
    part.first = part.last = part.level;
    it->second = add_part(part);
  }
  return parts_[it->second];
}

// What the model does for an instruction after it has issued, as far as it falls into the trace.
void TraceBuilder::in_flight(const Step& step) {
  const i64 issue = static_cast<i64>(step.at) - body_;
  const u32 longest = std::max<u32>(step.longest, 9);
  for (u32 d = 1; d <= longest; ++d) {
    const i64 cycle = issue + d;
    if (cycle < 0 || cycle >= cycles_) continue;
    model_part(Role::kBegin, static_cast<u32>(cycle));
    model_part(Role::kEnd, static_cast<u32>(cycle));
  }
  const auto at = [&](i64 cycle) { return cycle >= 0 && cycle < cycles_; };
  for (const Use& use : step.uses) {
    const i64 cycle = issue + use.cycle - (use.write ? 0 : 1);
    if (use.write && use.cycle > 0 && at(cycle)) {
      const bool bypass = use.bypass == isa::Bypass::kVec;
      touch(model_part(Role::kBegin, static_cast<u32>(cycle)), use.offset, use.bytes,
            stamp(static_cast<u32>(cycle), kVisible), true, bypass);
    }
    if (!use.write && use.cycle > 1 && at(cycle)) {
      const bool bypass = use.bypass == isa::Bypass::kVec;
      const u32 when = bypass ? stamp(static_cast<u32>(cycle) + 1, kBypassRead) : stamp(static_cast<u32>(cycle), kLateRead);
      touch(model_part(Role::kBegin, static_cast<u32>(cycle)), use.offset, use.bytes, when, false, bypass);
    }
  }
  if (step.memory_last != 0) {
    const bool is_store = step.loads.empty();
    const i64 cycle = issue + (is_store ? step.memory_last - 1 : 4);
    if (at(cycle)) {
      model_part(Role::kEnd, static_cast<u32>(cycle))
          .touches.push_back({kMemoryCell, stamp(static_cast<u32>(cycle), is_store ? kStore : kLoad), is_store});
    }
  }
}

void TraceBuilder::add_model(int index) {
  const Step& step = stretch_.steps[index];
  const u32 cycle = step.at - body_;
  Part part;
  part.role = Role::kIssue;
  part.op = index;
  for (const Use& use : step.uses) {
    if (!use.write) touch(part, use.offset, use.bytes, stamp(cycle, kIssueRead), false);
    if (use.write && use.cycle == 1) touch(part, use.offset, use.bytes, stamp(cycle, kIssueWrite), true);
  }
  part.level = stamp(cycle, kIssueRead);
  part.first = std::min(part.first, part.level);
  part.last = std::max(part.last, part.level);
  add_part(part);
  in_flight(step);
}

bool TraceBuilder::direct_form(const Step& step, DirectKind& kind) const {
  const u32 cycle = step.at - body_;
  if (step.uops.size() + step.loads.size() != 1) return false;
  if (step.loads.size() == 1) {
    const Uop& u = step.loads[0];
    kind = DirectKind::kLoad;
    return u.load == nullptr && cycle + u.latency <= cycles_;
  }
  const Uop& u = step.uops[0];
  if (step.is_vec) {
    kind = DirectKind::kVec;
    return u.x2 == kZeroRegister && u.kind == Kind::k2048 && cycle + 6 <= cycles_;
  }
  if (is_plain_store(u)) {
    kind = DirectKind::kStore;
    return cycle + u.latency <= cycles_;
  }
  kind = DirectKind::kNow;
  return (u.flags & kFlagNow) != 0 && (u.flags & kFlagReadsMvBypass) == 0;
}

void TraceBuilder::add_direct(int index, DirectKind kind) {
  const Step& step = stretch_.steps[index];
  const u32 cycle = step.at - body_;
  Direct d;
  d.kind = kind;
  d.step = index;
  d.uop = step.loads.empty() ? step.uops[0] : step.loads[0];
  d.address = first_address_[index];
  const Uop& u = d.uop;
  const auto part = [&](auto fill) {
    Part p;
    p.op = static_cast<int>(direct_.size());
    fill(p);
    return add_part(p);
  };
  const auto uses = [&](Part& p, bool write, u32 when, auto wanted) {
    for (const Use& use : step.uses) {
      if (use.write == write && wanted(use)) touch(p, use.offset, use.bytes, when, write, step.is_vec && use.bypass == isa::Bypass::kVec);
    }
  };
  const auto all = [](const Use&) { return true; };
  switch (kind) {
    case DirectKind::kNow:
      d.part[0] = part([&](Part& p) {
        uses(p, false, stamp(cycle, kIssueRead), all);
        uses(p, true, stamp(cycle, kIssueWrite), all);
        if (p.touches.empty()) p.first = p.last = stamp(cycle, kIssueRead);
      });
      break;
    case DirectKind::kLoad:
      d.part[0] = part([&](Part& p) { p.touches.push_back({kMemoryCell, stamp(cycle + 4, kLoad), false}); });
      d.part[1] = part([&](Part& p) { uses(p, true, stamp(cycle + u.latency, kVisible), all); });
      break;
    case DirectKind::kStore:
      d.part[0] = part([&](Part& p) { uses(p, false, stamp(cycle, kIssueRead), all); });
      d.part[1] = part(
          [&](Part& p) { p.touches.push_back({kMemoryCell, stamp(cycle + u.latency - 1, kStore), true}); });
      break;
    case DirectKind::kVec:
      d.part[0] = part([&](Part& p) {
        uses(p, false, stamp(cycle, kIssueRead), [](const Use& use) { return use.cycle < 4; });
        if (p.touches.empty()) p.first = p.last = stamp(cycle, kIssueRead);
      });
      d.part[1] = part([&](Part& p) {
        for (const Use& use : step.uses) {
          if (use.write || use.cycle < 4) continue;
          const bool bypass = use.bypass == isa::Bypass::kVec;
          touch(p, use.offset, use.bytes, bypass ? stamp(cycle + 4, kBypassRead) : stamp(cycle + 3, kLateRead), false,
                bypass);
        }
        if (p.touches.empty()) p.first = p.last = stamp(cycle + 3, kLateRead);
      });
      d.part[2] = part([&](Part& p) { uses(p, true, stamp(cycle + 6, kVisible), all); });
      break;
  }
  direct_.push_back(d);
}

void TraceBuilder::add_step(int index) {
  const Step& step = stretch_.steps[index];
  if (step.uops.empty() && step.loads.empty()) return;
  DirectKind kind;
  if (direct_form(step, kind)) {
    add_direct(index, kind);
  } else {
    add_model(index);
  }
}

void TraceBuilder::number_addresses() {
  const auto& steps = stretch_.steps;
  first_address_.assign(steps.size(), 0);
  u16 pointer = 0;
  bool constant = true;
  for (size_t i = 0; i < steps.size();) {
    size_t end = i;
    u32 in_bundle = 0;
    while (end < steps.size() && steps[end].at == steps[i].at) in_bundle += static_cast<u32>(steps[end++].addresses.size());
    for (; i < end; ++i) {
      if (steps[i].at < body_) continue;
      first_address_[i] = pointer;
      for (const AddressOp& a : steps[i].addresses) {
        trace_.addresses.push_back({a, static_cast<u8>(in_bundle--)});
        constant = constant && extend(trace_.streams, a, pointer);
        ++pointer;
      }
    }
  }
  if (constant) {
    trace_.addresses.clear();
  } else {
    trace_.streams.clear();
  }
}

u16 TraceBuilder::scratch(u32 bytes) {
  const u32 at = scratch_used_;
  scratch_used_ += (bytes + 63) & ~u32{63};
  return static_cast<u16>(at);
}

void TraceBuilder::push(TraceHandler run, const Direct* direct, u32 cycle, u16 at) {
  TraceOp op;
  op.run = run;
  op.cycle = static_cast<u16>(cycle);
  op.scratch = at;
  if (direct != nullptr) {
    const Uop& u = direct->uop;
    op.uop = keep(u);
    op.dst = u.dst;
    op.a = u.a;
    op.b = u.b;
    op.c = u.c;
    op.address = direct->address;
  }
  trace_.ops.push_back(op);
}

// The parts of one direct instruction that this group holds, as one operation.
void TraceBuilder::emit_direct(const Direct& d, int group, const Graph& graph) {
  const auto here = [&](int i) { return d.part[i] >= 0 && graph.group(d.part[i]) == group; };
  const u32 parts = (here(0) ? 1 : 0) | (here(1) ? 2 : 0) | (here(2) ? 4 : 0);
  const u32 whole = d.part[2] >= 0 ? 7 : d.part[1] >= 0 ? 3 : 1;
  u16 at = 0;
  if (parts != whole) {
    const int index = static_cast<int>(&d - direct_.data());
    if (!scratch_of_.contains(index)) scratch_of_[index] = scratch(d.kind == DirectKind::kVec ? 576 : 128);
    at = scratch_of_[index];
  }
  push(direct_handler(d.kind == DirectKind::kLoad    ? DirectForm::kLoad
                      : d.kind == DirectKind::kStore ? DirectForm::kStore
                      : d.kind == DirectKind::kVec   ? DirectForm::kVec
                                                     : DirectForm::kNow,
                      parts, d.uop),
       &d, stretch_.steps[d.step].at - body_, at);
}

void TraceBuilder::emit(int group, const Graph& graph) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (graph.group(static_cast<int>(p)) != group) continue;
    const Part& part = parts_[p];
    switch (part.role) {
      case Role::kDirect:
        return emit_direct(direct_[part.op], group, graph);
      case Role::kBegin:
        return push(model_begin_cycle, nullptr, static_cast<u32>(part.op));
      case Role::kEnd:
        return push(model_end_cycle, nullptr, static_cast<u32>(part.op));
      case Role::kIssue: {
        const Step& step = stretch_.steps[part.op];
        for (const Uop& u : step.uops) {
          push(model_issue, nullptr, step.at - body_);
          trace_.ops.back().uop = keep(u);
          trace_.ops.back().address = first_address_[part.op];
          trace_.ops.back().count = static_cast<u8>(step.addresses.size());
        }
        for (const Uop& u : step.loads) {
          push(model_load, nullptr, step.at - body_);
          trace_.ops.back().uop = keep(u);
          trace_.ops.back().address = static_cast<u16>(first_address_[part.op] + u.mem);
        }
        return;
      }
    }
  }
}

bool TraceBuilder::build(u32& shorter) {
  shorter = 0;
  number_addresses();
  for (size_t i = 0; i < stretch_.steps.size(); ++i) {
    if (stretch_.steps[i].at >= body_) {
      add_step(static_cast<int>(i));
    } else {
      const Step& step = stretch_.steps[i];
      if (!step.uops.empty() || !step.loads.empty()) in_flight(step);
    }
  }
  for (Part& part : parts_) {
    for (const Touch& t : part.touches) part.first = std::min(part.first, t.when), part.last = std::max(part.last, t.when);
  }
  Graph graph(parts_);
  for (const Direct& d : direct_) {
    if (d.part[1] >= 0) graph.follows(d.part[1], d.part[0]);
    if (d.part[2] >= 0) graph.follows(d.part[2], d.part[1]);
  }
  const u32 conflict = graph.connect();
  if (conflict != ~u32{0}) {
    shorter = conflict == 0 ? 0 : conflict - 1;
    return false;
  }
  for (const Direct& d : direct_) {
    if (d.part[1] >= 0) graph.merge(d.part[0], d.part[1]);
    if (d.part[2] >= 0) graph.merge(d.part[1], d.part[2]);
  }
  const std::vector<int> order = graph.order();
  if (order.size() != graph.groups()) return false;  // a bundle that swaps registers
  for (int group : order) emit(group, graph);
  if (scratch_used_ > kTraceScratch) return false;
  for (const Direct& d : direct_) {
    trace_.loads += d.kind == DirectKind::kLoad;
    trace_.stores += d.kind == DirectKind::kStore;
    if (d.kind != DirectKind::kVec) continue;
    (d.uop.mask == 0 && is_product(d.uop) ? trace_.matrix_ops : trace_.accumulator_ops) += 1;
  }
  for (const Step& step : stretch_.steps) {
    if (step.at < body_ || !step.is_vec || step.uops[0].mask != 0) continue;
    const Uop& u = step.uops[0];
    const TraceControl control{u.x1, static_cast<MacUnit>(u.mem), is_product(u)};
    const bool known = std::any_of(trace_.controls.begin(), trace_.controls.end(), [&](const TraceControl& c) {
      return c.reg == control.reg && c.unit == control.unit && c.product == control.product;
    });
    if (!known) trace_.controls.push_back(control);
  }
  return true;
}

using Path = std::span<const Decoded* const>;

// As many bundles of the path as can join a trace after its first kTracePrefix; `stopped` is the first that cannot.
bool collect(const u8* program, Path path, Stretch& stretch, u32& stopped) {
  Growth growth;
  for (stopped = 0; stopped < path.size() && stopped < kTraceMaxBundles; ++stopped) {
    std::vector<Step> steps;
    const bool admissible = bind_bundle(program, path[stopped]->pc, stopped, steps);
    if (stopped < kTracePrefix) {
      if (steps.empty() && path[stopped]->uop_count != 0) return false;
      for (const Step& step : steps) growth.add_before(step, kTracePrefix);
    } else if (!admissible || !growth.accept(steps)) {
      break;
    }
    stretch.bundles.push_back(path[stopped]);
    for (Step& step : steps) stretch.steps.push_back(std::move(step));
  }
  return true;
}

std::unique_ptr<Trace> make_trace(Stretch& stretch, bool whole) {
  while (stretch.bundles.size() >= kTracePrefix + kTraceMinBundles) {
    auto trace = std::make_unique<Trace>();
    trace->entry = stretch.bundles[kTracePrefix];
    trace->bundles = static_cast<u32>(stretch.bundles.size()) - kTracePrefix;
    trace->first_pc = stretch.bundles.front()->pc;
    trace->last_pc = stretch.bundles.back()->pc;
    trace->exit = stretch.bundles.back()->next;
    trace->exit_pc = stretch.bundles.back()->next_pc;
    u32 shorter = 0;
    if (TraceBuilder(stretch, kTracePrefix, *trace).build(shorter)) return trace;
    if (whole || shorter >= trace->bundles) return nullptr;
    stretch.cut(kTracePrefix + shorter);
  }
  return nullptr;
}

// The first trace on a straight path from a landing.
std::unique_ptr<Trace> straight_trace(const u8* program, Path path) {
  for (u32 start = 0; start + kTracePrefix + kTraceMinBundles <= path.size();) {
    Stretch stretch;
    u32 stopped = 0;
    if (!collect(program, path.subspan(start), stretch, stopped)) return nullptr;
    if (auto trace = make_trace(stretch, false)) {
      trace->begins_after = start + kTracePrefix;
      return trace;
    }
    start += std::max(stopped + 1, kTracePrefix + 1) - kTracePrefix;
  }
  return nullptr;
}

std::unique_ptr<Trace> loop_trace(const u8* program, Path body, u32 iterations) {
  std::vector<const Decoded*> path;
  for (u32 i = 0; i < iterations; ++i) path.insert(path.end(), body.begin(), body.end());
  Stretch stretch;
  u32 stopped = 0;
  if (!collect(program, path, stretch, stopped) || stopped != path.size()) return nullptr;
  auto trace = make_trace(stretch, true);
  if (trace == nullptr) return nullptr;
  trace->begins_after = kTracePrefix;
  trace->loop_start = body.front()->pc;
  trace->loop_end = body.back()->pc;
  trace->iterations = iterations;
  trace->loops = iterations - kTracePrefix / static_cast<u32>(body.size());
  return trace;
}

}  // namespace

std::unique_ptr<Trace> expand_trace(const u8* program, const Trace& straight, const Decoded* loop_start, u32 loop_end,
                                    u32 left) {
  std::vector<const Decoded*> path;
  u32 remaining = left;
  const u32 start = straight.begins_after - kTracePrefix;
  for (const Decoded* d = straight.landing; d != nullptr && path.size() < straight.begins_after + kTraceMaxBundles;) {
    path.push_back(d);
    if (d->pc == loop_end && path.size() > straight.begins_after && remaining != 0 && --remaining != 0) {
      d = loop_start;
    } else {
      d = d->next;
    }
  }
  if (path.size() < start) return nullptr;
  Stretch stretch;
  u32 stopped = 0;
  if (!collect(program, Path(path).subspan(start), stretch, stopped)) return nullptr;
  auto trace = make_trace(stretch, false);
  if (trace == nullptr) return nullptr;
  trace->begins_after = straight.begins_after;
  trace->landing = straight.landing;
  trace->loop_start = loop_start->pc;
  trace->loop_end = loop_end;
  for (u32 i = 0; i < trace->bundles; ++i) trace->loops += path[trace->begins_after + i]->pc == loop_end;
  trace->iterations = left;
  return trace;
}

std::unique_ptr<TraceSet> build_traces(const u8* program, const Decoded* at, u32 loop_end) {
  auto set = std::make_unique<TraceSet>();
  set->loop_end = loop_end;
  std::vector<const Decoded*> path;
  for (const Decoded* d = at; d != nullptr && path.size() < kTraceMaxBundles; d = d->next) path.push_back(d);
  set->straight = straight_trace(program, path);
  if (set->straight != nullptr) set->straight->landing = at;
  if (loop_end == ~u32{0}) return set;
  const auto last = std::find_if(path.begin(), path.end(), [&](const Decoded* d) { return d->pc == loop_end; });
  if (last == path.end()) return set;
  const Path body(path.begin(), last + 1);
  for (u32 iterations = 64; iterations >= 2; iterations /= 2) {
    const size_t total = iterations * body.size();
    if (total > kTraceMaxBundles || total < kTracePrefix + kTraceMinBundles) continue;
    if (auto trace = loop_trace(program, body, iterations)) set->loops.push_back(std::move(trace));
  }
  return set;
}

}  // namespace tegula::emu
