// Differences between two controller streams, op by op, and the words that a patch table would change.
#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "cli/inspect/diff.h"

namespace tegula::cli {
namespace {

using format::TxnOp;
using format::TxnStream;

constexpr size_t kMostEdits = 2000;

// Ops of equal key differ at most in values: same opcode, size and target.
u64 shape_key(const TxnOp& op) {
  u64 target = 0;
  if (const auto* write = std::get_if<format::TxnWrite>(&op.body)) target = write->address;
  if (const auto* write = std::get_if<format::TxnMaskWrite>(&op.body)) target = write->address;
  if (const auto* write = std::get_if<format::TxnBlockWrite>(&op.body)) target = write->address;
  if (const auto* poll = std::get_if<format::TxnMaskPoll>(&op.body)) target = poll->address;
  if (const auto* patch = std::get_if<format::TxnDdrPatch>(&op.body)) target = patch->register_address;
  u64 h = static_cast<u64>(op.opcode);
  for (const u64 part : {target, static_cast<u64>(op.size)})
    h = (h ^ part) * 0x9E3779B97F4A7C15ull + (h >> 29);
  return h;
}

void diff_op(const TxnStream& a, const TxnOp& x, size_t index, const TxnStream& b, const TxnOp& y, bool patch,
             DiffResult& out) {
  const size_t words = std::min(x.size, y.size) / 4;
  for (size_t w = 0; w < words; ++w) {
    const u32 left = a.words[x.offset / 4 + w], right = b.words[y.offset / 4 + w];
    if (left == right) continue;
    const u64 offset = x.offset + 4 * w;
    const std::string meaning = word_text(a, x, offset);
    out.add(fmt::format("stream op {} at 0x{:x}", index, x.offset), meaning, fmt::format("0x{:x}", left),
            fmt::format("0x{:x}", right));
    if (patch) out.patches.push_back({offset, left, right, meaning});
  }
}

void diff_header(const StreamFacts& a, const StreamFacts& b, DiffResult& out) {
  const auto version = [](const StreamFacts& s) {
    const format::TxnHeader& h = s.stream.header;
    return fmt::format("{}.{} generation {} rows {} columns {} mem rows {}", h.major, h.minor, h.generation,
                       h.rows, h.columns, h.mem_rows);
  };
  if (version(a) != version(b)) out.add("stream header", "version", version(a), version(b));
  if (a.stream.words[1] >> 16 != b.stream.words[1] >> 16) {
    out.add("stream header", "bytes 6 and 7", fmt::format("0x{:x}", a.stream.words[1] >> 16),
            fmt::format("0x{:x}", b.stream.words[1] >> 16));
  }
  const auto number = [](u64 value) { return std::to_string(value); };
  if (a.stream.ops.size() != b.stream.ops.size())
    out.add("stream", "ops", number(a.stream.ops.size()), number(b.stream.ops.size()));
  if (a.trailing != b.trailing) out.add("stream", "bytes behind it", number(a.trailing), number(b.trailing));
}

}  // namespace

void diff_streams(const StreamFacts& a, const StreamFacts& b, bool first, DiffResult& out) {
  diff_header(a, b, out);
  std::vector<u64> keys_a, keys_b;
  for (const TxnOp& op : a.stream.ops) keys_a.push_back(shape_key(op));
  for (const TxnOp& op : b.stream.ops) keys_b.push_back(shape_key(op));
  const bool patch = first && keys_a == keys_b;
  if (first) out.patchable = patch;
  std::vector<std::pair<size_t, size_t>> matches = align(keys_a, keys_b, kMostEdits);
  matches.push_back({keys_a.size(), keys_b.size()});
  size_t x = 0, y = 0;
  for (const auto& [to_x, to_y] : matches) {
    for (; x < to_x || y < to_y;) {
      const bool has_a = x < to_x, has_b = y < to_y;
      const std::string place =
          has_a ? fmt::format("stream op {}", x) : fmt::format("stream before op {}", x);
      out.add(place, "op", has_a ? op_text(a.stream, a.stream.ops[x]) : "",
              has_b ? op_text(b.stream, b.stream.ops[y]) : "");
      x += has_a ? 1 : 0;
      y += has_b ? 1 : 0;
    }
    if (to_x < keys_a.size() && to_y < keys_b.size())
      diff_op(a.stream, a.stream.ops[to_x], to_x, b.stream, b.stream.ops[to_y], patch, out);
    x = to_x + 1;
    y = to_y + 1;
  }
}

std::string diff_text(const DiffResult& result, size_t limit) {
  std::string out;
  for (size_t i = 0; i < std::min(limit, result.differences.size()); ++i) {
    const Difference& d = result.differences[i];
    out += fmt::format("{}: {}: ", d.place, d.what);
    if (d.a.empty()) {
      out += d.b == "differs" || d.b.find("differ") != std::string::npos ? d.b : "added: " + d.b;
    } else {
      out += d.b.empty() ? "removed: " + d.a : d.a + " -> " + d.b;
    }
    out += '\n';
  }
  if (result.differences.size() > limit)
    out += fmt::format("and {} more differences (--json lists all)\n", result.differences.size() - limit);
  if (result.patchable && !result.patches.empty()) {
    out += fmt::format("same ops: a patch table of {} words makes the first stream the second\n",
                       result.patches.size());
  }
  return out;
}

std::string diff_json(const DiffResult& result, const std::string& a, const std::string& b) {
  using json = nlohmann::ordered_json;
  json differences = json::array(), patches = json::array();
  for (const Difference& d : result.differences) {
    differences.push_back({{"place", d.place},
                           {"what", d.what},
                           {"a", d.a.empty() ? json() : json(d.a)},
                           {"b", d.b.empty() ? json() : json(d.b)}});
  }
  for (const PatchWord& p : result.patches)
    patches.push_back({{"offset", p.offset}, {"a", p.a}, {"b", p.b}, {"meaning", p.meaning}});
  json out = {
      {"schema", kDiffSchema}, {"a", a}, {"b", b}, {"equal", result.equal()}, {"differences", differences}};
  out["patchable"] = result.patchable;
  out["patches"] = patches;
  return out.dump(1, ' ', false, json::error_handler_t::replace);
}

}  // namespace tegula::cli
