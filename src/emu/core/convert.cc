// Conversions between accumulators and elements, as register operations and fused with loads and stores
// (semantics: SRS, UPS, pack, unpack, floating point conversions).
#include "emu/core/binder.h"
#include "emu/core/lanes.h"

namespace tegula::emu {

namespace {

constexpr u32 kRawAt = 256;    // unconverted input of a fused load, in the scratch of the slot
constexpr u32 kParamAt = 320;  // operands sampled before the last step

void store_result(Machine& m, const Uop& u, const u8* data) {
  ++m.counters.stores;
  m.store_to(m.memory_of[u.mem], m.eager[u.mem], m.pipe + u.latency - 1, data, u.size);
}

// Result to a register (dst) or, for the vst forms, to memory. Returns false when binding failed.
bool finish_binding(Binder& b, Uop& u, u32 out_bytes) {
  if (b.info.store) {
    u.latency = b.timing.memory_last;
    if (!b.add_address(u, out_bytes, out_bytes, true)) return false;
  }
  b.push(u);
  return true;
}

void deliver(Machine& m, const Uop& u, const u8* data) {
  if (u.size != 0) {
    store_result(m, u, data);
  } else {
    m.commit_data(u, m.pipe, data);
  }
}

Uop make_from_register(Binder& b, Handler run) {
  Uop u = b.info.store ? b.make(run) : b.make(run, "dst");
  u.a = b.offset("src");
  return u;
}

// ---------------------------------------------------------------- SRS

// c: shift register; x1 crRnd, x2 crSat, x3 crSRSMode, d sign register; aux: factor 2 or 4; imm: source
// bytes.
void run_srs(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  const lanes::SrsMode mode{m.r(u.c), m.r(u.x1), m.r(u.x2), (m.r(u.d) & 1) != 0};
  const u32 lane_bits = m.r(u.x3) & 1 ? 64 : 32;
  const u32 count = static_cast<u32>(u.imm) * 8 / lane_bits;
  if (lanes::srs(m.regs + u.a, count, lane_bits, lane_bits / u.aux, mode, buf)) {
    m.sticky(m.pipe, 4, u.dst2, 1);
  }
  deliver(m, u, buf);
}

bool bind_srs(Binder& b) {
  Uop u = make_from_register(b, run_srs);
  u.aux = static_cast<u8>(b.arg);
  u.imm = static_cast<i32>(b.bits("src") / 8);
  u.c = b.offset("su");
  u.d = b.sign_register();
  u.x1 = register_offset(isa::Reg::crRnd);
  u.x2 = register_offset(isa::Reg::crSat);
  u.x3 = register_offset(isa::Reg::crSRSMode);
  u.dst2 = register_offset(isa::Reg::srSRS_of);
  return finish_binding(b, u, static_cast<u32>(u.imm) / u.aux);
}

// ---------------------------------------------------------------- UPS

struct UpsOperands {
  u32 shift, saturation, sign;
};

void sample_ups(Machine& m, const Uop& u, u8* buf) {
  store_le(buf + kParamAt, UpsOperands{m.r(u.c), m.r(u.x1), m.r(u.d) & 1});
}

// crUPSMode is read one cycle after the other operands.
void finish_ups(Machine& m, const Uop& u, u8* buf, u64 issue) {
  const auto op = load_le<UpsOperands>(buf + kParamAt);
  const u32 lane_bits = m.r(u.x2) & 1 ? 64 : 32;
  const u32 in_bits = lane_bits / u.aux;
  const u32 count = static_cast<u32>(u.imm) * 8 / in_bits;
  if (lanes::ups(buf + kRawAt, count, in_bits, lane_bits, op.shift, op.saturation, op.sign != 0, buf)) {
    m.sticky(issue, u.latency, u.dst2, 1);
  }
  m.commit_data(u, issue, buf);
}

void run_ups(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  std::memcpy(buf + kRawAt, m.regs + u.a, static_cast<u32>(u.imm));
  sample_ups(m, u, buf);
  m.event_at(m.pipe + 1, finish_ups, u, buf, m.pipe);
}

// Keeps the bytes until the operands of the conversion are read.
void load_raw(Machine& m, const Uop& u, const u8* source, u8* buf, u64 issue) {
  std::memcpy(buf + kRawAt, source, static_cast<u32>(u.imm));
  m.event_at(issue + 6, u.stage, u, buf, issue);
}

bool bind_ups(Binder& b) {
  Uop u = b.make(run_ups, "dst");
  u.aux = static_cast<u8>(b.arg);
  u.imm = static_cast<i32>(b.bits("dst") / 8 / static_cast<u32>(b.arg));
  u.c = b.offset("su");
  u.d = b.sign_register();
  u.x1 = register_offset(isa::Reg::crSat);
  u.x2 = register_offset(isa::Reg::crUPSMode);
  u.dst2 = register_offset(isa::Reg::srUPS_of);
  if (b.info.load) {
    u.stage = [](Machine& m, const Uop& v, u8* buf, u64 issue) {
      sample_ups(m, v, buf);
      m.event_at(issue + 7, finish_ups, v, buf, issue);
    };
    return b.push_load(u, load_raw, static_cast<u32>(u.imm), static_cast<u32>(u.imm));
  }
  u.a = b.offset("src");
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- pack, unpack

void run_pack(Machine& m, const Uop& u) {
  u8* buf = m.buffer(u.slot);
  const bool wide = m.r(u.x3) & 1;
  const u32 count = static_cast<u32>(u.imm) / (wide ? 2 : 1);
  lanes::pack(m.regs + u.a, count, wide, m.r(u.x2), m.r(u.d) & 1, buf);
  deliver(m, u, buf);
}

bool bind_pack(Binder& b) {
  Uop u = make_from_register(b, run_pack);
  u.imm = static_cast<i32>(b.bits("src") / 8);
  u.d = b.sign_register();
  u.x2 = register_offset(isa::Reg::crSat);
  u.x3 = register_offset(isa::Reg::crPackSize);
  return finish_binding(b, u, static_cast<u32>(u.imm) / 2);
}

// Source, size and sign are all read at cycle 7.
void finish_unpack(Machine& m, const Uop& u, u8* buf, u64 issue) {
  const u8* source = u.size != 0 ? buf + kRawAt : m.regs + u.a;
  lanes::unpack(source, static_cast<u32>(u.imm), m.r(u.x1) & 1, m.r(u.d) & 1, buf);
  m.commit_data(u, issue, buf);
}

bool bind_unpack(Binder& b) {
  Uop u = b.make(nullptr, "dst");
  u.imm = static_cast<i32>(b.bits("dst") / 16);
  u.d = b.sign_register();
  u.x1 = register_offset(isa::Reg::crUnpackSize);
  u.stage = finish_unpack;
  if (b.info.load) {
    return b.push_load(u, load_raw, static_cast<u32>(u.imm), static_cast<u32>(u.imm));
  }
  u.run = [](Machine& m, const Uop& v) { m.event_at(m.pipe + 6, v.stage, v, m.buffer(v.slot), m.pipe); };
  u.a = b.offset("src");
  b.push(u);
  return true;
}

// ---------------------------------------------------------------- bf16, fp32

bool bind_bf16_of_fp32(Binder& b) {
  Uop u = make_from_register(b, [](Machine& m, const Uop& v) {
    u8* buf = m.buffer(v.slot);
    lanes::bf16_of_fp32(m.regs + v.a, static_cast<u32>(v.imm) / 4, m.r(v.x1), buf);
    deliver(m, v, buf);
  });
  u.imm = static_cast<i32>(b.bits("src") / 8);
  u.x1 = register_offset(isa::Reg::crRnd);
  return finish_binding(b, u, static_cast<u32>(u.imm) / 2);
}

bool bind_fp32_of_bf16(Binder& b) {
  const char* dst = b.info.load ? "op" : "dst";
  Uop u = b.make(nullptr, dst);
  u.imm = static_cast<i32>(b.bits(dst) / 32);  // lanes
  if (b.info.load) {
    const LoadStage load = [](Machine& m, const Uop& v, const u8* source, u8* buf, u64 issue) {
      lanes::fp32_of_bf16(source, static_cast<u32>(v.imm), buf);
      m.commit_data(v, issue, buf);
    };
    return b.push_load(u, load, static_cast<u32>(u.imm) * 2, static_cast<u32>(u.imm) * 2);
  }
  u.a = b.offset("src");
  u.run = [](Machine& m, const Uop& v) {
    u8* buf = m.buffer(v.slot);
    lanes::fp32_of_bf16(m.regs + v.a, static_cast<u32>(v.imm), buf);
    m.commit_mv(v, buf);
  };
  b.push(u);
  return true;
}

enum Block { kNarrow, kWide, kWiden };

// vconv.bfp16*: crRnd is read one cycle after the source.
void finish_block_conversion(Machine& m, const Uop& u, u8* buf, u64 issue) {
  u8 out[72];
  if (u.aux == kWiden) {
    lanes::bfp16_widen(buf, buf + 64, m.r(u.x1), out, out + 64);
  } else {
    lanes::bfp16_of_fp32(buf, u.aux == kWide, m.r(u.x1), out, out + 64);
  }
  std::memcpy(buf, out, sizeof out);
  m.commit_data(u, issue, buf);
}

bool bind_block_conversion(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        if (v.aux == kWiden) {
          std::memcpy(buf, m.regs + v.a, 64);
          std::memcpy(buf + 64, m.regs + e_of_x(v.a), 8);
        } else {
          std::memcpy(buf, m.regs + v.a, 256);
        }
        m.event_at(m.pipe + 1, finish_block_conversion, v, buf, m.pipe);
      },
      "dst");
  u.a = b.offset("src");
  u.aux = static_cast<u8>(b.arg);
  u.x1 = register_offset(isa::Reg::crRnd);
  b.push(u);
  return true;
}

// vfloor.s32.bf16: 16 elements of a w register, or of one half of a bm.
bool bind_floor(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        const i32 shift = static_cast<i32>(m.r(v.b) << 26) >> 26;
        for (u32 i = 0; i < 16; ++i) {
          store_le<i32>(buf + 4 * i, lanes::floor_of_bf16(m.get<u16>(static_cast<u16>(v.a + 2 * i)), shift));
        }
        m.commit_data(v, m.pipe, buf);
      },
      "dst");
  u.a = b.offset("src");
  if (b.has("imm")) u.a = static_cast<u16>(u.a + 32 * (b.imm("imm") & 1));
  u.b = b.offset("shft");
  b.push(u);
  return true;
}

