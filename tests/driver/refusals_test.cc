// Each refusal of the ioctls with its errno, for the driver generations where they differ.
#include "fixture.h"

namespace tegula::driver {
namespace {

using namespace uapi;

TEST_F(Driver, VersionNamesTheDriverAndItsGeneration) {
  start();
  char name[64] = {};
  DrmVersion args{};
  args.name = reinterpret_cast<u64>(name);
  args.name_len = sizeof(name);
  ASSERT_EQ(call(kReqVersion, args), 0);
  EXPECT_STREQ(name, "amdxdna_accel_driver");
  EXPECT_EQ(args.major, 0);
  EXPECT_EQ(args.minor, 16);
  EXPECT_EQ(args.name_len, 20u);
}

TEST_F(Driver, RequestsAreDispatchedByNumberAndCopiedByCallersSize) {
  start();
  u64 big[8] = {};  // a 64-byte CREATE_BO of some private header
  CreateBo args{0, 0, 4096, kBoShare, 0};
  std::memcpy(big, &args, sizeof(args));
  EXPECT_EQ(client_->ioctl(request(kCreateBo, 64), big), 0);
  EXPECT_EQ(client_->ioctl(0xC0107F47, big), -ENOTTY);
  EXPECT_EQ(client_->ioctl(request(0x4B, 16), big), -EINVAL);
  EXPECT_EQ(client_->ioctl(kReqCreateBo, nullptr), -EFAULT);
  client_->close();
  EXPECT_EQ(client_->ioctl(kReqCreateBo, big), -EBADF);
}

TEST_F(Driver, CreateBoRefusals) {
  start();
  CreateBo flags{1, 0, 4096, kBoShare, 0};
  EXPECT_EQ(call(kReqCreateBo, flags), -EINVAL);
  CreateBo user{0, 1, 4096, kBoShare, 0};
  EXPECT_EQ(call(kReqCreateBo, user), -EOPNOTSUPP);
  EXPECT_EQ(create(kBoInvalid, 4096), -EINVAL);
  EXPECT_EQ(create(5, 4096), -EINVAL);
  EXPECT_EQ(create(kBoShare, 0), -EINVAL);
  EXPECT_EQ(create(kBoDevHeap, 0), -EINVAL);
  EXPECT_EQ(create(kBoDevHeap, kHeapGranule + 4096), -EINVAL);
  EXPECT_EQ(create(kBoDevHeap, kHeapLimit + kHeapGranule), -ENOSPC);
  EXPECT_EQ(create(kBoDev, 4096), -EAGAIN);  // no heap
  EXPECT_EQ(create(kBoDevHeap, kHeapGranule), 0);
  EXPECT_EQ(create(kBoDev, 4096), -EAGAIN);  // not mapped
}

TEST_F(Driver, DevBoLimits) {
  start();
  heap();
  EXPECT_EQ(create(kBoDev, 0), -EINVAL);
  EXPECT_EQ(create(kBoDev, kHeapLimit + 1), -EINVAL);
  EXPECT_EQ(create(kBoDev, kHeapGranule + 4096), -EAGAIN);  // needs another chunk
  EXPECT_EQ(create(kBoDev, kHeapGranule), 0);
  EXPECT_EQ(create(kBoDev, 4096), -EAGAIN);
  EXPECT_EQ(create(kBoDevHeap, kHeapLimit), -ENOSPC);  // the sum counts
}

TEST_F(Driver, HeapWindowFullIsEnospc) {
  start();
  heap(nullptr, kHeapLimit);
  EXPECT_EQ(create(kBoDev, kHeapLimit), 0);
  EXPECT_EQ(create(kBoDev, 4096), -ENOSPC);
}

TEST_F(Driver, HeapChunksMustFollowEachOtherInVirtualMemory) {
  start();
  u8* window = aligned_window(4 * kHeapGranule);
  heap(window);
  heap(window + 2 * kHeapGranule);  // a hole between them
  EXPECT_EQ(create(kBoDev, kHeapGranule + 4096), -EINVAL);
  EXPECT_EQ(create(kBoDev, 4096), 0);
}

TEST_F(Driver, ContiguousChunksMakeOneHeap) {
  start();
  u8* window = aligned_window(2 * kHeapGranule);
  heap(window);
  heap(window + kHeapGranule);
  TestBo big = bo(kBoDev, kHeapGranule + 4096);
  EXPECT_EQ(big.address, kHeapBase);
  EXPECT_EQ(big.data, window);
}

TEST_F(Driver, DevBosAreAlignedAndReuseTheBestGap) {
  start();
  heap();
  TestBo a = bo(kBoDev, 4096);
  TestBo b = bo(kBoDev, 100 * 1024);
  TestBo c = bo(kBoDev, 4096);
  EXPECT_EQ(a.address, kHeapBase);
  EXPECT_EQ(b.address, kHeapBase + 0x8000);
  EXPECT_EQ(c.address, kHeapBase + 0x8000 + 0x20000);
  DrmGemClose close_a{a.handle, 0};
  DrmGemClose close_b{b.handle, 0};
  ASSERT_EQ(call(kReqGemClose, close_b), 0);
  EXPECT_EQ(bo(kBoDev, 8192).address, b.address);  // a gap inside is better than the long tail
  ASSERT_EQ(call(kReqGemClose, close_a), 0);
  EXPECT_EQ(call(kReqGemClose, close_a), -EINVAL);
  EXPECT_EQ(bo(kBoDev, 4096).address, a.address);
}

TEST_F(Driver, BoInfoIsAllOnesUntilKnown) {
  start();
  u32 share = 0;
  ASSERT_EQ(create(kBoShare, 4096, &share), 0);
  GetBoInfo before = info(share);
  EXPECT_EQ(before.vaddr, kAllOnes);
  EXPECT_EQ(before.xdna_addr, kAllOnes);
  void* at = nullptr;
  ASSERT_EQ(client_->mmap(nullptr, 4096, before.map_offset, &at), 0);
  EXPECT_EQ(info(share).xdna_addr, reinterpret_cast<u64>(at));
  heap();
  TestBo dev = bo(kBoDev, 4096);
  EXPECT_EQ(info(dev.handle).map_offset, kAllOnes);
  GetBoInfo bad{};
  bad.handle = 99;
  EXPECT_EQ(call(kReqGetBoInfo, bad), -ENOENT);
  bad = {};
  bad.handle = share;
  bad.pad = 1;
  EXPECT_EQ(call(kReqGetBoInfo, bad), -EINVAL);
  bad.pad = 0;
  bad.ext = 1;
  EXPECT_EQ(call(kReqGetBoInfo, bad), -EINVAL);
}

TEST_F(Driver, MapRefusals) {
  start();
  void* at = nullptr;
  EXPECT_EQ(client_->mmap(nullptr, 4096, kAllOnes, &at), -EINVAL);
  EXPECT_EQ(client_->mmap(nullptr, 4096, 0x1000, &at), -EINVAL);
  u32 share = 0;
  ASSERT_EQ(create(kBoShare, 4096, &share), 0);
  EXPECT_EQ(client_->mmap(nullptr, 8192, info(share).map_offset, &at), -EINVAL);
  EXPECT_EQ(client_->munmap(&share, 4096), -EINVAL);
}

TEST_F(Driver, SyncBoRefusals) {
  start();
  TestBo share = bo(kBoShare, 4096);
  SyncBo args{99, 0, 0, 64};
  EXPECT_EQ(call(kReqSyncBo, args), -ENOENT);
  args = {share.handle, 0, 4096, 64};
  EXPECT_EQ(call(kReqSyncBo, args), -EINVAL);
  args = {share.handle, 0, 0, 1 << 20};  // clamped
  EXPECT_EQ(call(kReqSyncBo, args), 0);
  args = {share.handle, 1, 0, 64};
  EXPECT_EQ(call(kReqSyncBo, args), -EINVAL);
}

TEST_F(Driver, DebugBufferRules) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo dev = bo(kBoDev, 4096);
  TestBo share = bo(kBoShare, 4096);
  ConfigHwctx args{ctx.handle, kAssignDebugBo, share.handle, 0, 0};
  EXPECT_EQ(call(kReqConfigHwctx, args), -EINVAL);
  args.param_val = dev.handle;
  EXPECT_EQ(call(kReqConfigHwctx, args), 0);
  EXPECT_EQ(call(kReqConfigHwctx, args), -EBUSY);
  SyncBo sync{dev.handle, 1, 0, 64};
  EXPECT_EQ(call(kReqSyncBo, sync), 0);
  args.param_type = kRemoveDebugBo;
  EXPECT_EQ(call(kReqConfigHwctx, args), 0);
  EXPECT_EQ(call(kReqConfigHwctx, args), -EINVAL);
}

TEST_F(Driver, CreateContextRefusals) {
  start();
  CreateHwctx ctx;
  EXPECT_EQ(context(&ctx), -ENOENT);  // no heap
  u32 heap_handle = 0;
  ASSERT_EQ(create(kBoDevHeap, kHeapGranule, &heap_handle), 0);
  EXPECT_EQ(context(&ctx), -EAGAIN);  // not mapped
  void* at = nullptr;
  ASSERT_EQ(client_->mmap(aligned_window(kHeapGranule), kHeapGranule, info(heap_handle).map_offset, &at), 0);
  EXPECT_EQ(context(&ctx, 0), -EINVAL);
  EXPECT_EQ(context(&ctx, 3), -EINVAL);
  EXPECT_EQ(context(&ctx, 36), -EINVAL);
  QosInfo greedy{};
  greedy.gops = 40'000;
  greedy.fps = 10;
  EXPECT_EQ(context(&ctx, 32, greedy), -EINVAL);
  ctx = {};
  ctx.num_tiles = 32;
  EXPECT_EQ(call(kReqCreateHwctx, ctx), -EFAULT);
  ctx.ext = 1;
  EXPECT_EQ(call(kReqCreateHwctx, ctx), -EINVAL);
  EXPECT_EQ(context(&ctx), 0);
  EXPECT_EQ(ctx.umq_doorbell, ~u32{0});
  EXPECT_GE(ctx.handle, 1u);
  TestBo dev = bo(kBoDev, 4096);
  EXPECT_EQ(dev.address, kHeapBase + 4 * kDevAlignment);  // behind the context's chain buffers
}

TEST_F(Driver, ContextNeedsAlignedHeap) {
  start();
  heap(aligned_window(2 * kHeapGranule) + 4096);
  CreateHwctx ctx;
  EXPECT_EQ(context(&ctx), -EINVAL);
}

TEST_F(Driver, ContextOnExhaustedHeapIsEagain) {
  start();
  heap();
  ASSERT_EQ(create(kBoDev, kHeapGranule), 0);
  CreateHwctx ctx;
  EXPECT_EQ(context(&ctx), -EAGAIN);
}

TEST_F(Driver, SeventeenthContextIsRefusedAcrossClients) {
  start();
  heap();
  std::vector<u32> handles;
  CreateHwctx ctx;
  for (int i = 0; i < 15; ++i) {
    ASSERT_EQ(context(&ctx), 0);
    handles.push_back(ctx.handle);
  }
  std::unique_ptr<DriverClient> second;
  ASSERT_EQ(device_->open(&second), 0);
  std::swap(client_, second);
  heap();
  ASSERT_EQ(context(&ctx), 0);
  EXPECT_EQ(context(&ctx), -EINVAL);
  DestroyHwctx foreign{handles[0], 0};
  EXPECT_EQ(call(kReqDestroyHwctx, foreign), -EINVAL);  // of the other client
  std::swap(client_, second);
  DestroyHwctx own{handles[0], 0};
  EXPECT_EQ(call(kReqDestroyHwctx, own), 0);
  EXPECT_EQ(call(kReqDestroyHwctx, own), -EINVAL);
  own.pad = 1;
  EXPECT_EQ(call(kReqDestroyHwctx, own), -EINVAL);
  EXPECT_EQ(context(&ctx), 0);
  EXPECT_EQ(ctx.handle, 17u);  // handles go on, they are not reused at once
}

TEST_F(Driver, ConfigRefusals) {
  start();
  heap();
  CreateHwctx ctx;
  ASSERT_EQ(context(&ctx), 0);
  TestBo image = pdi();
  TestBo share = bo(kBoShare, 4096);
  EXPECT_EQ(config_cu(99, {image.handle}), -EINVAL);
  EXPECT_EQ(config_cu(ctx.handle, {}), -EINVAL);
  EXPECT_EQ(config_cu(ctx.handle, std::vector<u32>(33, image.handle)), -EINVAL);
  EXPECT_EQ(config_cu(ctx.handle, {share.handle}), -EINVAL);
  EXPECT_EQ(config_cu(ctx.handle, {77}), -EINVAL);
  u64 blob[2] = {1, image.handle};
  ConfigHwctx args{ctx.handle, kConfigCu, reinterpret_cast<u64>(blob), 8, 0};
  EXPECT_EQ(call(kReqConfigHwctx, args), -EINVAL);  // size does not cover the array
  args.param_val_size = 4097;
  EXPECT_EQ(call(kReqConfigHwctx, args), -E2BIG);
  args = {ctx.handle, 3, 0, 0, 0};
  EXPECT_EQ(call(kReqConfigHwctx, args), -EINVAL);
  args = {ctx.handle, kConfigCu, reinterpret_cast<u64>(blob), 16, 1};
  EXPECT_EQ(call(kReqConfigHwctx, args), -EINVAL);
  EXPECT_EQ(config_cu(ctx.handle, {image.handle}), 0);
  EXPECT_EQ(config_cu(ctx.handle, {image.handle}), -EINVAL);  // once only
}

TEST_F(Driver, ExecRefusals) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeNothing);
  EXPECT_EQ(exec(99, command.handle, {code.handle}), -EINVAL);
  EXPECT_EQ(exec(ctx.handle, 99, {code.handle}), -EINVAL);
  EXPECT_EQ(exec(ctx.handle, code.handle, {code.handle}), -EINVAL);  // DEV is no command
  EXPECT_EQ(exec(ctx.handle, command.handle, {98}), -ENOENT);
  EXPECT_EQ(exec(ctx.handle, command.handle, {code.handle, code.handle}), -EALREADY);
  ExecCmd args{};
  args.hwctx = ctx.handle;
  args.cmd_handles = command.handle;
  args.cmd_count = 2;
  EXPECT_EQ(call(kReqExecCmd, args), -EINVAL);
  args.cmd_count = 1;
  args.arg_count = 1;
  EXPECT_EQ(call(kReqExecCmd, args), -EFAULT);
  args.arg_count = 4096;
  EXPECT_EQ(call(kReqExecCmd, args), -EINVAL);
  args.arg_count = 0;
  args.ext_flags = 1;
  EXPECT_EQ(call(kReqExecCmd, args), -EINVAL);
  args.ext_flags = 0;
  args.type = 1;
  EXPECT_EQ(call(kReqExecCmd, args), -EINVAL);
}

