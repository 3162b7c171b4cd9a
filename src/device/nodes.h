// Openers of the two kinds of node, for open_node, the doctor and tests.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "device/node.h"

namespace tegula::driver {
class EmulatedDriver;
}

namespace tegula::device {

// 0 or -errno; does not ask who answers there.
int open_linux_node(const std::string& path, std::unique_ptr<AccelNode>* node);
Result<std::unique_ptr<AccelNode>> open_emulated_node(const NodeOptions& options);
// A node on a device that the caller made, with faults injected for instance.
Result<std::unique_ptr<AccelNode>> open_emulated_node(std::shared_ptr<driver::EmulatedDriver> device);

}  // namespace tegula::device
