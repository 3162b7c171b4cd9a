// Choice of the accel node.
#include "device/node.h"

#include "device/doctor.h"
#include "device/errors.h"
#include "device/nodes.h"

namespace tegula::device {
namespace {

Result<std::unique_ptr<AccelNode>> open_npu(const NodeOptions& options) {
  std::string path = options.path;
  if (path.empty()) {
    const DoctorReport report = diagnose();
    const DoctorNode* usable = report.usable_node();
    if (usable == nullptr) {
      std::string text = "no usable NPU";
      for (const std::string& line : report.advice) text += "; " + line;
      return fail(Code::kNotFound, std::move(text));
    }
    path = usable->path;
  }
  std::unique_ptr<AccelNode> node;
  const int error = open_linux_node(path, &node);
  if (error != 0) return call_error(path + ": open", error, open_advice(path, error));
  return node;
}

}  // namespace

Result<std::unique_ptr<AccelNode>> open_node(NodeChoice choice, const NodeOptions& options) {
  if (choice == NodeChoice::kEmulated) return open_emulated_node(options);
  if (choice == NodeChoice::kNpu || !options.path.empty()) return open_npu(options);
  if (diagnose().usable_node() != nullptr) return open_npu(options);
  return open_emulated_node(options);
}

}  // namespace tegula::device