TEST_F(Driver, SyncobjRefusals) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  EXPECT_EQ(wait(99, 1), -ENOENT);
  EXPECT_EQ(wait(ctx.syncobj_handle, 5, 0, kWaitAll), -EINVAL);  // not submitted
  EXPECT_EQ(wait(ctx.syncobj_handle, 5, 0), -ETIME);
  EXPECT_EQ(wait(ctx.syncobj_handle, 5, 0, 8), -EINVAL);
  DrmSyncobjDestroy destroy{ctx.syncobj_handle, 0};
  EXPECT_EQ(call(kReqSyncobjDestroy, destroy), 0);
  EXPECT_EQ(call(kReqSyncobjDestroy, destroy), -EINVAL);
  EXPECT_EQ(wait(ctx.syncobj_handle, 5, 0), -ENOENT);
}

TEST_F(Driver, SetStateNeedsRoot) {
  start();
  PowerMode mode{3, {}};
  SetState args{0, 8, reinterpret_cast<u64>(&mode)};
  EXPECT_EQ(call(kReqSetState, args), -EACCES);
}

TEST_F(Driver, SetStateAsRoot) {
  start({.root = true});
  PowerMode mode{3, {}};
  SetState args{0, 8, reinterpret_cast<u64>(&mode)};
  EXPECT_EQ(call(kReqSetState, args), 0);
  PowerMode read{};
  GetInfo query{kInfoPowerMode, 8, reinterpret_cast<u64>(&read)};
  ASSERT_EQ(call(kReqGetInfo, query), 0);
  EXPECT_EQ(read.power_mode, 3);
  mode.power_mode = 5;
  EXPECT_EQ(call(kReqSetState, args), -EINVAL);
  mode = {1, {1}};
  EXPECT_EQ(call(kReqSetState, args), -EINVAL);
  args.param = 5;
  EXPECT_EQ(call(kReqSetState, args), -EOPNOTSUPP);
}

