// A second core, for tests: written from the architecture's description alone and sharing nothing with
// src/emu but the instruction tables. One cycle at a time, one lane at a time: registers are bytes, operands
// are read in the cycle that the schedule gives them, results become visible in theirs. What the description
// leaves open is Illegal, so that nobody relies on it.
#pragma once

#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "isa/isa.h"

namespace tegula::emu::slow {

// The bytes of a register or of memory, lowest first.
struct Value {
  std::array<u8, 256> bytes;
  u32 size = 0;

  static Value zeros(u32 size) {
    Value v;
    v.bytes.fill(0);
    v.size = size;
    return v;
  }
  template <typename T>
  static Value of(T x) {
    Value v = zeros(sizeof(T));
    v.set(0, x);
    return v;
  }
  template <typename T>
  T get(u32 lane) const {
    T x;
    std::memcpy(&x, bytes.data() + lane * sizeof(T), sizeof(T));
    return x;
  }
  template <typename T>
  void set(u32 lane, T x) {
    std::memcpy(bytes.data() + lane * sizeof(T), &x, sizeof(T));
  }
  // A lane of 8, 16, 32 or 64 bits, extended.
  i64 lane(u32 bits, u32 index, bool is_signed) const;
  void set_lane(u32 bits, u32 index, i64 x);
};

// An instruction of a program.
struct Place {
  u32 pc = ~u32{0};
  int index = 0;
};

// Why a program is none that the hardware can be asked to run.
struct Illegal {
  std::string why;
  u32 pc = ~u32{0};  // of the instruction to blame, where it is not the one that issues
  int index = 0;
  Place other = {};  // and of one before it that it is in conflict with
};

// One instruction on its way through the pipeline.
class Flight {
 public:
  Flight(const isa::Instr& instruction, u64 issued, u32 at);

  bool has(std::string_view operand) const { return find(operand) >= 0; }
  int find(std::string_view operand) const;
  isa::Reg reg(std::string_view operand) const { return instr.reg(find(operand)); }
  i64 imm(std::string_view operand) const { return instr.operand[static_cast<size_t>(find(operand))]; }
  const Value& in(std::string_view operand) const { return inputs[static_cast<size_t>(find(operand))]; }
  u32 word(std::string_view operand) const { return in(operand).get<u32>(0); }
  // A register that the instruction reads without naming it.
  u32 control(isa::Reg reg) const;
  // The sign register chosen by the opcode.
  bool sign() const;

  void out(std::string_view operand, const Value& value);
  void out_word(std::string_view operand, u32 value) { out(operand, Value::of<u32>(value)); }
  void out_implicit(isa::Reg reg, u32 value);
  void raise_flag(isa::Reg reg);  // sticky
  void illegal(const std::string& why) { throw Illegal{why}; }

  isa::Instr instr;
  const isa::InstrInfo* info;
  const isa::Timing* timing;
  std::string_view mnemonic;
  u64 issue;
  u32 pc;
  int index = 0;           // in its bundle
  u32 return_address = 0;  // of a call
  Value received;          // from outside
  bool success = true;
  bool branch_taken = false;
  u32 branch_target = 0;

  std::array<Value, isa::kMaxOperands> inputs;
  std::array<Value, 6> implicit;
  u32 last_sample = 1;  // cycle in which the last input is there and the result can be computed
  bool computed = false;

  // Memory. Loads fill `memory` in their memory cycle, stores write it in theirs.
  u32 address = 0, size = 0;
  bool loads = false, stores = false;
  Value memory;
  std::vector<u32> gather;  // addresses of a table look-up, eight bytes each

  struct Result {
    isa::Reg reg;
    Value value;
    isa::OperandTiming timing;
    bool sticky;
  };
  std::vector<Result> results;
};

// The world outside of the core: answers that depend on nothing but how often it was asked, and a list of
// what it was told.
class World {
 public:
  enum Kind : u8 {
    kAcquire,
    kRelease,
    kStreamRead,
    kStreamWrite,
    kCascadeRead,
    kCascadeWrite,
    kTileRead,
    kTileWrite,
    kKinds
  };

  // Waiting time of the next event of this kind, which counts as stalled.
  u32 wait(Kind kind);
  u32 stream_word(bool blocking, bool& success);
  bool stream_accepts(bool blocking);
  Value cascade_word();
  static u32 tile_word(u32 offset) { return offset * 0x9E3779B1u; }
  void tell(Kind kind, u64 a, u64 b) { told[kind].push_back({a, b}); }
  void tell_word(const u8* bytes64);

