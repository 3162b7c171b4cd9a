// The device client over the emulated node: data through the array, failures with their messages, recovery.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "device/client.h"
#include "device/loopback.h"
#include "device/nodes.h"
#include "driver/node.h"

namespace tegula::device {
namespace {

using driver::Fault;
using driver::FaultKind;

std::string message(const Error& error) {
  return error.message;
}

#define ASSERT_OK(expression)                                 \
  do {                                                        \
    const auto& ok_result = (expression);                     \
    ASSERT_TRUE(ok_result.ok()) << ok_result.error().message; \
  } while (0)

class ClientTest : public ::testing::Test {
 protected:
  void start(driver::DriverOptions options = {}) {
    device_ = std::make_shared<driver::EmulatedDriver>(options);
    Result<std::unique_ptr<Client>> client = reopen();
    ASSERT_OK(client);
    client_ = std::move(client).value();
  }
  Result<std::unique_ptr<Client>> reopen() {
    TRY_ASSIGN(std::unique_ptr<AccelNode> node, open_emulated_node(device_));
    return Client::open(std::move(node));
  }
  // Context, good stream and two buffers of 4 blocks.
  void ready() {
    auto context = client_->create_context(loopback_pdi());
    ASSERT_OK(context);
    context_ = std::move(context).value();
    auto code = client_->load_stream(loopback_stream(4, 4));
    ASSERT_OK(code);
    code_ = std::move(code).value();
    auto in = client_->alloc(4 * kLoopBytes);
    auto out = client_->alloc(4 * kLoopBytes);
    ASSERT_OK(in);
    ASSERT_OK(out);
    in_ = std::move(in).value();
    out_ = std::move(out).value();
    for (u64 i = 0; i < in_.size; ++i) in_.data[i] = static_cast<u8>(i * 31 + i / 256);
    client_->flush(in_, 0, in_.size);
  }
  Result<void> run(const Code& code) {
    const Buffer* args[] = {&in_, &out_};
    TRY_ASSIGN(const u64 sequence, client_->submit(context_, code, args));
    return client_->wait(context_, sequence);
  }
  // Runs the good stream and checks the data.
  void expect_works() {
    std::memset(out_.data, 0, out_.size);
    client_->flush(out_, 0, out_.size);
    ASSERT_OK(run(code_));
    client_->invalidate(out_, 0, out_.size);
    EXPECT_EQ(std::memcmp(in_.data, out_.data, 4 * kLoopBytes), 0);
  }
  // Runs something that must fail and returns the message.
  std::string failure(const Code& code) {
    const Result<void> result = run(code);
    return result.ok() ? "succeeded" : message(result.error());
  }
  Code load(const Bytes& stream) {
    auto code = client_->load_stream(stream);
    EXPECT_TRUE(code.ok());
    return std::move(code).value();
  }

