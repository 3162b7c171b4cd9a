// What the machine offers: device nodes, driver and firmware versions, limits, and what to do about each problem.
#pragma once

#include <string>
#include <vector>

#include "base/types.h"

namespace tegula::device {

struct DoctorNode {
  std::string path;         // /dev/accel/accelN
  bool openable = false;
  std::string driver;       // DRM driver name, empty if it did not answer
  u32 driver_major = 0;
  u32 driver_minor = 0;
  std::string firmware;     // "a.b.c.d", from sysfs or the driver
  std::string vbnv;         // product name from sysfs
  u32 columns = 0;
  bool usable = false;      // amdxdna, 8 columns, good enough driver
  std::string problem;      // empty when usable
};

struct DoctorReport {
  std::string kernel;            // release of the running kernel
  bool hypervisor = false;       // the CPU says that it is virtual
  u64 memlock_bytes = 0;         // soft RLIMIT_MEMLOCK; all ones = unlimited
  std::vector<DoctorNode> nodes;
  std::vector<std::string> advice;  // one line each, most important first; empty when all is well

  const DoctorNode* usable_node() const;  // the first, or nullptr
};

// Looks, changes nothing, never fails: what could not be read stays empty.
DoctorReport diagnose();

}  // namespace tegula::device
