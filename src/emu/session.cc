// Files and plain buffers around emu::Array.
#include "emu/session.h"

#include <algorithm>
#include <map>

#include "base/hex.h"
#include "emu/address_walk.h"
#include "format/detect.h"
#include "format/pdi.h"
#include "format/xclbin.h"

namespace tegula::emu {

using arch::Direction;
using arch::Tile;
using arch::TileKind;

namespace {

class BufferMemory final : public DdrMemory {
 public:
  explicit BufferMemory(std::span<const std::span<u8>> buffers) : buffers_(buffers) {}

  Result<u8*> translate(u64 address, u64 bytes, bool write) override {
    const u64 argument = (address >> 36) - 1;
    const u64 offset = address & (session_address(0) - 1);
    if (argument >= buffers_.size()) {
      return fail(Code::kOutOfRange, "no argument holds this address; was the BD patched?");
    }
    const std::span<u8> buffer = buffers_[argument];
    if (offset > buffer.size() || bytes > buffer.size() - offset) {
      return fail(Code::kOutOfRange, "argument " + std::to_string(argument) + " holds " +
                                         std::to_string(buffer.size()) + " bytes, the stream " +
                                         (write ? "writes " : "reads ") + std::to_string(bytes) + " at " +
                                         std::to_string(offset));
    }
    return buffer.data() + offset;
  }

 private:
  std::span<const std::span<u8>> buffers_;
};

// One shim BD as the stream has left it.
struct StreamBd {
  arch::BdWords words{};
  bool written = false;
  int argument = -1;
  u64 offset = 0;
};

class Extents {
 public:
  Result<void> op(const format::TxnStream& stream, const format::TxnOp& op) {
    if (const auto* block = std::get_if<format::TxnBlockWrite>(&op.body)) {
      const auto data = stream.data(*block);
      for (size_t i = 0; i < data.size(); ++i) TRY(write(static_cast<u32>(block->address + 4 * i), data[i]));
    } else if (const auto* one = std::get_if<format::TxnWrite>(&op.body)) {
      TRY(write(static_cast<u32>(one->address), one->value));
    } else if (const auto* patch = std::get_if<format::TxnDdrPatch>(&op.body)) {
      const arch::Location at = arch::locate(static_cast<u32>(patch->register_address));
      StreamBd* bd = find(at);
      if (bd != nullptr && patch->argument < kMaxArguments) {
        bd->argument = static_cast<int>(patch->argument);
        bd->offset = patch->offset;
      }
    }
    return {};
  }

  std::vector<ArgumentExtent> take() { return std::move(extents_); }

 private:
  static bool is_bd(const arch::Location& at) {
    const u32 base = arch::bd_base(TileKind::kShim);
    return at.valid() && at.row == arch::kShimRow && at.offset >= base &&
           at.offset < base + arch::kBdStride * static_cast<u32>(arch::traits(TileKind::kShim).bds);
  }
  StreamBd* find(const arch::Location& at) {
    if (!is_bd(at)) return nullptr;
    return &bds_[{at.col, static_cast<int>((at.offset - arch::bd_base(TileKind::kShim)) / arch::kBdStride)}];
  }

  Result<void> write(u32 address, u32 value) {
    const arch::Location at = arch::locate(address);
    if (StreamBd* bd = find(at)) {
      const u32 word = (at.offset - arch::bd_base(TileKind::kShim)) % arch::kBdStride / 4;
      bd->words[word] = value;
      bd->written = true;
      if (word == 1) bd->argument = -1;
      return {};
    }
    if (!at.valid() || at.row != arch::kShimRow) return {};
    for (Direction direction : {Direction::kS2mm, Direction::kMm2s}) {
      for (int channel = 0; channel < arch::traits(TileKind::kShim).channels; ++channel) {
        if (at.offset == arch::channel_queue(TileKind::kShim, direction, channel)) {
          return push(at, direction, arch::decode_task(TileKind::kShim, value));
        }
      }
    }
    return {};
  }

  Result<void> push(const arch::Location& at, Direction direction, const arch::Task& task) {
    int number = task.first_bd;
    for (int steps = 0; steps < arch::traits(TileKind::kShim).bds; ++steps) {
      const auto found = bds_.find({at.col, number});
      if (found == bds_.end() || !found->second.written) {
        return fail(Code::kUnsupported,
                    arch::tile_name(at.tile()) + " BD " + std::to_string(number) +
                        " is queued but not written by the stream: its extent is not known from it");
      }
      const StreamBd& entry = found->second;
      const arch::Bd bd = arch::decode(TileKind::kShim, entry.words);
      add(entry, bd, direction, task.repeat);
      if (!bd.use_next) break;
      number = bd.next;
    }
    return {};
  }