template <auto F>
bool bind_nonlinear(Binder& b) {
  Uop u = b.make(
      [](Machine& m, const Uop& v) {
        u8* buf = m.buffer(v.slot);
        for (u32 i = 0; i < 16; ++i) store_le<u16>(buf + 2 * i, F(m.r(static_cast<u16>(v.a + 4 * i))));
        m.commit_mv(v, buf);
      },
      "dst");
  u.a = b.offset("src");
  b.push(u);
  return true;
}

constexpr Family kFamilies[] = {
    {"vsrs.2x", bind_srs, 2},
    {"vsrs.4x", bind_srs, 4},
    {"vst.srs.2x", bind_srs, 2},
    {"vst.srs.4x", bind_srs, 4},
    {"vups.2x", bind_ups, 2},
    {"vups.4x", bind_ups, 4},
    {"vlda.ups.2x", bind_ups, 2},
    {"vlda.ups.4x", bind_ups, 4},
    {"vpack", bind_pack},
    {"vst.pack", bind_pack},
    {"vunpack", bind_unpack},
    {"vldb.unpack", bind_unpack},
    {"vconv.bf16.fp32", bind_bf16_of_fp32},
    {"vst.conv.bf16.fp32", bind_bf16_of_fp32},
    {"vconv.fp32.bf16", bind_fp32_of_bf16},
    {"vlda.conv.fp32.bf16", bind_fp32_of_bf16},
    {"vconv.bfp16ebs8.fp32", bind_block_conversion, kNarrow},
    {"vconv.bfp16ebs16.fp32", bind_block_conversion, kWide},
    {"vconv.bfp16ebs16.ebs8", bind_block_conversion, kWiden},
    {"vfloor.s32.bf16", bind_floor},
    {"vexp2", bind_nonlinear<lanes::exp2_bf16>},
    {"vtanh", bind_nonlinear<lanes::tanh_bf16>},
};

}  // namespace

std::span<const Family> convert_families() {
  return kFamilies;
}

}  // namespace tegula::emu