TEST_F(Driver, Queries) {
  start();
  AieMetadata data{};
  GetInfo args{kInfoAieMetadata, sizeof(data), reinterpret_cast<u64>(&data)};
  ASSERT_EQ(call(kReqGetInfo, args), 0);
  EXPECT_EQ(data.cols, 8);
  EXPECT_EQ(data.rows, 6);
  EXPECT_EQ(data.core.row_start, 2);
  EXPECT_EQ(data.mem.dma_channel_count, 6);
  args.param = kInfoAieStatus;
  EXPECT_EQ(call(kReqGetInfo, args), -EOPNOTSUPP);
  args = {kInfoAieMetadata, 16, 0};
  EXPECT_EQ(call(kReqGetInfo, args), -EFAULT);

  AsyncError error{};
  GetArray array{kArrayLastAsyncError, sizeof(error), 1, 0, reinterpret_cast<u64>(&error)};
  ASSERT_EQ(call(kReqGetArray, array), 0);
  EXPECT_EQ(array.num_element, 0u);
  array = {3, 16, 1, 0, reinterpret_cast<u64>(&error)};
  EXPECT_EQ(call(kReqGetArray, array), -EOPNOTSUPP);
  array = {kArrayLastAsyncError, 0, 1, 0, reinterpret_cast<u64>(&error)};
  EXPECT_EQ(call(kReqGetArray, array), -EINVAL);

  CreateHwctx ctx;
  heap();
  ASSERT_EQ(context(&ctx), 0);
  HwctxEntry entry{};
  array = {kArrayHwContextById, sizeof(entry), 1, 0, reinterpret_cast<u64>(&entry)};
  EXPECT_EQ(call(kReqGetArray, array), -EINVAL);
  entry.context_id = 999;
  entry.pid = static_cast<u64>(getpid());
  EXPECT_EQ(call(kReqGetArray, array), -ENOENT);
  entry.context_id = ctx.handle;
  ASSERT_EQ(call(kReqGetArray, array), 0);
  EXPECT_EQ(entry.num_col, 8u);
}

