// Commands: order, chains, states, payload poisoning, recovery, cache model, injected faults.
#include <thread>

#include "fixture.h"

namespace tegula::driver {
namespace {

using namespace uapi;

TEST_F(Driver, CopyMovesDataAndCompletes) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 4096);
  for (int i = 0; i < 4096; ++i) in.data[i] = static_cast<u8>(i * 7);
  client_->flush(in.data, 4096);
  start_cu(command, code, {in.address, out.address});
  const u32 mask = word(command, 1);
  EXPECT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateCompleted});
  EXPECT_EQ(word(command, 1), mask);  // payload untouched on success
  client_->invalidate(out.data, 4096);
  EXPECT_EQ(std::memcmp(in.data, out.data, 4096), 0);
  DriverReport report = device_->report();
  EXPECT_EQ(report.jobs, 1u);
  EXPECT_EQ(report.counts.ddr_bytes_read, 4096u);
  EXPECT_GT(report.counts.modelled_ns, 59'000u);
  EXPECT_EQ(report.unlisted_accesses, 0u);
}

TEST_F(Driver, StaleCacheShowsMissingFlushAndMissingInvalidate) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 256);
  std::memset(in.data, 0x11, 4096);
  client_->flush(in.data, 128);  // half of what the command reads
  start_cu(command, code, {in.address, out.address});
  ASSERT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateCompleted});
  EXPECT_EQ(out.data[0], 0);  // the CPU still sees its old line
  client_->invalidate(out.data, 256);
  EXPECT_EQ(out.data[0], 0x11);
  EXPECT_EQ(out.data[127], 0x11);
  EXPECT_EQ(out.data[128], 0);  // never flushed
}

TEST_F(Driver, FlushWorksOnWholeLines) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 256);
  std::memset(in.data, 0x22, 4096);
  client_->flush(in.data + 70, 1);
  client_->flush(in.data + 4095, 100);  // ends at the buffer
  start_cu(command, code, {in.address, out.address});
  run(ctx, command, {in.handle, out.handle, code.handle});
  client_->invalidate(out.data, 256);
  EXPECT_EQ(out.data[63], 0);
  EXPECT_EQ(out.data[64], 0x22);
  EXPECT_EQ(out.data[127], 0x22);
  EXPECT_EQ(out.data[128], 0);
}

TEST_F(Driver, DirectModeNeedsNoFlush) {
  start({.stale_cache = false});
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 256, false);
  std::memset(in.data, 0x33, 4096);
  start_cu(command, code, {in.address, out.address});
  EXPECT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateCompleted});
  EXPECT_EQ(out.data[255], 0x33);
}

TEST_F(Driver, UnflushedStreamIsAnError) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeNothing, 0, false);
  start_cu(command, code, {});
  EXPECT_EQ(run(ctx, command, {code.handle}), u32{kStateError});
  EXPECT_NE(device_->last_failure().find("was the stream flushed?"), std::string::npos);
}

TEST_F(Driver, FifthJobSleepsUntilASlotIsFree) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo code = stream(kFakeGate);
  std::vector<TestBo> commands;
  for (int i = 0; i < 5; ++i) {
    commands.push_back(bo(kBoCmd, 4096));
    start_cu(commands.back(), code, {});
  }
  u64 seq = 0;
  for (u64 i = 0; i < 4; ++i) {
    ASSERT_EQ(exec(ctx.handle, commands[i].handle, {code.handle}, &seq), 0);
    EXPECT_EQ(seq, i);
  }
  gate_->wait_entered(1);
  std::atomic<bool> submitted{false};
  std::thread fifth([&] {
    u64 last = 0;
    EXPECT_EQ(exec(ctx.handle, commands[4].handle, {code.handle}, &last), 0);
    EXPECT_EQ(last, 4u);
    submitted = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_FALSE(submitted);
  EXPECT_EQ(wait(ctx.syncobj_handle, 3, 0), -ETIME);
  gate_->release();
  fifth.join();
  EXPECT_EQ(wait(ctx.syncobj_handle, 4), 0);
  for (const TestBo& command : commands) EXPECT_EQ(state(command), u32{kStateCompleted});
  DrmSyncobjTimelineArray query{};
  u64 point = 0;
  query.handles = reinterpret_cast<u64>(&ctx.syncobj_handle);
  query.points = reinterpret_cast<u64>(&point);
  query.count_handles = 1;
  ASSERT_EQ(call(kReqSyncobjQuery, query), 0);
  EXPECT_EQ(point, 4u);
}

TEST_F(Driver, PointZeroStandsForTheNewestNode) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo first = bo(kBoCmd, 4096), second = bo(kBoCmd, 4096);
  TestBo quick = stream(kFakeNothing), gate = stream(kFakeGate);
  start_cu(first, quick, {});
  start_cu(second, gate, {});
  u64 seq = 0;
  ASSERT_EQ(exec(ctx.handle, first.handle, {quick.handle}, &seq), 0);
  EXPECT_EQ(wait(ctx.syncobj_handle, 0), 0);
  ASSERT_EQ(exec(ctx.handle, second.handle, {gate.handle}, &seq), 0);
  EXPECT_EQ(wait(ctx.syncobj_handle, 0, 0), -ETIME);  // command 0 is done, but 0 means the last one
  gate_->release();
  EXPECT_EQ(wait(ctx.syncobj_handle, 0), 0);
  EXPECT_EQ(state(second), u32{kStateCompleted});
}

