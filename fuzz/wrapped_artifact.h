// Artifacts around the bytes of a fuzzer, so that it gets past headers and checksums.
#pragma once

#include "format/pdi.h"
#include "format/xclbin.h"

namespace tegula::fuzz {

inline Bytes cdo_of(ByteSpan body) {
  const u32 words = static_cast<u32>(body.size() / 4);
  ByteWriter out;
  for (u32 word : {4u, 0x004F4443u, 0x200u, words, ~(4u + 0x004F4443u + 0x200u + words)})
    out.write<u32>(word);
  out.bytes(body);
  return out.take();
}

inline Bytes stream_of(ByteSpan body) {
  ByteWriter out;
  if (body.size() < 4) return {};
  out.write<u64>(body[0] % 8 == 0 ? 0x0000'0108'0604'0001 : 0x0000'0108'0604'0100);
  out.write<u32>(load_le<u16>(body.data() + 2));
  out.write<u32>(static_cast<u32>(16 + (body.size() - 4) / 4 * 4));
  out.bytes(body.subspan(4));
  return out.take();
}

// Input 0 mod 4: as it is; 1: as the commands of a CDO, 2: of a PDI in an xclbin, 3: as the ops of a stream,
// with headers and checksums that fit.
inline Bytes wrap(ByteSpan bytes) {
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

}  // namespace tegula::fuzz
