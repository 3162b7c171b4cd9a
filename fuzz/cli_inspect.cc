// The whole of `tegula inspect` and `tegula diff` on any bytes. Input 0 mod 4: as it is; 1: as the commands
// of a CDO, 2: of a PDI in an xclbin, 3: as the ops of a stream, with headers and checksums that fit.
#include <cstdlib>

#include "cli/inspect/diff.h"
#include "cli/inspect/inspect.h"
#include "format/pdi.h"
#include "format/xclbin.h"

namespace {

using namespace tegula;

Bytes cdo_of(ByteSpan body) {
  const u32 words = static_cast<u32>(body.size() / 4);
  ByteWriter out;
  for (u32 word : {4u, 0x004F4443u, 0x200u, words, ~(4u + 0x004F4443u + 0x200u + words)})
    out.write<u32>(word);
  out.bytes(body);
  return out.take();
}

Bytes stream_of(ByteSpan body) {
  ByteWriter out;
  if (body.size() < 4) return {};
  out.write<u64>(body[0] % 8 == 0 ? 0x0000'0108'0604'0001 : 0x0000'0108'0604'0100);
  out.write<u32>(load_le<u16>(body.data() + 2));
  out.write<u32>(static_cast<u32>(16 + (body.size() - 4) / 4 * 4));
  out.bytes(body.subspan(4));
  return out.take();
}

Bytes wrap(ByteSpan bytes) {
  if (bytes.empty()) return {};
  const ByteSpan body = bytes.subspan(1);
  if (bytes[0] % 4 == 0) return {body.begin(), body.end()};
  if (bytes[0] % 4 == 3) return stream_of(body);
  Bytes cdo = cdo_of(body);
  if (bytes[0] % 4 == 1) return cdo;
  const auto commands = format::read_cdo(cdo);
  if (!commands.ok()) return cdo;
  const Bytes pdi = format::write_pdi(*commands);
  format::XclbinContent content;
  content.pdi = pdi;
  return format::write_xclbin(content);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = wrap({data, size});
  const auto artifact = cli::inspect_bytes(bytes, "fuzz");
  if (!artifact.ok()) return 0;
  cli::ShowOptions options;
  options.depth = 3;
  (void)cli::to_text(*artifact, options);
  std::vector<cli::Artifact> list;
  list.push_back(*artifact);
  (void)cli::to_json(list, options);
  (void)cli::to_html(list);
  // Against a shorter version of itself.
  const Bytes shorter = wrap({data, size - size / 4});
  const auto other = cli::inspect_bytes(shorter, "shorter");
  if (other.ok() && shorter != bytes && cli::diff_artifacts(*artifact, *other).equal()) std::abort();
  return 0;
}
