// Files for the commands on the emulated array: the matrix program of the compiler, and single cores.
#pragma once

#include <cstring>
#include <random>

#include "cli/command_run.h"
#include "cli/sample.h"
#include "compiler/emit/matmul_array.h"
#include "compiler/kernels/matmul_kernel.h"

namespace tegula::cli {

inline compiler::MatmulConfig matmul_config() {
  compiler::MatmulConfig config;
  config.number = compiler::Number::kInt8;
  config.kc = 8;
  config.nc = 2;
  config.max_row_blocks = 1;
  return config;
}

inline std::string matmul_file() {
  const compiler::MatmulConfig config = matmul_config();
  const auto program = compiler::matmul_kernel(config);
  EXPECT_TRUE(program.ok());
  const auto commands = compiler::matmul_array(config, program->code);
  EXPECT_TRUE(commands.ok());
  return write_file_for_test("matmul", test::xclbin_of(*commands));
}

// One enabled core at (0,2) with this program.
inline std::string core_file(const std::string& name, const std::vector<std::string>& lines) {
  test::Config config;
  config.program(0, 2, test::program_of(lines, 64));
  config.mask(0, 2, arch::kCoreControl, arch::kCoreReset | arch::kCoreEnable, arch::kCoreEnable);
  return write_file_for_test(name, test::xclbin_of(config.commands()));
}

// The program takes its counts from the first unit of the activations (512 bytes here), so each unit starts
// with such a header. Weights read the same bytes: any will do.
inline std::string matmul_data() {
  Bytes data(512);
  std::mt19937 random(1);
  for (u8& byte : data) byte = static_cast<u8>(random());
  const u32 header[compiler::kHeaderWords] = {1, compiler::kTileChunks, 4, 1, 0, 0, 0};
  std::memcpy(data.data(), header, sizeof header);
  return write_file_for_test("matmul_data", data);
}

}  // namespace tegula::cli