TEST_F(Driver, ChainRunsAllMembersInOrder) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo a = bo(kBoShare, 4096), b = bo(kBoShare, 4096), c = bo(kBoShare, 4096);
  TestBo code = stream(kFakeCopy, 64);
  TestBo one = bo(kBoCmd, 4096), two = bo(kBoCmd, 4096), whole = bo(kBoCmd, 4096);
  std::memset(a.data, 9, 64);
  client_->flush(a.data, 64);
  start_cu(one, code, {a.address, b.address});
  start_cu(two, code, {b.address, c.address});
  chain(whole, {one, two});
  EXPECT_EQ(run(ctx, whole, {a.handle, b.handle, c.handle, code.handle}), u32{kStateCompleted});
  client_->invalidate(c.data, 64);
  EXPECT_EQ(c.data[63], 9);
  EXPECT_EQ(state(one), u32{kStateNew});  // members are not updated on success
  EXPECT_EQ(device_->report().jobs, 1u);
  EXPECT_EQ(device_->report().commands, 2u);
}

TEST_F(Driver, FailingChainNamesTheMemberAndPoisonsTheFirst) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo good = stream(kFakeNothing), bad = stream(kFakeBadOp);
  TestBo one = bo(kBoCmd, 4096), two = bo(kBoCmd, 4096), whole = bo(kBoCmd, 4096);
  start_cu(one, good, {});
  start_cu(two, bad, {});
  chain(whole, {one, two});
  EXPECT_EQ(run(ctx, whole, {good.handle, bad.handle}), u32{kStateError});
  EXPECT_EQ(word(whole, 3), 1u);  // error_index
  EXPECT_EQ(word(one, 1), 0xFFFFFFFFu);
  EXPECT_EQ(word(two, 1), 1u);

  start_cu(one, good, {});
  chain(whole, {one, two});
  device_->inject({.kind = FaultKind::kCommandAbort, .index = 0});
  EXPECT_EQ(run(ctx, whole, {good.handle, bad.handle}), u32{kStateAbort});
  EXPECT_EQ(word(whole, 3), 0u);
}

TEST_F(Driver, ErrorFillsThePayloadAndTheNextRunWorks) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo bad = stream(kFakeBadOp), good = stream(kFakeNothing), command = bo(kBoCmd, 4096);
  start_cu(command, bad, {});
  EXPECT_EQ(run(ctx, command, {bad.handle}), u32{kStateError});
  for (u32 i = 1; i <= ert_count(word(command, 0)); ++i) EXPECT_EQ(word(command, i), 0xFFFFFFFFu);
  // A client that does not rebuild the packet must fail: the mask chooses CU 0, the rest is nonsense.
  store_le<u32>(command.data, ert_header(kErtStartCu, 6));
  EXPECT_EQ(run(ctx, command, {bad.handle}), u32{kStateError});
  start_cu(command, good, {});
  EXPECT_EQ(run(ctx, command, {good.handle}), u32{kStateCompleted});
}