  std::array<std::vector<std::array<u64, 2>>, kKinds> told;
  u64 stalled = 0;

 private:
  u32 answer(Kind kind);
  std::array<u32, kKinds> asked_{};
};

struct Rule {
  void (*compute)(Flight&);
  u32 memory_bytes = 0;  // of the access
  // Where the instruction meets the world, before it issues: called when nothing can keep it from issuing.
  void (*meet)(Flight&, World&) = nullptr;
  void (*early)(Flight&) = nullptr;  // results of the second cycle of an instruction that computes later
};
using Rules = std::map<std::string, Rule, std::less<>>;

// The families, one file each. Keys are mnemonics without .2d, .3d.
void add_scalar(Rules& rules);
void add_vector(Rules& rules);
void add_permute(Rules& rules);
void add_convert(Rules& rules);
void add_matrix(Rules& rules);
void add_memory(Rules& rules);
void add_outside(Rules& rules);
const Rules& rules();
const Rule* rule_of(isa::Op op);
std::string plain_mnemonic(const isa::InstrInfo& info);

// Bits that a control or status register keeps; 32 for others.
u32 control_bits(isa::Reg reg);
bool legal_control(isa::Reg reg, u32 value);

struct Registers {
  Registers();
  Value read(isa::Reg reg) const;
  void write(isa::Reg reg, const Value& value);
  u32 part(const isa::RegPart& part) const;
  std::array<std::vector<u8>, static_cast<size_t>(isa::Bank::kCount)> banks;
};

constexpr u32 kOwnBase = 0x70000, kMemoryBytes = 0x10000, kProgramBytes = 0x4000;

class Core {
 public:
  Core();

  enum class Status : u8 { kRunning, kDone, kRefused, kIllegal };
  struct Step {
    Status status = Status::kRunning;
    u32 pc = 0;     // kRefused, kIllegal: of the bundle concerned
    int instr = 0;  // and which instruction of it
    Place other;    // one before it that it is in conflict with
    std::string why;
  };

  // One bundle, one cycle. kRefused: the bundle at pc cannot be issued now, and nothing has changed.
  // kIllegal: something that an earlier bundle asked for turned out to be undefined.
  Step step();
  // Index of the instruction for which this bundle could not issue here and now; -1: it can.
  int refuses(const isa::Bundle& bundle, std::string* why = nullptr);

  // Whether a result on its way will change this register later than the next bundle's.
  bool in_flight(isa::Reg reg) const;

  Value read(isa::Reg reg) const { return registers_.read(reg); }
  void write(isa::Reg reg, const Value& value) { registers_.write(reg, value); }
  u32 read_word(isa::Reg reg) const { return read(reg).get<u32>(0); }
  void write_word(isa::Reg reg, u32 value) { write(reg, Value::of<u32>(value)); }

  std::vector<u8> memory, program;
  World world;
  u32 pc = 0;
  u64 cycle = 0;
  u32 branch_delay = 0;  // bundles until the branch in flight is taken

 private:
  struct Pending {
    u64 due;  // cycle from which everybody sees it
    Flight::Result result;
    u32 pc;
  };
  struct Reserved {
    u64 due;
    isa::Reg reg;
    bool sticky;
    Place place;
  };
  struct Busy {
    u64 from, until;  // [from, until)
    u8 unit;
    bool weak;
    Place place;
  };

  void commit();
  Value read_with(isa::Reg reg, isa::Bypass bypass) const;
  void sample(Flight& f);
  void form_address(Flight& f);
  void form_fifo(Flight& f);
  void form_lookup(Flight& f) const;
  void step_pointer(Flight& f, u32 base);
  void check_address(Flight& f) const;
  void reserve(const Flight& f, std::vector<Reserved>& outs, std::vector<Busy>& units) const;
  void compute(Flight& f);
  void queue(Flight& f);
  void access_memory();
  void advance(const isa::Bundle& bundle);
  void retire();
  using Flights = std::vector<std::unique_ptr<Flight>>;
  Flights prepare(const isa::Bundle& bundle, int& which, std::vector<Reserved>& outs,
                  std::vector<Busy>& units);
  void check_flow(const isa::Bundle& bundle) const;
  void check_cascade(const Flight& f, const Flights& bundle) const;

  Registers registers_;
  std::vector<std::unique_ptr<Flight>> flights_;
  std::vector<Pending> pending_;
  std::vector<Reserved> reserved_;
  std::vector<Busy> busy_;
  u32 branch_target_ = 0;
};

}  // namespace tegula::emu::slow
