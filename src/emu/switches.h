// The stream switches of all tiles: configuration registers, and the routes that follow from them.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "arch/stream_switch.h"
#include "base/types.h"

namespace tegula::emu {

// Where a stream ends.
struct Sink {
  enum class Kind : u8 { kChannel, kCore, kToken, kControl };
  Kind kind = Kind::kChannel;
  arch::Tile tile;
  u8 channel = 0;            // kChannel: S2MM channel
  bool drop_header = false;  // packet mode: the header word is removed on the way in
};

struct SwitchPort {
  arch::Tile tile;
  u8 master = 0;
};

// A path through the switches from one slave port, for circuit streams or for packets of one id.
struct Route {
  std::vector<Sink> sinks;
  std::vector<SwitchPort> ports;  // master ports passed
  std::vector<u16> arbiters;      // tile index * 8 + arbiter, held for the length of a packet; sorted, unique
  std::string problem;            // not empty: words cannot pass, and why

  bool usable() const { return problem.empty() && !sinks.empty(); }
};

class Switches {
 public:
  static constexpr int kCircuit = -1;

  void reset();
  // Configuration registers: offset must be one of the tile's switch, otherwise false.
  bool write(arch::Tile tile, u32 offset, u32 value);
  bool read(arch::Tile tile, u32 offset, u32* value) const;
  void set_mux(arch::Tile tile, u32 value) {
    at(tile).mux = value;
    forget();
  }
  void set_demux(arch::Tile tile, u32 value) {
    at(tile).demux = value;
    forget();
  }
  u32 mux(arch::Tile tile) const { return at(tile).mux; }
  u32 demux(arch::Tile tile) const { return at(tile).demux; }

  // True since the last call to settled() if a register changed: routes found before may be wrong.
  bool changed() const { return changed_; }
  void settled() { changed_ = false; }

  bool packet_slave(arch::Tile tile, int slave) const {
    return (at(tile).slaves[slave] & (arch::kPortEnable | arch::kPortPacket)) ==
           (arch::kPortEnable | arch::kPortPacket);
  }
  // The route from a slave port: packet_id 0..31, or kCircuit. Found once and kept until a register changes.
  std::shared_ptr<const Route> route(arch::Tile tile, int slave, int packet_id);
  // Slave port at which a MM2S channel enters the switch; -1 if the shim's mux does not connect it.
  int dma_slave(arch::Tile tile, int channel) const;

  const u32* slave_config(arch::Tile tile) const { return at(tile).slaves.data(); }
  const u32* slot_config(arch::Tile tile, int slave) const { return at(tile).slots[slave].data(); }

 private:
  struct State {
    std::array<u32, arch::kMaxPorts> masters{};
    std::array<u32, arch::kMaxPorts> slaves{};
    std::array<std::array<u32, arch::kSlotsPerSlave>, arch::kMaxPorts> slots{};
    u32 mux = 0, demux = 0;
  };
  struct Place;

  State& at(arch::Tile tile) { return tiles_[tile.index()]; }
  const State& at(arch::Tile tile) const { return tiles_[tile.index()]; }
  const u32* find(arch::Tile tile, u32 offset) const;
  void forget();
  void walk(Route& route, arch::Tile tile, int slave, int packet_id, int depth) const;
  void leave(Route& route, arch::Tile tile, int slave, int master, int packet_id, bool drop, int depth) const;

  std::array<State, arch::kTiles> tiles_{};
  std::map<u32, std::shared_ptr<const Route>> routes_;
  bool changed_ = false;
};

}  // namespace tegula::emu
