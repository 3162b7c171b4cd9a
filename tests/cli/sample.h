// Small artifacts for the tests of the toolbox, written by hand: single tiles, and the two array
// configurations and the stream that docs/formats/worked-examples.md describes.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "arch/dma.h"
#include "arch/grid.h"
#include "arch/stream_switch.h"
#include "format/cdo.h"
#include "format/pdi.h"
#include "format/txn.h"
#include "format/xclbin.h"
#include "isa/text.h"

namespace tegula::test {

using arch::Direction;
using arch::PortKind;
using arch::TileKind;

// Collects configuration commands in the words of the array.
class Config {
 public:
  void write(int col, int row, u32 offset, u32 value) {
    cdo_.write(arch::tile_address(col, row, offset), value);
  }
  void mask(int col, int row, u32 offset, u32 mask, u32 value) {
    cdo_.mask_write(arch::tile_address(col, row, offset), mask, value);
  }
  void block(int col, int row, u32 offset, const std::vector<u32>& words) {
    cdo_.block_write(arch::tile_address(col, row, offset), words);
  }
  void lock(int col, int row, int lock, u32 value) {
    write(col, row, arch::lock_offset(arch::tile_kind(row), lock), value);
  }
  void bd(int col, int row, int number, const arch::Bd& bd) {
    const TileKind kind = arch::tile_kind(row);
    const auto words = arch::encode(kind, bd);
    ASSERT_TRUE(words.ok()) << words.error().message;
    block(col, row, arch::bd_offset(kind, number),
          {words->begin(), words->begin() + arch::traits(kind).bd_words});
  }
  void start(int col, int row, Direction direction, int channel, int first) {
    write(col, row, arch::channel_queue(arch::tile_kind(row), direction, channel),
          arch::encode_task({static_cast<u8>(first), 1, false}));
  }
  // One ring of equal transfers that follow each other for ever.
  struct Ring {
    std::vector<int> bds;
    std::vector<u32> addresses;
    u32 words;
    std::vector<int> acquire, release;  // locks, one for all BDs or one for each
    std::array<arch::BdDimension, 4> dims{};
  };
  void ring(int col, int row, Direction direction, int channel, const Ring& ring) {
    for (size_t i = 0; i < ring.bds.size(); ++i) {
      arch::Bd out;
      out.address = ring.addresses[i];
      out.length = ring.words;
      out.dims = ring.dims;
      out.use_next = true;
      out.next = static_cast<u8>(ring.bds[(i + 1) % ring.bds.size()]);
      out.acquire = true;
      out.acquire_lock = static_cast<u8>(ring.acquire[i % ring.acquire.size()]);
      out.acquire_value = -1;
      out.release_lock = static_cast<u8>(ring.release[i % ring.release.size()]);
      out.release_value = 1;
      bd(col, row, ring.bds[i], out);
    }
    start(col, row, direction, channel, ring.bds[0]);
  }
  void connect(int col, int row, arch::Port from, arch::Port to) {
    const TileKind kind = arch::tile_kind(row);
    const int slave = arch::slave_number(kind, from), master = arch::master_number(kind, to);
    write(col, row, arch::slave_offset(kind, slave), arch::circuit_slave());
    write(col, row, arch::master_offset(kind, master), arch::circuit_master(slave));
  }
  void program(int col, int row, const Bytes& code) {
    std::vector<u32> words((code.size() + 3) / 4, 0);
    std::memcpy(words.data(), code.data(), code.size());
    block(col, row, arch::kCoreProgramOffset, words);
  }
  void enable(int col, int row) { mask(col, row, arch::kCoreControl, arch::kCoreEnable, arch::kCoreEnable); }
  void token_route(int col) {
    write(col, 0, arch::slave_offset(TileKind::kShim, 0), arch::packet_slave());
    write(col, 0, arch::slot_offset(TileKind::kShim, 0, 0), arch::packet_slot({true, 15, 0x1F, 3, 5}));
    write(col, 0, arch::master_offset(TileKind::kShim, 2), arch::packet_master({5, 8, false}));
  }

  const std::vector<format::CdoCommand>& commands() const { return cdo_.commands(); }

 private:
  format::CdoWriter cdo_;
};

inline arch::Port port(PortKind kind, int index) {
  return {kind, static_cast<u8>(index)};
}

// Assembled bundles, filled up with nops of two bytes to `bytes`.
inline Bytes program_of(const std::vector<std::string>& lines, size_t bytes) {
  Bytes code;
  const auto append = [&code](const std::string& line) {
    const auto bundle = isa::assemble(line);
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    const auto bytes = isa::encode(*bundle);
    ASSERT_TRUE(bytes.ok()) << bytes.error().message;
    code.insert(code.end(), bytes->begin(), bytes->end());
  };
  for (const std::string& line : lines) append(line);
  while (code.size() < bytes) append("nop");
  return code;
}

inline Bytes xclbin_of(const std::vector<format::CdoCommand>& commands) {
  const Bytes pdi = format::write_pdi(commands);
  format::XclbinContent content;
  content.pdi = pdi;
  return format::write_xclbin(content);
}

}  // namespace tegula::test
