// See flood.h. Works through registers alone, as a stream would.
#include "emu/flood.h"

#include <algorithm>
#include <array>
#include <random>

#include "arch/dma.h"
#include "arch/stream_switch.h"
#include "emu/core_model.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {

constexpr u64 kPoolBytes = 1 << 20;      // random bytes that all inputs read
constexpr u32 kTransferWords = 1 << 14;  // of one BD
constexpr int kPacketIds = 32;
constexpr u64 kSlice = 4096;  // cycles between two looks at the cores
// How many looks a core stands still for a lock until it is given from outside: one that nobody on the array
// is known to give (streams do), and one that somebody will when his data comes.
constexpr int kPatience = 2, kPatienceWithGiver = 8;

// Reads come from a pool of random bytes whatever the address, writes go nowhere.
class PoolMemory final : public DdrMemory {
 public:
  PoolMemory(u64 seed, const Bytes& data) : pool_(2 * kPoolBytes), sink_(2 * kPoolBytes) {
    for (u64 at = 0; !data.empty() && at < pool_.size(); ++at) pool_[at] = data[at % data.size()];
    if (!data.empty()) return;
    std::mt19937_64 random(seed);
    for (u64 at = 0; at < pool_.size(); at += 8) store_le(pool_.data() + at, random());
  }
  Result<u8*> translate(u64 address, u64 bytes, bool write) override {
    if (bytes > kPoolBytes) return fail(Code::kOutOfRange, "more than the pool of random bytes");
    return (write ? sink_ : pool_).data() + address % kPoolBytes / 4 * 4;
  }

 private:
  std::vector<u8> pool_, sink_;
};

class Flooder {
 public:
  explicit Flooder(Array& array) : array_(array) {}

  Result<void> open_all() {
    for (int col = 0; col < arch::kColumns; ++col) {
      const Tile tile{static_cast<u8>(col), 0};
      for (int channel = 0; channel < arch::traits(TileKind::kShim).channels; ++channel) {
        TRY(open_input(tile, channel));
        TRY(open_output(tile, channel));
      }
    }
    return {};
  }

 private:
  Result<u32> read(Tile tile, u32 offset) { return array_.read32(arch::tile_address(tile, offset)); }

  // Packet ids that the slave port lets in, at most four, as the BDs are few: the first of each slot, then
  // others. One entry -1 for a circuit.
  Result<std::vector<int>> ids(Tile tile, int slave) {
    TRY_ASSIGN(const u32 config, read(tile, arch::slave_offset(TileKind::kShim, slave)));
    if ((config & arch::kPortEnable) == 0) return std::vector<int>{};
    if ((config & arch::kPortPacket) == 0) return std::vector<int>{-1};
    std::vector<int> first, others;
    std::array<bool, arch::kSlotsPerSlave> seen{};
    for (int id = 0; id < kPacketIds; ++id) {
      for (int s = 0; s < arch::kSlotsPerSlave; ++s) {
        TRY_ASSIGN(const u32 word, read(tile, arch::slot_offset(TileKind::kShim, slave, s)));
        const arch::PacketSlot slot = arch::decode_packet_slot(word);
        if (!slot.enable || (id & slot.mask) != slot.id) continue;
        (seen[s] ? others : first).push_back(id);
        seen[s] = true;
        break;
      }
    }
    first.insert(first.end(), others.begin(), others.end());
    if (first.size() > 4) first.resize(4);
    return first;
  }

  Result<void> open_input(Tile tile, int channel) {
    TRY_ASSIGN(const u32 mux, read(tile, arch::kShimMux));
    if ((mux & arch::shim_mux_mask(channel)) != arch::shim_mux_value(channel)) return {};
    const int slave = arch::slave_number(
        TileKind::kShim, {arch::PortKind::kSouth, static_cast<u8>(arch::shim_mm2s_south(channel))});
    TRY_ASSIGN(const std::vector<int> all, ids(tile, slave));
    const int first = channel * 4;
    for (size_t i = 0; i < all.size(); ++i) {
      const int number = first + static_cast<int>(i);
      arch::Bd bd = endless(number, i + 1 < all.size() ? number + 1 : first);
      bd.packet = all[i] >= 0;
      bd.packet_id = static_cast<u8>(std::max(all[i], 0));
      TRY(write_bd(tile, number, bd));
    }
    return all.empty() ? Result<void>{} : push(tile, Direction::kMm2s, channel, first);
  }

