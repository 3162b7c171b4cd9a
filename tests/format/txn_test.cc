#include "format/txn.h"

#include "format/damage.h"

namespace tegula::format {
namespace {

// One op of each kind that the writer knows.
Bytes small_stream() {
  TxnWriter w;
  const u32 bd[8] = {0x80, 0x1000, 0, 0x200000, 0xC08002FF, 0x02000001, 0x003017FF, 0x02000000};
  w.write32(0x0401D214, 0x80030002);
  w.block_write(0x0201D040, bd);
  w.mask_write(0x0201D200, 0x0F00, 0x1F00);
  w.mask_poll(0x0023F000, 1, 0x3);
  w.token_wait(3, 0, 1, 2, TxnDirection::kMm2s, 1);
  w.ddr_patch(0x0201D044, 2, 0x1'0000'1000);
  w.preempt(2);
  w.noop();
  return w.finish();
}

template <typename Body>
const Body& body(const TxnStream& stream, u64 index) {
  return std::get<Body>(stream.ops.at(index).body);
}

TEST(Txn, HeaderBytesAreThoseOfTheDevice) {
  Bytes bytes = small_stream();
  const Bytes expected = {0, 1, 4, 6, 8, 1, 0, 0};
  EXPECT_EQ(Bytes(bytes.begin(), bytes.begin() + 8), expected);
  EXPECT_EQ(load_le<u32>(bytes.data() + 8), 8u);
  EXPECT_EQ(load_le<u32>(bytes.data() + 12), bytes.size());
}

TEST(Txn, ReadsBackWhatWasWritten) {
  Result<TxnStream> stream = read_txn(small_stream());
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  ASSERT_EQ(stream->ops.size(), 8u);
  EXPECT_EQ(body<TxnWrite>(*stream, 0).address, 0x0401D214u);
  EXPECT_EQ(body<TxnWrite>(*stream, 0).value, 0x80030002u);
  std::span<const u32> bd = stream->data(body<TxnBlockWrite>(*stream, 1));
  ASSERT_EQ(bd.size(), 8u);
  EXPECT_EQ(bd[4], 0xC08002FFu);
  EXPECT_EQ(body<TxnBlockWrite>(*stream, 1).address, 0x0201D040u);
  EXPECT_EQ(body<TxnMaskWrite>(*stream, 2).value, 0x0F00u);
  EXPECT_EQ(body<TxnMaskWrite>(*stream, 2).mask, 0x1F00u);
  EXPECT_EQ(body<TxnMaskPoll>(*stream, 3).mask, 3u);
  EXPECT_FALSE(body<TxnMaskPoll>(*stream, 3).busy);
  const TxnTokenWait& wait = body<TxnTokenWait>(*stream, 4);
  EXPECT_EQ(wait.column, 3);
  EXPECT_EQ(wait.row, 0);
  EXPECT_EQ(wait.rows, 1);
  EXPECT_EQ(wait.columns, 2);
  EXPECT_EQ(wait.direction, TxnDirection::kMm2s);
  EXPECT_EQ(wait.channel, 1);
  const TxnDdrPatch& patch = body<TxnDdrPatch>(*stream, 5);
  EXPECT_EQ(patch.register_address, 0x0201D044u);
  EXPECT_EQ(patch.argument, 2u);
  EXPECT_EQ(patch.offset, 0x1'0000'1000u);
  EXPECT_EQ(body<TxnPreempt>(*stream, 6).level, 2);
  EXPECT_EQ(stream->ops[7].opcode, TxnOpcode::kNoop);
}

TEST(Txn, OpsTileTheStream) {
  Bytes bytes = small_stream();
  Result<TxnStream> stream = read_txn(bytes);
  ASSERT_TRUE(stream.ok());
  u64 at = kTxnHeaderBytes;
  const u32 sizes[] = {24, 48, 28, 28, 16, 48, 4, 4};
  for (u64 i = 0; i < stream->ops.size(); ++i) {
    EXPECT_EQ(stream->ops[i].offset, at);
    EXPECT_EQ(stream->ops[i].size, sizes[i]);
    at += stream->ops[i].size;
  }
  EXPECT_EQ(at, bytes.size());
}

TEST(Txn, ReturnedOffsetsArePlacesToPatch) {
  TxnWriter w;
  const u32 data[2] = {1, 2};
  u64 write = w.write32(0x1000, 10);
  u64 block = w.block_write(0x2000, data);
  u64 masked = w.mask_write(0x3000, 30, 0xFF);
  u64 poll = w.mask_poll(0x3000, 40, 0xFF);
  u64 patch = w.ddr_patch(0x4000, 1, 50);
  w.patch32(write, 11);
  Bytes bytes = w.finish();
  store_le<u32>(bytes.data() + block + 4, 22);
  store_le<u32>(bytes.data() + masked, 33);
  store_le<u32>(bytes.data() + poll, 44);
  store_le<u32>(bytes.data() + patch, 55);
  Result<TxnStream> stream = read_txn(bytes);
  ASSERT_TRUE(stream.ok());
  EXPECT_EQ(body<TxnWrite>(*stream, 0).value, 11u);
  EXPECT_EQ(stream->data(body<TxnBlockWrite>(*stream, 1))[1], 22u);
  EXPECT_EQ(body<TxnMaskWrite>(*stream, 2).value, 33u);
  EXPECT_EQ(body<TxnMaskPoll>(*stream, 3).value, 44u);
  EXPECT_EQ(body<TxnDdrPatch>(*stream, 4).offset, 55u);
}

TEST(Txn, WriterIsEmptyAfterFinish) {
  TxnWriter w;
  w.noop();
  Bytes first = w.finish();
  w.noop();
  EXPECT_EQ(w.finish(), first);
}

// Public streams carry arbitrary first eight bytes and run.
TEST(Txn, DamagedVersionBytesAreTolerated) {
  Bytes bytes = small_stream();
  store_le<u64>(bytes.data(), 0x7386'A000'0057'571D);
  Result<TxnStream> stream = read_txn(bytes);
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  EXPECT_FALSE(stream->compact);
  EXPECT_EQ(stream->ops.size(), 8u);
}

TEST(Txn, LongMaskWriteIsSteppedOverBySize) {
  ByteWriter w;
  w.write<u64>(0x0000'0108'0604'0100);
  w.write<u32>(2);
  w.write<u32>(16 + 32 + 4);
  for (u32 word : {3u, 0u, 0x5000u, 0u, 7u, 0xFu, 32u, 0u, 5u}) w.write<u32>(word);
  Result<TxnStream> stream = read_txn(w.data());
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  EXPECT_EQ(stream->ops[0].size, 32u);
  EXPECT_EQ(stream->ops[1].opcode, TxnOpcode::kNoop);
}

TEST(Txn, ReadsVersionOne) {
  ByteWriter w;
  w.write<u64>(0x0000'0108'0604'0001);
  w.write<u32>(5);
  w.write<u32>(16 + 12 + 16 + 20 + 16 + 24);
  for (u32 word : {0u, 0x1000u, 5u}) w.write<u32>(word);
  for (u32 word : {3u, 0x2000u, 6u, 0xFFu}) w.write<u32>(word);
  for (u32 word : {1u, 0x3000u, 20u, 8u, 9u}) w.write<u32>(word);
  for (u32 word : {0x80u, 16u, 0x00020001u, 0x01010100u}) w.write<u32>(word);
  for (u32 word : {0x81u, 24u, 0x4000u, 3u, 0x100u, 0u}) w.write<u32>(word);
  Result<TxnStream> stream = read_txn(w.data());
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  EXPECT_TRUE(stream->compact);
  EXPECT_EQ(body<TxnWrite>(*stream, 0).value, 5u);
  EXPECT_EQ(body<TxnMaskWrite>(*stream, 1).mask, 0xFFu);
  EXPECT_EQ(stream->data(body<TxnBlockWrite>(*stream, 2))[1], 9u);
  EXPECT_EQ(body<TxnTokenWait>(*stream, 3).column, 2);
  EXPECT_EQ(body<TxnDdrPatch>(*stream, 4).argument, 3u);
  EXPECT_EQ(body<TxnDdrPatch>(*stream, 4).offset, 0x100u);
}

TEST(Txn, OpsWithoutSizeField) {
  ByteWriter w;
  w.write<u64>(0x0000'0108'0604'0100);
  w.write<u32>(6);
  w.write<u32>(16 + 16 + 8 + 16 + 8 + 12 + 4);
  for (u32 word : {0x00070008u, 0x100u, 0x2000u, 1u}) w.write<u32>(word);
  for (u32 word : {0x00000309u, 0x21u}) w.write<u32>(word);
  for (u32 word : {0x0Au, 1u, 2u, 3u}) w.write<u32>(word);
  for (u32 word : {0x0Bu, 4u}) w.write<u32>(word);
  for (u32 word : {0x0Cu, 5u, 6u}) w.write<u32>(word);
  w.write<u32>(0x0D);
  Result<TxnStream> stream = read_txn(w.data());
  ASSERT_TRUE(stream.ok()) << stream.error().message;
  EXPECT_EQ(body<TxnLoadPdi>(*stream, 0).id, 7);
  EXPECT_EQ(body<TxnLoadPdi>(*stream, 0).address, 0x1'0000'2000u);
  EXPECT_EQ(body<TxnLoadPmStart>(*stream, 1).op_count, 3u);
  EXPECT_EQ(stream->data(body<TxnOther>(*stream, 2))[2], 3u);
  EXPECT_TRUE(stream->data(body<TxnOther>(*stream, 5)).empty());
}

std::string error_of(const Bytes& bytes) {
  Result<TxnStream> stream = read_txn(bytes);
  return stream.ok() ? "" : stream.error().message;
}

TEST(Txn, ErrorTexts) {
  Bytes good = small_stream();
  EXPECT_EQ(error_of(Bytes(7)), "TXN stream: 7 bytes, the header alone needs 16; the stream is truncated");

  Bytes bytes = good;
  bytes.pop_back();
  EXPECT_EQ(error_of(bytes),
            "TXN stream: header says 216 bytes, 215 are there; expected a multiple of 4 from 16 on; the "
            "stream is truncated or not a TXN stream");
  bytes = good;
  store_le<u32>(bytes.data() + 8, 0xFFFFFFFF);
  EXPECT_EQ(error_of(bytes),
            "TXN stream: header says 4294967295 ops in 216 bytes, which is too many; the header is "
            "damaged");
  bytes = good;
  store_le<u32>(bytes.data() + 8, 7);
  EXPECT_EQ(error_of(bytes),
            "TXN stream: 7 ops end at byte 212, the header says 216 bytes; the op count or the size is "
            "damaged");
  bytes = good;
  bytes[16] = 0x44;
  EXPECT_EQ(error_of(bytes),
            "TXN stream: op 0 (0x44 custom) at byte 0x10: unknown opcode, its length is not known; the "
            "stream is damaged or of a newer kind");
  bytes = good;
  store_le<u32>(bytes.data() + 16 + 24 + 12, 0xFFFFFFFC);  // size of the block write: would wrap a 32-bit sum
  EXPECT_EQ(error_of(bytes),
            "TXN stream: op 1 (0x01 block write) at byte 0x28: needs 4294967292 bytes, 176 are left; the "
            "stream is truncated");
}

TEST(Txn, EveryPrefixIsAnError) {
  test::each_prefix(small_stream(), [](const Bytes& bytes) {
    Result<TxnStream> stream = read_txn(bytes);
    ASSERT_FALSE(stream.ok());
    test::expect_message(stream.error());
  });
}

TEST(Txn, MutationsGiveAnErrorOrASoundStream) {
  test::each_mutation(small_stream(), test::kMutations, [](const Bytes& bytes, u64) {
    Result<TxnStream> stream = read_txn(bytes);
    if (!stream.ok()) return test::expect_message(stream.error());
    u64 at = kTxnHeaderBytes;
    for (const TxnOp& op : stream->ops) {
      ASSERT_EQ(op.offset, at);
      at += op.size;
      if (const auto* block = std::get_if<TxnBlockWrite>(&op.body)) {
        ASSERT_LE(u64{block->first_word} + block->word_count, stream->words.size());
      }
      if (const auto* other = std::get_if<TxnOther>(&op.body)) {
        ASSERT_LE(u64{other->first_word} + other->word_count, stream->words.size());
      }
    }
    ASSERT_EQ(at, stream->header.size);
  });
}

TEST(TxnText, WordsOfEightDigitsOnly) {
  const auto from = [](const std::string& text) { return txn_from_text(Bytes(text.begin(), text.end())); };
  TxnWriter writer;
  writer.noop();
  const Bytes stream = writer.finish();
  const auto read = from("06040100 00000108\n0x00000001\t00000014\r\n00000005\n");
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(*read, stream);
  EXPECT_EQ(from("06040100 108").error().message,
            "TXN stream as text: no word of eight hexadecimal digits at byte 9");
  EXPECT_FALSE(from("0604010g").ok());
  EXPECT_FALSE(from("-6040100").ok());
  EXPECT_FALSE(from("").ok());
  EXPECT_FALSE(from("06040100 00000108 00000002 00000014 00000005").ok());
}

}  // namespace
}  // namespace tegula::format