  void add(const StreamBd& entry, const arch::Bd& bd, Direction direction, u32 repeat) {
    if (entry.argument < 0 || bd.length == 0) return;
    AddressWalk walk;
    walk.start(bd, arch::traits(TileKind::kShim).dimensions);
    const u64 loads = std::min<u64>(repeat, bd.iteration_wrap);
    const u64 words = walk.extent_words() + (loads - 1) * bd.iteration_step;
    if (extents_.size() <= static_cast<size_t>(entry.argument)) {
      extents_.resize(static_cast<size_t>(entry.argument) + 1);
    }
    ArgumentExtent& extent = extents_[static_cast<size_t>(entry.argument)];
    u64& end = direction == Direction::kMm2s ? extent.read_end : extent.write_end;
    end = std::max(end, entry.offset + 4 * words);
  }

  std::map<std::pair<int, int>, StreamBd> bds_;
  std::vector<ArgumentExtent> extents_;
};

Result<u32> hex_word(std::string_view text, size_t line) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  u32 value = 0;
  for (char c : text) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0 || text.size() > 8) {
      return fail(Code::kCorrupt, "line " + std::to_string(line) + " is \"" +
                                      std::string(text.substr(0, 20)) +
                                      "\", expected one hexadecimal 32-bit word");
    }
    value = value << 4 | static_cast<u32>(digit);
  }
  return value;
}

bool looks_like_text(ByteSpan file) {
  const size_t sample = std::min<size_t>(file.size(), 4096);
  return sample != 0 &&
         std::all_of(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(sample),
                     [](u8 c) { return (c >= 0x20 && c < 0x7F) || c == '\n' || c == '\r' || c == '\t'; });
}

}  // namespace

std::vector<arch::RegisterOp> register_ops(std::span<const format::CdoCommand> commands) {
  std::vector<arch::RegisterOp> ops;
  ops.reserve(commands.size());
  for (const format::CdoCommand& command : commands) {
    switch (command.kind) {
      case format::CdoKind::kWrite:
        ops.push_back(arch::RegisterOp::write(command.address, command.value));
        break;
      case format::CdoKind::kMaskWrite:
        ops.push_back(arch::RegisterOp::mask_write(command.address, command.mask, command.value));
        break;
      case format::CdoKind::kBlockWrite:
        ops.push_back(arch::RegisterOp::block_write(command.address, command.words));
        break;
      case format::CdoKind::kNop:
        break;
    }
  }
  return ops;
}

Result<std::vector<format::CdoCommand>> configuration(ByteSpan file) {
  const format::FileKind kind = format::detect(file);
  if (kind == format::FileKind::kCdo) return format::read_cdo(file);
  ByteSpan image = file;
  if (kind == format::FileKind::kXclbin) {
    TRY_ASSIGN(const format::Xclbin xclbin, format::read_xclbin(file));
    TRY_ASSIGN(image, format::find_pdi(xclbin));
  } else if (kind != format::FileKind::kPdi) {
    return fail(Code::kUnsupported,
                "is no array configuration (found: " + std::string(format::file_kind_name(kind)) +
                    "; expected an xclbin, a PDI or a CDO)");
  }
  TRY_ASSIGN(format::Pdi pdi, format::read_pdi(image));
  return std::move(pdi.commands);
}

Result<Bytes> stream_bytes(ByteSpan file) {
  if (!looks_like_text(file)) return Bytes(file.begin(), file.end());
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  ByteWriter out;
  size_t line = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view word = text.substr(at, end - at);
    at = end + 1;
    ++line;
    word = word.substr(0, std::min(word.find('#'), word.find("//")));
    while (!word.empty() && static_cast<u8>(word.back()) <= ' ') word.remove_suffix(1);
    while (!word.empty() && static_cast<u8>(word.front()) <= ' ') word.remove_prefix(1);
    if (word.empty()) continue;
    TRY_ASSIGN(const u32 value, hex_word(word, line));
    out.write(value);
  }
  return out.take();
}

Result<std::vector<ArgumentExtent>> argument_extents(const format::TxnStream& stream) {
  Extents extents;
  for (const format::TxnOp& op : stream.ops) TRY(extents.op(stream, op));
  return extents.take();
}

Result<Session> Session::load(std::unique_ptr<Array> array, ByteSpan file) {
  TRY_ASSIGN(const std::vector<format::CdoCommand> commands, configuration(file));
  TRY(array->apply(register_ops(commands)));
  return Session(std::move(array));
}

Result<Session> Session::open(ByteSpan file, const Checks& checks) {
  auto array = std::make_unique<Array>();
  if (checks.any()) array->watch(checks);
  return load(std::move(array), file);
}

Result<Session> Session::open(ByteSpan file, const CoreFactory& factory) {
  return load(std::make_unique<Array>(factory), file);
}

RunResult Session::run(ByteSpan stream, std::span<const std::span<u8>> buffers, const RunOptions& options) {
  std::vector<u64> addresses;
  for (size_t i = 0; i < buffers.size() && i < kMaxArguments; ++i) addresses.push_back(session_address(i));
  BufferMemory memory(buffers);
  return array_->run_stream(stream, addresses, memory, options);
}

}  // namespace tegula::emu
