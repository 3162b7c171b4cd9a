// tegula pull, tegula list, tegula doctor.
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "cli/catalog.h"
#include "cli/commands.h"
#include "cli/pull.h"
#include "device/doctor.h"

namespace tegula::cli {
namespace {

using nlohmann::json;

bool is_here(const CatalogEntry& entry) {
  std::error_code ignored;
  for (const CatalogFile& file : entry.files) {
    const std::string path = model_directory() + "/" + std::string(file.local);
    if (std::filesystem::file_size(path, ignored) != file.bytes || ignored) return false;
  }
  return true;
}

u64 total_bytes(const CatalogEntry& entry) {
  u64 bytes = 0;
  for (const CatalogFile& file : entry.files) bytes += file.bytes;
  return bytes;
}

json node_json(const device::DoctorNode& node) {
  return {{"path", node.path},
          {"openable", node.openable},
          {"driver", node.driver},
          {"version", std::to_string(node.driver_major) + "." + std::to_string(node.driver_minor)},
          {"firmware", node.firmware},
          {"product", node.vbnv},
          {"columns", node.columns},
          {"usable", node.usable},
          {"problem", node.problem}};
}

void print_doctor(const device::DoctorReport& report) {
  std::printf("kernel    %s%s\n", report.kernel.c_str(), report.hypervisor ? " (virtual machine)" : "");
  if (report.memlock_bytes == ~u64{0}) {
    std::printf("memlock   unlimited\n");
  } else {
    std::printf("memlock   %llu KiB\n", static_cast<unsigned long long>(report.memlock_bytes / 1024));
  }
  for (const std::string& device : report.pci) std::printf("pci       %s\n", device.c_str());
  if (report.pci.empty()) std::printf("pci       no NPU found\n");
  for (const device::DoctorNode& node : report.nodes) {
    std::printf("node      %s: %s %u.%u, firmware %s, %s, %u columns%s%s\n", node.path.c_str(),
                node.driver.empty() ? "no answer" : node.driver.c_str(), node.driver_major, node.driver_minor,
                node.firmware.empty() ? "?" : node.firmware.c_str(),
                node.vbnv.empty() ? "?" : node.vbnv.c_str(), node.columns, node.problem.empty() ? "" : ": ",
                node.problem.c_str());
  }
  if (report.nodes.empty()) std::printf("node      none under /dev/accel\n");
  const device::DoctorNode* usable = report.usable_node();
  std::printf("device    %s\n",
              usable != nullptr ? usable->path.c_str() : "emulated NPU (no usable NPU here)");
  for (const std::string& line : report.advice) std::printf("advice    %s\n", line.c_str());
}

}  // namespace

int cmd_pull(const PullCommand& command) {
  const CatalogEntry* entry = find_entry(command.name);
  if (entry == nullptr) {
    return print_error(
        fail(Code::kNotFound, "no such model in the catalog: " + command.name + "; see tegula list"));
  }
  Result<bool> fetched = pull(*entry, {.from = command.from});
  if (!fetched.ok()) return print_error(fetched.error());
  std::fprintf(stderr, "%s: %s in %s\n", command.name.c_str(), *fetched ? "fetched" : "already here",
               model_directory().c_str());
  return 0;
}

int cmd_list(bool as_json) {
  json out = json::array();
  for (const CatalogEntry& entry : catalog()) {
    const double mb = static_cast<double>(total_bytes(entry)) / 1e6;
    if (as_json) {
      out.push_back({{"name", entry.name},
                     {"about", entry.about},
                     {"bytes", total_bytes(entry)},
                     {"package", entry.package},
                     {"version", entry.version},
                     {"here", is_here(entry)}});
    } else {
      std::printf("%-20s %8.1f MB  %-8s %s\n", std::string(entry.name).c_str(), mb,
                  is_here(entry) ? "here" : "-", std::string(entry.about).c_str());
    }
  }
  if (as_json) std::printf("%s\n", out.dump(2).c_str());
  return 0;
}

int cmd_doctor(bool as_json) {
  const device::DoctorReport report = device::diagnose();
  if (!as_json) {
    print_doctor(report);
    return 0;
  }
  json nodes = json::array();
  for (const device::DoctorNode& node : report.nodes) nodes.push_back(node_json(node));
  const device::DoctorNode* usable = report.usable_node();
  const json out = {{"kernel", report.kernel},
                    {"hypervisor", report.hypervisor},
                    {"memlock_bytes", report.memlock_bytes},
                    {"pci", report.pci},
                    {"nodes", nodes},
                    {"device", usable ? usable->path : "emulated"},
                    {"advice", report.advice}};
  std::printf("%s\n", out.dump(2).c_str());
  return 0;
}

}  // namespace tegula::cli
