// Building traces: which bundles they hold, their operations, and the order in which these run; see trace.h
// for the idea, trace_steps.h and trace_graph.h for its parts.
#include <algorithm>
#include <map>

#include "emu/core/trace_graph.h"
#include "emu/core/trace_ops.h"

namespace tegula::emu {

namespace {

enum class DirectKind : u8 { kNow, kLoad, kStore, kVec };

// An instruction in direct form: up to three parts in order.
struct Direct {
  DirectKind kind = DirectKind::kNow;
  int step = 0;
  Uop uop;
  u16 address = 0;
  int part[3] = {-1, -1, -1};
};

class TraceBuilder {
 public:
  TraceBuilder(const TraceStretch& stretch, u32 body, Trace& trace)
      : stretch_(stretch),
        body_(body),
        cycles_(static_cast<u32>(stretch.bundles.size()) - body),
        trace_(trace) {}
  // True when done; else `shorter` is the number of bundles that could do, 0 for none.
  bool build(u32& shorter);

 private:
  bool direct_form(const TraceStep& step, DirectKind& kind) const;
  void number_addresses();
  void add_step(int index);
  void add_direct(int index, DirectKind kind);
  void add_model(int index);
  void touch(TracePart& part, u16 offset, u32 bytes, u32 when, bool write, bool bypass = false);
  int add_part(TracePart part);
  TracePart& model_part(TraceRole role, u32 cycle);
  void in_flight(const TraceStep& step);
  void emit(int group, const TraceGraph& graph);
  void emit_direct(const Direct& direct, int group, const TraceGraph& graph);
  u16 scratch(u32 bytes);
  void push(TraceHandler run, const Direct* direct, u32 cycle, u16 at = 0);
  const Uop* keep(const Uop& u) { return &trace_.uops.emplace_back(u); }

