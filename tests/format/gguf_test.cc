#include "format/gguf.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include "format/damage.h"
#include "format/gguf_writer.h"

namespace tegula::format {
namespace {

Bytes small_gguf() {
  GgufWriter w;
  w.add_string("general.architecture", "llama");
  w.add_u32("llama.block_count", 2);
  w.add_u64("llama.context_length", 2048);
  w.add_i32("llama.offset", -3);
  w.add_f32("llama.epsilon", 1e-5f);
  w.add_bool("tokenizer.ggml.add_bos_token", true);
  w.add_strings("tokenizer.ggml.tokens", std::vector<std::string>{"<s>", "", "abc"});
  w.add_i32s("tokenizer.ggml.token_type", std::vector<i32>{3, -1, 1});
  w.add_f32s("tokenizer.ggml.scores", std::vector<float>{0.5f, -1.0f});
  const u64 matrix[] = {4, 3};
  w.add_tensor_f32("token_embd.weight", matrix, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  const u64 row[] = {32, 1};
  Bytes block(34, 0);
  block[1] = 0x3C;  // scale 1.0
  for (u8 i = 0; i < 32; ++i) block[2 + i] = i;
  w.add_tensor("output.weight", GgmlType::kQ8_0, row, block);
  return w.finish();
}

std::string error_of(const Bytes& bytes) {
  Result<Gguf> gguf = read_gguf(bytes);
  return gguf.ok() ? "" : gguf.error().message;
}

TEST(Gguf, ReadsBackMetadata) {
  Bytes bytes = small_gguf();
  Result<Gguf> g = read_gguf(bytes);
  ASSERT_TRUE(g.ok()) << g.error().message;
  EXPECT_EQ(g->version, 3u);
  EXPECT_EQ(g->metadata.size(), 9u);
  EXPECT_EQ(g->metadata[1].key, "llama.block_count");
  EXPECT_EQ(*g->get_string("general.architecture"), "llama");
  EXPECT_EQ(*g->get_u64("llama.block_count"), 2u);
  EXPECT_EQ(*g->get_u64("llama.context_length"), 2048u);
  EXPECT_EQ(*g->get_i64("llama.offset"), -3);
  EXPECT_EQ(*g->get_float("llama.epsilon"), double{1e-5f});
  EXPECT_TRUE(*g->get_bool("tokenizer.ggml.add_bos_token"));
  EXPECT_EQ(*g->get_strings("tokenizer.ggml.tokens"), (std::vector<std::string_view>{"<s>", "", "abc"}));
  EXPECT_EQ(*g->get_integers("tokenizer.ggml.token_type"), (std::vector<i64>{3, -1, 1}));
  EXPECT_EQ(*g->get_floats("tokenizer.ggml.scores"), (std::vector<float>{0.5f, -1.0f}));
}

TEST(Gguf, TypedAccessNamesTheKey) {
  Bytes bytes = small_gguf();
  Result<Gguf> g = read_gguf(bytes);
  ASSERT_TRUE(g.ok());
  EXPECT_EQ(g->get_u64("nope").error().message, "GGUF: key \"nope\" is missing");
  EXPECT_EQ(g->get_u64("nope").error().code, Code::kNotFound);
  EXPECT_EQ(g->get_u64("llama.offset").error().message,
            "GGUF: key \"llama.offset\" is -3, expected no negative number");
  EXPECT_EQ(g->get_string("llama.offset").error().message,
            "GGUF: key \"llama.offset\" has type i32, expected a string");
  EXPECT_EQ(g->get_floats("tokenizer.ggml.token_type").error().message,
            "GGUF: key \"tokenizer.ggml.token_type\" is an array of i32, expected floats");
  EXPECT_FALSE(g->get_integers("tokenizer.ggml.tokens").ok());
  EXPECT_EQ(g->get_tensor("x").error().message, "GGUF: tensor \"x\" is missing");
}

TEST(Gguf, ReadsTensorsByRow) {
  Bytes bytes = small_gguf();
  Result<Gguf> g = read_gguf(bytes);
  ASSERT_TRUE(g.ok());
  const GgufTensor* t = g->find_tensor("token_embd.weight");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->rows(), 3u);
  std::vector<float> row(4);
  ASSERT_TRUE(read_rows(*t, 2, 1, row).ok());
  EXPECT_EQ(row, (std::vector<float>{8, 9, 10, 11}));
  EXPECT_EQ(read_rows(*t, 2, 2, row).error().code, Code::kOutOfRange);
  EXPECT_EQ(read_rows(*t, ~0ull, 2, row).error().code, Code::kOutOfRange);
  EXPECT_EQ(read_rows(*t, 0, 2, row).error().code, Code::kInvalidArgument);
  const GgufTensor* q = g->find_tensor("output.weight");
  ASSERT_NE(q, nullptr);
  std::vector<float> values(32);
  ASSERT_TRUE(read_rows(*q, 0, 1, values).ok());
  EXPECT_EQ(values[31], 31.0f);
}

TEST(Gguf, VersionTwoHasTheSameLayout) {
  Bytes bytes = small_gguf();
  bytes[4] = 2;
  EXPECT_EQ(error_of(bytes), "");
}

TEST(Gguf, ErrorTexts) {
  Bytes good = small_gguf();
  Bytes bytes = good;
  bytes[0] = 'X';
  EXPECT_EQ(error_of(bytes),
            "GGUF: magic is 0x46554758, expected 0x46554747 (\"GGUF\"); this is not a GGUF file");
  bytes = good;
  bytes[4] = 1;
  EXPECT_EQ(error_of(bytes), "GGUF: version is 1, expected 2 or 3");
  bytes = good;
  store_le<u32>(bytes.data() + 4, 0x03000000);
  EXPECT_EQ(error_of(bytes),
            "GGUF: version is 50331648, expected 2 or 3; the file is big endian, convert it");
  bytes = good;
  store_le<u64>(bytes.data() + 8, 0xFFFFFFFFFFFFFFFF);
  EXPECT_EQ(error_of(bytes), "GGUF: the header says 18446744073709551615 tensors, " +
                                 std::to_string(good.size() - 24) +
                                 " bytes are left; the file is truncated or damaged");
  bytes = good;
  store_le<u64>(bytes.data() + 24, 0xFFFFFFFFFFFFFFF0);  // length of the first key: position + length wraps
  EXPECT_EQ(error_of(bytes), "GGUF: a key at offset 24 says 18446744073709551600 bytes, " +
                                 std::to_string(good.size() - 32) +
                                 " are left; the file is truncated or damaged");
  bytes = good;
  bytes.pop_back();
  EXPECT_EQ(error_of(bytes),
            "GGUF: tensor \"output.weight\": needs 34 bytes at data offset 64, the file has 97 bytes of "
            "data; it is truncated (incomplete download?)");
}

// Files with one bad tensor each; every check of the tensor table.
TEST(Gguf, BadTensors) {
  auto with = [](GgmlType type, std::vector<u64> dims, u64 bytes) {
    GgufWriter w;
    w.add_tensor("t", type, dims, Bytes(bytes));
    return error_of(w.finish());
  };
  EXPECT_EQ(with(GgmlType::kF32, {1, 1, 1, 1, 1}, 4),
            "GGUF: tensor \"t\": has 5 dimensions, at most 4 are possible");
  EXPECT_EQ(with(GgmlType::kF32, {4, 0}, 0),
            "GGUF: tensor \"t\": dimension 1 is 0, which is zero or makes the tensor too large");
  EXPECT_EQ(with(GgmlType::kF32, {1ull << 32, 1ull << 32}, 4),
            "GGUF: tensor \"t\": dimension 1 is 4294967296, which is zero or makes the tensor too large");
  EXPECT_NE(with(GgmlType::kF32, {1ull << 63}, 4).find("is too long"), std::string::npos);
  EXPECT_EQ(with(GgmlType::kQ4_K, {128, 2}, 144),
            "GGUF: tensor \"t\": rows of 128 elements are not whole Q4_K blocks of "
            "256");
  EXPECT_EQ(with(static_cast<GgmlType>(4), {32}, 18), "GGUF: tensor \"t\": type 4 is not known");
  EXPECT_EQ(with(GgmlType::kF32, {}, 4), "");  // a scalar
}

TEST(Gguf, DuplicateNamesAndOverlap) {
  const u64 dims[] = {8};
  const std::vector<float> values(8, 1.0f);
  GgufWriter twice;
  twice.add_tensor_f32("t", dims, values);
  twice.add_tensor_f32("t", dims, values);
  EXPECT_EQ(error_of(twice.finish()), "GGUF: tensor \"t\" is there twice");
  GgufWriter keys;
  keys.add_u32("k", 1);
  keys.add_u32("k", 1);
  EXPECT_EQ(error_of(keys.finish()), "GGUF: key \"k\" is there twice");

  GgufWriter w;
  w.add_tensor_f32("a", dims, values);
  w.add_tensor_f32("b", dims, values);
  Bytes bytes = w.finish();
  // The offset of b is the last field of the tensor table: 24 + 2 * (8 + 1 + 4 + 8 + 4 + 8) - 8.
  ASSERT_EQ(load_le<u64>(bytes.data() + 82), 32u);
  store_le<u64>(bytes.data() + 82, 0);
  EXPECT_EQ(error_of(bytes), "GGUF: tensor \"b\": its data overlap those of \"a\"");
  store_le<u64>(bytes.data() + 82, 8);
  EXPECT_EQ(error_of(bytes), "GGUF: tensor \"b\": data offset 8 is not a multiple of the alignment 32");
  store_le<u64>(bytes.data() + 82, 0xFFFFFFFFFFFFFFE0);  // offset + size wraps to 0
  EXPECT_NE(error_of(bytes).find("it is truncated"), std::string::npos);
}

TEST(Gguf, AlignmentKeyIsUsedAndChecked) {
  GgufWriter w;
  w.add_u32("general.alignment", 0);
  EXPECT_EQ(error_of(w.finish()), "GGUF: general.alignment is 0, expected a multiple of 8 up to 1048576");
  GgufWriter fine;
  fine.add_u32("general.alignment", 8);
  EXPECT_EQ(error_of(fine.finish()), "");
}

TEST(Gguf, NestedAndHugeArraysAreRefused) {
  GgufWriter w;
  w.add_i32s("k", std::vector<i32>{1, 2});
  Bytes bytes = w.finish();
  u64 element = 24 + 8 + 1 + 4;
  store_le<u64>(bytes.data() + element + 4, 1ull << 62);
  EXPECT_NE(error_of(bytes).find("GGUF: key \"k\" says 4611686018427387904 array elements"),
            std::string::npos);
  store_le<u32>(bytes.data() + element, 9);
  EXPECT_EQ(error_of(bytes), "GGUF: key \"k\" is an array of arrays");
}

TEST(Gguf, EveryPrefixIsAnError) {
  test::each_prefix(small_gguf(), [](const Bytes& bytes) {
    Result<Gguf> gguf = read_gguf(bytes);
    ASSERT_FALSE(gguf.ok());
    test::expect_message(gguf.error());
  });
}

TEST(Gguf, MutationsGiveAnErrorOrASoundResult) {
  test::each_mutation(small_gguf(), test::kMutations, [](const Bytes& bytes, u64) {
    Result<Gguf> gguf = read_gguf(bytes);
    if (!gguf.ok()) return test::expect_message(gguf.error());
    for (const GgufTensor& tensor : gguf->tensors) {
      ASSERT_TRUE(test::lies_in(tensor.data, bytes));
      std::vector<float> row(tensor.row_elements());
      if (can_dequantize(tensor.type)) {
        ASSERT_TRUE(read_rows(tensor, tensor.rows() - 1, 1, row).ok());
      }
    }
  });
}

Bytes from_hex(const std::string& text) {
  Bytes out;
  for (u64 i = 0; i + 1 < text.size(); i += 2)
    out.push_back(static_cast<u8>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return out;
}

const GgmlTypeInfo* type_named(const std::string& name) {
  for (u32 i = 0; i < 64; ++i) {
    const GgmlTypeInfo* info = ggml_type_info(static_cast<GgmlType>(i));
    if (info && name == info->name) return info;
  }
  return nullptr;
}

// Golden blocks from the Python package gguf (tools/golden/gguf_quants.py): equal to the last bit.
TEST(Dequantize, MatchesTheReferenceBitForBit) {
  std::ifstream in(std::string(TEGULA_SOURCE_DIR) + "/tests/golden/gguf_quants.txt");
  ASSERT_TRUE(in.good());
  int types = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    std::istringstream fields(line);
    std::string name, raw_hex, want_hex;
    fields >> name >> raw_hex >> want_hex;
    const GgmlTypeInfo* info = type_named(name);
    ASSERT_NE(info, nullptr) << name;
    Bytes raw = from_hex(raw_hex);
    Bytes want = from_hex(want_hex);
    std::vector<float> got(want.size() / 4);
    Result<void> done = dequantize(info->type, raw, got);
    ASSERT_TRUE(done.ok()) << done.error().message;
    for (u64 i = 0; i < got.size(); ++i) {
      ASSERT_EQ(load_le<u32>(reinterpret_cast<u8*>(&got[i])), load_le<u32>(want.data() + 4 * i))
          << name << " element " << i << ": " << got[i] << ", expected "
          << load_le<float>(want.data() + 4 * i);
    }
    ++types;
  }
  EXPECT_EQ(types, 14);
}

TEST(Dequantize, RefusesWrongSizesAndTypes) {
  std::vector<float> out(32);
  EXPECT_EQ(dequantize(GgmlType::kQ4_0, Bytes(17), out).error().message,
            "32 elements of Q4_0 need 18 bytes, 17 were given");
  out.resize(33);
  EXPECT_EQ(dequantize(GgmlType::kQ4_0, Bytes(18), out).error().message,
            "a row of 33 elements is not a whole number of Q4_0 blocks of 32");
  EXPECT_EQ(dequantize(GgmlType::kIq1S, Bytes(50), out).error().code, Code::kUnsupported);
  EXPECT_EQ(dequantize(static_cast<GgmlType>(1000), Bytes(50), out).error().code, Code::kUnsupported);
}

}  // namespace
}  // namespace tegula::format
