// Array configurations and controller streams piece by piece, in the words of the array. Register layouts:
// src/arch.
#pragma once

#include <span>
#include <vector>

#include "arch/dma.h"
#include "arch/grid.h"
#include "arch/stream_switch.h"
#include "base/bytes.h"
#include "base/result.h"
#include "format/cdo.h"
#include "format/txn.h"

namespace tegula::compiler {

inline arch::Port port(arch::PortKind kind, int index) {
  return {kind, static_cast<u8>(index)};
}

// Collects configuration commands; the first error sticks.
class ArrayWriter {
 public:
  void write(int col, int row, u32 offset, u32 value);
  void mask(int col, int row, u32 offset, u32 mask, u32 value);
  void block(int col, int row, u32 offset, std::span<const u32> words);
  void lock(int col, int row, int lock, u32 value);
  void bd(int col, int row, int number, const arch::Bd& bd);
  void start(int col, int row, arch::Direction direction, int channel, int first_bd);
  void connect(int col, int row, arch::Port slave, arch::Port master);
  // Connects a shim's DMA channel with its switch.
  void shim_channel(int col, arch::Direction direction, int channel);
  // Tokens: packets of id 15 from the shim's TileCtrl to the controller, with the values of every public
  // file.
  void token_route(int col);

  // A core in this order: stop, program, release its DMA, reset; when all else stands, enable.
  void stop_core(int col, int row);
  void program(int col, int row, ByteSpan code);
  void release_dma(int col, int row);
  void reset_core(int col, int row);
  void enable_core(int col, int row);

  Result<std::vector<format::CdoCommand>> finish() const;

 private:
  void reset_dma(int col, int row, bool reset);

  format::CdoWriter cdo_;
  Result<void> status_;
};

// Collects the operations of a stream.
class StreamWriter {
 public:
  // One shim transfer: the BD, the patch of its address and the start of its task.
  struct Transfer {
    int col;
    arch::Direction direction;
    int channel;
    int bd;
    u32 argument;
    u64 offset;      // bytes into the argument
    u64 bytes;       // of one run
    i64 repeat = 1;  // runs of the task
    u64 stride = 0;  // bytes between the runs; 0: the same bytes again
    bool token = false;
  };

  // Error: kOutOfRange outside the limits of the buffer descriptors.
  Result<void> transfer(const Transfer& t);
  void wait(int col, arch::Direction direction, int channel, int columns = 1);
  // Sets the controller id of a shim channel whose tokens are waited for.
  void token_id(int col, arch::Direction direction, int channel);
  Bytes finish() { return txn_.finish(); }

 private:
  format::TxnWriter txn_;
};

}  // namespace tegula::compiler
