// Messages for what the driver refuses: the symptom, the usual cause, the next step.
#pragma once

#include <string>

#include "base/result.h"
#include "base/types.h"

namespace tegula::device {

// "EAGAIN (Resource temporarily unavailable)"; takes errno or -errno.
std::string errno_text(int error);
std::string open_advice(const std::string& path, int error);
Error call_error(const std::string& what, int error, const std::string& advice = {});
std::string hex(u64 value);
// "shim DMA error at column 3, row 0" for an asynchronous error.
std::string async_error_text(u64 code, u64 place);

}  // namespace tegula::device
