// tegula asm: assembly text to a bare core program.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "isa/assembler.h"
#include "isa/listing.h"

namespace tegula::cli {

int cmd_asm(const AsmCommand& command) {
  const Result<MappedFile> file = MappedFile::open(command.file);
  if (!file.ok()) return print_error(file.error());
  const ByteSpan source = file->bytes();
  const Result<isa::Assembled> program =
      isa::assemble_program({reinterpret_cast<const char*>(source.data()), source.size()}, command.file);
  if (!program.ok()) return print_error(program.error());
  const Result<void> written = write_file(command.out, program->code);
  if (!written.ok()) return print_error(written.error());
  if (!command.json) return 0;
  nlohmann::json labels = nlohmann::json::array();
  for (const auto& [name, address] : program->labels)
    labels.push_back({{"name", name}, {"address", address}});
  const nlohmann::json out = {{"schema", 1},
                              {"bytes", program->code.size()},
                              {"bundles", isa::count(program->code).bundles},
                              {"labels", std::move(labels)}};
  std::printf("%s\n", out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace tegula::cli
