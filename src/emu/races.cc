#include "emu/races.h"

#include <algorithm>

#include "base/hex.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;

namespace {

constexpr u32 kGranule = 8;  // bytes whose accesses share one list
constexpr size_t kMaxFound = 16;
constexpr size_t kMaxGiven = 4096;
constexpr u32 kNone = 0xFFFFFFFF;

// Numbers of the actors of each tile: the core first, then channels by direction.
struct Numbers {
  struct Actor {
    Tile tile;
    int part;  // -1: the core; direction * 6 + channel
  };
  std::array<ActorId, arch::kTiles> first{};
  std::vector<Actor> actors;

  Numbers() : actors{{Tile{}, 0}} {
    for (int i = 0; i < arch::kTiles; ++i) {
      const Tile tile = arch::tile_at(i);
      first[i] = static_cast<ActorId>(actors.size());
      if (tile.kind() == arch::TileKind::kCore) actors.push_back({tile, -1});
      const int channels = arch::traits(tile.kind()).channels;
      for (int d = 0; d < 2; ++d) {
        for (int c = 0; c < channels; ++c) actors.push_back({tile, d * 6 + c});
      }
    }
  }
};

const Numbers& numbers() {
  static const Numbers table;
  return table;
}

void join_clocks(Clock& to, const Clock& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

}  // namespace

ActorId Races::core(Tile tile) {
  return numbers().first[tile.index()];
}

ActorId Races::channel(Tile tile, Direction direction, int number) {
  const bool has_core = tile.kind() == arch::TileKind::kCore;
  return static_cast<ActorId>(numbers().first[tile.index()] + (has_core ? 1 : 0) +
                              static_cast<int>(direction) * arch::traits(tile.kind()).channels + number);
}

Races::Races() {
  for (int i = 0; i < arch::kTiles; ++i) {
    observers_[i].races = this;
    observers_[i].tile = arch::tile_at(i);
  }
  reset();
}

void Races::attach(Tile tile, const u8* data, u64 bytes) {
  Memory& memory = memories_[tile.index()];
  memory.tile = tile;
  memory.data = data;
  memory.bytes = bytes;
  memory.heads.assign(bytes / kGranule, kNone);
  memory.free = kNone;
}

void Races::reset() {
  for (Memory& memory : memories_) {
    std::fill(memory.heads.begin(), memory.heads.end(), kNone);
    memory.pool.clear();
    memory.free = kNone;
    memory.found.clear();
  }
  const size_t actors = numbers().actors.size();
  clocks_.assign(actors, Clock(actors, 0));
  for (size_t i = 0; i < actors; ++i) clocks_[i][i] = 1;
  given_.assign(actors, {});
  outside_ = kControllerActor;
  operation_ = kConfiguration;
}

// ------------------------------------------------------------- order

ClockCopy Races::copy(ActorId of) {
  ClockCopy out = std::make_shared<const Clock>(clocks_[of]);
  advance(of);
  return out;
}

void Races::join(ActorId who, const ClockCopy& clock) {
  if (clock != nullptr) join_clocks(clocks_[who], *clock);
}

void Races::order(ActorId before, ActorId after) {
  if (before == after) return;
  join_clocks(clocks_[after], clocks_[before]);
  advance(before);
}

void Races::lock_given(LockClocks& lock, Tile tile, int number, i32 amount, ActorId by) {
  auto& log = given_[by];
  log.push_back({clocks_[by][by], tile, static_cast<u8>(number)});
  if (log.size() > kMaxGiven) log.pop_front();
  const ClockCopy clock = copy(by);
  for (i32 i = 0; i < amount && lock.units.size() < arch::kLockMax; ++i) lock.units.push_back(clock);
  for (i32 i = amount; i < 0 && !lock.units.empty(); ++i) lock.units.pop_front();
  Clock all = *clock;
  if (lock.all != nullptr) join_clocks(all, *lock.all);
  lock.all = std::make_shared<const Clock>(std::move(all));
}

void Races::lock_taken(LockClocks& lock, i32 amount, ActorId by) {
  for (i32 i = 0; i < amount && !lock.units.empty(); ++i) {
    join(by, lock.units.front());
    lock.units.pop_front();
  }
  if (amount == 0) join(by, lock.all);
  Clock all = *copy(by);
  if (lock.all != nullptr) join_clocks(all, *lock.all);
  lock.all = std::make_shared<const Clock>(std::move(all));
}

void Races::lock_set(LockClocks& lock, i32 value) {
  lock.all = copy(outside_);
  lock.units.assign(static_cast<size_t>(value), lock.all);
}

void Races::lock_seen(const LockClocks& lock) {
  join(outside_, lock.all);
}

void Races::memory_seen(Tile tile, u32 offset) {
  const Memory& memory = memories_[tile.index()];
  std::vector<ActorId> writers;
  for (u32 i = memory.heads[offset / kGranule]; i != kNone; i = memory.pool[i].next) {
    if (memory.pool[i].write) writers.push_back(memory.pool[i].actor);
  }
  for (const ActorId writer : writers) order(writer, outside_);
}

// ------------------------------------------------------------- accesses

void Races::access(ActorId actor, const u8* at, u64 bytes, bool write, u32 place, u64 cycle) {
  for (const Memory& memory : memories_) {
    if (memory.data == nullptr || at < memory.data || at >= memory.data + memory.bytes) continue;
    return access(actor, memory.tile, static_cast<u32>(at - memory.data), static_cast<u32>(bytes), write,
                  place, cycle);
  }
}

void Races::access(ActorId actor, Tile tile, u32 offset, u32 bytes, bool write, u32 place, u64 cycle) {
  Memory& memory = memories_[tile.index()];
  if (memory.data == nullptr || bytes == 0 || offset + u64{bytes} > memory.bytes) return;
  Entry entry{cycle, clocks_[actor][actor], place, kNone, actor, 0xFF, write};
  const u32 end = offset + bytes;
  for (u32 at = offset / kGranule * kGranule; at < end; at += kGranule) {
    const u32 first = at < offset ? offset - at : 0;
    const u32 last = std::min(end - at, kGranule);
    entry.mask = static_cast<u8>((0xFFu >> (kGranule - (last - first))) << first);
    granule(memory, at / kGranule, entry);
  }
}

void Races::Observer::accessed(u32 address, u32 bytes, bool write, u32 pc, u64 cycle) {
  Tile memory = tile;
  const u32 window = address & ~(arch::kWindowBytes - 1);
  if (window == arch::kWindowSouth) --memory.row;
  if (window == arch::kWindowWest) --memory.col;
  if (window == arch::kWindowNorth) ++memory.row;
  races->access(core(tile), memory, address & (arch::kWindowBytes - 1), bytes, write, pc, cycle);
}

// The list of a granule holds what a later access may still race with: an access is gone when a later one
// that it is ordered before would race with the same.
void Races::granule(Memory& memory, u32 number, const Entry& access) {
  const Clock& clock = clocks_[access.actor];
  for (u32* link = &memory.heads[number]; *link != kNone;) {
    const u32 index = *link;
    Entry& old = memory.pool[index];
    const u8 common = old.mask & access.mask;
    const bool mine = old.actor == access.actor;
    if (mine && old.epoch == access.epoch && old.write == access.write && common == access.mask) return;
    const bool ordered = mine || old.epoch <= clock[old.actor];
    const bool conflict = common != 0 && (access.write || old.write);
    if (conflict && !ordered) note(memory, number, old, access);
    if (conflict || ordered) {
      if (access.write || !old.write) old.mask &= static_cast<u8>(~access.mask);
    }
    if (old.mask != 0) {
      link = &old.next;
      continue;
    }
    *link = old.next;
    old.next = memory.free;
    memory.free = index;
  }
  u32 index = memory.free;
  if (index == kNone) {
    index = static_cast<u32>(memory.pool.size());
    memory.pool.push_back(access);
  } else {
    memory.free = memory.pool[index].next;
    memory.pool[index] = access;
  }
  memory.pool[index].next = memory.heads[number];
  memory.heads[number] = index;
}

void Races::note(Memory& memory, u32 number, const Entry& old, const Entry& access) {
  // A core runs ahead of what the array has come to.
  const bool ahead = access.cycle < old.cycle;
  const Entry& first = ahead ? access : old;
  const Entry& second = ahead ? old : access;
  for (Found& known : memory.found) {
    if (known.first.actor == first.actor && known.first.place == first.place &&
        known.second.actor == second.actor && known.second.place == second.place) {
      ++known.count;
      return;
    }
  }
  if (memory.found.size() >= kMaxFound) return;
  const u32 common = first.mask & second.mask;
  u32 at = 0, bytes = 0;
  while ((common >> at & 1) == 0) ++at;
  while ((common >> (at + bytes) & 1) != 0) ++bytes;
  memory.found.push_back({first, second, number * kGranule + at, bytes, 1});
}

// ------------------------------------------------------------- reports

RaceAccess Races::describe(const Entry& entry) const {
  RaceAccess out;
  out.write = entry.write;
  out.place = entry.place;
  out.cycle = entry.cycle;
  if (entry.actor == kControllerActor) return out;
  const Numbers::Actor& actor = numbers().actors[entry.actor];
  out.tile = actor.tile;
  out.who = actor.part < 0 ? RaceAccess::Who::kCore : RaceAccess::Who::kChannel;
  if (actor.part >= 0) {
    out.direction = static_cast<Direction>(actor.part / 6);
    out.channel = actor.part % 6;
  }
  return out;
}

// The first lock given after the access, if the log still reaches back to it.
void Races::name_lock(const Entry& entry, bool first, std::vector<RaceLock>& locks) const {
  const auto& log = given_[entry.actor];
  if (log.empty() || (log.size() == kMaxGiven && log.front().epoch > entry.epoch)) return;
  const auto next = std::lower_bound(log.begin(), log.end(), entry.epoch,
                                     [](const Given& given, u32 epoch) { return given.epoch < epoch; });
  if (next != log.end()) locks.push_back({next->tile, next->lock, first});
}

std::vector<RaceReport> Races::reports() const {
  std::vector<RaceReport> out;
  for (const Memory& memory : memories_) {
    for (const Found& found : memory.found) {
      RaceReport report;
      report.tile = memory.tile;
      report.address = found.address;
      report.bytes = found.bytes;
      report.first = describe(found.first);
      report.second = describe(found.second);
      report.count = found.count;
      name_lock(found.first, true, report.locks);
      name_lock(found.second, false, report.locks);
      out.push_back(std::move(report));
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const RaceReport& a, const RaceReport& b) {
    return std::pair(a.tile.index(), a.address) < std::pair(b.tile.index(), b.address);
  });
  return out;
}

std::string RaceAccess::name() const {
  if (who == Who::kController) return "the controller";
  std::string text = arch::tile_name(tile);
  if (who == Who::kChannel)
    text += std::string(" ") + arch::direction_name(direction) + std::to_string(channel);
  return text;
}

namespace {

std::string access_text(const RaceAccess& access) {
  std::string text = access.name() + (access.write ? " writes" : " reads");
  if (access.who == RaceAccess::Who::kCore) text += " at pc " + hex(access.place);
  if (access.who == RaceAccess::Who::kChannel) text += " in BD " + std::to_string(access.place);
  if (access.who == RaceAccess::Who::kController) {
    text += access.place == kConfiguration ? " before the stream"
                                           : " in stream operation " + std::to_string(access.place);
  }
  return text + " (cycle " + std::to_string(access.cycle) + ")";
}

}  // namespace

std::string RaceReport::text() const {
  std::string out = arch::tile_name(tile) + " memory at " + hex(address) + ", " + std::to_string(bytes) +
                    " bytes: " + access_text(first) + ", " + access_text(second) + ", in no order; ";
  if (locks.empty()) out += "neither gives a lock afterwards";
  for (size_t i = 0; i < locks.size(); ++i) {
    const RaceLock& lock = locks[i];
    out += std::string(i == 0 ? "" : ", or ") + (lock.by_first ? second : first).name() +
           " would have to take lock " + std::to_string(lock.lock) + " of " + arch::tile_name(lock.tile) +
           " after " + (lock.by_first ? first : second).name() + " gives it";
  }
  return count == 1 ? out : out + " (" + std::to_string(count) + " times)";
}

}  // namespace tegula::emu