TEST_F(Driver, HangEndsAsTimeoutWithHealthAndAbortsTheRest) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo gate = stream(kFakeGate), hang = stream(kFakeHang, 17), good = stream(kFakeNothing);
  TestBo first = bo(kBoCmd, 4096), second = bo(kBoCmd, 4096), third = bo(kBoCmd, 4096);
  start_cu(first, gate, {});
  start_cu(second, hang, {});
  start_cu(third, good, {1, 2, 3});
  u64 seq = 0;
  ASSERT_EQ(exec(ctx.handle, first.handle, {gate.handle}, &seq), 0);
  ASSERT_EQ(exec(ctx.handle, second.handle, {hang.handle}, &seq), 0);
  ASSERT_EQ(exec(ctx.handle, third.handle, {good.handle}, &seq), 0);
  gate_->release();
  ASSERT_EQ(wait(ctx.syncobj_handle, seq), 0);
  EXPECT_EQ(state(first), u32{kStateCompleted});
  EXPECT_EQ(state(second), u32{kStateTimeout});
  EXPECT_EQ(state(third), u32{kStateAbort});
  EXPECT_EQ(word(second, 1), 1u);   // health version
  EXPECT_EQ(word(second, 2), 0u);   // generation
  EXPECT_EQ(word(second, 3), 17u);  // operation
  EXPECT_EQ(word(third, 1), 0xFFFFFFFFu);
  EXPECT_EQ(device_->last_failure(), "nobody releases lock 3");
  start_cu(third, good, {});
  EXPECT_EQ(run(ctx, third, {good.handle}), u32{kStateCompleted});
}

TEST_F(Driver, UnmappedDmaIsAnIommuFault) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096);
  TestBo wild = stream(kFakeWild, 0x1000);
  start_cu(command, wild, {});
  EXPECT_EQ(run(ctx, command, {wild.handle}), u32{kStateTimeout});
  EXPECT_EQ(word(command, 3), 0xFFFFFFFFu);  // no operation captured
  EXPECT_NE(device_->last_failure().find("IOMMU fault"), std::string::npos);
  AsyncError error{};
  GetArray array{kArrayLastAsyncError, sizeof(error), 1, 0, reinterpret_cast<u64>(&error)};
  ASSERT_EQ(call(kReqGetArray, array), 0);
  ASSERT_EQ(array.num_element, 1u);
  EXPECT_EQ(error.err_code, async_code(kErrDma, kModuleShim));
  EXPECT_EQ(error.ex_err_code, 4u);
}

TEST_F(Driver, UnmappedBuffersAreOutOfReach) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 4096), longer = stream(kFakeCopy, 4100);
  start_cu(command, longer, {in.address, out.address});  // overrun by one word
  EXPECT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateTimeout});
  start_cu(command, code, {in.address, out.address});
  ASSERT_EQ(client_->munmap(in.data, 4096), 0);
  EXPECT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateTimeout});
}

TEST_F(Driver, UnlistedBuffersAreCounted) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 64);
  start_cu(command, code, {in.address, out.address});
  EXPECT_EQ(run(ctx, command, {in.handle, code.handle}), u32{kStateCompleted});
  EXPECT_EQ(device_->report().unlisted_accesses, 1u);
}

TEST_F(Driver, ArrayErrorIsReportedTwice) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeArrayError);
  start_cu(command, code, {});
  EXPECT_EQ(run(ctx, command, {code.handle}), u32{kStateError});
  AsyncError error{};
  GetArray array{kArrayLastAsyncError, sizeof(error), 1, 0, reinterpret_cast<u64>(&error)};
  ASSERT_EQ(call(kReqGetArray, array), 0);
  EXPECT_EQ(error.ex_err_code, 3u | 2u << 8);
}

TEST_F(Driver, BadPdiFailsTheFirstCommandNotTheConfiguration) {
  start();
  heap();
  CreateHwctx ctx;
  ASSERT_EQ(context(&ctx), 0);
  ASSERT_EQ(config_cu(ctx.handle, {pdi("bad!").handle}), 0);
  TestBo command = bo(kBoCmd, 4096), code = stream(kFakeNothing);
  start_cu(command, code, {});
  EXPECT_EQ(run(ctx, command, {code.handle}), u32{kStateError});
  EXPECT_NE(device_->last_failure().find("load PDI failed"), std::string::npos);
}

