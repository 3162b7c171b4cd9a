#include "program/program.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <random>

#include "base/file.h"

namespace tegula::program {
namespace {

// A folder of its own, removed at the end.
class ProgramTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tegula-program-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    dir_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string path(const std::string& name) const { return dir_ + "/" + name; }
  std::string load_error() const {
    Result<Program> loaded = load(dir_);
    return loaded.ok() ? "" : loaded.error().message;
  }

  std::string dir_;
};

Program small_program() {
  Program p;
  p.name = "tiny";
  p.model_hash = std::string(64, 'a');
  p.xclbin = {1, 2, 3, 4};
  p.streams.push_back({"decode", Bytes(32, 7), {{16, "position"}, {28, "kv offset"}}});
  p.streams.push_back({"prefill_64", Bytes(16, 8), {}});
  p.weights = Bytes(100, 9);
  p.weight_layout = {{"blk.0.wq", "int8 32x64", 0, 64}, {"blk.0.wk", "int8 32x64", 64, 36}};
  p.manifest_json_extra = "{\"columns\":8}";
  return p;
}

TEST(Sha256, KnownVectors) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  const Bytes abc = {'a', 'b', 'c'};
  EXPECT_EQ(sha256_hex(abc), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST_F(ProgramTest, LoadsWhatWasSaved) {
  Program p = small_program();
  Result<void> saved = save(p, dir_ + "/a/b");
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  Result<Program> q = load(dir_ + "/a/b");
  ASSERT_TRUE(q.ok()) << q.error().message;
  EXPECT_EQ(q->name, p.name);
  EXPECT_EQ(q->model_hash, p.model_hash);
  EXPECT_EQ(q->xclbin, p.xclbin);
  ASSERT_EQ(q->streams.size(), 2u);
  EXPECT_EQ(q->streams[0].bytes, p.streams[0].bytes);
  EXPECT_EQ(q->streams[0].patches, p.streams[0].patches);
  ASSERT_NE(q->find_stream("prefill_64"), nullptr);
  EXPECT_EQ(q->find_stream("prefill_64")->bytes, p.streams[1].bytes);
  EXPECT_EQ(q->find_stream("nope"), nullptr);
  EXPECT_EQ(q->weights, p.weights);
  EXPECT_EQ(q->weight_layout, p.weight_layout);
  EXPECT_EQ(q->manifest_json_extra, p.manifest_json_extra);
}

TEST_F(ProgramTest, WeightsAreOptional) {
  Program p = small_program();
  p.weights.clear();
  p.weight_layout.clear();
  p.manifest_json_extra.clear();
  ASSERT_TRUE(save(p, dir_).ok());
  EXPECT_FALSE(std::filesystem::exists(path("weights.bin")));
  Result<Program> q = load(dir_);
  ASSERT_TRUE(q.ok()) << q.error().message;
  EXPECT_TRUE(q->weights.empty());
  EXPECT_TRUE(q->manifest_json_extra.empty());
}

TEST_F(ProgramTest, ErrorsNameTheFile) {
  ASSERT_TRUE(save(small_program(), dir_).ok());
  ASSERT_TRUE(write_file(path("decode.txn"), Bytes(32, 6)).ok());
  EXPECT_EQ(load_error(), path("decode.txn") + ": SHA-256 is " + sha256_hex(Bytes(32, 6)) +
                              ", the manifest says " + sha256_hex(Bytes(32, 7)) +
                              "; compile the program again");
  ASSERT_TRUE(write_file(path("decode.txn"), Bytes(31, 7)).ok());
  EXPECT_EQ(load_error(),
            path("decode.txn") + ": has 31 bytes, the manifest says 32; compile the program again");
  std::filesystem::remove(path("config.xclbin"));
  EXPECT_NE(load_error().find(path("config.xclbin")), std::string::npos) << load_error();
  std::filesystem::remove(path("manifest.json"));
  EXPECT_NE(load_error().find(path("manifest.json")), std::string::npos) << load_error();
}

TEST_F(ProgramTest, ManifestErrorsNameTheManifest) {
  ASSERT_TRUE(save(small_program(), dir_).ok());
  const std::string text = "{\"format\": 2}";
  ASSERT_TRUE(write_file(path("manifest.json"), Bytes(text.begin(), text.end())).ok());
  EXPECT_EQ(load_error(),
            path("manifest.json") + ": manifest: format is 2, expected 1; compile the program again");
}

TEST_F(ProgramTest, SaveRefusesWhatItCouldNotLoad) {
  auto refusal = [this](Program p) {
    Result<void> saved = save(p, dir_);
    EXPECT_FALSE(std::filesystem::exists(path("manifest.json")));
    return saved.ok() ? std::string() : saved.error().message;
  };
  Program p = small_program();
  p.streams[0].name = "../evil";
  EXPECT_EQ(refusal(p), "program: stream name \"../evil\" is not a plain file name or is there twice");
  p = small_program();
  p.streams[1].name = "decode";
  EXPECT_EQ(refusal(p), "program: stream name \"decode\" is not a plain file name or is there twice");
  p = small_program();
  p.streams[0].patches[0].offset = 30;
  EXPECT_EQ(refusal(p),
            "program: stream decode: patch \"position\" at byte 30 is not a word of its 32 bytes");
  p = small_program();
  p.weight_layout[1].size = 37;
  EXPECT_EQ(refusal(p), "program: weight blk.0.wk lies outside the blob of 100 bytes");
  p = small_program();
  p.manifest_json_extra = "[1]";
  EXPECT_EQ(refusal(p), "program: manifest_json_extra is not a JSON object");
}

TEST(Manifest, EveryPrefixIsAnErrorAndMutationsAreSound) {
  Result<std::string> text = manifest_text(small_program());
  ASSERT_TRUE(text.ok());
  Bytes bytes(text->begin(), text->end());
  ASSERT_TRUE(read_manifest(bytes).ok());
  for (u64 size = 0; size + 1 < bytes.size(); ++size) {  // the last byte is only the line end
    Bytes prefix(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Result<Manifest> manifest = read_manifest(prefix);
    ASSERT_FALSE(manifest.ok());
    ASSERT_EQ(manifest.error().message.find('\n'), std::string::npos);
  }
  std::mt19937 random(7);
  for (int i = 0; i < 10000; ++i) {
    Bytes copy = bytes;
    copy[random() % copy.size()] ^= static_cast<u8>(1 + random() % 255);
    Result<Manifest> manifest = read_manifest(copy);
    if (!manifest.ok()) continue;
    for (const FileRecord& record : manifest->files) {
      ASSERT_EQ(record.file.find('/'), std::string::npos);
      ASSERT_EQ(record.sha256.size(), 64u);
    }
  }
}

TEST(Manifest, ErrorTexts) {
  auto error = [](const std::string& from, const std::string& to) {
    std::string text = *manifest_text(small_program());
    u64 at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    Result<Manifest> manifest = read_manifest(Bytes(text.begin(), text.end()));
    return manifest.ok() ? std::string() : manifest.error().message;
  };
  EXPECT_EQ(error("\"decode.txn\"", "\"../../x\""),
            "manifest: a file name holds characters that are not allowed");
  EXPECT_EQ(error("\"decode.txn\"", "\"\""), "manifest: a file name holds characters that are not allowed");
  EXPECT_EQ(error("\"offset\": 16", "\"offset\": 18446744073709551612"),
            "manifest: decode.txn: patch at byte 18446744073709551612 is not a word of 32 bytes");
  EXPECT_EQ(error("\"offset\": 64", "\"offset\": 18446744073709551615"),
            "manifest: a weight of 36 bytes at 18446744073709551615 lies outside the blob of 100 bytes");
  EXPECT_EQ(error("\"name\": \"tiny\"", "\"name\": 1"), "manifest: \"name\" is missing or no string");
  const std::string deep(100000, '[');
  EXPECT_EQ(read_manifest(Bytes(deep.begin(), deep.end())).error().message, "manifest: is not a JSON object");
}

}  // namespace
}  // namespace tegula::program
