#include "base/result.h"

namespace tegula {

const char* code_name(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
      return "invalid argument";
    case Code::kNotFound:
      return "not found";
    case Code::kCorrupt:
      return "corrupt";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kOutOfRange:
      return "out of range";
    case Code::kIo:
      return "i/o error";
    case Code::kDevice:
      return "device error";
    case Code::kInternal:
      return "internal error";
  }
  return "unknown";
}

}  // namespace tegula
