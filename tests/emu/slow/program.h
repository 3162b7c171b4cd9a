// Random programs that the hardware could run: made bundle by bundle while the slow core executes them, so
// that every address, mode and shift is one that has a meaning where it is used, results collide nowhere, and
// what is read is old or new as it happens.
#pragma once

#include <map>
#include <random>
#include <set>

#include "emu/slow/core.h"

namespace tegula::emu::slow {

struct ProgramOptions {
  u32 bundles = 150;       // addresses to fill, about
  u32 most_cycles = 2500;  // a program that runs longer is given up
  // Addresses change by their updates alone and control words stay, as in inner loops; without what is
  // outside.
  bool calm = false;
  std::string_view focus;  // families to prefer: a part of the mnemonic
};

// Registers and memory at the start.
struct Start {
  std::vector<std::pair<isa::Reg, Value>> registers;
  std::vector<u8> memory;
};

const std::vector<isa::Reg>& compared_registers();
Start random_start(u32 seed);

class ProgramMaker {
 public:
  ProgramMaker(u32 seed, const ProgramOptions& options);
  ~ProgramMaker();

  // False: given up (it would not end, or what is illegal could not be taken out).
  bool make();

  const Start& start() const { return start_; }
  const std::vector<u8>& program() const { return program_; }
  const Core& result() const { return *core_; }
  u64 issued() const { return issued_; }
  const std::string& why() const { return why_; }           // given up
  const std::set<u32>& addresses() const { return made_; }  // of the bundles
  const std::map<isa::Op, u64>& executed() const { return executed_; }

 private:
  enum class Action : u8 { kLoopEnd, kReturn };
  struct Loop {  // counted by r15, its start in p7
    u32 begin, end;
  };

  u32 pick(u32 n) { return static_cast<u32>(random_() % n); }
  bool chance(u32 percent) { return pick(100) < percent; }

  // False: given up. True: done, or something was taken out and it starts again.
  bool run();
  bool give_up(const std::string& why);
  bool repair(const Core::Step& step);
  bool take_out(Place at);
  bool extend(u32 pc);
  bool plain(u32 pc, std::vector<isa::Instr> fixed = {});
  bool structure(u32 pc);
  bool hardware_loop(u32 pc);
  bool forward_branch(u32 pc);
  bool software_loop(u32 pc);
  bool call(u32 pc);
  bool act(u32 pc, Action action);

  bool emit(u32 pc, isa::Bundle bundle);
  bool free_until(u32 from, u32 to) const;
  u32 room(u32 pc) const;
  bool in_loop(u32 pc) const;

  isa::Instr propose(isa::Slot slot);
  bool fill_operands(isa::Instr& instr);
  isa::Reg choose_register(const isa::Instr& instr, int operand);
  i64 choose_immediate(const isa::Instr& instr, int operand);
  i64 constant_for(isa::Reg reg);
  bool calm(const isa::Instr& instr);
  bool allowed(const isa::Instr& instr, u32 pc);
  isa::Instr parse(const std::string& text);

  std::mt19937 random_;
  ProgramOptions options_;
  Start start_;
  std::vector<u8> program_;
  std::unique_ptr<Core> core_;
  std::set<u32> made_;        // addresses where a bundle has been put
  std::set<u32> fixed_;       // of these, those that hold the structure together
  std::set<u32> boundaries_;  // where a bundle has to start
  std::set<u32> full_;        // where it has to have 16 bytes
  std::map<u32, Action> actions_;
  std::vector<std::pair<u32, u32>> hardware_;  // hardware loops, from set-up to end
  std::vector<std::pair<u32, u32>> functions_;
  std::vector<Loop> loops_;
  u32 next_function_ = 0x2800;
  bool finished_ = false;
  u64 issued_ = 0;
  std::string why_;
  std::vector<isa::Reg> recent_;
  std::map<isa::Op, u64> executed_;
};

}  // namespace tegula::emu::slow
