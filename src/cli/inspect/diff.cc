#include "cli/inspect/diff.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/inspect/words.h"

namespace tegula::cli {
namespace {

using arch::Tile;

std::string text_of(const std::string& value) {
  return value;
}
template <typename T>
  requires std::is_arithmetic_v<T>
std::string text_of(T value) {
  return fmt::format("{}", value);
}

std::string uuid_text(const format::Uuid& uuid) {
  std::string text;
  for (const u8 byte : uuid) text += fmt::format("{:02x}", byte);
  return text;
}

std::string list_text(const std::vector<u64>& values) {
  std::string text;
  for (const u64 value : values) text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  return text;
}

}  // namespace

void DiffResult::add(std::string place, std::string what, std::string left, std::string right) {
  differences.push_back({std::move(place), std::move(what), std::move(left), std::move(right)});
}

template <typename T>
void DiffResult::compare(const std::string& place, const std::string& what, const T& left, const T& right) {
  if (left != right) add(place, what, text_of(left), text_of(right));
}

namespace {

void diff_xclbin(const format::Xclbin& a, const format::Xclbin& b, DiffResult& out) {
  const std::string place = "xclbin";
  const auto version = [](const format::Xclbin& x) {
    return fmt::format("{}.{}.{}", x.version_major, x.version_minor, x.version_patch);
  };
  out.compare(place, "version", version(a), version(b));
  out.compare(place, "uuid", uuid_text(a.uuid), uuid_text(b.uuid));
  out.compare(place, "time stamp", a.time_stamp, b.time_stamp);
  out.compare(place, "sections", a.sections.size(), b.sections.size());
  for (size_t i = 0; i < std::min(a.sections.size(), b.sections.size()); ++i) {
    const format::XclbinSection &x = a.sections[i], &y = b.sections[i];
    const std::string section = fmt::format("section {} {}", i, format::xclbin_kind_name(x.kind));
    out.compare(section, "kind", x.kind, y.kind);
    out.compare(section, "name", x.name, y.name);
    out.compare(section, "offset", x.offset, y.offset);
    out.compare(section, "bytes", x.data.size(), y.data.size());
    // The partition is compared by what is in it.
    if (x.kind == static_cast<u32>(format::XclbinKind::kAiePartition)) continue;
    if (x.data.size() == y.data.size() && !std::equal(x.data.begin(), x.data.end(), y.data.begin())) {
      out.add(section, "content", "", "differs");
    }
  }
  for (size_t i = 0; i < std::min(a.ips.size(), b.ips.size()); ++i) {
    out.compare("kernel " + std::to_string(i), "name", a.ips[i].name, b.ips[i].name);
    out.compare("kernel " + std::to_string(i), "id", a.ips[i].kernel_id, b.ips[i].kernel_id);
  }
}

void diff_partition(const format::AiePartition& a, const format::AiePartition& b, DiffResult& out) {
  const auto starts = [](const format::AiePartition& p) {
    return list_text({p.start_columns.begin(), p.start_columns.end()});
  };
  out.compare("partition", "columns", a.column_width, b.column_width);
  out.compare("partition", "start columns", starts(a), starts(b));
  out.compare("partition", "operations per cycle", a.operations_per_cycle, b.operations_per_cycle);
  out.compare("partition", "PDIs", a.pdis.size(), b.pdis.size());
  for (size_t i = 0; i < std::min(a.pdis.size(), b.pdis.size()); ++i) {
    const std::string place = "PDI " + std::to_string(i);
    out.compare(place, "uuid", uuid_text(a.pdis[i].uuid), uuid_text(b.pdis[i].uuid));
    out.compare(place, "bytes", a.pdis[i].image.size(), b.pdis[i].image.size());
    out.compare(place, "CDO groups", a.pdis[i].groups.size(), b.pdis[i].groups.size());
    for (size_t g = 0; g < std::min(a.pdis[i].groups.size(), b.pdis[i].groups.size()); ++g) {
      const format::CdoGroup &x = a.pdis[i].groups[g], &y = b.pdis[i].groups[g];
      out.compare(place + " group", "name", x.name, y.name);
      out.compare(place + " group", "kernel ids", list_text(x.kernel_ids), list_text(y.kernel_ids));
    }
  }
}

void diff_elf(const ElfFacts& a, const ElfFacts& b, DiffResult& out) {
  out.compare("ELF", "use", a.use, b.use);
  out.compare("ELF", "machine", a.elf.machine, b.elf.machine);
  out.compare("ELF", "OS ABI", a.elf.os_abi, b.elf.os_abi);
  out.compare("ELF", "entry", a.elf.entry, b.elf.entry);
  std::map<std::string, std::pair<const format::ElfSection*, const format::ElfSection*>> sections;
  for (const format::ElfSection& s : a.elf.sections) sections[std::string(s.name)].first = &s;
  for (const format::ElfSection& s : b.elf.sections) sections[std::string(s.name)].second = &s;
  for (const auto& [name, pair] : sections) {
    const auto& [x, y] = pair;
    const std::string place = "section " + name;
    if (x == nullptr || y == nullptr) {
      out.add(place, "section", x == nullptr ? "" : fmt::format("{} bytes", x->size),
              y == nullptr ? "" : fmt::format("{} bytes", y->size));
      continue;
    }
    out.compare(place, "bytes", x->size, y->size);
    if (x->data.size() == y->data.size() && !std::equal(x->data.begin(), x->data.end(), y->data.begin()))
      out.add(place, "content", "", "differs");
  }
  if (!a.program.empty() || !b.program.empty()) diff_programs("program", a.program, b.program, out);
  const auto patch = [](const ElfFacts::Patch& p) {
    return fmt::format("{} at 0x{:x}, argument {}, {}, addend {}", p.section, p.relocation.offset, p.argument,
                       p.scheme, p.relocation.addend);
  };
  std::set<std::string> left, right;
  for (const ElfFacts::Patch& p : a.patches) left.insert(patch(p));
  for (const ElfFacts::Patch& p : b.patches) right.insert(patch(p));
  for (const std::string& p : left) {
    if (!right.contains(p)) out.add("patches", "entry", p, "");
  }
  for (const std::string& p : right) {
    if (!left.contains(p)) out.add("patches", "entry", "", p);
  }
}

std::string shape_text(const TensorFacts& t) {
  return t.type + " [" + list_text(t.shape) + "]";
}

void diff_tensor(const TensorFacts& a, const TensorFacts& b, DiffResult& out) {
  const std::string place = "tensor " + a.name;
  out.compare(place, "type and shape", shape_text(a), shape_text(b));
  if (a.data.size() != b.data.size()) return out.compare(place, "bytes", a.data.size(), b.data.size());
  if (std::equal(a.data.begin(), a.data.end(), b.data.begin())) return;
  u64 count = 0, first = 0;
  for (u64 i = 0; i < a.data.size(); ++i) {
    if (a.data[i] == b.data[i]) continue;
    if (count++ == 0) first = i;
  }
  out.add(place, "data", "",
          fmt::format("{} of {} bytes differ, the first at byte {}", count, a.data.size(), first));
}

void diff_models(const ModelFacts& a, const ModelFacts& b, DiffResult& out) {
  out.compare("file", "version", a.version, b.version);
  std::map<std::string, std::pair<std::string, std::string>> metadata;
  for (const auto& [key, value] : a.metadata) metadata[key].first = value;
  for (const auto& [key, value] : b.metadata) metadata[key].second = value;
  for (const auto& [key, pair] : metadata) out.compare("metadata", key, pair.first, pair.second);
  std::map<std::string, std::pair<const TensorFacts*, const TensorFacts*>> tensors;
  for (const TensorFacts& t : a.tensors) tensors[t.name].first = &t;
  for (const TensorFacts& t : b.tensors) tensors[t.name].second = &t;
  for (const auto& [name, pair] : tensors) {
    const auto& [x, y] = pair;
    if (x != nullptr && y != nullptr) {
      diff_tensor(*x, *y, out);
    } else {
      out.add("tensor " + name, "tensor", x == nullptr ? "" : shape_text(*x),
              y == nullptr ? "" : shape_text(*y));
    }
  }
}

void diff_tokenizers(const TokenizerFacts& a, const TokenizerFacts& b, DiffResult& out) {
  const std::string place = "tokenizer";
  out.compare(place, "version", a.version, b.version);
  out.compare(place, "model", a.model, b.model);
  out.compare(place, "vocabulary", a.vocabulary, b.vocabulary);
  out.compare(place, "merges", a.merges, b.merges);
  out.compare(place, "added tokens", a.added_tokens, b.added_tokens);
  out.compare(place, "normalizer", a.normalizer, b.normalizer);
  out.compare(place, "pre-tokenizer", a.pre_tokenizer, b.pre_tokenizer);
  out.compare(place, "post-processor", a.post_processor, b.post_processor);
  out.compare(place, "decoder", a.decoder, b.decoder);
}

// For what has no term of its own: padding, fields without a known meaning.
void diff_bytes(ByteSpan a, ByteSpan b, DiffResult& out) {
  if (a.size() != b.size()) return out.compare("file", "bytes", a.size(), b.size());
  const auto at = std::mismatch(a.begin(), a.end(), b.begin());
  if (at.first == a.end()) return;
  const auto first = static_cast<u64>(at.first - a.begin());
  out.add("file", fmt::format("byte 0x{:x} and perhaps others, outside everything that has a name", first),
          fmt::format("0x{:02x}", a[first]), fmt::format("0x{:02x}", b[first]));
}

}  // namespace

DiffResult diff_artifacts(const Artifact& a, const Artifact& b) {
  DiffResult out;
  if (std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end())) return out;
  out.compare("file", "kind", std::string(format::file_kind_name(a.kind)),
              std::string(format::file_kind_name(b.kind)));
  if (a.xclbin && b.xclbin) diff_xclbin(*a.xclbin, *b.xclbin, out);
  if (a.partition && b.partition) diff_partition(*a.partition, *b.partition, out);
  const bool arrays = !a.arrays.empty() || !b.arrays.empty(),
             streams = !a.streams.empty() || !b.streams.empty();
  if (arrays && a.kind == b.kind)
    out.compare("file", "array configurations", a.arrays.size(), b.arrays.size());
  if (streams && a.kind == b.kind) out.compare("file", "streams", a.streams.size(), b.streams.size());
  for (size_t i = 0; i < std::min(a.arrays.size(), b.arrays.size()); ++i)
    diff_arrays(a.arrays[i], b.arrays[i], out);
  for (size_t i = 0; i < std::min(a.streams.size(), b.streams.size()); ++i)
    diff_streams(a.streams[i], b.streams[i], i == 0, out);
  if (a.elf && b.elf) diff_elf(*a.elf, *b.elf, out);
  if (a.model && b.model) diff_models(*a.model, *b.model, out);
  if (a.tokenizer && b.tokenizer) diff_tokenizers(*a.tokenizer, *b.tokenizer, out);
  if (out.equal()) diff_bytes(a.bytes, b.bytes, out);
  return out;
}

}  // namespace tegula::cli
