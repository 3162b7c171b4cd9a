#include "format/safetensors.h"

#include "format/damage.h"

namespace tegula::format {
namespace {

Bytes small_file() {
  SafetensorsWriter w;
  w.add_metadata("format", "pt");
  const u64 matrix[] = {2, 3};
  w.add_f32("layer.weight", matrix, std::vector<float>{1, 2, 3, 4, 5, 6});
  const u64 row[] = {2};
  w.add("layer.half", SafetensorsType::kF16, row, Bytes{0x00, 0x3C, 0x00, 0xC0});
  w.add("layer.brain", SafetensorsType::kBf16, row, Bytes{0x80, 0x3F, 0x00, 0xC0});
  w.add("scalar", SafetensorsType::kI64, {}, Bytes(8, 1));
  return w.finish();
}

// A file with this header text and that many bytes of data.
Bytes with_header(const std::string& text, u64 data) {
  ByteWriter w;
  w.write<u64>(text.size());
  w.text(text);
  w.zeros(data);
  return w.take();
}

std::string error_of(const Bytes& bytes) {
  Result<Safetensors> file = read_safetensors(bytes);
  return file.ok() ? "" : file.error().message;
}

TEST(Safetensors, ReadsBackWhatWasWritten) {
  Bytes bytes = small_file();
  Result<Safetensors> file = read_safetensors(bytes);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->metadata.at("format"), "pt");
  ASSERT_EQ(file->tensors.size(), 4u);
  const SafetensorsTensor* weight = file->find("layer.weight");
  ASSERT_NE(weight, nullptr);
  EXPECT_EQ(weight->shape, (std::vector<u64>{2, 3}));
  std::vector<float> values(6);
  ASSERT_TRUE(to_float(weight->type, weight->data, values).ok());
  EXPECT_EQ(values, (std::vector<float>{1, 2, 3, 4, 5, 6}));
  std::vector<float> pair(2);
  const SafetensorsTensor* half = file->find("layer.half");
  ASSERT_TRUE(half && to_float(half->type, half->data, pair).ok());
  EXPECT_EQ(pair, (std::vector<float>{1, -2}));
  const SafetensorsTensor* brain = file->find("layer.brain");
  ASSERT_TRUE(brain && to_float(brain->type, brain->data, pair).ok());
  EXPECT_EQ(pair, (std::vector<float>{1, -2}));
  const SafetensorsTensor* scalar = file->find("scalar");
  ASSERT_NE(scalar, nullptr);
  EXPECT_EQ(scalar->elements, 1u);
  EXPECT_EQ(to_float(scalar->type, scalar->data, pair).error().message,
            "safetensors: dtype I64 cannot be read as fp32; supported are F32, F16 and BF16");
  EXPECT_EQ(to_float(SafetensorsType::kF32, Bytes(4), pair).error().code, Code::kInvalidArgument);
  EXPECT_EQ(file->get("nope").error().message, "safetensors: tensor \"nope\" is missing");
}

TEST(Safetensors, LongRowsOfAnyAlignment) {
  const u64 count = 1025;
  Bytes raw(1 + count * 2);
  for (u64 i = 0; i < count; ++i) store_le<u16>(raw.data() + 1 + i * 2, static_cast<u16>(0x3F80 + i));
  std::vector<float> out(count);
  ASSERT_TRUE(to_float(SafetensorsType::kBf16, ByteSpan(raw).subspan(1), out).ok());
  for (u64 i = 0; i < count; ++i) {
    ASSERT_EQ(load_le<u32>(reinterpret_cast<u8*>(&out[i])), (0x3F80 + i) << 16);
  }
}

TEST(Safetensors, ErrorTexts) {
  EXPECT_EQ(error_of(Bytes(5)),
            "safetensors: 5 bytes, the header length alone needs 8; the file is truncated");
  Bytes huge(16);
  store_le<u64>(huge.data(), 0xFFFFFFFFFFFFFFFF);
  EXPECT_EQ(error_of(huge),
            "safetensors: the header says 18446744073709551615 bytes, 8 are there and at most 100000000 "
            "are allowed; the file is truncated or no safetensors file");
  EXPECT_EQ(error_of(with_header("[1]", 0)),
            "safetensors: the header is not a JSON object; this is not a safetensors file "
            "or it is damaged");
  auto entry = [](const char* dtype, const char* shape, const char* offsets, u64 data) {
    return error_of(with_header(std::string("{\"t\":{\"dtype\":\"") + dtype + "\",\"shape\":" + shape +
                                    ",\"data_offsets\":" + offsets + "}}",
                                data));
  };
  EXPECT_EQ(entry("F32", "[2]", "[0,8]", 8), "");
  EXPECT_EQ(entry("F32", "[2]", "[0,8]", 7),
            "safetensors: tensor \"t\": data end at 8, the file has 7 bytes of data; it is "
            "truncated (incomplete download?)");
  EXPECT_EQ(entry("F32", "[2]", "[0,8]", 9),
            "safetensors: tensors end at 8, the file has 9 bytes of data; it is damaged");
  EXPECT_EQ(entry("F32", "[3]", "[0,8]", 8),
            "safetensors: tensor \"t\": 8 bytes of data do not fit its shape and dtype "
            "F32");
  EXPECT_EQ(entry("F32", "[4611686018427387906]", "[0,8]", 8),
            "safetensors: tensor \"t\": 8 bytes of data do not fit its shape and dtype F32");
  EXPECT_EQ(entry("F32", "[4294967296,4294967296]", "[0,0]", 0),
            "safetensors: tensor \"t\": 0 bytes of data do not fit its shape and dtype F32");
  EXPECT_EQ(entry("F4", "[2]", "[0,8]", 8), "safetensors: tensor \"t\": dtype F4 is not known");
  EXPECT_EQ(entry("F32", "[2]", "[8,0]", 8),
            "safetensors: tensor \"t\": data_offsets is not a pair of rising numbers");
  EXPECT_EQ(entry("F32", "[-2]", "[0,8]", 8),
            "safetensors: tensor \"t\": shape holds something that is not a whole "
            "number");
  EXPECT_EQ(entry("F32", "[2]", "[4,12]", 12),
            "safetensors: tensor \"t\": 4 unused bytes lie before its data");
}

TEST(Safetensors, OverlapAndDuplicates) {
  const std::string a = "\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[0,8]}";
  const std::string b = "\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}";
  EXPECT_EQ(error_of(with_header("{" + a + "," + b + "}", 8)),
            "safetensors: tensor \"b\": its data overlap those of another tensor");
  EXPECT_EQ(error_of(with_header("{" + a + "," + a + "}", 8)), "safetensors: name \"a\" is there twice");
  EXPECT_EQ(error_of(with_header("{" + a + ",\"__metadata__\":{\"x\":1}}", 8)),
            "safetensors: __metadata__ \"x\" is not a string");
}

TEST(Safetensors, DeepNestingIsAnErrorNotACrash) {
  std::string deep = "{\"t\":" + std::string(1000000, '[');
  EXPECT_NE(error_of(with_header(deep, 0)), "");
  deep += std::string(1000000, ']') + "}";
  EXPECT_NE(error_of(with_header(deep, 0)), "");
}

TEST(Safetensors, EveryPrefixIsAnError) {
  test::each_prefix(small_file(), [](const Bytes& bytes) {
    Result<Safetensors> file = read_safetensors(bytes);
    ASSERT_FALSE(file.ok());
    test::expect_message(file.error());
  });
}

TEST(Safetensors, MutationsGiveAnErrorOrASoundResult) {
  test::each_mutation(small_file(), test::kMutations, [](const Bytes& bytes, u64) {
    Result<Safetensors> file = read_safetensors(bytes);
    if (!file.ok()) return test::expect_message(file.error());
    for (const SafetensorsTensor& tensor : file->tensors) {
      ASSERT_TRUE(test::lies_in(tensor.data, bytes));
      ASSERT_EQ(tensor.data.size(), tensor.elements * safetensors_type_bytes(tensor.type));
    }
  });
}

}  // namespace
}  // namespace tegula::format
