// Submission and waiting: EXEC_CMD, WAIT_CMD and the syncobj calls.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <set>

#include "driver/state.h"

namespace tegula::driver {

using namespace uapi;

namespace {

bool is_command_bo(const std::shared_ptr<Bo>& bo) {
  return bo != nullptr && (bo->type == kBoShare || bo->type == kBoCmd);
}

int collect_args(const ClientState& client, const ExecCmd& args, std::vector<std::shared_ptr<Bo>>* out) {
  if (args.arg_count == 0) return 0;
  if (args.args == 0) return -EFAULT;
  std::set<u32> seen;
  for (u32 i = 0; i < args.arg_count; ++i) {
    u32 handle = 0;
    std::memcpy(&handle, reinterpret_cast<const u8*>(args.args) + 4 * u64{i}, 4);
    std::shared_ptr<Bo> bo = find_in(client.bos, handle);
    if (bo == nullptr) return -ENOENT;
    if (!seen.insert(handle).second) return -EALREADY;
    out->push_back(std::move(bo));
  }
  return 0;
}

int check_exec(const Device& device, const ExecCmd& args) {
  if (args.ext != 0 || args.ext_flags != 0 || args.type != 0 || args.cmd_count != 1) return -EINVAL;
  if (args.arg_count > kMaxExecArgs) return -EINVAL;
  // The first in-tree releases reject an empty list; which was the last is not known, so all old ones do
  // here.
  if (args.arg_count == 0 && device.generation() == Generation::kOldInTree) return -EINVAL;
  return 0;
}

}  // namespace

int exec_cmd(Device& device, ClientState& client, Lock& lock, ExecCmd& args) {
  int error = check_exec(device, args);
  if (error != 0) return error;
  Job job;
  job.command =
      args.cmd_handles > 0xFFFFFFFF ? nullptr : find_in(client.bos, static_cast<u32>(args.cmd_handles));
  if (!is_command_bo(job.command)) return -EINVAL;
  error = collect_args(client, args, &job.args);
  if (error != 0) return error;
  std::shared_ptr<HwContext> context = find_in(client.contexts, args.hwctx);
  if (context == nullptr) return -EINVAL;
  // The fifth job of a context sleeps until one of the four in flight is done.
  ++context->waiting;
  device.done.wait(lock, [&] { return context->queue.size() < kJobsInFlight || context->client == nullptr; });
  --context->waiting;
  if (context->client == nullptr) return -EINVAL;
  job.sequence = context->timeline->submitted++;
  ++job.command->jobs;
  for (const auto& bo : job.args) ++bo->jobs;
  args.seq = job.sequence;
  ++context->submissions;
  context->queue.push_back(std::move(job));
  device.start_worker();
  device.work.notify_all();
  device.done.notify_all();  // waiters for submission
  return 0;
}

int wait_cmd(Device& device, ClientState& client, Lock& lock, WaitCmd& args) {
  if (device.generation() == Generation::kOldInTree) return -EINVAL;
  if (device.generation() == Generation::kNew) return -EOPNOTSUPP;
  std::shared_ptr<HwContext> context = find_in(client.contexts, args.hwctx);
  if (context == nullptr || args.seq >= context->timeline->submitted) return -EINVAL;
  auto finished = [&] { return context->timeline->signalled > args.seq; };
  if (args.timeout == 0) {
    device.done.wait(lock, finished);
    return 0;
  }
  return device.done.wait_for(lock, std::chrono::milliseconds(args.timeout), finished) ? 0 : -ETIME;
}

namespace {

struct WaitPoint {
  std::shared_ptr<Timeline> timeline;
  u64 needed = 0;  // points that must be there, counted from 1

