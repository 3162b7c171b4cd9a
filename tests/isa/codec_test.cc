// Encoder and decoder: every instruction with random operands, every format, tables without ambiguity.
#include <gtest/gtest.h>

#include <random>

#include "isa/isa.h"
#include "isa/tables.h"
#include "isa_test_util.h"

namespace tegula::isa {
namespace {

TEST(Codec, EveryRowSurvivesEncodeAndDecode) {
  std::mt19937_64 rng(1);
  for (int i = 0; i < static_cast<int>(Op::kCount); ++i) {
    for (int round = 0; round < 1000; ++round) {
      const Instr instr = random_instr(static_cast<Op>(i), rng);
      Bundle bundle;
      bundle.count = 1;
      bundle.instr[0] = instr;
      const auto bytes = encode(bundle);
      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      const auto back = decode(*bytes);
      ASSERT_TRUE(back.ok()) << back.error().message;
      const int at = index_of_slot(*back, info(instr.op).slot);
      ASSERT_GE(at, 0);
      ASSERT_EQ(back->instr[at], instr)
          << info(instr.op).name << " decodes as " << info(back->instr[at].op).name;
      const auto again = encode(*back);
      ASSERT_TRUE(again.ok());
      ASSERT_EQ(*again, *bytes);
    }
  }
}

TEST(Codec, ThereAre880Instructions) {
  // 879 rows of instructions.tsv and the nop of the 16-bit bundle.
  EXPECT_EQ(static_cast<int>(Op::kCount), 880);
  EXPECT_EQ(format_count(), 77);
}

TEST(Codec, EveryFormatIsKeptWithRandomContents) {
  std::mt19937_64 rng(2);
  const auto by_slot = ops_by_slot();
  for (int format = 0; format < format_count(); ++format) {
    for (int round = 0; round < 300; ++round) {
      const Bundle bundle = random_bundle(static_cast<u8>(format), by_slot, rng);
      const auto bytes = encode(bundle);
      ASSERT_TRUE(bytes.ok()) << bytes.error().message;
      ASSERT_EQ(bytes->size(), format_bytes(static_cast<u8>(format)));
      ASSERT_EQ(bundle_length(bytes->front()), static_cast<int>(bytes->size()));
      const auto back = decode(*bytes);
      ASSERT_TRUE(back.ok()) << back.error().message;
      ASSERT_EQ(back->format, format) << format_name(static_cast<u8>(format));
      ASSERT_EQ(back->count, bundle.count);
      for (int i = 0; i < bundle.count; ++i) ASSERT_EQ(back->instr[i], bundle.instr[i]);
      ASSERT_EQ(*encode(*back), *bytes);
    }
  }
}

TEST(Codec, BestFormatIsTheShortestThatHoldsTheSlots) {
  for (u32 mask = 0; mask < 256; ++mask) {
    const int best = best_format(mask);
    int shortest = 99;
    for (int f = 0; f < format_count(); ++f) {
      const auto format = static_cast<u8>(f);
      if ((mask & ~format_slots(format)) == 0) shortest = std::min<int>(shortest, format_bytes(format));
    }
    if (shortest == 99) {
      EXPECT_EQ(best, -1) << mask;
    } else {
      ASSERT_GE(best, 0) << mask;
      EXPECT_EQ(format_bytes(static_cast<u8>(best)), shortest) << mask;
    }
  }
  EXPECT_EQ(format_name(static_cast<u8>(best_format(0))), "I16_NOP");
  EXPECT_EQ(format_name(static_cast<u8>(best_format(0x3F))), "I128_LDA_LDB_ST_ALU_MV_VEC");
}

// vmul is vmac with all bits of acc1 set.
TEST(Codec, SpecificRowsWin) {
  Instr mac;
  mac.op = find_op("VMAC_vmul_cm_core_X_X");
  ASSERT_NE(mac.op, Op::kCount);
  mac.operand = {static_cast<i64>(Reg::dm1), static_cast<i64>(Reg::dm2), static_cast<i64>(Reg::x3),
                 static_cast<i64>(Reg::x4), static_cast<i64>(Reg::r5)};
  Bundle bundle;
  bundle.count = 1;
  bundle.instr[0] = mac;
  auto bytes = *encode(bundle);
  ASSERT_EQ(bytes.size(), 4u);
  EXPECT_EQ(decode(bytes)->instr[0], mac);
  // vec word at bit 6: acc:5 dst:3 acc1:3 s1:4 ...; acc1 = 111 makes it a vmul.
  u32 word = load_le<u32>(bytes.data());
  word |= u32{7} << (6 + 15);
  store_le(bytes.data(), word);
  const auto mul = decode(bytes);
  ASSERT_TRUE(mul.ok()) << mul.error().message;
  EXPECT_EQ(info(mul->instr[0].op).name, "VMUL_vmul_cm_core_X_X");
}

TEST(Codec, ErrorsSayWhat) {
  EXPECT_NE(decode({}).error().message.find("at least 2"), std::string::npos);
  const u8 cut[] = {0x98, 0x67};
  EXPECT_NE(decode(cut).error().message.find("asks for 4 bytes, 2 are left"), std::string::npos);
  const u8 none[] = {0x08, 0xff, 0xff, 0xff};
  EXPECT_FALSE(decode(none).ok());
  Bundle bundle;
  bundle.count = 1;
  bundle.instr[0].op = Op::ADD_add_r_ri;
  bundle.instr[0].operand = {static_cast<i64>(Reg::r1), static_cast<i64>(Reg::r2), 64};
  EXPECT_NE(encode(bundle).error().message.find("is 64, expected -64..63"), std::string::npos);
  bundle.instr[0].operand = {static_cast<i64>(Reg::r1), static_cast<i64>(Reg::p2), 6};
  EXPECT_NE(encode(bundle).error().message.find("register 'p2', which is not in its class eR"),
            std::string::npos);
  bundle.instr[0].operand[1] = static_cast<i64>(Reg::r2);
  bundle.count = 2;
  bundle.instr[1] = bundle.instr[0];
  EXPECT_NE(encode(bundle).error().message.find("two instructions in slot alu"), std::string::npos);
}

TEST(Codec, CompleteFillsDerivedOperands) {
  Instr load;
  load.op = Op::LDA_2D_dms_lda;
  load.operand = {static_cast<i64>(Reg::r4), 0, 0, static_cast<i64>(Reg::p3), static_cast<i64>(Reg::d5)};
  ASSERT_TRUE(complete(load).ok());
  EXPECT_EQ(load.reg(1), Reg::p3);
  EXPECT_EQ(load.reg(2), Reg::dc5);
  load.operand[2] = static_cast<i64>(Reg::dc4);
  EXPECT_NE(complete(load).error().message.find("must be dc5"), std::string::npos);
}

bool legal_in(Op op, u64 word) {
  const tables::Encoding& encoding = tables::kEncoding[static_cast<size_t>(op)];
  if ((word & encoding.mask) != encoding.value) return false;
  const InstrInfo& in = info(op);
  for (size_t i = 0; i < in.operands.size(); ++i) {
    if (in.operands[i].kind != OperandKind::kReg) continue;
    u64 code = 0;
    for (int k = 0; k < 2; ++k) {
      const tables::Piece& piece = encoding.operands[i].piece[k];
      code |= (word >> piece.shift & ((u64{1} << piece.bits) - 1)) << piece.to;
    }
    if (tables::kRegOfCode[encoding.operands[i].table + code] == Reg::kNone) return false;
  }
  return true;
}

bool refines(Op a, Op b) {
  const u64 x = tables::kEncoding[static_cast<size_t>(a)].mask,
            y = tables::kEncoding[static_cast<size_t>(b)].mask;
  return x != y && ((x & y) == x || (x & y) == y);
}

// A word that both rows accept as far as their fixed bits go: fixed bits of both, the rest random.
u64 common_word(const tables::Encoding& a, const tables::Encoding& b, u64 random, int bits) {
  const u64 fixed = a.mask | b.mask;
  return ((a.value | b.value) | (random & ~fixed)) & ((u64{1} << bits) - 1);
}

// No slot word is legal in two rows unless one of them refines the other. Slots of up to 17 bits are
// enumerated, for the others all pairs of rows whose fixed bits agree are tried with random fields.
TEST(Codec, NoWordMatchesTwoRowsUnlessOneRefinesTheOther) {
  std::mt19937_64 rng(3);
  const auto by_slot = ops_by_slot();
  int pairs = 0;
  for (size_t slot = 0; slot < by_slot.size(); ++slot) {
    const auto& ops = by_slot[slot];
    const int bits = tables::kSlotBits[slot];
    for (size_t i = 0; i < ops.size(); ++i) {
      for (size_t j = i + 1; j < ops.size(); ++j) {
        const auto& a = tables::kEncoding[static_cast<size_t>(ops[i])];
        const auto& b = tables::kEncoding[static_cast<size_t>(ops[j])];
        if (((a.value ^ b.value) & a.mask & b.mask) != 0) continue;
        ++pairs;
        if (refines(ops[i], ops[j])) continue;
        for (int round = 0; round < 20000; ++round) {
          const u64 word = common_word(a, b, rng(), bits);
          ASSERT_FALSE(legal_in(ops[i], word) && legal_in(ops[j], word))
              << info(ops[i]).name << " " << info(ops[j]).name;
        }
      }
    }
  }
  EXPECT_EQ(
      pairs,
      97);  // overlapping encodings of the tables: the vmul forms, the scd forms, paddb over vldb.4x, vunpack
  const auto& ldb = by_slot[static_cast<size_t>(Slot::kLdb)];
  for (u64 word = 0; word < (u64{1} << 17); ++word) {
    Op first = Op::kCount;
    for (Op op : ldb) {
      if (!legal_in(op, word)) continue;
      ASSERT_TRUE(first == Op::kCount || refines(first, op)) << word;
      first = op;
    }
  }
}

}  // namespace
}  // namespace tegula::isa