  std::shared_ptr<driver::EmulatedDriver> device_;
  std::unique_ptr<Client> client_;
  Code code_;
  Buffer in_, out_;
  Context context_;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(ClientTest, IdentifiesTheDevice) {
  start();
  EXPECT_TRUE(client_->info().emulated);
  EXPECT_EQ(client_->info().columns, 8u);
  EXPECT_EQ(client_->info().rows, 6u);
  EXPECT_EQ(client_->info().core_rows, 4u);
  EXPECT_EQ(client_->info().driver_minor, 16u);
  EXPECT_EQ(client_->info().firmware, "1.1.2.64");
}

TEST_F(ClientTest, DataGoesThroughTheArrayInEveryGeneration) {
  for (auto [major, minor] : {std::pair{0, 6}, {0, 16}, {1, 0}}) {
    start({.major = major, .minor = minor});
    ready();
    expect_works();
    expect_works();
    context_ = {};
    code_ = {};
    in_ = {};
    out_ = {};
  }
}

TEST_F(ClientTest, StatsCountCallsAndModelledWork) {
  start();
  ready();
  expect_works();
  const Stats stats = client_->stats();
  EXPECT_EQ(stats.submissions, 1u);
  EXPECT_EQ(stats.ioctls.at("EXEC_CMD"), 1u);
  EXPECT_EQ(stats.ioctls.at("CREATE_HWCTX"), 1u);
  EXPECT_EQ(stats.bytes_allocated, in_.size + out_.size);
  ASSERT_TRUE(stats.run.has_value());
  EXPECT_EQ(stats.run->submissions, 1u);
  EXPECT_EQ(stats.run->ddr_bytes_read, 4 * kLoopBytes);
  EXPECT_EQ(stats.run->ddr_bytes_written, 4 * kLoopBytes);
  EXPECT_EQ(stats.run->controller_ops, 8u);
  EXPECT_EQ(stats.run->unlisted_accesses, 0u);
  EXPECT_GE(stats.run->array_cycles, 4u * kLoopWords);
  EXPECT_GT(stats.run->modelled_ns, 2'559'000u);  // PDI load, submission, run
}

TEST_F(ClientTest, MissingFlushIsSeen) {
  start();
  ready();
  in_.data[100] ^= 0xFF;  // not flushed
  ASSERT_OK(run(code_));
  client_->invalidate(out_, 0, out_.size);
  EXPECT_NE(in_.data[100], out_.data[100]);
  client_->flush(in_, 100, 1);
  expect_works();
}

TEST_F(ClientTest, DirectModeSharesMemory) {
  start({.stale_cache = false});
  ready();
  in_.data[100] ^= 0xFF;
  ASSERT_OK(run(code_));
  EXPECT_EQ(std::memcmp(in_.data, out_.data, 4 * kLoopBytes), 0);
}

TEST_F(ClientTest, CodeMayBePatchedInPlace) {
  start();
  ready();
  Code code = load(loopback_stream(1, 1, 0));
  const Bytes moved = loopback_stream(1, 1, kLoopBytes);
  std::memcpy(code.data, moved.data(), moved.size());
  client_->flush(code, 0, code.size);
  ASSERT_OK(run(code));
  client_->invalidate(out_, 0, kLoopBytes);
  EXPECT_EQ(std::memcmp(in_.data + kLoopBytes, out_.data, kLoopBytes), 0);
}

TEST_F(ClientTest, ManySubmissionsBeforeOneWait) {
  start();
  ready();
  const Buffer* args[] = {&in_, &out_};
  u64 last = 0;
  for (u64 i = 0; i < 30; ++i) {
    auto sequence = client_->submit(context_, code_, args);
    ASSERT_OK(sequence);
    EXPECT_EQ(*sequence, i);
    last = *sequence;
  }
  ASSERT_OK(client_->wait(context_, last));
  EXPECT_EQ(client_->stats().run->commands, 30u);
}

TEST_F(ClientTest, ChainIsOneSubmission) {
  start();
  ready();
  auto middle = client_->alloc(4 * kLoopBytes);
  ASSERT_OK(middle);
  std::vector<Command> commands = {{&code_, {&in_, &*middle}}, {&code_, {&*middle, &out_}}};
  while (commands.size() < kMaxChain) commands.push_back({&code_, {&in_, &*middle}});
  auto sequence = client_->submit_chain(context_, commands);
  ASSERT_OK(sequence);
  ASSERT_OK(client_->wait(context_, *sequence));
  client_->invalidate(out_, 0, out_.size);
  EXPECT_EQ(std::memcmp(in_.data, out_.data, 4 * kLoopBytes), 0);
  EXPECT_EQ(client_->stats().ioctls.at("EXEC_CMD"), 1u);
  EXPECT_EQ(client_->stats().commands, kMaxChain);
  commands.push_back(commands.back());
  EXPECT_FALSE(client_->submit_chain(context_, commands).ok());
  EXPECT_FALSE(client_->submit_chain(context_, {}).ok());
}

TEST_F(ClientTest, FailingChainNamesTheMember) {
  start();
  ready();
  Code hang = load(loopback_stream(4, 3));
  const std::vector<Command> commands = {
      {&code_, {&in_, &out_}}, {&code_, {&in_, &out_}}, {&hang, {&in_, &out_}}};
  auto sequence = client_->submit_chain(context_, commands);
  ASSERT_OK(sequence);
  const Result<void> result = client_->wait(context_, *sequence);
  ASSERT_FALSE(result.ok());
  EXPECT_HAS(result.error().message, "member 2 of the chain");
  EXPECT_HAS(result.error().message, "TIMEOUT");
  expect_works();
}

TEST_F(ClientTest, TooManyBuffersAreRefused) {
  start();
  ready();
  const Buffer* args[] = {&in_, &out_, &in_, &out_, &in_, &out_};
  const Result<u64> result = client_->submit(context_, code_, args);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, tegula::Code::kInvalidArgument);
  EXPECT_HAS(result.error().message, "at most 5");
  EXPECT_FALSE(client_->load_stream(Bytes(20)).ok());
  EXPECT_FALSE(client_->alloc(0).ok());
  EXPECT_FALSE(client_->create_context({}).ok());
}

TEST_F(ClientTest, HangIsExplainedAndHeals) {
  start();
  ready();
  expect_works();
  const std::string text = failure(load(loopback_stream(4, 3)));
  EXPECT_HAS(text, "command 1 hung (TIMEOUT)");
  EXPECT_HAS(text, "control-code operation 7");  // the token wait
  EXPECT_HAS(text, "emulator: ");
  expect_works();
}

TEST_F(ClientTest, OverrunIsAnIommuFault) {
  start();
  ready();
  const std::string text = failure(load(loopback_stream(4, 4, 4 * kLoopBytes + (u64{1} << 30))));
  EXPECT_HAS(text, "TIMEOUT");
  EXPECT_HAS(text, "control-code operation unknown");
  EXPECT_HAS(text, "array error: shim module, DMA error at column 0, row 0");
  EXPECT_HAS(text, "IOMMU fault");
  expect_works();
}

TEST_F(ClientTest, BadStreamIsAnError) {
  start();
  ready();
  Bytes stream = loopback_stream(4, 4);
  stream[format::kTxnHeaderBytes] = 0x7E;  // no such operation
  EXPECT_HAS(failure(load(stream)), "failed (ERROR)");
  expect_works();
}

TEST_F(ClientTest, BadPdiFailsTheFirstCommand) {
  start();
  ready();
  Bytes pdi = loopback_pdi();
  pdi[0x160] ^= 1;
  auto context = client_->create_context(pdi);
  ASSERT_OK(context);
  std::swap(context_, *context);
  EXPECT_HAS(failure(code_), "load PDI failed");
  std::swap(context_, *context);
  expect_works();
}

TEST_F(ClientTest, InjectedStatesHaveTheirMessages) {
  start();
  ready();
  device_->inject({.kind = FaultKind::kCommandAbort});
  EXPECT_HAS(failure(code_), "aborted (ABORT): another command hung, or NPU firmware 1.1.2.64");
  device_->inject({.kind = FaultKind::kCommandTimeout});
  EXPECT_HAS(failure(code_), "hung (TIMEOUT)");
  device_->inject(
      {.kind = FaultKind::kAsyncError, .async_code = u64{10} | u64{4} << 32, .async_place = 0x302});
  device_->inject({.kind = FaultKind::kCommandError});
  EXPECT_HAS(failure(code_), "array error: memory module, lock error at column 2, row 3");
  device_->inject({.kind = FaultKind::kSuspend});
  expect_works();
}

TEST_F(ClientTest, FailureOfAnUnwaitedCommandIsNotLost) {
  start();
  ready();
  expect_works();
  device_->inject({.kind = FaultKind::kCommandError});
  const Buffer* args[] = {&in_, &out_};
  ASSERT_OK(client_->submit(context_, code_, args));
  u64 last = 0;
  for (int i = 0; i < 20; ++i) last = *client_->submit(context_, code_, args);
  const Result<void> result = client_->wait(context_, last);
  ASSERT_FALSE(result.ok());
  EXPECT_HAS(result.error().message, "command 1 failed (ERROR)");
  expect_works();
}

TEST_F(ClientTest, OpenRefusalsSayWhatToDo) {
  start();
  device_->inject({.kind = FaultKind::kOpen, .error = EINVAL});
  auto refused = reopen();
  ASSERT_FALSE(refused.ok());
  EXPECT_HAS(refused.error().message, "EINVAL");
  EXPECT_HAS(refused.error().message, "enable the IOMMU");
  device_->inject({.kind = FaultKind::kOpen, .error = EACCES});
  refused = reopen();
  ASSERT_FALSE(refused.ok());
  EXPECT_HAS(refused.error().message, "group render");
  device_->inject({.kind = FaultKind::kHeapMmap, .error = EAGAIN});
  refused = reopen();
  ASSERT_FALSE(refused.ok());
  EXPECT_HAS(refused.error().message, "memlock unlimited");
  EXPECT_TRUE(reopen().ok());
}

TEST_F(ClientTest, ContextRefusalsSayWhatToDo) {
  start();
  device_->inject({.kind = FaultKind::kContextLimit});
  auto context = client_->create_context(loopback_pdi());
  ASSERT_FALSE(context.ok());
  EXPECT_HAS(context.error().message, "16 contexts");
  device_->inject({.kind = FaultKind::kFirmwareSilent});
  context = client_->create_context(loopback_pdi());
  ASSERT_FALSE(context.ok());
  EXPECT_HAS(context.error().message, "does not answer");
  const auto buffer = client_->alloc(4096);
  ASSERT_FALSE(buffer.ok());
  EXPECT_HAS(buffer.error().message, "reload the amdxdna driver");
  device_->clear_faults();
  EXPECT_TRUE(client_->create_context(loopback_pdi()).ok());
}

TEST_F(ClientTest, ContextsComeAndGo) {
  start();
  for (int i = 0; i < 40; ++i) ASSERT_OK(client_->create_context(loopback_pdi()));
  std::vector<Context> alive;
  for (int i = 0; i < 16; ++i) {
    auto context = client_->create_context(loopback_pdi());
    ASSERT_OK(context);
    alive.push_back(std::move(context).value());
  }
  EXPECT_FALSE(client_->create_context(loopback_pdi()).ok());
  alive.pop_back();
  EXPECT_TRUE(client_->create_context(loopback_pdi()).ok());
}

TEST_F(ClientTest, HeapGrowsForMuchCode) {
  start();
  ready();
  Bytes big = loopback_stream(4, 4);
  std::vector<Code> codes;
  // 24 MiB each: four of them need a second chunk.
  big.resize(24 << 20);
  store_le<u32>(big.data() + 12, static_cast<u32>(big.size()));
  for (int i = 0; i < 4; ++i) {
    auto code = client_->load_stream(big);
    ASSERT_OK(code);
    codes.push_back(std::move(code).value());
  }
  expect_works();
}

TEST_F(ClientTest, BuffersOutliveTheClientObject) {
  start();
  auto buffer = client_->alloc(10'000);
  ASSERT_OK(buffer);
  EXPECT_EQ(buffer->size, 12'288u);
  EXPECT_EQ(reinterpret_cast<u64>(buffer->data) % 4096, 0u);
  EXPECT_EQ(buffer->device_address, reinterpret_cast<u64>(buffer->data));
  client_ = nullptr;
  std::memset(buffer->data, 1, buffer->size);
}

TEST(OpenNode, EmulatedDeviceIsSharedByEqualOptions) {
  NodeOptions options;
  auto first = open_node(NodeChoice::kEmulated, options);
  auto second = open_node(NodeChoice::kEmulated, options);
  ASSERT_OK(first);
  ASSERT_OK(second);
  auto a = Client::open(std::move(first).value());
  auto b = Client::open(std::move(second).value());
  ASSERT_OK(a);
  ASSERT_OK(b);
  std::vector<Context> contexts;
  for (int i = 0; i < 16; ++i) {
    auto context = (*a)->create_context(loopback_pdi());
    ASSERT_OK(context);
    contexts.push_back(std::move(context).value());
  }
  EXPECT_FALSE((*b)->create_context(loopback_pdi()).ok());
  options.stale_cache = false;  // another device
  auto third = open_node(NodeChoice::kEmulated, options);
  ASSERT_OK(third);
  auto c = Client::open(std::move(third).value());
  ASSERT_OK(c);
  EXPECT_TRUE((*c)->create_context(loopback_pdi()).ok());
}

TEST(OpenNode, UnknownVersionAndMissingNodeAreNamed) {
  NodeOptions options;
  options.driver_minor = 17;
  auto node = open_node(NodeChoice::kEmulated, options);
  ASSERT_FALSE(node.ok());
  EXPECT_EQ(node.error().code, tegula::Code::kInvalidArgument);
  options = {};
  options.path = "/nonexistent/accel0";
  node = open_node(NodeChoice::kNpu, options);
  ASSERT_FALSE(node.ok());
  EXPECT_HAS(node.error().message, "no NPU device node");
}

}  // namespace
}  // namespace tegula::device