  bool submitted() const { return timeline->submitted >= needed; }
  bool signalled() const { return timeline->signalled >= needed; }
};

int collect_points(const ClientState& client, const DrmSyncobjTimelineWait& args,
                   std::vector<WaitPoint>* points) {
  constexpr u32 kMostHandles = 4096;
  if (args.count_handles == 0 || args.count_handles > kMostHandles || args.flags > 7) return -EINVAL;
  if (args.handles == 0 || args.points == 0) return -EFAULT;
  for (u32 i = 0; i < args.count_handles; ++i) {
    u32 handle = 0;
    u64 point = 0;
    WaitPoint wait;
    std::memcpy(&handle, reinterpret_cast<const u8*>(args.handles) + 4 * u64{i}, 4);
    std::memcpy(&point, reinterpret_cast<const u8*>(args.points) + 8 * u64{i}, 8);
    wait.timeline = find_in(client.syncobjs, handle);
    if (wait.timeline == nullptr) return -ENOENT;
    // Point 0 is "no point" to the kernel's chain search: it stands for the newest node when the wait begins.
    wait.needed = point == 0 ? std::max<u64>(wait.timeline->submitted, 1) : point + 1;
    if ((args.flags & (kWaitForSubmit | kWaitAvailable)) == 0 && !wait.submitted()) return -EINVAL;
    points->push_back(std::move(wait));
  }
  return 0;
}

// Absolute CLOCK_MONOTONIC time, kept in the range of the clock type.
std::chrono::steady_clock::time_point deadline_of(i64 nanoseconds) {
  constexpr i64 kMost = i64{1} << 61;
  return std::chrono::steady_clock::time_point(std::chrono::nanoseconds(std::min(nanoseconds, kMost)));
}

}  // namespace

int timeline_wait(Device& device, ClientState& client, Lock& lock, DrmSyncobjTimelineWait& args) {
  std::vector<WaitPoint> points;
  const int error = collect_points(client, args, &points);
  if (error != 0) return error;
  auto reached = [&](const WaitPoint& point) {
    return (args.flags & kWaitAvailable) != 0 ? point.submitted() : point.signalled();
  };
  auto ready = [&] {
    if ((args.flags & kWaitAll) != 0) return std::all_of(points.begin(), points.end(), reached);
    return std::any_of(points.begin(), points.end(), reached);
  };
  if (!device.done.wait_until(lock, deadline_of(args.timeout_nsec), ready)) return -ETIME;
  auto first = std::find_if(points.begin(), points.end(), reached);
  args.first_signaled = first == points.end() ? ~u32{0} : static_cast<u32>(first - points.begin());
  return 0;
}

int syncobj_query(ClientState& client, DrmSyncobjTimelineArray& args) {
  if (args.count_handles == 0) return -EINVAL;
  if (args.handles == 0 || args.points == 0) return -EFAULT;
  for (u32 i = 0; i < args.count_handles; ++i) {
    u32 handle = 0;
    std::memcpy(&handle, reinterpret_cast<const u8*>(args.handles) + 4 * u64{i}, 4);
    std::shared_ptr<Timeline> timeline = find_in(client.syncobjs, handle);
    if (timeline == nullptr) return -ENOENT;
    const u64 point = timeline->signalled == 0 ? 0 : timeline->signalled - 1;
    std::memcpy(reinterpret_cast<u8*>(args.points) + 8 * u64{i}, &point, 8);
  }
  return 0;
}

int syncobj_create(ClientState& client, DrmSyncobjCreate& args) {
  if (args.flags > 1) return -EINVAL;
  auto timeline = std::make_shared<Timeline>();
  if (args.flags == 1) timeline->submitted = timeline->signalled = 1;  // created signalled
  args.handle = lowest_free(client.syncobjs);
  client.syncobjs[args.handle] = std::move(timeline);
  return 0;
}

int syncobj_destroy(ClientState& client, DrmSyncobjDestroy& args) {
  if (args.pad != 0) return -EINVAL;
  return client.syncobjs.erase(args.handle) != 0 ? 0 : -EINVAL;
}

}  // namespace tegula::driver
