#include "cli/commands.h"

int main(int argc, char** argv) {
  return tegula::cli::run_cli(argc, argv);
}