TEST_F(Driver, RejectedPacketsKeepStateNew) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096), code = stream(kFakeNothing);
  auto state_of = [&](auto change) {
    start_cu(command, code, {});
    change(reinterpret_cast<u32*>(command.data));
    return run(ctx, command, {code.handle});
  };
  EXPECT_EQ(state_of([](u32* w) { w[0] = ert_header(18, 6); }), u32{kStateNew});           // opcode
  EXPECT_EQ(state_of([](u32* w) { w[1] = 0; }), u32{kStateNew});                           // CU mask
  EXPECT_EQ(state_of([](u32* w) { w[0] = ert_header(kErtStartCu, 1); }), u32{kStateNew});  // count
  EXPECT_EQ(state_of([](u32* w) { w[0] = ert_header(kErtStartCu, 2000); }), u32{kStateNew});
  EXPECT_EQ(state_of([](u32* w) { w[0] = ert_header(kErtStartNpu, 4); }), u32{kStateNew});  // no head
  EXPECT_EQ(state_of([](u32* w) {
              w[0] = ert_header(kErtChain, 6);
              w[1] = 0;
            }),
            u32{kStateNew});
  EXPECT_EQ(state_of([](u32*) {}), u32{kStateCompleted});
  EXPECT_EQ(word(command, 1), 1u);
}

TEST_F(Driver, ChainRules) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo code = stream(kFakeNothing), one = bo(kBoCmd, 4096), whole = bo(kBoCmd, 4096),
         inner = bo(kBoCmd, 4096);
  start_cu(one, code, {});
  chain(inner, {one});
  chain(whole, {inner});
  EXPECT_EQ(run(ctx, whole, {code.handle}), u32{kStateNew});  // no nesting
  TestBo missing;
  missing.handle = 500;
  chain(whole, {one, missing});
  EXPECT_EQ(run(ctx, whole, {code.handle}), u32{kStateNew});
  start_cu(one, code, {1, 2, 3, 4, 5});
  chain(whole, std::vector<TestBo>(36, one));
  EXPECT_EQ(run(ctx, whole, {code.handle}), u32{kStateCompleted});
  chain(whole, std::vector<TestBo>(37, one));  // 37 * 112 bytes exceed the slot buffer
  EXPECT_EQ(run(ctx, whole, {code.handle}), u32{kStateNew});
}

TEST_F(Driver, StartNpuTakesBytesAndTheSameArguments) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo in = bo(kBoShare, 4096), out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCopy, 64);
  std::memset(in.data, 5, 64);
  client_->flush(in.data, 64);
  ByteWriter w;
  w.write<u32>(ert_header(kErtStartNpu, 1 + 4 + 9));
  w.write<u32>(1);
  w.write<u64>(code.address);
  w.write<u32>(24);
  w.write<u32>(0);
  w.write<u64>(3);
  w.write<u64>(0);
  w.write<u32>(0);
  w.write<u64>(in.address);
  w.write<u64>(out.address);
  std::memcpy(command.data, w.data().data(), w.size());
  EXPECT_EQ(run(ctx, command, {in.handle, out.handle, code.handle}), u32{kStateCompleted});
  client_->invalidate(out.data, 64);
  EXPECT_EQ(out.data[63], 5);
}

TEST_F(Driver, ArrayStateLivesUntilSuspendOrTimeout) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096);
  TestBo code = stream(kFakeCount), hang = stream(kFakeHang);
  auto count = [&] {
    start_cu(command, code, {out.address});
    EXPECT_EQ(run(ctx, command, {out.handle, code.handle}), u32{kStateCompleted});
    client_->invalidate(out.data, 4);
    return load_le<u32>(out.data);
  };
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(count(), 2u);
  device_->inject({.kind = FaultKind::kSuspend});
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(count(), 2u);
  start_cu(command, hang, {});
  EXPECT_EQ(run(ctx, command, {hang.handle}), u32{kStateTimeout});
  EXPECT_EQ(count(), 1u);
  EXPECT_EQ(device_->report().pdi_loads, 3u);
}

TEST_F(Driver, ContextsKeepTheirArraysAndSwitchingCosts) {
  start();
  CreateHwctx a, b;
  ready(&a);
  ASSERT_EQ(context(&b), 0);
  ASSERT_EQ(config_cu(b.handle, {pdi().handle}), 0);
  TestBo out = bo(kBoShare, 4096), command = bo(kBoCmd, 4096), code = stream(kFakeCount);
  for (u32 i = 1; i <= 3; ++i) {
    for (const CreateHwctx* ctx : {&a, &b}) {
      start_cu(command, code, {out.address});
      ASSERT_EQ(run(*ctx, command, {out.handle, code.handle}), u32{kStateCompleted});
      client_->invalidate(out.data, 4);
      EXPECT_EQ(load_le<u32>(out.data), i);
    }
  }
  EXPECT_EQ(device_->report().context_switches, 5u);
  EXPECT_EQ(device_->report().pdi_loads, 2u);
}