  Result<void> open_output(Tile tile, int channel) {
    TRY_ASSIGN(const u32 demux, read(tile, arch::kShimDemux));
    if ((demux & arch::shim_demux_mask(channel)) != arch::shim_demux_value(channel)) return {};
    const int number = 8 + channel;
    TRY(write_bd(tile, number, endless(number, number)));
    return push(tile, Direction::kS2mm, channel, number);
  }

  static arch::Bd endless(int number, int next) {
    arch::Bd bd;
    bd.address = arch::kDdrOffset + (static_cast<u64>(number) << 16);
    bd.length = kTransferWords;
    bd.use_next = true;
    bd.next = static_cast<u8>(next);
    return bd;
  }
  Result<void> write_bd(Tile tile, int number, const arch::Bd& bd) {
    TRY_ASSIGN(const arch::BdWords words, arch::encode(TileKind::kShim, bd));
    return array_.block_write(arch::tile_address(tile, arch::bd_offset(TileKind::kShim, number)), words);
  }
  Result<void> push(Tile tile, Direction direction, int channel, int bd) {
    return array_.write32(arch::tile_address(tile, arch::channel_queue(TileKind::kShim, direction, channel)),
                          arch::encode_task({static_cast<u8>(bd), 1, false}));
  }

  Array& array_;
};

}  // namespace

bool FloodCore::enough(u64 wanted) const {
  return fault.empty() && (done || bundles >= wanted);
}

bool FloodReport::enough(u64 bundles) const {
  return failure.empty() &&
         std::all_of(cores.begin(), cores.end(), [&](const FloodCore& core) { return core.enough(bundles); });
}

namespace {

// A core under way, as the last look saw it.
struct FloodWatch {
  Tile tile;
  u64 bundles = 0;
  int stood = 0;  // looks
};

// Whether it has run; if it stands for a lock for too long, gives it.
bool look_at(Array& array, FloodWatch& watch, const FloodOptions& options, FloodReport& report) {
  const u64 bundles = array.core(watch.tile).counters().bundles;
  const CoreState state = array.core_state(watch.tile);
  if (state.done || !state.fault.empty() || bundles >= options.enough_bundles) return true;
  watch.stood = bundles == watch.bundles ? watch.stood + 1 : 0;
  watch.bundles = bundles;
  if (!state.waits_for_lock || report.kicks >= options.kicks) return false;
  if (watch.stood < (state.lock_has_giver ? kPatienceWithGiver : kPatience)) return false;
  watch.stood = 0;
  const u32 value = static_cast<u32>(state.amount < 0 ? -state.amount : state.amount);
  const u32 at = arch::lock_offset(state.lock_tile.kind(), state.lock);
  if (array.write32(arch::tile_address(state.lock_tile, at), value).ok()) ++report.kicks;
  return false;
}

}  // namespace

FloodReport flood(Session& session, const FloodOptions& options) {
  Array& array = session.array();
  FloodReport report;
  PoolMemory memory(options.seed, options.data);
  if (const auto opened = Flooder(array).open_all(); !opened.ok()) {
    report.failure = opened.error().message;
    return report;
  }
  RunOptions run;
  run.threads = options.threads;
  run.survive_core_faults = true;
  std::vector<FloodWatch> watches;
  for (int i = 0; i < arch::kTiles; ++i) {
    const Tile tile = arch::tile_at(i);
    if (tile.kind() == TileKind::kCore && array.core_state(tile).enabled) watches.push_back({tile});
  }
  if (watches.empty()) report.failure = "the configuration enables no core";
  size_t ran = 0;
  while (report.cycles < options.cycles && report.failure.empty() && ran < watches.size()) {
    const u64 slice = std::min(kSlice, options.cycles - report.cycles);
    const RunResult result = array.settle(memory, slice, run);
    report.failure = result.message;
    report.findings = result.report;
    report.cycles += slice;
    ran = 0;
    for (FloodWatch& watch : watches) ran += look_at(array, watch, options, report);
  }
  for (const FloodWatch& watch : watches) {
    const CoreState state = array.core_state(watch.tile);
    report.cores.push_back(
        {watch.tile, array.core(watch.tile).counters().bundles, state.done, state.fault, state.waits});
  }
  return report;
}

}  // namespace tegula::emu