  const TraceStretch& stretch_;
  const u32 body_, cycles_;
  Trace& trace_;
  std::vector<TracePart> parts_;
  std::vector<Direct> direct_;
  std::map<std::pair<u32, int>, int> model_parts_;  // cycle, role
  std::vector<u16> first_address_;                  // by step
  std::map<int, u16> scratch_of_;                   // direct -> offset
  u32 scratch_used_ = 0;
};

int TraceBuilder::add_part(TracePart part) {
  for (const TraceTouch& t : part.touches) {
    part.first = std::min(part.first, t.when);
    part.last = std::max(part.last, t.when);
  }
  parts_.push_back(std::move(part));
  return static_cast<int>(parts_.size()) - 1;
}

void TraceBuilder::touch(TracePart& part, u16 offset, u32 bytes, u32 when, bool write, bool bypass) {
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
TracePart& TraceBuilder::model_part(TraceRole role, u32 cycle) {
  const auto [it, fresh] = model_parts_.try_emplace({cycle, static_cast<int>(role)}, 0);
  if (fresh) {
    TracePart part;
    part.role = role;
    part.op = static_cast<int>(cycle);
    part.level = role == TraceRole::kBegin ? stamp(cycle, kVisible) : stamp(cycle, kLoad);
    part.first = part.last = part.level;
    it->second = add_part(part);
  }
  return parts_[it->second];
}

// What the model does for an instruction after it has issued, as far as it falls into the trace.
void TraceBuilder::in_flight(const TraceStep& step) {
  const i64 issue = static_cast<i64>(step.at) - body_;
  const u32 longest = std::max<u32>(step.longest, 9);
  for (u32 d = 1; d <= longest; ++d) {
    const i64 cycle = issue + d;
    if (cycle < 0 || cycle >= cycles_) continue;
    model_part(TraceRole::kBegin, static_cast<u32>(cycle));
    model_part(TraceRole::kEnd, static_cast<u32>(cycle));
  }
  const auto at = [&](i64 cycle) { return cycle >= 0 && cycle < cycles_; };
  for (const TraceUse& use : step.uses) {
    const i64 cycle = issue + use.cycle - (use.write ? 0 : 1);
    if (use.write && use.cycle > 0 && at(cycle)) {
      const bool bypass = use.bypass == isa::Bypass::kVec;
      touch(model_part(TraceRole::kBegin, static_cast<u32>(cycle)), use.offset, use.bytes,
            stamp(static_cast<u32>(cycle), kVisible), true, bypass);
    }
    if (!use.write && use.cycle > 1 && at(cycle)) {
      const bool bypass = use.bypass == isa::Bypass::kVec;
      const u32 when = bypass ? stamp(static_cast<u32>(cycle) + 1, kBypassRead)
                              : stamp(static_cast<u32>(cycle), kLateRead);
      touch(model_part(TraceRole::kBegin, static_cast<u32>(cycle)), use.offset, use.bytes, when, false,
            bypass);
    }
  }
  const i64 first = issue + step.memory_first - 1;
  if (step.memory_first != step.memory_last && at(first)) {  // a partial store reads its word
    const u32 cycle = static_cast<u32>(first);
    model_part(TraceRole::kBegin, cycle).touches.push_back({kMemoryCell, stamp(cycle, kLateRead), false});
  }
  if (step.memory_last != 0) {
    const bool is_store = step.loads.empty();
    const i64 cycle = issue + (is_store ? step.memory_last - 1 : 4);
    if (at(cycle)) {
      model_part(TraceRole::kEnd, static_cast<u32>(cycle))
          .touches.push_back(
              {kMemoryCell, stamp(static_cast<u32>(cycle), is_store ? kStore : kLoad), is_store});
    }
  }
}

void TraceBuilder::add_model(int index) {
  const TraceStep& step = stretch_.steps[index];
  const u32 cycle = step.at - body_;
  TracePart part;
  part.role = TraceRole::kIssue;
  part.op = index;
  for (const TraceUse& use : step.uses) {
    if (!use.write) touch(part, use.offset, use.bytes, stamp(cycle, kIssueRead), false);
    if (use.write && use.cycle == 1) touch(part, use.offset, use.bytes, stamp(cycle, kIssueWrite), true);
  }
  part.level = stamp(cycle, kIssueRead);
  part.first = std::min(part.first, part.level);
  part.last = std::max(part.last, part.level);
  add_part(part);
  in_flight(step);
}

bool TraceBuilder::direct_form(const TraceStep& step, DirectKind& kind) const {
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
  const TraceStep& step = stretch_.steps[index];
  const u32 cycle = step.at - body_;
  Direct d;
  d.kind = kind;
  d.step = index;
  d.uop = step.loads.empty() ? step.uops[0] : step.loads[0];
  d.address = first_address_[index];
  const Uop& u = d.uop;
  const auto part = [&](auto fill) {
    TracePart p;
    p.op = static_cast<int>(direct_.size());
    fill(p);
    return add_part(p);
  };
  const auto uses = [&](TracePart& p, bool write, u32 when, u32 before_cycle = ~0u) {
    for (const TraceUse& use : step.uses) {
      if (use.write == write && use.cycle < before_cycle)
        touch(p, use.offset, use.bytes, when, write, step.is_vec && use.bypass == isa::Bypass::kVec);
    }
  };
  switch (kind) {
    case DirectKind::kNow:
      d.part[0] = part([&](TracePart& p) {
        uses(p, false, stamp(cycle, kIssueRead));
        uses(p, true, stamp(cycle, kIssueWrite));
        if (p.touches.empty()) p.first = p.last = stamp(cycle, kIssueRead);
      });
      break;
    case DirectKind::kLoad:
      d.part[0] = part([&](TracePart& p) {
        p.touches.push_back({kMemoryCell, stamp(cycle + 4, kLoad), false});
      });
      d.part[1] = part([&](TracePart& p) { uses(p, true, stamp(cycle + u.latency, kVisible)); });
      break;
    case DirectKind::kStore:
      d.part[0] = part([&](TracePart& p) { uses(p, false, stamp(cycle, kIssueRead)); });
      d.part[1] = part([&](TracePart& p) {
        p.touches.push_back({kMemoryCell, stamp(cycle + u.latency - 1, kStore), true});
      });
      break;
    case DirectKind::kVec:
      d.part[0] = part([&](TracePart& p) {
        uses(p, false, stamp(cycle, kIssueRead), 4);
        if (p.touches.empty()) p.first = p.last = stamp(cycle, kIssueRead);
      });
      d.part[1] = part([&](TracePart& p) {
        for (const TraceUse& use : step.uses) {
          if (use.write || use.cycle < 4) continue;
          const bool bypass = use.bypass == isa::Bypass::kVec;
          touch(p, use.offset, use.bytes,
                bypass ? stamp(cycle + 4, kBypassRead) : stamp(cycle + 3, kLateRead), false, bypass);
        }
        if (p.touches.empty()) p.first = p.last = stamp(cycle + 3, kLateRead);
      });
      d.part[2] = part([&](TracePart& p) { uses(p, true, stamp(cycle + 6, kVisible)); });
      break;
  }
  direct_.push_back(d);
}

void TraceBuilder::add_step(int index) {
  const TraceStep& step = stretch_.steps[index];
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
    while (end < steps.size() && steps[end].at == steps[i].at)
      in_bundle += static_cast<u32>(steps[end++].addresses.size());
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
void TraceBuilder::emit_direct(const Direct& d, int group, const TraceGraph& graph) {
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

void TraceBuilder::emit(int group, const TraceGraph& graph) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    if (graph.group(static_cast<int>(p)) != group) continue;
    const TracePart& part = parts_[p];
    switch (part.role) {
      case TraceRole::kDirect:
        return emit_direct(direct_[part.op], group, graph);
      case TraceRole::kBegin:
        return push(model_begin_cycle, nullptr, static_cast<u32>(part.op));
      case TraceRole::kEnd:
        return push(model_end_cycle, nullptr, static_cast<u32>(part.op));
      case TraceRole::kIssue: {
        const TraceStep& step = stretch_.steps[part.op];
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
      const TraceStep& step = stretch_.steps[i];
      if (!step.uops.empty() || !step.loads.empty()) in_flight(step);
    }
  }
  for (TracePart& part : parts_) {
    for (const TraceTouch& t : part.touches)
      part.first = std::min(part.first, t.when), part.last = std::max(part.last, t.when);
  }
  TraceGraph graph(parts_);
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
  for (const TraceStep& step : stretch_.steps) {
    if (step.at < body_ || !step.is_vec || step.uops[0].mask != 0) continue;
    const Uop& u = step.uops[0];
    const TraceControl control{u.x1, static_cast<MacUnit>(u.mem), is_product(u)};
    const bool known =
        std::any_of(trace_.controls.begin(), trace_.controls.end(), [&](const TraceControl& c) {
          return c.reg == control.reg && c.unit == control.unit && c.product == control.product;
        });
    if (!known) trace_.controls.push_back(control);
  }
  return true;
}

using Path = std::span<const Decoded* const>;

// As many bundles of the path as can join a trace after its first kTracePrefix; `stopped` is the first that
// cannot.
bool collect(const u8* program, Path path, TraceStretch& stretch, u32& stopped) {
  TraceGrowth growth;
  for (stopped = 0; stopped < path.size() && stopped < kTraceMaxBundles; ++stopped) {
    std::vector<TraceStep> steps;
    const bool admissible = bind_bundle(program, path[stopped]->pc, stopped, steps);
    if (stopped < kTracePrefix) {
      if (steps.empty() && path[stopped]->uop_count != 0) return false;
      for (const TraceStep& step : steps) growth.add_before(step, kTracePrefix);
    } else if (!admissible || !growth.accept(steps)) {
      break;
    }
    stretch.bundles.push_back(path[stopped]);
    for (TraceStep& step : steps) stretch.steps.push_back(std::move(step));
  }
  return true;
}

std::unique_ptr<Trace> make_trace(TraceStretch& stretch, bool whole) {
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
    TraceStretch stretch;
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
  TraceStretch stretch;
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

std::unique_ptr<Trace> expand_trace(const u8* program, const Trace& straight, const Decoded* loop_start,
                                    u32 loop_end, u32 left) {
  std::vector<const Decoded*> path;
  u32 remaining = left;
  const u32 start = straight.begins_after - kTracePrefix;
  for (const Decoded* d = straight.landing;
       d != nullptr && path.size() < straight.begins_after + kTraceMaxBundles;) {
    path.push_back(d);
    if (d->pc == loop_end && path.size() > straight.begins_after && remaining != 0 && --remaining != 0) {
      d = loop_start;
    } else {
      d = d->next;
    }
  }
  if (path.size() < start) return nullptr;
  TraceStretch stretch;
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
  const auto last =
      std::find_if(path.begin(), path.end(), [&](const Decoded* d) { return d->pc == loop_end; });
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
