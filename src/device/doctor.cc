// Looks for NPUs and for the usual reasons why one cannot be used.
#include "device/doctor.h"

#include <sys/resource.h>
#include <sys/utsname.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/amdxdna_uapi.h"
#include "device/errors.h"
#include "device/nodes.h"

namespace tegula::device {
namespace {

namespace fs = std::filesystem;
constexpr int kMostNodes = 64;
constexpr u64 kMemlockFloor = u64{100} << 20;  // below this, clients that lock their mappings fail

std::string first_line(const fs::path& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

bool has_hypervisor_flag(const std::string& cpuinfo) {
  std::ifstream in(cpuinfo);
  std::string line;
  while (std::getline(in, line)) {
    if (line.rfind("flags", 0) == 0) return line.find(" hypervisor") != std::string::npos;
  }
  return false;
}

std::vector<std::string> pci_npus(const std::string& sys) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(fs::path(sys) / "bus/pci/devices", error)) {
    if (first_line(entry.path() / "vendor") != "0x1022") continue;
    const std::string device = first_line(entry.path() / "device");
    if (device != "0x17f0" && device != "0x1502") continue;
    found.push_back(entry.path().filename().string() + " " + device.substr(2) + " rev " +
                    first_line(entry.path() / "revision"));
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Asks the node who it is; fills problem where it is not what we want.
void question(AccelNode& node, DoctorNode* out) {
  char name[64] = {};
  uapi::DrmVersion version{};
  version.name = reinterpret_cast<u64>(name);
  version.name_len = sizeof(name) - 1;
  int error = node.ioctl(uapi::kReqVersion, &version);
  if (error != 0) {
    out->problem = "does not answer as a DRM device: " + errno_text(error);
    return;
  }
  out->driver = name;
  out->driver_major = static_cast<u32>(version.major);
  out->driver_minor = static_cast<u32>(version.minor);
  if (out->driver != uapi::kDriverName) {
    out->problem = "belongs to driver " + out->driver + ", not to an AMD NPU";
    return;
  }
  uapi::FirmwareVersion firmware{};
  uapi::GetInfo query{uapi::kInfoFirmwareVersion, sizeof(firmware), reinterpret_cast<u64>(&firmware)};
  if (node.ioctl(uapi::kReqGetInfo, &query) == 0) {
    out->firmware = std::to_string(firmware.major) + "." + std::to_string(firmware.minor) + "." +
                    std::to_string(firmware.patch) + "." + std::to_string(firmware.build);
  }
  uapi::AieMetadata metadata{};
  query = {uapi::kInfoAieMetadata, sizeof(metadata), reinterpret_cast<u64>(&metadata)};
  error = node.ioctl(uapi::kReqGetInfo, &query);
  if (error != 0) {
    out->problem = "does not tell its array: " + errno_text(error);
    return;
  }
  out->columns = metadata.cols;
  if (metadata.cols != uapi::kColumns || metadata.rows != uapi::kRows) {
    out->problem = "has an array of " + std::to_string(metadata.cols) + " x " +
                   std::to_string(metadata.rows) + ", need 8 x 6 (Strix, Strix Halo, Krackan)";
    return;
  }
  out->usable = true;
}

DoctorNode look_at(const DoctorPaths& paths, const std::string& name) {
  DoctorNode out;
  out.path = (fs::path(paths.dev) / name).string();
  const fs::path sysfs = fs::path(paths.sys) / "class/accel" / name / "device";
  out.vbnv = first_line(sysfs / "vbnv");
  std::unique_ptr<AccelNode> node;
  const int error = open_linux_node(out.path, &node);
  if (error != 0) {
    out.problem = "open: " + errno_text(error) + "; " + open_advice(out.path, error);
  } else {
    out.openable = true;
    question(*node, &out);
  }
  if (out.firmware.empty()) out.firmware = first_line(sysfs / "fw_version");
  return out;
}

void advise(DoctorReport* report) {
  for (const DoctorNode& node : report->nodes) {
    if (!node.usable) report->advice.push_back(node.path + " " + node.problem);
  }
  if (report->usable_node() == nullptr) {
    if (report->nodes.empty() && report->pci.empty()) {
      report->advice.push_back(
          "no NPU on the PCI bus (1022:17f0): this machine has none, or the firmware setup has it "
          "disabled (option NPU or IPU)");
    } else if (report->nodes.empty()) {
      report->advice.push_back(
          "an NPU is on the PCI bus but there is no /dev/accel node: load the amdxdna driver (kernel "
          "6.14 or newer with CONFIG_DRM_ACCEL_AMDXDNA), see its lines in dmesg");
    }
    if (report->hypervisor) {
      report->advice.push_back("this is a virtual machine: plain PCI pass-through of the NPU does not work");
    }
    return;
  }
  if (report->memlock_bytes < kMemlockFloor) {
    report->advice.push_back(
        "the locked-memory limit is " + std::to_string(report->memlock_bytes / 1024) +
        " KiB: some drivers refuse the 64 MiB heap below 64 MiB; set memlock unlimited in "
        "/etc/security/limits.d (containers: --ulimit memlock=-1:-1)");
  }
}

}  // namespace

const DoctorNode* DoctorReport::usable_node() const {
  auto it = std::find_if(nodes.begin(), nodes.end(), [](const DoctorNode& node) { return node.usable; });
  return it == nodes.end() ? nullptr : &*it;
}

DoctorReport diagnose(const DoctorPaths& paths) {
  DoctorReport report;
  utsname names{};
  if (uname(&names) == 0) report.kernel = names.release;
  report.hypervisor = has_hypervisor_flag(paths.cpuinfo);
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0) {
    report.memlock_bytes = limit.rlim_cur == RLIM_INFINITY ? ~u64{0} : limit.rlim_cur;
  }
  report.pci = pci_npus(paths.sys);
  for (int i = 0; i < kMostNodes; ++i) {
    const std::string name = "accel" + std::to_string(i);
    std::error_code error;
    if (fs::exists(fs::path(paths.dev) / name, error)) report.nodes.push_back(look_at(paths, name));
  }
  advise(&report);
  return report;
}

}  // namespace tegula::device