TEST_F(Driver, OldGenerationDiffers) {
  start({.minor = 6});
  EXPECT_EQ(create(kBoDev, 4096), -EINVAL);
  CreateHwctx ctx;
  ready(&ctx);
  EXPECT_EQ(create(kBoDevHeap, kHeapGranule), -EBUSY);
  WaitCmd wait_args{ctx.handle, 1, 0};
  EXPECT_EQ(call(kReqWaitCmd, wait_args), -EINVAL);
  TestBo command = bo(kBoCmd, 4096);
  EXPECT_EQ(exec(ctx.handle, command.handle, {}), -EINVAL);
  BoUsage usage{};
  GetArray array{kArrayBoUsage, sizeof(usage), 1, 0, reinterpret_cast<u64>(&usage)};
  EXPECT_EQ(call(kReqGetArray, array), -EOPNOTSUPP);
}

TEST_F(Driver, NewGenerationHasNoWaitCmd) {
  start();
  WaitCmd args{1, 1, 0};
  EXPECT_EQ(call(kReqWaitCmd, args), -EOPNOTSUPP);
}

TEST_F(Driver, LegacyGenerationDiffers) {
  start({.major = 1, .minor = 0});
  EXPECT_EQ(create(kBoDev, 4096), -EINVAL);
  CreateHwctx ctx;
  ready(&ctx);
  TestBo share = bo(kBoShare, 4096);
  SyncBo sync{share.handle, 1, 0, 64};
  EXPECT_EQ(call(kReqSyncBo, sync), 0);
  TestBo command = bo(kBoCmd, 4096);
  start_cu(command, stream(kFakeNothing), {});
  u64 seq = 0;
  ASSERT_EQ(exec(ctx.handle, command.handle, {}, &seq), 0);
  WaitCmd args{ctx.handle, 0, seq};
  EXPECT_EQ(call(kReqWaitCmd, args), 0);
  EXPECT_EQ(state(command), u32{kStateCompleted});
  for (int i = 1; i < 32; ++i) ASSERT_EQ(context(&ctx), 0);
  EXPECT_EQ(context(&ctx), -ENOENT);
}

}  // namespace
}  // namespace tegula::driver