TEST_F(Driver, InjectedCommandFaults) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo command = bo(kBoCmd, 4096), code = stream(kFakeNothing);
  auto next = [&] {
    start_cu(command, code, {});
    return run(ctx, command, {code.handle});
  };
  device_->inject({.kind = FaultKind::kCommandError});
  device_->inject({.kind = FaultKind::kAsyncError, .async_code = async_code(kErrLock, kModuleMemory)});
  EXPECT_EQ(next(), u32{kStateError});
  AsyncError error{};
  GetArray array{kArrayLastAsyncError, sizeof(error), 1, 0, reinterpret_cast<u64>(&error)};
  ASSERT_EQ(call(kReqGetArray, array), 0);
  EXPECT_EQ(error.err_code, async_code(kErrLock, kModuleMemory));
  device_->inject({.kind = FaultKind::kCommandTimeout});
  EXPECT_EQ(next(), u32{kStateTimeout});
  device_->inject({.kind = FaultKind::kCommandAbort, .times = 2});
  EXPECT_EQ(next(), u32{kStateAbort});
  EXPECT_EQ(next(), u32{kStateAbort});
  device_->inject({.kind = FaultKind::kPdiLoad});
  EXPECT_EQ(next(), u32{kStateError});
  EXPECT_EQ(next(), u32{kStateCompleted});
}

TEST_F(Driver, InjectedSystemFaults) {
  start();
  device_->inject({.kind = FaultKind::kOpen, .error = EINVAL});
  std::unique_ptr<DriverClient> other;
  EXPECT_EQ(device_->open(&other), -EINVAL);
  EXPECT_EQ(device_->open(&other), 0);
  u32 handle = 0;
  ASSERT_EQ(create(kBoDevHeap, kHeapGranule, &handle), 0);
  device_->inject({.kind = FaultKind::kHeapMmap, .error = EAGAIN});
  void* at = nullptr;
  u8* window = aligned_window(kHeapGranule);
  EXPECT_EQ(client_->mmap(window, kHeapGranule, info(handle).map_offset, &at), -EAGAIN);
  ASSERT_EQ(client_->mmap(window, kHeapGranule, info(handle).map_offset, &at), 0);
  CreateHwctx ctx;
  device_->inject({.kind = FaultKind::kContextLimit});
  EXPECT_EQ(context(&ctx), -EINVAL);
  device_->inject({.kind = FaultKind::kFirmwareSilent});
  EXPECT_EQ(context(&ctx), -ETIME);
  EXPECT_EQ(context(&ctx), -ENODEV);
  EXPECT_EQ(create(kBoShare, 4096), -ENODEV);
  device_->clear_faults();  // driver reload
  EXPECT_EQ(context(&ctx), 0);
}

TEST_F(Driver, DestroyCancelsWhatIsQueued) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo gate = stream(kFakeGate), first = bo(kBoCmd, 4096), second = bo(kBoCmd, 4096);
  start_cu(first, gate, {});
  start_cu(second, gate, {});
  u64 seq = 0;
  ASSERT_EQ(exec(ctx.handle, first.handle, {gate.handle}, &seq), 0);
  ASSERT_EQ(exec(ctx.handle, second.handle, {gate.handle}, &seq), 0);
  gate_->wait_entered(1);
  DestroyHwctx args{ctx.handle, 0};
  EXPECT_EQ(call(kReqDestroyHwctx, args), 0);  // after 2 s
  gate_->release();
  EXPECT_EQ(wait(ctx.syncobj_handle, seq), 0);
  EXPECT_EQ(state(second), u32{kStateAbort});
}

TEST_F(Driver, TwoThreadsMaySubmitToOneContext) {
  start();
  CreateHwctx ctx;
  ready(&ctx);
  TestBo code = stream(kFakeNothing);
  std::vector<TestBo> commands;
  for (int i = 0; i < 8; ++i) commands.push_back(bo(kBoCmd, 4096));
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const TestBo& command = commands[static_cast<size_t>(4 * t + i % 4)];
        start_cu(command, code, {});
        u64 seq = 0;
        ASSERT_EQ(exec(ctx.handle, command.handle, {code.handle}, &seq), 0);
        ASSERT_EQ(wait(ctx.syncobj_handle, seq), 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device_->report().jobs, 100u);
}

}  // namespace
}  // namespace tegula::driver
