// The commands of `tegula`: one option struct and one function each. Functions print results to stdout,
// everything else to stderr, and return the exit code: 0 success, 1 failure with one line on stderr, 2 wrong
// usage.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace tegula::cli {

enum class Device : u8 { kAuto, kNpu, kEmu, kCpu };

struct ModelOptions {
  std::string model;  // catalog name or path
  Device device = Device::kAuto;
  std::string precision = "high";  // fast | high
  int threads = 0;                 // host threads, 0 = all
  bool json = false;
  bool check = false;  // compare every op on the NPU path with the cpu executor
};

struct RunOptions : ModelOptions {
  std::string prompt;
  bool has_prompt = false;  // else standard input
  std::string system;       // system message of the chat template
  bool raw = false;         // the prompt goes in as it is, without the chat template
  i64 tokens = 128;
  i64 context = 0;  // positions kept, 0 = what the model was trained for
  bool greedy = false;
  float temperature = 0.8f;
  i64 top_k = 40;
  float top_p = 0.95f;
  u64 seed = 0;
};

struct EmbedOptions : ModelOptions {
  std::vector<std::string> texts;
};

struct PullCommand {
  std::string name;
  std::string from;
};

struct CompileCommand {
  std::string model;
  std::string out;
  std::string precision = "high";
};

struct InspectCommand {
  std::vector<std::string> files;
  int depth = 2;     // 0..3
  std::string tile;  // "C,R"; empty: all
  std::string html;  // file to write; empty: none
  bool summary = false;
  bool json = false;
};

struct DiffCommand {
  std::string a, b;
  bool json = false;
};

// Of the commands about core programs.
struct ProgramOptions {
  std::string tile;  // "C,R"; empty: each distinct program once
  bool raw = false;  // files are bare core programs
  bool json = false;
};

struct DisasmCommand : ProgramOptions {
  std::vector<std::string> files;
  bool bytes = false;
  bool cycles = false;
};

struct AsmCommand {
  std::string file;
  std::string out;
  bool json = false;
};

struct LintCommand : ProgramOptions {
  std::string file;
  bool allow_old_values = false;
};

struct IsaCommand {
  bool coverage = false;           // what the emulator executes
  std::vector<std::string> files;  // count the instructions of their core programs too
  bool json = false;
};

struct EmuCommand {
  std::vector<std::string> files;    // xclbin, PDI or CDO; several with flood only
  std::vector<std::string> streams;  // run one after the other
  std::vector<std::string> args;     // "N=FILE"
  std::vector<std::string> outs;     // "N=FILE:BYTES"
  std::string gemm;                  // "M,K,N" or "auto": check a product instead; empty: no
  int repeat = 1;                    // products with other data, without a new configuration
  u64 seed = 1;
  int threads = 0;
  u64 max_cycles = 0;     // 0: the driver's watchdog
  bool flood = false;     // no stream: random data on every input
  u64 bundles = 10'000;   // with flood: of each core
  std::string data;       // with flood: file whose bytes inputs get, over and over; empty: random ones
  std::string calibrate;  // folder with published programs: compare their rates instead; empty: no
  std::vector<std::string> checks;  // words of --check
  std::string trace;                // Perfetto file to write; empty: none
  std::string html;                 // page to write; empty: none
  bool json = false;
};

struct BenchCommand {
  std::vector<std::string> shapes;  // MxKxN; empty: the standard set
  std::string number = "all";       // int8 | bfp16 | high | all
  int repeat = 16;                  // products back to back in the steady state
  int threads = 0;
  bool host = false;  // figures of the host instead of products
  bool json = false;
};

int cmd_run(const RunOptions& options);
int cmd_embed(const EmbedOptions& options);
int cmd_pull(const PullCommand& command);
int cmd_list(bool json);
int cmd_compile(const CompileCommand& command);
int cmd_inspect(const InspectCommand& command);
int cmd_diff(const DiffCommand& command);  // as diff(1): 0 equal, 1 different, 2 error
int cmd_disasm(const DisasmCommand& command);
int cmd_asm(const AsmCommand& command);
int cmd_lint(const LintCommand& command);  // 0 clean or warnings only, 1 a rule is broken, 2 error
int cmd_isa(const IsaCommand& command);    // 1 when a file has instructions that are not executed
int cmd_emu(const EmuCommand& command);
int cmd_flood(const EmuCommand& command);      // cmd_emu with flood: 1 when a core falls short
int cmd_calibrate(const EmuCommand& command);  // cmd_emu with calibrate: 1 when a product is wrong
int cmd_bench(const BenchCommand& command);
int cmd_doctor(bool json);

// Prints "tegula: MESSAGE" on stderr, whole and on one line, and returns 1.
int print_error(const Error& error);

// The error with "PATH: " in front.
Error in_file(const std::string& path, const Error& error);

// The whole program: parses the command line and runs the command.
int run_cli(int argc, char** argv);

}  // namespace tegula::cli
