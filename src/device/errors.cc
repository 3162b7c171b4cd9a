// Failure messages of the device client.
#include "device/errors.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

namespace tegula::device {

std::string errno_text(int error) {
  const int positive = error < 0 ? -error : error;
  const char* name = strerrorname_np(positive);
  return std::string(name != nullptr ? name : "errno " + std::to_string(positive)) + " (" +
         std::generic_category().message(positive) + ")";
}

std::string hex(u64 value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

std::string open_advice(const std::string& path, int error) {
  switch (error < 0 ? -error : error) {
    case EACCES:
    case EPERM:
      return "no permission for " + path +
             " (usually root:render): add the user to group render, or pass the device "
             "into the container";
    case ENOENT:
      return "no NPU device node " + path +
             ": check `lspci -d 1022:17f0`, the amdxdna lines of dmesg and the firmware "
             "setup option for the NPU/IPU";
    case EINVAL:
    case ENODEV:
    case EOPNOTSUPP:
    case ENOSPC:
      return "the kernel could not bind this process to the NPU (SVA): enable the IOMMU in the firmware "
             "setup, remove "
             "amd_iommu=off, use kernel 6.10 or newer; plain PCI pass-through into a virtual machine does "
             "not work";
    default:
      return "see dmesg";
  }
}

Error call_error(const std::string& what, int error, const std::string& advice) {
  const int positive = error < 0 ? -error : error;
  std::string text = what + ": " + errno_text(error);
  if (positive == ENODEV) {
    text +=
        "; the driver has lost the NPU firmware: reload the amdxdna driver, remove and rescan the PCI "
        "device, or reboot";
  } else if (!advice.empty()) {
    text += "; " + advice;
  }
  return fail(Code::kDevice, std::move(text));
}

std::string async_error_text(u64 code, u64 place) {
  static constexpr const char* kNumbers[] = {
      "unknown",     "unknown", "unknown", "saturation", "floating point", "stream", "access", "bus",
      "instruction", "ECC",     "lock",    "DMA",        "memory parity"};
  static constexpr const char* kModules[] = {"unknown", "unknown", "unknown", "core",
                                             "memory",  "shim",    "NoC",     "PL"};
  const u64 number = code & 0xFFFF;
  const u64 module = code >> 32 & 0xFF;
  return std::string(module < std::size(kModules) ? kModules[module] : "unknown") + " module, " +
         (number < std::size(kNumbers) ? kNumbers[number] : "unknown") + " error at column " +
         std::to_string(place & 0xFF) + ", row " + std::to_string(place >> 8 & 0xFF);
}

}  // namespace tegula::device
