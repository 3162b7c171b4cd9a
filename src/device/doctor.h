// What the machine offers: device nodes, driver and firmware versions, limits, and what to do about each
// problem.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"

namespace tegula::device {

struct DoctorNode {
  std::string path;  // /dev/accel/accelN
  bool openable = false;
  std::string driver;  // DRM driver name, empty if it did not answer
  u32 driver_major = 0;
  u32 driver_minor = 0;
  std::string firmware;  // "a.b.c.d", from the driver, else from sysfs
  std::string vbnv;      // product name from sysfs
  u32 columns = 0;
  bool usable = false;  // amdxdna with 8 columns
  std::string problem;  // empty when usable
};

struct DoctorReport {
  std::string kernel;            // release of the running kernel
  bool hypervisor = false;       // the CPU says that it is virtual
  u64 memlock_bytes = 0;         // soft RLIMIT_MEMLOCK; all ones = unlimited
  std::vector<std::string> pci;  // NPUs on the PCI bus: "0000:c6:00.1 17f0 rev 0x11"
  std::vector<DoctorNode> nodes;
  std::vector<std::string> advice;  // one line each, most important first; empty when all is well

  const DoctorNode* usable_node() const;  // the first, or nullptr
};

// Where to look; tests point it at a directory of their own.
struct DoctorPaths {
  std::string dev = "/dev/accel";
  std::string sys = "/sys";
  std::string cpuinfo = "/proc/cpuinfo";
};

// Looks, changes nothing, never fails: what could not be read stays empty.
DoctorReport diagnose(const DoctorPaths& paths = {});

}  // namespace tegula::device
