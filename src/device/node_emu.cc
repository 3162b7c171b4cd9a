// The emulated node: the same calls, answered by the emulated driver in this process.
#include <mutex>
#include <vector>

#include "device/errors.h"
#include "device/nodes.h"
#include "driver/node.h"

namespace tegula::device {
namespace {

class EmulatedNode : public AccelNode {
 public:
  EmulatedNode(std::shared_ptr<driver::EmulatedDriver> device, std::unique_ptr<driver::DriverClient> client)
      : device_(std::move(device)), client_(std::move(client)), start_(device_->report()) {}

  int ioctl(u32 request, void* argument) override { return client_->ioctl(request, argument); }
  int mmap(void* fixed_at, u64 length, u64 offset, void** mapped) override {
    return client_->mmap(fixed_at, length, offset, mapped);
  }
  int munmap(void* address, u64 length) override { return client_->munmap(address, length); }
  void close() override { client_->close(); }
  void flush(const void* address, u64 length) override { client_->flush(address, length); }
  void invalidate(const void* address, u64 length) override { client_->invalidate(address, length); }
  bool emulated() const override { return true; }
  std::string name() const override { return "emulated NPU"; }
  std::string last_failure() const override { return device_->last_failure(); }

  std::optional<NodeRunReport> run_report() const override {
    const driver::DriverReport now = device_->report();
    NodeRunReport report;
    report.submissions = now.jobs - start_.jobs;
    report.commands = now.commands - start_.commands;
    report.context_switches = now.context_switches - start_.context_switches;
    report.pdi_loads = now.pdi_loads - start_.pdi_loads;
    report.controller_ops = now.counts.controller_ops - start_.counts.controller_ops;
    report.ddr_bytes_read = now.counts.ddr_bytes_read - start_.counts.ddr_bytes_read;
    report.ddr_bytes_written = now.counts.ddr_bytes_written - start_.counts.ddr_bytes_written;
    report.core_cycles = now.counts.core_cycles - start_.counts.core_cycles;
    report.bundles = now.counts.bundles - start_.counts.bundles;
    report.matrix_ops = now.counts.matrix_ops - start_.counts.matrix_ops;
    report.array_cycles = now.counts.array_cycles - start_.counts.array_cycles;
    report.modelled_ns = now.counts.modelled_ns - start_.counts.modelled_ns;
    report.unlisted_accesses = now.unlisted_accesses - start_.unlisted_accesses;
    return report;
  }

 private:
  std::shared_ptr<driver::EmulatedDriver> device_;
  std::unique_ptr<driver::DriverClient> client_;
  driver::DriverReport start_;
};

struct SharedDevice {
  NodeOptions options;
  std::weak_ptr<driver::EmulatedDriver> device;
};

bool same_device(const NodeOptions& a, const NodeOptions& b) {
  return a.stale_cache == b.stale_cache && a.threads == b.threads && a.watch == b.watch &&
         a.driver_major == b.driver_major && a.driver_minor == b.driver_minor;
}

// The device of the process with these options, made at its first use and gone with its last node.
std::shared_ptr<driver::EmulatedDriver> shared_device(const NodeOptions& options) {
  static std::mutex mutex;
  static std::vector<SharedDevice> devices;
  std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(devices, [](const SharedDevice& entry) { return entry.device.expired(); });
  for (const SharedDevice& entry : devices) {
    if (!same_device(entry.options, options)) continue;
    if (auto device = entry.device.lock()) return device;
  }
  driver::DriverOptions made;
  made.major = options.driver_major;
  made.minor = options.driver_major == 0 ? options.driver_minor : 0;
  made.stale_cache = options.stale_cache;
  made.array.threads = options.threads;
  made.array.watch = options.watch;
  auto device = std::make_shared<driver::EmulatedDriver>(made);
  devices.push_back({options, device});
  return device;
}

}  // namespace

Result<std::unique_ptr<AccelNode>> open_emulated_node(std::shared_ptr<driver::EmulatedDriver> device) {
  std::unique_ptr<driver::DriverClient> client;
  const int error = device->open(&client);
  if (error != 0) return call_error("emulated NPU: open", error, open_advice("the emulated node", error));
  return std::unique_ptr<AccelNode>(std::make_unique<EmulatedNode>(std::move(device), std::move(client)));
}

Result<std::unique_ptr<AccelNode>> open_emulated_node(const NodeOptions& options) {
  if (options.driver_major < 0 || options.driver_major > 1 || options.driver_minor < 0 ||
      options.driver_minor > 16) {
    return fail(Code::kInvalidArgument, "emulated driver version " + std::to_string(options.driver_major) +
                                            "." + std::to_string(options.driver_minor) +
                                            ": 0.0 to 0.16 and 1.0 are known");
  }
  return open_emulated_node(shared_device(options));
}

}  // namespace tegula::device
