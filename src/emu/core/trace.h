// Traces: straight stretches of bundles turned into a flat list of operations that need no pipeline model.
//
// The pipeline of these cores is exposed and its timing fixed, so for bundles that follow each other without
// a branch the order in which values are read, become visible and reach memory is known in advance. A trace
// keeps that order wherever two operations touch the same bytes and gives it up elsewhere: a load then copies
// from memory to its register in one step, a multiply works in place. Operations still under way when a trace
// begins or ends, and those without a direct form, go through the pipeline model, cycle by cycle, inside the
// trace too. Results are the same to the bit and cycle.
//
// A trace begins kTracePrefix bundles or more after a landing (the target of a branch or loop, or the end of
// another trace), when all that is in flight was issued by bundles known to it. All addresses of a trace are
// computed first, so a misaligned or foreign one leaves everything untouched to the bundle-wise loop. Bundles
// that synchronise, branch, or may fault otherwise are never part of a trace.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "emu/core/machine.h"

namespace tegula::emu {

class DecodedProgram;
struct TraceOp;
using TraceHandler = void (*)(Machine&, const TraceOp&);

constexpr u32 kTracePrefix = 11;      // no result takes longer
constexpr u32 kTraceMinBundles = 16;  // shorter ones gain nothing
constexpr u32 kTraceMaxBundles = 512;
constexpr u32 kTraceMaxAddresses = 1536;
constexpr size_t kTraceExpansions = 512;  // of one program
constexpr u32 kTraceScratch = 32768;      // bytes for values on their way

struct TraceOp {
  TraceHandler run = nullptr;
  const Uop* uop = nullptr;
  u16 dst = 0, a = 0, b = 0, c = 0;
  u16 address = 0;  // first address of the instruction
  u16 cycle = 0;    // since the start of the trace
  u16 scratch = 0;  // offset
  u8 count = 0;     // addresses of the instruction
  u8 flag = 0;
};

struct TraceAddress {
  AddressOp op;
  u8 left_in_bundle = 1;  // this one and those that follow
};

// All addresses of a trace that go through one pointer, when they differ from its value at the entry by
// constants. A FIFO stream starts at pointer - position; its first fill also makes up for the pointer's
// misalignment.
struct AddressStream {
  u16 base = kZeroRegister, position = kZeroRegister;
  u8 align_mask = 0;
  bool fifo = false, filled = false;
  i32 lowest = 0, end = 0;                // bytes touched, from the start
  i32 advance = 0, position_advance = 0;  // of the registers in all
  i32 least_before = 0, least_after = 0;  // of the position, before and after the first fill
  u16 modifier = kZeroRegister;           // a register of which multiples are added
  i32 modified = 0;                       // multiples of it in all
  struct Access {
    u16 pointer;  // number
    u16 size;
    i32 offset;  // from the start
    i32 times;   // multiples of the modifier added to that
  };
  std::vector<Access> accesses;
};

struct TraceControl {  // a control word that a multiplication reads
  u16 reg;
  MacUnit unit;
  bool product;
};

struct Trace {
  const Decoded* entry = nullptr;
  u32 begins_after = kTracePrefix;  // bundles from the landing to the entry
  u32 bundles = 0;
  u32 first_pc = 0, last_pc = 0;           // from the landing on
  u32 loop_start = ~u32{0}, loop_end = 0;  // of a loop's iterations: bundle addresses
  u32 loops = 0;                           // loop ends passed
  u32 iterations = 0;  // of a loop: needed at the landing; expanded: exactly those left at the entry
  const Decoded* landing = nullptr;
  const Decoded* exit = nullptr;  // straight on, where known
  u32 exit_pc = 0;
  std::vector<TraceAddress> addresses;  // in order; empty when streams hold them all
  std::vector<AddressStream> streams;
  std::vector<TraceControl> controls;
  std::vector<TraceOp> ops;
  u32 loads = 0, stores = 0, matrix_ops = 0, accumulator_ops = 0;  // of direct operations
  std::deque<Uop> uops;
};

// What is known about landing at one bundle. Immutable once published.
struct TraceSet {
  std::unique_ptr<Trace> straight;
  std::vector<std::unique_ptr<Trace>> loops;  // most iterations first
  u32 loop_end = 0;
};

// The straight trace with a hardware loop that lies in it run `left` times, or to the length of a trace;
// null: none.
std::unique_ptr<Trace> expand_trace(const u8* program, const Trace& straight, const Decoded* loop_start,
                                    u32 loop_end, u32 left);

// Traces for a landing at `at`; when loop_end is an address, also for the loop at..loop_end.
std::unique_ptr<TraceSet> build_traces(const u8* program, const Decoded* at, u32 loop_end);

}  // namespace tegula::emu
